"""Off-policy evaluation of a log: the reward model, a target's chances, and what both come to."""

from __future__ import annotations

import warnings
from functools import partial

import jax
import numpy as np
import pytest

import superarm
from superarm.evaluate import chances_of, event_log, logged_world, off_policy, replay
from superarm.evaluate.estimators import reward_model as reward_model_module
from superarm.evaluate.estimators.linear_fit import logistic, ridge
from superarm.evaluate.estimators.reward_model import predicted
from superarm.types import Offer
from support.logged_worlds import ARMS, world

ALL = ("direct", "ips", "snips", "dr")


def logged(kind: str = "single", binary: bool = False, events: int = 600, seed: int = 0, apart: float = 0.6):
    """A world, a log of it, and the target's chances in its events."""
    it = world(kind, binary, apart)
    drawn = it.draw(np.random.default_rng(seed), events)
    log = event_log(
        it.features[drawn["types"]], drawn["actions"], drawn["rewards"], propensities=drawn["propensities"]
    )
    return it, log, it.chances("wanted")[drawn["types"]]


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return off_policy(*args, **kwargs)


class Table:
    """A model of the user's: least squares by the pseudo-inverse; it counts what it was given."""

    def fit(self, rows, rewards):
        self.theta = np.linalg.pinv(rows) @ rewards
        self.size = len(rows)

    def predict(self, rows):
        return rows @ self.theta


@pytest.mark.parametrize("kind", ["single", "ranking", "set"])
def test_the_parts_are_put_together_as_the_formulas_say(kind):
    """With predictions of a user's model, everything else in loops."""
    _, log, chances = logged(kind, events=200)
    found = quiet(log, chances, model=Table())
    fold_of = np.random.default_rng(0).permutation(200) % 2
    slots = 1 if kind == "single" else 2
    actions, rewards, logs = (
        np.reshape(a, (200, slots)) for a in (log.actions, log.rewards, log.propensities)
    )

    def row(event, slot, arm):
        return [*log.contexts[event, arm], *(np.eye(slots)[slot] if kind == "ranking" else [1.0])]

    thetas = []
    for fold in range(2):
        rest = [(i, k) for i in range(200) for k in range(slots) if fold_of[i] != fold]
        X = np.array([row(i, k, actions[i, k]) for i, k in rest])
        thetas.append(np.linalg.pinv(X) @ np.array([rewards[i, k] for i, k in rest]))
    direct, ips, dr = np.zeros(200), np.zeros(200), np.zeros(200)
    for i in range(200):
        theta = thetas[fold_of[i]]
        for place, share in np.ndenumerate(chances[i]):
            slot, arm = place if kind == "ranking" else (0, *place)
            direct[i] += share * (row(i, slot, arm) @ theta)
        dr[i] = direct[i]
        for k in range(slots):
            place = (k, actions[i, k]) if kind == "ranking" else (actions[i, k],)
            weight = chances[i][place] / logs[i, k]
            ips[i] += weight * rewards[i, k]
            dr[i] += weight * (rewards[i, k] - row(i, k, actions[i, k]) @ theta)
    for method, terms in (("direct", direct), ("ips", ips), ("dr", dr)):
        assert found[method].estimate == pytest.approx(terms.mean())
        assert found[method].standard_error == pytest.approx(terms.std(ddof=1) / 200**0.5)


@pytest.mark.parametrize("kind", ["single", "ranking", "set"])
def test_the_logs_own_policy_earns_what_was_logged(kind):
    it, log, _ = logged(kind, events=400)
    types = it.draw(np.random.default_rng(0), 400)["types"]
    found = off_policy(log, it.chances("logged")[types])
    mean = np.reshape(log.rewards, (400, -1)).sum(axis=1).mean()
    assert found["ips"].estimate == pytest.approx(mean)
    assert found["snips"].estimate == pytest.approx(mean)
    assert found["ips"].effective_sample_size == pytest.approx(400)
    for method in ("direct", "dr"):
        assert found[method].estimate == pytest.approx(mean, abs=4 * found[method].standard_error)


def test_a_target_may_be_a_function_of_contexts_and_mask():
    _, log, _ = logged(events=300)
    mask = np.ones((300, ARMS), bool)
    mask[np.arange(300), (log.actions + 1) % ARMS] = False
    masked = event_log(log.contexts, log.actions, log.rewards, mask=mask, propensities=log.propensities)

    def target(contexts, offered):
        scores = np.where(offered, contexts[:, :, 0], -np.inf)
        return np.eye(ARMS)[scores.argmax(axis=1)]

    by_function = quiet(masked, target)
    by_array = quiet(masked, target(masked.contexts, mask))
    assert by_function.table.equals(by_array.table)
    all_arms = quiet(log, target)
    assert all_arms["ips"].estimate != by_array["ips"].estimate


def test_doubly_robust_is_right_if_either_part_is():
    it, log, _ = logged(events=60_000, apart=0.8)

    def target(features):
        """It takes what the rewards rise with."""
        odds = np.exp(2.0 * features[:, :, 0])
        return odds / odds.sum(axis=1, keepdims=True)

    chances, truth = target(log.contexts), np.mean(np.sum(target(it.features) * it.means[:, 0], axis=1))
    wrong_model = event_log(
        np.zeros_like(log.contexts), log.actions, log.rewards, propensities=log.propensities
    )
    wrong_chances = event_log(
        log.contexts, log.actions, log.rewards, propensities=np.full(60_000, 1.0 / ARMS)
    )
    unmodelled, unweighted = quiet(wrong_model, chances), quiet(wrong_chances, chances)
    far = 5 * unmodelled["dr"].standard_error
    assert abs(unmodelled["direct"].estimate - truth) > far  # the model is wrong,
    assert abs(unweighted["ips"].estimate - truth) > far  # and so are the weights
    assert unmodelled["dr"].estimate == pytest.approx(truth, abs=4 * unmodelled["dr"].standard_error)
    assert unweighted["dr"].estimate == pytest.approx(truth, abs=4 * unweighted["dr"].standard_error)


def test_a_log_without_propensities_has_a_direct_estimate():
    _, log, chances = logged()
    plain = event_log(log.contexts, log.actions, log.rewards)
    assert off_policy(plain, chances, methods="direct")["direct"].estimate == pytest.approx(
        off_policy(log, chances)["direct"].estimate
    )
    with pytest.raises(ValueError, match="log must have propensities for ips, snips, dr, got None"):
        off_policy(plain, chances)


def plain_ridge(rows, rewards, penalty):
    mean = rewards.mean()
    theta = np.linalg.solve(rows.T @ rows + penalty * np.eye(rows.shape[1]), rows.T @ (rewards - mean))
    return lambda new: mean + new @ theta


def test_fits_are_least_squares_and_maximum_likelihood():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4))
    rewards = rng.normal(size=60)
    np.testing.assert_allclose(
        ridge(rows, rewards, 0.7).predict(rows), plain_ridge(rows, rewards, 0.7)(rows), atol=1e-12
    )
    clicks = (rng.random(60) < 0.1).astype(float)
    fit = logistic(rows, clicks, 0.7)
    means = fit.predict(rows)
    # The gradient is 0 there, and the objective is strictly convex.
    np.testing.assert_allclose(rows.T @ (means - clicks) + 0.7 * fit.theta, 0.0, atol=1e-6)
    H = rows.T @ (rows * (means * (1 - means))[:, None]) + 0.7 * np.eye(4)
    np.testing.assert_allclose(fit.solve(rows[0]), np.linalg.solve(H, rows[0]), atol=1e-10)
    for constant in (0.0, 1.0):  # no maximum without the penalty
        assert np.isfinite(logistic(rows, np.full(60, constant), 1e-3).predict(rows)).all()
    extreme = logistic(1e4 * rows, (rows[:, 0] > 0).astype(float), 1e-8)
    assert np.isfinite(extreme.theta).all()


@pytest.mark.parametrize("model", ["ridge", "logistic"])
def test_no_event_is_predicted_by_a_fit_that_saw_it(model):
    _, log, chances = logged(binary=True, events=60)
    before = predicted(log, chances, model=model, folds=3)
    for event in (0, 17, 59):
        rewards = log.rewards.copy()
        rewards[event] = 1 - rewards[event]
        changed = event_log(log.contexts, log.actions, rewards, propensities=log.propensities)
        after = predicted(changed, chances, model=model, folds=3)
        assert after.values[event] == before.values[event]
        assert after.predictions[event] == before.predictions[event]
        assert np.sum(after.values != before.values) == 40  # those of the other two folds


@pytest.mark.parametrize("kind", ["single", "ranking", "set"])
@pytest.mark.parametrize("model", ["ridge", "logistic"])
def test_influence_is_what_an_event_moves(kind, model):
    """n dV / dr_j times the residual of r_j in the fit that it is part of: that of its own fold, of two."""
    _, log, chances = logged(kind, binary=True, events=80)
    events, slots = 80, 1 if kind == "single" else 2
    inside = 0.1 + 0.8 * log.rewards
    # The rows' constant makes up for a mean that moves, but for what the penalty takes.
    penalty, step = 1e-4, 1e-3
    fold_of = np.random.default_rng(0).permutation(events) % 2

    def found(rewards):
        changed = event_log(log.contexts, log.actions, rewards, propensities=log.propensities)
        return predicted(changed, chances, model=model, penalty=penalty)

    influence = found(inside).influence
    for event in (0, 5, 21):
        fold = np.flatnonzero(fold_of == fold_of[event])
        actions, rewards = (np.reshape(part, (events, slots))[fold] for part in (log.actions, inside))
        constants = np.eye(2) if kind == "ranking" else np.ones((slots, 1))
        features = np.take_along_axis(log.contexts[fold], actions[:, :, None], axis=1)
        rows = np.dstack([features, np.broadcast_to(constants, (len(fold), *constants.shape))])
        rows = rows.reshape(len(fold) * slots, -1)
        fit = {"ridge": ridge, "logistic": logistic}[model](rows, rewards.ravel(), penalty)
        residuals = (rewards.ravel() - fit.predict(rows)).reshape(rewards.shape)[fold == event][0]
        expected = 0.0
        for slot in range(slots):
            up, down = inside.copy(), inside.copy()
            np.reshape(up, (events, slots))[event, slot] += step
            np.reshape(down, (events, slots))[event, slot] -= step
            slope = (found(up).values.mean() - found(down).values.mean()) / (2 * step)
            expected += events * slope * residuals[slot]
        assert abs(expected) > 1e-3
        assert influence[event] == pytest.approx(expected, rel=1e-2)


def test_the_bootstrap_knows_what_the_asymptotic_interval_does():
    """The noise of the model's fit in the direct method, too, without which it is half as wide."""
    _, log, chances = logged(events=1500)
    by_theory, by_draws = off_policy(log, chances), off_policy(log, chances, interval="bootstrap")
    for method in ALL:
        assert by_draws[method].estimate == by_theory[method].estimate
        assert by_draws[method].standard_error == pytest.approx(by_theory[method].standard_error, rel=0.1)
        assert by_draws[method].low == pytest.approx(
            by_theory[method].low, abs=0.4 * by_theory[method].standard_error
        )
    values = predicted(log, chances).values
    assert by_theory["direct"].standard_error > 1.5 * values.std() / 1500**0.5


def test_blocks_change_nothing(monkeypatch):
    _, log, chances = logged("ranking")
    whole = predicted(log, chances)
    monkeypatch.setattr(reward_model_module, "_BLOCK", 1000)
    parts = predicted(log, chances)
    np.testing.assert_allclose(whole.values, parts.values)
    np.testing.assert_allclose(whole.influence, parts.influence)


def test_a_classifier_predicts_the_mean_of_its_classes():
    class Classifier(Table):
        classes_ = np.array([0, 1])

        def predict_proba(self, rows):
            share = np.clip(super().predict(rows), 0, 1)
            return np.column_stack([1 - share, share])

        def predict(self, rows):
            raise AssertionError("labels are no expectation")

    _, log, chances = logged(binary=True)
    ours, plain = quiet(log, chances, model=Classifier()), quiet(log, chances, model=Table())
    assert ours["dr"].estimate == pytest.approx(plain["dr"].estimate)


def coverage(kind: str, binary: bool, model: str, interval: str, logs: int, events: int = 500):
    it = world(kind, binary, apart=0.6)
    hits = []
    rng = np.random.default_rng(77)
    for number in range(logs):
        drawn = it.draw(rng, events)
        log = event_log(
            it.features[drawn["types"]],
            drawn["actions"],
            drawn["rewards"],
            propensities=drawn["propensities"],
        )
        chances = it.chances("wanted")[drawn["types"]]
        found = quiet(log, chances, model=model, interval=interval, seed=number).table
        hits.append((found["low"] <= it.truth) & (it.truth <= found["high"]))
    return dict(zip(ALL, np.mean(hits, axis=0).tolist(), strict=True))


@pytest.mark.parametrize(("kind", "binary", "model"), [("single", False, "ridge"), ("set", True, "logistic")])
def test_intervals_of_fitted_models_cover_the_truth(kind, binary, model):
    """The worlds are linear but for clipping: both models are nearly right."""
    for method, share in coverage(kind, binary, model, "asymptotic", logs=300).items():
        assert abs(share - 0.95) < 3.5 * (0.95 * 0.05 / 300) ** 0.5, (method, share)


@pytest.mark.full
@pytest.mark.parametrize(("binary", "model"), [(False, "ridge"), (True, "logistic")])
@pytest.mark.parametrize("kind", ["single", "ranking", "set"])
@pytest.mark.parametrize("interval", ["asymptotic", "bootstrap"])
def test_95_percent_intervals_of_fitted_models_cover_93_to_97_percent(kind, binary, model, interval):
    for method, share in coverage(kind, binary, model, interval, logs=4000).items():
        assert 0.93 <= share <= 0.97, (method, share)


def small(events: int = 30, num_arms: int = 5, seed: int = 0, masked: bool = False):
    rng = np.random.default_rng(seed)
    mask = rng.random((events, num_arms)) < 0.8 if masked else None
    actions = np.zeros(events, int)
    if masked:
        mask[:, :2] = True
    return event_log(rng.normal(size=(events, num_arms, 3)), actions, rng.normal(size=events), mask=mask)


def learned(policy, events: int = 20, dim: int = 3):
    """A state after some events, whose rewards are the first feature."""
    state = policy.init(jax.random.key(0), superarm.Spec(dim, 5))
    size, observe = policy.chooser.size, jax.jit(policy.observe)
    with jax.enable_x64(True):
        for event in range(events):
            features = np.random.default_rng(event).normal(size=(size, dim))
            told = superarm.Event(
                items=np.arange(size, dtype=np.int32),
                features=features,
                feedback=features[:, 0],
                observed=np.ones(size, bool),
            )
            state = observe(state, jax.random.key(event), told)
    return state


def test_exact_chances_are_those_of_every_event():
    log = small(masked=True)
    policy = superarm.epsilon_greedy(epsilon=0.3)
    state = learned(policy)
    found = chances_of(policy, log, state=state, count=20)
    for event in range(30):
        one = policy.propensities(state, Offer(log.contexts[event], log.mask[event]), 20)
        np.testing.assert_allclose(found[event], one, atol=1e-12)
    assert (found[~log.mask] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_drawn_chances_are_near_the_exact_ones():
    log = small(masked=True)
    policy = superarm.epsilon_greedy(epsilon=0.3)
    state = learned(policy)
    exact = chances_of(policy, log, state=state)
    drawn = chances_of(policy, log, state=state, draws=2000)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0)
    assert np.abs(drawn - exact).max() < 5 * (0.25 / 2000) ** 0.5
    again = chances_of(policy, log, state=state, draws=2000)
    assert (again == drawn).all()
    assert (chances_of(policy, log, state=state, draws=2000, seed=1) != drawn).any()


def test_exact_chances_of_positions():
    log = small(masked=True)
    policy = superarm.epsilon_greedy(superarm.top_k(2), epsilon=0.3)
    state = learned(policy)
    found = chances_of(policy, log, state=state, positions=True)
    assert found.shape == (30, 2, 5)
    np.testing.assert_allclose(found.sum(axis=1), chances_of(policy, log, state=state))
    one = jax.jit(partial(policy.propensities, positions=True))(state, Offer(log.contexts[7], log.mask[7]), 0)
    np.testing.assert_allclose(found[7], one, atol=1e-12)
    many = superarm.epsilon_greedy(superarm.top_k(4), epsilon=0.3)  # of two or three on offer
    with pytest.raises(ValueError, match="policy must give a sound decision in every event, got none"):
        chances_of(many, log, state=state, positions=True)


def test_draws_of_sets_and_positions_are_counted():
    log = small(events=8, masked=True)
    policy = superarm.comb_lin_ts(superarm.top_k(2))
    state = learned(policy)
    by_position = chances_of(policy, log, state=state, count=20, draws=70, positions=True)
    inside = chances_of(policy, log, state=state, count=20, draws=70)
    assert by_position.shape == (8, 2, 5)
    np.testing.assert_allclose(by_position.sum(axis=1), inside)
    expected, select = np.zeros((2, 5)), jax.jit(policy.select)
    with jax.enable_x64(True):
        for draw in range(70):
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), 3), draw)
            items = select(state, key, Offer(log.contexts[3], log.mask[3]), 20).items
            expected[[0, 1], np.asarray(items)] += 1 / 70
    np.testing.assert_allclose(by_position[3], expected, atol=1e-12)


def test_oracles_on_the_host_are_counted_as_compiled_ones():
    log = small(events=3, masked=True)
    native = superarm.comb_lin_ucb(superarm.top_k(2))
    state = learned(native)
    oracle = superarm.oracles.milp(np.ones((1, 5)), at_least=2, at_most=2)
    host = superarm.comb_lin_ucb(oracle)
    found = chances_of(host, log, state=state, draws=3)
    np.testing.assert_allclose(found, chances_of(native, log, state=state, draws=3))


def test_events_come_in_blocks(monkeypatch):
    from superarm.evaluate import propensities as module

    log = small(events=30)
    policy = superarm.uniform()
    state = policy.init(jax.random.key(0), log.spec)
    whole = chances_of(policy, log, state=state, draws=60)
    monkeypatch.setattr(module, "_EVENTS", 13)
    np.testing.assert_array_equal(chances_of(policy, log, state=state, draws=60), whole)


def test_few_draws_do_not_bias_the_estimate():
    """Thompson sampling by five draws per event: unbiased, with an interval that knows the noise of draws."""
    _, log, _ = logged(events=3000)
    policy = superarm.lin_ts(prior_scale=0.5)
    state = learned(policy)
    many = quiet(log, chances_of(policy, log, state=state, draws=400))
    few = quiet(log, chances_of(policy, log, state=state, draws=5))
    for method in ALL:
        apart = few[method].estimate - many[method].estimate
        assert abs(apart) < 4 * few[method].standard_error, method
    assert few["ips"].standard_error > many["ips"].standard_error


def test_a_policy_that_learned_is_judged():
    _, log, _ = logged(events=4000)
    policy = superarm.lin_ucb(radius=0.1)
    judging = log.take(np.arange(4000) >= 2000)
    np.testing.assert_array_equal(judging.actions, log.actions[2000:])
    np.testing.assert_array_equal(judging.propensities, log.propensities[2000:])
    assert judging.mask is None
    state = learned(policy)
    found = quiet(judging, chances_of(policy, judging, state=state, count=20))
    # It takes the largest first feature, which the rewards rise with.
    assert found["dr"].estimate > judging.rewards.mean() + found["dr"].standard_error


def test_unsound_decisions_are_refused():
    log = small()
    policy = superarm.lin_ucb()
    state = learned(policy)
    broken = jax.tree.map(lambda leaf: np.full(leaf.shape, np.nan) if leaf.dtype.kind == "f" else leaf, state)
    with pytest.raises(
        ValueError, match="chances_of: policy must give a sound decision in every event, got none"
    ):
        chances_of(policy, log, state=broken)
    with pytest.raises(ValueError, match=r"got none of lin_ucb at 0"):
        chances_of(policy, log, state=broken, draws=3)
    with pytest.raises(ValueError, match="draws must be >= 1, got 0"):
        chances_of(policy, log, state=state, draws=0)
    with pytest.raises(TypeError, match="policy must have select, propensities, chooser, got str"):
        chances_of("lin_ucb", log, state=state)


UNIFORM = np.full((4, 3), 1 / 3)
ONE = event_log(np.zeros((4, 3, 1)), [0, 1, 2, 0], [0.0, 1.0, 0.0, 0.0], propensities=[0.5] * 4)
RANKED = event_log(
    np.zeros((4, 3, 1)), [[0, 1], [1, 2], [2, 0], [0, -1]], np.ones((4, 2)), propensities=np.full((4, 2), 0.5)
)


@pytest.mark.parametrize(
    ("log", "target", "options", "kind", "message"),
    [
        (ONE, UNIFORM * 2, {}, ValueError, r"target's chances must sum to 1 in every event, got 2 at 0"),
        (
            ONE,
            -UNIFORM,
            {},
            ValueError,
            r"target's chances must be between 0 and 1, got -0.333333 at \(0, 0\)",
        ),
        (ONE, UNIFORM[:2], {}, ValueError, r"target's chances must have shape \(4, 3\), got \(2, 3\)"),
        (
            RANKED,
            np.ones((4, 2, 2)),
            {},
            ValueError,
            r"target's chances must have shape \(4, 3\) or \(4, 2, 3\), got \(4, 2, 2\)",
        ),
        (
            RANKED,
            np.full((4, 2, 3), 0.5),
            {},
            ValueError,
            r"target's chances must sum to at most 1 at every position, got 1.5 at \(0, 0\)",
        ),
        (ONE, UNIFORM, {"folds": 1}, ValueError, "folds must be between 2 and 4, got 1"),
        (ONE, UNIFORM, {"penalty": 0.0}, ValueError, "penalty must be > 0, got 0.0"),
        (
            ONE,
            UNIFORM,
            {"model": "forest"},
            ValueError,
            "model must be one of 'ridge', 'logistic', got 'forest'",
        ),
        (ONE, UNIFORM, {"model": 3}, TypeError, "model must have fit, predict, got int"),
        (ONE, UNIFORM, {"methods": "best"}, ValueError, "methods must be one of .*, got 'best'"),
    ],
)
def test_bad_arguments_are_said_in_one_sentence(log, target, options, kind, message):
    with pytest.raises(kind, match=rf"^off_policy: {message}$"):
        quiet(log, target, **options)


def test_a_log_of_rankings_takes_chances_of_positions():
    parts = {"propensities": RANKED.propensities, "ranking": True}
    log = event_log(RANKED.contexts, RANKED.actions, RANKED.rewards, **parts)
    uniform = np.full((4, 2, 3), 1 / 3)
    assert quiet(log, uniform).table.equals(quiet(RANKED, uniform).table)
    with pytest.raises(ValueError, match=r"target's chances must have shape \(4, 2, 3\), got \(4, 3\)"):
        off_policy(log, UNIFORM)
    assert not event_log(ONE.contexts, ONE.actions, ONE.rewards, ranking=True).ranking  # nothing is ranked


def test_what_cannot_be_evaluated_is_said():
    with pytest.raises(TypeError, match=r"off_policy: log must have contexts, .*, got list"):
        off_policy([1], UNIFORM)
    masked = event_log(
        ONE.contexts,
        ONE.actions,
        ONE.rewards,
        mask=np.array([[1, 1, 0]] + [[1, 1, 1]] * 3),
        propensities=[0.5] * 4,
    )
    with pytest.raises(
        ValueError, match=r"chances must be 0 for arms that are not on offer, got 0.333333 at \(0, 2"
    ):
        off_policy(masked, UNIFORM)
    unseen = event_log(RANKED.contexts, RANKED.actions, RANKED.rewards, observed=np.eye(4, 2) == 0)
    with pytest.raises(ValueError, match=r"reward of every item, .*, got one not observed at \(0, 0\)"):
        off_policy(unseen, UNIFORM, methods="direct")
    twice = event_log(
        RANKED.contexts, [[0, 1], [1, 1], [2, 0], [0, -1]], np.ones((4, 2)), propensities=np.full((4, 2), 0.5)
    )
    with pytest.raises(ValueError, match="log must have an item once in a set, got item 1 twice at 1"):
        off_policy(twice, UNIFORM)
    skewed = event_log(ONE.contexts, ONE.actions, [0.0, 1.0, 2.0, 0.0], propensities=[0.5] * 4)
    with pytest.raises(ValueError, match="rewards must be between 0 and 1, got values from 0 to 2"):
        quiet(skewed, UNIFORM, model="logistic")


def test_warnings_point_at_the_caller():
    halves = np.tile([0.5, 0.5, 0.0], (4, 1))
    halves[2] = [0.0, 0.0, 1.0]
    with pytest.warns(RuntimeWarning, match="off_policy: events are few: 4") as caught:
        off_policy(ONE, halves, methods="snips")
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        (
            ([[0, 3]], [[0.0, 0.0]]),
            {},
            ValueError,
            r"actions must be between -1 \(not used\) and 2, got 3 at \(0, 1\)",
        ),
        (([[0.5, 1.0]], [[0.0, 0.0]]), {}, TypeError, "actions must be whole numbers, got dtype float64"),
        (([[0], [1]], [[0.0], [0.0]]), {}, ValueError, r"actions must have shape \(1, any\), got \(2, 1\)"),
        (
            ([0], [0.0]),
            {"propensities": [0.0]},
            ValueError,
            "propensities must be > 0 and at most 1, got 0 at 0",
        ),
        (
            ([0], [0.0]),
            {"mask": [[0, 1, 1]]},
            ValueError,
            "mask must be True for the arms .*, got False for arm 0 at 0",
        ),
        (([0], [0.0]), {"mask": [[1, 1]]}, ValueError, r"mask must have shape \(1, 3\), got \(1, 2\)"),
        (([0], [np.nan]), {}, ValueError, r"rewards must be finite, got nan at \(0,\)"),
        (
            ([[0, 1]], [[0.5, 0.0]]),
            {"binary": True},
            ValueError,
            r"rewards must be 0 or 1, got 0.5 at \(0, 0\)",
        ),
    ],
)
def test_malformed_parts_of_a_log_are_said(arguments, options, kind, message):
    with pytest.raises(kind, match=rf"^event_log: {message}$"):
        event_log(np.zeros((1, 3, 1)), *arguments, **options)


def test_what_was_not_observed_may_be_anything():
    log = event_log(
        np.zeros((2, 3, 1)),
        [[0, 1], [2, -1]],
        [[1.0, np.nan], [0.5, np.nan]],
        observed=[[True, False], [True, True]],
        propensities=[[0.5, 0.5], [0.5, np.nan]],
    )
    assert log.rewards.tolist() == [[1.0, 0.0], [0.5, 0.0]]
    assert log.observed.tolist() == [[True, False], [True, False]]
    assert log.slots == 2


def test_replay_takes_masks_and_refuses_other_logs():
    rng = np.random.default_rng(0)
    mask = np.ones((400, 3), bool)
    mask[:, 2] = False
    contexts = rng.normal(size=(400, 3, 2))
    contexts[:, 2, 0] = 100.0  # would be chosen, if it were on offer
    actions = rng.integers(2, size=400)
    uniform = event_log(
        contexts, actions, contexts[np.arange(400), actions, 0], mask=mask, propensities=np.full(400, 0.5)
    )
    table = replay(superarm.lin_ucb(), uniform, accepted=100)
    assert set(np.concatenate(table["items"].to_list())) == {0, 1}
    with pytest.raises(ValueError, match=r"log must be of uniform choices, .*, got 1.5 to 1.5 times"):
        # All three arms are on offer here.
        logged_world(event_log(contexts, actions, contexts[:, 0, 0], propensities=np.full(400, 0.5)))
    with pytest.raises(
        ValueError, match=r"log must have 2 different items in every event, got \[0, -1\] at 3"
    ):
        logged_world(RANKED)
