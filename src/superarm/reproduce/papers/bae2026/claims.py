"""What must come out of bae2026's experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from superarm.experiments import rules
from superarm.experiments.claims import Claim
from superarm.experiments.runs import Quantity, total
from superarm.reproduce.papers.bae2026.methods import LINEAR, SAMPLERS, UCBS
from superarm.reproduce.papers.bae2026.replay import REPLAYS


def _sums(setting: str, labels: tuple[str, ...]) -> dict[str, Quantity]:
    return {label: total(setting, label) for label in labels}


def of_panels(settings: Mapping[str, str]) -> tuple[Claim, ...]:
    """The paper's claims about every panel; setting -> words about it."""
    claims: list[Claim] = []
    for setting, words in settings.items():
        others = tuple(label for label in UCBS if label != "NeuralLog-UCB-2")
        networks = ("NCBF-UCB", "NeuralLog-UCB-1", "NeuralLog-UCB-2")
        best, ncbf = _sums(setting, ("NeuralLog-UCB-2",)), _sums(setting, ("NCBF-UCB",))
        linear = _sums(setting, LINEAR)
        claims += [
            rules.chain(
                f"NeuralLog-UCB-2 has the lowest regret of the UCB methods{words}",
                best,
                _sums(setting, others),
            ),
            rules.chain(
                f"the linear methods have the highest regret{words}", _sums(setting, networks), linear
            ),
            rules.chain(
                f"NeuralLog-UCB-1 has less regret than NCBF-UCB{words}",
                _sums(setting, ("NeuralLog-UCB-1",)),
                ncbf,
            ),
            rules.chain(
                f"NCBF-UCB lies between NeuralLog-UCB-2 and the linear methods{words}", best, ncbf, linear
            ),
            *(
                rules.not_worse(
                    f"{label} is competitive: at most 1.1 times the regret of NCBF-UCB{words}",
                    total(setting, label),
                    total(setting, "NCBF-UCB"),
                )
                for label in SAMPLERS
            ),
        ]
    return tuple(claims)


def _better(setting: str) -> Quantity:
    """Clicks of whichever NeuralLog-UCB has more on average."""

    def per_seed(runs: Any) -> Any:
        both = [total(setting, f"NeuralLog-UCB-{one}", column="reward")(runs) for one in (1, 2)]
        return max(both, key=lambda clicks: float(clicks.mean()))

    return per_seed


def _clicks(setting: str, labels: tuple[str, ...]) -> dict[str, Quantity]:
    return {label: total(setting, label, column="reward") for label in labels}


OPEN_BANDIT = (
    *(
        rules.chain(
            f"the Thompson variants have the highest click rate ({name})",
            _clicks(name, UCBS),
            _clicks(name, SAMPLERS),
        )
        for name in REPLAYS
    ),
    *(
        rules.chain(
            f"a NeuralLog-UCB is among the top three: it has more clicks than all baselines ({name})",
            _clicks(name, ("NCBF-UCB", *LINEAR)),
            {"the better NeuralLog-UCB": _better(name)},
        )
        for name in ("m-20", "m-50", "m-100")
    ),
    *(
        rules.chain(
            f"NeuralLog-UCB-2 is among the top three: it has more clicks than the other UCBs ({name})",
            _clicks(name, ("NCBF-UCB", *LINEAR, "NeuralLog-UCB-1")),
            _clicks(name, ("NeuralLog-UCB-2",)),
        )
        for name in ("m-20", "kappa-100", "kappa-200")
    ),
)
