"""The house keeps its order: rooms, imports, names, and a contract that nobody goes around."""

from __future__ import annotations

import ast
import dataclasses
import functools
import os
import pkgutil
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import superarm
from superarm import contract
from superarm.pytree import CLASSES, attribute
from support import heavy

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "superarm"
PARTS = ("models", "widths", "explorers", "choosers")

# Why a room may import from one below it.
UPWARDS = {
    ("evaluate", "report"): "`Estimates.plot`: the picture of a table, drawn when it is asked for",
    ("simulation", "report"): "`Result.plot` and `Tuning.plot`: the same",
    ("agent", "evaluate"): "`Agent.fit` names the type of a log, for editors alone",
}


def rooms() -> list[str]:
    """The rooms in their order, as CONTRIBUTING lists them."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = text[text.index("    src/superarm/\n") :].split("\n\n")[0]
    return re.findall(r"^      ([a-z_]+)(?:\.py|/) ", block, flags=re.MULTILINE)


def files() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def home_of(name: str) -> str:
    """The room of what `superarm` shows under a name, or of its own module."""
    if name in superarm.policies.__all__:
        return "policies"
    return (superarm._HOME_OF | superarm._MODULES).get(name, name).partition(".")[0]


def imported(tree: ast.Module) -> Iterator[str]:
    """The rooms that a file imports from: by their names, or by the public names of `superarm`."""
    names: list[str] = []
    shown = set()  # names under which the file has `superarm` itself
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "superarm":
            names += [f"superarm.{home_of(alias.name)}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
            shown |= {alias.asname or "superarm" for alias in node.names if is_ours(alias.name)}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names += [ast.literal_eval(word) for word in node.args if isinstance(word, ast.Constant)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in shown:
            names.append(f"superarm.{home_of(node.attr)}")
    for name in names:
        head, *rest = name.split(".")
        if head == "superarm" and rest:
            yield rest[0]


def is_ours(name: str) -> bool:
    return f"{name}.".startswith("superarm.")


def test_every_room_is_on_the_list():
    there = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.name[0] not in "_."}
    assert sorted(rooms()) == sorted(there - {"py.typed"})


def test_nothing_imports_from_a_room_below():
    order = {room: place for place, room in enumerate(rooms())}
    found = {
        (room_of(path), other)
        for path, tree in files()
        if room_of(path) in order
        for other in imported(tree)
        if other in order and order[other] > order[room_of(path)]
    }
    assert found == set(UPWARDS)


def test_rooms_are_few_and_none_is_the_house():
    assert len([path for path in SOURCE.glob("*.py") if path.name != "__init__.py"]) <= 16
    lines: Counter[str] = Counter()
    for path, _ in files():
        lines[room_of(path)] += sum(bool(line.strip()) for line in path.read_text().splitlines())
    assert max(lines.values()) <= 0.14 * lines.total(), lines.most_common(1)


def calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def test_nobody_asks_a_part_what_it_has():
    """The contract has a word for it, with a default. What is left asks objects that are not ours."""
    asked = [
        f"{room_of(path)}: {ast.unparse(call)}" for path, tree in files() for call in calls(tree, "hasattr")
    ]
    named = [
        f"{room_of(path)}: {ast.unparse(call)}"
        for path, tree in files()
        for call in calls(tree, "getattr")
        if isinstance(call.args[1], ast.Constant)
    ]
    assert len(asked) + len(named) <= 8, asked + named


def test_a_constant_has_a_noun():
    """`MAX_BATCH`, and not `MOST`: of what, it must say itself."""
    bare = {"MOST", "LEAST", "FEW", "FEWEST", "MANY", "LONG", "NUMBERS", "DRAWS"}
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id.strip("_") for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not names & bare, path


def packages() -> list[str]:
    found = pkgutil.walk_packages(superarm.__path__, "superarm.")
    return ["superarm", *(module.name for module in found if module.ispkg)]


def classes() -> dict[str, type]:
    """superarm's own parts and data by name."""
    for name in packages():
        import_module(name)
    assert len(CLASSES) > 120
    return CLASSES


def parts() -> set[str]:
    """The names of the classes of parts."""
    rooms = tuple(f"superarm.{room}." for room in PARTS)
    found = {name for name, cls in classes().items() if cls.__module__.startswith(rooms)}
    assert len(found) > 60
    return found


def classes_asked(tree: ast.Module, parts: set[str]) -> Iterator[str]:
    """Where a file names the class of a part but to build one: `isinstance`, `type(x) is`, `match` ..."""
    parent = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named = {alias.asname or alias.name: alias.name for node in imports for alias in node.names}
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else ""
        name = named.get(node.id, "") if isinstance(node, ast.Name) else name
        above = parent.get(node)
        if name in parts and not (isinstance(above, ast.Call) and above.func is node):
            yield f"{node.lineno} {ast.unparse(above)}"


def names_asked(tree: ast.Module, parts: set[str]) -> Iterator[str]:
    """Where a file compares the name of a class."""
    for node in ast.walk(tree):
        named = isinstance(node, ast.Compare) and "__name__" in ast.unparse(node)
        if named and parts & {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}:
            yield f"{node.lineno} {ast.unparse(node)}"


def words_unknown(tree: ast.Module) -> Iterator[str]:
    """Where a file reads of a policy's part, or of a variable for it, what the contract has no word for."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        part_of = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts, strict=True) if several else [(target, node.value)]
                part_of |= {ast.unparse(left): kind_of(right) for left, right in pairs if kind_of(right)}
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute):
                kind = kind_of(node.value) or part_of.get(ast.unparse(node.value))
                if kind and node.attr not in vars(kind):
                    yield f"{node.lineno} {ast.unparse(node)}"


def kind_of(node: ast.AST) -> type | None:
    """The class of the contract that `policy.explorer` is of, and the like."""
    kinds = {"model": contract.Model, "width": contract.Width}
    kinds |= {"explorer": contract.Explorer, "chooser": contract.Chooser}
    if isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[-1] in ("policy", "first"):
        return kinds.get(node.attr)
    return None


def test_nothing_above_the_parts_asks_for_their_class():
    """What parts can do together is in `Policy.traits`: a part of the user's is treated as ours."""
    order, known = rooms(), parts()
    above = set(order[order.index("policy") :]) - {"policies", "environments"}  # these assemble them
    found = [
        f"{path.relative_to(SOURCE)}:{where}"
        for path, tree in files()
        if room_of(path) in above
        for where in (*classes_asked(tree, known), *words_unknown(tree))
    ]
    assert not found
    assert not [(path, where) for path, tree in files() for where in names_asked(tree, set(classes()))]


@pytest.mark.parametrize(
    ("code", "room"),
    [
        ("from superarm import Agent, simulate", "agent"),
        ("def late():\n    from superarm import bounds", "theory"),
        ("from superarm import lin_ucb as one", "policies"),
        ("from superarm import compiler", "compiler"),
        ("import superarm\nsuperarm.tune", "simulation"),
        ("import superarm.evaluate as judges", "evaluate"),
        ("from importlib import import_module\nimport_module('superarm.report.page')", "report"),
    ],
)
def test_public_names_are_imports_from_their_rooms(code, room):
    assert room in set(imported(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "from superarm.explorers import UCB\nisinstance(policy.explorer, UCB)",
        "from superarm.explorers import UCB as Optimism\nisinstance(policy.explorer, (int, Optimism))",
        "from superarm import explorers\nisinstance(policy.explorer, explorers.UCB)",
        "from superarm import explorers\ntype(policy.explorer) is explorers.UCB",
        "from superarm.explorers import UCB\nBOUNDS = {UCB: 1.0}",
        "from superarm.explorers import UCB\nmatch policy.explorer:\n    case UCB(): pass",
        "type(policy.explorer).__name__ in ('UCB', 'Greedy')",
        "def f(policy):\n    explorer: Any = policy.explorer\n    return explorer.radius",
        "def f(policy):\n    model, explorer = policy.model, policy.explorer\n    return explorer.radius",
        "def f(self):\n    return self.policy.chooser.oracle.k",
    ],
)
def test_a_class_that_is_asked_for_is_seen(code):
    tree, parts = ast.parse(code), {"UCB", "Greedy"}
    assert [*classes_asked(tree, parts), *names_asked(tree, parts), *words_unknown(tree)]


def test_a_part_may_be_built_anywhere():
    code = "from superarm import explorers\nfrom superarm.choosers import Best\nexplorers.UCB(Best())"
    assert not [*classes_asked(ast.parse(code), {"UCB", "Best"})]


def test_a_part_of_superarm_extends_its_class():
    """A field must not have the name of what becomes the field's default: of all but an `attribute`."""
    kinds = [
        value
        for value in vars(contract).values()
        if isinstance(value, type) and value.__module__ == contract.__name__
    ]
    assert len(kinds) == 9
    for kind in kinds:
        fixed = {name for name, value in vars(kind).items() if not isinstance(value, attribute)}
        assert not [name for name in fixed if isinstance(vars(kind)[name], property)]
        for name, cls in classes().items():
            if issubclass(cls, kind):
                clash = {field.name for field in dataclasses.fields(cls)} & fixed
                assert not clash, (name, clash)


def test_no_public_name_is_that_of_a_submodule():
    """A module replaces a function of its name as soon as anything imports it."""
    for name in packages():
        package = import_module(name)
        inside = {module.name for module in pkgutil.iter_modules(package.__path__)}
        for public in getattr(package, "__all__", ()):
            value = getattr(package, public)
            assert public not in inside or value.__name__ == f"{name}.{public}", (name, public)


@functools.cache
def checked(files: str) -> frozenset[str]:
    """What `make check` runs for files, beside this test."""
    command = ["make", "-n", "check", "READY=", f"FILES={files}"]
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(command, cwd=ROOT, env=outer, check=True, capture_output=True, text=True)  # noqa: S603
    run = done.stdout.splitlines()[-1].partition('"not full"')[2].split()
    return frozenset(run) - {"tests/test_house.py"}


TABLE = "tests/contract/test_{}_contract.py"
PRESETS = "tests/contract/test_presets.py tests/contract/test_golden_runs.py"


@pytest.mark.parametrize(
    ("files", "tests"),
    [
        ("src/superarm/compiler.py docs/data.md", "tests/test_compiler.py"),
        (
            "src/superarm/reproduce/papers/oh2026/plans.py tests/test_config.py",
            f"tests/reproduce tests/test_config.py {TABLE.format('experiments')}",
        ),
        ("tests/cli tests/support/oracle_rows.py src/superarm/cli/app.py", "tests/cli"),
        (
            "tests/contract/widths.py tests/contract/presets.py",
            f"{TABLE.format('widths')} {PRESETS.split(maxsplit=1)[0]}",
        ),
        ("src/superarm/widths/full.py", f"tests/widths {TABLE.format('widths')}"),
        ("src/superarm/explorers/ucb.py", f"tests/explorers {TABLE.format('explorers')}"),
        ("src/superarm/choosers/oracles/knapsacks.py", f"tests/choosers {TABLE.format('oracles')}"),
        ("src/superarm/environments/face.py", f"tests/environments {TABLE.format('environments')}"),
        ("src/superarm/experiments/rules.py", f"tests/experiments {TABLE.format('experiments')}"),
        ("src/superarm/policies/linear.py", f"tests/policies {PRESETS}"),
        ("src/superarm/policy.py", f"tests/test_propensity.py {TABLE.format('explorers')} {PRESETS}"),
        ("src/superarm/contract.py", f"tests/test_contract.py {TABLE.format('explorers')} {PRESETS}"),
        ("src/superarm/types.py", f"{TABLE.format('explorers')} {PRESETS}"),
        ("src/superarm/checks.py", "tests/test_public_names.py tests/test_typed_arguments.py"),
        (
            "src/superarm/rewards.py",
            f"tests/test_rewards.py tests/environments/test_feedback.py {TABLE.format('oracles')}",
        ),
    ],
)
def test_a_check_of_files_runs_the_tests_of_their_rooms(files, tests):
    assert checked(files) == set(tests.split())


@pytest.mark.parametrize("room", [*rooms(), "__init__"])
def test_a_check_of_any_room_runs_tests_that_are_there(room):
    tests = checked(f"src/superarm/{room}.py")
    assert tests
    assert all((ROOT / test).exists() for test in tests)


def test_every_table_is_run_by_a_check():
    tables = {str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "contract").glob("test_*.py")}
    run = set().union(*(checked(f"src/superarm/{room}.py") for room in rooms()))
    assert tables <= run


def test_the_list_of_heavy_tests_names_tests():
    for test in heavy.listed():
        path, _, name = test.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert f"def {name.partition('[')[0]}(" in source, test


def test_hooks_need_no_network():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"repo: (.*)", text)) == {"local"}
    assert set(re.findall(r"language: (.*)", text)) == {"system"}
