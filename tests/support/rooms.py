"""What the files of a room define, and what to do when a part is not where it must be."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable
from types import ModuleType

import jax

from superarm.pytree import CLASSES


def defined(room: ModuleType, kind: type) -> dict[str, type]:
    """The whole classes of a kind that the files of a room define, exported or not."""
    found = {}
    for file in pkgutil.iter_modules(room.__path__):
        module = importlib.import_module(f"{room.__name__}.{file.name}")
        for name, value in vars(module).items():
            here = inspect.isclass(value) and value.__module__ == module.__name__
            if here and issubclass(value, kind) and not inspect.isabstract(value):
                found[name] = value
    return found


def require_rows(
    file: str, parts: Iterable[str], rows: Iterable[str], room: ModuleType | None = None
) -> None:
    """Every part has a row in its table, and every row a part, which the room shows."""
    missing, gone = sorted(set(parts) - set(rows)), sorted(set(rows) - set(parts))
    for name in gone:
        place = None if room is None else made_in(room, name)
        assert place is None, f"add {name!r} to `__all__` in {place}"
    assert not missing, f"add a row to tests/contract/{file} for {', '.join(missing)}"
    assert not gone, f"remove the row from tests/contract/{file} for {', '.join(gone)}: there is no such part"


def made_in(room: ModuleType, name: str) -> str | None:
    """The file of a room that makes a name, exported or not."""
    for file in pkgutil.iter_modules(room.__path__):
        module = f"{room.__name__}.{file.name}"
        value = vars(importlib.import_module(module)).get(name)
        if getattr(value, "__module__", None) == module:
            return f"src/{module.replace('.', '/')}.py"
    return None


def require_exported(room: ModuleType, parts: dict[str, type]) -> None:
    """Every part is a public name of its room."""
    for name, part in parts.items():
        file = part.__module__.rpartition(".")[2]
        place = f"src/{part.__module__.replace('.', '/')}.py"
        exported = getattr(importlib.import_module(part.__module__), "__all__", ())
        assert name in exported, f"add {name!r} to `__all__` in {place}"
        line = f"from {room.__name__}.{file} import *"
        init = f"src/{room.__name__.replace('.', '/')}/__init__.py"
        assert name in room.__all__, f"add the line `{line}` to {init}"


def require_pytrees(parts: dict[str, type]) -> None:
    """Every part is known to JAX, and found by its name in a configuration."""
    for name, part in parts.items():
        assert CLASSES.get(name) is part, f"write `@pytree` above `@dataclass(frozen=True)` of {name}"


def require_described(room: ModuleType, parts: dict[str, type]) -> None:
    """Every part of a room has a docstring; a factory says what its arguments are, and has an example."""
    for name in dict.fromkeys([*parts, *room.__all__]):
        part = parts.get(name) or getattr(room, name)
        place, file = f"src/{part.__module__.replace('.', '/')}.py", importlib.import_module(part.__module__)
        said = part.__doc__ or ""
        # A dataclass without a docstring gets one: its signature.
        must = f"give {name} a docstring in {place}"
        assert said.removeprefix(name).partition("(")[0].strip(), must
        assert file.__doc__, f"begin {place} with a docstring that names the paper, or says what it is"
        for built in re.findall(r"Build it with `(\w+)`", said):
            assert built in file.__all__, f"add {built!r}, which builds {name}, to `__all__` in {place}"
        if inspect.isfunction(part):
            require_arguments(part, f"the docstring of {name} in {place}")
            assert ">>> " in said, f"give the docstring of {name} in {place} an example: `>>> ...`"


def require_arguments(function: Callable[..., object], docstring: str) -> None:
    """Every argument is told under `Args:`."""
    told = (function.__doc__ or "").partition("Args:")[2]
    for argument in inspect.signature(function).parameters:
        line = rf"^ +(\w+, )*{argument}(, \w+)*:"
        assert re.search(line, told, re.MULTILINE), f"say what {argument} is, under `Args:` in {docstring}"


def require_static(part: object, name: str) -> None:
    """A whole number, a switch or a word is structure: traced, it could set no shape and take no branch."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(part)[0]:
        place = jax.tree_util.keystr(path).removeprefix(".")
        must = f"mark `{place}` of {name} with `static()` of superarm.pytree: it is {leaf!r}, and no array"
        assert not isinstance(leaf, bool | int | str), must
