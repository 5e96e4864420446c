"""Ensembles: m models apart, whatever they share; who decides, what may be wrapped, where members live."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import reference.sun2026 as reference
import superarm
from superarm.choosers import Best, Subset
from superarm.environments import fixed_scores
from superarm.explorers import EnsembleSampling
from superarm.models import Ensemble, ItemMeans, Linear, OnePassLogistic
from superarm.policy import Policy
from superarm.types import Event, Spec
from superarm.widths import Diagonal, Full, Sketched

ARMS, DIM, SIZE, EVENTS = 5, 4, 3, 12
SCALE = 0.8
FEATURES = np.random.default_rng(0).normal(size=(ARMS, DIM))


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


# --- members are models apart -------------------------------------------------------------------------------


def network(**more):
    small = superarm.perceptron(width=4, precision="float64")
    return superarm.neural(small, **{"steps": 3, "penalty": 0.5, "memory": "arms", **more})


LINEAR = Linear(prior_scale=np.asarray(1.5), noise=np.asarray(0.5))
MODELS = {
    "linear": (LINEAR, Full()),
    "linear, diagonal": (LINEAR, Diagonal()),
    "linear, sketched": (LINEAR, Sketched(2)),
    "one pass": (OnePassLogistic(ridge=np.asarray(1.0), diameter=np.asarray(2.0)), Full()),
    "items": (ItemMeans(), None),
    "glm": (superarm.glm(weights="none"), None),
    "glm with a width": (superarm.glm(weights="refit", memory="arms"), Full()),
    "network": (network(), None),
    "network with a width": (network(refresh=True), Full()),
    "network, window": (network(memory="window", memory_size=3), None),
    "network, reservoir": (network(memory="reservoir", memory_size=5), None),
    "network, batches": (network(batch=2, memory="all"), None),
}
# Of parts that others have, too.
ALIKE = {"linear, diagonal", "linear, sketched", "glm with a width", "network"} | {
    "network, window",
    "network, batches",
}


@functools.cache
def happened(slots):
    """Events of `slots` items each, of which some are not observed."""
    rng = np.random.default_rng(slots)
    items = np.stack([rng.permutation(ARMS)[:slots] for _ in range(EVENTS)])
    observed = rng.uniform(size=items.shape) < 0.8
    feedback = np.where(observed, rng.uniform(size=items.shape), np.nan)
    return Event(items=items, features=FEATURES[items], feedback=feedback, observed=observed)


def keys_of(index):
    return jax.random.split(jax.random.fold_in(jax.random.key(4), index))


def course(model, width, events, perturbed):
    """The state after the events, with a fit after every third; perturbed: (keys, event) -> key and event."""
    spec = Spec(dim=DIM, num_arms=ARMS, capacity=2 * EVENTS, size=events.items.shape[1])
    state = model.init(jax.random.key(1), spec, width)

    def step(state, indexed):
        index, event = indexed
        key_observe, key_learn = keys_of(index)
        key, told, fits = perturbed(key_observe, key_learn, event)
        state = replace(state, record=model.observe(state, key, told, width))
        learned = jax.lax.cond(index % 3 == 2, lambda: model.learn(state, fits, width), lambda: state.fit)
        return replace(state, fit=learned), ()

    return jax.lax.scan(step, state, (jnp.arange(EVENTS), events))[0]


@functools.partial(jax.jit, static_argnames=("width",))
def both(model, width, events):
    """(m, n) scores of the ensemble's members, its state, and the scores of models apart."""
    ensemble = Ensemble(model, np.asarray(SCALE), size=SIZE)
    state = course(ensemble, width, events, lambda key, fits, event: (key, event, fits))
    beliefs = ensemble.beliefs(state, jnp.asarray(FEATURES), width)

    def member(number):
        """Fed with what the ensemble's keys say that this member is told."""

        def perturbed(key, fits, event):
            key_model, key_noise = jax.random.split(key)
            noise = jax.random.normal(key_noise, (SIZE, *event.feedback.shape), jnp.float64)[number]
            told = replace(event, feedback=event.feedback + SCALE * noise)
            return key_model, told, jax.random.split(fits, SIZE)[number]

        alone = course(model, width, events, perturbed)
        return model.beliefs(alone, jnp.asarray(FEATURES), width).mean

    apart = jnp.stack([member(number) for number in range(SIZE)])
    one = jnp.stack([beliefs.member(number) for number in range(SIZE)])
    return (
        {"members": beliefs.members, "member": one, "mean": beliefs.mean, "norms": beliefs.norms()},
        apart,
        state,
    )


@pytest.mark.parametrize("slots", [3, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in ALIKE else ()) for name in MODELS]
)
def test_members_are_models_told_perturbed_rewards(name, slots):
    model, width = MODELS[name]
    found, apart, _ = both(model, width, happened(slots))
    apart = np.asarray(apart)
    close = 1e-6 if "glm" in name else 1e-9  # where Newton's steps end depends on the last digits
    np.testing.assert_allclose(found["members"], apart, rtol=close, atol=close)
    np.testing.assert_allclose(found["member"], found["members"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["mean"], apart.mean(axis=0), rtol=close, atol=close)
    np.testing.assert_allclose(found["norms"], apart.std(axis=0), rtol=close, atol=close)
    assert np.isfinite(apart).all()
    assert (apart.std(axis=0) > 1e-4).any()


def test_what_does_not_depend_on_rewards_is_there_once():
    _, _, state = both(*MODELS["linear"], happened(3))
    assert state.record.mean.shape == (SIZE, DIM)
    assert state.record.factor.root.shape == (DIM, DIM)
    _, _, state = both(*MODELS["network"], happened(3))
    history = state.record.history
    assert (history.contexts.shape, history.counts.shape) == ((ARMS, DIM), (ARMS,))
    assert history.feedback.shape == (SIZE, ARMS)
    assert [leaf.shape[0] for leaf in state.fit.params] == [SIZE, SIZE]
    assert [leaf.ndim for leaf in state.fit.first] == [2, 2]


def test_a_reservoir_keeps_the_same_observations_for_every_member():
    _, _, state = both(*MODELS["network, reservoir"], happened(3))
    history = state.record.history
    assert history.contexts.shape == (5, DIM)
    kept = np.asarray(history.feedback)
    assert kept.shape == (SIZE, 5)
    assert (np.ptp(kept, axis=0) > 0.1).all()  # each with perturbations of its own
    events = happened(3)
    rewards = events.feedback[events.observed]
    rows = events.features[events.observed]
    for slot in range(5):
        assert (np.asarray(history.contexts)[slot] == rows).all(axis=1).any()
    assert int(history.seen) == len(rewards) > 5


def test_perturbations_are_gaussian_and_apart_in_time_members_and_slots():
    """Three events of two slots, and six members: N(0, scale^2), and no two alike."""
    ensemble = Ensemble(superarm.glm(weights="none", memory="all"), np.asarray(SCALE), size=6)
    spec = Spec(dim=DIM, num_arms=ARMS, capacity=6, size=2)

    @jax.jit
    @jax.vmap
    def told(key):
        state = ensemble.init(key, spec, None)
        for index in range(3):
            event = Event(np.arange(2), FEATURES[:2], np.zeros(2), np.ones(2, bool))
            record = ensemble.observe(state, jax.random.fold_in(key, index), event, None)
            state = replace(state, record=record)
        return state.record.history.feedback

    drawn = np.asarray(told(jax.random.split(jax.random.key(0), 3000))).reshape(3000, 36)
    assert scipy.stats.kstest(drawn.ravel()[::7], scipy.stats.norm(0, SCALE).cdf).pvalue > 1e-3
    correlation = np.corrcoef(drawn.T) - np.eye(36)
    assert np.abs(correlation).max() < 5.5 / np.sqrt(3000)


# --- who decides --------------------------------------------------------------------------------------------

CONTEXTS = np.random.default_rng(5).normal(size=(ARMS, DIM))


def after(policy, rounds=6):
    state = policy.init(jax.random.key(0), Spec(dim=DIM, num_arms=ARMS, capacity=50))

    @jax.jit
    def one_round(state, key):
        decision = policy.select(state, key, jnp.asarray(CONTEXTS), 100)
        told = jax.random.normal(key, decision.items.shape, jnp.float64)
        event = Event(decision.items, decision.features, told, decision.mask, decision.memo)
        return policy.observe(state, key, event)

    for key in jax.random.split(jax.random.key(3), rounds):
        state = one_round(state, key)
    return state


def test_members_are_drawn_uniformly_and_one_decides_for_all_arms():
    policy = superarm.lin_es(size=7, perturbation=1.0)
    state = after(policy)
    keys = jax.random.split(jax.random.key(9), 14_000)
    scores = jax.jit(jax.vmap(lambda key: policy.score(state, key, jnp.asarray(CONTEXTS), jnp.int64(50))[1]))(
        keys
    )
    members = np.asarray(policy.model.beliefs(state, jnp.asarray(CONTEXTS), policy.width).members)
    distance = np.abs(np.asarray(scores)[:, None] - members[None]).max(axis=2)
    assert distance.min(axis=1).max() < 1e-12
    drawn = np.bincount(distance.argmin(axis=1), minlength=7)
    assert scipy.stats.chisquare(drawn).pvalue > 1e-4


def test_draws_of_beliefs_are_members_for_all_arms_or_for_each():
    policy = superarm.lin_es(size=7, perturbation=1.0)
    beliefs = policy.model.beliefs(after(policy), jnp.asarray(CONTEXTS), policy.width)
    members = np.asarray(beliefs.members)
    joint, apart = (
        np.asarray(beliefs.draws(jax.random.key(0), np.asarray(1.0), 4000, joint)) for joint in (True, False)
    )
    owners = [np.abs(drawn[:, None] - members[None]).argmin(axis=1) for drawn in (joint, apart)]
    for drawn, owner in zip((joint, apart), owners, strict=True):
        np.testing.assert_allclose(np.take_along_axis(members, owner, axis=0), drawn, rtol=1e-9)
        assert scipy.stats.chisquare(np.bincount(owner[:, 2], minlength=7)).pvalue > 1e-4
    assert (np.ptp(owners[0], axis=1) == 0).all()
    assert (np.ptp(owners[1], axis=1) > 0).mean() > 0.9
    wide = np.asarray(beliefs.draws(jax.random.key(0), np.asarray(3.0), 4000, True))
    centre = members.mean(axis=0)
    np.testing.assert_allclose(wide - centre, 3.0 * (joint - centre), rtol=1e-9, atol=1e-12)
    assert float(beliefs.logdet) == 0.0


def test_propensities_are_the_shares_of_the_members_that_would_choose_an_arm():
    policy = superarm.lin_es(size=9, perturbation=2.0)
    told = reference.LinES(dim=DIM, members=9)
    state = policy.init(jax.random.key(0), Spec(dim=DIM, num_arms=ARMS))
    rng = np.random.default_rng(1)
    for index in range(5):
        arm, key = int(rng.integers(ARMS)), jax.random.key(index)
        event = Event(np.array([arm]), CONTEXTS[arm][None], np.array([0.4]), np.array([True]))
        state = policy.observe(state, key, event)
        noise = jax.random.normal(jax.random.split(key)[1], (9, 1), jnp.float64)
        told.observe(CONTEXTS[arm], 0.4, 2.0 * np.asarray(noise)[:, 0])
    shares = reference.choice_shares(told, CONTEXTS)
    np.testing.assert_allclose(policy.propensities(state, CONTEXTS, 5), shares, atol=1e-12)
    assert (shares > 0).sum() > 1
    keys = jax.random.split(jax.random.key(2), 9000)
    items = jax.jit(jax.vmap(lambda key: policy.select(state, key, jnp.asarray(CONTEXTS), 5).items[0]))(keys)
    often = np.bincount(np.asarray(items), minlength=ARMS)
    held = shares > 0
    assert not often[~held].any()
    assert scipy.stats.chisquare(often[held], 9000 * shares[held]).pvalue > 1e-4


# --- other models, other choices ----------------------------------------------------------------------------


def sampling(model, width=None, oracle=None, size=4):
    return Policy(
        model=Ensemble(model, np.asarray(0.3), size=size),
        width=width,
        explorer=EnsembleSampling(),
        chooser=Best() if oracle is None else Subset(oracle),
        name="sampling",
    )


PAIR = superarm.top_k(2)


def quick_network():
    settings = {"learning_rate": 0.1, "penalty": 1.0, "reduction": "mean"}
    return superarm.neural(superarm.perceptron(width=8), memory="arms", steps=20, learn_every=5, **settings)


LEARNERS = {
    "items": lambda: sampling(ItemMeans()),
    "one pass": lambda: sampling(OnePassLogistic(ridge=np.asarray(1.0), diameter=np.asarray(2.0)), Full()),
    "lin_es of sets": lambda: superarm.lin_es(PAIR, size=5),
    "glm_es of sets": lambda: superarm.glm_es(
        PAIR, size=4, warmup=10, memory="arms", link="identity", learn_every=5
    ),
    "neural_es of sets": lambda: superarm.neural_es(PAIR, quick_network(), size=4),
    "items of sets": lambda: sampling(ItemMeans(), oracle=PAIR),
}
USUAL = {"items", "lin_es of sets", "neural_es of sets"}


@pytest.mark.full
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.full if name in USUAL else ()) for name in LEARNERS],
)
def test_learns_to_below_half_of_chance(name):
    policy = LEARNERS[name]()
    oracle = getattr(policy.chooser, "oracle", None)
    world = fixed_scores(oracle, dim=3, num_arms=8, noise=0.3)
    result = superarm.compare(
        {"one": policy, "chance": superarm.uniform(oracle)}, world, rounds=300, seeds=3, workers=0
    )
    totals = result.finals()["regret"]
    assert totals["one"] < 0.5 * totals["chance"]


@pytest.mark.full
def test_tuned_together_the_refused_fits_of_all_members_count():
    model = quick_network()
    hasty = replace(model, fitting=replace(model.fitting, learning_rate=np.asarray(1e20)))

    def build(perturbation):
        return superarm.neural_es(model=hasty, size=3, perturbation=perturbation)

    grid = {"perturbation": [0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]}
    with pytest.warns(RuntimeWarning, match="refused"):
        found = superarm.tune(build, grid, fixed_scores(dim=3, num_arms=4), rounds=20, seeds=1, workers=0)
    assert found.table["refused_fits"].tolist() == [4 * 3] * 8


def test_the_probit_likelihood_has_no_place_for_perturbed_rewards():
    spec = Spec(dim=DIM, num_arms=ARMS, capacity=9)
    with pytest.raises(
        ValueError, match=r"^ensemble: the model's loss must take any real reward, got 'probit'$"
    ):
        sampling(superarm.glm(link="probit", weights="none")).check(spec)
    with pytest.raises(ValueError, match=r"must take any real reward, got 'probit'$"):
        superarm.neural_phe(model=network(loss="probit")).check(spec)


# --- many devices -------------------------------------------------------------------------------------------

TWO_DEVICES = """
import jax, numpy as np, superarm
from dataclasses import replace
from superarm.environments import fixed_scores

assert len(jax.devices()) == 2
network = superarm.perceptron(width=4)
model = superarm.neural(network, steps=3, penalty=1.0, reduction="mean", memory="arms")
spread = superarm.neural_es(model=model, size=4, perturbation=1.0)
alone = replace(spread, model=replace(spread.model, spread=False))
odd = superarm.neural_es(model=model, size=3, perturbation=1.0)
spec = superarm.Spec(dim=3, num_arms=5)
init = jax.jit(lambda policy: policy.init(jax.random.key(0), spec))
placed = init(spread).fit.params[0]
assert len(placed.sharding.device_set) == 2 and not placed.sharding.is_fully_replicated, placed.sharding
assert {shard.data.shape[0] for shard in placed.addressable_shards} == {2}
assert len(init(alone).fit.params[0].sharding.device_set) == 1
assert len(init(odd).fit.params[0].sharding.device_set) == 1  # not a multiple of the devices

world = fixed_scores(dim=3, num_arms=5)
tables = [superarm.simulate(one, world, rounds=80, seeds=1, workers=0).table for one in (spread, alone)]
assert [list(row) for row in tables[0]["items"]] == [list(row) for row in tables[1]["items"]]
np.testing.assert_allclose(tables[0]["reward"], tables[1]["reward"], rtol=1e-5)

arms = np.random.default_rng(0).normal(size=(5, 3))
jax.config.update("jax_enable_x64", True)
select, observe, learn = (jax.jit(getattr(superarm.Policy, name)) for name in ("select", "observe", "learn"))
scores = []
for policy in (spread, alone):
    state = init(policy)
    for count in range(12):
        key = jax.random.key(count)
        decision = select(policy, state, key, arms, count)
        told = np.sin(3.0 * np.asarray(decision.items))
        event = superarm.Event(decision.items, decision.features, told, decision.mask, decision.memo)
        state = observe(policy, state, key, event)
        state = replace(state, fit=learn(policy, state, key))
    scores.append(np.asarray(policy.model.beliefs(state, arms, None).members))
np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5, atol=1e-5)
assert np.ptp(scores[0], axis=0).max() > 1e-3
print("same")
"""


@pytest.mark.full
def test_members_spread_over_two_devices_decide_alike():
    flags = "--xla_force_host_platform_device_count=2 --xla_cpu_multi_thread_eigen=false"
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", TWO_DEVICES],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.endswith("same\n"), run.stderr


def test_one_device_holds_all_members():
    init = jax.jit(lambda: superarm.lin_es(size=4).init(jax.random.key(0), Spec(dim=3, num_arms=5)))
    assert {len(leaf.sharding.device_set) for leaf in jax.tree.leaves(init())} == {len(jax.devices())} == {1}


# --- members in parts ---------------------------------------------------------------------------------------


def taught(policy, rounds: int = 12):
    """A state with some history, not fitted."""
    rng = np.random.default_rng(0)
    spec = Spec(dim=3, num_arms=4, capacity=rounds)
    state = policy.init(jax.random.key(0), spec)
    for number in range(rounds):
        features = jnp.asarray(rng.normal(size=(1, 3)))
        event = Event(
            items=jnp.array([number % 4], jnp.int32),
            features=features,
            feedback=jnp.asarray(rng.normal(size=1)),
            observed=jnp.ones(1, bool),
        )
        state = policy.observe(state, jax.random.key(number), event)
    return state


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(("name", "warmup"), [("glm_es", 0), ("glm_es", 5), ("neural_es", 0)])
def test_members_are_fitted_in_parts(name, warmup, parts):
    build = {"glm_es": {}, "neural_es": {"model": network(memory="all")}}
    policy = getattr(superarm, name)(size=7, warmup=warmup, **build[name])
    state, key = taught(policy), jax.random.key(5)
    whole = policy.learn(state, key)
    found = superarm.learn_members(policy, state, key, parts=parts, workers=0)
    assert jax.tree.structure(found) == jax.tree.structure(whole)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(whole), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    first = jax.tree.leaves(found.params)[0]
    assert not np.allclose(first[0], first[6])


def test_only_ensembles_have_members():
    policy = superarm.lin_ucb()
    state = policy.init(jax.random.key(0), Spec(dim=3, num_arms=4))
    with pytest.raises(TypeError, match="learn_members: policy must have an ensemble for its model, got lin"):
        superarm.learn_members(policy, state, jax.random.key(1), parts=2)
    policy = superarm.glm_es(size=3, warmup=0)
    with pytest.raises(ValueError, match="learn_members: parts must be between 1 and 3, got 4"):
        superarm.learn_members(policy, taught(policy), jax.random.key(1), parts=4)
