"""What every explorer must do, wherever it is put."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from contract import explorers as table
from contract.explorers import IN_GUIDE, ROWS, SET, Row
from superarm import explorers
from superarm.contract import Explorer
from superarm.explorers import UCB, EnsembleSampling, WarmUp
from superarm.models import Ensemble
from superarm.models.items import ItemGaussian
from superarm.types import DuelScores, Event, Offer, PairScores, Spec
from support.rooms import defined, require_described, require_exported, require_pytrees, require_rows

DIM, ARMS = 3, 6
SPEC = Spec(dim=DIM, num_arms=ARMS, capacity=100)
CONTEXTS = np.random.default_rng(0).normal(size=(ARMS, DIM))
ALL = [*ROWS, *IN_GUIDE]
SINGLE = [row for row in ALL if not row.name.startswith("Pair")]  # by name: nothing is built to list tests
INTERNAL = {"Floor"}  # what an agent puts around a policy's explorer

SIZES = np.array([1.0, 2.0, 1.0, 2.0, 1.0, 2.0])
CHOOSERS = {
    "one arm": None,
    "a set": SET,
    "packed": superarm.oracles.knapsack(SIZES, 4.0),
    "a shelf": superarm.oracles.assortment(SIZES, 2),
    "a duel": "optimistic",
}


def named(row: Row) -> str:
    return f"guide-{row.name}" if row in IN_GUIDE else row.name


every = pytest.mark.parametrize("row", ALL, ids=named)
every_single = pytest.mark.parametrize("row", SINGLE, ids=named)


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
    require_rows("explorers.py", parts, {row.name for row in ROWS})
    for row in ALL:
        explorer = row.build().explorer
        assert type(explorer).__name__ == row.name
        must = f"an explorer of pairs, and no other, is named Pair...: rename {row.name}"
        assert explorer.compares == (row not in SINGLE), must


def test_every_explorer_is_described():
    require_described(explorers, defined(explorers, Explorer))


def test_the_row_of_the_guide_can_be_written_and_is_missed():
    """As its explorer would be: in the table's file, with the factory that the room exports."""
    parts = {*defined(explorers, Explorer), "Boltzmann"}
    with pytest.raises(AssertionError, match=r"add a row to tests/contract/explorers.py for Boltzmann"):
        require_rows("explorers.py", parts, {row.name for row in ROWS})
    line = next(line for line in table.GUIDE.read_text().splitlines() if line.strip().startswith("Row("))
    assert table.explorers is explorers
    room = SimpleNamespace(boltzmann=table.GUIDED["boltzmann"])
    row = eval(line.strip().removesuffix(","), vars(table) | {"explorers": room})  # noqa: S307
    require_rows("explorers.py", parts, {row.name, *(other.name for other in ROWS)})
    assert type(row.build().explorer).__name__ == "Boltzmann"


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


def logistic_model(explorer):
    """A logistic model that gives what the explorer asks for."""
    return Ensemble(superarm.glm(), scale=np.float64(0.3), size=3) if explorer.needs else "logistic"


@every_single
def test_means_are_latent_or_rewards_as_the_scale_says(row):
    """Of the explorer alone on a logistic model, and of what `combine` makes of it for any chooser."""
    explorer, beliefs = row.build().explorer, logistic_beliefs()
    advice = "`score_scale` and `means` must say the same scale"
    with jax.enable_x64(True):
        latent = np.asarray(beliefs.mean)
        rewards = 1.0 / (1.0 + np.exp(-latent))
        alone = rewards if explorer.score_scale == "reward" else latent
        np.testing.assert_allclose(explorer.means(beliefs), alone, err_msg=advice)
        wanted = {"one arm": alone, "a set": rewards, "packed": rewards, "a shelf": latent}
        for chooser, expected in wanted.items():
            if chooser == "a shelf" and explorer.score_scale == "reward":  # is refused
                continue
            chosen = CHOOSERS[chooser]
            policy = superarm.combine(logistic_model(explorer), explorer=explorer, chooser=chosen)
            found = policy.greedy().explorer.scores(jax.random.key(0), beliefs, jnp.int64(0))
            np.testing.assert_allclose(found, expected, err_msg=advice)


@dataclass(frozen=True)
class Sure(ItemGaussian):
    """Beliefs of a given mean, with all that an explorer may ask for."""

    @property
    def members(self):
        return self.mean[None] + jnp.asarray([-0.5, 0.0, 0.5])[:, None]

    @property
    def num_members(self):
        return 3

    def plan(self):
        return jnp.zeros_like(self.mean, jnp.int64)


LATE = 10_000  # decisions: after any warm-up


def rise(explorer):
    """By how much scores rise, in the median over keys, when all means rise from 0 to 50."""

    @jax.jit
    @functools.partial(jax.vmap, in_axes=(0, None))
    def scores(key, mean):
        return explorer.scores(key, Sure(jnp.full(ARMS, mean), jnp.full(ARMS, 4.0)), jnp.int64(LATE))

    keys = jax.random.split(jax.random.key(2), 101)
    return float(np.median(scores(keys, 50.0) - scores(keys, 0.0)))


@every_single
def test_scores_are_on_the_scale_that_they_say(row):
    """Rewards are those of a logistic model, as in the tests of `means`."""
    explorer = row.build().explorer
    low, high = {"latent": (50.0, 50.0), "reward": (0.0, 1.0), "any": (0.0, 0.0)}[explorer.score_scale]
    with jax.enable_x64(True):
        found = rise(explorer)
    should = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    must = f"`score_scale` says {explorer.score_scale!r}, so that scores must rise by {should} with means"
    assert low - 1e-6 <= found <= high + 1e-6, f"{must} that rise by 50, got {found:g}"


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
    must = "`pointwise` says that an arm's score is the same whichever arms are scored with it; remove it"
    np.testing.assert_allclose(together[2:5], fewer, rtol=1e-9, err_msg=must)
    agent = superarm.Agent(policy)
    rows = agent.shortlist(CONTEXTS, 3)
    assert len(set(rows.tolist())) == 3


@every_single
def test_a_monotone_score_rises_with_mean_and_width(row):
    policy, _ = trained(row)
    if not policy.explorer.monotone:
        return
    must = (
        "`monotone` says that a score rises with the mean and the width, for every key, and depends on "
        "nothing else: remove it, or let arms with the same mean and width have the same score"
    )
    with jax.enable_x64(True):
        # Arms 0 and 1 are alike, and so are 3 and 4; arm 2 has the mean of 3, and the width of 0.
        grid = ItemGaussian(jnp.asarray([0.0, 0.0, 0.1, 0.1, 0.1]), jnp.asarray([4.0, 4.0, 4.0, 1.0, 1.0]))
        keys = jax.random.split(jax.random.key(0), 50)
        scores = jax.jit(jax.vmap(lambda key: policy.explorer.scores(key, grid, jnp.int64(3))))(keys)
    steps = np.diff(np.asarray(scores), axis=1)
    assert (steps[:, [0, 3]] == 0.0).all(), must
    assert (steps[:, [1, 2]] > 0.0).all(), must


def fixed(policy) -> dict[str, int]:
    return {"arms": ARMS} if policy.traits.by_arm else {}


# Agents compile all of a policy: a few of them here, the others in the full tests.
AGENTS = {"UCB", "EnsembleSampling", "PairUniform"}
MARKS = {named(row): [] if row.name in AGENTS else [pytest.mark.full] for row in ALL}


@pytest.mark.parametrize("row", [pytest.param(row, id=named(row), marks=MARKS[named(row)]) for row in ALL])
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
@pytest.mark.parametrize("chooser", CHOOSERS)
def test_every_chooser_takes_it_on_its_own_scale_or_refuses_it(row, chooser):
    """Latent scores of a generalized linear model are no rewards, which a set adds up."""
    explorer, chosen = row.build().explorer, CHOOSERS[chooser]
    refused = ""
    if explorer.compares != (chooser == "a duel"):
        refused = r"explorer must score (arms, not pairs of them|pairs of arms, for a duel), got \w+"
    elif explorer.compares and explorer.pair_scores is not PairScores:
        refused = r"explorer must score pairs by PairScores for Duel, got \w+"
    elif chooser == "a shelf" and explorer.score_scale == "reward":
        refused = r"explorer must score by utilities, not by rewards, for the chooser .*, got \w+"
    model = logistic_model(explorer)
    if refused:
        with pytest.raises((TypeError, ValueError), match=f"^combine: {refused}$"):
            superarm.combine(model, explorer=explorer, chooser=chosen)
        return
    policy = superarm.combine(model, explorer=explorer, chooser=chosen)
    if chooser in ("a set", "packed"):
        assert policy.explorer.score_scale == "reward"
    if chooser == "a shelf":
        assert policy.explorer is explorer


def test_a_policy_whose_parts_do_not_meet_is_refused_by_name():
    duel, single, layered = superarm.glm_duel(), superarm.lin_ucb(), superarm.vacdb(100)
    design = WarmUp(single.explorer, 5, "design")
    for policy, parts, words in (
        (single, {"explorer": duel.explorer}, "lin_ucb: explorer must score arms, not pairs"),
        (duel, {"explorer": single.explorer}, "glm_duel: explorer must score pairs of arms"),
        (duel, {"chooser": layered.chooser}, "explorer must score pairs by LayerScores for LayeredDuel"),
        (layered, {"chooser": duel.chooser}, "explorer must score pairs by PairScores for Duel, got PairL"),
        (layered, {"model": duel.model}, "layers of estimates for the explorer PairLayers, got Preferences"),
        (
            single,
            {"explorer": EnsembleSampling()},
            "an ensemble for the explorer EnsembleSampling, got L",
        ),
        (
            single,
            {"explorer": design},
            "a plan of the first decisions .* for the explorer WarmUp, got Linear",
        ),
        (single, {"model": superarm.perceptron()}, "model must extend superarm.contract.Model, got Perceptr"),
        (single, {"width": "full"}, "width must extend superarm.contract.Width, got str"),
        (single, {"chooser": SET}, "chooser must extend superarm.contract.Chooser, got TopK"),
    ):
        with pytest.raises(TypeError, match=words):
            replace(policy, **parts)


@dataclass(frozen=True)
class HalfWay(Explorer):
    """Scores are rewards, and what it says without exploring is not."""

    explorer: Explorer | None = None

    @property
    def inner(self):
        return self.explorer

    @property
    def score_scale(self):
        return "reward"

    def scores(self, key, beliefs, count):
        return jax.nn.sigmoid(beliefs.mean)


@pytest.mark.parametrize("explorer", [HalfWay(), HalfWay(UCB(1.0)), HalfWay(HalfWay())])
@pytest.mark.parametrize("chooser", [None, SET])
def test_scores_that_are_rewards_beside_means_that_are_not_are_refused(explorer, chooser):
    must = "combine: explorer must override `means` to be rewards, as its scores are, for the link 'logistic'"
    for model in ("logistic", "one-pass"):
        with pytest.raises(TypeError, match=f"^{must}, got HalfWay$"):
            superarm.combine(model, explorer=explorer, chooser=chooser)
    # Where scores are rewards as they are; and where another explorer says them.
    assert superarm.combine("linear", explorer=explorer, chooser=chooser).explorer is explorer
    whole = UCB(1.0, link="logistic")
    assert superarm.combine("logistic", explorer=HalfWay(whole), chooser=chooser).explorer.explorer is whole


def test_predictions_of_chance_pack_what_is_worth_most():
    """Latent scores, all below 0 here, fill no knapsack."""
    policy = superarm.combine("logistic", explorer="uniform", chooser=CHOOSERS["packed"], learn_every=1)
    agent = superarm.Agent(policy, arms=ARMS)
    for _ in range(6):
        decision = agent.select(np.eye(ARMS))
        agent.update(decision, np.zeros(len(decision.items)))
    assert (agent.explain(decision)["mean"] < 0.5).all()
    assert len(agent.predict(np.eye(ARMS))) >= 2
