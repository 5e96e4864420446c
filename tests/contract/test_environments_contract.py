"""What every environment must do; `environments.py` has the rows."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections import Counter
from dataclasses import dataclass, fields

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from contract.environments import ROWS, SMALL, Row
from superarm import environments
from superarm.choosers import Best, Subset
from superarm.contract import Environment
from superarm.environments.face import WrappedEnvironment
from superarm.pytree import pytree
from superarm.types import Decision, Offer, Outcome
from support.rooms import (
    defined,
    require_described,
    require_exported,
    require_pytrees,
    require_rows,
    require_static,
)

KEYS, HOST_KEYS = 5_000, 60  # over which means are taken, in compiled code and on the host
NUMBERS = ("reward", "value", "best", "best_reward")
ROUNDS = 12
FACES = {"WrappedEnvironment"}  # what others extend

FIRST = list({row.factory: row for row in reversed(ROWS)}.values())  # the first row of each factory


def table(quick):
    """All rows; those that are not quick in the full tests."""
    marks = {row: [] if quick(row) else [pytest.mark.full] for row in ROWS}
    return pytest.mark.parametrize("row", [pytest.param(row, id=row.name, marks=marks[row]) for row in ROWS])


every = table(lambda row: row in FIRST or not row.alike)
runs = table(lambda row: not row.alike)
TRACES: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


@pytree
@dataclass(frozen=True)
class Counted(WrappedEnvironment):
    """Another environment, whose traces are counted."""

    environment: Environment

    def offer(self, world, key):
        TRACES["offer"] += 1
        return self.environment.offer(world, key)

    def respond(self, world, key, offer, decision):
        TRACES["respond"] += 1
        return self.environment.respond(world, key, offer, decision)


@jax.jit
def init_jitted(environment, key):
    return environment.init(key)


@jax.jit
def offer_jitted(environment, world, key):
    return environment.offer(world, key)


@jax.jit
def respond_jitted(environment, world, key, offer, decision):
    return environment.respond(world, key, offer, decision)


@jax.jit
@functools.partial(jax.vmap, in_axes=(None, None, 0, None, None))
def respond_to_all(environment, world, keys, offer, decision):
    return environment.respond(world, keys, offer, decision)


@jax.jit
def choose_jitted(chooser, key, scores, mask):
    return chooser.choose(key, scores, mask)


@pytree
@dataclass(frozen=True)
class OnHost(WrappedEnvironment):
    """A native environment as one that is not: stepped by the host, piece by compiled piece."""

    environment: Environment

    @property
    def native(self) -> bool:
        return False

    def init(self, key):
        return init_jitted(self.environment, key)

    def offer(self, world, key):
        return offer_jitted(self.environment, world, key)

    def respond(self, world, key, offer, decision):
        return respond_jitted(self.environment, world, key, offer, decision)


@functools.cache
def built(row: Row) -> Environment:
    return row.build()


def stepped(row: Row) -> Environment:
    """The environment, by functions that are compiled once for all tests where that is possible."""
    environment = built(row)
    return OnHost(environment) if environment.native else environment


@functools.cache
def begun(row: Row, seed: int = 0):
    return stepped(row).init(jax.random.key(seed))


def oracle_of(environment: Environment):
    return getattr(environment, "oracle", None)


def by_chance(environment: Environment) -> superarm.Policy:
    """The policy that chooses by chance whatever may be chosen."""
    if environment.compares:
        return superarm.uniform_duel()
    return superarm.uniform(oracle_of(environment))


def offered(row: Row, seed: int = 0, count: int = 0, world=None) -> Offer:
    environment = stepped(row)
    world = begun(row) if world is None else world
    return environment.offer(environment.at_round(world, count), jax.random.key(seed))


def decided(row: Row, offer: Offer, seed: int = 0) -> Decision:
    """A feasible decision by chance."""
    rng, mask = np.random.default_rng(seed), np.asarray(offer.mask)
    if built(row).compares:
        items, used = rng.permutation(np.flatnonzero(mask))[:2].astype(np.int32), np.ones(2, bool)
    else:
        oracle = oracle_of(built(row))
        chooser = Best() if oracle is None else Subset(oracle)
        choose = functools.partial(choose_jitted, chooser) if chooser.native else chooser.choose
        choice = choose(jax.random.key(seed), rng.random(mask.size), mask)
        items, used = np.asarray(choice.items), np.asarray(choice.mask)
    return deciding(offer, items, used)


def deciding(offer: Offer, items, used=None) -> Decision:
    """The decision for these arms."""
    items = np.asarray(items, np.int32)
    used = np.ones(items.size, bool) if used is None else used
    features = np.where(used[:, None], np.asarray(offer.contexts)[np.maximum(items, 0)], 0.0)
    parts = (items, used, features, np.zeros(items.size), np.array(True))
    return Decision(*map(jnp.asarray, parts))


@functools.cache
def answers(row: Row, count: int = 0) -> tuple[Decision, Outcome]:
    """A decision, and what the world answers to it over many keys: NumPy arrays, keys first."""
    environment, offer = stepped(row), offered(row, count=count)
    decision, world = decided(row, offer), environment.at_round(begun(row), count)
    keys = jax.random.split(jax.random.key(5), KEYS if built(row).native else HOST_KEYS)
    if built(row).native:
        replies = respond_to_all(built(row), world, keys, offer, decision)
        return decision, jax.tree.map(np.asarray, replies)
    replies = [environment.respond(world, key, offer, decision) for key in keys]
    names = [one.name for one in fields(Outcome) if not isinstance(getattr(replies[0], one.name), tuple)]
    stacked = {name: np.stack([np.asarray(getattr(reply, name)) for reply in replies]) for name in names}
    return decision, Outcome(**stacked)


def rounds_to_try(row: Row) -> tuple[int, ...]:
    """Several where rounds have an order; elsewhere they are the same but for their keys."""
    return (0, 1, 5) if built(row).in_order else (0,)


def same(tree, other) -> bool:
    left, right = (jax.tree.leaves(jax.tree.map(_plain, one)) for one in (tree, other))
    return all(np.array_equal(one, two) for one, two in zip(left, right, strict=True))


def _plain(leaf):
    is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def ran(policy, environment, seed: int = 0):
    return superarm.simulate(policy, environment, rounds=ROUNDS, seeds=[seed], workers=0).table


def test_every_environment_has_a_row():
    parts = {name: part for name, part in defined(environments, Environment).items() if name not in FACES}
    require_pytrees(parts)
    require_exported(environments, parts)
    factories = {name for name in environments.__all__ if inspect.isfunction(getattr(environments, name))}
    rows = [row for row in ROWS if not row.name.startswith("guide")]
    require_rows("environments.py", factories, {row.factory for row in rows}, environments)
    require_rows("environments.py", parts, {type(built(row)).__name__ for row in rows})


def test_every_environment_is_described():
    require_described(environments, defined(environments, Environment))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_sets_shapes_is_static(row):
    if built(row).native:
        require_static(built(row), type(built(row)).__name__)


def test_every_factory_has_bad_arguments():
    told = {row.factory for row in ROWS if row.bad}
    for row in ROWS:
        must = f"give the row {row.name!r} of tests/contract/environments.py a call with a bad argument"
        assert row.factory in told | {"guide"}, must


BAD = [(row.factory, call, message) for row in ROWS for call, message in row.bad]


@pytest.mark.parametrize(("factory", "call", "message"), BAD, ids=[f"{one[0]}: {one[2]}" for one in BAD])
def test_bad_arguments_are_told_in_one_sentence(factory, call, message):
    with pytest.raises((ValueError, TypeError)) as error:
        call()
    assert str(error.value) == f"{factory}: {message}"


# --- what is on offer ---


@every
def test_an_offer_has_the_size_of_the_spec(row):
    spec = built(row).spec
    built(row).check()
    for seed in range(3):
        offer = offered(row, seed, count=seed)
        contexts, mask = np.asarray(offer.contexts), np.asarray(offer.mask)
        assert contexts.shape == (spec.num_arms, spec.dim)
        assert contexts.dtype == np.float64
        assert np.isfinite(contexts).all()
        assert (mask.shape, mask.dtype) == ((spec.num_arms,), np.bool_)
        assert mask.any()


@every
def test_randomness_comes_from_the_key_alone(row):
    """Rounds asked for in another order are the same; a policy must not change what the next one meets."""
    environment, key = stepped(row), jax.random.key
    must = "draw from the key alone: no generator in the world or the class"
    worlds = [environment.init(key(0)) for _ in range(2)]
    if environment.native or jax.tree.leaves(worlds[0]):
        assert same(*worlds), must
    rounds = []
    for world, order in zip(worlds, ((0, 1, 2), (2, 0, 1)), strict=True):
        met = {}
        for count in order:
            now = environment.at_round(world, count)
            offer = environment.offer(now, key(count))
            outcome = environment.respond(now, key(count + 50), offer, decided(row, offer))
            met[count] = (offer, outcome)
        rounds.append(met)
    for count in range(3):
        assert same(rounds[0][count], rounds[1][count]), must


# --- what comes of a decision ---


@every
def test_an_outcome_has_one_entry_per_slot(row):
    decision, outcome = answers(row)
    count, slots = outcome.reward.shape[0], decision.items.shape[0]
    assert slots == by_chance(built(row)).chooser.size
    assert outcome.feedback.shape == outcome.observed.shape == (count, slots)
    assert outcome.observed.dtype == np.bool_
    assert not (outcome.observed & ~np.asarray(decision.mask)).any()
    assert outcome.feedback.dtype == np.float64
    assert np.isfinite(outcome.feedback[outcome.observed]).all()
    for name in NUMBERS:
        number = getattr(outcome, name)
        assert (number.shape, number.dtype) == ((count,), np.float64), name
        assert np.isfinite(number).all() or not built(row).knows_regret, name
    if built(row).knows_regret:
        require_below_best(decision.items, outcome.value, outcome.best / row.alpha, "a round")
    if not isinstance(outcome.variance, tuple):
        assert outcome.variance.shape == (count, slots)
        assert (outcome.variance >= 0.0).all()


def require_below_best(items, values, best, where: str) -> None:
    """Never more than the best; where the goal is a share of it, than that over the share."""
    at = int(np.argmax(np.asarray(values - best)))
    value, best = float(np.ravel(values)[at]), float(np.ravel(best)[at])
    must = f"`value` must be at most `best`: in {where}, items {np.asarray(items).tolist()}"
    assert value <= best + 1e-9, f"{must} have value {value:g}, above best {best:g}"


def feasible(row: Row, offer: Offer) -> list[tuple[int, ...]]:
    """All decisions, in any order, where any arms may be chosen: one, a pair to compare, or k."""
    available, oracle = np.flatnonzero(offer.mask).tolist(), oracle_of(built(row))
    if built(row).compares:
        return list(itertools.product(available, repeat=2))
    if oracle is None:
        return [(item,) for item in available]
    if oracle.top is None or len(available) < oracle.top:
        return []
    return list(itertools.permutations(available, oracle.top))


@every
def test_best_is_the_most_that_any_decision_is_worth(row):
    environment = stepped(row)
    if not environment.knows_regret:
        return
    for count in range(9):
        drawn = begun(row, count % 3)
        offer, world = offered(row, count, count, drawn), environment.at_round(drawn, count)
        found = {}
        for items in feasible(row, offer):
            outcome = environment.respond(world, jax.random.key(3), offer, deciding(offer, items))
            found[items] = float(outcome.value)
        if not found:
            return
        best, highest = float(outcome.best) / row.alpha, max(found, key=lambda items: found[items])
        got = f"got best {best:g}, and {found[highest]:g} for the decision {list(highest)}"
        must = f"`best` must be the largest `value` of any decision: in round {count} {got}"
        assert found[highest] == pytest.approx(best, rel=1e-9, abs=1e-9), must


def require_mean(name: str, values, said: str, expected) -> None:
    """Within 5 standard errors; 0.02 stands in for a deviation that few draws may miss."""
    error = 5.0 * max(values.std(), 0.02) / np.sqrt(len(values))
    must = f"the mean of {name} over {len(values)} keys must be {said}"
    got = f"got {values.mean():g}, for {expected:g} (+- {error:g})"
    assert abs(values.mean() - expected) <= error, f"{must}: {got}"


@every
def test_returns_have_their_expected_values_as_means(row):
    """Of a duel the return is the utility of the better arm, and its expectation that of both."""
    environment = built(row)
    for count in rounds_to_try(row):
        _, outcome = answers(row, count)
        if environment.knows_regret:
            must = "`value` and `best` must not depend on the key: they are means over the noise"
            assert max(np.ptp(outcome.value), np.ptp(outcome.best)) <= 1e-12, must
        value, best = outcome.value[0], outcome.best[0]
        if environment.compares:
            must = "`reward` of a duel must be the utility of the better arm, `value` the mean of both"
            assert (outcome.reward >= outcome.value - 1e-12).all(), must
            must = "feedback of a duel must be 1 for the arm that won and 0 for the other"
            assert set(np.unique(outcome.feedback)) <= {0.0, 1.0}, must
            np.testing.assert_array_equal(outcome.feedback.sum(axis=1), 1.0, err_msg=must)
        elif environment.knows_regret:
            require_mean("`reward`", outcome.reward, "`value`", value)
        if row.hindsight:
            must = "`best_reward` must be the most that any decision earns under the noise of the round"
            assert (outcome.best_reward >= outcome.reward - 1e-12).all(), must
        elif environment.knows_regret:
            require_mean("`best_reward`", outcome.best_reward, "`best`", best)
            if not environment.compares:  # noise that arms share is not in the difference
                gap = outcome.best_reward - outcome.reward
                require_mean("`best_reward - reward`", gap, "`best - value`", best - value)


# --- runs ---


@runs
def test_chance_runs_and_its_regret_is_finite_and_not_negative(row):
    """Native worlds are traced once, and stepped on the host they are the same, number by number."""
    environment = built(row)
    policy = by_chance(environment)
    assert policy.chooser.compares == environment.compares
    table = ran(policy, stepped(row))
    assert len(table) == ROUNDS
    if environment.knows_regret:
        assert np.isfinite(table["regret"]).all(), "`best` and `value` must be finite in every round"
        gap = (table["value"] - table["best"] / row.alpha).to_numpy()
        at = int(np.argmax(gap))
        worst = table.iloc[at]
        require_below_best(worst["items"], worst["value"], worst["best"] / row.alpha, f"round {at + 1}")
    if not environment.native:
        return
    TRACES.clear()
    compiled = ran(policy, Counted(environment))
    for name in ("regret", "realized_regret", *NUMBERS[:3]):
        must = f"compiled and stepped runs differ in `{name}`: is a random number drawn outside of the key?"
        np.testing.assert_allclose(compiled[name], table[name], rtol=1e-9, atol=1e-12, err_msg=must)
    for left, right in zip(compiled["items"], table["items"], strict=True):
        np.testing.assert_array_equal(left, right)
    if policy.native:
        before = dict(TRACES)
        assert set(before) == {"offer", "respond"}
        ran(policy, Counted(environment), seed=1)
        assert before == dict(TRACES), "another seed must not compile anew"


# --- what a world says of itself ---


@every
def test_a_world_says_what_it_is(row):
    environment, world = built(row), begun(row)
    assert isinstance(environment.native, bool)
    assert environment.in_order == (type(environment).at_round is not Environment.at_round) or isinstance(
        environment, WrappedEnvironment
    )
    if not environment.in_order:
        assert environment.at_round(world, 3) is world
    assert all(isinstance(name, str) for name in environment.attrs(world))
    if environment.native:
        leaves, structure = jax.tree.flatten(environment)
        assert hash(jax.tree.structure(jax.tree.unflatten(structure, leaves))) == hash(structure)


class Told(Environment):
    """A world with rounds in order, of which no regret is known."""

    native = False
    spec = superarm.Spec(dim=2, num_arms=3)
    knows_regret = False

    def init(self, key):
        return 7

    def at_round(self, world, count):
        return world + count

    def attrs(self, world):
        return {"number": world}

    def offer(self, world, key):
        return Offer(contexts=np.full((3, 2), float(world)), mask=np.ones(3, bool))

    def respond(self, world, key, offer, decision):
        return Outcome([1.0], [True], reward=1.0, value=np.nan, best=np.nan, best_reward=np.nan)


@dataclass(frozen=True)
class Plain(WrappedEnvironment):
    """Another environment, unchanged."""

    environment: Environment


def test_a_wrapper_is_in_all_that_it_does_not_change_as_the_environment():
    told, wrapped = Told(), Plain(Told())
    for name in ("native", "spec", "knows_regret", "in_order", "compares"):
        assert getattr(wrapped, name) == getattr(told, name)
    assert wrapped.at_round(7, 3) == 10
    assert wrapped.attrs(7) == {"number": 7}
    for environment in (told, wrapped):
        table = ran(superarm.uniform(), environment)
        assert table.attrs["number"] == 7
        assert table["regret"].isna().all()
        with pytest.raises(TypeError, match="environment must tell the regret of a decision"):
            superarm.tune(superarm.lin_ucb, {"radius": [1.0]}, environment, rounds=5, seeds=1)


def test_arms_that_stay_keep_what_their_world_says():
    class Named(environments.LinearScores):
        def attrs(self, world):
            return {"norm": float(jnp.linalg.norm(world))}

    plain = environments.linear_scores(theta_norm=2.0, **SMALL)
    named = Named(**{field.name: getattr(plain, field.name) for field in fields(plain)})
    fixed = environments.fixed_arms(named)
    world = fixed.init(jax.random.key(0))
    assert fixed.attrs(world)["norm"] == pytest.approx(2.0)
