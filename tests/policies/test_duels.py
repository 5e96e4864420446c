"""Dueling bandits against their transcription in plain NumPy, and what the choosers promise.

Policy and transcription start from the same weights and meet the same contexts, preferences and standard
normals. Every round both must hold the same utilities, features' widths and choose the same two arms.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference.oh2026 as reference
import superarm
from superarm.choosers import Duel
from superarm.environments import answer_duels, class_duels, duels, matrix_duels
from superarm.explorers.pairs import PairEnsemble, pair_widths
from superarm.models import Paired, Preferences, perceptron
from superarm.models.factory import neural
from superarm.types import Event, Offer, PairScores, Spec

ARMS, DIM, UNITS = 4, 3, 16  # of few units some arms have no gradient, and tie
CLOSE = 1e-8
SHORT = {"asymmetric": "asym", "optimistic": "osym", "candidate": "csym"}


def contexts_of(rounds, seed=0):
    rng = np.random.default_rng(seed)
    contexts = rng.uniform(-1, 1, (rounds, ARMS, DIM))
    return contexts / np.linalg.norm(contexts, axis=2, keepdims=True), rng.uniform(size=rounds)


def preferred(contexts, chance, first, second):
    """1 when the first of two arms wins, by the square utility."""
    theta = np.array([0.9, -0.5, 0.7])
    gap = 3.0 * ((contexts[first] @ theta) ** 2 - (contexts[second] @ theta) ** 2)
    return float(chance < 1.0 / (1.0 + np.exp(-gap)))


@jax.jit
def chosen(policy, state, key, contexts, count):
    """The decision, the utilities and the widths of all pairs."""
    decision = policy.select(state, key, contexts, count)
    beliefs = policy.model.beliefs(state, contexts, policy.width)
    return decision, beliefs.mean, pair_widths(beliefs)


@jax.jit
def recorded(policy, state, event):
    return policy.observe(state, jax.random.key(0), event)


@jax.jit
def learned(policy, state, event):
    state = recorded(policy, state, event)
    return replace(state, fit=policy.learn(state, jax.random.key(0)))


def normals_of(key, arms=ARMS):
    """(n, n) the standard normals that a policy takes from a decision's key."""
    return np.asarray(jax.random.normal(jax.random.split(key)[0], (arms, arms), jnp.float64))


def in_double(policy):
    network = replace(policy.model.model.network.network, precision="float64")
    return replace(policy, model=Preferences(replace(policy.model.model, network=Paired(network))))


def synchronize(agent, state):
    """Give the transcription the policy's weights, which differ by rounding.

    A step of Adam has the size of the learning rate whatever the gradient's: components that all but vanish,
    of units that all but die, turn rounding into differences of 1e-5 within one fit.
    """
    if hasattr(agent, "weights"):
        agent.weights = [np.array(leaf) for leaf in jax.tree.leaves(state.fit.params)]
        if type(agent) is reference.RebuiltNVLDB:  # the others keep what V was given
            agent.rebuild()


def play(policy, rounds, agent_of, choose, check):
    """Run policy and transcription side by side."""
    contexts, chances = contexts_of(rounds)
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(3), Spec(dim=DIM, num_arms=ARMS, capacity=2 * rounds))
        first = [np.asarray(leaf) for leaf in jax.tree.leaves(getattr(state.fit, "first", ()))]
        agent = agent_of(first)
        for count in range(rounds):
            key = jax.random.fold_in(jax.random.key(9), count)
            decision, means, widths = chosen(policy, state, key, contexts[count], count)
            check(agent, contexts[count], np.asarray(means), np.asarray(widths))
            synchronize(agent, state)
            expected = choose(agent, contexts[count], normals_of(key), count + 1)
            # A pair without order may come either way round.
            assert sorted(np.asarray(decision.items).tolist()) == sorted(expected), count
            one, other = np.asarray(decision.items)
            won = preferred(contexts[count], chances[count], one, other)
            agent.observe(contexts[count][one], contexts[count][other], int(won))
            event = Event(decision.items, decision.features, jnp.array([won, 1.0 - won]), decision.mask)
            step = learned if (count + 1) % policy.learn_every == 0 else recorded
            state = step(policy, state, event)


def same_scores(agent, contexts, means, widths):
    exact = 1e-5 if type(agent) is reference.TheoryNVLDB else CLOSE  # Newton's method stops there
    close = exact if len(agent.duels) < 12 else 1e-3  # before units begin to die
    utilities, features, matrix = agent.scores(contexts)
    np.testing.assert_allclose(means, utilities, rtol=close, atol=close)
    np.testing.assert_allclose(widths, reference.widths(features, matrix), rtol=10 * close, atol=10 * close)


def strategy_of(rule, strategy, listing):
    def choose(agent, contexts, normals, count):
        utilities, features, matrix = agent.scores(contexts)
        arguments = [utilities, features, matrix, 1.0]
        name = f"{rule}_{SHORT[strategy]}"
        if rule == "ts":
            arguments.append(normals)
            if strategy == "candidate":
                name, arguments = (name + "_listing", arguments) if listing else (name, [*arguments, count])
        return list(getattr(reference, name)(*arguments))

    return choose


@pytest.mark.parametrize(
    ("rule", "strategy"),
    [
        ("ucb", "asymmetric"),
        ("ts", "optimistic"),
        ("ts", "candidate"),
        *(
            pytest.param(*one, marks=pytest.mark.full)
            for one in (("ts", "asymmetric"), ("ucb", "optimistic"), ("ucb", "candidate"))
        ),
    ],
)
def test_nvldb_as_in_the_figures(rule, strategy):
    policy = in_double(superarm.nvldb(rule=rule, strategy=strategy, units=UNITS, steps=3))

    def agent_of(first):
        return reference.FigureNVLDB(first, steps=3, reset=True)

    play(policy, 30, agent_of, strategy_of(rule, strategy, True), same_scores)


def test_nvldb_with_a_network_that_goes_on_from_fit_to_fit():
    policy = in_double(superarm.nvldb(units=UNITS, steps=3, restart=False))

    def agent_of(first):
        return reference.FigureNVLDB(first, steps=3)

    play(policy, 30, agent_of, strategy_of("ucb", "asymmetric", True), same_scores)


def test_between_fits_a_duel_counts_by_the_fit_in_force():
    policy = in_double(superarm.nvldb(units=UNITS, steps=3, learn_every=4, radius=3.0))

    def agent_of(first):
        return reference.FigureNVLDB(first, steps=3, reset=True, every=4)

    def choose(agent, contexts, normals, count):
        return list(reference.ucb_asym(*agent.scores(contexts), 3.0))

    play(policy, 32, agent_of, choose, same_scores)


@pytest.mark.parametrize(
    ("features", "form"), [(None, "figure"), pytest.param(2, "linear", marks=pytest.mark.full)]
)
def test_nvldb_with_a_gram_matrix_of_the_features_of_now(features, form):
    policy = in_double(superarm.nvldb(units=UNITS, steps=3, features=features, refresh=True, restart=False))

    def agent_of(first):
        return reference.RebuiltNVLDB(first, steps=3, form=form)

    play(policy, 30, agent_of, strategy_of("ucb", "asymmetric", True), same_scores)


@pytest.mark.full
@pytest.mark.parametrize("strategy", ["asymmetric", pytest.param("candidate", marks=pytest.mark.full)])
def test_nldb_counts_all_alike(strategy):
    policy = in_double(superarm.nldb(strategy=strategy, units=UNITS, steps=3))

    def agent_of(first):
        return reference.FigureNVLDB(first, steps=3, reset=True, variance_aware=False)

    play(policy, 30, agent_of, strategy_of("ucb", strategy, True), same_scores)


@pytest.mark.parametrize(
    ("rule", "strategy"),
    [("ucb", "optimistic"), *(pytest.param("ts", one, marks=pytest.mark.full) for one in list(SHORT)[::2])],
)
def test_nvldb_as_written(rule, strategy):
    wide = {"units": UNITS, "features": UNITS}  # arms that no feature sees tie
    policy = in_double(superarm.nvldb_theory(rule=rule, strategy=strategy, steps=3, **wide))

    def agent_of(first):
        return reference.TheoryNVLDB(first, steps=3, form="theory")

    play(policy, 30, agent_of, strategy_of(rule, strategy, False), same_scores)


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("nvldb", "probit"),
        ("nvldb", "exponential"),
        ("nvldb_theory", "exponential"),
        pytest.param("nvldb_theory", "probit", marks=pytest.mark.full),
    ],
)
def test_neural_duels_with_other_links(name, link):
    theory = name == "nvldb_theory"
    wide = {"features": UNITS} if theory else {}
    policy = in_double(getattr(superarm, name)(link=link, units=UNITS, steps=3, **wide))

    def agent_of(first):
        if theory:
            return reference.TheoryNVLDB(first, steps=3, form="theory", link=link)
        return reference.FigureNVLDB(first, steps=3, link=link, reset=True)

    play(policy, 30, agent_of, strategy_of("ucb", "asymmetric", not theory), same_scores)


@pytest.mark.parametrize("rule", ["ucb", pytest.param("ts", marks=pytest.mark.full)])
def test_ndb(rule):
    build = superarm.ndb_ucb if rule == "ucb" else superarm.ndb_ts
    policy = in_double(build(units=UNITS, steps=3, radius=0.8))

    def agent_of(first):
        return reference.NDB(first, steps=3)

    def choose(agent, contexts, normals, count):
        arguments = [*agent.scores(contexts), 0.8, *([normals] if rule == "ts" else [])]
        return list(getattr(reference, f"{rule}_asym")(*arguments, self_duels=False))

    def close(agent, contexts, means, widths):
        utilities, gradients, matrix = agent.scores(contexts)
        np.testing.assert_allclose(means, utilities, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(widths, reference.widths(gradients, matrix), rtol=1e-5, atol=1e-6)

    play(policy, 25, agent_of, choose, close)


@pytest.mark.parametrize("link", ["logistic", "exponential", pytest.param("probit", marks=pytest.mark.full)])
@pytest.mark.parametrize("name", ["max_inp", "max_pair_ucb"])
def test_linear_duels(name, link):
    policy = getattr(superarm, name)(radius=0.7, link=link)

    def agent_of(_):
        return reference.GLMDuel(dim=DIM, link=link, penalty=1.0)

    def choose(agent, contexts, normals, count):
        return list(getattr(agent, name)(contexts, 0.7))

    def close(agent, contexts, means, widths):
        near = 1e-5 if link == "exponential" else 1e-6  # by Fisher scoring, which converges more slowly
        np.testing.assert_allclose(means, agent.utilities(contexts), rtol=near, atol=near)
        np.testing.assert_allclose(widths, reference.widths(contexts, agent.V()), rtol=1e-8, atol=1e-8)

    play(policy, 60, agent_of, choose, close)


def test_colstim():
    policy = superarm.colstim(radius=0.7, threshold=1.0)

    def agent_of(_):
        return reference.GLMDuel(dim=DIM, link="logistic", penalty=1.0)

    drawn = []

    def choose(agent, contexts, normals, count):
        key = jax.random.fold_in(jax.random.key(9), count - 1)
        noise = np.asarray(jax.random.gumbel(jax.random.split(key)[0], (ARMS,), jnp.float64))
        drawn.append(noise)
        return list(agent.colstim(contexts, noise, c=0.7, threshold=1.0))

    play(policy, 60, agent_of, choose, lambda *_: None)
    assert np.mean(np.abs(drawn) > 1.0) > 0.2  # the threshold cuts


def pairs_of(seed, arms=6):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(arms, 3))
    gram = rows @ rows.T
    widths = np.sqrt(np.maximum(np.diag(gram)[:, None] + np.diag(gram)[None] - 2 * gram, 0.0))
    return rows, rng.normal(size=arms), widths


@pytest.mark.parametrize("strategy", SHORT)
@pytest.mark.parametrize("self_duels", [True, False])
def test_choosers_keep_to_the_mask_and_to_their_definition(strategy, self_duels):
    chooser = Duel(strategy, self_duels)
    choose = jax.jit(chooser.choose)
    for seed in range(20):
        rows, utilities, widths = pairs_of(seed)
        mask = np.random.default_rng(100 + seed).uniform(size=6) < 0.7
        if not mask.any():
            continue
        scores = PairScores(*(jnp.asarray(one) for one in (utilities, widths, widths, widths)))
        choice = choose(jax.random.key(seed), scores, jnp.asarray(mask))
        items = np.asarray(choice.items)
        assert bool(choice.feasible)
        assert mask[items].all()
        if not self_duels and mask.sum() > 1:
            assert items[0] != items[1]
        kept = np.flatnonzero(mask)
        expected = getattr(reference, f"ucb_{SHORT[strategy]}")(
            utilities[kept], rows[kept], np.eye(3), 1.0, self_duels=self_duels or len(kept) == 1
        )
        assert sorted(items.tolist()) == sorted(kept[list(expected)].tolist()), (seed, items)


@pytest.mark.parametrize("strategy", SHORT)
def test_identical_arms_duel_at_random(strategy):
    same = jnp.zeros(5)
    scores = PairScores(same, *(jnp.zeros((5, 5)),) * 3)
    choose = jax.jit(Duel(strategy).choose)
    everything = jnp.ones(5, bool)
    met = [np.asarray(choose(jax.random.key(seed), scores, everything).items) for seed in range(99)]
    assert len({tuple(pair) for pair in met}) > 10


@pytest.mark.parametrize(
    "policy",
    [superarm.nvldb(units=4), superarm.max_inp(), superarm.vacdb(10), superarm.colstim()],
    ids=lambda policy: policy.name,
)
def test_a_single_arm_meets_itself(policy):
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), Spec(dim=2, num_arms=1, capacity=8))
        decision = policy.select(state, jax.random.key(1), jnp.ones((1, 2)), 0)
        assert decision.items.tolist() == [0, 0]
        event = Event(decision.items, decision.features, jnp.array([1.0, 0.0]), decision.mask, decision.memo)
        record = policy.observe(state, jax.random.key(2), event).record
    assert bool(decision.healthy)
    assert int(record.history.seen) == 0  # which says nothing


@pytest.mark.full
def test_a_thousand_arms():
    world = duels("square", num_arms=1000, dim=5)
    result = superarm.simulate(superarm.max_pair_ucb(learn_every=5), world, rounds=5, seeds=1, workers=0)
    assert np.isfinite(result.table["regret"]).all()


@cache
def among_a_thousand():
    """A policy's state after coin tosses between some of 1,000 arms, and the arms."""
    rng = np.random.default_rng(6)
    arms = rng.uniform(-1, 1, (1000, 5))
    policy = in_double(superarm.nvldb(units=8, steps=1, restart=False))
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(2), Spec(dim=5, num_arms=1000, capacity=40))
        for one, other in rng.integers(1000, size=(20, 2)):
            won = float(rng.uniform() < 0.5)
            pair = jnp.array([one, other])
            event = Event(pair, arms[pair], jnp.array([won, 1.0 - won]), jnp.array([True, True]))
            state = learned(policy, state, event)
    return state, arms


def criterion(rule, strategy, utilities, widths, radius, normals):
    """(n, n) what the strategy maximizes over ordered pairs, minus infinity where it may not go."""
    reach = radius * widths
    bonus = reach if rule == "ucb" else reach * normals
    if strategy == "optimistic":
        return utilities[:, None] + utilities + bonus
    if strategy == "asymmetric":
        first = np.arange(len(utilities)) == np.argmax(utilities)
        return np.where(first[:, None], utilities + bonus.T, -np.inf)
    beaten = (reach <= utilities - utilities[:, None]) & ~np.eye(len(utilities), dtype=bool)
    candidates = ~beaten.any(axis=1)
    assert 2 < candidates.sum() < 900
    spread = widths if rule == "ucb" else reach + reach**2 / 4 * normals  # by the listing
    return np.where(candidates[:, None] & candidates, spread, -np.inf)


@pytest.mark.parametrize("rule", ["ucb", "ts"])
@pytest.mark.parametrize("strategy", SHORT)
def test_nvldb_finds_the_best_pair_of_a_thousand_arms_in_the_memory_of_few_matrices(rule, strategy):
    """At most five (n, n) matrices: not a number per unit, of which there are 8, for all pairs."""
    state, arms = among_a_thousand()
    policy = in_double(superarm.nvldb(rule=rule, strategy=strategy, radius=0.8, units=8))
    key = jax.random.key(5)
    with jax.enable_x64(True):
        select = jax.jit(policy.select).lower(state, key, arms, 20).compile()
        decision = select(state, key, arms, 20)
        beliefs = policy.model.beliefs(state, arms, policy.width)
        normals = normals_of(key, 1000)
    assert select.memory_analysis().temp_size_in_bytes <= 5 * 8 * 1000**2
    utilities, rows = np.asarray(beliefs.mean), np.asarray(beliefs.whitened.values)
    widths = np.linalg.norm(rows[:, None] - rows, axis=2)
    values = criterion(rule, strategy, utilities, widths, 0.8, normals)
    assert bool(decision.healthy)
    first, second = np.asarray(decision.items)
    assert first != second  # widths decide: by utilities alone the best arm would meet itself
    assert values[first, second] >= values.max() - 1e-7


def test_regret_is_average_and_weak():
    world = duels("square", dim=3, num_arms=5)
    theta = world.init(jax.random.key(0))
    offer = world.offer(theta, jax.random.key(1))
    utilities = [reference.square(x, np.asarray(theta)[0]) for x in np.asarray(offer.contexts)]
    decision = superarm.uniform_duel().select(
        superarm.uniform_duel().init(jax.random.key(2), world.spec), jax.random.key(3), offer.contexts, 0
    )
    one, other = np.asarray(decision.items)
    outcome = world.respond(theta, jax.random.key(4), offer, decision)
    average = reference.average_regret(np.array(utilities), one, other)
    weak = reference.weak_regret(np.array(utilities), one, other)
    np.testing.assert_allclose(outcome.best - outcome.value, average, rtol=1e-9)
    np.testing.assert_allclose(outcome.best_reward - outcome.reward, weak, atol=1e-9)


@pytest.mark.parametrize("preference", ["logistic", "probit", "exponential", "certain"])
def test_preferences_come_as_often_as_the_link_says(preference):
    from scipy.stats import norm

    world = duels("linear", dim=2, num_arms=2, preference=preference)
    theta = world.init(jax.random.key(0))
    offer = world.offer(theta, jax.random.key(1))
    state = superarm.uniform_duel().init(jax.random.key(0), world.spec)
    decision = superarm.uniform_duel(self_duels=False).select(state, jax.random.key(3), offer.contexts, 0)
    keys = jax.random.split(jax.random.key(5), 4000)
    with jax.enable_x64(True):
        respond = jax.jit(jax.vmap(lambda key: world.respond(theta, key, offer, decision).feedback))
        feedback = np.asarray(respond(keys))
    utilities = np.asarray(offer.contexts) @ np.asarray(theta)[0]
    gap = float(utilities[decision.items[0]] - utilities[decision.items[1]])
    chance = {
        "logistic": 1 / (1 + np.exp(-gap)),
        "probit": norm.cdf(gap),
        "exponential": 1 - np.exp(-gap) / 2 if gap >= 0 else np.exp(gap) / 2,
        "certain": float(gap > 0),
    }[preference]
    np.testing.assert_array_equal(feedback.sum(axis=1), 1.0)
    assert abs(feedback[:, 0].mean() - chance) < 4 * np.sqrt(chance * (1 - chance) / 4000) + 1e-12


def test_known_variances_take_the_place_of_the_models():
    """With the world's variances the weights of preferences are those, not the model's."""
    with jax.enable_x64(True):
        world = duels("linear", dim=DIM, num_arms=ARMS, tells_variance=True)
        policy = in_double(superarm.nvldb_theory(units=UNITS, steps=1))
        state = policy.init(jax.random.key(0), Spec(dim=DIM, num_arms=ARMS, capacity=20))
        theta = world.init(jax.random.key(1))
        offer = world.offer(theta, jax.random.key(2))
        decision = policy.select(state, jax.random.key(3), offer.contexts, 0)
        outcome = world.respond(theta, jax.random.key(4), offer, decision)
        event = Event(
            decision.items, decision.features, outcome.feedback, decision.mask, variance=outcome.variance
        )
        record = policy.observe(state, jax.random.key(5), event).record
        weight = 1.0 / max(float(outcome.variance[0]), 0.01)
        np.testing.assert_allclose(record.history.counts[0], weight, rtol=1e-6)
        # V = I + weight z z', kept as a root of its inverse.
        network = policy.model.model.network.network
        rows = np.asarray(network.last_layer(state.fit.params, decision.features)[1], float)
        information = np.eye(rows.shape[1]) + weight * np.outer(rows[0] - rows[1], rows[0] - rows[1])
        covariance = np.asarray(record.factor.root) @ np.asarray(record.factor.root).T
        np.testing.assert_allclose(covariance @ information, np.eye(rows.shape[1]), atol=1e-6)
        assert np.any(rows[0] != rows[1])


@pytest.mark.full
@pytest.mark.parametrize(
    "world",
    [
        duels("cosine", dim=3, num_arms=4),
        answer_duels(dim=3, num_arms=4),
        matrix_duels(np.array([[0.5, 0.8, 0.9], [0.2, 0.5, 0.7], [0.1, 0.3, 0.5]])),
        class_duels(
            np.random.default_rng(0).normal([1.0, 0.0], [0.0, 1.0], size=(50, 2)),
            np.arange(50) % 3,
            ordered=True,
            rescale=False,
        ),
    ],
    ids=["duels", "answers", "matrix", "classes"],
)
def test_linear_duels_learn_what_can_be_learned(world):
    """Regret is never negative, and little is left at the end where utilities are linear in features."""
    result = superarm.simulate(superarm.max_pair_ucb(learn_every=5), world, rounds=400, seeds=1, workers=0)
    regret = result.table["regret"].to_numpy()
    assert (regret >= -1e-12).all()
    if type(world).__name__ in ("MatrixDuels", "ClassDuels"):
        assert regret[-100:].mean() < 0.3 * regret[:20].mean() + 1e-9


def test_separable_preferences_give_a_finite_fit():
    policy = superarm.max_inp(learn_every=1)
    state = policy.init(jax.random.key(0), Spec(dim=2, num_arms=2, capacity=400))
    features = jnp.array([[1.0, 0.0], [0.0, 1.0]])
    event = Event(jnp.array([0, 1]), features, jnp.array([1.0, 0.0]), jnp.array([True, True]))
    with jax.enable_x64(True):
        for _ in range(200):
            state = policy.observe(state, jax.random.key(0), event)
        state = replace(state, fit=jax.jit(lambda state: policy.learn(state, jax.random.key(0)))(state))
    assert np.isfinite(np.asarray(state.fit.params)).all()
    decision = policy.select(state, jax.random.key(1), features, 200)
    assert bool(decision.healthy)


@pytest.mark.parametrize(
    "link", ["logistic", *(pytest.param(link, marks=pytest.mark.full) for link in ("probit", "exponential"))]
)
@pytest.mark.parametrize(("name", "warm"), [("nvldb", True), ("nvldb", False), ("nvldb_theory", True)])
def test_a_network_stays_finite_on_separable_preferences(name, warm, link):
    """A linear utility decides, and the first arm of every duel is the better."""
    policy = getattr(superarm, name)(units=8, learn_every=1, link=link, restart=not warm)
    rng = np.random.default_rng(7)
    arms = rng.normal(size=(200, 2, 4))
    arms = np.take_along_axis(arms, np.argsort(-arms.sum(axis=2), axis=1)[:, :, None], axis=1)
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), Spec(dim=4, num_arms=2, capacity=400))
        for count, pair in enumerate(arms):
            decision, utilities, widths = chosen(policy, state, jax.random.key(count), pair, count)
            assert bool(decision.healthy)
            assert np.isfinite(utilities).all()
            assert np.isfinite(widths).all()
            event = Event(jnp.array([0, 1]), pair, jnp.array([1.0, 0.0]), jnp.array([True, True]))
            state = learned(policy, state, event)
            assert not bool(state.fit.diverged)
        utilities = policy.model.beliefs(state, arms.reshape(400, 4), policy.width).mean
    assert int(state.fit.version) == int(state.record.history.seen) == 200
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.fit.params))
    first, second = np.asarray(utilities).reshape(200, 2).T
    assert np.mean(first > second) > (0.95 if warm else 0.85)
    if warm:
        assert np.max(first - second) > 100.0  # where the chance of a win rounds to 1


def test_draws_teach_that_two_arms_are_alike():
    features, seen = jnp.eye(2), jnp.array([True, True])
    policy = superarm.max_inp(learn_every=1)
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), Spec(dim=2, num_arms=2, capacity=100))
        gaps = []
        for won in (1.0, *[0.5] * 40):
            state = learned(policy, state, Event(jnp.arange(2), features, jnp.array([won, 1.0 - won]), seen))
            gaps.append(float(state.fit.params[0] - state.fit.params[1]))
    assert gaps[0] > 0.3
    assert 0.0 < gaps[-1] < 0.1  # a loss would have turned it round


@pytest.mark.parametrize(
    "policy", [superarm.max_inp(), superarm.vacdb(10, radius=1.0)], ids=lambda one: one.name
)
def test_preferences_are_shares_of_one(policy):
    """Others raise, or do not count in compiled code; a draw is half a win for each."""
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), Spec(dim=2, num_arms=2, capacity=8))

        def recorded(observe, feedback):
            event = Event(np.array([0, 1]), np.eye(2), np.array(feedback), np.array([True, True]))
            return int(observe(state, jax.random.key(0), event).record.history.seen)

        compiled = jax.jit(policy.observe)
        for bad in ([2.0, -1.0], [1.0, 1.0], [np.nan, 0.0]):
            with pytest.raises(ValueError, match=r"must be two numbers in \[0, 1\] that add up to 1"):
                recorded(policy.observe, bad)
            assert recorded(compiled, bad) == 0
        assert recorded(policy.observe, [0.5, 0.5]) == recorded(compiled, [1.0, 0.0]) == 1


def test_each_of_two_members_names_its_best_arm():
    members = jnp.array([[3.0, 1.0, 0.0], [0.0, 1.0, 2.0]])  # of which the first likes 0, the second 2

    @jax.vmap
    def duel(key):
        key_scores, key_choice = jax.random.split(key)
        scores = PairEnsemble().scores(key_scores, SimpleNamespace(members=members), jnp.zeros((), int))
        return Duel("asymmetric").choose(key_choice, scores, jnp.ones(3, bool)).items

    with jax.enable_x64(True):
        items = np.asarray(duel(jax.random.split(jax.random.key(0), 1000)))
    pairs, counts = np.unique(items, axis=0, return_counts=True)
    assert pairs.tolist() == [[0, 0], [0, 2], [2, 0], [2, 2]]
    assert np.all(np.abs(counts - 250) < 5 * np.sqrt(1000 * 0.25 * 0.75))


def test_an_ensembles_reach_is_the_deviation_of_its_members_differences():
    with jax.enable_x64(True):
        members = jax.random.normal(jax.random.key(0), (7, 4))
        scores = PairEnsemble().scores(
            jax.random.key(1), SimpleNamespace(members=members), jnp.zeros((), int)
        )
    gaps = np.asarray(members)[:, :, None] - np.asarray(members)[:, None]
    np.testing.assert_allclose(scores.reach, gaps.std(axis=0), atol=1e-7)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: superarm.nvldb(rule="both"), "rule must be one of 'ucb', 'ts', got 'both'"),
        (lambda: superarm.nvldb(strategy="all"), "strategy must be one of"),
        (lambda: superarm.max_inp(link="poisson"), "link must be one of 'logistic', 'probit', 'exponential'"),
        (lambda: superarm.nvldb(superarm.glm()), "model must be neural(...)"),
        (lambda: superarm.nvldb(superarm.neural()), "loss of a duel must be one of 'logistic'"),
        (lambda: superarm.nvldb(strat="optimistic"), "nvldb: an argument must be known by its name, got"),
        (lambda: superarm.ndb_ucb(unit=3), "got 'unit'; did you mean 'units'?"),
        (lambda: superarm.ndb_ucb(hidden="a"), "hidden must be a whole number, got str"),
        (lambda: superarm.max_inp(learn=5), "max_inp: an argument must be known by its name, got 'learn'"),
        (lambda: superarm.ensemble_duel(superarm.glm(), ridge=5.0), "ridge must be left out with a model"),
        (lambda: superarm.ensemble_duel("neural"), "model must extend superarm.contract.Model, got str"),
        (lambda: superarm.ensemble_duel(superarm.glm(link="probit")), "loss must be one of 'logistic'"),
        (lambda: Duel("foo").check(3), "duel: strategy must be one of 'asymmetric'"),
        (lambda: matrix_duels([[0.5, 0.7], [0.4, 0.5]]), "must add up to 1, got 0.7 and 0.4"),
        (lambda: matrix_duels([[0.5, 0.7]]), "chances must be square, got (1, 2)"),
        (lambda: duels(num_arms=1), "num_arms must be >= 2"),
        (lambda: matrix_duels(np.full((3, 3), 0.5)), "an arm that beats all others"),
        (lambda: neural(Paired(perceptron(width=4)), finish=True), "finish needs penalized='last'"),
        (lambda: superarm.nvldb_theory(anchored=False), "finish needs penalized='last', anchored=True"),
        (lambda: perceptron(depth=2, features=3), "features must be INPUTS or >= 1"),
        (lambda: superarm.nldb(least_deviation=0.2), "least_deviation must be left out"),
        (lambda: superarm.nvldb(loss="squared"), "loss must be left out, the link says it, got 'squared'"),
        (lambda: superarm.glm_duel(memory="arms").check(Spec(dim=2, num_arms=3)), "memory must be 'all'"),
        (lambda: superarm.ensemble_duel(memory="arms"), "memory must be 'all'"),
    ],
)
def test_bad_arguments_are_told_in_one_sentence(build, words):
    with pytest.raises((ValueError, TypeError)) as error:
        build()
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_linear_duels_weighed_by_the_variance_of_their_preferences():
    """Each with 1 / max(sigma, epsilon)^2, as the fit in force says when it is recorded, or the world."""
    policy = superarm.glm_duel(least_deviation=0.3)
    contexts, chances = contexts_of(25)
    told = np.random.default_rng(3).uniform(0.01, 0.25, 25)
    with jax.enable_x64(True):
        for known in (False, True):
            state = policy.init(jax.random.key(0), Spec(dim=DIM, num_arms=ARMS, capacity=50))
            theta, seen = np.zeros(DIM), []
            for count in range(25):
                first, second = contexts[count][:2]
                won = preferred(contexts[count], chances[count], 0, 1)
                mean = 1.0 / (1.0 + np.exp(-(first - second) @ theta))
                variance = told[count] if known else mean * (1.0 - mean)
                seen.append((first - second, won, 1.0 / max(variance, 0.09)))
                event = Event(
                    items=jnp.arange(2),
                    features=contexts[count][:2],
                    feedback=jnp.array([won, 1.0 - won]),
                    observed=jnp.ones(2, bool),
                    variance=jnp.full(2, told[count]) if known else (),
                )
                state = learned(policy, state, event)
                z, y, w = (np.array(column) for column in zip(*seen, strict=True))
                theta = np.asarray(state.fit.params)
                slope = z.T @ (w * (1.0 / (1.0 + np.exp(-z @ theta)) - y)) + theta
                np.testing.assert_allclose(slope, 0.0, atol=1e-5)  # the optimum of the weighted likelihood
            matrix = np.eye(DIM) + (z * w[:, None]).T @ z
            beliefs = policy.model.beliefs(state, contexts[0], policy.width)
            expected = contexts[0] @ np.linalg.solve(matrix, contexts[0].T)
            np.testing.assert_allclose(beliefs.whitened.covariance(), expected, rtol=1e-8)


def test_variances_that_are_told_are_not_dropped_in_silence():
    policy = superarm.nvldb(units=4, refresh=True)
    world = superarm.environments.duels("square", dim=3, num_arms=3, tells_variance=True)
    with pytest.raises(ValueError, match="neural model: refresh must be False where variances are told"):
        superarm.simulate(policy, world, rounds=4, seeds=1, workers=0)


def test_a_network_is_paired_with_itself():
    """f(x_1) - f(x_2), not f(x_1 - x_2): whatever way it comes to a duel."""
    network = perceptron(width=4)
    plain, paired = (
        neural(one, loss="logistic", row_scale=1.0, learn_every=2) for one in (network, Paired(network))
    )
    for build in (
        superarm.nvldb,
        superarm.ndb_ts,
        superarm.ensemble_duel,
        lambda model: superarm.combine(model, chooser="optimistic"),
        lambda model: superarm.combine(model, chooser="optimistic", explorer="ensemble"),
    ):
        assert build(plain) == build(paired)
    assert not superarm.ensemble_duel(plain).chooser.self_duels  # its members start alike
    assert superarm.ensemble_duel().chooser.self_duels
    assert superarm.ensemble_duel(plain, self_duels=True).chooser.self_duels
    with pytest.raises(TypeError, match=r"network must be Paired\(network\), which compares, got"):
        Preferences(plain).check(Spec(dim=2, num_arms=3, capacity=4), None)


@pytest.mark.parametrize(
    ("policy", "world", "words"),
    [
        (superarm.lin_ucb(), duels(dim=3, num_arms=4), "must choose two arms to compare in Duels"),
        (superarm.uniform(superarm.top_k(2)), duels(dim=3, num_arms=4), "must choose two arms to compare"),
        (
            superarm.max_inp(),
            superarm.environments.linear_scores(dim=3, num_arms=4),
            "must choose one arm or a set, not a duel in LinearScores",
        ),
    ],
)
def test_a_duel_and_a_choice_do_not_meet(policy, world, words):
    with pytest.raises(ValueError, match=words):
        superarm.simulate(policy, world, rounds=4, seeds=1, workers=0)
    with pytest.raises(ValueError, match=words):
        superarm.tune(lambda scale: policy, {"scale": [1.0]}, world, rounds=4, seeds=1, workers=0)


def test_arms_that_stay_are_compared():
    world = superarm.environments.fixed_arms(duels(dim=3, num_arms=4))
    assert superarm.simulate(superarm.max_inp(), world, rounds=4, seeds=1, workers=0).rounds == 4


def test_the_defaults_are_the_appendix_s():
    """oh2026, E.2.1: width 32, three layers, 20 steps of Adam at 0.01, lambda = a_t = 1; epsilon is ours."""
    policy = superarm.nvldb()
    model, fitting = policy.model.model, policy.model.model.fitting
    network = model.network.network
    assert (network.width, network.depth, network.parametrization) == (32, 3, "standard")
    assert (fitting.steps, fitting.optimizer, fitting.restart, model.learn_every) == (20, "adam", True, 1)
    assert (fitting.learning_rate, fitting.penalty, fitting.penalized) == (0.01, 1.0, "last")
    assert (model.ridge, model.row_scale, model.rows) == (1.0, 1.0, "last-layer")
    assert (model.least_deviation, policy.explorer.radius.value) == (0.1, 1.0)
    assert superarm.nldb().model.model.least_deviation is None
    assert superarm.ndb_ucb().model.model.network.network.parametrization == "gaussian"


@pytest.mark.parametrize("build", [superarm.max_inp, superarm.max_pair_ucb, superarm.colstim])
def test_named_linear_duels_can_be_of_two_different_arms(build):
    world = duels("linear", dim=2, num_arms=3)
    items = {
        option: np.stack(
            superarm.simulate(build(self_duels=option), world, rounds=60, seeds=1, workers=0).table["items"]
        )
        for option in (True, False)
    }
    assert np.any(items[True][:, 0] == items[True][:, 1])
    assert np.all(items[False][:, 0] != items[False][:, 1])


@pytest.mark.parametrize("build", [superarm.max_inp, superarm.max_pair_ucb, lambda: superarm.vacdb(100)])
def test_widths_that_are_not_finite_are_told(build):
    policy = build()
    state = policy.init(jax.random.key(0), Spec(dim=2, num_arms=3, capacity=8))
    with jax.enable_x64(True):
        fine = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        assert policy.select(state, jax.random.key(1), fine, 0).healthy
        assert not policy.select(state, jax.random.key(1), 1e200 * fine, 0).healthy
        mask = np.array([True, True, False])
        odd = np.array([[1.0, 0.0], [0.0, 1.0], [1e200, 1e200]])
        assert policy.select(state, jax.random.key(1), Offer(odd, mask), 0).healthy
