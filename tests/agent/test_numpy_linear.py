"""A small linear policy decides and learns in NumPy as the compiled functions do, and says so in the log."""

from __future__ import annotations

import json
import sqlite3
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import superarm
from superarm import Agent, Store
from superarm.agent import numpy_linear
from superarm.agent.compiled import CompiledPolicy, Observation
from superarm.agent.numpy_linear import COMPILED, FORM, MAX_DIM, NumpyLinear
from superarm.agent.state import AgentState
from superarm.agent.store import state_file
from superarm.errors import NoChoiceError, StoreError
from superarm.explorers import Greedy
from superarm.pytree import pytree
from superarm.schedules.radius import Constant
from support.agent_presets import leaves_of, same_state

ARMS, DIM = 10, 5


def plain_of(agent: Agent) -> NumpyLinear | None:
    return agent._session.state.learner.run.plain


@pytest.fixture
def compiled(monkeypatch):
    """Agents of runs that observe by compiled functions."""

    def build(policy=None, **options) -> Agent:
        with monkeypatch.context() as patch:
            patch.setattr(AgentState, "new_form", COMPILED)
            return Agent(superarm.lin_ucb() if policy is None else policy, **options)

    return build


def rounds(count: int, seed: int = 0, dim: int = DIM, masked: bool = True):
    """Offers: contexts and masks, and how arms are rewarded."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=dim)
    for _ in range(count):
        contexts = rng.normal(size=(ARMS, dim))
        mask = rng.random(ARMS) < 0.6
        mask[rng.integers(ARMS)] = True
        yield contexts, mask if masked else None, contexts @ theta + rng.normal(size=ARMS)


def played(agent: Agent, count: int, **options) -> tuple[list, np.ndarray]:
    """The items chosen in rounds, and their scores."""
    made = []
    for contexts, mask, rewards in rounds(count, **options):
        made.append(agent.select(contexts, mask=mask))
        agent.update(made[-1], float(rewards[made[-1].item]))
    return [one.item for one in made], np.concatenate([one.scores for one in made])


def dense(policy, contexts, observed):
    """(n,) scores by the equations of Bayesian linear regression, with the inverse of a matrix."""
    precision = np.eye(contexts.shape[1]) / float(policy.model.prior_scale) ** 2
    weighted = np.zeros(contexts.shape[1])
    noise = float(policy.model.noise)
    for row, reward in observed:
        precision += np.outer(row, row) / noise**2
        weighted += row * reward / noise**2
    covariance = np.linalg.inv(precision)
    widths = np.sqrt(np.einsum("nd,de,ne->n", contexts, covariance, contexts))
    radius, offset = policy.explorer.constant_bonus
    return contexts @ covariance @ weighted + float(radius) * widths + float(offset)


# The same as compiled


def test_choices_scores_and_states_are_the_compiled_ones(compiled):
    one, other = Agent(superarm.lin_ucb()), compiled()
    (items, scores), (known, expected) = played(one, 2000), played(other, 2000)
    assert items == known
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)
    assert plain_of(one) is not None
    assert plain_of(other) is None
    for left, right in zip(leaves_of(one), leaves_of(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "policy",
    [
        superarm.lin_ucb(radius=0.3, prior_scale=2.0, noise=0.5),
        superarm.combine("linear", explorer=Greedy()),
        superarm.combine(
            "linear", explorer=superarm.explorers.UCB(Constant(np.float64(0.5)), np.float64(7.0))
        ),
    ],
)
def test_scores_are_those_of_the_equations(policy):
    agent, observed = Agent(policy), []
    for contexts, mask, rewards in rounds(60):
        expected = dense(policy, contexts, observed)
        decision = agent.select(contexts, mask=mask)
        if observed:  # before, greedy scores are all 0
            assert decision.item == int(np.argmax(np.where(mask, expected, -np.inf)))
        np.testing.assert_allclose(decision.scores, expected[decision.item], rtol=1e-9, atol=1e-9)
        agent.update(decision, float(rewards[decision.item]))
        observed.append((contexts[decision.item], float(rewards[decision.item])))
    assert plain_of(agent) is not None


@pytest.mark.parametrize("noise", [1e-7, 1e4])
def test_extreme_noise_stays_sound(noise, compiled):
    policy = superarm.lin_ucb(noise=noise)
    one, other = Agent(policy), compiled(policy)
    assert played(one, 200, masked=False)[0] == played(other, 200, masked=False)[0]
    factors = [agent._session.state.learner.state.record.factor for agent in (one, other)]
    root, expected = (np.asarray(factor.root) for factor in factors)
    np.testing.assert_allclose(root @ root.T, expected @ expected.T, rtol=1e-6, atol=1e-9 * noise**2)


def test_many_arms_are_scored_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(50, DIM))
    whole = Agent(superarm.lin_ucb()).select(contexts)
    monkeypatch.setattr(numpy_linear, "MAX_PRODUCT", 7 * DIM**2)
    agent = Agent(superarm.lin_ucb())
    in_blocks = agent.select(contexts)
    assert plain_of(agent)._rows_at_once == 7
    assert in_blocks.item == whole.item
    np.testing.assert_allclose(in_blocks.scores, whole.scores, rtol=1e-14)
    few = agent.select(contexts[:3])  # after many
    np.testing.assert_allclose(few.scores, np.max(np.linalg.norm(contexts[:3], axis=1)), rtol=1e-14)


def test_very_many_arms_are_left_to_the_compiled_function(monkeypatch):
    monkeypatch.setattr(numpy_linear, "MAX_PRODUCT", 2 * DIM**2)
    asked, agent, rng = counting(monkeypatch), Agent(superarm.lin_ucb()), np.random.default_rng(0)
    for count in (16, 17):
        agent.update(agent.select(rng.normal(size=(count, DIM))), 1.0)
    assert asked == [1]


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_contexts_of_other_types(dtype, compiled):
    one, other, rng = Agent(superarm.lin_ucb()), compiled(), np.random.default_rng(0)
    for _ in range(30):
        contexts = (3.0 * rng.normal(size=(ARMS, DIM))).astype(dtype)
        left, right = one.select(contexts), other.select(contexts)
        assert left.items == right.items
        np.testing.assert_allclose(left.scores, right.scores, rtol=1e-12)
        for agent, decision in ((one, left), (other, right)):
            agent.update(decision, 1.0)


def test_contexts_in_any_order_of_memory(compiled):
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(ARMS, 2 * DIM))
    for offer in (np.asfortranarray(contexts), contexts[:, ::2], contexts[::-1, :DIM], contexts.T[:DIM].T):
        one, other = Agent(superarm.lin_ucb()).select(offer), compiled().select(offer)
        assert one.items == other.items
        np.testing.assert_array_equal(one.features, other.features)


# Ties, and what is not sound


def counting(monkeypatch) -> list[int]:
    """The numbers of the decisions that the compiled function makes."""
    asked, select = [], CompiledPolicy.select

    def noted(self, state, number, *arguments):
        asked.append(number)
        return select(self, state, number, *arguments)

    monkeypatch.setattr(CompiledPolicy, "select", noted)
    return asked


def test_ties_are_broken_as_compiled_ones(monkeypatch, compiled):
    """Arms that are alike have scores that rounding may set apart, by their place in a product."""
    asked, rng = counting(monkeypatch), np.random.default_rng(0)
    one, other = Agent(superarm.lin_ucb()), compiled()
    for number in range(60):
        contexts = rng.normal(size=(ARMS, DIM))
        if number % 2:
            contexts[:] = contexts[rng.integers(2, size=ARMS)]  # two kinds of arms
        decisions = [agent.select(contexts) for agent in (one, other)]
        assert decisions[0].items == decisions[1].items
        np.testing.assert_array_equal(decisions[0].propensities, decisions[1].propensities)
        for agent, decision in zip((one, other), decisions, strict=True):
            agent.update(decision, float(number % 3))
    assert asked.count(1) == 2  # by both agents
    assert sorted(set(asked)) == list(range(60))
    assert asked.count(2) == 1  # the clear ones by the other alone
    assert decisions[0].propensities < 1.0


def test_ties_are_found_where_terms_cancel(monkeypatch):
    """A score may be far smaller than what it is the sum of: then its rounding is, too."""
    asked, agent = counting(monkeypatch), Agent(superarm.lin_ucb(radius=1e-9))
    large = np.array([[1e6, -1e6 + 1e-3, 0.0]])
    agent.update(agent.select(np.array([[1.0, 0.0, 0.0]])), 1e6)
    agent.update(agent.select(np.array([[0.0, 1.0, 0.0]])), 1e6)
    asked.clear()
    agent.select(np.repeat(large, 9, axis=0))
    assert asked == [2]


def test_the_first_arms_of_one_length_are_a_tie(compiled):
    chosen = {Agent(superarm.lin_ucb(), seed=seed).select(np.eye(4)).item for seed in range(20)}
    assert len(chosen) > 1
    for seed in range(5):
        one, other = Agent(superarm.lin_ucb(), seed=seed), compiled(seed=seed)
        assert one.select(np.eye(4)).item == other.select(np.eye(4)).item


def test_a_clear_choice_is_certain():
    decision = Agent(superarm.lin_ucb()).select(np.diag([1.0, 2.0, 3.0]))
    assert (decision.item, decision.propensities.tolist(), decision.errors.tolist()) == (2, [1.0], [0.0])
    assert Agent(superarm.lin_ucb()).select(np.ones((1, 3))).propensities.tolist() == [1.0]


def test_a_floor_is_left_to_the_compiled_function(monkeypatch, compiled):
    asked = counting(monkeypatch)
    one, other = Agent(superarm.lin_ucb(), min_propensity=0.05), compiled(min_propensity=0.05)
    assert played(one, 40)[0] == played(other, 40)[0]
    assert len(asked) == 80
    assert plain_of(one) is not None  # which observes


def test_what_is_not_finite_is_refused_as_before():
    agent, contexts = Agent(superarm.lin_ucb()), np.diag([1.0, 2.0, 3.0])
    assert agent.select(contexts).item == 2
    with np.errstate(over="ignore"):
        plain_of(agent).observe(Observation(np.zeros(1), 1e200 * contexts[:1], np.ones(1), np.ones(1, bool)))
    with pytest.raises(NoChoiceError, match="no sound choice"):
        agent.select(contexts)


def test_what_the_caller_changes_changes_nothing(compiled):
    one, other = Agent(superarm.lin_ucb()), compiled()
    for contexts, _, _ in rounds(20):
        for agent in (one, other):
            offer = contexts.copy()
            decision = agent.select(offer)
            offer[:] = 9.0
            for array in (decision.features, decision.scores, decision.propensities, decision.errors):
                array[:] = 9.0
            agent.update(decision.id, 1.0)
    for left, right in zip(leaves_of(one), leaves_of(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)


# Which policies


@pytree
@dataclass(frozen=True)
class Fading(superarm.models.Linear):
    """A model that observes otherwise than the one it extends."""

    def observe(self, state, key, event, width):
        return state.record


@pytest.mark.parametrize(
    ("policy", "plain"),
    [
        (superarm.lin_ucb(), True),
        (superarm.comb_lin_ucb(superarm.top_k(1)), True),
        (superarm.comb_lin_ucb(superarm.top_k(2)), False),
        (superarm.lin_ts(), False),
        (superarm.lin_ucb(width="diagonal"), False),
        (superarm.lin_ucb(radius=superarm.schedules.Logarithmic(np.float64(1.5))), False),
        (superarm.glm_ucb(), False),
        (superarm.epsilon_greedy(), False),
    ],
    ids=lambda value: value if isinstance(value, bool) else value.name,
)
def test_traits_say_which_policies_are_plain(policy, plain):
    assert policy.traits.plain is plain


def test_a_model_that_extends_the_linear_one_is_compiled():
    policy = superarm.lin_ucb()
    model = Fading(prior_scale=policy.model.prior_scale, noise=policy.model.noise)
    assert not superarm.Policy(model, policy.width, policy.explorer, policy.chooser).traits.plain


def test_large_models_are_compiled():
    for dim, plain in ((MAX_DIM, True), (MAX_DIM + 1, False)):
        agent = Agent(superarm.lin_ucb())
        agent.update(agent.select(np.random.default_rng(0).normal(size=(3, dim))), 1.0)
        assert (plain_of(agent) is not None) is plain


# All else that an agent does


def test_all_calls_work_after_numpy_updates(compiled, tmp_path):
    one, other = Agent(superarm.lin_ucb()), compiled()
    for agent in (one, other):
        played(agent, 50)
    contexts = np.random.default_rng(5).normal(size=(ARMS, DIM))
    assert one.predict(contexts) == other.predict(contexts)
    np.testing.assert_array_equal(one.shortlist(contexts, 4), other.shortlist(contexts, 4))
    decisions = [agent.select(contexts) for agent in (one, other)]
    explained = [agent.explain(made) for agent, made in zip((one, other), decisions, strict=True)]
    np.testing.assert_allclose(explained[0].to_numpy(float), explained[1].to_numpy(float), rtol=1e-9)
    taken, before = one.snapshot(DIM), one._session.state.learner.state.record.mean.copy()
    one.update(decisions[0], 5.0)
    np.testing.assert_array_equal(taken.state.record.mean, before)  # the snapshot is a copy
    assert not np.array_equal(one._session.state.learner.state.record.mean, before)
    again = Agent.load(one.save(tmp_path / "agent"))
    assert same_state(one, again)
    assert plain_of(again) is not None
    assert one.select(contexts).scores.tolist() == again.select(contexts).scores.tolist()
    assert one.stats.refused_fits == 0


def test_many_at_once(compiled):
    one, other = Agent(superarm.lin_ucb()), compiled()
    for turn in range(4):
        offers = [contexts for contexts, _, _ in rounds(20, seed=turn)]
        decisions = [agent.select_many(offers) for agent in (one, other)]
        assert [made.items for made in decisions[0]] == [made.items for made in decisions[1]]
        for agent, made in zip((one, other), decisions, strict=True):
            agent.update_many((decision, float(decision.item)) for decision in made)
    for left, right in zip(leaves_of(one), leaves_of(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)


def test_numpy_leaves_under_compiled_batches(compiled):
    """A floor makes the compiled function choose by the arrays that NumPy changes in place."""
    one, other = Agent(superarm.lin_ucb(), min_propensity=0.02), compiled(min_propensity=0.02)
    for turn in range(4):
        offers = [contexts for contexts, _, _ in rounds(20, seed=turn)]
        decisions = [agent.select_many(offers) for agent in (one, other)]
        assert [made.items for made in decisions[0]] == [made.items for made in decisions[1]]
        for agent, made in zip((one, other), decisions, strict=True):
            agent.update_many((decision, float(decision.item)) for decision in made)


def test_history_is_observed_alike(compiled):
    rng = np.random.default_rng(0)
    log = superarm.evaluate.event_log(
        rng.normal(size=(30, 4, DIM)), rng.integers(4, size=30), rng.normal(size=30)
    )
    one, other = Agent(superarm.lin_ucb()), compiled()
    assert one.fit(log) == other.fit(log) == 30
    for left, right in zip(leaves_of(one), leaves_of(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)


def test_restarts_begin_anew():
    policy = superarm.anytime.restarts(
        superarm.config.register("plain_by_length", lambda length: superarm.lin_ucb()), first=10
    )
    agent = Agent(policy)
    played(agent, 25)
    assert agent._session.state.learner.number > 0
    assert plain_of(agent) is not None


# The log


def died(agent: Agent) -> None:
    agent._session.recorder.close()
    agent._session.recorder = None


def test_a_run_is_replayed_by_the_form_it_observed_by(tmp_path, monkeypatch):
    """Through a compiled run, a NumPy run and a compiled one again, with and without checkpoints between."""
    store = Store(tmp_path / "agent", checkpoint_every=10**9)
    twin = None
    for turn, form in enumerate((COMPILED, FORM, COMPILED, FORM, FORM)):
        monkeypatch.setattr(AgentState, "new_form", form)
        agent = Agent(superarm.lin_ucb(), store=store) if turn == 0 else Agent.open(store)
        assert twin is None or same_state(agent, twin)
        played(agent, 25, seed=turn)
        assert (plain_of(agent) is not None) is (form == FORM)
        if turn == 2:
            agent.checkpoint()
            played(agent, 5, seed=10)
        died(agent)
        twin = agent
    with Agent.open(store) as again:
        assert same_state(again, twin)
    base = sqlite3.connect(tmp_path / "agent" / "log.sqlite")
    texts = [row[0] for row in base.execute("SELECT content FROM log WHERE kind = 'opened' ORDER BY seq")]
    base.close()
    forms = [json.loads(text[text.index(b'{"agent"') :])["form"] for text in texts]
    assert forms == [COMPILED, FORM, COMPILED, FORM, FORM, FORM]


def test_the_form_at_a_checkpoint_is_kept(tmp_path, monkeypatch):
    store = Store(tmp_path / "agent")
    agent = Agent(superarm.lin_ucb(), store=store)
    played(agent, 5)
    agent.checkpoint()
    played(agent, 5, seed=1)
    died(agent)
    assert state_file.read_state(tmp_path / "agent" / state_file.STATE)[1]["form"] == FORM
    monkeypatch.setattr(AgentState, "new_form", COMPILED)
    again = Agent.open(store)  # replays by NumPy, and goes on compiled
    assert same_state(again, agent)
    assert plain_of(again) is None
    again.close()


def test_a_form_of_a_later_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(AgentState, "new_form", FORM + 1)
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    agent.select(np.eye(3))
    died(agent)
    with pytest.raises(StoreError, match=f"computed by form {FORM + 1}, which this superarm does not know"):
        Agent.open(tmp_path / "agent")


def test_a_backup_is_not_changed_by_later_updates(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    played(agent, 10)
    copy = agent._session.recorder.backup(agent._session.state, tmp_path / "copy")
    before = leaves_of(agent)
    played(agent, 10, seed=1)
    copy.write()
    with Agent.open(tmp_path / "copy") as again:
        for left, right in zip(leaves_of(again), before, strict=True):
            assert left.tobytes() == right.tobytes()
    agent.close()


def test_no_warnings_in_a_long_run():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        played(Agent(superarm.lin_ucb(noise=1e-3)), 300)
