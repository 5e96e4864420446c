"""Frozen dataclasses as JAX pytrees: `pytree` registers a class, `static` marks what is structure.

Open it to see what becomes an array, what compiles anew, and how a configuration finds a class by its name.
An `attribute` is a property of an abstract class that a dataclass may make a field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, TypeVar

import jax

from superarm import checks

Cls = TypeVar("Cls", bound=type)

CLASSES: dict[str, Any] = {}  # superarm's own parts by name, for configurations


def pytree(cls: Cls) -> Cls:
    """Register a frozen dataclass with JAX; fields marked `static()` become part of its structure.

    The class is part of the structure too. `jax.tree_util.register_dataclass` leaves it out when structures
    are compared (jax 0.10), so that two classes with fields alike can be taken for each other in the cache of
    compiled functions.

    JAX rebuilds values from leaves that are anything: `__init__` and `__post_init__` are not run for it, and
    may check what they are given.
    """
    leaves = [one.name for one in fields(cls) if not one.metadata.get("static")]
    others = [one.name for one in fields(cls) if one.metadata.get("static")]
    words = [name for name in leaves if isinstance(cls.__dict__.get(name), str)]
    if words:  # JAX would say so at the first compilation, without the name
        must = f"{words[0]} must be static(), or stand without an annotation"
        raise TypeError(f"{cls.__name__}: {must}, got a word as the default of a leaf")
    keys = [jax.tree_util.GetAttrKey(name) for name in leaves]

    def structure(value: Any) -> tuple[Any, ...]:
        return (cls, *(getattr(value, name) for name in others))

    def flatten(value: Any) -> tuple[Any, Any]:
        return [getattr(value, name) for name in leaves], structure(value)

    def flatten_with_keys(value: Any) -> tuple[Any, Any]:
        return list(zip(keys, flatten(value)[0], strict=True)), structure(value)

    def unflatten(structure: tuple[Any, ...], children: Iterable[Any]) -> Any:
        value: Any = object.__new__(cls)
        for name, child in zip(leaves, children, strict=True):
            object.__setattr__(value, name, child)
        for name, fixed in zip(others, structure[1:], strict=True):
            object.__setattr__(value, name, fixed)
        return value

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    if cls.__module__.startswith("superarm."):
        CLASSES[cls.__name__] = cls
    return checks.named_fields(cls) if "__init__" in vars(cls) else cls


def static(**kwargs: Any) -> Any:
    """A dataclass field that is structure, not a leaf: changing it compiles anew."""
    return field(metadata={"static": True}, **kwargs)


if TYPE_CHECKING:
    attribute = property  # to a type checker
else:

    class attribute:  # noqa: N801 (a decorator)
        """A property of an abstract class in place of which a subclass may have a field.

        A dataclass would take a `property` for the field's default, and could not set the field.
        """

        def __init__(self, answer: Callable[[Any], Any]) -> None:
            """Answer where there is no field; a class that must have one cannot be built without."""
            self.answer, self.__doc__ = answer, answer.__doc__
            self.__isabstractmethod__ = vars(answer).get("__isabstractmethod__", False)

        def __set_name__(self, owner: type, name: str) -> None:
            """Note the class, and the name in it."""
            self.owner, self.name = owner, name

        def __get__(self, part: Any, kind: type) -> Any:
            """The answer of a part; of a class, this, or nothing where it has a field of the name."""
            if part is not None:
                return self.answer(part)
            below = kind.__mro__[: kind.__mro__.index(self.owner)]
            if any(self.name in inspect.get_annotations(cls) for cls in below):
                raise AttributeError(self.name)  # a field without a default
            return self


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
