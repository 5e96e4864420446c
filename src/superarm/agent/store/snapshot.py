"""All that an agent knows, as arrays and plain data, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from superarm import checks
from superarm.agent.state import AgentState, agent_id, form_of
from superarm.agent.store.pending import pending_arrays, pending_of
from superarm.config import from_config, to_config
from superarm.errors import ConfigError, StoreError

NDArray = np.ndarray[Any, Any]


def snapshot(state: AgentState) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Return the arrays and the plain data of a state."""
    learner = state.learner
    content = {
        "agent": state.agent,
        "policy": _config(state.policy),
        "name": state.policy.name,
        "settings": asdict(state.settings),
        "num_arms": state.arms.fixed,
        "places": list(state.arms.places),
        "columns": state.arms.columns,
        "form": state.form,
        "expired": state.expired,
        "repeated": state.repeated,
        "updates": state.updates,
        "dim": None if learner is None else learner.spec.dim,
        "counts": None if learner is None else learner.counts(),
    }
    arrays = {} if learner is None else learner.arrays()
    if state.arms.features is not None:
        arrays["arms.places"], arrays["arms.features"] = state.arms.remembered()
    return arrays | pending_arrays(state.waiting), content


def restored(arrays: dict[str, NDArray], content: dict[str, Any], *, policy: Any) -> AgentState:
    """Return the state of a snapshot."""
    try:
        return _restored(arrays, content, policy)
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, MemoryError) as error:
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
    state.agent = agent_id(content["agent"])
    state.form = form_of("state file", content["form"])
    state.arms.places = {name: place for place, name in enumerate(content["places"])}
    state.arms.columns = None if content["columns"] is None else tuple(content["columns"])
    state.expired, state.repeated, state.updates = (
        checks.count("state file", name, content[name], low=0) for name in ("expired", "repeated", "updates")
    )
    if "arms.places" in arrays:
        state.arms.remember(arrays["arms.places"], arrays["arms.features"])
    if content["dim"] is None:
        return state
    learner = state.started(checks.count("state file", "dim", content["dim"]))
    learner.restore(arrays, content["counts"])
    state.waiting = pending_of(learner, arrays)
    return state


def _config(policy: Any) -> Any:
    """The policy as plain data; None for functions of the user's without a name, who must bring it."""
    try:
        return to_config(policy)
    except ConfigError:
        return None
