"""Decisions that wait for feedback as a few arrays, however many wait, and back; memos by name.

A name and a shape for each of ten thousand decisions would make the header of a state file the largest part
of it. So all that decisions of one kind have is stacked.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from superarm.agent import inspection
from superarm.agent.learner import EpochRun, Learner
from superarm.agent.selection import Pending
from superarm.errors import StoreError
from superarm.features.tables import Id, id_of

NDArray = np.ndarray[Any, Any]
MAX_IDS = 2**20  # bytes of the ids of one decision


def pending_arrays(waiting: Mapping[int, Pending]) -> dict[str, NDArray]:
    """The arrays of decisions by number, in order."""
    if not waiting:
        return {}
    rows = list(waiting.values())
    arrays = {
        "pending.number": np.array(list(waiting), np.int64),
        "pending.time": np.array([row.time for row in rows], np.float64),
        "pending.epoch": np.array([row.epoch for row in rows], np.int64),
        "pending.ids": ids_array(row.ids for row in rows),
        "pending.items": np.stack([row.items for row in rows]),
        "pending.features": np.stack([row.features for row in rows]),
        "pending.seen": np.stack([row.seen for row in rows]),
    }
    newest = max(row.epoch for row in rows)  # the memo of another epoch's policy is not used any more
    memos = [memo_arrays(row.memo, "pending.memo") if row.epoch == newest else {} for row in rows]
    with_memo = [index for index, memo in enumerate(memos) if memo]
    if with_memo:
        arrays["pending.remembered"] = np.array(with_memo, np.int64)
        for name in memos[with_memo[0]]:
            arrays[name] = np.stack([memos[index][name] for index in with_memo])
    return arrays


def pending_of(learner: Learner, arrays: Mapping[str, NDArray]) -> OrderedDict[int, Pending]:
    """The decisions of `pending_arrays`."""
    waiting: OrderedDict[int, Pending] = OrderedDict()
    if "pending.number" not in arrays:
        return waiting
    numbers = arrays["pending.number"].tolist()
    ids = ids_in(arrays["pending.ids"], len(numbers))
    with_memo = arrays.get("pending.remembered", np.zeros(0)).tolist()
    remembered = {index: row for row, index in enumerate(with_memo)}
    for index, number in enumerate(numbers):
        epoch, memo = int(arrays["pending.epoch"][index]), ()
        if index in remembered and epoch == learner.number:
            memo = memo_of(learner, learner.run, arrays, "pending.memo", remembered[index])
        waiting[number] = Pending(
            ids=ids[index],
            items=arrays["pending.items"][index],
            features=arrays["pending.features"][index],
            seen=arrays["pending.seen"][index].copy(),
            memo=memo,
            time=float(arrays["pending.time"][index]),
            epoch=epoch,
        )
    return waiting


def ids_array(rows: Iterable[tuple[Id, ...]]) -> NDArray:
    """The ids of several decisions as bytes: a line of JSON each."""
    return np.frombuffer("\n".join(json.dumps(row) for row in rows).encode(), np.uint8)


def ids_in(array: NDArray, count: int) -> list[tuple[Id, ...]]:
    """The ids of `count` decisions."""
    lines = array.tobytes().split(b"\n")
    if len(lines) != count or max(map(len, lines)) > MAX_IDS:
        raise StoreError("state file: is damaged: the ids of decisions that wait cannot be read")
    return [tuple(id_of("state file", one) for one in json.loads(line)) for line in lines]


def memo_arrays(memo: Any, prefix: str) -> dict[str, NDArray]:
    """Return the arrays of a memo, by name."""
    leaves = jax.tree_util.tree_leaves_with_path(memo)
    return {f"{prefix}{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}


def memo_of(
    learner: Learner, run: EpochRun, arrays: Mapping[str, NDArray], prefix: str, row: int | None = None
) -> Any:
    """Return the memo of a decision from its arrays, or from a row of them, as the policy made it."""
    if run.memo is None:  # a trace takes milliseconds, and thousands of decisions may wait
        run.memo = inspection.blank_memo(run.policy, replace(learner.spec, capacity=run.capacity))
    leaves, structure = jax.tree_util.tree_flatten_with_path(run.memo)
    named = [arrays[f"{prefix}{jax.tree_util.keystr(path)}"] for path, _ in leaves]
    return jax.tree.unflatten(structure, named if row is None else [array[row] for array in named])
