"""All that an agent knows and that its files must bring back, as one digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

import jax
import numpy as np

from superarm import Agent


def knowledge(agent: Agent) -> str:
    """A digest of what was learned, what was decided and what waits.

    How often feedback was repeated is left out: it is not logged.
    """
    state = agent._session.state
    digest = hashlib.blake2b(digest_size=16)
    plain = [state.agent, asdict(state.settings), state.expired, state.updates]
    places = [list(state.arms.places.items()), state.arms.columns]
    digest.update(json.dumps([plain, places]).encode())
    for array in state.arms.remembered():
        _add(digest, array)
    if state.learner is not None:
        digest.update(json.dumps(state.learner.counts()).encode())
        for name, array in sorted(state.learner.arrays().items()):
            digest.update(name.encode())
            _add(digest, array)
    for number, row in state.waiting.items():
        digest.update(json.dumps([number, row.ids, row.time, row.epoch]).encode())
        for array in (row.items, row.features, row.seen, *jax.tree.leaves(row.memo)):
            _add(digest, array)
    return digest.hexdigest()


def _add(digest: Any, array: Any) -> None:
    plain = np.asarray(array)
    digest.update(f"{plain.dtype} {plain.shape}".encode())
    digest.update(plain.tobytes())
