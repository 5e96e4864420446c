"""Frozen dataclasses as JAX pytrees: `pytree` registers a class, `static` marks what is structure.

Open it to see what becomes an array, what compiles anew, and how a configuration finds a class by its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from typing import Any, TypeVar

import jax

Cls = TypeVar("Cls", bound=type)

CLASSES: dict[str, Any] = {}  # superarm's own parts by name, for configurations


def pytree(cls: Cls) -> Cls:
    """Register a frozen dataclass with JAX; fields marked `static()` become part of its structure.

    The class is part of the structure too. `jax.tree_util.register_dataclass` leaves it out when structures
    are compared (jax 0.10), so that two classes with fields alike can be taken for each other in the cache of
    compiled functions.
    """
    leaves = [one.name for one in fields(cls) if not one.metadata.get("static")]
    others = [one.name for one in fields(cls) if one.metadata.get("static")]
    keys = [jax.tree_util.GetAttrKey(name) for name in leaves]

    def structure(value: Any) -> tuple[Any, ...]:
        return (cls, *(getattr(value, name) for name in others))

    def flatten(value: Any) -> tuple[Any, Any]:
        return [getattr(value, name) for name in leaves], structure(value)

    def flatten_with_keys(value: Any) -> tuple[Any, Any]:
        return list(zip(keys, flatten(value)[0], strict=True)), structure(value)

    def unflatten(structure: tuple[Any, ...], children: Iterable[Any]) -> Any:
        named = dict(zip(others, structure[1:], strict=True))
        return cls(**dict(zip(leaves, children, strict=True)), **named)

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    if cls.__module__.startswith("superarm."):
        CLASSES[cls.__name__] = cls
    return cls


def static(**kwargs: Any) -> Any:
    """A dataclass field that is structure, not a leaf: changing it compiles anew."""
    return field(metadata={"static": True}, **kwargs)


def exported(package: str, names: Mapping[str, Any]) -> list[str]:
    """Return what a room's files export, by the names in its `__init__`: a part is named in its own file.

    The files say so by their `__all__`, and the `__init__` imports all of it.
    """
    inside = f"{package}."
    return sorted(
        name
        for name, value in names.items()
        if (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__.startswith(inside)
    )
