"""Arguments are typed, so that an editor can help: no `Any` where a user types, no settings without names."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

import superarm
from contract.presets import ROWS
from superarm import checks, evaluate, policies
from superarm.agent.agent import Agent
from superarm.choosers.oracles import knapsacks
from superarm.environments import click_models, duels_of_utilities, logistic, score_tables, scores
from superarm.evaluate.estimators import linear_fit, off_policy, reward_model
from superarm.evaluate.judgement import JudgingOptions
from superarm.evaluate.logs import read
from superarm.features.tables import OnOffer
from superarm.models import factory, full_gradient_model, links, losses, utilities
from superarm.policies import bae2026_theory, combine, parts
from superarm.policies.bae2026_recipe import RecipeTraining
from superarm.simulation.simulate import Running

ROOT = Path(__file__).parents[1]
# A model's own data, which goes from one of its functions to the next: users hand it on, and type none of it.
PASSED_ON = {
    ("State", "record"),
    ("State", "fit"),
    ("Decision", "memo"),
    ("Decision", "cache"),
    ("Event", "memo"),
    ("Event", "cache"),
}


def public_of(module):
    """The public functions and classes of a module, by what it exports or by what it defines."""
    defined = [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    for name in getattr(module, "__all__", defined):
        if name[0] != "_" and callable(value := getattr(module, name)):
            yield name, value


def callables():
    """All that a user calls: name -> function, class or method."""
    found = {name: value for name, value in public_of(superarm) if not inspect.ismodule(value)}
    for room in (getattr(superarm, name) for name in superarm._MODULES):
        for name, value in public_of(room):
            found.setdefault(name, value)
    found |= {f"Agent.{name}": value for name, value in vars(Agent).items() if name[0] != "_"}
    found = {name: getattr(value, "__func__", value) for name, value in found.items()}
    found = {name: value for name, value in found.items() if callable(value)}
    return {
        name: value
        for name, value in found.items()
        if not (isinstance(value, type) and (issubclass(value, Exception) or inspect.isabstract(value)))
    }


CALLABLES = callables()
UNPACKED = {name: checks.unpacked(value) for name, value in CALLABLES.items() if inspect.isfunction(value)}
UNPACKED = {name: next(iter(found.values())) for name, found in UNPACKED.items() if found}


def is_any(annotation):
    """Whether an annotation allows anything: `Any`, or a union with it."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return not {"Any", "typing.Any", "object"}.isdisjoint(members(ast.parse(text, mode="eval").body))


def members(node):
    """The types of a union."""
    return [*members(node.left), *members(node.right)] if isinstance(node, ast.BinOp) else [ast.unparse(node)]


def parameters(value):
    """What is typed in a call."""
    found = inspect.signature(value).parameters.values()
    return [one for one in found if one.name not in ("self", "cls")]


def test_the_callables_are_those_that_users_call():
    assert set(policies.__all__) <= set(CALLABLES)
    named = {"combine", "simulate", "judge", "event_log", "top_k", "clicks", "mnl_revenue", "from_config"}
    named |= {"Agent", "Agent.select", "Agent.load", "g_optimal", "ntk_matrix", "restarts"}
    assert named <= set(CALLABLES)
    assert len(CALLABLES) > 150


@pytest.mark.parametrize("name", CALLABLES)
def test_every_argument_has_a_type(name):
    for one in parameters(CALLABLES[name]):
        assert one.annotation is not one.empty, one.name
        assert is_any(one.annotation) == ((name, one.name) in PASSED_ON), one


@pytest.mark.parametrize("name", CALLABLES)
def test_settings_are_named(name):
    """`**settings: Unpack[Settings]`, or an editor could not tell what they are."""
    kinds = [one.kind for one in parameters(CALLABLES[name])]
    assert inspect.Parameter.VAR_POSITIONAL not in kinds
    assert (inspect.Parameter.VAR_KEYWORD in kinds) == (name in UNPACKED)


@pytest.mark.parametrize("name", sorted(UNPACKED))
def test_settings_are_no_arguments_of_the_function_itself(name):
    own = {one.name for one in parameters(CALLABLES[name])}
    assert not own & set(UNPACKED[name].__annotations__)


NOT_ACCEPTED = ("an argument must be", "unexpected keyword", "multiple values", "must be left out,")


def accepts(build, key):
    """Whether a call takes an argument of that name; what it is given may be refused."""
    try:
        build(**{key: object()})
    except Exception as error:
        return not any(words in str(error) for words in NOT_ACCEPTED)
    return True


@pytest.mark.parametrize("name", sorted(set(UNPACKED) & set(ROWS)))
def test_a_preset_accepts_what_its_settings_name(name):
    """They are arguments of what they are handed to."""
    names = UNPACKED[name].__annotations__
    assert [key for key in names if not accepts(ROWS[name].build, key)] == []
    assert not accepts(ROWS[name].build, "speed")


@pytest.mark.parametrize("name", combine.MODELS)
def test_a_model_of_combine_accepts_what_its_settings_name(name):
    build = partial(superarm.combine, name)
    settings = combine.SETTINGS[name].__annotations__
    assert [key for key in settings if not accepts(build, key)] == []
    assert set(settings) <= set(combine.CombineSettings.__annotations__)


def test_settings_of_combine_are_those_of_its_models():
    named = [key for settings in combine.SETTINGS.values() for key in settings.__annotations__]
    assert set(named) == set(combine.CombineSettings.__annotations__)


@pytest.mark.parametrize(
    ("settings", "function", "others"),
    [
        (factory.GlmSettings, superarm.glm, {"link"}),
        (factory.NeuralSettings, superarm.neural, {"network", "ridge"}),
        (utilities.ShallowSettings, superarm.shallow_model, set()),
        (utilities.FullGradientSettings, full_gradient_model, set()),
        (
            bae2026_theory.Constants,
            bae2026_theory._Theory,
            {"where", "oracle", "weighted", "linearized", "kappa"},
        ),
        (Running, superarm.compare, {"policies", "environment", "rounds", "seeds"}),
        (off_policy.EstimatingOptions, evaluate.off_policy, {"log", "target", "seed"}),
        (JudgingOptions, evaluate.judge, {"policy", "log", "train"}),
        (OnOffer, Agent.select, set()),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_settings_are_arguments_of_their_function_with_the_same_types(settings, function, others):
    """All of them but `others`: one that is added must be added to the settings."""
    typed = {one.name: one.annotation for one in parameters(function) if one.kind is not one.VAR_KEYWORD}
    for passed_on in checks.unpacked(function).values() if inspect.isfunction(function) else ():
        typed |= types_of(passed_on)
    assert types_of(settings) == {name: one for name, one in typed.items() if name not in others}


def types_of(settings):
    """Key -> its type, as it is written."""
    written = {name: one.__forward_arg__ for name, one in settings.__annotations__.items()}
    return {name: re.sub(r"^Required\[(.*)\]$", r"\1", one) for name, one in written.items()}


def test_the_training_of_the_experiments_is_that_of_networks():
    assert set(RecipeTraining.__annotations__) - {"width"} <= set(factory.NeuralSettings.__annotations__)


def words(alias):
    """All words of a literal, or of a union of them."""
    return {word for one in get_args(alias) for word in (get_args(one) or (one,))}


@pytest.mark.parametrize(
    ("alias", "known"),
    [
        (links.LinkName, links.LINKS),
        (losses.LossName, losses.LOSSES),
        (parts.LinearWidthName, parts.LINEAR_WIDTHS),
        (parts.NeuralWidthName, parts.NEURAL_WIDTHS),
        (combine.ModelName, combine.MODELS),
        (reward_model.RewardModelName, linear_fit.FITS),
        (read.Layout, read.LAYOUTS),
        (duels_of_utilities.UtilityName, duels_of_utilities.UTILITIES),
        (duels_of_utilities.Preference, duels_of_utilities.PREFERENCES),
        (scores.ScoreName, scores.SCORES),
        (click_models.AttractionName, click_models.ATTRACTIONS),
        (logistic.LatentName, logistic.LATENTS),
        (score_tables.FixedScoreName, score_tables.MEANS),
        (knapsacks.Method, knapsacks.METHODS),
    ],
)
def test_words_are_those_that_are_known(alias, known):
    """A word that is not in its literal would be refused by a type checker, and is taken at run time."""
    assert words(alias) == set(known)


FUNCTIONS = {name: inspect.unwrap(one) for name, one in CALLABLES.items() if inspect.isfunction(one)}


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"fetch"}))  # which takes the path of a file
def test_a_word_out_of_a_list_is_a_literal(name):
    """Where `checks.one_of` reads an argument, its type says the words."""
    typed = {one.name: one.annotation for one in parameters(FUNCTIONS[name])}
    tree = ast.parse(textwrap.dedent(inspect.getsource(FUNCTIONS[name])))
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and "one_of" in ast.unparse(one.func)]
    assert [word for word in (call.args[1].value for call in calls) if typed.get(word) == "str"] == []


GOOD = """
import numpy as np
import superarm

superarm.glm_ucb(tolerance=1e-9, memory="arms")
superarm.lin_ucb(noise=1.0, width="diagonal")
superarm.combine("neural", explorer="ts", chooser=superarm.top_k(3), units=3)
superarm.Agent(superarm.lin_ucb()).select_many([np.eye(3), {"contexts": np.eye(3), "ids": ["a", "b", "c"]}])
"""
BAD = """
superarm.glm_ucb(nois=1)
superarm.glm_ucb(memory="arm")
superarm.lin_ucb(width="ful")
superarm.neural_log_ucb_2_theory(delta=0.1)
superarm.nldb(least_deviation=0.1)
superarm.combine("linear", nois=1.0)
"""


@pytest.mark.full
def test_a_type_checker_sees_what_is_wrong(tmp_path):
    from mypy import api

    file = tmp_path / "calls.py"
    file.write_text(GOOD + BAD, encoding="utf-8")
    told, _, _ = api.run(["--config-file", str(ROOT / "pyproject.toml"), str(file)])
    lines = {int(line.split(":")[1]) for line in told.splitlines() if ": error:" in line}
    first = len(GOOD.splitlines()) + 2
    assert lines == set(range(first, first + len(BAD.strip().splitlines()))), told
