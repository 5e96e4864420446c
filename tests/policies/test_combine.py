"""Any policy of the algebra, by the names of its parts."""

from __future__ import annotations

from itertools import product

import jax
import numpy as np
import pytest

import superarm
from superarm import explorers
from superarm.choosers.duel import STRATEGIES
from superarm.environments import duels, linear_scores, logistic_scores
from superarm.policies.combine import CHOOSERS, WIDE, Combination, combinations

SET = superarm.top_k(2)
CHOSEN = {"one arm": (None,), "a set": (SET,), "a duel": STRATEGIES}
SEEDS, ROUNDS = 2, 200
MADE = [one for one in combinations() if not one.refused]
QUICK = {
    ("logistic", "ensemble", "one arm", ""),
}


def rows():
    """Every combination with every width and strategy; most in the full tests only."""
    for one in MADE:
        if one.explorer == "uniform":  # which does not learn
            continue
        for width, chooser in product(one.widths or ("",), CHOSEN[one.chooser]):
            if (one.explorer, chooser) == ("ensemble", "candidate"):  # is refused
                continue
            key = (one.model, one.explorer, one.chooser, width)
            marks = [] if key in QUICK else [pytest.mark.full]
            words = "-".join([*key, chooser if isinstance(chooser, str) else ""]).replace(" ", "-")
            yield pytest.param(one, width, chooser, id=words, marks=marks)


def small(one: Combination) -> dict:
    """Settings for a short run."""
    if one.model in ("linear", "one-pass"):
        return {"noise": 0.3} if one.model == "linear" and one.explorer != "perturbed" else {}
    if one.model.startswith("neural"):
        return {"units": 16, "steps": 20, "learn_every": 5, "learning_rate": 0.02}
    return {"learn_every": 5}


def steep(contexts, theta, matrix):
    """Log-odds that tell arms well apart."""
    return 5.0 * (contexts @ theta)


def world_of(one: Combination):
    """A world in which the model is about right."""
    if one.chooser == "a duel":
        return duels(lambda contexts, theta: 4.0 * (contexts @ theta[0]), dim=3, num_arms=6)
    chosen = SET if one.chooser == "a set" else None
    if one.model in ("linear", "identity", "neural"):
        return linear_scores(chosen, dim=4, num_arms=8)
    return logistic_scores(chosen, latent=steep, dim=4, num_arms=8)


@pytest.mark.parametrize(("one", "width", "chooser"), list(rows()))
def test_every_combination_learns(one, width, chooser):
    world = world_of(one)
    policy = superarm.combine(
        one.model,
        explorer=one.explorer,
        chooser=chooser,
        width=width or None,
        **({"radius": 0.3} if one.explorer in WIDE else {}),
        **small(one),
    )
    chance = superarm.combine("logistic", explorer="uniform", chooser=chooser, learn_every=1000)
    result = superarm.compare(
        {"it": policy, "chance": chance}, world, rounds=ROUNDS, seeds=SEEDS, workers=0, keep_items=False
    )
    totals = result.finals()["regret"]
    assert totals["it"] < 0.7 * totals["chance"]


@pytest.mark.parametrize(
    ("given", "preset"),
    [
        ({"model": "linear"}, superarm.lin_ucb()),
        ({"model": "linear", "explorer": "ts", "noise": 0.5}, superarm.lin_ts(noise=0.5)),
        ({"model": "linear", "chooser": SET}, superarm.comb_lin_ucb(SET)),
        ({"model": "logistic", "explorer": "ts"}, superarm.logistic_ts()),
        ({"model": "logistic", "explorer": "ts", "chooser": SET}, superarm.logistic_ts(SET)),
        ({"model": "one-pass"}, superarm.ecolog()),
        ({"model": "logistic", "chooser": "candidate"}, superarm.max_inp()),
        ({"model": "logistic", "chooser": "optimistic"}, superarm.max_pair_ucb()),
        (
            {"model": "linear", "explorer": "ensemble", "members": 25, "perturbation": 0.1},
            superarm.lin_es(),
        ),
    ],
)
def test_presets_are_combinations(given, preset):
    """The same parts, bit for bit, under another name."""
    made = superarm.combine(**given)
    for part in ("model", "width", "explorer", "chooser"):
        one, other = getattr(made, part), getattr(preset, part)
        assert jax.tree.structure(one) == jax.tree.structure(other)
        assert jax.tree.leaves(one) == jax.tree.leaves(other)


def test_all_names_are_there():
    assert {one.chooser for one in MADE} == set(CHOOSERS)
    assert len(MADE) > 100


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"model": "cubic"}, ValueError, "model must be one of 'linear', 'identity'"),
        ({"explorer": "brave"}, ValueError, "explorer must be one of 'ucb', 'ts'"),
        ({"chooser": "fight"}, ValueError, "chooser must be one of 'asymmetric'"),
        ({"chooser": 3}, TypeError, "chooser must extend superarm.contract.Oracle, got int"),
        ({"width": "wide"}, ValueError, "width must be one of 'full', 'diagonal', 'sketched', got 'wide'"),
        ({"model": "neural", "explorer": "greedy", "width": "full"}, ValueError, "which asks for none"),
        ({"model": superarm.glm(), "ridge": 2.0}, TypeError, "settings must be the model's own, got ridge"),
        ({"model": "linear", "chooser": "optimistic"}, ValueError, "model of a duel must be one of"),
        (
            {"model": "logistic", "explorer": "ensemble", "chooser": "candidate"},
            ValueError,
            "got 'candidate'",
        ),
        ({"model": "probit", "explorer": "ensemble"}, ValueError, "model must take any real reward"),
        ({"model": "one-pass", "explorer": "perturbed"}, ValueError, "model must be generalized linear"),
        ({"radius": -1.0}, ValueError, "radius must be >= 0, got -1.0"),
        ({"epsilon": 2.0}, ValueError, "epsilon must be between 0 and 1, got 2.0"),
        ({"members": 0}, ValueError, "members must be >= 1, got 0"),
    ],
)
def test_what_is_refused(given, error, words):
    with pytest.raises(error, match=f"combine: .*{words}"):
        superarm.combine(**given)


def test_a_model_of_one_s_own():
    model = superarm.neural(superarm.perceptron(width=4), loss="logistic", learn_every=5)
    policy = superarm.combine(model, explorer="ensemble", members=3, chooser=SET)
    assert policy.model.model is model
    assert policy.explorer.link == "logistic"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"explorer": explorers.Greedy(), "radius": 2.0},
            "'ucb' and 'ts': an explorer brings its own settings",
        ),
        ({"explorer": explorers.Greedy(), "epsilon": 0.2}, "'epsilon-greedy': an explorer brings its own"),
        ({"explorer": "greedy", "radius": 2.0}, "radius must be left out but for .*: got 'greedy'"),
        ({"explorer": "ucb", "draws": 3}, "draws must be left out but for the explorer 'ts': got 'ucb'"),
        ({"explorer": "ts", "members": 3}, "members must be left out but for the explorer 'ensemble'"),
        ({"explorer": "Greedy"}, r"or an explorer, such as superarm.explorers.Greedy\(\), got 'Greedy'"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(arguments, message):
    with pytest.raises(ValueError, match=f"^combine: .*{message}"):
        superarm.combine("linear", **arguments)


def test_a_function_that_is_not_called_is_told_to_be():
    with pytest.raises(TypeError, match="got the function top_k; call it"):
        superarm.combine("linear", explorer=superarm.top_k)


def test_propensities_that_are_refused_name_what_is_in_the_way():
    """The explorer that another wraps, and the oracle."""
    drawn = superarm.combine("logistic", explorer="ts", chooser=superarm.top_k(2))
    packed = superarm.combine("linear", chooser=superarm.oracles.knapsack([1.0, 2.0, 1.0], 2.0))
    for policy, name in ((drawn, "Thompson"), (packed, type(packed.chooser.oracle).__name__)):
        state = policy.init(jax.random.key(0), superarm.Spec(dim=2, num_arms=3, capacity=5))
        with pytest.raises(TypeError, match=f"got {name}$"):
            policy.propensities(state, np.ones((3, 2)), 0)
