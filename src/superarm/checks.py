"""The one place that words argument errors: what must hold, what was got, and where.

ValueError for values, TypeError for types; every message reads `where: name must be ..., got ...`.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, ParamSpec, TypeVar, get_args, is_typeddict

import numpy as np

Number = float | int | np.number[Any] | np.ndarray[Any, Any]
# What an argument may be an argument of: a function, a `TypedDict` of settings, or the names themselves.
Names = Callable[..., Any] | type[Any] | Sequence[str]
P = ParamSpec("P")
R = TypeVar("R")
Cls = TypeVar("Cls", bound=type)
Word = TypeVar("Word", bound=str)


def positive(where: str, name: str, value: Number) -> Any:
    """Return `value` as a float64 leaf; every entry must be finite and > 0."""
    array = real(where, name, value)
    if not np.all(array > 0):
        raise ValueError(f"{where}: {name} must be > 0, got {_show(value)}")
    return array


def nonnegative(where: str, name: str, value: Number) -> Any:
    """Return `value` as a float64 leaf; every entry must be finite and >= 0."""
    array = real(where, name, value)
    if not np.all(array >= 0):
        raise ValueError(f"{where}: {name} must be >= 0, got {_show(value)}")
    return array


def between(where: str, name: str, value: Number, low: float, high: float) -> Any:
    """Return `value` as a float64 leaf; every entry must lie in [low, high]."""
    array = real(where, name, value)
    if not np.all((array >= low) & (array <= high)):
        raise ValueError(f"{where}: {name} must be between {low:g} and {high:g}, got {_show(value)}")
    return array


def real(where: str, name: str, value: Any) -> Any:
    """Return `value` as a float64 leaf; it must be a finite number, or an array of them for a grid."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number | np.ndarray):
        raise TypeError(f"{where}: {name} must be a number, got {type(value).__name__}")
    if np.iscomplexobj(value):
        raise TypeError(f"{where}: {name} must be real, got dtype {np.asarray(value).dtype}")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where}: {name} must be numbers, got dtype {np.asarray(value).dtype}") from error
    except OverflowError as error:
        raise ValueError(f"{where}: {name} must be finite, got more than a float holds") from error
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{where}: {name} must be finite, got {_show(value)}")
    return array


def count(where: str, name: str, value: Any, low: int = 1) -> int:
    """Return `value` as an int; it must be a whole number >= low."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{where}: {name} must be a whole number, got {type(value).__name__}")
    if value < low:
        raise ValueError(f"{where}: {name} must be >= {low}, got {value}")
    return int(value)


def one_of(where: str, name: str, value: Any, options: Sequence[Word]) -> Word:
    """Return `value`; it must be one of `options`."""
    if value not in options:
        must = f"{name} must be one of {_listed(options)}"
        raise ValueError(f"{where}: {must}, got {value!r}{hint(value, options)}")
    word: Word = str(value)  # type: ignore[assignment]  # it is one of them
    return word


def hint(given: Any, known: Iterable[str]) -> str:
    """Return the end of a message: the known name that a misspelled one is closest to, or nothing.

    >>> hint("nois", ["radius", "noise"])
    "; did you mean 'noise'?"
    """
    close = difflib.get_close_matches(given, list(known), 1) if isinstance(given, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""


def named(function: Callable[P, R]) -> Callable[P, R]:
    """Answer a call with a misspelled argument in one sentence. For every function that users call.

    Of a function with `**settings: Unpack[Settings]` the keys of that `TypedDict` are known, too.

    >>> @named
    ... def lin_ucb(*, noise=1.0): return noise
    >>> lin_ucb(nois=0.1)
    Traceback (most recent call last):
    TypeError: lin_ucb: an argument must be known by its name, got 'nois'; did you mean 'noise'?
    """
    where = function.__name__ if function.__name__ != "__init__" else function.__qualname__.split(".")[-2]

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            # Without this test of the names, an error from inside the function would be masked.
            if message := _misnamed(where.lower(), kwargs, [function, *unpacked(function).values()]):
                raise TypeError(message) from None
            raise

    return called


def unpacked(function: Callable[..., Any]) -> dict[str, type[Any]]:
    """Return what a function's `**settings` may be: their name -> the `TypedDict`, if it says one.

    >>> import superarm
    >>> sorted(unpacked(superarm.logistic_ts)["fitting"].__annotations__)
    ['learn_every', 'memory', 'memory_size', 'penalty', 'steps', 'tolerance']
    """
    true = inspect.unwrap(function)
    for one in inspect.signature(true).parameters.values():
        if one.kind is one.VAR_KEYWORD and (found := _unpacked(one.annotation, true.__globals__)):
            return {one.name: found}
    return {}


def _unpacked(annotation: Any, names: Mapping[str, Any]) -> type[Any] | None:
    """The class in `Unpack[...]`, which is a word where annotations are not evaluated."""
    if isinstance(annotation, str):
        inside = annotation.removeprefix("Unpack[").removesuffix("]")
        return names.get(inside) if inside != annotation else None
    found = get_args(annotation)
    return found[0] if found and is_typeddict(found[0]) else None


def warn(message: str, kind: type[Warning] = RuntimeWarning) -> None:
    """Warn of something, at the line that called superarm: whatever stands between belongs to superarm."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("superarm."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


def named_fields(cls: Cls) -> Cls:
    """As `named`, for a dataclass that users make."""
    type.__setattr__(cls, "__init__", named(vars(cls)["__init__"]))
    return cls


def public(module: str) -> None:
    """Let a module show its public names alone, and answer a misspelled one by the closest. Its last line.

    Public is what its `__all__` says, or what is made in it. Type checkers do not see this: to them, a module
    that answers has every name.
    """
    inside = vars(sys.modules[module])

    def names() -> list[str]:
        made = (name for name, value in inside.items() if _made_in(module, name, value))
        return sorted(inside.get("__all__") or made)

    def answer(name: str) -> Any:
        close = "" if name.startswith("_") else hint(name, names())
        raise AttributeError(f"module {module!r} has no attribute {name!r}{close}")

    inside.update(__dir__=names, __getattr__=answer)


class _Moved(ModuleType):
    """A module that has the name of a function of before."""

    def __call__(self, *_: Any, **__: Any) -> None:
        """Say what the function is called now."""
        must = f"a function must be called, got a module; did you mean {self.__now__!r}?"
        raise TypeError(f"{self.__name__}: {must}")


def moved(module: str, now: str) -> None:
    """Let a module say what a function of its name is called now."""
    inside = sys.modules[module]
    inside.__class__ = _Moved
    vars(inside)["__now__"] = now


def _made_in(module: str, name: str, value: Any) -> bool:
    """Whether a module has made a public name, and not imported it."""
    return name[0] != "_" and not inspect.ismodule(value) and getattr(value, "__module__", module) == module


def keywords(where: str, given: Iterable[str], *others: Names) -> None:
    """Refuse a name that is an argument of none of `others`, to which the arguments are passed on."""
    if message := _misnamed(where, given, others):
        raise TypeError(message)


def _misnamed(where: str, given: Iterable[str], others: Sequence[Names]) -> str:
    """Return what is wrong with the names given, or nothing.

    A function that passes its arguments on to functions that are not among `others` may have any.
    """
    if len(others) == 1 and _takes_any(others[0]):
        return ""
    known = list(dict.fromkeys(name for one in others for name in _arguments(one)))
    for name in given:
        if name not in known:
            close = hint(name, known)
            must = "be known by its name" if close else f"be one of {_listed(known)}"
            return f"{where}: an argument must {must}, got {name!r}{close}"
    return ""


def _takes_any(names: Names) -> bool:
    if is_typeddict(names) or not callable(names):
        return False
    kinds = [one.kind for one in inspect.signature(names).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


def _arguments(names: Names) -> list[str]:
    if is_typeddict(names):
        return list(names.__annotations__)
    if not callable(names):
        return list(names)
    parameters = inspect.signature(names).parameters.values()
    named = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    return named[1:] if named[:1] in (["self"], ["cls"]) else named


def _listed(options: Iterable[str]) -> str:
    return ", ".join(repr(option) for option in options)


def has(where: str, name: str, value: Any, methods: Sequence[str]) -> Any:
    """Return `value`; it must offer all `methods` of its part's protocol."""
    missing = [method for method in methods if not hasattr(value, method)]
    if missing or isinstance(value, type):
        got = f"the class {value.__name__} itself" if isinstance(value, type) else type(value).__name__
        raise TypeError(f"{where}: {name} must have {', '.join(methods)}, got {got}")
    return value


def part(where: str, name: str, value: Any, kind: type[Any]) -> Any:
    """Return `value`; it must extend a class of `superarm.contract`."""
    if not isinstance(value, kind):
        got = f"the class {value.__name__} itself" if isinstance(value, type) else type(value).__name__
        if inspect.isfunction(value):
            got = f"the function {value.__name__}; call it"
        raise TypeError(f"{where}: {name} must extend superarm.contract.{kind.__name__}, got {got}")
    return value


def installed(where: str, package: str) -> Any:
    """Return a package that a light installation leaves out; it must be installed."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        must = f"the package {package} must be installed, got none"
        raise ModuleNotFoundError(f"{where}: {must}; run `pip install {package}`", name=package) from None


def matrix(where: str, name: str, value: Any, shape: tuple[int | None, ...]) -> Any:
    """Return `value` as a finite float64 array of `shape`, where None fits any length."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "fiubO":  # complex numbers would lose a part, words and dates their meaning
            raise TypeError(str(raw.dtype))
        array = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{where}: {name} must be an array of numbers, got {type(value).__name__}") from error
    fits = len(array.shape) == len(shape) and all(
        want is None or want == got for want, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        names = ["any" if want is None else str(want) for want in shape]
        wanted = f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"
        raise ValueError(f"{where}: {name} must have shape {wanted}, got {array.shape}")
    if not np.all(np.isfinite(array)):
        where_bad = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{where}: {name} must be finite, got {array[where_bad]} at {where_bad}")
    return array


def indices(where: str, name: str, value: Any, length: int | None = None, below: int | None = None) -> Any:
    """Return `value` as an int32 array (length,); every entry must be a whole number >= 0, and < below."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{where}: {name} must be whole numbers, got dtype {array.dtype}")
    if array.ndim != 1 or (length is not None and array.size != length):
        raise ValueError(f"{where}: {name} must have shape ({length or 'any'},), got {array.shape}")
    high = np.iinfo(np.int32).max if below is None else below - 1
    bad = np.flatnonzero((array < 0) | (array > high))
    if bad.size:
        must = f"{name} must be between 0 and {high}"
        raise ValueError(f"{where}: {must}, got {array[bad[0]]} at {bad[0]}")
    return array.astype(np.int32)


def flags(where: str, name: str, value: Any, shape: tuple[int, ...]) -> Any:
    """Return `value` as a bool array of `shape`; every entry must be True or False, or 1 or 0."""
    array = np.asarray(value)
    if array.shape != shape:
        raise ValueError(f"{where}: {name} must have shape {shape}, got {array.shape}")
    if array.dtype.kind not in "biuf" or not np.all((array == 0) | (array == 1)):
        raise TypeError(f"{where}: {name} must be True or False everywhere, got dtype {array.dtype}")
    return array.astype(bool)


def chances(where: str, name: str, value: Any, *, used: Any = None, positive: bool = False) -> Any:
    """Return `value` as float64; every entry must be a probability, > 0 if `positive`, where `used` is True.

    Entries that are not used become 1.
    """
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where}: {name} must be an array of numbers, got {type(value).__name__}") from error
    if used is not None:
        if array.shape != used.shape:
            raise ValueError(f"{where}: {name} must have shape {used.shape}, got {array.shape}")
        array[~used] = 1.0
    sound = (array > 0 if positive else array >= 0) & (array <= 1)  # False where it is NaN
    if not np.all(sound):
        must = "> 0 and at most 1" if positive else "between 0 and 1"
        index = np.argwhere(~sound)[0].tolist()
        raise ValueError(f"{where}: {name} must be {must}, got {array[tuple(index)]:g} at {place(index)}")
    return array


def place(index: Sequence[int]) -> str:
    """Write where in an array something is: `3`, or `(3, 1)`."""
    return str(index[0]) if len(index) == 1 else str(tuple(index))


def _show(value: Number) -> str:
    if isinstance(value, np.ndarray) and value.ndim > 0:
        return f"values from {np.min(value):g} to {np.max(value):g}"
    number = float(value)
    return str(value) if math.isfinite(number) else f"{number}"
