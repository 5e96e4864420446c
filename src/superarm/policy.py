"""A policy: a model, a width, an explorer and a chooser behind four pure functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.choosers.best import Best
from superarm.contract import Chooser, Explorer, Model, Special, Width
from superarm.explorers.greedy import Exploit
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.types import Array, Choice, Decision, DuelScores, Event, Offer, Spec, State

SPECIAL: dict[Special, str] = {
    "members": "members of an ensemble",
    "layers": "layers of estimates",
    "plan": "a plan of the first decisions (`superarm.warm_up` makes it)",
}


@dataclass(frozen=True)
class Epoch:
    """A stretch of a run under one policy.

    Args:
        policy: what decides.
        start: decisions made before it.
        stop: decisions made at its end.
        replay: begin by observing and learning all that came before; otherwise begin anew.
    """

    policy: Policy
    start: int
    stop: int
    replay: bool

    @property
    def origin(self) -> int:
        """The decision that is the policy's first: schedules and fits count from there."""
        return 0 if self.replay else self.start


@pytree
@dataclass(frozen=True)
class Policy:
    """Four choices that make an algorithm. It owns no state and no randomness; presets build it.

    >>> import jax, superarm
    >>> policy = superarm.comb_lin_ts(superarm.top_k(2))
    >>> state = policy.init(jax.random.key(0), superarm.Spec(dim=3, num_arms=5))
    >>> contexts = jax.random.normal(jax.random.key(1), (5, 3))
    >>> policy.select(state, jax.random.key(2), contexts, 0).items.shape
    (2,)
    """

    model: Model
    width: Width | None
    explorer: Explorer
    chooser: Chooser
    name: str = static(default="policy")

    def __post_init__(self) -> None:
        """Refuse parts that do not go together, in one sentence."""
        for name, kind in (("model", Model), ("explorer", Explorer), ("chooser", Chooser)):
            checks.part(self.name, name, getattr(self, name), kind)
        if self.width is not None:
            checks.part(self.name, "width", self.width, Width)
        require_scores(self.name, self.explorer, self.chooser)
        _require_special(self.name, self.model, self.explorer)
        _require_means(self.name, self.model, self.explorer)

    @property
    def native(self) -> bool:
        """True when every function can be traced by JAX; otherwise the chooser runs on the host."""
        return self.chooser.native

    def epochs(self, rounds: int) -> tuple[Epoch, ...]:
        """The policies of a run: this one from beginning to end. Wrappers in `anytime` have more."""
        return (Epoch(policy=self, start=0, stop=rounds, replay=False),)

    @property
    def learn_every(self) -> int | None:
        """Rounds between fits; None when observing is all there is."""
        return self.model.learn_every

    @double
    def check(self, spec: Spec) -> None:
        """Raise ValueError in one sentence if the policy does not fit a problem of this size."""
        self.chooser.check(spec.num_arms)
        self.model.check(self._sized(spec), self.width)

    @double
    def init(self, key: Array, spec: Spec) -> State:
        """Return the state before any observation."""
        self.check(spec)
        return self.model.init(key, self._sized(spec), self.width)

    def _sized(self, spec: Spec) -> Spec:
        return replace(spec, size=self.chooser.size)

    @cached_property
    def traits(self) -> Traits:
        """What the parts can do together: asked once, when first wanted, since JAX rebuilds policies."""
        return traits_of(self)

    def greedy(self) -> Policy:
        """The policy that chooses by the mean, without exploring; one arm where this one is a duel."""
        chooser = Best() if self.traits.compares else self.chooser
        return replace(self, explorer=Exploit(self.explorer), chooser=chooser)

    @double
    def select(self, state: State, key: Array, offer: Offer | Array, count: Array | int) -> Decision:
        """Choose from an offer, or among contexts (n, d) that are all available.

        `count` decisions were made before. The state is not changed.
        """
        offer = Offer.of(offer)
        key_explore, key_choose = jax.random.split(key)
        beliefs, scores = self.score(state, key_explore, offer, count)
        choice = self.chooser.choose(key_choose, scores, offer.mask)
        return self.decide(beliefs, scores, offer, choice)

    @double
    def score(self, state: State, key: Array, offer: Offer | Array, count: Array | int) -> tuple[Any, Any]:
        """Return what is believed of the arms on offer, and the explorer's scores of them."""
        beliefs = self.believe(state, Offer.of(offer))
        return beliefs, self.explorer.scores(key, beliefs, jnp.asarray(count))

    def believe(self, state: State, offer: Offer) -> Any:
        """Return what the model believes of the arms on offer."""
        return self.model.beliefs(state, offer.contexts, self.width).offered(offer.mask)

    def decide(self, beliefs: Any, scores: Any, offer: Offer, choice: Choice) -> Decision:
        """Return the decision that takes `choice`, by scores (n,) or those of pairs."""
        mask = offer.mask
        if isinstance(scores, DuelScores):
            scores, finite = scores.mean, scores.finite(mask)
        else:
            finite = jnp.all(jnp.isfinite(scores) | ~mask)
        items = jnp.asarray(choice.items, jnp.int32)  # oracles of users may answer in another type
        index = jnp.maximum(items, 0)
        return Decision(
            items=items,
            mask=choice.mask,
            features=jnp.where(choice.mask[:, None], offer.contexts[index], 0.0),
            scores=jnp.where(choice.mask, scores[index], 0.0),
            healthy=choice.feasible & finite,
            memo=beliefs.memo(items, mask),
            cache=beliefs.cache(items),
        )

    @double
    def propensities(
        self, state: State, offer: Offer | Array, count: Array | int, *, positions: bool = False
    ) -> Array:
        """(n,) the exact probability of every arm to be chosen by `select`: to be in the set, if it is one.

        With `positions` (k, n), the probability to stand at each of them, the best first.

        For policies that choose one arm, or the k best, by one of finitely many scores: greedy,
        epsilon-greedy, uniform, UCB, ensembles (the share of the members that would choose the arm), and
        warm-ups before them. Tied arms share what is left.
        """
        offer, top = Offer.of(offer), self.chooser.top
        if top is None:
            must = "chooser must choose one arm, or any k, for propensities of arms"
            # Of a chooser of sets the oracle says which sets there are.
            got = getattr(self.chooser, "oracle", self.chooser)
            raise TypeError(f"{self.name}: {must}, got {type(got).__name__}")
        if not self.explorer.finite:
            explorer = self.explorer
            while explorer.inner is not None and not explorer.inner.finite:
                explorer = explorer.inner
            must = "explorer must choose by one of finitely many scores for exact propensities"
            raise TypeError(f"{self.name}: {must}, got {type(explorer).__name__}")
        mask = offer.mask
        chances, scores = self.explorer.options(self.believe(state, offer), jnp.asarray(count))
        offered = jnp.where(mask[None], scores, -jnp.inf)
        # XLA sorts float64 to select from it, so that one arm is found by the maximum.
        ranked = jnp.max(offered, axis=1, keepdims=True) if top == 1 else jax.lax.top_k(offered, top)[0]
        if positions:
            return _at_positions(chances, offered, mask, ranked)
        threshold = ranked[:, -1:]  # of every option
        above, tied = offered > threshold, (offered == threshold) & mask[None]
        taken, sharing = (jnp.sum(rows, axis=1, dtype=FLOAT, keepdims=True) for rows in (above, tied))
        left = (top - taken) / jnp.maximum(sharing, 1.0)
        found = chances @ jnp.where(above, 1.0, jnp.where(tied, left, 0.0))
        return jnp.minimum(found, 1.0)  # 25 times 1 / 25 is more, by a rounding

    @double
    def observe(self, state: State, key: Array, event: Event) -> State:
        """Return the state with the event recorded; the fit stays as it was."""
        event = replace(
            event,
            features=jnp.asarray(event.features, FLOAT),
            feedback=jnp.asarray(event.feedback, FLOAT),
        )
        return replace(state, record=self.model.observe(state, key, event, self.width))

    @double
    def learn(self, state: State, key: Array) -> Any:
        """Return a new fit of the record, to be swapped in."""
        return self.model.learn(state, key, self.width)


def require_scores(where: str, explorer: Explorer, chooser: Chooser) -> None:
    """Refuse an explorer whose scores the chooser cannot read."""
    if explorer.compares != chooser.compares:
        must = "pairs of arms, for a duel" if chooser.compares else "arms, not pairs of them"
        raise TypeError(f"{where}: explorer must score {must}, got {type(explorer).__name__}")
    if chooser.compares and not issubclass(explorer.pair_scores, chooser.pair_scores):
        must = f"explorer must score pairs by {chooser.pair_scores.__name__} for {type(chooser).__name__}"
        raise TypeError(f"{where}: {must}, got {type(explorer).__name__}")


def _require_special(where: str, model: Model, explorer: Explorer) -> None:
    """Refuse a model whose beliefs have not what the explorer asks for."""
    if missing := sorted(explorer.needs - model.gives):
        while explorer.inner is not None and missing[0] in explorer.inner.needs:
            explorer = explorer.inner
        must = f"model must give {SPECIAL[missing[0]]} for the explorer {type(explorer).__name__}"
        raise TypeError(f"{where}: {must}, got {type(model).__name__}")


def _require_means(where: str, model: Model, explorer: Explorer) -> None:
    """Refuse scores that are rewards beside means that are latent: predictions would be on another scale."""
    own = type(explorer).means is not Explorer.means
    if explorer.score_scale == "reward" and not own and model.link != "identity":
        if explorer.inner is not None and explorer.inner.score_scale == "reward":
            return _require_means(where, model, explorer.inner)
        must = f"explorer must override `means` to be rewards, as its scores are, for the link {model.link!r}"
        raise TypeError(f"{where}: {must}, got {type(explorer).__name__}")
    return None


def _at_positions(chances: Array, offered: Array, mask: Array, ranked: Array) -> Array:
    """(k, n) for options (j,) with scores (j, n), the highest of which are (j, k).

    A position belongs to the arms whose score has its rank; ties are broken at random, so each is as likely.
    """
    tied = (offered[:, None] == ranked[:, :, None]) & mask[None, None]
    sharing = jnp.sum(tied, axis=2, keepdims=True, dtype=FLOAT)
    found = jnp.einsum("j,jkn->kn", chances, tied.astype(FLOAT) / jnp.maximum(sharing, 1.0))
    return jnp.minimum(found, 1.0)


@double
def select_on_host(
    policy: Policy, state: State, key: Array, offer: Offer | Array, count: Array | int
) -> Decision:
    """As `Policy.select`, for a chooser that JAX cannot trace: compiled up to it, and again after it."""
    offer = Offer.of(offer)
    key_choose, beliefs, scores = _score(policy, state, key, offer, jnp.asarray(count, jnp.int64))
    choice = policy.chooser.choose(key_choose, scores, offer.mask)
    return _decide(policy, beliefs, scores, offer, choice)


@jax.jit
def _score(policy: Policy, state: State, key: Array, offer: Offer, count: Array) -> tuple[Array, Any, Any]:
    key_explore, key_choose = jax.random.split(key)
    return key_choose, *policy.score(state, key_explore, offer, count)


@jax.jit
def _decide(policy: Policy, beliefs: Any, scores: Any, offer: Offer, choice: Choice) -> Decision:
    return policy.decide(beliefs, scores, offer, choice)


@dataclass(frozen=True)
class Traits:
    """What the parts of a policy can do together; all that is built on a policy asks these.

    Attributes:
        native: every function can be traced by JAX; otherwise the chooser runs on the host.
        compares: a decision is a duel.
        by_arm: arms are known by their index, so that they must keep it.
        sums_by_arm: what is observed of an arm is added up, so that its features must stay.
        feedback_range: what feedback can be taken; None for any number.
        exact_propensities: the probabilities of choices can be computed without drawing.
        takes_floor: uniform choices give every arm the same probability: one arm, or sets of a fixed size.
        pointwise: an arm's score, by a key, does not depend on which others are scored with it.
        bounded: scores rise with the mean and the full width of a linear model alone: they have cheap bounds.
        single: single precision is enough to rank scores.
        batches: several such policies may be mapped over in one compiled run.
        plain: Bayesian linear regression with known noise, a score that adds a constant number of widths, and
            the best arm chosen: all of it can be computed without JAX.
    """

    native: bool
    compares: bool
    by_arm: bool
    sums_by_arm: bool
    feedback_range: tuple[float, float] | None
    exact_propensities: bool
    takes_floor: bool
    pointwise: bool
    bounded: bool
    single: bool
    batches: bool
    plain: bool


def traits_of(policy: Policy) -> Traits:
    """Ask the parts of a policy what they can do together."""
    model, width, explorer, chooser = policy.model, policy.width, policy.explorer, policy.chooser
    ranks = chooser.top is not None
    rooted = width is not None and width.keeps_root
    exact = ranks and explorer.finite
    bayesian = model.known_noise is not None and width is not None and width.bayes_rule
    return Traits(
        native=chooser.native,
        compares=chooser.compares,
        by_arm=model.by_arm or explorer.by_arm or chooser.by_arm,
        sums_by_arm=model.sums_by_arm,
        feedback_range=model.feedback_range,
        exact_propensities=exact,
        takes_floor=ranks and chooser.native,
        pointwise=explorer.pointwise(model),
        bounded=model.single and rooted and explorer.monotone,
        single=model.single,
        batches=chooser.native and model.batches,
        plain=bayesian and explorer.constant_bonus is not None and exact and chooser.top == 1,
    )


checks.moved(__name__, "superarm.combine")
