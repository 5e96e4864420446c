"""Ctrl-C at any moment: it arrives, the agent goes on, and knows just what was taken."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import superarm
from superarm import Agent, Store
from superarm.agent import learning
from support.interrupter import interrupter
from support.knowledge import knowledge
from support.lives import quick_folder

POLICIES: dict[str, Callable[[], Any]] = {
    "lin_ucb": superarm.lin_ucb,
    "logistic_ts": lambda: superarm.logistic_ts(learn_every=8, steps=3),
}


def begun(policy: str, store: Store | None) -> Agent:
    return Agent(POLICIES[policy](), store=store, clock=lambda: 0.0, draws=0)


@dataclass
class Call:
    """What the agent is asked: contexts to choose among one after another, or decisions and feedback."""

    choices: list[Any] = field(default_factory=list)
    news: list[tuple[int, float]] = field(default_factory=list)


class Work:
    """An agent that is interrupted, and a second one in memory that does the same undisturbed.

    Attributes:
        calls: of the agent, which the other has not made; all but the last were answered.
        skipped: after how many updates a fit was cut short.
    """

    def __init__(self, policy: str, store: Store | None, seed: int) -> None:
        self.agent, self.mirror = begun(policy, store), begun(policy, None)
        self.mirror._session.state.agent = self.agent._session.state.agent
        self.rng = np.random.default_rng(seed)
        self.calls: list[Call] = []
        self.skipped: set[int] = set()

    def call(self) -> None:
        """A call at random."""
        way, rng = self.rng.random(), self.rng
        waiting = list(self.agent._session.state.waiting)
        if way < 0.45 or len(waiting) < 12:
            choices = [rng.normal(size=(4, 3)) for _ in range(12 if way < 0.1 else 1)]
            self.calls.append(Call(choices=choices))
            if len(choices) > 1:
                self.agent.select_many(choices)
            else:
                self.agent.select(choices[0])
        elif way < 0.97:
            numbers = rng.permutation(waiting)[: 10 if way < 0.55 else 1].tolist()
            news = [(one, float(rng.random() < 0.5)) for one in numbers]
            self.calls.append(Call(news=news))
            if len(news) > 1:
                self.agent.update_many(news)
            else:
                self.agent.update(*news[0])
        else:
            self.agent.checkpoint()

    def repeat(self) -> None:
        """Do in the mirror what the agent did: all that was answered, and the last call as far as it came."""
        stats = self.agent.stats
        calls, self.calls = self.calls, []
        for number, call in enumerate(calls):
            last = number == len(calls) - 1
            made = stats.decisions - self.mirror.stats.decisions if last else len(call.choices)
            learned = stats.updates - self.mirror.stats.updates if last else len(call.news)
            assert 0 <= made <= len(call.choices)
            assert 0 <= learned <= len(call.news)
            for contexts in call.choices[:made]:
                self.mirror.select(contexts)
            for news in call.news[:learned]:
                self.tell_mirror(*news)

    def tell_mirror(self, number: int, reward: float) -> None:
        learner = self.mirror._session.state.learner
        assert learner is not None
        learner.learns = learner.updates + 1 not in self.skipped
        self.mirror.update(number, reward)


CASES = [("lin_ucb", True, 40)]
FULL = [(policy, stored, 250) for policy in POLICIES for stored in (True, False)]


@pytest.mark.parametrize(
    ("policy", "stored", "number"), [*CASES, *(pytest.param(*one, marks=pytest.mark.full) for one in FULL)]
)
def test_interrupts_lose_no_agent(policy, stored, number, monkeypatch):
    with quick_folder() as folder, interrupter() as one:
        store = Store(folder / "agent", checkpoint_every=30, keep=60) if stored else None
        work = Work(policy, store, seed=number)
        log_failure = learning._log_failure

        def noted(session, now, learner):
            if session is work.agent._session:
                work.skipped.add(learner.updates)
            log_failure(session, now, learner)

        monkeypatch.setattr(learning, "_log_failure", noted)
        for _ in range(60):
            work.call()  # compiles
        work.repeat()
        for turn in range(number):
            one.interrupt(work.call, float(work.rng.random() * 0.004))
            work.repeat()
            if turn % 25 == 24:
                require_same(work, folder)
        require_same(work, folder)
        print(
            f"{policy}, {'with' if stored else 'without'} a store: {number} interrupts, "
            f"{work.agent.stats.updates} updates, {len(work.skipped)} fits cut short"
        )


def require_same(work: Work, folder: Path) -> None:
    """The agent knows what the other one does, and its log gives that again."""
    work.call()
    work.repeat()
    assert knowledge(work.agent) == knowledge(work.mirror)
    if (folder / "agent").exists():
        shutil.copytree(folder / "agent", folder / "copy")
        copy = Agent.open(folder / "copy", clock=lambda: 0.0)
        assert knowledge(copy) == knowledge(work.agent)
        copy._session.release()
        shutil.rmtree(folder / "copy")
