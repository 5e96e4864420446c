"""The public names: what `superarm` shows, where a name lives, and what a misspelled one is answered."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import superarm
from superarm import environments, evaluate, explorers, policies
from superarm.choosers import oracles
from superarm.models import full_gradient_model
from superarm.pytree import CLASSES

SOURCE = Path(superarm.__file__)


def typed_imports():
    """What the file imports for type checkers: name -> where it lives, with the rooms of the star imports."""
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    guard = next(node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(guard.test) == "_typing.TYPE_CHECKING"
    homes, stars = {}, []
    for node in guard.body:
        for alias in node.names:
            if alias.name == "*":
                stars.append(node.module)
            else:
                assert alias.asname == alias.name, "written twice, so that type checkers take it for public"
                homes[alias.name] = node.module
    return homes, stars


def test_what_type_checkers_see_is_what_is_imported():
    homes, stars = typed_imports()
    assert stars == ["superarm.policies"]
    functions = {name: f"superarm.{home}" for home, names in superarm._HOMES.items() for name in names}
    modules = {
        name: f"superarm.{path}".rpartition(".")[0]
        for name, path in superarm._MODULES.items()
        if path.rpartition(".")[2] == name
    }
    assert len(modules) == len(superarm._MODULES)
    assert homes == functions | modules


@pytest.mark.parametrize(
    "file", sorted(SOURCE.parent.rglob("__init__.py")), ids=lambda file: file.parent.name
)
def test_type_checkers_can_read_what_a_room_exports(file):
    """A list that is computed hides all names from them: `superarm.lin_ucb` would be of any type."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            assert ast.literal_eval(node.value) == importlib.import_module(module_of(file)).__all__


def module_of(file):
    """The dotted name of a package's file."""
    return ".".join(("superarm", *file.parent.relative_to(SOURCE.parent).parts))


def test_dir_shows_the_public_names_and_nothing_else():
    named = {name for names in superarm._HOMES.values() for name in names}
    assert set(dir(superarm)) == named | set(superarm._MODULES) | set(policies.__all__) | {"__version__"}
    assert superarm.__all__ == dir(superarm)
    inside = {found.name for found in pkgutil.iter_modules(superarm.__path__)} - set(superarm._MODULES)
    assert not inside & set(dir(superarm))


@pytest.mark.parametrize("name", dir(superarm))
def test_every_public_name_is_there(name):
    value = getattr(superarm, name)
    assert inspect.ismodule(value) == (name in superarm._MODULES)


def test_a_star_import_brings_all():
    names = {}
    exec("from superarm import *", names)  # noqa: S102
    assert set(dir(superarm)) <= set(names)


def rooms():
    """Every package that says what it exports."""
    yield superarm
    for found in pkgutil.walk_packages(superarm.__path__, "superarm."):
        if found.ispkg and hasattr(room := importlib.import_module(found.name), "__all__"):
            yield room


@pytest.mark.parametrize("room", list(rooms()), ids=lambda room: room.__name__)
def test_no_function_or_class_has_the_name_of_a_module_beside_it(room):
    """Whoever imports the module would put it in the place of the function."""
    modules = {found.name for found in pkgutil.iter_modules(room.__path__)}
    public = {name for name in room.__all__ if not inspect.ismodule(getattr(room, name))}
    assert not modules & public, f"rename the file {', '.join(modules & public)}.py: it hides its function"


def exporting_files():
    """The files that say what they export, in the rooms that gather it."""
    for room in (policies, oracles, environments, explorers):
        for file in sorted(Path(room.__file__).parent.glob("*.py")):
            if file.name != "__init__.py" and "\n__all__ = " in file.read_text(encoding="utf-8"):
                yield pytest.param(room, file.stem, id=f"{room.__name__}.{file.stem}")


@pytest.mark.parametrize(("room", "file"), list(exporting_files()))
def test_a_room_exports_what_its_files_export(room, file):
    """A part is named in its own file; a new file is one line more in the room's `__init__`."""
    module = importlib.import_module(f"{room.__name__}.{file}")
    line = f"from {room.__name__}.{file} import *"
    advice = f"add the line `{line}` to src/{room.__name__.replace('.', '/')}/__init__.py"
    assert set(module.__all__) <= set(room.__all__), advice


def test_no_page_and_no_module_lists_the_presets_again():
    """They are named in their own files, and have an entry each in `docs/policies.toml`."""
    root = Path(__file__).parents[1]
    files = [root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")]
    files += SOURCE.parent.rglob("*.py")
    for file in files:
        text = file.read_text(encoding="utf-8")
        listed = {name for name in policies.__all__ if f"`{name}`" in text or f'"{name}"' in text}
        assert len(listed) < len(policies.__all__) / 2, f"{file.name} lists presets: {sorted(listed)}"


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("lin_ucbb", "lin_ucb"),
        ("simulat", "simulate"),
        ("Agents", "Agent"),
        ("orcles", "oracles"),
        ("knapsack", "superarm.oracles.knapsack"),
    ],
)
def test_a_misspelled_name_is_answered_by_the_closest(name, close):
    with pytest.raises(AttributeError, match=f"has no attribute {name!r}; did you mean {close!r}"):
        getattr(superarm, name)


def test_a_name_like_no_other_has_no_suggestion():
    with pytest.raises(AttributeError, match=r"has no attribute 'xyzzy'$"):
        _ = superarm.xyzzy


PUBLIC_MODULES = [getattr(superarm, name) for name in superarm._MODULES] + [
    importlib.import_module(f"superarm.{room}") for room in ("models", "widths", "explorers", "choosers")
]


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_a_public_module_shows_its_names_alone_and_knows_them_misspelled(module):
    """A new public module ends in `checks.public(__name__)`."""
    shown = dir(module)
    assert shown == sorted(getattr(module, "__all__", shown))
    for name in shown:
        assert name[0] != "_"
        assert not inspect.ismodule(getattr(module, name))
        misspelled = f"{name}q"
        with pytest.raises(AttributeError, match=f"no attribute '{misspelled}'; did you mean '"):
            getattr(module, misspelled)
    assert not hasattr(module, "__wrapped__")  # what others look for is not there, without a word


ROOMS = (superarm, policies, oracles, environments, explorers, evaluate)
FUNCTIONS = {
    value.__name__: value
    for room in ROOMS
    for value in (getattr(room, name) for name in room.__all__)
    if inspect.isfunction(value)
} | {"full_gradient_model": full_gradient_model}


def arguments():
    """Every argument of every function that users call."""
    for name, function in FUNCTIONS.items():
        for one in inspect.signature(function).parameters.values():
            if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
                yield pytest.param(function, one.name, id=f"{name}-{one.name}")


def test_the_functions_are_those_that_users_call():
    called = {"combine", "simulate", "compare", "tune", "read_log", "judge", "neural", "glm", "network"}
    assert called | {"perceptron", "shallow_model"} <= set(FUNCTIONS)
    assert set(policies.__all__) <= set(FUNCTIONS)


@pytest.mark.parametrize(("function", "argument"), list(arguments()))
def test_a_misspelled_argument_is_answered_by_the_closest(function, argument):
    """A new public function without `checks.named` fails here."""
    with pytest.raises(TypeError) as error:
        function(**{f"{argument}q": None})
    said = (
        f"{function.__name__}: an argument must be known by its name, got '{argument}q'; "
        f"did you mean '{argument}'?"
    )
    assert str(error.value) == said, f"write `@checks.named` above `def {function.__name__}`"


def test_an_argument_like_no_other_is_answered_by_all():
    with pytest.raises(TypeError) as error:
        superarm.lin_ucb(speed=1)
    assert str(error.value) == (
        "lin_ucb: an argument must be one of 'radius', 'prior_scale', 'noise', 'width', got 'speed'"
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: superarm.max_inp(memry="all"), "max_inp: .* got 'memry'; did you mean 'memory'"),
        (lambda: superarm.nvldb(learn_evry=2), "nvldb: .* got 'learn_evry'; did you mean 'learn_every'"),
        (lambda: superarm.glm_es_anytime(plam="each"), "glm_es_anytime: .*; did you mean 'plan'"),
        (lambda: superarm.neural_log_ts_1(step=3), "neural_log_ts_1: .*; did you mean 'steps'"),
        (
            lambda: superarm.neural_log_ts_2_theory(delt=0.1),
            "neural_log_ts_2_theory: .*; did you mean 'delta'",
        ),
        (lambda: superarm.combine("linear", noize=1.0), "combine: .*; did you mean 'noise'"),
        (
            lambda: superarm.combine("logistic", noise=1.0),
            "combine: an argument must be one of 'model', .*'noise'",
        ),
        (lambda: superarm.combine(superarm.neural(), explorr="ts"), "combine: .*; did you mean 'explorer'"),
        (lambda: superarm.simulate(superarm.lin_ucb(), None, rounds=1, sedes=2), "simulate: .*'seeds'"),
        (lambda: superarm.simulate(superarm.lin_ucb(), None, rounds=1, worker=2), "simulate: .*'workers'"),
        (lambda: superarm.Agent(superarm.lin_ucb(), sed=2), "agent: .*; did you mean 'seed'"),
        (lambda: superarm.Store("shop", kep=3), "store: .*; did you mean 'keep'"),
        (lambda: superarm.Spec(dim=3, num_arm=2), "spec: .*; did you mean 'num_arms'"),
        (lambda: superarm.config.load_policy(pth="x"), "load_policy: .*; did you mean 'path'"),
        (lambda: superarm.config.from_config({"prest": "lin_ucb"}), "got none; did you mean 'preset'"),
        (lambda: superarm.config.from_config({"preset": "lin_ubc"}), "did you mean 'lin_ucb'"),
        (lambda: superarm.config.from_config({"preset": "lin_ucb", "nois": 1.0}), "did you mean 'noise'"),
        (lambda: superarm.lin_ucb(width="ful"), "width must be one of .*, got 'ful'; did you mean 'full'"),
    ],
)
def test_settings_that_are_passed_on_are_known_too(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


METHODS = ("select", "select_many", "predict", "shortlist", "explain", "update", "update_many", "fit", "save")


@pytest.mark.parametrize("name", [*METHODS, "load", "open", "snapshot"])
def test_an_agent_knows_the_arguments_of_its_methods(name):
    method = getattr(superarm.Agent(superarm.lin_ucb()), name)
    for argument in inspect.signature(method).parameters:
        with pytest.raises(TypeError, match=f"^{name}: .* got '{argument}q'; did you mean '{argument}'"):
            method(**{f"{argument}q": None})
    with pytest.raises(
        TypeError, match=rf"^{name}: an argument must be one of (?!'self'|'cls').*, got 'xyzzy'$"
    ):
        method(xyzzy=None)


def test_contexts_of_many_choices_are_known_by_their_names():
    """Before the first of them is chosen."""
    agent = superarm.Agent(superarm.lin_ucb())
    with pytest.raises(TypeError) as error:
        agent.select_many([np.eye(3), {"context": np.eye(3)}])
    said = "select_many: an argument must be known by its name, got 'context'; did you mean 'contexts'?"
    assert str(error.value) == said
    assert agent.stats.decisions == 0


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_part_knows_the_fields_that_it_is_made_of(name):
    """Parts and data of superarm are `pytree`s, which need no decorator for it."""
    for one in dataclasses.fields(CLASSES[name]):
        with pytest.raises(TypeError) as error:
            CLASSES[name](**{f"{one.name}q": None})
        said = f"an argument must be known by its name, got '{one.name}q'; did you mean '{one.name}'?"
        assert str(error.value) == f"{name.lower()}: {said}"


def test_a_function_that_has_another_name_now_is_found():
    """`superarm.policy` was a function; a module of that name is what an import leaves there."""
    code = "import superarm\ntry: superarm.policy\nexcept AttributeError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    assert done.stdout == "module 'superarm' has no attribute 'policy'; did you mean 'combine'?\n"
    importlib.import_module("superarm.policy")
    with pytest.raises(TypeError) as error:
        superarm.policy("logistic", explorer="ts")
    said = "superarm.policy: a function must be called, got a module; did you mean 'superarm.combine'?"
    assert str(error.value) == said


def test_an_error_from_inside_is_not_masked():
    def faulty(length):
        return superarm.lin_ucb(radius=length + "2")

    with pytest.raises(TypeError, match="unsupported operand"):
        superarm.policies.anytime.restarts(faulty, first=100)
    with pytest.raises(TypeError, match=r"comb_lin_ucb\(\) missing 1 required positional argument: 'oracle'"):
        superarm.comb_lin_ucb()


def test_the_true_signature_is_seen():
    assert list(inspect.signature(superarm.lin_ucb).parameters) == ["radius", "prior_scale", "noise", "width"]
    assert superarm.lin_ucb.__doc__.startswith("LinUCB")
    assert pickle.loads(pickle.dumps(superarm.lin_ucb)) is superarm.lin_ucb  # noqa: S301
