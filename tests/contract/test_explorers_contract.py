"""What every explorer must do, wherever it is put."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from contract.explorers import IN_GUIDE, ROWS, SET, Row
from superarm import explorers
from superarm.contract import Explorer
from superarm.models.items import ItemGaussian
from superarm.types import DuelScores, Event, Offer, Spec
from support.rooms import defined, require_exported, require_pytrees, require_rows

DIM, ARMS = 3, 6
SPEC = Spec(dim=DIM, num_arms=ARMS, capacity=100)
CONTEXTS = np.random.default_rng(0).normal(size=(ARMS, DIM))
SINGLE = [row for row in ROWS if not row.build().explorer.compares]
INTERNAL = {"Floor"}  # what an agent puts around a policy's explorer

every = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
every_single = pytest.mark.parametrize("row", SINGLE, ids=lambda row: row.name)


@functools.cache
def trained(row: Row):
    """The policy, and its state after some observations."""
    policy = row.build()
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), SPEC)
        observe, rng = jax.jit(policy.observe), np.random.default_rng(1)
        for number in range(6):
            items = jnp.asarray(rng.permutation(ARMS)[: policy.chooser.size], jnp.int32)
            feedback = np.zeros(policy.chooser.size)
            feedback[0] = 1.0
            event = Event(items, CONTEXTS[items], feedback, np.ones(policy.chooser.size, bool))
            state = observe(state, jax.random.key(number), event)
        return policy, state


def scored(policy, state, key, offer, count=9):
    with jax.enable_x64(True):
        return policy.score(state, key, offer, jnp.int64(count))[1]


def leaves(scores):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(scores)]


def test_every_explorer_has_a_row():
    parts = defined(explorers, Explorer)
    require_pytrees(parts)
    require_exported(explorers, {name: part for name, part in parts.items() if name not in INTERNAL})
    require_rows("explorers.py", parts, {row.name for row in ROWS} - (IN_GUIDE - set(parts)))
    for row in ROWS:
        assert type(row.build().explorer).__name__ == row.name


@every
def test_scores_are_double_and_of_every_arm_and_same_key_gives_same_scores(row):
    policy, state = trained(row)
    one, two = (scored(policy, state, jax.random.key(5), CONTEXTS) for _ in range(2))
    assert isinstance(one, DuelScores) == policy.explorer.compares == policy.chooser.compares
    means = one.mean if isinstance(one, DuelScores) else one
    assert means.shape == (ARMS,)
    for left, right in zip(leaves(one), leaves(two), strict=True):
        np.testing.assert_array_equal(left, right)
        assert left.dtype == np.float64
        assert np.isfinite(left).all()


@every
def test_compiled_and_mapped_scores_are_the_same_and_traced_once(row):
    policy, state = trained(row)
    traces: Counter[str] = Counter()

    def score(key, count):
        traces["score"] += 1
        return policy.score(state, key, Offer.of(CONTEXTS), count)[1]

    keys = jax.random.split(jax.random.key(3), 4)
    with jax.enable_x64(True):
        compiled = jax.jit(score)
        alone = [compiled(key, jnp.int64(number)) for number, key in enumerate(keys)]
        assert traces["score"] == 1
        together = jax.jit(jax.vmap(score))(keys, jnp.arange(4))
    for index, own in enumerate(alone):
        for left, right in zip(leaves(own), leaves(together), strict=True):
            np.testing.assert_allclose(left, right[index], rtol=1e-9, atol=1e-12)


@every_single
def test_options_are_what_scores_can_be(row):
    """Where they are finite, drawn scores come as often as their probabilities say."""
    policy, state = trained(row)
    explorer = policy.explorer
    with jax.enable_x64(True):
        beliefs = policy.believe(state, Offer.of(CONTEXTS))
        if not explorer.finite:
            with pytest.raises(TypeError, match=r"scores are drawn from a continuum$"):
                explorer.options(beliefs, jnp.int64(9))
            return
        probabilities, options = explorer.options(beliefs, jnp.int64(9))
        assert options.shape == (len(probabilities), ARMS)
        assert probabilities.sum() == pytest.approx(1.0)
        assert (probabilities >= 0.0).all()
        # Scores of chance are one option, a tie: it is told by the arm that is chosen.
        keys = jax.random.split(jax.random.key(8), 4000)
        drawn = jax.jit(jax.vmap(lambda key: policy.select(state, key, CONTEXTS, 9).items))(keys)
        exact = policy.propensities(state, CONTEXTS, 9)
    shares = np.bincount(np.asarray(drawn).ravel(), minlength=ARMS) / len(keys)
    np.testing.assert_allclose(shares, exact, atol=4.0 * np.sqrt(0.25 / len(keys)) + 1e-9)


@every_single
def test_means_are_scores_without_exploration_on_the_same_scale(row):
    policy, state = trained(row)
    with jax.enable_x64(True):
        beliefs = policy.believe(state, Offer.of(CONTEXTS))
        means, order = np.asarray(policy.explorer.means(beliefs)), np.argsort(np.asarray(beliefs.mean))
    assert means.shape == (ARMS,)
    assert policy.explorer.score_scale in {"latent", "reward", "any"}
    if policy.explorer.score_scale == "reward":  # of a logistic model
        assert ((means > 0.0) & (means < 1.0)).all()
    np.testing.assert_array_equal(np.argsort(means), order)


@functools.cache
def logistic_beliefs():
    """What a logistic model believes: latent scores, some of them no probabilities."""
    policy = superarm.combine("logistic")
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), SPEC)
        beliefs = policy.believe(state, Offer.of(CONTEXTS))
        return replace(beliefs, mean=3.0 * jnp.asarray(CONTEXTS[:, 0]))


@every_single
def test_means_are_latent_or_rewards_as_the_scale_says(row):
    """Of the explorer alone on a logistic model, and of what `combine` makes of it for a set."""
    explorer, beliefs = row.build().explorer, logistic_beliefs()
    with jax.enable_x64(True):
        alone = np.asarray(explorer.means(beliefs))
        combined = superarm.combine("logistic", explorer=explorer, chooser=SET).explorer
        for_a_set = np.asarray(combined.means(beliefs))
        latent = np.asarray(beliefs.mean)
    rewards = 1.0 / (1.0 + np.exp(-latent))
    advice = "`score_scale` and `means` must say the same scale"
    expected = rewards if explorer.score_scale == "reward" else latent
    np.testing.assert_allclose(alone, expected, err_msg=advice)
    if explorer.score_scale != "any":
        np.testing.assert_allclose(for_a_set, rewards, err_msg=advice)


@every_single
def test_a_pointwise_score_does_not_depend_on_the_other_arms(row):
    policy, state = trained(row)
    if not policy.explorer.pointwise(policy.model):
        with pytest.raises(ValueError, match="the policy must score items one by one"):
            superarm.Agent(policy, **fixed(policy)).shortlist(CONTEXTS, 2)
        return
    key = jax.random.key(4)
    together = np.asarray(scored(policy, state, key, CONTEXTS))
    fewer = np.asarray(scored(policy, state, key, CONTEXTS[2:5]))
    np.testing.assert_allclose(together[2:5], fewer, rtol=1e-9)
    agent = superarm.Agent(policy)
    rows = agent.shortlist(CONTEXTS, 3)
    assert len(set(rows.tolist())) == 3


@every_single
def test_a_monotone_score_rises_with_mean_and_width(row):
    policy, _ = trained(row)
    if not policy.explorer.monotone:
        return
    with jax.enable_x64(True):
        grid = ItemGaussian(jnp.asarray([0.0, 0.1, 0.1]), jnp.asarray([4.0, 4.0, 1.0]))
        first, second, third = policy.explorer.scores(jax.random.key(0), grid, jnp.int64(3)).tolist()
    assert first < second < third


def fixed(policy) -> dict[str, int]:
    return {"arms": ARMS} if policy.traits.by_arm else {}


# Agents compile all of a policy: a few of them here, the others in the full tests.
AGENTS = {"UCB", "EnsembleSampling", "PairUniform"}
MARKS = {row.name: [] if row.name in AGENTS else [pytest.mark.full] for row in ROWS}


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name, marks=MARKS[row.name]) for row in ROWS])
def test_an_agent_selects_predicts_and_says_its_propensities(row):
    policy = row.build()
    agent = superarm.Agent(policy, **fixed(policy), draws=10)
    decision = agent.select(CONTEXTS)
    assert agent.update(decision, 1.0 if policy.chooser.compares else [1.0] * len(decision.items))
    exact = policy.explorer.finite and policy.chooser.top is not None
    assert policy.traits.exact_propensities == exact
    assert decision.propensities is not None
    assert (not decision.errors.any()) == exact
    assert len(agent.predict(CONTEXTS)) == (1 if policy.chooser.compares else policy.chooser.size)
    assert list(agent.explain(decision)["item"]) == list(decision.items)


@every
@pytest.mark.parametrize("chooser", ["one arm", "a set", "packed", "a duel"])
def test_every_chooser_takes_it_on_the_scale_of_rewards_or_refuses_it(row, chooser):
    """Latent scores of a generalized linear model are no rewards, which a set adds up."""
    sizes = np.array([1.0, 2.0, 1.0, 2.0, 1.0, 2.0])
    packed = superarm.oracles.knapsack(sizes, 4.0)
    chosen = {"one arm": None, "a set": SET, "packed": packed, "a duel": "optimistic"}[chooser]
    explorer = row.build().explorer
    if explorer.compares != (chooser == "a duel"):
        must = r"^combine: explorer must score (arms, not pairs of them|pairs of arms, for a duel), got \w+$"
        with pytest.raises(TypeError, match=must):
            superarm.combine("logistic", explorer=explorer, chooser=chosen)
        return
    policy = superarm.combine("logistic", explorer=explorer, chooser=chosen)
    if chooser in ("a set", "packed"):
        assert policy.explorer.score_scale in {"reward", "any"}


def test_a_policy_whose_parts_do_not_meet_is_refused_by_name():
    duel, single = superarm.glm_duel(), superarm.lin_ucb()
    for policy, words in (
        (replace(single, explorer=duel.explorer), "lin_ucb: explorer must score arms, not pairs"),
        (replace(duel, explorer=single.explorer), "glm_duel: explorer must score pairs of arms"),
    ):
        with pytest.raises(TypeError, match=words):
            policy.check(SPEC)
