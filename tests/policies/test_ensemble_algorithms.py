"""Ensemble sampling, perturbed history, GLM-TSL and EVILL against their transcription in plain NumPy.

Policy and transcription start from the same weights and meet the same contexts and rewards; perturbations,
members and standard normals are those that the policy draws from its keys. Every round both must score all
arms alike and choose the same. The transcription keeps every observation: where a policy keeps sums per arm,
the same test shows that these say all. Networks are float64.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

import reference.sun2026 as reference
import superarm
from superarm.models.design import g_optimal
from superarm.models.fitting import Fitting
from superarm.models.newton import Newton
from superarm.policies.sun2026 import ensemble_figure_model
from superarm.types import Event, Spec

ARMS, DIM, MEMBERS, UNITS = 6, 3, 4, 6
SEED = 2  # of theta_0: of few units most draws leave some arms without a gradient, and those tie
CLOSE = 1e-9
NEWTON = 1e-7  # fits that end when a step can gain 1e-12 of the objective


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


# --- what policy and transcription meet ---------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """contexts (T, K, d), the same every round where arms stay, and feedback (T, K)."""

    contexts: np.ndarray
    feedback: np.ndarray


MEANS = {"identity": lambda latent: latent, "logistic": expit, "poisson": np.exp}


@functools.cache
def world(rounds, *, stay, link="identity"):
    """Arms on the sphere; counts for the Poisson link, else a mean with Gaussian noise, as in the paper."""
    rng = np.random.default_rng(3)
    contexts = rng.normal(size=(rounds, ARMS, DIM))
    contexts /= np.linalg.norm(contexts, axis=2, keepdims=True)
    if stay:
        contexts = np.repeat(contexts[:1], rounds, axis=0)
    means = MEANS[link](contexts @ np.array([0.6, -0.4, 0.3]))
    noisy = means + rng.normal(0, 0.5, means.shape)
    return World(contexts, rng.poisson(means).astype(float) if link == "poisson" else noisy)


@functools.cache
def round_keys(rounds):
    """(T, 3) keys to select, to observe and to learn."""
    return jax.vmap(lambda key: jax.random.split(key, 3))(jax.random.split(jax.random.key(1), rounds))


class Draws:
    """What a policy draws from the keys of a round; arrays of standard normals, and a member."""

    def __init__(self, policy, rounds):
        self.keys, self.size = round_keys(rounds), policy.chooser.size
        memory = getattr(innermost(policy), "memory", None)
        self.slots = 0 if memory is None else memory.slots(spec_of(rounds, self.size))

    def member(self, count):
        """() who decides."""
        return int(jax.random.randint(jax.random.split(self.keys[count, 0])[0], (), 0, MEMBERS))

    def kept(self, count):
        """(m, k) what members add to the feedback of this round."""
        return self._normals(jax.random.split(self.keys[count, 1])[1], MEMBERS, self.size)

    def fresh(self, count):
        """(slots,) what the fit after this round adds to its history."""
        return self._normals(jax.random.split(self.keys[count, 2], 3)[1], self.slots)

    def prior(self, count):
        """(d,) the same for the prior."""
        return self._normals(jax.random.split(self.keys[count, 2], 3)[2], DIM)

    def posterior(self, count):
        """(d,) by which a draw departs from the estimate."""
        return self._normals(jax.random.split(self.keys[count, 0])[0], 1, DIM)[0]

    def _normals(self, key, *shape):
        return np.asarray(jax.random.normal(key, shape, jnp.float64))


def innermost(policy):
    """The model that plans, ensembles and perturbations are around."""
    model = policy.model
    while hasattr(model, "model"):
        model = model.model
    return model


# --- what a policy does -------------------------------------------------------------------------------------


def spec_of(rounds, size):
    return Spec(dim=DIM, num_arms=ARMS, capacity=rounds * size, size=size)


@jax.jit
def course(policy, first, keys, contexts, feedback):
    """All rounds, with a fit in each: the last state, and items (T, k), scores (T, K), soundness and fits."""

    def one_round(state, met):
        key, contexts, feedback, count = met
        decision = policy.select(state, key[0], contexts, count)
        scores = policy.score(state, jax.random.split(key[0])[0], contexts, count)[1]
        told = feedback[decision.items]
        event = Event(decision.items, decision.features, told, decision.mask, decision.memo)
        after = policy.observe(state, key[1], event)
        if policy.learn_every == 1:
            after = replace(after, fit=policy.learn(after, key[2]))
        return after, (decision.items, scores, decision.healthy, state.fit)

    return jax.lax.scan(one_round, first, (keys, contexts, feedback, jnp.arange(len(contexts))))


@dataclass(frozen=True)
class Played:
    """items (T, k), scores (T, K), the fits that decided, stacked, and the first state."""

    items: np.ndarray
    scores: np.ndarray
    fits: object
    first: object


def play(policy, met):
    rounds = len(met.feedback)
    first = policy.init(jax.random.key(SEED), spec_of(rounds, policy.chooser.size))
    last, (items, scores, healthy, fits) = course(
        policy, first, round_keys(rounds), met.contexts, met.feedback
    )
    assert np.asarray(healthy).all()
    assert np.sum(getattr(last.fit, "failures", 0)) == 0
    return Played(np.asarray(items), np.asarray(scores), fits, first)


def first_weights(played):
    """theta_0 as the transcription holds it."""
    return [np.asarray(matrix) for matrix in played.first.fit.first]


def agree(played, score, tell, *, planned=(), tolerance=CLOSE):
    """Score every round as the transcription does, choose, and tell it what it chose.

    score: round -> (K,); tell: (round, slot, arm). `planned` arms come first, and are scored 1. Where scores
    tie, before the first observation, any of the best may be chosen.
    """
    ties = []
    for count, (scores, items) in enumerate(zip(played.scores, played.items, strict=True)):
        size, warm = len(items), count < len(planned)
        expected = np.eye(ARMS)[planned[count]] if warm else np.asarray(score(count))
        np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance, err_msg=f"round {count}")
        order = np.argsort(-expected, kind="stable")
        chosen = order[:size]
        if not warm and np.diff(-expected[order])[:size].min() < 1e-7:
            ties.append(count)
            chosen = items
        np.testing.assert_array_equal(items, chosen, err_msg=f"round {count}")
        for slot, arm in enumerate(chosen):
            tell(count, slot, int(arm))
    assert set(ties) <= {0}
    assert len(np.unique(played.items)) > 2  # a choice is more than the first arm again and again


def design_of(met, rounds):
    """The arms of the warm-up, in order."""
    arms = met.contexts[0]
    counts = reference.rounded(rounds, g_optimal(arms).weights, arms)
    return np.repeat(np.arange(ARMS), counts)


# --- ensembles ----------------------------------------------------------------------------------------------


def ensemble_agrees(policy, agent, met, *, scale, planned=(), mean=None, tolerance=CLOSE):
    """With the perturbations that the policy keeps, and the members that it draws.

    agent: played -> transcription; mean: what the scores go through where sets are chosen.
    """
    played, draws, members = play(policy, met), Draws(policy, len(met.feedback)), set()
    told, size = agent(played), policy.chooser.size

    def score(count):
        member = draws.member(count)
        members.add(member)
        scores = np.array(told.scores(met.contexts[count], member))
        return scores if mean is None else mean(scores)

    def tell(count, slot, arm):
        last = {"fit": slot == size - 1} if isinstance(told, reference.NeuralES) else {}
        z = scale * draws.kept(count)[:, slot]
        told.observe(met.contexts[count][arm], met.feedback[count][arm], z, **last)

    agree(played, score, tell, planned=planned, tolerance=tolerance)
    assert members == set(range(MEMBERS))


@pytest.mark.parametrize("stay", [True, False], ids=["arms stay", "new contexts"])
def test_lin_es(stay):
    ensemble_agrees(
        superarm.lin_es(size=MEMBERS, perturbation=2.0, ridge=0.7),
        lambda played: reference.LinES(dim=DIM, members=MEMBERS, penalty=0.7),
        world(200, stay=stay),
        scale=2.0,
    )


@pytest.mark.parametrize(
    ("link", "stay"),
    [
        ("logistic", True),
        ("poisson", False),
        pytest.param("poisson", True, marks=pytest.mark.full),
        pytest.param("identity", True, marks=pytest.mark.full),
        pytest.param("logistic", False, marks=pytest.mark.full),
        pytest.param("identity", False, marks=pytest.mark.full),
    ],
)
def test_glm_es(link, stay):
    """Arms that stay are remembered by sums, after a warm-up by design; new contexts one by one."""
    met = world(150, stay=stay, link=link)
    warmup = 17 if stay else 0
    ensemble_agrees(
        superarm.glm_es(
            size=MEMBERS,
            perturbation=0.6,
            ridge=0.7,
            link=link,
            warmup=warmup,
            memory="arms" if stay else "all",
        ),
        lambda played: reference.GLMES(dim=DIM, members=MEMBERS, penalty=0.7, link=link),
        met,
        scale=0.6,
        planned=design_of(met, warmup) if warmup else (),
        tolerance=NEWTON,
    )


RIDGE = 0.8
FORMS = {"standard": (0.2, 5, False), "ntk": (0.003, 6, True)}  # learning rate, steps, restart


def small_network(form, memory):
    """A network that is fitted as the paper's are: on the mean in practice, on the sum in theory."""
    rate, steps, restart = FORMS[form]
    practice = {"penalty": RIDGE, "reduction": "mean"} if form == "standard" else {}
    return superarm.neural(
        superarm.perceptron(width=UNITS, depth=3, parametrization=form, precision="float64"),
        ridge=RIDGE,
        learning_rate=rate,
        steps=steps,
        restart=restart,
        memory=memory,
        **practice,
    )


def transcribed(form):
    """The same in the words of the transcription."""
    rate, steps, restart = FORMS[form]
    eta = rate / UNITS if form == "ntk" else rate
    return {"penalty": RIDGE, "eta": eta, "steps": steps, "form": form, "warm_start": not restart}


def neural_es_agrees(form, stay, oracle=None, rounds=40):
    met = world(rounds, stay=stay)
    model = small_network(form, "arms" if stay else "all")
    ensemble_agrees(
        superarm.neural_es(
            oracle, model, size=MEMBERS, perturbation=1.0, warmup=None if oracle is None else 0
        ),
        lambda played: reference.NeuralES(first_weights(played), members=MEMBERS, **transcribed(form)),
        met,
        scale=1.0,
        planned=np.arange(ARMS) if oracle is None else (),
    )


@pytest.mark.parametrize(
    ("form", "stay"),
    [
        ("standard", True),
        ("standard", False),
        pytest.param("ntk", True, marks=pytest.mark.full),
        pytest.param("ntk", False, marks=pytest.mark.full),
    ],
)
def test_neural_es(form, stay):
    neural_es_agrees(form, stay)


# --- ensembles that choose sets -----------------------------------------------------------------------------

PAIR = superarm.top_k(2)


def test_lin_es_chooses_sets():
    ensemble_agrees(
        superarm.lin_es(PAIR, size=MEMBERS, perturbation=0.4),
        lambda played: reference.LinES(dim=DIM, members=MEMBERS),
        world(100, stay=False),
        scale=0.4,
    )


@pytest.mark.full
@pytest.mark.parametrize("memory", ["arms", "all"])
def test_glm_es_chooses_sets(memory):
    """By expected rewards, which add up: the scores are those through the link."""
    ensemble_agrees(
        superarm.glm_es(PAIR, size=MEMBERS, perturbation=0.6, warmup=0, memory=memory),
        lambda played: reference.GLMES(dim=DIM, members=MEMBERS),
        world(80, stay=memory == "arms", link="logistic"),
        scale=0.6,
        mean=expit,
        tolerance=NEWTON,
    )


@pytest.mark.full
def test_neural_es_chooses_sets():
    neural_es_agrees("standard", False, PAIR, 30)


# --- perturbed history --------------------------------------------------------------------------------------


class Perturbed:
    """What a fit adds to the history: per observation, or per arm, to the mean of its observations."""

    def __init__(self, policy, met):
        self.by_arm = innermost(policy).memory.kind == "arms"
        self.draws = Draws(policy, len(met.feedback))
        self.arms = []

    def at(self, count):
        """(t,) standard normals of the fit before round `count`, with the right means per arm."""
        if not count:
            return np.zeros(0)
        fresh, arms = self.draws.fresh(count - 1), np.array(self.arms)
        if not self.by_arm:
            return fresh[: len(arms)]
        return fresh[arms] / np.sqrt(np.bincount(arms)[arms])


def history_agrees(policy, agent, met, score, *, planned=(), tolerance=CLOSE):
    """score: (agent, contexts (K, d), normals (t,), normals of the prior (d,)) -> (K,)."""
    played = play(policy, met)
    told, perturbed = agent(played), Perturbed(policy, met)

    def scores(count):
        prior = perturbed.draws.prior(count - 1) if count else np.zeros(DIM)
        return score(told, met.contexts[count], perturbed.at(count), prior)

    def tell(count, slot, arm):
        perturbed.arms.append(arm)
        told.observe(met.contexts[count][arm], met.feedback[count][arm])

    agree(played, scores, tell, planned=planned, tolerance=tolerance)


MEMORY = pytest.mark.parametrize("memory", ["arms", pytest.param("all", marks=pytest.mark.full)])


@pytest.mark.full
@MEMORY
def test_lin_phe(memory):
    history_agrees(
        superarm.lin_phe(perturbation=2.0, ridge=0.7, memory=memory),
        lambda played: reference.LinPHE(dim=DIM, penalty=0.7),
        world(150, stay=memory == "arms"),
        lambda told, contexts, normals, prior: told.scores(contexts, 2.0 * normals),
    )


def generalized(*quick):
    """Links and memories; all but one only in the full tests."""
    every = [(link, memory) for link in ("logistic", "poisson", "identity") for memory in ("arms", "all")]
    rows = [pytest.param(*row, marks=[] if row == quick else pytest.mark.full) for row in every]
    return pytest.mark.parametrize(("link", "memory"), rows)


def warmed(memory, met):
    """Settings of a warm-up by design where arms stay, else of none, and the arms that it tries."""
    stay = memory == "arms"
    return {"warmup": 14 if stay else 0, "memory": memory}, design_of(met, 14) if stay else ()


@pytest.mark.full
@generalized("poisson", "all")
def test_glm_fpl(link, memory):
    met = world(150, stay=memory == "arms", link=link)
    warmup, planned = warmed(memory, met)
    history_agrees(
        superarm.glm_fpl(perturbation=0.8, ridge=0.7, link=link, **warmup),
        lambda played: reference.GLMFPL(dim=DIM, penalty=0.7, link=link),
        met,
        lambda told, contexts, normals, prior: told.scores(contexts, 0.8 * normals),
        planned=planned,
        tolerance=NEWTON,
    )


@generalized("logistic", "arms")
def test_evill(link, memory):
    met = world(150, stay=memory == "arms", link=link)
    warmup, planned = warmed(memory, met)
    history_agrees(
        superarm.evill(scale=0.9, ridge=0.7, link=link, **warmup),
        lambda played: reference.EVILL(dim=DIM, penalty=0.7, link=link),
        met,
        # Before any fit no perturbation was drawn, the prior's neither.
        lambda told, contexts, normals, prior: contexts @ told.theta(prior, normals, 0.9),
        planned=planned,
        tolerance=NEWTON,
    )


@pytest.mark.full
@MEMORY
def test_neural_phe(memory):
    met = world(45, stay=memory == "arms")

    def score(told, contexts, normals, prior):
        told.fit(1.5 * normals)
        return told.scores(contexts)

    def agent(played):
        return reference.NeuralPHE(first_weights(played), **transcribed("standard"))

    policy = superarm.neural_phe(model=small_network("standard", memory), perturbation=1.5, warmup=0)
    history_agrees(policy, agent, met, score)


@pytest.mark.full
def test_neural_phe_in_its_theory_form_after_each_arm_once():
    """Fits of the warm-up count for nothing here, since every fit begins anew."""
    met = world(40, stay=True)

    def score(told, contexts, normals, prior):
        told.fit(1.5 * normals)
        return told.scores(contexts)

    history_agrees(
        superarm.neural_phe(model=small_network("ntk", "arms"), perturbation=1.5),
        lambda played: reference.NeuralPHE(first_weights(played), **transcribed("ntk")),
        met,
        score,
        planned=np.arange(ARMS),
    )


# --- GLM-TSL ------------------------------------------------------------------------------------------------


@pytest.mark.full
@generalized("logistic", "arms")
def test_glm_tsl(link, memory):
    """Any root of H^-1 gives draws of the same law: the transcription is given the root that ours uses."""
    met = world(150, stay=memory == "arms", link=link)
    warmup, planned = warmed(memory, met)
    policy = superarm.glm_tsl(scale=0.9, ridge=0.7, link=link, **warmup)
    played, draws = play(policy, met), Draws(policy, 150)
    told = reference.GLMTSL(dim=DIM, penalty=0.7, link=link)
    roots = np.asarray(played.fits.factor.root)

    def score(count):
        root = roots[count]
        np.testing.assert_allclose(root @ root.T, np.linalg.inv(told.H()), rtol=NEWTON, atol=NEWTON)
        return met.contexts[count] @ (told.theta_hat() + 0.9 * root @ draws.posterior(count))

    def tell(count, slot, arm):
        told.observe(met.contexts[count][arm], met.feedback[count][arm])

    agree(played, score, tell, planned=planned, tolerance=NEWTON)


# --- the paper's settings -----------------------------------------------------------------------------------


def test_presets_are_set_as_the_paper_says():
    linear, general, network = superarm.lin_es(), superarm.glm_es(), superarm.neural_es()
    assert [linear.model.size, general.model.model.size, network.model.size] == [25, 10, 10]
    scales = [linear.model.scale, general.model.model.scale, network.model.scale]
    assert [float(scale) for scale in scales] == [0.1, 0.1, 0.1]
    assert not hasattr(linear.explorer, "plan")
    assert (general.explorer.rounds, general.explorer.plan) == (500, "design")
    assert (network.explorer.rounds, network.explorer.plan) == (None, "each")
    assert float(linear.model.model.prior_scale) == float(linear.model.model.noise) == 1.0
    assert isinstance(general.model.model.model.fitting, Newton)
    assert float(general.model.model.model.fitting.penalty) == 1.0


def test_the_network_of_the_figures():
    model = ensemble_figure_model()
    assert model == superarm.neural_es().model.model == superarm.neural_phe().model.model
    assert (model.network.width, model.network.depth, model.network.parametrization) == (20, 3, "standard")
    assert (model.network.biases, model.learn_every, model.memory.kind) == (False, 1, "all")
    fitting = model.fitting
    assert isinstance(fitting, Fitting)
    assert (fitting.steps, fitting.optimizer, fitting.batch, fitting.restart) == (100, "gd", None, False)
    assert (fitting.reduction, fitting.loss, fitting.anchored) == ("mean", "squared", True)
    assert (float(fitting.learning_rate), float(fitting.penalty)) == (0.01, 1.0)
    assert ensemble_figure_model(2.0, units=8, depth=2, memory="arms", steps=7).fitting.steps == 7
