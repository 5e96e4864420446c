"""Every preset, small, as an agent runs it."""

from __future__ import annotations

import numpy as np

import superarm
from contract.presets import DUELS, ROWS, hoarding
from superarm import Agent

DIM, ARMS = 4, 8
FEATURES = np.random.default_rng(7).normal(size=(ARMS, DIM))


def small_model(epoch: int):
    """The network of an epoch."""
    network = superarm.perceptron(width=4 * 2 ** min(epoch, 2))
    return superarm.neural(network, learn_every=5, steps=5, memory="window", memory_size=20)


superarm.config.register("small_model", small_model)
SMALL = {"units": 6, "steps": 5, "learn_every": 5}
SMALL_DUELS = ("nvldb", "nldb", "ndb_ts", "ndb_ucb", "neural_log_duel", "nvldb_theory")
BUILDS = {
    **{name: row.build for name, row in ROWS.items()},
    **{name: getattr(superarm, name) for name in sorted(DUELS)},
    **{name: (lambda name=name: getattr(superarm, name)(**SMALL)) for name in SMALL_DUELS},
    "vacdb": lambda: superarm.vacdb(100, learn_every=5),
    "warm_up": lambda: superarm.warm_up(superarm.lin_ucb(), rounds=10, plan="uniform"),
    "lin_es_anytime": lambda: superarm.lin_es_anytime(first=20),
    "glm_es_anytime": lambda: superarm.glm_es_anytime(first=20, warmup=5, learn_every=5),
    "neural_es_anytime": lambda: superarm.neural_es_anytime(model=hoarding(), first=20, warmup=0),
    "cn_ucb_doubling": lambda: superarm.cn_ucb_doubling(superarm.top_k(2), small_model, period=20),
    "cn_ts_doubling": lambda: superarm.cn_ts_doubling(superarm.top_k(2), small_model, period=20),
}


def agent_of(name: str, **options) -> Agent:
    """A new agent with a preset."""
    policy = BUILDS[name]()
    fixed = policy.epochs(1)[0].policy.traits.by_arm
    return Agent(policy, **({"arms": ARMS} if fixed else {}), **options)


def drive(agent: Agent, rng: np.random.Generator, rounds: int, waiting: list) -> None:
    """Choose among arms that come and go, and tell what came of it late, in any order, or never."""
    fixed = agent._session.state.arms.fixed is not None
    for _ in range(rounds):
        count = ARMS if fixed else int(rng.integers(4, ARMS + 1))
        contexts = FEATURES if fixed else rng.normal(size=(count, DIM))
        waiting.append(agent.select(contexts))
        if rng.random() < 0.8:
            decision = waiting.pop(int(rng.integers(len(waiting))))
            agent.update(decision, outcome(agent, decision, rng))


def outcome(agent: Agent, decision, rng: np.random.Generator):
    """What came of a decision: 0 or 1 for every item."""
    rewards = (rng.random(len(decision.items)) < 0.5).astype(float)
    return float(rewards[0]) if len(rewards) == 1 or agent._session.state.traits.compares else rewards


def leaves_of(agent: Agent) -> list[np.ndarray]:
    """The state, bit by bit."""
    return [array for _, array in sorted(agent._session.state.learner.arrays().items())]


def same_state(one: Agent, other: Agent) -> bool:
    """Whether two agents know the same, bit for bit."""
    pairs = list(zip(leaves_of(one), leaves_of(other), strict=True))
    return all(left.tobytes() == right.tobytes() for left, right in pairs) and one.stats == other.stats
