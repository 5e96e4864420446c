"""Policies as plain data: to and from JSON and TOML.

Two forms are read. By hand, one names a preset and its arguments,

    preset = "comb_lin_ucb"
    noise = 0.1
    oracle = { preset = "top_k", k = 3 }

and a policy is written down as its parts, `type` by `type`, which says all. No code is run from a file:
presets and types are looked up among superarm's own, and functions of the user among those that were given a
name by `register`.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import pkgutil
import tomllib
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import tomli_w

from superarm import checks
from superarm.contract import Chooser, Explorer, Model
from superarm.errors import ConfigError
from superarm.policies.anytime import Anytime
from superarm.policy import Policy
from superarm.precision import leaf
from superarm.pytree import CLASSES

LARGEST = 64 * 2**20  # bytes of a file: a path oracle over 10^6 edges has some 20 MB
MAX_WHOLE_NUMBER = 2**40  # a whole number: a horizon, say
DEEPEST = 32  # tables in tables; a policy's parts go about 8 deep
_KINDS = ("preset", "type", "function", "dtype")  # the word that says what a table is
Named = TypeVar("Named", bound=Callable[..., Any])
_FUNCTIONS: dict[str, Callable[..., Any]] = {}


@checks.named
def register(name: str, function: Named) -> Named:
    """Give a function of yours a name, so that policies which use it can be written down and read again.

    >>> def steepest(layers, contexts): return contexts @ layers
    >>> register("steepest", steepest) is steepest
    True
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"register: name must be a word, got {name!r}")
    if not callable(function):
        raise TypeError(f"register: function must be callable, got {type(function).__name__}")
    if _FUNCTIONS.setdefault(name, function) is not function:
        raise ValueError(f"register: name must be new, got {name!r}, which names another function")
    return function


@checks.named
def to_config(policy: Policy | Anytime) -> dict[str, Any]:
    """Return a policy as plain data: numbers, words, lists and tables.

    >>> import superarm
    >>> config = to_config(superarm.lin_ucb(radius=2.0))
    >>> config["explorer"]["radius"]["value"]
    2.0
    >>> from_config(config).name
    'lin_ucb'
    """
    plain: dict[str, Any] = _plain(policy, "policy")
    return plain


@checks.named
def from_config(config: Mapping[str, Any]) -> Policy | Anytime:
    """Return the policy that a configuration says; see `superarm.config` for its two forms.

    >>> policy = from_config({"preset": "comb_lin_ucb", "oracle": {"preset": "top_k", "k": 3}})
    >>> policy.chooser.size
    3
    """
    if not isinstance(config, Mapping):
        raise ConfigError(f"from_config: config must be a table, got {type(config).__name__}")
    policy = _made(config, "policy", True, 0)
    if not isinstance(policy, Anytime | Policy):
        raise ConfigError(f"from_config: config must say a policy, got {type(policy).__name__}")
    try:
        first = policy.epochs(1)[0].policy
        checks.part("policy", "model", first.model, Model)
        checks.part("policy", "explorer", first.explorer, Explorer)
        checks.part("policy", "chooser", first.chooser, Chooser)
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError(f"from_config: config must say a whole policy, got: {error}") from error
    return policy


@checks.named
def save_policy(policy: Policy | Anytime, path: str | Path) -> Path:
    """Write a policy to a .toml or .json file."""
    target = Path(path)
    config = to_config(policy)
    text = tomli_w.dumps(config) if _is_toml(target) else json.dumps(config, indent=1) + "\n"
    target.write_text(text, encoding="utf-8")
    return target


@checks.named
def load_policy(path: str | Path) -> Policy | Anytime:
    """Read a policy from a .toml or .json file."""
    return from_config(read_config(path))


@checks.named
def read_config(path: str | Path) -> dict[str, Any]:
    """Return the plain data of a .toml or .json file."""
    source = Path(path)
    toml = _is_toml(source)
    if not source.is_file():
        raise ConfigError(f"{source}: there is no such file")
    if source.stat().st_size > LARGEST:
        raise ConfigError(f"{source.name}: must be at most {LARGEST} bytes, got {source.stat().st_size}")
    try:
        text = source.read_text(encoding="utf-8")
        config = tomllib.loads(text) if toml else json.loads(text)
    except (ValueError, RecursionError) as error:  # the decoders' errors are ValueErrors
        raise ConfigError(f"{source.name}: must be {'TOML' if toml else 'JSON'}, got: {error}") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{source.name}: must be a table, got {type(config).__name__}")
    return config


def _is_toml(path: Path) -> bool:
    if path.suffix not in (".toml", ".json"):
        raise ConfigError(f"{path.name}: must end in .toml or .json, got {path.suffix or 'no suffix'}")
    return path.suffix == ".toml"


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, Anytime):
        if value.recipe is None:
            raise ConfigError(f"{where}: must be a preset to be written down, got functions of yours")
        return {name: _plain(one, f"{where}.{name}") for name, one in value.recipe.items() if one is not None}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain_parts(value, where)
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.ndarray | np.number | np.bool_):
        return _plain_number(np.asarray(value))
    if isinstance(value, tuple | list):
        return [_plain(one, f"{where}[{index}]") for index, one in enumerate(value)]
    if callable(value):
        for name, known in _FUNCTIONS.items():
            if known is value:
                return {"function": name}
        advice = "name it with superarm.config.register"
        raise ConfigError(f"{where}: a function must have a name to be written down, got {value!r}; {advice}")
    raise ConfigError(f"{where}: must be plain data, got {type(value).__name__}")


def _plain_parts(value: Any, where: str) -> dict[str, Any]:
    name = type(value).__name__
    if CLASSES.get(name) is not type(value):
        raise ConfigError(f"{where}: must be a part of superarm, got the class {name}")
    parts = {one.name: getattr(value, one.name) for one in dataclasses.fields(CLASSES[name])}
    # What is None is left out: TOML has no word for it.
    return {"type": name} | {
        key: _plain(part, f"{where}.{key}") for key, part in parts.items() if part is not None
    }


def _plain_number(array: np.ndarray[Any, Any]) -> Any:
    if array.ndim == 0 and array.dtype == np.float64 and math.isfinite(array):
        return float(array)
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        words = [str(one) for one in array.ravel()]  # JSON has no word for infinity
        return {"dtype": str(array.dtype), "words": words, "shape": [*array.shape]}
    return {"dtype": str(array.dtype), "values": array.ravel().tolist(), "shape": [*array.shape]}


def _made(value: Any, where: str, is_leaf: bool, depth: int) -> Any:
    """Return what plain data says; numbers of fields that JAX traces become arrays."""
    if depth > DEEPEST:
        raise ConfigError(f"{where}: tables must be at most {DEEPEST} deep, got more")
    if isinstance(value, Mapping):
        return _made_table(value, where, depth)
    if isinstance(value, list):
        return tuple(_made(one, f"{where}[{index}]", is_leaf, depth + 1) for index, one in enumerate(value))
    if isinstance(value, int) and abs(value) > MAX_WHOLE_NUMBER:
        raise ConfigError(f"{where}: whole numbers must lie within +-{MAX_WHOLE_NUMBER}, got more")
    if isinstance(value, float) or (is_leaf and isinstance(value, int) and not isinstance(value, bool)):
        return leaf(value) if is_leaf else value
    if isinstance(value, bool | int | str):
        return value
    raise ConfigError(f"{where}: must be a number, a word, a list or a table, got {type(value).__name__}")


def _made_table(value: Mapping[str, Any], where: str, depth: int) -> Any:
    kinds = [kind for kind in _KINDS if kind in value]
    if len(kinds) != 1:
        must = f"must have one of the words {', '.join(_KINDS)}"
        close = next(filter(None, (checks.hint(key, _KINDS) for key in value if key not in _KINDS)), "")
        raise ConfigError(f"{where}: {must}, got {', '.join(kinds) or 'none'}{close}")
    kind, name = kinds[0], value[kinds[0]]
    if not isinstance(name, str):
        raise ConfigError(f"{where}: {kind} must be a word, got {type(name).__name__}")
    rest = {key: one for key, one in value.items() if key != kind}
    if kind == "dtype":
        return _array(name, rest, where)
    if kind == "function":
        if rest or name not in _FUNCTIONS:
            must = "must be a name given by superarm.config.register"
            raise ConfigError(f"{where}: function {must}, got {name!r}{checks.hint(name, _FUNCTIONS)}")
        return _FUNCTIONS[name]
    if kind == "type":
        return _typed(name, rest, where, depth)
    return _called(name, rest, where, depth)


def _array(dtype: str, rest: dict[str, Any], where: str) -> Any:
    words = rest.get("words", rest.get("values"))
    known = ("float64", "float32", "int64", "int32", "bool")
    try:
        if dtype not in known:
            raise ValueError(f"dtype must be one of {', '.join(known)}, got {dtype!r}")
        if not isinstance(words, list) or len(rest) != 2:
            raise ValueError("must have dtype, shape, and values or words")
        return np.array(words, dtype).reshape(tuple(rest["shape"]))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"{where}: must be an array of {dtype}, got: {error}") from error


def _typed(name: str, rest: dict[str, Any], where: str, depth: int) -> Any:
    if name not in CLASSES:
        _import_parts()
    if name not in CLASSES:
        close = checks.hint(name, CLASSES)
        raise ConfigError(f"{where}: type must be a part of superarm, got {name!r}{close}")
    cls = CLASSES[name]
    fields = {one.name: one for one in dataclasses.fields(cls)}
    _refuse_unknown(where, rest, fields)
    made = {
        key: _made(one, f"{where}.{key}", not fields[key].metadata.get("static"), depth + 1)
        for key, one in rest.items()
    }
    try:
        return cls(**dict.fromkeys(fields) | made)  # None is left out when a part is written
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        raise ConfigError(f"{where}: must be a {name}, got: {error}") from error


def _import_parts() -> None:
    """Import all parts of superarm, since a class is known by its name once its file is imported."""
    for room in ("widths", "models", "explorers", "choosers", "choosers.oracles", "schedules", "policies"):
        package = import_module(f"superarm.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)


def _called(name: str, rest: dict[str, Any], where: str, depth: int) -> Any:
    presets = _presets()
    if name not in presets:
        close = checks.hint(name, presets)
        raise ConfigError(f"{where}: preset must be a factory of superarm, got {name!r}{close}")
    made = {key: _made(one, f"{where}.{key}", False, depth + 1) for key, one in rest.items()}
    try:
        return presets[name](**made)
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError) as error:  # their own words
        raise ConfigError(f"{where}: {error}") from error


def _presets() -> dict[str, Callable[..., Any]]:
    """What a configuration may call: the factories of policies, oracles, explorers, models and networks."""
    from superarm import explorers, models, policies
    from superarm.choosers import oracles
    from superarm.models.factory import neural
    from superarm.policies.combine import combine

    rooms = (vars(policies), vars(oracles), vars(explorers))
    named = {name: room[name] for room in rooms for name in room["__all__"]}
    factories = ("glm", "network", "perceptron", "shallow_model")
    named |= {name: getattr(models, name) for name in factories}
    named |= {"neural": neural, "combine": combine}
    return {name: one for name, one in named.items() if inspect.isfunction(one)}


def _refuse_unknown(where: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    if unknown := [key for key in given if key not in known]:
        close = checks.hint(unknown[0], known)
        raise ConfigError(f"{where}: must have only {', '.join(known)}, got {', '.join(unknown)}{close}")


checks.public(__name__)
