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
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

Number = float | int | np.number[Any] | np.ndarray[Any, Any]
# What an argument may be an argument of: a function, or the names themselves.
Names = Callable[..., Any] | Sequence[str]
P = ParamSpec("P")
R = TypeVar("R")


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


def one_of(where: str, name: str, value: Any, options: Sequence[str]) -> str:
    """Return `value`; it must be one of `options`."""
    if value not in options:
        must = f"{name} must be one of {_listed(options)}"
        raise ValueError(f"{where}: {must}, got {value!r}{hint(value, options)}")
    return str(value)


def hint(given: Any, known: Iterable[str]) -> str:
    """Return the end of a message: the known name that a misspelled one is closest to, or nothing.

    >>> hint("nois", ["radius", "noise"])
    "; did you mean 'noise'?"
    """
    close = difflib.get_close_matches(given, list(known), 1) if isinstance(given, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""


def named(function: Callable[P, R]) -> Callable[P, R]:
    """Answer a call with a misspelled argument in one sentence. For every function that users call.

    >>> @named
    ... def lin_ucb(*, noise=1.0): return noise
    >>> lin_ucb(nois=0.1)
    Traceback (most recent call last):
    TypeError: lin_ucb: an argument must be known by its name, got 'nois'; did you mean 'noise'?
    """
    return passes_to()(function)


def passes_to(*others: Names) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """As `named`, for a function whose `**settings` are arguments of `others`, to which it passes them on.

    A function that stands further down in the same file is given by its name.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        where = function.__name__ if function.__name__ != "__init__" else function.__qualname__.split(".")[0]

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TypeError:
                # Without this test of the names, an error from inside the function would be masked.
                if message := _misnamed(where.lower(), kwargs, (function, *_found(function, others))):
                    raise TypeError(message) from None
                raise

        return called

    return decorate


def _found(function: Callable[..., Any], others: Iterable[Names]) -> list[Names]:
    module = vars(sys.modules[function.__module__])
    return [module[one] if isinstance(one, str) else one for one in others]


def keywords(where: str, given: Iterable[str], *others: Names) -> None:
    """Refuse a name that is an argument of none of `others`, to which the arguments are passed on."""
    if message := _misnamed(where, given, others):
        raise TypeError(message)


def _misnamed(where: str, given: Iterable[str], others: Sequence[Names]) -> str:
    """Return what is wrong with the names given, or nothing.

    A function that passes its arguments on to functions that are not among `others` may have any.
    """
    if len(others) == 1 and callable(others[0]) and _passes_on(others[0]):
        return ""
    known = list(dict.fromkeys(name for one in others for name in _arguments(one)))
    for name in given:
        if name not in known:
            close = hint(name, known)
            must = "be known by its name" if close else f"be one of {_listed(known)}"
            return f"{where}: an argument must {must}, got {name!r}{close}"
    return ""


def _passes_on(function: Callable[..., Any]) -> bool:
    kinds = [one.kind for one in inspect.signature(function).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


def _arguments(names: Names) -> list[str]:
    if not callable(names):
        return list(names)
    parameters = inspect.signature(names).parameters.values()
    return [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]


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
