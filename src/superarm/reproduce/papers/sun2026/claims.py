"""What must come out of sun2026's experiments."""

from __future__ import annotations

from superarm.experiments import rules
from superarm.experiments.claims import Claim
from superarm.experiments.runs import Quantity, lowest, total
from superarm.reproduce.papers.sun2026.methods import baselines, labels_of

# The factor l by which restarts can raise a regret bound, `superarm.anytime.loss_constant(100, GROWTH)`:
# written down, since importing that function loads JAX; a test compares the two.
RESTART_LOSS = 3.3362434808698533


def _regret(label: str, setting: str) -> Quantity:
    return total(setting, label)


def competitive(score: str, setting: str, where: str = "") -> tuple[Claim, ...]:
    """Claims of a panel of figure 1."""
    labels = labels_of(score)
    ensemble = labels[0]
    best = lowest(*(_regret(label, setting) for label in baselines(score)))
    return (
        rules.not_worse(
            f"{ensemble} is competitive with the best baseline{where}", _regret(ensemble, setting), best
        ),
        *(
            rules.not_worse(
                f"{ensemble} with its perturbation chosen as the baselines' numbers were is competitive with "
                f"the best baseline{where}",
                _regret(label, setting),
                best,
            )
            for label in labels
            if label.endswith("-tuned")
        ),
        *(
            rules.below(
                f"restarts cost {label} no more than the factor l = {RESTART_LOSS:.2f}{where}",
                _regret(label, setting),
                _regret(ensemble, setting),
                factor=RESTART_LOSS,
            )
            for label in (f"{ensemble}-DT100", f"{ensemble}-DT300")
        ),
    )


def _glm(label: str) -> Quantity:
    return total("logistic", label)


def _net(label: str) -> Quantity:
    return total("quadratic", label)


ENSEMBLE_SIZE = (
    rules.below("5 members are worse than 10", _glm("m-10"), _glm("m-5")),
    rules.more_variable("5 members vary more than 10", _glm("m-5"), _glm("m-10")),
    rules.not_worse("10 members are hardly worse than 50", _glm("m-10"), _glm("m-50")),
)

REGULARIZATION = tuple(
    rules.below(f"lambda = 1 is better than {other}", _glm("lambda-1"), _glm(f"lambda-{other}"))
    for other in ("0.01", "0.1", "10", "100")
)

PERTURBATION = tuple(
    rules.below(f"sigma_R = 0.1 is better than {other}", _glm("sigma-0.1"), _glm(f"sigma-{other}"))
    for other in ("0.001", "0.01", "0.5", "2")
)

NETWORK = (
    rules.below("a very small network (N = 5) is worse", _net("L3-N20"), _net("L3-N5")),
    *(
        rules.below(
            f"width helps more than depth (N = 40 against L = {depth})",
            _net("L3-N40"),
            _net(f"L{depth}-N20"),
        )
        for depth in (4, 5)
    ),
    rules.not_worse("larger networks gain little (N = 20 against 40)", _net("L3-N20"), _net("L3-N40")),
)

SCHEDULES = (
    *(
        rules.ratio_within(
            f"T_0 has little effect: {first} against 100",
            _glm(f"T0-{first}-b-2.6"),
            _glm("T0-100-b-2.6"),
            1.0,
            relative=0.1,
        )
        for first in (30, 300, 1000)
    ),
    *(
        rules.below(f"b far from 2.6 is worse: {b}", _glm("T0-100-b-2.6"), _glm(f"T0-100-b-{b}"))
        for b in ("1.3", "6", "15")
    ),
)

LARGE = (
    *competitive("logistic", "logistic", " (logistic)"),
    *competitive("quadratic", "quadratic", " (quadratic)"),
)


def _spent(label: str, setting: str, *, choice: bool) -> Quantity:
    chosen = total(setting, label, column="choice_seconds")
    if choice:
        return chosen
    spent = total(setting, label, column="seconds")
    return lambda runs: spent(runs) - chosen(runs)


def runtime(labels: tuple[str, ...], perturbed: str) -> tuple[Claim, ...]:
    """Claims about the times of choosing and of updating; labels[0] is the ensemble."""
    ensemble = labels[0]
    sums, plain = "sums-per-arm", "plain-history"
    return (
        *(
            rules.below(
                f"{ensemble} is cheaper at choice than {label}",
                _spent(ensemble, sums, choice=True),
                _spent(label, sums, choice=True),
            )
            for label in labels[1:]
            if label in ("Neural-UCB", "Neural-TS", "GLM-UCB", "GLM-TSL")
        ),
        rules.below(
            f"with plain histories a member of {ensemble} is cheaper at update than {perturbed}",
            _spent(f"{ensemble}-member", plain, choice=False),
            _spent(perturbed, plain, choice=False),
        ),
    )


def on_classes(name: str) -> tuple[Claim, ...]:
    """Claims of a panel of figure 5."""

    def regret(label: str) -> Quantity:
        return total(name, label)

    families = {
        "Lin-ES": ("Lin-UCB", "Lin-TS"),
        "GLM-ES": ("GLM-UCB", "GLM-TSL"),
        "Neural-ES": ("Neural-UCB", "Neural-TS", "Neural-PHE"),
    }
    return (
        *(
            rules.not_worse(
                f"{ensemble} is not worse than the best of {', '.join(others)}",
                regret(ensemble),
                lowest(*(regret(label) for label in others)),
            )
            for ensemble, others in families.items()
        ),
        rules.below("Neural-ES is below Lin-ES", regret("Neural-ES"), regret("Lin-ES")),
        rules.below("GLM-ES is below Lin-ES", regret("GLM-ES"), regret("Lin-ES")),
    )
