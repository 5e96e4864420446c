"""What all worlds with feasible sets have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

from superarm.choosers import Best, Subset
from superarm.types import Oracle, Spec


class ChoiceWorld(ABC):
    """A world in which one arm, or a set through an oracle, is chosen: by `chooser`, which knows the best."""

    chooser: Best | Subset

    @property
    @abstractmethod
    def spec(self) -> Spec:
        """The size of the problem."""

    @property
    def oracle(self) -> Oracle | None:
        """The oracle of the feasible sets; None when one arm is chosen."""
        return self.chooser.oracle if isinstance(self.chooser, Subset) else None

    @property
    def native(self) -> bool:
        """Whether the optimum can be found inside compiled code."""
        return self.chooser.native

    def check(self) -> None:
        """Let the oracle refuse a number of arms that it cannot choose from."""
        self.chooser.check(self.spec.num_arms)
