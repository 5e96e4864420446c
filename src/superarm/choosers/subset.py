"""A set of arms, found by an optimisation oracle."""

from __future__ import annotations

from dataclasses import dataclass

from superarm import checks
from superarm.contract import Chooser, Oracle, Scale
from superarm.pytree import pytree
from superarm.types import Array, Choice


@pytree
@dataclass(frozen=True)
class Subset(Chooser):
    """The feasible set that is worth most by its scores, as far as the oracle can tell."""

    oracle: Oracle

    def __post_init__(self) -> None:
        """Refuse what is no oracle."""
        checks.part("subset", "oracle", self.oracle, Oracle)

    @property
    def native(self) -> bool:
        """Whether the oracle runs inside compiled rounds."""
        return self.oracle.native

    @property
    def size(self) -> int:
        """The most items in a set."""
        return self.oracle.size

    @property
    def score_scale(self) -> Scale:
        """The oracle's."""
        return self.oracle.score_scale

    @property
    def top(self) -> int | None:
        """k, when any set of k arms may be chosen; None otherwise."""
        return self.oracle.top

    @property
    def by_arm(self) -> bool:
        """Whether the oracle's structure knows arms by their index."""
        return self.oracle.by_arm

    def check(self, num_arms: int) -> None:
        """Let the oracle refuse what it cannot solve."""
        self.oracle.check(num_arms)

    def choose(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the oracle's answer."""
        return self.oracle.solve(key, scores, mask)
