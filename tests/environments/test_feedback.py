"""Click models and choices: every formula against NumPy, every law against its frequencies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

import superarm
from superarm import oracles, rewards
from superarm.contract import Oracle
from superarm.environments import (
    alpha_regret,
    assortment_choices,
    catalogue,
    clicks,
    fixed_arms,
    linear_scores,
    nonlinear_scores,
)
from superarm.pytree import pytree
from superarm.types import Choice, Decision, Offer
from support.small_problems import SOLVE, best_revenue, in_double, quick, vectors

TOP = superarm.top_k(3)


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def decision(items, slots: int | None = None) -> Decision:
    slots = len(items) if slots is None else slots
    padded = jnp.asarray([*items, *[-1] * (slots - len(items))], jnp.int32)
    return Decision(
        items=padded,
        mask=padded >= 0,
        features=jnp.zeros((slots, 1)),
        scores=jnp.zeros(slots),
        healthy=jnp.asarray(True),
    )


def on_sphere(*shape: int) -> np.ndarray:
    normals = np.random.default_rng(0).normal(size=shape)
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def drawn(environment):
    """A world and an offer, as the environment would draw them, without compiling its draws."""
    dim, num_arms = environment.spec.dim, environment.spec.num_arms
    vectors = jnp.asarray(on_sphere(num_arms + 1, dim))
    return vectors[0], Offer(contexts=vectors[1:], mask=jnp.ones(num_arms, bool))


def outcomes(environment, world, offer, choice: Decision, rounds: int = 4000):
    """The same decision in many rounds; every leaf has a leading axis."""

    def respond(key):
        return environment.respond(world, key, offer, choice)

    # One by one: a batch takes four times as long to compile.
    return jax.jit(lambda keys: jax.lax.map(respond, keys))(jax.random.split(jax.random.key(7), rounds))


def near(sample, mean) -> None:
    """The mean over axis 0 lies within 4.5 standard errors; an error of exactly 0 must be exact."""
    sample, mean = np.asarray(sample, float), np.asarray(mean)
    error = sample.std(0) / np.sqrt(len(sample))
    assert np.all(np.abs(sample.mean(0) - mean) <= 4.5 * error + 1e-12)


# --- nonlinear scores ---

FORMULAS = {
    "linear": lambda product: product,
    "quadratic": lambda product: product**2,
    "cosine": lambda product: np.cos(np.pi * product),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_scores_are_their_formulas(name):
    environment = nonlinear_scores(TOP, score=name, dim=5, num_arms=8, noise=0.0)
    a, offer = drawn(environment)
    scores = FORMULAS[name](np.asarray(offer.contexts) @ np.asarray(a))
    outcome = environment.respond(a, jax.random.key(1), offer, decision([4, 0, 2]))
    assert np.allclose(outcome.feedback, scores[[4, 0, 2]])
    for found in (outcome.value, outcome.reward):
        assert float(found) == pytest.approx(scores[[4, 0, 2]].sum(), rel=1e-12)
    for found in (outcome.best, outcome.best_reward):
        assert float(found) == pytest.approx(np.sort(scores)[-3:].sum(), rel=1e-12)


def test_worlds_and_contexts_lie_on_the_sphere_and_are_drawn_anew():
    environment = nonlinear_scores(TOP, dim=3, num_arms=2000)
    worlds = [environment.init(jax.random.key(seed)) for seed in range(2)]
    contexts = [np.asarray(environment.offer(worlds[0], jax.random.key(seed)).contexts) for seed in range(2)]
    for rows in (*worlds, *contexts):
        assert np.allclose(np.linalg.norm(rows, axis=-1), 1.0)
    near(contexts[0], np.zeros(3))
    near(contexts[0] ** 2, np.full(3, 1 / 3))
    assert not np.allclose(worlds[0], worlds[1])
    assert not np.allclose(contexts[0], contexts[1])


def test_a_score_may_be_a_function():
    environment = nonlinear_scores(
        TOP, score=lambda contexts, a: jnp.abs(contexts @ a), dim=5, num_arms=8, noise=0.0
    )
    a, offer = drawn(environment)
    outcome = environment.respond(a, jax.random.key(1), offer, decision([2, 1, 0]))
    assert np.allclose(outcome.feedback, np.abs(np.asarray(offer.contexts) @ np.asarray(a))[[2, 1, 0]])


def test_hindsight_is_the_best_set_for_all_noisy_scores():
    environment = nonlinear_scores(TOP, dim=5, num_arms=8, noise=0.5)
    a, offer = drawn(environment)
    everything = outcomes(environment, a, offer, decision(range(8)), 20)
    few = outcomes(replace(environment, hindsight=True), a, offer, decision([6, 1]), 20)
    noisy = np.asarray(everything.feedback)
    assert np.array_equal(few.feedback, noisy[:, [6, 1]])  # whatever else is chosen
    assert np.allclose(few.best, everything.best)
    best = np.argsort((np.asarray(offer.contexts) @ np.asarray(a)) ** 2)[-3:]
    assert np.allclose(everything.best_reward, noisy[:, best].sum(1))
    assert np.allclose(few.best_reward, np.sort(noisy, axis=1)[:, -3:].sum(1))
    assert nonlinear_scores(TOP, hindsight=True).hindsight


def test_the_default_is_the_paper():
    environment = nonlinear_scores(superarm.top_k(4))
    assert environment.spec == superarm.Spec(dim=80, num_arms=20)
    assert float(environment.weights.scale) == 0.01


# --- click models ---

ATTRACTIONS = {
    "linear": lambda product: (1 + product) / 2,
    "quadratic": lambda product: product**2,
    "cosine": lambda product: np.cos(np.pi * product / 2) ** 2,
}
EXAMINATION = np.array([0.9, 0.6, 0.3])
SHOWN = decision([5, 2, 0])


def shown(environment, choice: Decision = SHOWN):
    """The linear attractions (n,) of an offer, and what comes back for a list in 4000 rounds of it."""
    a, offer = drawn(environment)
    attractions = ATTRACTIONS["linear"](np.asarray(offer.contexts) @ np.asarray(a))
    return attractions, outcomes(environment, a, offer, choice)


@pytest.mark.parametrize("attraction", ATTRACTIONS)
def test_attractions_are_their_formulas(attraction):
    environment = clicks(TOP, attraction=attraction, dim=4, num_arms=6)
    a, offer = drawn(environment)
    wanted = ATTRACTIONS[attraction](np.asarray(offer.contexts) @ np.asarray(a))
    assert np.allclose(environment.arms.means(a, offer.contexts), wanted)


def test_document_clicks():
    attractions, seen = shown(clicks(TOP, attraction="linear", dim=4, num_arms=6))
    assert set(np.unique(seen.feedback)) == {0.0, 1.0}
    assert np.all(seen.observed)
    near(seen.feedback, attractions[[5, 2, 0]])
    near(seen.reward, attractions[[5, 2, 0]].sum())
    near(seen.best_reward, np.sort(attractions)[-3:].sum())
    assert np.allclose(seen.value, attractions[[5, 2, 0]].sum())
    assert np.allclose(seen.best, np.sort(attractions)[-3:].sum())


@pytest.mark.parametrize("raw", [False, True])
def test_position_clicks(raw):
    environment = clicks(
        TOP, feedback="position", attraction="linear", examination=EXAMINATION, raw=raw, dim=4, num_arms=6
    )
    attractions, seen = shown(environment)
    value, best = EXAMINATION @ attractions[[5, 2, 0]], EXAMINATION @ np.sort(attractions)[::-1][:3]
    assert np.all(seen.observed)
    near(seen.feedback, attractions[[5, 2, 0]] * (EXAMINATION if raw else 1.0))
    clicked = np.asarray(seen.feedback) > 0
    assert np.allclose(seen.feedback, clicked * (1.0 if raw else 1.0 / EXAMINATION))
    assert np.allclose(seen.reward, clicked.sum(1))
    near(seen.reward, value)
    near(seen.best_reward, best)
    assert np.allclose(seen.value, value)
    assert np.allclose(seen.best, best)


def test_positions_are_looked_at_less_and_less_by_default():
    assert clicks(TOP, feedback="position").examination.tolist() == [1.0, 1 / 2, 1 / 3]


def test_cascade_clicks():
    attractions, seen = shown(clicks(TOP, feedback="cascade", attraction="linear", dim=4, num_arms=6))
    chances, observed, feedback = attractions[[5, 2, 0]], np.asarray(seen.observed), np.asarray(seen.feedback)
    reach = np.cumprod(np.append(1.0, 1.0 - chances))
    near(observed, reach[:3])
    near(observed * feedback, reach[:3] * chances)
    assert np.all((observed * feedback).sum(1) <= 1.0)  # one click at most
    assert np.all(np.diff(observed.astype(int), axis=1) <= 0)  # down the list, without gaps
    assert np.array_equal(observed.sum(1) < 3, np.any((feedback * observed)[:, :2] == 1.0, axis=1))
    assert np.array_equal(seen.reward, np.any(feedback * observed == 1.0, axis=1))
    near(seen.reward, 1.0 - reach[3])
    assert np.allclose(seen.value, 1.0 - reach[3])
    assert np.allclose(seen.best, 1.0 - np.prod(1.0 - np.sort(attractions)[-3:]))


def test_cascade_with_slots_that_are_not_used():
    environment = clicks(TOP, feedback="cascade", attraction=lambda x, a: 0.5 + 0.0 * (x @ a), num_arms=6)
    _, seen = shown(environment, choice=decision([4], slots=3))
    assert np.array_equal(np.asarray(seen.observed).sum(0), [4000, 0, 0])
    near(seen.reward, 0.5)


def test_semi_bandit_feedback_with_a_reward_of_the_user():
    def smallest(items, mask, scores):
        return jnp.min(scores, where=mask, initial=2.0)

    environment = clicks(
        TOP, feedback="semi-bandit", attraction="linear", reward=smallest, noise=0.2, dim=4, num_arms=6
    )
    attractions, seen = shown(environment)
    near(seen.feedback, attractions[[5, 2, 0]])
    assert np.allclose(np.std(seen.feedback, axis=0), 0.2, rtol=0.05)
    assert np.allclose(seen.reward, np.min(seen.feedback, axis=1))
    assert np.allclose(seen.value, attractions[[5, 2, 0]].min())
    assert np.allclose(seen.best, np.sort(attractions)[-3])


def test_pairs_of_item_and_position():
    environment = clicks(
        TOP,
        feedback="position",
        attraction="linear",
        examination=EXAMINATION,
        position_input=True,
        dim=4,
        num_arms=5,
    )
    assert environment.spec == superarm.Spec(dim=7, num_arms=15)
    a, offer = jnp.asarray(on_sphere(4)), environment.offer((), jax.random.key(0))
    contexts = np.asarray(offer.contexts).reshape(5, 3, 7)
    assert np.all(contexts[:, :, :4] == contexts[:, :1, :4])
    assert np.all(contexts[:, :, 4:] == np.eye(3))
    attractions = ATTRACTIONS["linear"](contexts[:, 0, :4] @ np.asarray(a))
    pairs = [4 * 3 + 1, 0 * 3 + 2, 2 * 3 + 0]  # item 4 second, item 0 third, item 2 first
    seen = outcomes(environment, a, offer, decision(pairs))
    near(seen.feedback, attractions[[4, 0, 2]] * EXAMINATION[[1, 2, 0]])
    assert np.allclose(seen.value, np.sum(attractions[[4, 0, 2]] * EXAMINATION[[1, 2, 0]]))
    means = np.outer(attractions, EXAMINATION).ravel()
    matched = environment.oracle.solve(jax.random.key(0), means, np.ones(15, bool))
    assert float(seen.best[0]) == pytest.approx(means[np.asarray(matched.items)].sum())


@pytree
@dataclass(frozen=True)
class Ranking(Oracle):
    """A user's own top three."""

    exact_for: ClassVar[frozenset[str]] = frozenset({"sum", "position-weighted"})
    native: ClassVar[bool] = True
    factor: ClassVar[float] = 1.0
    size: ClassVar[int] = 3
    top: ClassVar[int] = 3

    def check(self, num_arms):
        pass

    def solve(self, key, scores, mask):
        items = jnp.argsort(-jnp.where(mask, scores, -jnp.inf))[:3].astype(jnp.int32)
        return Choice(items=items, mask=jnp.ones(3, bool), feasible=jnp.asarray(True))


class Unranked(Ranking):
    """The same three in any order."""

    exact_for = frozenset({"sum"})


def test_pairs_take_any_oracle_of_the_best_in_their_order():
    built = [clicks(oracle, position_input=True, num_arms=5) for oracle in (TOP, Ranking())]
    world, offer = on_sphere(10), Offer(jnp.ones((15, 13)), jnp.ones(15, bool))
    pairs = built[0].oracle.solve(jax.random.key(0), jnp.arange(15.0), offer.mask)
    best = [float(one.respond(world, jax.random.key(1), offer, decision(pairs.items)).best) for one in built]
    assert best[0] == best[1]
    with pytest.raises(ValueError, match=r"^clicks: oracle must be exact for the reward PositionWeighted"):
        clicks(Unranked(), position_input=True, num_arms=5)


def test_pairs_of_the_document_model_do_not_depend_on_the_position():
    environment = clicks(TOP, position_input=True, num_arms=5)
    assert np.array_equal(environment.examination, np.ones(3))


# --- choices ---


@pytest.mark.parametrize("feedback", ["utility", "choice"])
def test_choices_follow_the_logit_model(feedback):
    revenues = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    environment = assortment_choices(revenues, 3, feedback=feedback, noise=0.3)
    a, offer = drawn(environment)
    utilities = 3.0 * np.asarray(offer.contexts) @ np.asarray(a)
    seen = outcomes(environment, a, offer, decision([4, 1], slots=3))
    weights = np.exp(utilities[[4, 1]])
    chances = weights / (1.0 + weights.sum())
    if feedback == "choice":
        near(np.asarray(seen.feedback)[:, :2], chances)
        assert np.all(np.asarray(seen.feedback)[:, 2] == 0.0)
        assert np.allclose(seen.reward, np.asarray(seen.feedback)[:, :2] @ revenues[[4, 1]])
    else:
        near(np.asarray(seen.feedback)[:, :2], utilities[[4, 1]])
        assert np.allclose(np.std(seen.feedback, axis=0)[:2], 0.3, rtol=0.05)
    assert np.array_equal(seen.observed[0], [True, True, False])
    near(seen.reward, chances @ revenues[[4, 1]])
    assert np.allclose(seen.value, chances @ revenues[[4, 1]])
    best = best_revenue(revenues, utilities, np.ones(6, bool), 3)
    assert np.allclose(seen.best, best)
    near(seen.best_reward, best)


# --- wrappers ---

SIZES = [3.0, 1.0, 4.0, 1.0, 5.0, 2.0]
GREEDY = oracles.knapsack(SIZES, 6.0, method="greedy")


def test_alpha_regret_scales_the_optimum_alone():
    plain = nonlinear_scores(oracles.knapsack(SIZES, 6.0), dim=3, num_arms=6, noise=0.1)
    scaled = alpha_regret(plain, 0.25)
    world = plain.init(jax.random.key(0))
    offer = plain.offer(world, jax.random.key(1))
    one, other = (each.respond(world, jax.random.key(2), offer, decision([0])) for each in (plain, scaled))
    assert float(other.best) == 0.25 * float(one.best)
    assert float(other.best_reward) == 0.25 * float(one.best_reward)
    for name in ("feedback", "observed", "reward", "value"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert scaled.spec == plain.spec
    assert scaled.oracle is plain.oracle


@pytest.mark.parametrize("build", [superarm.comb_lin_ts, lambda oracle: neural(oracle)[0]])
def test_a_greedy_policy_is_judged_by_what_its_oracle_promises(build):
    exact = nonlinear_scores(oracles.knapsack(SIZES, 6.0), dim=3, num_arms=6)
    policy, judged = build(GREEDY), alpha_regret(exact, GREEDY.factor)
    table = superarm.simulate(policy, judged, rounds=40, seeds=1, workers=0).table
    assert np.all(table["best"] > 0.0)
    assert np.any(table["regret"] < 0.0)  # more than it promises
    assert np.all(table["regret"] + table["best"] >= -1e-12)  # twice the goal is the optimum


@quick
@given(vectors(0, 10, 6))
@in_double
def test_greedy_with_true_scores_has_no_alpha_regret(scores):
    world = alpha_regret(catalogue(np.eye(6), scores, oracles.knapsack(SIZES, 6.0), noise=0.0), 0.5)
    choice = SOLVE(GREEDY, jax.random.key(0), scores, np.ones(6, bool))
    offer = world.offer(world.init(jax.random.key(1)), jax.random.key(2))
    picked = decision(choice.items[choice.mask].tolist(), slots=GREEDY.size)
    outcome = world.respond(world.init(jax.random.key(1)), jax.random.key(3), offer, picked)
    assert float(outcome.best - outcome.value) <= 1e-9


def test_fixed_arms_stay():
    environment = fixed_arms(clicks(TOP, dim=4, num_arms=6))
    world = environment.init(jax.random.key(0))
    offers = [environment.offer(world, jax.random.key(seed)).contexts for seed in range(3)]
    assert np.array_equal(offers[0], offers[1])
    assert np.array_equal(offers[0], offers[2])
    again = environment.init(jax.random.key(1))
    assert not np.allclose(offers[0], environment.offer(again, jax.random.key(0)).contexts)
    outcome = environment.respond(
        world, jax.random.key(1), environment.offer(world, jax.random.key(2)), SHOWN
    )
    attractions = (np.asarray(offers[0]) @ np.asarray(world.world)) ** 2
    assert float(outcome.value) == pytest.approx(attractions[[5, 2, 0]].sum())


# --- learning ---

PAIR = superarm.top_k(2)


def linear(oracle):
    """A learner, and the same with so much noise that it only draws from its prior: chance, compiled once."""
    return superarm.comb_lin_ts(oracle, noise=0.5), superarm.comb_lin_ts(oracle, noise=1e6)


def by_item(oracle):
    """A learner, and the same with a radius so large that it takes all items in turn."""
    return superarm.comb_ucb1(oracle, scale=0.2), superarm.comb_ucb1(oracle, scale=1e6)


def uniform(oracle):
    return superarm.comb_lin_ucb(oracle, noise=0.5), superarm.uniform(oracle)


def neural(oracle):
    """CN-TS, and chance."""
    model = superarm.neural(
        superarm.perceptron(width=16),
        optimizer="adam",
        learning_rate=0.01,
        steps=30,
        reduction="mean",
        learn_every=10,
    )
    return superarm.cn_ts(oracle, model, scale=0.05, width="diagonal"), superarm.uniform(oracle)


WORLDS = {
    "scores": (nonlinear_scores(PAIR, score="linear", dim=6, num_arms=10, noise=0.1), linear),
    "document": (clicks(PAIR, attraction="linear", dim=6, num_arms=10), uniform),
    "position": (clicks(PAIR, feedback="position", attraction="linear", dim=6, num_arms=10), linear),
    "cascade by item": (fixed_arms(clicks(PAIR, feedback="cascade", dim=6, num_arms=10)), by_item),
    "pairs by item": (
        fixed_arms(clicks(PAIR, feedback="position", dim=6, num_arms=5, position_input=True)),
        by_item,
    ),
    "assortments": (assortment_choices(np.linspace(1.0, 2.0, 10), 3), linear),
    "document, by a network": (clicks(PAIR, dim=6, num_arms=10), neural),
    "position, by a network": (clicks(PAIR, feedback="position", dim=6, num_arms=10), neural),
    "cascade, by a network": (clicks(PAIR, feedback="cascade", dim=6, num_arms=10), neural),
    "assortments, by a network": (assortment_choices(np.linspace(1.0, 2.0, 10), 3), neural),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.full] if name.startswith(("document", "position")) else [])
        for name in WORLDS
    ],
)
def test_learning_beats_chance_and_regret_is_never_negative(name):
    environment, policies = WORLDS[name]
    learner, chance = policies(environment.oracle)
    both = {"learner": learner, "chance": chance}
    table = superarm.compare(both, environment, rounds=300, seeds=[3], workers=0).table
    assert table["regret"].min() >= -1e-9
    regret = table.groupby("policy")["regret"].sum()
    assert regret["learner"] < 0.6 * regret["chance"]


@in_double
def test_an_offset_changes_assortments_but_no_sum_of_a_fixed_size():
    """e_t of CN-UCB is the same for every arm: with it all are more attractive, and the dear ones suffice."""
    contexts = on_sphere(10, 3)
    model = superarm.neural(superarm.perceptron(width=8), learn_every=10, memory="window", memory_size=20)
    chosen = {}
    for name, oracle in (("sum", PAIR), ("revenue", oracles.assortment(np.linspace(1.0, 2.0, 10), 4))):
        for offset in (0.0, 3.0):
            policy = superarm.cn_ucb(oracle, model, offset=offset, width="diagonal")
            state = policy.init(jax.random.key(0), superarm.Spec(dim=3, num_arms=10, capacity=100))
            found = policy.select(state, jax.random.key(1), contexts, 0)
            chosen[name, offset] = sorted(np.asarray(found.items)[np.asarray(found.mask)].tolist())
    assert chosen["sum", 0.0] == chosen["sum", 3.0]
    assert len(chosen["revenue", 0.0]) == 4
    assert chosen["revenue", 3.0] != chosen["revenue", 0.0]
    assert np.mean(chosen["revenue", 3.0]) > np.mean(chosen["revenue", 0.0])  # arms are sorted by revenue


# --- errors ---

KNAPSACK = oracles.knapsack(np.ones(20), 3.0)
ERRORS = [
    (
        lambda: nonlinear_scores(score="cubic"),
        "nonlinear_scores: score must be one of 'linear', 'quadratic', 'cosine', got 'cubic'",
    ),
    (
        lambda: nonlinear_scores(score=lambda contexts, a: contexts, dim=2, num_arms=3),
        "nonlinear_scores: score must return shape (3,), one per arm, got (3, 2)",
    ),
    (lambda: nonlinear_scores(dim=0), "nonlinear_scores: dim must be >= 1, got 0"),
    (lambda: nonlinear_scores(noise=-1.0), "nonlinear_scores: noise must be >= 0, got -1.0"),
    (
        lambda: nonlinear_scores(superarm.top_k(3), num_arms=2),
        "top_k: k must be at most the number of arms, 2, got 3",
    ),
    (
        lambda: linear_scores(oracles.assortment(np.ones(20), 3)),
        "linear_scores: oracle must be exact for the reward Sum, got Assortment",
    ),
    (
        lambda: clicks(TOP, feedback="dwell"),
        "clicks: feedback must be one of 'document', 'position', 'cascade', 'semi-bandit', got 'dwell'",
    ),
    (
        lambda: clicks(KNAPSACK, feedback="cascade"),
        "clicks: oracle must be exact for the reward Cascade, got Knapsack",
    ),
    (
        lambda: clicks(KNAPSACK, feedback="position"),
        "clicks: oracle must be exact for the reward PositionWeighted, got Knapsack",
    ),
    (
        lambda: clicks(TOP, reward=rewards.mnl_revenue(np.ones(20))),
        "clicks: oracle must be exact for the reward MnlRevenue, got TopK",
    ),
    (
        lambda: clicks(TOP, attraction=lambda contexts, a: 2.0 + contexts[:, 0] * 0.0),
        "clicks: attraction must be between 0 and 1, got values from 2 to 2",
    ),
    (
        lambda: clicks(TOP, feedback="position", examination=[1.0, 0.5]),
        "clicks: examination must have shape (3,), got (2,)",
    ),
    (
        lambda: clicks(TOP, feedback="position", examination=[1.0, 0.5, 0.6]),
        "clicks: examination must never rise, got 0.5 before 0.6",
    ),
    (
        lambda: clicks(TOP, feedback="position", examination=[1.0, 0.5, 0.0]),
        "clicks: examination must be > 0, got values from 0 to 1",
    ),
    (
        lambda: clicks(TOP, examination=[1.0, 0.5, 0.2]),
        "clicks: examination must come with feedback='position', got 'document'",
    ),
    (lambda: clicks(TOP, raw=True), "clicks: raw must come with feedback='position', got 'document'"),
    (
        lambda: clicks(TOP, feedback="cascade", position_input=True),
        "clicks with position_input: feedback must be one of 'document', 'position', got 'cascade'",
    ),
    (
        lambda: clicks(TOP, reward=rewards.Sum(), position_input=True),
        "clicks: reward and raw must be left out with position_input, which returns the number of clicks, "
        "got Sum",
    ),
    (
        lambda: assortment_choices([1.0, 2.0], 1, feedback="sales"),
        "assortment_choices: feedback must be one of 'utility', 'choice', got 'sales'",
    ),
    (lambda: assortment_choices([1.0], 1, scale=-1.0), "assortment_choices: scale must be >= 0, got -1.0"),
    (lambda: alpha_regret(linear_scores(), 0.0), "alpha_regret: alpha must be > 0, got 0.0"),
    (lambda: alpha_regret(linear_scores(), 1.5), "alpha_regret: alpha must be between 0 and 1, got 1.5"),
]
TYPE_ERRORS = [
    (
        lambda: clicks(KNAPSACK, position_input=True),
        "clicks: oracle must be top_k(k) with position_input, for k positions, got Knapsack",
    ),
    (
        lambda: clicks(TOP, reward=3),
        "clicks: reward must be a function, or extend superarm.rewards.Reward, got int",
    ),
    (
        lambda: clicks(TOP, reward=rewards.Cascade),
        "clicks: reward must be a function, or extend superarm.rewards.Reward, got the class Cascade itself",
    ),
    (
        lambda: alpha_regret(3, 0.5),
        "alpha_regret: environment must extend superarm.contract.Environment, got int",
    ),
    (
        lambda: fixed_arms(3),
        "fixed_arms: environment must extend superarm.contract.Environment, got int",
    ),
]


@pytest.mark.parametrize(
    ("build", "kind", "message"),
    [(build, ValueError, message) for build, message in ERRORS]
    + [(build, TypeError, message) for build, message in TYPE_ERRORS],
    ids=[message for _, message in ERRORS + TYPE_ERRORS],
)
def test_errors_say_what_must_hold(build, kind, message):
    with pytest.raises(kind) as error:
        build()
    assert str(error.value) == message
