"""What the files of a room define, and what to do when a part is not where it must be."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable
from types import ModuleType

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


def require_rows(file: str, parts: Iterable[str], rows: Iterable[str]) -> None:
    """Every part has a row in its table, and every row a part."""
    missing, gone = sorted(set(parts) - set(rows)), sorted(set(rows) - set(parts))
    assert not missing, f"add a row to tests/contract/{file} for {', '.join(missing)}"
    assert not gone, f"remove the row from tests/contract/{file} for {', '.join(gone)}: there is no such part"


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
    """Every public part of a room has a docstring; a factory's has its arguments, an example and the paper."""
    for name in dict.fromkeys([*parts, *room.__all__]):
        part = parts.get(name) or getattr(room, name)
        place = f"src/{part.__module__.replace('.', '/')}.py"
        said = vars(inspect.unwrap(part)).get("__doc__") or "" if inspect.isclass(part) else part.__doc__ or ""
        assert said and not said.startswith(f"{name}("), f"give {name} a docstring in {place}"
        file = importlib.import_module(part.__module__).__doc__ or ""
        assert file, f"begin {place} with a docstring"
        for built in re.findall(r"Build it with `(\w+)`", said):
            where = importlib.import_module(part.__module__)
            assert built in where.__all__, f"add {built!r}, which builds {name}, to `__all__` in {place}"
        if inspect.isclass(part):
            continue
        described = said.partition("Args:")[2]
        for argument in inspect.signature(part).parameters:
            must = f"say what {argument} is, under `Args:` in the docstring of {name} in {place}"
            assert re.search(rf"^ +(\w+, )*\**{argument}(, \w+)*:", described, re.MULTILINE), must
        assert ">>> " in said, f"give the docstring of {name} in {place} an example that runs: `>>> ...`"
