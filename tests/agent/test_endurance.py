"""A million updates: memory stays flat, nothing turns into NaN, and factors stay sound."""

from __future__ import annotations

import gc
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import superarm
from superarm import Agent
from superarm.precision import double

FULL = [3_000, pytest.param(1_000_000, marks=pytest.mark.full)]
DIM, ARMS, LEARN_EVERY = 5, 4, 1000
POOL = np.random.default_rng(0).normal(size=(5000, ARMS, DIM)) / np.sqrt(DIM)


@dataclass
class Work:
    """The chosen features (n, d), the feedback (n,), the networks that were in force, and memory in bytes."""

    features: np.ndarray
    rewards: np.ndarray
    networks: list[list[np.ndarray]] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)


def worked(agent: Agent, updates: int) -> Work:
    """Decide and learn so often."""
    rng = np.random.default_rng(1)
    theta = rng.normal(size=DIM)
    # Ones, not zeros: memory that is not touched does not count before it is.
    work = Work(np.ones((updates, DIM)), np.ones(updates))
    for number in range(updates):
        decision = agent.select(POOL[number % len(POOL)])
        if number % LEARN_EVERY == 0:
            network = getattr(agent._session.state.learner.state.fit, "params", ())
            work.networks.append([np.array(layer, np.float64) for layer in network])
        work.features[number] = decision.features[0]
        chance = 1.0 / (1.0 + np.exp(-work.features[number] @ theta))
        work.rewards[number] = float(rng.random() < chance)
        assert agent.update(decision, work.rewards[number])
        if number % (updates // 10) == updates // 20:
            work.memory.append(held())
    return work


def held() -> int:
    """Bytes of memory that the process holds now."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def require_flat(memory: list[int]) -> None:
    """Within 2 % (and 8 MiB) from before halfway to the end; the first fits compile."""
    assert memory[-1] - memory[4] < 0.02 * memory[4] + 8 * 1024**2


def require_finite(agent: Agent) -> None:
    for leaf in jax.tree.leaves(agent.snapshot(DIM).state):
        assert np.all(np.isfinite(np.asarray(leaf, np.float64)))


def covariance(agent: Agent) -> np.ndarray:
    """(d, d) of the factor that the agent has come to."""
    width, factor = agent.policy.width, agent.snapshot(DIM).state.record.factor
    with jax.enable_x64(True):
        return np.asarray(double(width.whiten)(factor, jax.numpy.eye(DIM)).covariance())


@pytest.mark.parametrize("updates", FULL)
def test_linear(updates):
    agent = Agent(superarm.lin_ucb(noise=0.5))
    work = worked(agent, updates)
    require_flat(work.memory)
    require_finite(agent)
    precision = np.eye(DIM) + work.features.T @ work.features / 0.25
    mean = np.linalg.solve(precision, work.features.T @ work.rewards / 0.25)
    np.testing.assert_allclose(agent.snapshot(DIM).state.record.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(covariance(agent), np.linalg.inv(precision), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("updates", FULL)
def test_logistic_in_one_pass(updates):
    agent = Agent(superarm.ecolog(radius=0.5))
    work = worked(agent, updates)
    require_flat(work.memory)
    require_finite(agent)
    mean, precision = one_pass(work.features, work.rewards, agent.policy.model)
    np.testing.assert_allclose(agent.snapshot(DIM).state.record.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(covariance(agent), np.linalg.inv(precision), rtol=1e-6, atol=1e-12)


def one_pass(features: np.ndarray, rewards: np.ndarray, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """theta and W of Faury et al. (2022), with a solve by W in every step."""
    pull = 0.5 * (2.0 + float(model.diameter))
    theta, precision = np.zeros(DIM), float(model.ridge) * np.eye(DIM)
    for row, reward in zip(features, rewards, strict=True):
        direction = np.linalg.solve(precision, row)
        score, reach = float(row @ theta), pull * float(row @ direction)
        new = score
        for _ in range(50):  # Newton's method for new = score - reach (mu(new) - reward)
            chance = 1.0 / (1.0 + math.exp(-new))
            step = (new - score + reach * (chance - reward)) / (1.0 + reach * chance * (1.0 - chance))
            new -= step
            if abs(step) < 1e-15:
                break
        chance = 1.0 / (1.0 + math.exp(-new))
        theta = theta - pull * (chance - reward) * direction
        precision += chance * (1.0 - chance) * np.outer(row, row)
    return theta, precision


@pytest.mark.parametrize("updates", FULL)
def test_diagonal_neural(updates):
    model = superarm.neural(
        superarm.perceptron(width=8),
        memory="reservoir",
        memory_size=500,
        learn_every=LEARN_EVERY,
        steps=20,
        reduction="mean",
        optimizer="adam",
        row_scale=1.0,
    )
    agent = Agent(superarm.neural_ucb(model, radius=0.1))
    work = worked(agent, updates)
    require_flat(work.memory)
    require_finite(agent)
    assert agent.stats.refused_fits == 0
    expected = np.full(8 * DIM + 8, float(agent.policy.model.ridge))
    for number, network in enumerate(work.networks):
        rows = work.features[number * LEARN_EVERY : (number + 1) * LEARN_EVERY]
        expected += np.sum(gradients(network, rows) ** 2, axis=0)
    np.testing.assert_allclose(agent.snapshot(DIM).state.record.factor.precision, expected, rtol=1e-6)


def gradients(network: list[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """(n, p) of f(x) = W_2 relu(W_1 x), in double precision."""
    first, last = network
    signal = rows @ first.T
    inner = (last * (signal > 0))[:, :, None] * rows[:, None]
    return np.concatenate([inner.reshape(len(rows), -1), np.maximum(signal, 0.0)], axis=1)
