"""All that an agent knows, as arrays and plain data, and back."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import jax
import numpy as np

from superarm import checks
from superarm.agent import inspection
from superarm.agent.learner import Core, Era
from superarm.agent.selection import Pending
from superarm.agent.state import Book
from superarm.config import from_config, to_config
from superarm.errors import ConfigError, StoreError

NDArray = np.ndarray[Any, Any]


def snapshot(book: Book) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Return the arrays and the plain data of a book."""
    core = book.core
    content = {
        "policy": _config(book.policy),
        "name": book.policy.name,
        "settings": asdict(book.settings),
        "num_arms": book.arms.fixed,
        "places": list(book.arms.places),
        "columns": book.arms.columns,
        "expired": book.expired,
        "repeated": book.repeated,
        "updates": book.updates,
        "dim": None if core is None else core.spec.dim,
        "counts": None if core is None else core.counts(),
        "pending": [
            {"number": number, "ids": one.ids, "time": one.time, "epoch": one.epoch}
            for number, one in book.waiting.items()
        ],
    }
    arrays = {} if core is None else core.arrays()
    if book.arms.features is not None:
        arrays["arms.places"], arrays["arms.features"] = book.arms.remembered()
    waiting = list(book.waiting.values())
    if waiting:
        for name in ("items", "features", "seen"):
            arrays[f"pending.{name}"] = np.stack([getattr(one, name) for one in waiting])
        for number, one in enumerate(waiting):
            arrays |= memo_arrays(one.memo, f"pending.memo.{number}")
    return arrays, content


def restored(arrays: dict[str, NDArray], content: dict[str, Any], *, policy: Any) -> Book:
    """Return the book of a snapshot."""
    try:
        return _restored(arrays, content, policy)
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise StoreError(f"state file: is damaged, or no state of an agent ({error!r})") from error


def _restored(arrays: dict[str, NDArray], content: dict[str, Any], policy: Any) -> Book:
    if policy is None:
        if content["policy"] is None:
            must = f"policy must be given to load {content['name']}, which has functions without a name"
            raise StoreError(f"state file: {must}, got None")
        policy = from_config(content["policy"])
    elif policy.name != content["name"]:
        raise StoreError(f"state file: is of another policy, {content['name']}, got {policy.name}")
    elif content["policy"] is not None and _config(policy) not in (None, content["policy"]):
        raise StoreError(f"state file: is of another {policy.name}, with other settings than those given")
    book = Book("state file", policy, content["num_arms"], content["settings"])
    book.arms.places = {name: place for place, name in enumerate(content["places"])}
    book.arms.columns = None if content["columns"] is None else tuple(content["columns"])
    book.expired, book.repeated, book.updates = (
        checks.count("state file", name, content[name], low=0) for name in ("expired", "repeated", "updates")
    )
    if "arms.places" in arrays:
        book.arms.remember(arrays["arms.places"], arrays["arms.features"])
    if content["dim"] is None:
        return book
    core = book.started(content["dim"])
    core.restore(arrays, content["counts"])
    for index, one in enumerate(content["pending"]):
        book.waiting[one["number"]] = Pending(
            ids=tuple(one["ids"]),
            items=arrays["pending.items"][index],
            features=arrays["pending.features"][index],
            seen=arrays["pending.seen"][index].copy(),
            # That of another epoch's policy is not used any more.
            memo=memo_of(core, core.era, arrays, f"pending.memo.{index}")
            if one["epoch"] == core.number
            else (),
            time=one["time"],
            epoch=one["epoch"],
        )
    return book


def _config(policy: Any) -> Any:
    """The policy as plain data; None for functions of the user's without a name, who must bring it."""
    try:
        return to_config(policy)
    except ConfigError:
        return None


def memo_arrays(memo: Any, prefix: str) -> dict[str, NDArray]:
    """Return the arrays of a memo, by name."""
    leaves = jax.tree_util.tree_leaves_with_path(memo)
    return {f"{prefix}{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}


def memo_of(core: Core, era: Era, arrays: dict[str, NDArray], prefix: str) -> Any:
    """Return the memo of a decision from its arrays, as the policy of an epoch made it."""
    if era.memo is None:  # a trace takes milliseconds, and thousands of decisions may wait
        era.memo = inspection.blank_memo(era.policy, replace(core.spec, capacity=era.capacity))
    leaves, structure = jax.tree_util.tree_flatten_with_path(era.memo)
    named = [arrays[f"{prefix}{jax.tree_util.keystr(path)}"] for path, _ in leaves]
    return jax.tree.unflatten(structure, named)
