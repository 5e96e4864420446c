"""The contract of the parts: what each must do, and what it may do besides, with a stated default.

    contexts -> Model -> Beliefs (with a Width) -> Explorer -> Chooser -> Decision

Open this file to write a part of your own. A part extends its class here and overrides what it can do better
than the default. An `attribute` may be a field of the part, a property or a class attribute. Nothing that is
built on policies asks a part for its class: what the parts of a policy can do together is collected once, in
`Policy.traits`.

Shapes use n for the arms on offer, k for the slots of one decision, d for the features of an arm, p for the
parameters whose width matters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import jax.numpy as jnp

from superarm import checks
from superarm.precision import FLOAT
from superarm.pytree import attribute
from superarm.types import (
    Array,
    Choice,
    Decision,
    DuelScores,
    Event,
    Offer,
    Outcome,
    PairScores,
    Spec,
    State,
)

Scale = Literal["latent", "reward", "any"]
# What some models' beliefs have, and some explorers ask for: see the methods of `Beliefs` of these names.
Special = Literal["members", "layers", "plan"]
NOTHING: frozenset[Special] = frozenset()


class Whitened(ABC):
    """Rows as a width measured them."""

    @abstractmethod
    def norms(self) -> Array:
        """(n,) widths."""

    @abstractmethod
    def covariance(self) -> Array:
        """(n, n) covariance of the rows' scores."""

    @abstractmethod
    def take(self, items: Array) -> Any:
        """The same of some of the rows."""

    @abstractmethod
    def only(self, keep: Array) -> Any:
        """The same with rows of 0 where keep (n,) is False."""

    def root(self) -> Array | None:
        """(n, p) rows times a root of the covariance, for joint draws; None where there is none at hand."""
        return None

    def lookahead(self) -> Any:
        """A width that has solved for these rows; None where that saves nothing.

        Its `part(start, count)` is the same for some of them.
        """
        return None


class Beliefs(ABC):
    """What a model believes of the arms on offer."""

    @attribute
    @abstractmethod
    def mean(self) -> Array:
        """(n,) expected score."""

    @attribute
    def logdet(self) -> Array:
        """() log(det Z / det Z_0) of the information matrix; 0 where there is none."""
        return jnp.zeros((), FLOAT)

    def norms(self) -> Array:
        """(n,) one standard deviation, or the width in a confidence bound; NaN where the model has none."""
        return jnp.full_like(self.mean, jnp.nan)

    def draws(self, key: Array, scale: Array, num: int, joint: bool) -> Array:
        """(num, n) random scores, `scale` times as far from the mean, correlated over arms when `joint`.

        `scale` is () or, for draws apart, (n,).
        """
        raise TypeError(f"{type(self).__name__}: the model has no distribution to draw scores from")

    def covariance(self) -> Array:
        """(n, n) covariance of the scores."""
        raise TypeError(f"{type(self).__name__}: the model has no covariance of scores")

    def offered(self, mask: Array) -> Any:
        """The same, for a decision among the arms where mask (n,) is True."""
        return self

    def memo(self, items: Array, mask: Array) -> Any:
        """A fact fixed by choosing items (k,) among the arms of the mask: it must return with the event."""
        return ()

    def cache(self, items: Array) -> Any:
        """Work that observing items (k,) can use again. It may be dropped, and changes no result."""
        return ()

    @attribute
    def num_members(self) -> int:
        """How many members an ensemble has."""
        raise TypeError(f"{type(self).__name__}: the model is no ensemble, so that no member can decide")

    @attribute
    def members(self) -> Array:
        """(m, n) the scores of an ensemble's members."""
        raise TypeError(f"{type(self).__name__}: the model is no ensemble, so that no member can decide")

    def member(self, index: Array) -> Array:
        """(n,) the scores of one member."""
        return self.members[index]

    @attribute
    def layers(self) -> DuelScores:
        """Estimates in layers, each finer than the one before, for duels."""
        raise TypeError(f"{type(self).__name__}: the model has no layers of estimates")

    def plan(self) -> Array:
        """(n,) how often each arm is tried before the explorer decides."""
        raise TypeError(f"{type(self).__name__}: the model has no plan of the first decisions")

    def whitened_rows(self) -> Whitened | None:
        """The rows as the width measured them, where the beliefs hold them."""
        return None

    def in_blocks(self) -> Any:
        """The same, computed in the way that is fastest for a block of a large catalogue."""
        return self


class Width(ABC):
    """How unsure a score is, from the rows seen so far: features, or gradients of a network.

    Rows are a matrix (n, p) or `superarm.rows.LayerRows`.
    """

    lookahead: ClassVar[bool] = False  # rows may be solved for before they are asked for
    changes_ridge: ClassVar[bool] = False  # `with_ridge` works
    keeps_root: ClassVar[bool] = False  # the factor has a `root` (p, p), a square root of the covariance
    by_product: ClassVar[bool] = False  # widths of many rows are one product with a matrix
    bayes_rule: ClassVar[bool] = False  # the factor is `root` and `logdet`, changed by Bayes' rule alone

    @abstractmethod
    def init(self, like: Any, scale: Array, capacity: int) -> Any:
        """Return the factor of N(0, scale^2 I) over the parameters of rows like the given ones.

        `capacity` rows are all that will come, 0 when that is not known.
        """

    @abstractmethod
    def check(self, like: Any, capacity: int) -> None:
        """Raise ValueError in one sentence if the width cannot hold that much."""

    @abstractmethod
    def whiten(self, factor: Any, rows: Any) -> Any:
        """Measure n rows by the factor: the expensive part of a query, shared by all that follows."""

    @abstractmethod
    def absorb(self, factor: Any, whitened: Any, residual: Array) -> tuple[Any, Any]:
        """Take in k whitened rows and residuals (k,), both over the noise; return factor and shift (p,).

        A row of zeros moves nothing. A width that keeps rows, and no parameters, has no shift: ().
        """

    def logdet(self, factor: Any) -> Array:
        """() log(det Z / det Z_0)."""
        found: Array = factor.logdet
        return found

    def capacity(self, factor: Any) -> int:
        """Rows that the factor has room for; 0 where their number does not matter."""
        return 0

    def with_ridge(self, factor: Any, ridge: Array) -> Any:
        """The factor as if it had started from another ridge."""
        raise TypeError(f"{type(self).__name__}: the ridge cannot change")

    def resolved(self, state: Any) -> Width:
        """The width that a factor, or a state with one, was made by: for those that choose among several."""
        return self

    def block_norms(self, factor: Any, rows: Array) -> Array:
        """(n,) widths of a block (n, p) of a large catalogue."""
        found: Array = self.whiten(factor, rows).norms()
        return found


class LinearWidth(Width):
    """A width over parameters that a linear model can draw."""

    @abstractmethod
    def deviations(self, factor: Any, key: Array, num: int) -> Array:
        """(num, p) draws of the parameters' departure from their mean."""


class Model(ABC):
    """What score a feature vector has. `width` is the policy's; None where a model brings its own."""

    # Scores are x'theta: single precision is enough to rank them, and the state's record has the posterior
    # `mean` (d,) of theta and the width's `factor`.
    single: ClassVar[bool] = False
    draws_parameters: ClassVar[bool] = False  # joint draws are of parameters: an arm's are its own
    batches: ClassVar[bool] = True  # several may be mapped over in one compiled run

    @attribute
    @abstractmethod
    def learn_every(self) -> int | None:
        """Decisions between fits; None when observing is all there is."""

    @abstractmethod
    def check(self, spec: Spec, width: Any) -> None:
        """Raise ValueError in one sentence if the model or its width does not fit the problem."""

    @abstractmethod
    def init(self, key: Array, spec: Spec, width: Any) -> State:
        """Return the state before any observation."""

    @abstractmethod
    def beliefs(self, state: State, contexts: Array, width: Any) -> Any:
        """Return what is believed of contexts (n, d): `Beliefs`."""

    @abstractmethod
    def observe(self, state: State, key: Array, event: Event, width: Any) -> Any:
        """Return the record with the event taken in."""

    @abstractmethod
    def learn(self, state: State, key: Array, width: Any) -> Any:
        """Return a new fit of the record."""

    @attribute
    def inner(self) -> Model | None:
        """The model that this one wraps."""
        return None

    @attribute
    def scorer(self) -> Any:
        """The network that scores, or the coefficients of a linear score; None for a model without."""
        return None if self.inner is None else self.inner.scorer

    @attribute
    def loss(self) -> str | None:
        """The loss that fits lower, which says what rewards may be; None where there are no fits."""
        return None if self.inner is None else self.inner.loss

    @attribute
    def link(self) -> str:
        """The link from scores to expected rewards, a name of `superarm.models.links`: that of the loss."""
        if self.inner is not None:
            return self.inner.link
        return "identity" if self.loss in (None, "squared") else str(self.loss)

    @attribute
    def gives(self) -> frozenset[Special]:
        """What its beliefs have that those of most models have not."""
        return NOTHING if self.inner is None else self.inner.gives

    @attribute
    def by_arm(self) -> bool:
        """Whether arms are known by their index, so that they must keep it."""
        return self.inner is not None and self.inner.by_arm

    @attribute
    def sums_by_arm(self) -> bool:
        """Whether what is observed of an arm is added up, so that its features must stay."""
        return self.inner is not None and self.inner.sums_by_arm

    @attribute
    def feedback_range(self) -> tuple[float, float] | None:
        """What feedback can be taken; None for any number."""
        return None if self.inner is None else self.inner.feedback_range

    @attribute
    def known_noise(self) -> Any:
        """() the noise of a Bayesian linear regression that nothing is left to learn of; None elsewhere.

        Its record is the posterior's `mean` (d,) and the width's `factor`, and what is observed changes it by
        Bayes' rule alone: then it can be computed without JAX.
        """
        return None

    def failures(self, state: State) -> Array:
        """() fits that diverged and were refused so far; (m,) of an ensemble's members."""
        return jnp.zeros((), jnp.int32)

    def member_axes(self, width: Any) -> State | None:
        """Per part of the state, 0 where an ensemble's members differ and None where they share.

        None to let them share nothing.
        """
        return None

    def as_ensemble(self, state: State) -> tuple[Any, State] | None:
        """The ensemble whose members can be fitted apart, and its state; None where there is none."""
        return None


class Explorer(ABC):
    """How uncertainty becomes a score. What one that wraps another does not say, the other answers."""

    @abstractmethod
    def scores(self, key: Array, beliefs: Any, count: Array) -> Any:
        """(n,) scores, or `PairScores` for a duel; `count` decisions were made before this one."""

    @attribute
    def inner(self) -> Explorer | None:
        """The explorer that this one wraps."""
        return None

    @attribute
    def score_scale(self) -> Scale:
        """What scores are estimates of: the model's "latent" score, or the "reward" itself.

        "any" where scores estimate nothing. Most sets add rewards up, so that latent scores of a generalized
        linear model go through its link before a set is chosen.
        """
        return "latent" if self.inner is None else self.inner.score_scale

    def means(self, beliefs: Any) -> Array:
        """(n,) scores without exploration: rewards where `score_scale` says so, otherwise latent."""
        found: Array = beliefs.mean if self.inner is None else self.inner.means(beliefs)
        return found

    def options(self, beliefs: Any, count: Array) -> tuple[Array, Array]:
        """(j,) the probabilities of finitely many scores, and (j, n) these scores.

        Override it where scores are not drawn from a continuum: propensities are then exact.
        """
        raise TypeError(f"{type(self).__name__}: scores are drawn from a continuum")

    @attribute
    def compares(self) -> bool:
        """Whether scores are of pairs of arms (`DuelScores`), for a chooser that compares two."""
        return self.inner is not None and self.inner.compares

    @attribute
    def pair_scores(self) -> type[DuelScores]:
        """The class of the scores of pairs, where they are of pairs."""
        return PairScores if self.inner is None else self.inner.pair_scores

    @attribute
    def needs(self) -> frozenset[Special]:
        """What it asks of beliefs that those of most models have not."""
        return NOTHING if self.inner is None else self.inner.needs

    @attribute
    def finite(self) -> bool:
        """Whether `options` says all that scores can be: where it is overridden, by the wrapped one, too."""
        return type(self).options is not Explorer.options and (self.inner is None or self.inner.finite)

    @attribute
    def constant_bonus(self) -> tuple[Any, Any] | None:
        """() radius and () offset where a score is mean + radius * width + offset, in every decision alike.

        None where it is not: scores can be computed without JAX where it is.
        """
        return None

    @attribute
    def by_arm(self) -> bool:
        """Whether arms are known by their index, so that they must keep it."""
        return self.inner is not None and self.inner.by_arm

    @attribute
    def monotone(self) -> bool:
        """Whether an arm's score rises with its mean and its width, and depends on nothing else of it."""
        return False

    def pointwise(self, model: Model) -> bool:
        """Whether an arm's score, by a key, does not depend on which others are scored with it."""
        return False


class Oracle(ABC):
    """Finds the feasible set that is worth most: by the sum of its scores, unless the oracle says otherwise.

    `native` oracles are traced by JAX and run inside compiled rounds; the others run on the host, between
    compiled parts, on NumPy arrays. Both break ties at random, by key.
    """

    by_arm: ClassVar[bool] = False  # the structure knows arms by their index
    exact_for: ClassVar[frozenset[str] | None] = None  # kinds of rewards; None: it is taken at its word
    score_scale: ClassVar[Scale] = "reward"  # of the scores it wants: "latent" where they are utilities

    @attribute
    @abstractmethod
    def native(self) -> bool:
        """True when `solve` can be traced by JAX."""

    @attribute
    @abstractmethod
    def size(self) -> int:
        """The most items that an answer may have (slots k)."""

    @attribute
    @abstractmethod
    def factor(self) -> float:
        """1.0 when exact; otherwise the share of the optimum that is guaranteed (for scores >= 0)."""

    @attribute
    def top(self) -> int | None:
        """k, when the best k of all arms are the answer; None otherwise."""
        return None

    @abstractmethod
    def check(self, num_arms: int) -> None:
        """Raise ValueError in one sentence if no answer exists, or the problem does not fit `num_arms`."""

    @abstractmethod
    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Choose among the arms where mask (n,) is True, by scores (n,)."""


class Chooser(ABC):
    """What may be chosen."""

    @attribute
    @abstractmethod
    def native(self) -> bool:
        """True when `choose` can be traced by JAX."""

    @attribute
    @abstractmethod
    def size(self) -> int:
        """The most items that a choice may have (slots k)."""

    @attribute
    def top(self) -> int | None:
        """k, when the best k of all arms are chosen, one included; None otherwise."""
        return None

    @attribute
    def score_scale(self) -> Scale:
        """What the scores that it wants estimate: "reward" where they are added up, "any" where ranked."""
        return "reward"

    @attribute
    def compares(self) -> bool:
        """Whether two arms are chosen to be compared: a duel."""
        return False

    @attribute
    def pair_scores(self) -> type[DuelScores]:
        """The class of the scores of pairs that it reads, where it compares."""
        return PairScores

    @attribute
    def by_arm(self) -> bool:
        """Whether arms are known by their index, so that they must keep it."""
        return False

    @abstractmethod
    def check(self, num_arms: int) -> None:
        """Raise ValueError in one sentence if no choice exists among `num_arms`."""

    @abstractmethod
    def choose(self, key: Array, scores: Any, mask: Array) -> Choice:
        """Turn scores (n,), or those of pairs, into a choice among the arms where mask (n,) is True."""


class Environment(ABC):
    """A world to learn in. `native` worlds are traced by JAX; the others are stepped on the host.

    The randomness of round t comes from the key alone, so every policy meets the same contexts and noise.
    """

    @attribute
    @abstractmethod
    def native(self) -> bool:
        """True when `init`, `offer` and `respond` can be traced by JAX."""

    @attribute
    @abstractmethod
    def spec(self) -> Spec:
        """The size of the problem."""

    @attribute
    def compares(self) -> bool:
        """Whether a decision is two arms that are compared: a duel."""
        return False

    @attribute
    def knows_regret(self) -> bool:
        """Whether an `Outcome` has the optimum, and not the logged reward alone."""
        return True

    @attribute
    def oracle(self) -> Oracle | None:
        """The exact oracle of the feasible sets; None where one arm is chosen, or there is none."""
        return None

    def check(self) -> None:  # noqa: B027 (nothing to check is a good default)
        """Raise ValueError in one sentence if the problem is malformed."""

    @abstractmethod
    def init(self, key: Array) -> Any:
        """Draw an instance: the world of one seed."""

    @attribute
    def in_order(self) -> bool:
        """Whether rounds have an order: where `at_round` is overridden."""
        return type(self).at_round is not Environment.at_round

    def at_round(self, world: Any, count: Array | int) -> Any:
        """Return what `offer` and `respond` get as the world in round `count`."""
        return world

    def attrs(self, world: Any) -> dict[str, Any]:
        """What the table of a run says of its world, beside the rounds."""
        return {}

    @abstractmethod
    def offer(self, world: Any, key: Array) -> Offer:
        """Return what is on offer in a round."""

    @abstractmethod
    def respond(self, world: Any, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Return what the decision earns in a round."""


checks.public(__name__)
