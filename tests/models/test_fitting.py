"""Fits against plain NumPy and Optax loops; losses against their formulas; what is remembered; bad fits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.special
import scipy.stats

import superarm
from reference.neural import Net, descend, flatten
from superarm.environments import linear_scores
from superarm.models import Memory, fitting
from superarm.models.history import History
from superarm.models.losses import LOSSES
from superarm.types import Event, Spec

DIM, WIDTH, SLOTS, USED = 3, 4, 11, 9
BLOCK = 4  # 11 slots in three blocks, the last one moved to fit
NETWORK = superarm.perceptron(width=WIDTH, precision="float64")
RATE = 0.05


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


def weights_of(seed, doubled=False):
    rng = np.random.default_rng(seed)
    dim = 2 * DIM if doubled else DIM
    return (rng.normal(0, 0.6, (WIDTH, dim)), rng.normal(0, 0.6, (1, WIDTH)))


START, FIRST = weights_of(1), weights_of(2)


def history_of(seed=0, hole=True, dtype=np.float64) -> History:
    """Nine slots in use of eleven; one of them holds nothing, as an unobserved slot of a window."""
    rng = np.random.default_rng(seed)
    filled = np.arange(SLOTS) < USED
    filled[3] = not hole
    return History(
        contexts=np.where(filled[:, None], rng.normal(size=(SLOTS, DIM)), 7.0).astype(dtype),
        feedback=np.where(filled, rng.normal(size=SLOTS), -7.0).astype(dtype),
        counts=filled.astype(dtype),
        seen=np.int64(filled.sum()),
        events=np.int64(3),
    )


def kept(history):
    return np.asarray(history.contexts)[history.filled], np.asarray(history.feedback)[history.filled]


@partial(jax.jit, static_argnames=("block",))  # the size of a block is read while tracing
def compiled_fit(fitting, network, start, first, history, key, block):
    return fitting.fit(network, start, first, history, jnp.asarray(USED), key)


def fit(model, history, start=START, first=FIRST, key=0):
    return compiled_fit(
        model.fitting, model.network, start, first, history, jax.random.key(key), fitting.BLOCK
    )


def model_of(**arguments):
    return superarm.neural(**{"network": NETWORK, "learning_rate": RATE, "steps": 6} | arguments)


def objective(weights, anchor, xs, vs, penalty, mean=False, net=Net("standard")):  # noqa: B008
    errors = np.array([net.forward(list(weights), x) for x in xs]) - vs
    away = flatten(weights) - flatten(anchor)
    total = 0.5 * errors @ errors + 0.5 * penalty * away @ away
    return total / len(vs) if mean else total


# --- gradient descent ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reduction", "anchored", "block"),
    [("sum", True, 512), ("sum", False, BLOCK), ("mean", True, BLOCK), ("mean", False, 512)],
)
def test_descent_is_the_transcription_s(reduction, anchored, block, monkeypatch):
    monkeypatch.setattr(fitting, "BLOCK", block)
    model = model_of(penalty=0.3, reduction=reduction, anchored=anchored)
    history, mean = history_of(), reduction == "mean"
    found = fit(model, history)
    anchor = FIRST if anchored else [0.0 * W for W in FIRST]
    xs, vs = kept(history)
    expected = descend(Net("standard"), START, anchor, xs, vs, RATE, 6, 0.3, mean)
    np.testing.assert_allclose(flatten(found.params), flatten(expected), rtol=1e-10)
    before, after = (objective(weights, anchor, xs, vs, 0.3, mean) for weights in (START, expected))
    np.testing.assert_allclose([found.objective_start, found.objective], [before, after], rtol=1e-10)
    assert int(found.steps) == 6


@pytest.mark.parametrize("block", [1, 2])
def test_wide_blocks_and_small_ones_are_the_transcription_s(block):
    """Nine rows: one wide block of 8 and a small one of 2 after it; or two of 4, and one of 1."""
    history = history_of()
    found = fit(model_of(penalty=0.3, block=block), history)
    expected = descend(Net("standard"), START, FIRST, *kept(history), RATE, 6, 0.3, False)
    np.testing.assert_allclose(flatten(found.params), flatten(expected), rtol=1e-10)
    np.testing.assert_allclose(found.objective, objective(expected, FIRST, *kept(history), 0.3), rtol=1e-10)


def test_the_ntk_parametrization_steps_by_the_rate_over_m_with_penalty_m_lambda():
    network = superarm.perceptron(width=WIDTH, parametrization="ntk", precision="float64")
    start, first = weights_of(3, doubled=True), weights_of(4, doubled=True)
    history = history_of()
    found = fit(model_of(network=network, ridge=0.5), history, start, first)
    penalty = WIDTH * 0.5
    expected = descend(Net("ntk"), start, first, *kept(history), RATE / WIDTH, 6, penalty)
    np.testing.assert_allclose(flatten(found.params), flatten(expected), rtol=1e-10)
    assert float(model_of(ridge=0.5).fitting.penalty) == 0.0


def test_tolerance_stops_at_the_first_small_change():
    model = model_of(steps=500, tolerance=0.003, reduction="mean")
    history = history_of()
    xs, vs = kept(history)
    weights, before, steps = START, np.inf, 0
    for _ in range(500):
        value = objective(weights, START, xs, vs, 0.0, mean=True)
        weights = descend(Net("standard"), weights, START, xs, vs, RATE, 1, 0.0, mean=True)
        steps += 1
        if np.isfinite(before) and abs(before - value) <= 0.003 * before:
            break
        before = value
    found = fit(model, history)
    assert 3 < steps < 500
    assert int(found.steps) == steps
    np.testing.assert_allclose(flatten(found.params), flatten(weights), rtol=1e-9)
    tiny = replace(model, fitting=replace(model.fitting, tolerance=np.asarray(1e-300)))
    assert int(fit(tiny, history).steps) == 500


# --- other optimizers ---------------------------------------------------------------------------------------

CLIPPED = optax.chain(optax.clip(0.5), optax.sgd(0.02, momentum=0.9))


@pytest.mark.parametrize(
    ("optimizer", "transform"), [("adam", optax.adam(RATE)), (CLIPPED, CLIPPED)], ids=["adam", "custom"]
)
def test_optax_transformations_equal_a_loop_by_hand(optimizer, transform):
    history = history_of()
    xs, vs = (jnp.asarray(one) for one in kept(history))

    def loss(weights):
        scores = (jnp.maximum(xs @ weights[0].T, 0.0) @ weights[1].T)[:, 0]
        return jnp.mean(0.5 * (scores - vs) ** 2)

    @jax.jit
    def step(weights, moments):
        updates, moments = transform.update(jax.grad(loss)(weights), moments, weights)
        return optax.apply_updates(weights, updates), moments

    weights = tuple(jnp.asarray(W) for W in START)
    moments = transform.init(weights)
    with jax.numpy_dtype_promotion("standard"):  # Optax relies on it
        for _ in range(6):
            weights, moments = step(weights, moments)
        found = fit(model_of(optimizer=optimizer, reduction="mean"), history)
    np.testing.assert_allclose(flatten(found.params), flatten(weights), rtol=1e-9)
    assert np.abs(flatten(weights) - flatten(START)).max() > 0.01


# --- minibatches --------------------------------------------------------------------------------------------


def slopes(history, weights):
    """(USED, p) gradient of each slot's loss; 0 where it holds nothing."""
    net = Net("standard")
    rows = [
        (net.forward(weights, x) - v) * net.gradient(weights, x)
        for x, v in zip(history.contexts[:USED], history.feedback[:USED], strict=True)
    ]
    return np.where(history.filled[:USED, None], np.stack(rows), 0.0)


def one_step_gradients(model, history, number):
    """(number, p) what single steps descended, over keys."""
    first = jax.tree.map(np.zeros_like, START)
    keys = jax.random.split(jax.random.key(5), number)
    many = jax.vmap(compiled_fit, in_axes=(None, None, None, None, None, 0, None))
    moved = many(model.fitting, NETWORK, START, first, history, keys, fitting.BLOCK).params
    flat = np.concatenate([np.asarray(leaf).reshape(number, -1) for leaf in moved], axis=1)
    return (flatten(START)[None] - flat) / RATE


@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
def test_a_batch_of_one_is_any_observation_s_gradient_times_their_number(weighted):
    history, penalty, number = history_of(), 0.4, 3000
    weights = np.random.default_rng(8).uniform(1.0, 9.0, SLOTS) if weighted else np.ones(SLOTS)
    history = replace(history, counts=history.counts * weights)  # such as 1 / zeta^2 of duels
    found = one_step_gradients(model_of(steps=1, batch=1, penalty=penalty), history, number)
    each = weights[:USED, None] * slopes(history, START)
    candidates = USED * each + penalty * flatten(START)[None]
    distance = np.abs(found[:, None] - candidates[None]).max(axis=2)
    assert distance.min(axis=1).max() < 1e-9
    counts = np.bincount(distance.argmin(axis=1), minlength=USED)
    assert scipy.stats.chisquare(counts).pvalue > 1e-4


def test_batches_are_unbiased():
    history, penalty, number = history_of(), 0.4, 3000
    model = model_of(steps=1, batch=5, penalty=penalty, reduction="mean")
    found = one_step_gradients(model, history, number)
    expected = slopes(history, START).sum(axis=0) + penalty * flatten(START)
    expected = expected / history.filled.sum()
    error = found.std(axis=0, ddof=1) / np.sqrt(number)
    assert (np.abs(found.mean(axis=0) - expected) < 5 * error + 1e-12).all()
    assert (np.abs(expected) > 10 * error).any()


def test_batches_are_drawn_anew_in_every_step():
    """Steps too small to bend the path: what they descended is a sum of several slots' gradients."""
    history = history_of(hole=False)
    found = fit(model_of(steps=8, batch=1, learning_rate=1e-7), history)
    moved = (flatten(START) - flatten(found.params)) / 1e-7
    candidates = USED * slopes(history, START)
    counts = np.linalg.lstsq(candidates.T, moved, rcond=None)[0]
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-3)
    assert round(counts.sum()) == 8
    assert np.round(counts).max() < 8


# --- losses -------------------------------------------------------------------------------------------------


def bernoulli(success, failure):
    return lambda s, y: -y * success(s) - (1 - y) * failure(s)


def probit_slope(s, y):
    up = np.exp(scipy.stats.norm.logpdf(s) - scipy.stats.norm.logcdf(s))
    down = np.exp(scipy.stats.norm.logpdf(s) - scipy.stats.norm.logcdf(-s))
    return -y * up + (1 - y) * down


def laplace_log(s):
    """Of the distribution function; SciPy's own underflows."""
    return np.where(s >= 0, np.log1p(-np.exp(-np.abs(s)) / 2), s - np.log(2))


def laplace_hazard(s):
    """Its derivative."""
    tail = np.exp(-np.abs(s)) / 2
    return np.where(s >= 0, tail / (1 - tail), 1.0)


FORMULAS = {
    "squared": (lambda s, y: (s - y) ** 2 / 2, lambda s, y: s - y),
    "logistic": (
        bernoulli(scipy.special.log_expit, lambda s: scipy.special.log_expit(-s)),
        lambda s, y: scipy.special.expit(s) - y,
    ),
    "poisson": (lambda s, y: np.exp(s) - y * s, lambda s, y: np.exp(s) - y),
    "exponential": (
        bernoulli(laplace_log, lambda s: laplace_log(-s)),
        lambda s, y: -y * laplace_hazard(s) + (1 - y) * laplace_hazard(-s),
    ),
    "probit": (
        bernoulli(scipy.stats.norm.logcdf, lambda s: scipy.stats.norm.logcdf(-s)),
        probit_slope,
    ),
}


@partial(jax.jit, static_argnames=("name",))
def loss_and_slope(name, scores, feedback):
    slope = jax.grad(lambda scores: jnp.sum(LOSSES[name](scores, feedback)))(scores)
    return LOSSES[name](scores, feedback), slope


def test_every_loss_has_its_formula():
    assert set(FORMULAS) == set(LOSSES)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_losses_and_their_slopes_also_of_extreme_scores(name, dtype):
    """Finite and right at both ends; a count's mean alone leaves the range, beyond e^88 in float32."""
    usual = np.linspace(-4.0, 4.0, 9)
    extreme = np.array([-1e3, -40.0, 0.0, 80.0] if name == "poisson" else [-1e3, -40.0, 40.0, 1e3])
    scores = np.concatenate([usual, extreme]).repeat(2).astype(dtype)
    feedback = np.tile([0.0, 1.0], len(scores) // 2).astype(dtype)
    value, slope = (np.asarray(one) for one in loss_and_slope(name, scores, feedback))
    formula, derivative = FORMULAS[name]
    exact = (scores.astype(np.float64), feedback.astype(np.float64))
    close = {"rtol": 1e-8, "atol": 1e-12} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-6}
    np.testing.assert_allclose(value, formula(*exact), **close)
    far = {"rtol": 0.1, "atol": 1e-6}  # in float32 a loss of 5e5 has two digits to tell the slope from
    np.testing.assert_allclose(slope[:18], derivative(*exact)[:18], **close)
    np.testing.assert_allclose(slope[18:], derivative(*exact)[18:], **(close if dtype == np.float64 else far))


@pytest.mark.parametrize(
    ("name", "tail"),
    [
        ("logistic", lambda s: scipy.special.expit(-s)),
        ("exponential", laplace_hazard),
        ("probit", lambda s: np.exp(scipy.stats.norm.logpdf(s))),
    ],
)
def test_slopes_keep_their_digits_where_a_score_is_sure_of_its_feedback(name, tail):
    """They are tiny, and Adam steps by them all the same."""
    sure = np.array([8.0, 10.0, 12.0], np.float32)
    scores, feedback = np.concatenate([sure, -sure]), np.repeat([1.0, 0.0], 3).astype(np.float32)
    _, slope = loss_and_slope(name, scores, feedback)
    expected = tail(sure.astype(np.float64))
    np.testing.assert_allclose(slope, np.concatenate([-expected, expected]), rtol=1e-4)


def test_poisson_loss_is_the_likelihood_of_a_count():
    scores, counts = np.linspace(-2.0, 3.0, 6), np.arange(6.0)
    value, _ = loss_and_slope("poisson", scores, counts)
    likelihood = scipy.stats.poisson(np.exp(scores)).logpmf(counts) + scipy.special.gammaln(counts + 1)
    np.testing.assert_allclose(value, -likelihood, rtol=1e-9)


# --- memory -------------------------------------------------------------------------------------------------

SIZE = 2  # slots of an event
SPEC = Spec(dim=DIM, num_arms=4, capacity=7, size=SIZE)


@jax.jit
def add(memory, history, key, event):
    return memory.add(history, key, event)


def event_of(rng, observed, feedback=None) -> Event:
    """Contexts begin with the feedback, so that what belongs together can be told; nothing else is NaN."""
    observed = np.asarray(observed)
    feedback = rng.normal(size=len(observed)) if feedback is None else np.asarray(feedback, float)
    contexts = np.column_stack([feedback, rng.normal(size=(len(observed), DIM - 1))])
    return Event(
        items=np.arange(len(observed)),
        features=np.nan_to_num(contexts),
        feedback=np.where(observed, feedback, np.nan),
        observed=observed,
    )


def events_of(seed, number):
    rng = np.random.default_rng(seed)
    return [event_of(rng, rng.uniform(size=SIZE) < 0.6) for _ in range(number)]


def seen_in(events):
    return [value for event in events for value in event.feedback[event.observed].tolist()]


def check_history(memory, history, expected):
    """The slots hold just the expected feedback, each with its context, and none lies beyond those used."""
    filled = np.asarray(history.filled)
    feedback, contexts = np.asarray(history.feedback), np.asarray(history.contexts)
    assert sorted(feedback[filled].tolist()) == sorted(expected)
    np.testing.assert_array_equal(contexts[filled, 0], feedback[filled])
    assert not filled[int(memory.used(history)) :].any()
    assert np.isfinite(feedback).all()  # NaN in a slot that counts for nothing would still spoil slopes


def test_a_window_keeps_just_the_last_events():
    """Also when some of their slots were not observed: those forget what they held."""
    memory, events = Memory("window", 3), events_of(1, 9)
    history = memory.init(SPEC, jnp.float64)
    for index, event in enumerate(events):
        history = add(memory, history, jax.random.key(0), event)
        check_history(memory, history, seen_in(events[max(index - 2, 0) : index + 1]))
    assert int(history.seen) == len(seen_in(events))
    assert len(seen_in(events[-3:])) not in (0, 3 * SIZE)


def test_all_keeps_the_first_that_there_is_room_for():
    memory, events = Memory("all"), events_of(2, 9)
    history = memory.init(SPEC, jnp.float64)
    for index, event in enumerate(events):
        history = add(memory, history, jax.random.key(0), event)
        check_history(memory, history, seen_in(events[: index + 1])[: SPEC.capacity])
    assert int(history.seen) == len(seen_in(events)) > SPEC.capacity


def test_a_reservoir_is_a_uniform_sample():
    """Every observation, and every pair, is kept equally often; whatever event it came with."""
    number, slots, draws = 24, 5, 4000
    memory = Memory("reservoir", slots)
    observed = np.random.default_rng(3).permutation(3 * 12).reshape(12, 3) < number
    order = np.where(observed, np.cumsum(observed).reshape(12, 3) - 1.0, -1.0)
    rng = np.random.default_rng(4)
    events = [event_of(rng, *pair) for pair in zip(observed, order, strict=True)]
    events = jax.tree.map(lambda *leaves: np.stack(leaves), *events)

    @jax.jit
    @jax.vmap
    def sample(key):
        def step(history, indexed):
            index, event = indexed
            return memory.add(history, jax.random.fold_in(key, index), event), ()

        start = memory.init(SPEC, jnp.float64)
        return jax.lax.scan(step, start, (jnp.arange(12), events))[0]

    histories = sample(jax.random.split(jax.random.key(5), draws))
    check_history(memory, jax.tree.map(lambda leaf: leaf[0], histories), np.asarray(histories.feedback[0]))
    kept = np.asarray(histories.feedback).astype(int)
    assert np.asarray(histories.filled).all()
    assert all(len(set(row)) == slots for row in kept.tolist())
    inside = (kept[:, :, None] == np.arange(number)).any(axis=1).astype(float)
    share = slots / number
    counts = inside.sum(axis=0)
    statistic = np.sum((counts - draws * share) ** 2) / (draws * share * (1 - share)) * (number - 1) / number
    assert 1e-4 < scipy.stats.chi2(number - 1).sf(statistic) < 1 - 1e-4
    share = slots * (slots - 1) / (number * (number - 1))
    pairs = (inside.T @ inside)[np.triu_indices(number, 1)]
    assert np.abs(pairs - draws * share).max() < 5 * np.sqrt(draws * share * (1 - share))


def test_keeping_all_needs_a_capacity():
    policy = superarm.neural_ucb(model_of())
    message = (
        r"^neural model: spec\.capacity must be >= 1 to keep all history, got 0; state it, or choose "
        r"memory='window' or 'reservoir'$"
    )
    for use in (policy.check, partial(policy.init, jax.random.key(0))):
        with pytest.raises(ValueError, match=message):
            use(Spec(dim=DIM, num_arms=4))
    superarm.neural_ucb(model_of(memory="window", memory_size=3)).check(Spec(dim=DIM, num_arms=4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"memory": "window"}, "memory_size must be given with memory='window', got None"),
        ({"memory_size": 3}, "memory_size must be left out with memory='all', got 3"),
        ({"memory": "some"}, "memory must be one of 'all', 'window', 'reservoir', 'arms', got 'some'"),
        ({"memory": "reservoir", "memory_size": 0}, "memory_size must be >= 1, got 0"),
        (
            {"loss": "hinge"},
            "loss must be one of 'squared', 'logistic', 'poisson', 'probit', 'exponential', got 'hinge'",
        ),
        ({"optimizer": "sgd"}, "optimizer must be one of 'gd', 'adam', got 'sgd'; did you mean 'gd'?"),
        ({"learning_rate": 0.0}, "learning_rate must be > 0, got 0.0"),
        ({"penalty": -1.0}, "penalty must be >= 0, got -1.0"),
        ({"tolerance": 0.0}, "tolerance must be > 0, got 0.0"),
        ({"reduction": "max"}, "reduction must be one of 'sum', 'mean', got 'max'"),
        ({"steps": 0}, "steps must be >= 1, got 0"),
        ({"batch": 0}, "batch must be >= 1, got 0"),
    ],
)
def test_bad_arguments_are_told_in_one_sentence(arguments, message):
    with pytest.raises(ValueError) as caught:
        model_of(**arguments)
    assert str(caught.value) == f"neural: {message}"


# --- fits of a model ----------------------------------------------------------------------------------------

WINDOW = {"memory": "window", "memory_size": 4}


@jax.jit
def observe(model, state, event):
    return replace(state, record=model.observe(state, jax.random.key(0), event, None))


@jax.jit
def learn(model, state):
    return replace(state, fit=model.learn(state, jax.random.key(0), None))


def state_of(model, events=()):
    """The state after some events, with known first parameters."""
    state = model.init(jax.random.key(0), SPEC, None)
    params = tuple(jnp.asarray(W) for W in FIRST)
    state = replace(state, fit=replace(state.fit, params=params, first=params))
    for event in events:
        state = observe(model, state, event)
    return state


def data(events):
    return np.concatenate([event.features[event.observed] for event in events]), np.array(seen_in(events))


def with_rate(model, rate):
    return replace(model, fitting=replace(model.fitting, learning_rate=np.asarray(rate)))


@pytest.mark.parametrize("restart", [False, True])
def test_fits_go_on_from_the_last_one_or_begin_anew(restart):
    """What was not observed has feedback NaN, and does not matter."""
    model = model_of(restart=restart, penalty=0.3, **WINDOW)
    events = events_of(6, 6)
    state = learn(model, state_of(model, events[:3]))
    once = descend(Net("standard"), FIRST, FIRST, *data(events[:3]), RATE, 6, 0.3)
    np.testing.assert_allclose(flatten(state.fit.params), flatten(once), rtol=1e-10)
    for event in events[3:]:
        state = observe(model, state, event)
    state = learn(model, state)
    twice = descend(Net("standard"), FIRST if restart else once, FIRST, *data(events[2:]), RATE, 6, 0.3)
    np.testing.assert_allclose(flatten(state.fit.params), flatten(twice), rtol=1e-10)
    np.testing.assert_array_equal(flatten(state.fit.first), flatten(FIRST))
    assert (int(state.fit.version), int(state.fit.failures), bool(state.fit.diverged)) == (2, 0, False)


def test_a_fit_that_diverged_never_replaces_a_good_one():
    model, events = model_of(penalty=0.3, **WINDOW), events_of(7, 4)
    good = learn(model, state_of(model, events))
    assert not bool(good.fit.diverged)
    bad = learn(with_rate(model, 1e30), good)
    assert not np.isfinite(bad.fit.objective)
    np.testing.assert_array_equal(flatten(bad.fit.params), flatten(good.fit.params))
    assert (int(bad.fit.version), int(bad.fit.failures), bool(bad.fit.diverged)) == (2, 1, True)
    after = learn(model, bad)
    expected = descend(Net("standard"), good.fit.params, FIRST, *data(events), RATE, 6, 0.3)
    np.testing.assert_allclose(flatten(after.fit.params), flatten(expected), rtol=1e-10)
    assert (int(after.fit.version), int(after.fit.failures), bool(after.fit.diverged)) == (3, 1, False)


def test_nan_feedback_is_refused_until_it_is_forgotten():
    model, events = model_of(penalty=0.3, **WINDOW), events_of(7, 4)
    good = learn(model, state_of(model, events))
    rng = np.random.default_rng(8)
    state = observe(model, good, event_of(rng, [True, True], [np.nan, 0.5]))
    for failures in (1, 2):
        state = learn(model, state)
        np.testing.assert_array_equal(flatten(state.fit.params), flatten(good.fit.params))
        assert (int(state.fit.failures), bool(state.fit.diverged)) == (failures, True)
    for event in events:
        state = observe(model, state, event)
    state = learn(model, state)
    expected = descend(Net("standard"), good.fit.params, FIRST, *data(events), RATE, 6, 0.3)
    np.testing.assert_allclose(flatten(state.fit.params), flatten(expected), rtol=1e-10)
    assert (int(state.fit.failures), bool(state.fit.diverged)) == (2, False)


def test_a_fit_is_refused_when_it_ends_far_above_its_start_or_as_bad_as_knowing_nothing():
    model, events = model_of(penalty=0.3, **WINDOW), events_of(18, 4)
    xs, vs = data(events)
    nothing = 0.5 * vs @ vs
    fresh = fitted = state_of(model, events)
    for _ in range(10):
        fitted = learn(model, fitted)
    kinds = set()
    rates = [(fresh, rate) for rate in (0.001, 0.05, 0.5)] + [(fitted, rate) for rate in (0.35, 0.45, 0.5)]
    for state, rate in rates:
        start = objective(state.fit.params, FIRST, xs, vs, 0.3)
        expected = descend(Net("standard"), state.fit.params, FIRST, xs, vs, rate, 6, 0.3)
        end = objective(expected, FIRST, xs, vs, 0.3)
        kind = tuple(bool(end > limit) for limit in (start, nothing, 10 * start))
        refused = kind[0] and any(kind[1:])
        found = learn(with_rate(model, rate), state).fit
        assert bool(found.diverged) == refused
        assert int(found.failures) == int(refused)
        np.testing.assert_allclose(found.objective, end, rtol=1e-8)
        left = flatten(state.fit.params) if refused else flatten(expected)
        np.testing.assert_allclose(flatten(found.params), left, rtol=1e-8, atol=1e-10)
        kinds.add("".join(str(int(one)) for one in kind))
    assert kinds == {"000", "010", "100", "110", "111"}  # the sixth is in the next test


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [({}, True), ({"optimizer": "adam"}, False), ({"batch": 2}, False), ({"optimizer": CLIPPED}, False)],
    ids=["gd", "adam", "batch", "custom"],
)
def test_only_full_gradient_steps_are_refused_for_leaving_a_small_objective_far_behind(arguments, refused):
    history = history_of()
    nothing = 0.5 * np.sum(kept(history)[1] ** 2)
    fitted = model_of(**arguments).fitting

    def ran_away(start, end):
        ends = {"objective": np.asarray(end), "objective_start": np.asarray(start)}
        return bool(fitted.ran_away(fitting.Fitted(params=(), steps=np.int32(6), **ends), history))

    assert ran_away(0.01 * nothing, 0.11 * nothing) == refused
    assert not ran_away(0.01 * nothing, 0.09 * nothing)
    assert ran_away(0.9 * nothing, nothing)  # all units dead
    assert not ran_away(3.0 * nothing, 2.0 * nothing)


def test_a_simulation_tells_of_refused_fits():
    """30 rounds with a fit every 10, two seeds: six fits; the good policy's are not counted."""
    network = superarm.perceptron(width=WIDTH)
    good, bad = (
        superarm.neural_ucb(superarm.neural(network, steps=6, learn_every=10, learning_rate=rate))
        for rate in (1e-3, 1e20)
    )
    with pytest.warns(RuntimeWarning) as caught:
        superarm.compare(
            {"slow": good, "fast": bad}, linear_scores(dim=DIM, num_arms=4), rounds=30, seeds=2, workers=0
        )
    assert [str(one.message).split(",")[0] for one in caught] == ["fast: 6 fits diverged and were refused"]
