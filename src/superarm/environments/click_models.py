"""Click models: what a user who is shown a list tells about its items. hwang2023, appendix G.

The paper's text ends after the document-based model; the others follow their standard definitions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks, rewards
from superarm.choosers.oracles import Matching, matching
from superarm.contract import Environment, Oracle
from superarm.environments.semi_bandit import BernoulliWeights, GaussianWeights, Weights, exact, semi_bandit
from superarm.environments.sphere import Score, SphereArms, sphere_arms
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.rewards import Reward
from superarm.types import Array, Decision, Offer, Outcome, Spec

__all__ = ["Clicks", "PairClicks", "clicks"]


def linear(contexts: Array, a: Array) -> Array:
    """(n,) (1 + x'a) / 2."""
    return 0.5 * (1.0 + contexts @ a)


def quadratic(contexts: Array, a: Array) -> Array:
    """(n,) (x'a)^2."""
    return jnp.square(contexts @ a)


def cosine(contexts: Array, a: Array) -> Array:
    """(n,) cos(pi x'a / 2)^2."""
    return jnp.square(jnp.cos(0.5 * jnp.pi * (contexts @ a)))


ATTRACTIONS: dict[str, Score] = {"linear": linear, "quadratic": quadratic, "cosine": cosine}
AttractionName = Literal["linear", "quadratic", "cosine"]
ClickFeedback = Literal["document", "position", "cascade", "semi-bandit"]
FEEDBACK: tuple[ClickFeedback, ...] = get_args(ClickFeedback)


@pytree
@dataclass(frozen=True)
class Clicks(Environment):
    """Lists of items with an attraction in [0, 1]. Build it with `clicks`.

    Attributes:
        examination: (k,) the chance that a position is looked at; None where it does not matter.
    """

    arms: SphereArms
    weights: Weights
    oracle: Oracle
    reward: Reward
    examination: Array | None
    feedback: str = static()
    raw: bool = static()

    @property
    def native(self) -> bool:
        """Whether the optimum of a round can be found inside compiled code."""
        return self.oracle.native

    @property
    def spec(self) -> Spec:
        """d features, n items."""
        return self.arms.spec

    def check(self) -> None:
        """Let the oracle refuse a number of items that it cannot choose from."""
        self.oracle.check(self.arms.num_arms)

    def init(self, key: Array) -> Array:
        """Draw a."""
        return self.arms.init(key)

    def offer(self, world: Array, key: Array) -> Offer:
        """Draw the contexts."""
        return self.arms.offer(world, key)

    @double
    def respond(self, world: Array, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Show what the feedback model lets see."""
        key_optimum, key_clicks = jax.random.split(key)
        means = self.arms.means(world, offer.contexts)
        optimum = self.oracle.solve(key_optimum, means, offer.mask)
        outcome = semi_bandit(
            key_clicks, self.weights, means, decision, optimum, self.reward, self.examination
        )
        if self.feedback == "cascade":
            return replace(outcome, observed=up_to_click(outcome.feedback, outcome.observed))
        if self.raw:
            return replace(outcome, feedback=(outcome.feedback > 0.0).astype(FLOAT))
        return outcome


@pytree
@dataclass(frozen=True)
class PairClicks(Environment):
    """Pairs of an item and its position. Build it with `clicks(..., position_input=True)`.

    Attributes:
        top: the k most attractive items, best first: with chances of examination that never rise, the best
            pairs of items and positions.
        oracle: any matching of items and positions, for policies, whose scores know no such order.
        examination: (k,) the chance that a position is looked at.
    """

    arms: SphereArms
    top: Oracle
    oracle: Matching
    examination: Array

    @property
    def native(self) -> bool:
        """True, though policies need the matching, which runs on the host."""
        return True

    @property
    def spec(self) -> Spec:
        """d + k features, n k pairs."""
        slots = self.top.size
        return Spec(dim=self.arms.dim + slots, num_arms=self.arms.num_arms * slots)

    def check(self) -> None:
        """Let the oracle refuse a number of items that it cannot choose from."""
        self.top.check(self.arms.num_arms)

    def init(self, key: Array) -> Array:
        """Draw a."""
        return self.arms.init(key)

    @double
    def offer(self, world: Array, key: Array) -> Offer:
        """Draw the contexts x; pair i k + s has the features [x_i; one-hot s]."""
        contexts, slots = self.arms.offer(world, key).contexts, self.top.size
        positions = jnp.tile(jnp.eye(slots, dtype=FLOAT), (self.arms.num_arms, 1))
        paired = jnp.concatenate([jnp.repeat(contexts, slots, axis=0), positions], axis=1)
        return Offer(contexts=paired, mask=jnp.ones(paired.shape[0], bool))

    @double
    def respond(self, world: Array, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Show the clicks."""
        key_optimum, key_clicks = jax.random.split(key)
        slots = self.top.size
        attraction = self.arms.means(world, offer.contexts[::slots, : self.arms.dim])
        means = jnp.outer(attraction, jnp.asarray(self.examination)).ravel()
        best = self.top.solve(key_optimum, attraction, jnp.ones(attraction.shape, bool))
        optimum = replace(best, items=best.items * slots + jnp.arange(slots, dtype=jnp.int32))
        return semi_bandit(key_clicks, BernoulliWeights(), means, decision, optimum)


@checks.named
def clicks(
    oracle: Oracle,
    *,
    feedback: ClickFeedback = "document",
    reward: Reward | rewards.Worth | None = None,
    dim: int = 10,
    num_arms: int = 20,
    attraction: AttractionName | Score = "quadratic",
    examination: npt.ArrayLike | None = None,
    position_input: bool = False,
    raw: bool = False,
    noise: float = 0.1,
) -> Clicks | PairClicks:
    """Return an environment in which a user is shown a list of items and clicks.

    Slot s of a decision is position s of the list. Contexts are uniform on the unit sphere and new in every
    round; so is, per seed, the vector a that makes them attractive. `feedback` says what the user does:

        document      clicks item i with chance attraction(x_i), wherever it stands
        position      looks at position s with chance examination[s], and clicks there with the attraction
        cascade       goes down the list to the first item that attracts, clicks it and leaves: what comes
                      after it is not observed
        semi-bandit   does not click: shows attraction(x_i) + noise

    Args:
        oracle: the feasible lists, solved exactly for the reward; `top_k(k)` is, for all that are built in.
        feedback: "document", "position", "cascade" or "semi-bandit".
        reward: R(S, v) of `superarm.rewards`, or a function of items, mask and scores. By default the sum;
            with "position" the sum weighted by the examination; with "cascade" `Cascade()`. The expected
            return is R at the attractions, as in the paper's regret; the realized return is R at what is
            drawn. With the defaults that is the number of clicks, and its mean is the expected return.
        dim: d, features per item.
        num_arms: n, items.
        attraction: "quadratic" (x'a)^2, "linear" (1 + x'a) / 2, "cosine" cos(pi x'a / 2)^2; or a pure
            function of contexts (n, d) and a (d,) that JAX can trace, with values (n,) in [0, 1].
        examination: (k,) in (0, 1], never rising; only with "position", where the default is 1 / (s + 1).
        position_input: make the position an input, as in the paper's estimate f(x, k; theta): the arms are
            the n k pairs of an item and a position, with features [x; one-hot position], and a pair's chance
            of a click is what is learned. Policies need the environment's `oracle`, a perfect matching of
            items and positions. With "document" or "position", an oracle `top_k(k)` and the default reward.
        raw: with "position", show the click. By default click / examination is shown, whose mean is the
            attraction: a policy that knows nothing of positions then learns what attracts. Its values go up
            to 1 / examination, so a policy for feedback in [0, 1] needs raw=True.
        noise: standard deviation, only with "semi-bandit".

    Hwang, Chai & Oh (2023), Combinatorial Neural Bandits, ICML, appendix G; Kveton, Szepesvari, Wen & Ashkan
    (2015), Cascading Bandits, ICML; Joachims, Swaminathan & Schnabel (2017), Unbiased Learning-to-Rank with
    Biased Feedback, WSDM, for the position model, its default and its division.

    >>> import superarm
    >>> world = clicks(superarm.top_k(3), feedback="cascade", attraction="linear")
    >>> superarm.simulate(superarm.comb_lin_ts(world.oracle), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "clicks"
    checks.one_of(where, "feedback", feedback, FEEDBACK)
    checks.part(where, "oracle", oracle, Oracle)
    for name, given in (("examination", examination is not None), ("raw", raw)):
        if given and feedback != "position":
            raise ValueError(f"{where}: {name} must come with feedback='position', got {feedback!r}")
    arms = sphere_arms(where, "attraction", attraction, named=ATTRACTIONS, dim=dim, num_arms=num_arms)
    if callable(attraction):
        _require_chances(where, arms)
    seen = _examination(where, examination, oracle.size) if feedback == "position" else None
    if position_input:
        return _paired(where, arms, oracle, feedback=feedback, reward=reward, raw=raw, examination=seen)
    chosen = _default_reward(feedback, seen) if reward is None else rewards.reward_of(where, reward)
    scale = checks.nonnegative(where, "noise", noise)
    built = Clicks(
        arms=arms,
        weights=GaussianWeights(scale=scale) if feedback == "semi-bandit" else BernoulliWeights(),
        oracle=exact(where, oracle, chosen),
        reward=chosen,
        examination=seen,
        feedback=feedback,
        raw=bool(raw),
    )
    built.check()
    return built


def up_to_click(clicks: Array, shown: Array) -> Array:
    """(k,) True in the slots that a user sees who leaves at the first click; both are (k,)."""
    clicked = jnp.where(shown, clicks, 0.0)
    return shown & (jnp.cumsum(clicked) == clicked)


def _examination(where: str, examination: Any, slots: int) -> Any:
    """Chances of examination (k,), all of them positive: the click is divided by them."""
    if examination is None:
        return 1.0 / np.arange(1.0, slots + 1.0)
    leaf = rewards.falling(where, "examination", checks.matrix(where, "examination", examination, (slots,)))
    return checks.positive(where, "examination", leaf)


@double
def _require_chances(where: str, arms: SphereArms) -> None:
    """Refuse attractions outside of [0, 1], as far as one round shows."""
    normals = np.random.default_rng(0).normal(size=(arms.num_arms + 1, arms.dim))
    vectors = jnp.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))
    checks.between(where, "attraction", np.asarray(arms.score(vectors[1:], vectors[0])), 0.0, 1.0)


def _default_reward(feedback: str, examination: Any) -> Reward:
    """What a list is worth if nothing else is said: clicks."""
    if feedback == "position":
        return rewards.position_weighted(examination)
    return rewards.Cascade() if feedback == "cascade" else rewards.Sum()


def _paired(
    where: str, arms: SphereArms, oracle: Oracle, *, feedback: str, reward: Any, raw: bool, examination: Any
) -> PairClicks:
    """The environment whose arms are pairs of an item and a position."""
    checks.one_of(f"{where} with position_input", "feedback", feedback, ("document", "position"))
    if reward is not None or raw:
        must = "reward and raw must be left out with position_input, which returns the number of clicks"
        raise ValueError(f"{where}: {must}, got {'raw' if raw else type(reward).__name__}")
    checks.part(where, "oracle", oracle, Oracle)
    if oracle.top is None or not oracle.native:
        must = "oracle must be top_k(k) with position_input, for k positions"
        raise TypeError(f"{where}: {must}, got {type(oracle).__name__}")
    exact(where, oracle, rewards.position_weighted(np.ones(oracle.size)))  # the best come first
    oracle.check(arms.num_arms)
    pairs = np.indices((arms.num_arms, oracle.size)).reshape(2, -1).T
    everything: Any = np.ones(oracle.size)
    return PairClicks(
        arms=arms,
        top=oracle,
        oracle=matching(pairs, arms.num_arms, oracle.size, perfect=True),
        examination=everything if examination is None else examination,
    )
