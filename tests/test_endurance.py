"""A million updates: memory stays flat, nothing turns into NaN, and factors stay sound."""

from __future__ import annotations

import resource

import jax
import numpy as np
import pytest

import superarm
from superarm import Agent
from superarm.precision import double

UPDATES, DIM, ARMS = 1_000_000, 5, 4
POOL = np.random.default_rng(0).normal(size=(5000, ARMS, DIM)) / np.sqrt(DIM)


def worked(agent: Agent, updates: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Decide and learn so often; return the chosen features, the feedback, and memory on the way, in KiB."""
    rng = np.random.default_rng(1)
    theta = rng.normal(size=DIM)
    # Ones, not zeros: memory that is not touched does not count before it is.
    features, rewards, memory = np.ones((updates, DIM)), np.ones(updates), []
    for number in range(updates):
        decision = agent.select(POOL[number % len(POOL)])
        features[number] = decision.features[0]
        chance = 1.0 / (1.0 + np.exp(-features[number] @ theta))
        rewards[number] = float(rng.random() < chance)
        assert agent.update(decision, rewards[number])
        if number % (updates // 10) == updates // 20:
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return features, rewards, memory


def require_flat(memory: list[int]) -> None:
    """Within 2 % (and 8 MiB) from a fifth of the way to the end; the peak can only grow."""
    assert memory[-1] - memory[1] < 0.02 * memory[1] + 8 * 1024


def require_finite(agent: Agent) -> None:
    for leaf in jax.tree.leaves(agent.taken(DIM).state):
        assert np.all(np.isfinite(np.asarray(leaf, np.float64)))


@pytest.mark.full
def test_linear():
    agent = Agent(superarm.lin_ucb(noise=0.5))
    features, rewards, memory = worked(agent, UPDATES)
    require_flat(memory)
    require_finite(agent)
    precision = np.eye(DIM) + features.T @ features / 0.25
    mean = np.linalg.solve(precision, features.T @ rewards / 0.25)
    record = agent.taken(DIM).state.record
    np.testing.assert_allclose(record.mean, mean, rtol=1e-6)
    width = agent.policy.width
    with jax.enable_x64(True):
        found = double(width.whiten)(record.factor, jax.numpy.eye(DIM)).covariance()
    np.testing.assert_allclose(found, np.linalg.inv(precision), rtol=1e-6, atol=1e-12)


@pytest.mark.full
def test_logistic_in_one_pass():
    agent = Agent(superarm.ecolog(radius=0.5))
    _, _, memory = worked(agent, UPDATES)
    require_flat(memory)
    require_finite(agent)


@pytest.mark.full
def test_diagonal_neural():
    model = superarm.neural(
        superarm.perceptron(width=8),
        memory="reservoir",
        memory_size=500,
        learn_every=1000,
        steps=20,
        reduction="mean",
        optimizer="adam",
        row_scale=1.0,
    )
    agent = Agent(superarm.neural_ucb(model, radius=0.1))
    _, _, memory = worked(agent, UPDATES)
    require_flat(memory)
    require_finite(agent)
    assert agent.stats.refused_fits == 0
