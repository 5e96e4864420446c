"""All that an agent knows, as arrays and plain data, and back."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import jax
import numpy as np

from superarm import checks
from superarm.agent import inspection
from superarm.agent.learner import EpochRun, Learner
from superarm.agent.selection import Pending
from superarm.agent.state import AgentState
from superarm.config import from_config, to_config
from superarm.errors import ConfigError, StoreError

NDArray = np.ndarray[Any, Any]


def snapshot(state: AgentState) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Return the arrays and the plain data of a state."""
    learner = state.learner
    content = {
        "policy": _config(state.policy),
        "name": state.policy.name,
        "settings": asdict(state.settings),
        "num_arms": state.arms.fixed,
        "places": list(state.arms.places),
        "columns": state.arms.columns,
        "expired": state.expired,
        "repeated": state.repeated,
        "updates": state.updates,
        "dim": None if learner is None else learner.spec.dim,
        "counts": None if learner is None else learner.counts(),
        "pending": [
            {"number": number, "ids": pending.ids, "time": pending.time, "epoch": pending.epoch}
            for number, pending in state.waiting.items()
        ],
    }
    arrays = {} if learner is None else learner.arrays()
    if state.arms.features is not None:
        arrays["arms.places"], arrays["arms.features"] = state.arms.remembered()
    waiting = list(state.waiting.values())
    if waiting:
        for name in ("items", "features", "seen"):
            arrays[f"pending.{name}"] = np.stack([getattr(pending, name) for pending in waiting])
        for number, pending in enumerate(waiting):
            arrays |= memo_arrays(pending.memo, f"pending.memo.{number}")
    return arrays, content


def restored(arrays: dict[str, NDArray], content: dict[str, Any], *, policy: Any) -> AgentState:
    """Return the state of a snapshot."""
    try:
        return _restored(arrays, content, policy)
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise StoreError(f"state file: is damaged, or no state of an agent ({error!r})") from error


def _restored(arrays: dict[str, NDArray], content: dict[str, Any], policy: Any) -> AgentState:
    if policy is None:
        if content["policy"] is None:
            must = f"policy must be given to load {content['name']}, which has functions without a name"
            raise StoreError(f"state file: {must}, got None")
        policy = from_config(content["policy"])
    elif policy.name != content["name"]:
        raise StoreError(f"state file: is of another policy, {content['name']}, got {policy.name}")
    elif content["policy"] is not None and _config(policy) not in (None, content["policy"]):
        raise StoreError(f"state file: is of another {policy.name}, with other settings than those given")
    state = AgentState("state file", policy, content["num_arms"], content["settings"])
    state.arms.places = {name: place for place, name in enumerate(content["places"])}
    state.arms.columns = None if content["columns"] is None else tuple(content["columns"])
    state.expired, state.repeated, state.updates = (
        checks.count("state file", name, content[name], low=0) for name in ("expired", "repeated", "updates")
    )
    if "arms.places" in arrays:
        state.arms.remember(arrays["arms.places"], arrays["arms.features"])
    if content["dim"] is None:
        return state
    learner = state.started(content["dim"])
    learner.restore(arrays, content["counts"])
    for index, pending in enumerate(content["pending"]):
        state.waiting[pending["number"]] = Pending(
            ids=tuple(pending["ids"]),
            items=arrays["pending.items"][index],
            features=arrays["pending.features"][index],
            seen=arrays["pending.seen"][index].copy(),
            # That of another epoch's policy is not used any more.
            memo=memo_of(learner, learner.run, arrays, f"pending.memo.{index}")
            if pending["epoch"] == learner.number
            else (),
            time=pending["time"],
            epoch=pending["epoch"],
        )
    return state


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


def memo_of(learner: Learner, run: EpochRun, arrays: dict[str, NDArray], prefix: str) -> Any:
    """Return the memo of a decision from its arrays, as the policy of an epoch made it."""
    if run.memo is None:  # a trace takes milliseconds, and thousands of decisions may wait
        run.memo = inspection.blank_memo(run.policy, replace(learner.spec, capacity=run.capacity))
    leaves, structure = jax.tree_util.tree_flatten_with_path(run.memo)
    named = [arrays[f"{prefix}{jax.tree_util.keystr(path)}"] for path, _ in leaves]
    return jax.tree.unflatten(structure, named)
