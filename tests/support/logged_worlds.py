"""Small worlds whose policies' values are known exactly: contexts of few types, choices by enumeration."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

TYPES, ARMS, DIM = 6, 4, 3
DECAY = np.array([1.0, 0.6])  # of a reward by its position


@dataclass(frozen=True)
class World:
    """By context type: the chances (t, s) of slates (s, k) in the log and of the target, and mean rewards."""

    kind: str
    binary: bool
    features: np.ndarray  # (t, K, d)
    slates: np.ndarray  # (s, k)
    logged: np.ndarray  # (t, s)
    wanted: np.ndarray  # (t, s)
    means: np.ndarray  # (t, k, K)

    @property
    def truth(self) -> float:
        earned = np.stack(
            [self.means[:, np.arange(slate.size), slate].sum(axis=1) for slate in self.slates], axis=1
        )
        return float(np.mean(np.sum(self.wanted * earned, axis=1)))

    def chances(self, of: str) -> np.ndarray:
        """(t, k, K) the chance of an arm at a position; (t, K) of being in the set, or of being chosen."""
        by_slate = getattr(self, of)
        found = np.zeros((TYPES, self.slates.shape[1], ARMS))
        for number, slate in enumerate(self.slates):
            for slot, arm in enumerate(slate):
                found[:, slot, arm] += by_slate[:, number]
        return found if self.kind == "ranking" else found.sum(axis=1)

    def draw(self, rng: np.random.Generator, events: int) -> dict[str, np.ndarray]:
        """A log: types (n,), and actions, rewards, propensities (n, k); (n,) for single choices."""
        types = rng.integers(TYPES, size=events)
        cut = self.logged[types].cumsum(axis=1)
        number = np.minimum((cut < rng.random(events)[:, None]).sum(axis=1), len(self.slates) - 1)
        actions = self.slates[number]
        slots = np.arange(actions.shape[1])
        means = self.means[types[:, None], slots, actions]
        noise = rng.random(means.shape) < means if self.binary else means + 0.5 * rng.normal(size=means.shape)
        parts = {
            "actions": actions,
            "rewards": noise.astype(float),
            "propensities": self.of_items(self.chances("logged"), types, actions),
            "chances": self.of_items(self.chances("wanted"), types, actions),
        }
        if self.kind == "single":
            parts = {name: part[:, 0] for name, part in parts.items()}
        return parts | {"types": types}

    def of_items(self, chances: np.ndarray, types: np.ndarray, actions: np.ndarray) -> np.ndarray:
        if chances.ndim == 3:
            return chances[types[:, None], np.arange(actions.shape[1]), actions]
        return chances[types[:, None], actions]

    def values(self, means: np.ndarray) -> np.ndarray:
        """(t,) what a model that believes means (t, k, K) says of the target."""
        chances = self.chances("wanted")
        return np.sum(
            chances * (means if chances.ndim == 3 else means[:, 0]), axis=tuple(range(1, chances.ndim))
        )


def world(kind: str, binary: bool, apart: float = 1.0, seed: int = 1) -> World:
    """A world; the policies are further `apart` the larger that is."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(TYPES, ARMS, DIM))
    base = 0.35 + 0.1 * np.clip(features @ np.array([1.0, -0.5, 0.5]), -2, 2)  # (t, K) in [0.15, 0.55]
    size = 1 if kind == "single" else 2
    slates = np.array(list(permutations(range(ARMS), size)))
    decay = DECAY[:size] if kind == "ranking" else np.ones(size)
    logged, wanted = (plackett_luce(rng.normal(size=(TYPES, ARMS)) * apart, slates) for _ in range(2))
    return World(kind, binary, features, slates, logged, wanted, base[:, None, :] * decay[:, None])


def plackett_luce(scores: np.ndarray, slates: np.ndarray) -> np.ndarray:
    """(t, s) the chance that items are drawn in the order of a slate, each by softmax of what is left."""
    chances = np.ones((len(scores), len(slates)))
    for number, slate in enumerate(slates):
        left = np.exp(scores)
        for arm in slate:
            chances[:, number] *= left[:, arm] / left.sum(axis=1)
            left[:, arm] = 0.0
    return chances
