"""The fit of a large ensemble, its members in parts: in this process, in others, or on a Ray cluster.

Members are independent, so a part is an ensemble of its own. Its bits depend on how many members are mapped
over at once, and so on the number of parts, but not on where they are fitted, on one type of processor and
with one thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np

from superarm import checks
from superarm.contract import Width
from superarm.jobs import engines
from superarm.jobs.processes import OnRounds
from superarm.policy import Policy
from superarm.precision import double
from superarm.types import Array, State


@dataclass(frozen=True)
class Part:
    """Some members: a model of so many, its width, their state and the data of their keys (m, ...)."""

    model: Any
    width: Width | None
    state: State
    keys: np.ndarray[Any, Any]


@checks.named
@double
def learn_members(
    policy: Policy,
    state: State,
    key: Array,
    *,
    parts: int,
    engine: engines.EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
) -> Any:
    """Return the fit that `policy.learn` would, of an ensemble whose members are fitted in parts.

    Worth it where a fit takes seconds: every part is sent the history, a Ray job takes some milliseconds on
    the way, and a process compiles once. A worker that is lost is replaced, and its part done again.

    Args:
        policy: whose model is an `Ensemble`, such as `neural_es(...)`.
        state: with the leaves of all members.
        key: of the fit.
        parts: how many; sizes differ by one at most.
        engine: "local" or "ray" (`pip install superarm[ray]`).
        workers: processes, or Ray jobs at a time; None for one per core, 0 to fit here, part after part.
        address: of a running Ray cluster; None for a Ray that is started here, and ended.

    >>> import jax, superarm
    >>> policy = superarm.glm_es(size=6, warmup=0)
    >>> spec = superarm.Spec(dim=3, num_arms=4, capacity=10)
    >>> state = policy.init(jax.random.key(0), spec)
    >>> fit = superarm.learn_members(policy, state, jax.random.key(1), parts=2, workers=0)
    >>> fit.params.shape
    (6, 3)
    """
    where = "learn_members"
    found = policy.model.as_ensemble(state) if isinstance(policy, Policy) else None
    if found is None:
        raise TypeError(f"{where}: policy must have an ensemble for its model, got {policy.name}")
    model, state = found
    checks.between(where, "parts", checks.count(where, "parts", parts), 1, model.size)
    groups = np.array_split(np.arange(model.size), parts)
    keys = np.asarray(jax.random.key_data(jax.random.split(key, model.size)))
    jobs = [
        Part(
            replace(model, size=len(group)),
            policy.width,
            jax.device_get(model.some(state, policy.width, slice(int(group[0]), int(group[-1]) + 1))),
            keys[group],
        )
        for group in groups
    ]
    generator = jax.random.key_impl(key)
    with engines.connected(where, engine, address=address, workers=workers):
        run = engines.run_jobs(partial(_fitted, generator), jobs, workers=workers, engine=engine)
        done = dict(run)
    return model.joined([done[index] for index in range(parts)], state, policy.width)


@double
def _fitted(generator: Any, part: Part, on_rounds: OnRounds) -> Any:
    """The fits of a part's members, as NumPy's arrays."""
    return jax.device_get(_learn(part.model, part.width, part.state, part.keys, generator))


@partial(jax.jit, static_argnames=("generator",))
def _learn(model: Any, width: Width | None, state: State, keys: Array, generator: Any) -> Any:
    return model.learn_with(state, jax.random.wrap_key_data(keys, impl=generator), width)
