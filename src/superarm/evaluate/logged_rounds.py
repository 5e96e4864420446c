"""Replay: how a policy would have fared in a log of uniformly random choices.

The policy meets the logged events in random order. Where it chooses what the log chose, it observes what came
of it, and the event counts; where not, the event is skipped, and the policy learns nothing of it. If the log
was made by uniform chance and its events are independent, an accepted event has the law that the policy would
have met alone. Of a set the whole set must be the same, and of a ranking also its order: one event in
n! / (k! (n - k)!) is accepted, or in n! / (n - k)!, whatever rewards depend on.

Li, Chu, Langford & Wang (2011), Unbiased Offline Evaluation of Contextual-bandit-based News Article
Recommendation Algorithms, WSDM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from superarm import checks
from superarm.compiler import compiled
from superarm.contract import Environment
from superarm.evaluate.logs.log import Log
from superarm.evaluate.stretch import Place, shuffled, stretch
from superarm.policy import Policy
from superarm.simulation.round import Trace
from superarm.simulation.run import Chunk, Run, run_of, run_seed
from superarm.types import Array, Decision, Offer, Outcome, Spec, State

WRAPPED = "logged_world: a log must not be put into another environment, got asked for a single round"


@checks.named
def replay(
    policy: Policy, log: Log, *, accepted: int, seed: int = 0, passes: int = 1, record_every: int = 1
) -> pd.DataFrame:
    """Replay a log to a policy until so many events are accepted; return one row per event.

    The table is that of a simulated run: seed, round (the number of the accepted event, from 1), reward (the
    logged one, summed over a set), seconds, and items (what was chosen). What choices would have been worth
    that were not made is not known: regret, realized_regret, value and best are NaN. Its `attrs` are
    compile_seconds, refused_fits, offered (logged events that were used) and log_ended (whether the log ended
    before enough were accepted; then the table is shorter, and a warning says so).

    Args:
        policy: chooses one arm, or as many as the log, always all of them. It learns every `learn_every`
            accepted events, and is told as `count` how many were accepted.
        log: of uniformly random choices, of one arm, of sets or of rankings (`Log.ranking`) of a fixed size;
            otherwise the estimate is biased.
        accepted: events to accept.
        seed: of the log's order and of the policy's chance.
        passes: how often the log may be gone through, each time in a new order. From the second on the policy
            meets what it has learned from: its rewards are then too good to be true, if it can tell events
            apart.
        record_every: accepted events per row; rewards are summed over them, and items left out if not 1.

    >>> import numpy as np, superarm
    >>> rng = np.random.default_rng(0)
    >>> contexts, actions = rng.normal(size=(500, 2, 3)), rng.integers(2, size=500)
    >>> rewards = contexts[np.arange(500), actions, 0]
    >>> log = superarm.evaluate.event_log(contexts, actions, rewards)
    >>> table = superarm.evaluate.replay(superarm.lin_ucb(), log, accepted=200)
    >>> len(table), bool(table["reward"].mean() > 0.3)
    (200, True)
    """
    where = "replay"
    world = logged_world(log, passes=passes)
    checks.has(where, "policy", policy, ("epochs", "check"))
    return run_seed(
        policy,
        world,
        rounds=checks.count(where, "accepted", accepted),
        seed=checks.count(where, "seed", seed, low=0),
        record_every=checks.count(where, "record_every", record_every),
        keep_items=record_every == 1,
    )


@dataclass(frozen=True)
class LoggedWorld(Environment):
    """A log in the place of an environment: rounds are accepted events. Build it with `logged_world`."""

    log: Log
    passes: int

    @property
    def knows_regret(self) -> bool:
        """False: a log knows no optimum."""
        return False

    @property
    def native(self) -> bool:
        """False: where a run is in the log is kept on the host. Stretches of events are compiled."""
        return False

    @property
    def spec(self) -> Spec:
        """d features, K arms."""
        return self.log.spec

    def check(self) -> None:
        """Accept: the factory checked."""

    def init(self, key: Array) -> Reader:
        """Begin to read, in an order of the key's."""
        return Reader(self.log, key, self.passes)

    def attrs(self, world: Reader) -> dict[str, Any]:
        """What the table says of the reading."""
        return {"offered": world.offered, "log_ended": world.ended}

    def offer(self, world: Any, key: Array) -> Offer:
        """Refuse: see `respond`."""
        raise TypeError(WRAPPED)

    def respond(self, world: Any, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Refuse: what would have come of other choices than the logged ones is not known."""
        raise TypeError(WRAPPED)


@run_of.register(LoggedWorld)
def _(environment: LoggedWorld) -> type[Run]:
    return LoggedRun


class LoggedRun(Run):
    """One policy of a run through a log: its rounds are the events that are accepted."""

    def chunks(self, state: State) -> tuple[Chunk, float]:
        """Return what runs some rounds, and the seconds that it took to compile."""
        policy = self.policy
        reader: Reader = self.world
        slots = reader.slots
        if policy.chooser.size != slots or not policy.native or policy.chooser.compares:
            what = "one arm" if slots == 1 else f"sets of {slots}, as the log"
            must = f"policy must choose {what}, by a chooser that JAX can trace"
            raise ValueError(f"replay: {must}, got {policy.name} with sets of {policy.chooser.size}")
        return reader.chunks(self, state)


@checks.named
def logged_world(log: Log, *, passes: int = 1) -> LoggedWorld:
    """Return an environment that replays a log; see `replay`. Every seed reads it in another order.

    Regret is NaN; compare policies by their rewards.

    Args:
        log: of uniformly random choices.
        passes: how often it may be gone through.

    >>> import numpy as np, superarm
    >>> from superarm.evaluate import event_log, logged_world
    >>> log = event_log(np.ones((300, 2, 1)), np.arange(300) % 2, np.arange(300) % 2)
    >>> policies = {"one": superarm.lin_ucb(), "other": superarm.uniform()}
    >>> result = superarm.compare(policies, logged_world(log), rounds=50, seeds=2, workers=0)
    >>> result.finals()["reward"].shape
    (2,)
    """
    where = "logged_world"
    checks.has(where, "log", log, ("contexts", "actions", "rewards", "spec"))
    _require_uniform(where, log)
    return LoggedWorld(log=log, passes=checks.count(where, "passes", passes))


def _require_uniform(where: str, log: Log) -> None:
    """Refuse what replay cannot do, as far as the log tells."""
    slots = log.slots or 1
    actions = np.asarray(log.actions).reshape(-1, slots)
    items = np.sort(actions, axis=1)
    bad = np.flatnonzero((items[:, 0] < 0) | np.any(items[:, 1:] == items[:, :-1], axis=1))
    if bad.size:
        must = f"log must have {slots} different items in every event"
        raise ValueError(f"{where}: {must}, got {actions[bad[0]].tolist()} at {bad[0]}")
    if log.propensities is not None:
        arms = log.contexts.shape[1] if log.mask is None else np.sum(log.mask, axis=1, keepdims=True)
        share = 1 if log.ranking else slots
        ratio = np.asarray(log.propensities).reshape(-1, slots) * arms / share
        if ratio.max() > 1.001 or ratio.min() < 0.999:  # files round propensities
            must = f"log must be of uniform choices, with a propensity of {share} / (arms on offer)"
            got = f"{ratio.min():.3g} to {ratio.max():.3g} times that"
            raise ValueError(f"{where}: {must}, got {got}; evaluate it with off_policy")


def _by_slots(log: Log) -> Log:
    """What compiled code reads: slots (n, k), those of a set in the order of its items."""
    slots = log.slots or 1
    told = {"actions": log.actions, "rewards": log.rewards, "observed": log.observed}
    parts: Any = {name: np.reshape(part, (-1, slots)) for name, part in told.items() if part is not None}
    ordered = log.ranking or slots == 1
    if not ordered:
        order = np.argsort(parts["actions"], axis=1)
        parts = {name: np.take_along_axis(part, order, axis=1) for name, part in parts.items()}
    found: Log = jax.tree.map(jnp.asarray, Log(log.contexts, mask=log.mask, ranking=ordered, **parts))
    return found


class Reader:
    """Where one run is in its log."""

    def __init__(self, log: Log, key: Array, passes: int) -> None:
        """Put the log where compiled code reads it, and begin."""
        self.log = _by_slots(log)
        self.slots = log.slots or 1
        self.key = key
        self.size = log.rewards.shape[0]
        self.last = passes * self.size  # events that may be offered
        self.offered = 0
        self.ended = False
        self.order: Any = None

    def chunks(self, run: Run, state: State) -> tuple[Chunk, float]:
        """Return what runs some rounds, and the seconds that it took to compile."""
        zero = np.int64(0)
        offer, seconds = compiled(
            stretch, run.policy, run.keys, state, self._place(), zero, zero, keep_events=run.keep_events
        )

        def step(state: State, start: int, length: int) -> tuple[State, Trace]:
            parts: list[Trace] = []
            rows, more = 0, True
            while more:  # another time where a pass ends
                self._say_the_end(start + rows)
                count = np.int64(start - run.origin + rows)  # as the policy counts
                left = np.int64(0 if self.ended else length - rows)
                state, buffer, offered, taken = offer(run.policy, run.keys, state, self._place(), count, left)
                self.offered = int(offered)
                parts.append(jax.tree.map(lambda leaf, taken=int(taken): np.asarray(leaf)[:taken], buffer))
                rows += int(taken)
                more = rows < length and not self.ended
            return state, jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)

        return step, seconds

    def _place(self) -> Place:
        if self.offered % self.size == 0:  # a pass begins
            self.order = shuffled(self.key, self.offered // self.size, self.size)
        return Place(log=self.log, order=self.order, offered=jnp.int64(self.offered))

    def _say_the_end(self, accepted: int) -> None:
        if self.offered == self.last and not self.ended:
            self.ended = True
            words = f"replay: the log ended after {self.offered} events, of which {accepted} were accepted"
            advice = "ask for fewer, or allow more passes"
            checks.warn(f"{words}; {advice}")
