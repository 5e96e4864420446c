"""Where the time of an Agent's `select` and `update` goes, one call at a time."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np

import superarm

WARM_UP, CALLS, MANY_CALLS = 100, 1000, 300
WINDOW, LEARN_EVERY = 100, 50

HEAD = f"""## Where an Agent's time goes

Microseconds of `select` and of `update` after `superarm.low_latency()`, the 10th percentile of {CALLS} calls
(of {MANY_CALLS} with 1,000 arms) and, for the whole call, the median. Rewards are random. Shares are of the
whole call's 10th percentile.

- reading: the arguments are read, checked, and put in their places.
- compiled: the call of the compiled function until its result is there, JAX's part in calling it included.
- around it: what goes in is packed, and what comes out is unpacked.
- log: the store's, in a temporary folder, without `power_safe`; checkpoints are every 1,000 updates.
- the rest: all else, which is bookkeeping, the lock and the answer. What the clock itself takes is in it.

LinTS without chances has `draws=0`; with them it draws 100 decisions more. NeuralUCB has 100 hidden units and
the diagonal width, and is fitted every {LEARN_EVERY} rounds; those updates are left out.

| policy | K | d | store | call | median | p10 | reading | compiled | around it | log | the rest |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""
PARTS = ("reading", "compiled", "around it", "log", "the rest")


@dataclass(frozen=True)
class Case:
    """A policy, the size of its problem, and the agent's settings."""

    name: str
    policy: Any
    arms: int
    dim: int
    settings: dict[str, Any] = field(default_factory=dict)


def cases() -> list[Case]:
    """The rows of the table."""
    network = superarm.perceptron(width=100)
    model = superarm.neural(network, learn_every=LEARN_EVERY, memory="window", memory_size=WINDOW)
    return [
        Case("LinUCB", superarm.lin_ucb(), 10, 20),
        Case("LinUCB", superarm.lin_ucb(), 1000, 100),
        Case("LinTS", superarm.lin_ts(), 10, 20, {"draws": 0}),
        Case("LinTS, its chances", superarm.lin_ts(), 10, 20),
        Case("NeuralUCB", superarm.neural_ucb(model), 10, 20),
    ]


def section() -> str:
    """Measure every case without a store and with one."""
    return HEAD + "".join(rows(case, kept) for case in cases() for kept in (False, True))


def rows(case: Case, kept: bool) -> str:
    """Measure one case."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "agent" if kept else None
        agent = superarm.Agent(case.policy, store=store, **case.settings)
        calls = MANY_CALLS if case.arms > 100 else CALLS
        times = played(agent, case, calls)
        agent.close()
    label = f"| {case.name} | {case.arms} | {case.dim} | {'on' if kept else 'off'}"
    return "".join(f"{label} | {call} | {cells(times[call])} |\n" for call in ("select", "update"))


def cells(times: list[dict[str, float]]) -> str:
    """The whole call, and the parts with their shares."""
    whole = 1e6 * np.array([one["whole"] for one in times])
    least = np.quantile(whole, 0.1)
    found = [np.quantile([1e6 * one[part] for one in times], 0.1) for part in PARTS]
    parts = " | ".join(f"{part:.0f} ({part / least:.0%})" for part in found)
    return f"{np.median(whole):.0f} | **{least:.0f}** | {parts}"


def played(agent: superarm.Agent, case: Case, calls: int) -> dict[str, list[dict[str, float]]]:
    """Choose and learn; return what every call took, in parts."""
    rng = np.random.default_rng(0)
    times: dict[str, list[dict[str, float]]] = {"select": [], "update": []}

    def offer() -> Any:
        return rng.normal(size=(case.arms, case.dim))

    for _ in range(WARM_UP):
        agent.update(agent.select(offer()), float(rng.random() < 0.5))
    with Stopwatch(agent) as watch:
        for turn in range(WARM_UP + 1, WARM_UP + calls + 1):
            contexts, reward = offer(), float(rng.random() < 0.5)
            decision, chosen = watch.timed(agent.select, contexts)
            _, learned = watch.timed(agent.update, decision, reward)
            times["select"].append(chosen)
            if case.policy.learn_every is None or turn % LEARN_EVERY:
                times["update"].append(learned)
    return times


class Stopwatch:
    """Clocks around some of an agent's inner calls; one that it does not make any more is in the rest."""

    def __init__(self, agent: Any) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        book, keeper = agent._session.state, agent._session.recorder
        program = book.core.era.program
        self.seams = {
            "reading": [(book.arms, "offer"), (book.arms, "placed"), (agent, "_read")],
            "program": [(program, "select"), (program, "observe")],
            "compiled": [(program._compiled, "observe")],
            "log": [(keeper, "decided"), (keeper, "told")],
        }
        self.compiled, self.find = program._compiled, program._compiled.select

    def __enter__(self) -> Stopwatch:
        """Put the clocks in."""
        self.stack = ExitStack()
        for name, places in self.seams.items():
            for place, attribute in places:
                if hasattr(place, attribute):
                    self._replace(place, attribute, self._around(name, getattr(place, attribute)))
        self._replace(self.compiled, "select", lambda *how: self._around("compiled", self.find(*how)))
        return self

    def __exit__(self, *_: Any) -> None:
        """Take them out: agents that are built alike share what is compiled."""
        self.stack.close()

    def timed(self, call: Callable[..., Any], *args: Any) -> tuple[Any, dict[str, float]]:
        """Make a call; return its answer and what it took: as a whole, and in parts that add up to it."""
        spent = self.spent
        spent.clear()
        found = self._around("whole", call)(*args)
        parts = {name: spent[name] for name in ("whole", "reading", "compiled", "log")}
        parts["around it"] = spent["program"] - spent["compiled"]
        parts["the rest"] = spent["whole"] - spent["program"] - spent["reading"] - spent["log"]
        return found, parts

    def _replace(self, place: Any, attribute: str, call: Callable[..., Any]) -> None:
        self.stack.enter_context(mock.patch.object(place, attribute, call))

    def _around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        # JAX may answer before it has computed: waiting then would be on the next clock.
        settled = jax.block_until_ready if name == "compiled" else lambda found: found

        def clocked(*args: Any, **kwargs: Any) -> Any:
            begun = time.perf_counter()
            found = settled(call(*args, **kwargs))
            self.spent[name] += time.perf_counter() - begun
            return found

        return clocked
