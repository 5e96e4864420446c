"""A small linear policy in NumPy: an agent's choices and updates without a call of JAX.

To call a compiled function takes ten times as long as a small linear model computes. This file has the
equations of `models/linear.py`, `widths/full.py` (Potter's form for one row) and a score of mean + radius *
width + offset. What it finds equals the compiled functions' results up to rounding, not bit for bit. So an
agent's state is made by one of the two: the choice depends on the policy, on d and on `FORM`, which the log
notes for each run, and never on how many arms are on offer.

Choices are the same as the compiled ones. Where rounding could matter the compiled function is asked, which
breaks ties at random by the decision's key: see `NumpyLinear.select`.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from superarm.agent.compiled import Leaves, Observation, RawDecision
from superarm.policy import Policy
from superarm.types import State

NDArray = np.ndarray[Any, Any]
COMPILED = 0  # the form of a run that observes by compiled functions
FORM = 1  # of the equations of `observe`, and of when they are used; other bits need another number
MAX_DIM = 128  # features: above, the compiled functions are as fast (benchmarks, "An agent's speed")
TIE = 1e-9  # of two scores' scale: rounding is far smaller, and few scores that differ are so close
# Multiplications of one product: above, OpenBLAS may hand parts of it to other threads, which on a busy
# machine takes longer than the product.
MAX_PRODUCT = 2**18
MAX_BLOCKS = 8  # of arms, in so small products: XLA measures more of them in less time


def usable(policy: Policy, dim: int) -> bool:
    """Whether a policy is of this kind, and small; grids of settings are not."""
    if not policy.traits.plain or dim > MAX_DIM or any(np.ndim(leaf) for leaf in jax.tree.leaves(policy)):
        return False
    return 0.0 < _precision(policy) < math.inf


def _precision(policy: Policy) -> float:
    noise = float(policy.model.known_noise)
    return (1.0 / noise) * (1.0 / noise)  # not `**`, which raises where it overflows


class NumpyLinear:
    """A linear policy at work on its state, which it changes in place.

    Attributes:
        leaves: mean (d,), root (d, d) and logdet () of the state. Who keeps them must copy them.
    """

    def __init__(self, policy: Policy, state: State) -> None:
        """Begin with a copy of a state."""
        bonus = policy.explorer.constant_bonus
        radius, offset = (0.0, 0.0) if bonus is None else map(float, bonus)
        record = state.record
        self.leaves: Leaves = [
            np.array(leaf, np.float64, order="C")
            for leaf in (record.mean, record.factor.root, record.factor.logdet)
        ]
        self.mean, self.root, self.logdet = self.leaves
        dim = len(self.mean)
        self._precision, self._offset = _precision(policy), offset
        # Arrays of no dimension: NumPy takes half the time for them that it takes for a float.
        self._radius, self._added, self._factor = np.array(radius), np.array(offset), np.array(0.0)
        self._row, self._column = np.empty((1, dim)), np.empty((dim, 1))
        self._outer, self._ones = np.empty((dim, dim)), np.ones(dim)
        self._rows_at_once = max(1, MAX_PRODUCT // dim**2)
        self._arrange(0)
        # |x'mean| <= |x| |mean| and |x S| <= |x| |S|, where S only shrinks: what scores are the sums of.
        self._most_bonus = radius * float(np.linalg.norm(self.root))
        self._reach = self._most_bonus + float(np.linalg.norm(self.mean))

    def _arrange(self, count: int) -> None:
        """Make room for `count` arms, which mostly are as many as before."""
        dim = len(self.mean)
        self._scores, self._widths = np.empty(count), np.empty(count)
        self._whitened = np.empty((min(count, self._rows_at_once), dim))

    def select(self, contexts: NDArray, mask: NDArray | None) -> RawDecision | None:
        """Choose among contexts (n, d), of those in the mask (n,); None for all.

        Returns:
            None where the compiled function must choose: where the best two scores are so close that rounding
            or chance decides between them, where a score is not finite, and where there are very many arms.
        """
        if len(contexts) > MAX_BLOCKS * self._rows_at_once:
            return None
        scores = self._scored(contexts)
        if not math.isfinite(scores.item(scores.argmin())):
            return None
        if mask is not None:
            scores[~mask] = -math.inf
        item = int(scores.argmax())
        score = scores.item(item)
        scores[item] = -math.inf
        row = contexts[item : item + 1]
        scale = math.sqrt(row[0].dot(row[0])) * self._reach + abs(self._offset)
        # Written so that NaN is refused.
        if not TIE * scale < score - scores.item(scores.argmax()) or score == math.inf:
            return None
        items = np.array([item], np.int32)
        return RawDecision(
            items, 1, row.copy(), np.array([score]), True, (), self._ones[:1].copy(), np.zeros(1)
        )

    def _scored(self, contexts: NDArray) -> NDArray:
        """(n,) mean + radius * width + offset."""
        count = len(contexts)
        if count != len(self._scores):
            self._arrange(count)
        scores, widths = self._scores, self._widths
        contexts.dot(self.mean, scores)
        if self._most_bonus:
            if count <= self._rows_at_once:
                self._measure(contexts, self._whitened, widths)
            else:
                self._measure_in_blocks(contexts)
            np.sqrt(widths, widths)
            np.multiply(widths, self._radius, widths)
            np.add(scores, widths, scores)
        if self._offset:
            np.add(scores, self._added, scores)
        return scores

    def _measure(self, contexts: NDArray, whitened: NDArray, squares: NDArray) -> None:
        """(n,) squares of widths, |x S|^2."""
        contexts.dot(self.root, whitened)
        np.multiply(whitened, whitened, whitened)
        whitened.dot(self._ones, squares)

    def _measure_in_blocks(self, contexts: NDArray) -> None:
        for start in range(0, len(contexts), self._rows_at_once):
            block = contexts[start : start + self._rows_at_once]
            self._measure(block, self._whitened[: len(block)], self._widths[start : start + len(block)])

    def observe(self, observation: Observation) -> None:
        """Take in what was observed of one item x, by Potter's form with v = S'x / noise.

        S_new = S - S v v' / (g (1 + g)),   mean_new = mean + S v r / (g^2 noise),   g = sqrt(1 + |v|^2)
        """
        if not observation.observed[0]:
            return
        features, row, column = observation.features[0], self._row, self._column
        whitened, direction = row[0], column[:, 0]
        error = observation.feedback.item(0) - features.dot(self.mean)
        features.dot(self.root, whitened)
        self.root.dot(whitened, direction)
        growth = 1.0 + float(whitened.dot(whitened)) * self._precision  # g^2
        if not math.isfinite(growth):  # as compiled: nothing sound can be chosen any more
            self.mean.fill(math.nan)
            return
        gain, root_growth = self._precision / growth, math.sqrt(growth)
        self._factor[()] = gain * root_growth / (1.0 + root_growth)
        np.multiply(row, self._factor, row)
        column.dot(row, self._outer)
        np.subtract(self.root, self._outer, self.root)
        self._factor[()] = gain * error
        np.multiply(direction, self._factor, direction)
        np.add(self.mean, direction, self.mean)
        self.logdet[()] += math.log(growth)
        self._reach = self._most_bonus + math.sqrt(self.mean.dot(self.mean))
