"""Sums per arm say all: fits and widths from counts and means per arm are those of the whole history."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import expit

import superarm
from superarm.environments import linear_scores
from superarm.models import Memory, fitting, newton
from superarm.types import Event, Spec
from superarm.widths import Full

ARMS, DIM, EVENTS, SIZE = 5, 3, 8, 3
SPEC = Spec(dim=DIM, num_arms=ARMS, capacity=EVENTS * SIZE, size=SIZE)
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(ARMS, DIM))


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


@dataclass(frozen=True)
class Met:
    """items, observed, feedback (E, k) of E events; feedback in [0, 1], as the probit loss wants it."""

    items: np.ndarray
    observed: np.ndarray
    feedback: np.ndarray

    @property
    def events(self):
        """All of them as one event with a leading axis; what was not observed is NaN, or no item at all."""
        return Event(
            items=np.where(self.observed, self.items, np.where(self.feedback > 0.5, self.items, -1)),
            features=FEATURES[self.items],
            feedback=np.where(self.observed, self.feedback, np.nan),
            observed=self.observed,
        )

    def of(self, arm):
        """The observations of an arm."""
        return self.feedback[self.observed & (self.items == arm)]


SHAPE = (EVENTS, SIZE)
anything_met = st.builds(
    Met,
    hnp.arrays(np.int64, SHAPE, elements=st.integers(0, ARMS - 1)),  # an arm may be twice in an event
    hnp.arrays(bool, SHAPE),
    hnp.arrays(np.float64, SHAPE, elements=st.floats(0, 1, allow_subnormal=False)),
)


def drawn(seed=1):
    rng = np.random.default_rng(seed)
    return Met(rng.integers(0, ARMS, SHAPE), rng.uniform(size=SHAPE) < 0.7, rng.uniform(size=SHAPE))


def recorded(model, events, width=None, spec=SPEC):
    """The state after the events, in order, and no fit."""
    state = model.init(jax.random.key(3), spec, width)

    def step(state, event):
        return replace(state, record=model.observe(state, jax.random.key(0), event, width)), ()

    return jax.lax.scan(step, state, events)[0]


# --- the history --------------------------------------------------------------------------------------------


@jax.jit
def summed(events):
    memory = Memory("arms")

    def step(history, event):
        return memory.add(history, jax.random.key(0), event), ()

    return jax.lax.scan(step, memory.init(SPEC, jnp.float32), events)[0]


@settings(max_examples=40, deadline=None)
@given(anything_met)
def test_counts_and_means_per_arm(met):
    """In double precision, whatever the network's: sums of thousands of rewards would lose digits."""
    with jax.enable_x64(True):
        history = summed(met.events)
    counts = [met.of(arm).size for arm in range(ARMS)]
    np.testing.assert_array_equal(history.counts, counts)
    means = [met.of(arm).mean() if met.of(arm).size else 0.0 for arm in range(ARMS)]
    np.testing.assert_allclose(history.feedback, means, rtol=1e-12, atol=1e-15)
    assert (history.feedback.dtype, history.counts.dtype) == (np.float64, np.float64)
    np.testing.assert_array_equal(history.filled, np.array(counts) > 0)
    seen = np.asarray(history.filled)
    np.testing.assert_array_equal(history.contexts[seen], FEATURES.astype(np.float32)[seen])
    assert (int(history.seen), int(history.events)) == (met.observed.sum(), EVENTS)
    assert int(Memory("arms").used(history)) == ARMS == Memory("arms").slots(SPEC)


# --- fits ---------------------------------------------------------------------------------------------------

LOSSES = {"squared": "identity", "logistic": "logistic", "poisson": "poisson", "probit": "probit"}
NETWORK = superarm.perceptron(width=4, depth=3, precision="float64")


def model_of(kind, loss, memory, **more):
    """Gradient descent on a network's objective, or Newton's method for a generalized linear model."""
    if kind == "newton":
        return superarm.glm(link=LOSSES[loss], ridge=0.6, memory=memory, **more)
    descent = {"learning_rate": 0.05, "steps": 6, "penalty": 0.3, **more}
    return superarm.neural(NETWORK, loss=loss, memory=memory, **descent)


@functools.partial(jax.jit, static_argnames=("blocks",))  # sizes of blocks are read while tracing
def both_fits(models, events, blocks):
    """What each model fits to the events, as such: whether a fit is taken over is another question."""

    def one(model):
        state = recorded(model, events)
        history = state.record.history
        first = state.fit.first
        used = model.memory.used(history)
        start = jax.tree.map(lambda leaf: leaf + 0.1, first)
        return model.fitting.fit(model.network, start, first, history, used, jax.random.key(0))

    return [one(model) for model in models]


def fits(kind, loss, met, **more):
    models = [model_of(kind, loss, memory, **more) for memory in ("arms", "all")]
    return both_fits(models, met.events, (fitting.BLOCK, newton.BLOCK))


def flat(params):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(params)])


def within(met):
    """What the squared loss of single observations has more than that of the means: it has no parameters."""
    seen = [met.of(arm) for arm in range(ARMS) if met.of(arm).size]
    return sum(0.5 * np.sum((told - told.mean()) ** 2) for told in seen)


def agree(kind, loss, met, **more):
    arms, every = fits(kind, loss, met, **more)
    close = {"rtol": 1e-7, "atol": 1e-7} if kind == "newton" else {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(flat(arms.params), flat(every.params), **close)
    extra = within(met) if loss == "squared" else 0.0
    extra = extra / max(met.observed.sum(), 1) if more.get("reduction") == "mean" else extra
    for name in ("objective", "objective_start"):
        ours, theirs = (float(getattr(fitted, name)) for fitted in (arms, every))
        np.testing.assert_allclose(ours + extra, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["descent", "newton"])
def test_a_fit_is_that_of_the_whole_history(kind, loss):
    @settings(max_examples=15, deadline=None)
    @given(anything_met)
    def same(met):
        with jax.enable_x64(True):
            agree(kind, loss, met)

    same()


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "loss", "more"),
    [
        ("descent", "squared", {"reduction": "mean"}),
        ("newton", "logistic", {}),
        pytest.param("descent", "logistic", {"optimizer": "adam"}, marks=pytest.mark.full),
    ],
    ids=["mean", "newton", "adam"],
)
def test_also_in_blocks_and_other_forms(kind, loss, more, monkeypatch):
    """Blocks of two: the last of five arms is moved to fit, and what it shares counts once."""
    monkeypatch.setattr(fitting, "BLOCK", 2)
    monkeypatch.setattr(newton, "BLOCK", 2)
    for seed in range(3):
        agree(kind, loss, drawn(seed), **more)


@pytest.mark.full
def test_a_minibatch_is_unbiased_for_the_whole_history():
    """Arms are drawn alike, and count as often as they were observed."""
    met, number = drawn(), 4000
    model = model_of("descent", "squared", "arms", batch=2, steps=1)
    whole = model_of("descent", "squared", "all", steps=1)

    @jax.jit
    def step(model, key):
        state = recorded(model, met.events)
        history, first = state.record.history, state.fit.first
        start = jax.tree.map(lambda leaf: leaf + 0.1, first)
        used = model.memory.used(history)
        return model.fitting.fit(model.network, start, first, history, used, key).params

    one = flat(step(whole, jax.random.key(0)))
    many = jax.jit(jax.vmap(step, in_axes=(None, 0)))(model, jax.random.split(jax.random.key(1), number))
    rows = np.concatenate([np.asarray(leaf).reshape(number, -1) for leaf in many], axis=1)
    error = rows.std(axis=0, ddof=1) / np.sqrt(number)
    assert (np.abs(rows.mean(axis=0) - one) < 5 * error + 1e-12).all()
    assert error.max() > 1e-4


# --- widths that are rebuilt --------------------------------------------------------------------------------

WIDTH = Full()


@functools.partial(jax.jit, static_argnames=("block",))
def both_widths(models, events, block):
    """norms (n,) and logdet after the events and a fit, and after one more event; the fit's parameters."""

    def one(model):
        state = recorded(model, events, WIDTH)
        state = replace(state, fit=model.learn(state, jax.random.key(0), WIDTH))
        first = jax.tree.map(lambda leaf: leaf[0], events)
        grown = replace(state, record=model.observe(state, jax.random.key(0), first, WIDTH))
        asked = [model.beliefs(one, jnp.asarray(FEATURES), WIDTH) for one in (state, grown)]
        return [(belief.norms(), belief.logdet) for belief in asked], state.fit

    return [one(model) for model in models]


@pytest.mark.parametrize(
    ("kind", "block"),
    [
        ("glm", 2),
        ("network", 64),
        *(pytest.param(*row, marks=pytest.mark.full) for row in [("glm", 64), ("network", 2)]),
    ],
)
def test_a_rebuilt_width_has_a_row_per_observation(kind, block, monkeypatch):
    # By its name: in the package, the name is that of a function.
    monkeypatch.setattr(importlib.import_module("superarm.models.neural"), "REBUILD", block)
    met = drawn()
    if kind == "glm":
        models = [superarm.glm(ridge=0.6, weights="refit", memory=memory) for memory in ("arms", "all")]
    else:
        models = [model_of("descent", "squared", memory, refresh=True) for memory in ("arms", "all")]
    (arms, fit), (every, _) = both_widths(models, met.events, block)
    for ours, theirs in zip(jax.tree.leaves(arms), jax.tree.leaves(every), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert not np.allclose(arms[0][0], arms[1][0], rtol=1e-3)
    if kind == "glm":  # H = lambda I + sum_k n_k mu'(x_k'theta) x_k x_k'
        scores = FEATURES @ np.asarray(fit.params)
        counts = [met.of(arm).size for arm in range(ARMS)]
        weights = np.array(counts) * expit(scores) * expit(-scores)
        hessian = 0.6 * np.eye(DIM) + (FEATURES * weights[:, None]).T @ FEATURES
        norms = np.sqrt(np.sum(FEATURES * np.linalg.solve(hessian, FEATURES.T).T, axis=1))
        np.testing.assert_allclose(arms[0][0], norms, rtol=1e-9)
        np.testing.assert_allclose(arms[0][1], np.linalg.slogdet(hessian / 0.6)[1], rtol=1e-9)


# --- arms whose features change -----------------------------------------------------------------------------

SMALL = superarm.perceptron(width=4)  # float32: features are not what they were, but are not taken for others
PAIR = superarm.top_k(2)


def network_model():
    return superarm.neural(SMALL, memory="arms", steps=2, penalty=1.0, reduction="mean")


KEEPING = {
    "glm_ucb": lambda: superarm.glm_ucb(PAIR, memory="arms"),
    "glm_es": lambda: superarm.glm_es(PAIR, size=3, warmup=0, memory="arms"),
    "neural_es": lambda: superarm.neural_es(PAIR, network_model(), size=3, warmup=0),
    "lin_phe": lambda: superarm.lin_phe(PAIR, memory="arms"),
    "evill": lambda: superarm.evill(PAIR, warmup=0, memory="arms"),
    "neural_phe": lambda: superarm.neural_phe(PAIR, network_model(), warmup=0),
}
ALIKE = {"neural_phe", "lin_phe", "glm_ucb"}


@jax.jit
def told(policy, state, items, observed, features):
    event = Event(items, features[items], jnp.asarray([0.3, 0.8]), observed)
    return policy.observe(state, jax.random.key(1), event)


@jax.jit
def fitted_and_asked(policy, state, features):
    """The state with a new fit, whether its decision is sound, and the scores (n,) of all arms."""
    state = replace(state, fit=policy.learn(state, jax.random.key(2)))
    decision = policy.select(state, jax.random.key(3), features, 9)
    return state, decision.healthy, policy.score(state, jax.random.key(3), features, jnp.int64(9))[1]


@pytest.mark.full
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in ALIKE else ()) for name in KEEPING]
)
def test_an_arm_whose_features_changed_spoils_the_next_fit_and_all_that_follow(name):
    policy = KEEPING[name]()
    state = policy.init(jax.random.key(0), replace(SPEC, size=2))
    seen, unseen = np.array([True, True]), np.array([True, False])
    moved, other = FEATURES.copy(), FEATURES.copy()
    moved[1, 2] += 1e-3
    other[3:] += 1.0
    for items, observed, features in [
        ([0, 1], seen, FEATURES),
        ([1, 0], seen, FEATURES),
        ([0, 1], unseen, moved),  # not observed, so not told
        ([2, 3], seen, other),  # met for the first time
    ]:
        state = told(policy, state, np.array(items), observed, features)
        state, healthy, scores = fitted_and_asked(policy, state, features)
        assert bool(healthy)
        assert np.isfinite(scores).all()
    broken = told(policy, state, np.array([0, 1]), seen, moved)
    before = policy.score(broken, jax.random.key(3), jnp.asarray(FEATURES), jnp.int64(9))[1]
    assert np.isfinite(before).all()  # of the fit before
    for features in (moved, FEATURES):
        broken, healthy, scores = fitted_and_asked(policy, broken, features)
        assert not bool(healthy)
        assert np.isnan(scores).all()
        broken = told(policy, broken, np.array([1, 2]), seen, other)


def test_a_run_with_new_contexts_and_sums_per_arm_is_stopped():
    policy = superarm.glm_es(size=2, warmup=0, memory="arms")
    with pytest.raises(superarm.SimulationError, match=r"^glm_es: round \d of seed 0 gave no sound decision"):
        superarm.simulate(policy, linear_scores(dim=3, num_arms=2), rounds=20, seeds=1, workers=0)


def test_sums_need_no_capacity():
    spec = Spec(dim=DIM, num_arms=ARMS)
    superarm.glm_es(warmup=0, memory="arms").init(jax.random.key(0), spec)
    with pytest.raises(ValueError, match="capacity must be >= 1"):
        superarm.glm_es(warmup=0).check(spec)
    with pytest.raises(ValueError, match="memory_size must be left out with memory='arms', got 4"):
        superarm.glm(memory="arms", memory_size=4)
    with pytest.raises(ValueError, match="weights must not be 'fit' with memory='arms'"):
        superarm.glm(memory="arms", weights="fit")
