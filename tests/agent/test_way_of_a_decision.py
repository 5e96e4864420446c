"""A decision is a short way through few files: more of it would be more to read, and slower."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import superarm

HOME = Path(superarm.__file__).parent
MAX_CALLS, MAX_FILES = 40, 16  # five are the store's: rows, bytes, offers, the lock, held signals


def calls_of(call) -> list[str]:
    """The files of superarm's own functions that a call enters, in order."""
    entered: list[str] = []

    def note(frame, event, _):
        if event == "call" and Path(frame.f_code.co_filename).is_relative_to(HOME):
            entered.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


def test_select_with_a_store_is_few_calls_in_few_files(tmp_path):
    rng, ids = np.random.default_rng(0), [f"arm-{index}" for index in range(10)]
    with superarm.Agent(superarm.lin_ucb(), store=tmp_path / "store") as agent:
        for _ in range(3):
            agent.update(agent.select(rng.normal(size=(10, 4)), ids=ids), 1.0)
        offer = rng.normal(size=(10, 4))
        entered = calls_of(lambda: agent.select(offer, ids=ids))
    assert 10 < len(entered) <= MAX_CALLS
    assert len(set(entered)) <= MAX_FILES
