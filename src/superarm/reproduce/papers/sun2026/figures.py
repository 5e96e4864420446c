"""sun2026: ensemble sampling on arms that stay (figures 1 to 4).

Sun, Wang & Xu (2026), Provable anytime ensemble sampling algorithms in nonlinear contextual bandits,
arXiv:2510.10730.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from superarm.experiments import rules
from superarm.experiments.claims import Claim
from superarm.experiments.experiment import Aside, Experiment, Figure, Tunable
from superarm.experiments.runs import Quantity, lowest, total
from superarm.reproduce.papers.sun2026.cases import Case, Cases
from superarm.reproduce.papers.sun2026.methods import GRID, baselines, explored_by, labels_of, policy_of

REFERENCE = "Sun, Wang & Xu (2026), Provable anytime ensemble sampling"
LARGE = {"dim": 50, "num_arms": 500}
OPEN = "The paper leaves open how arms and theta are drawn; here both are uniform on the unit sphere. "
CHOSEN = (
    "It says nothing of its baselines' settings: the one number that sets a baseline's exploration was "
    f"chosen over {', '.join(f'{value:g}' for value in GRID)} on seeds from 1000, which are not reported (20 "
    "of them for linear means, 10 for logistic ones, and for networks 6, over 3,000 rounds). "
)
GLM = (
    "All methods share the warm-up of 500 rounds by a G-optimal design, which restarts cut to half of a "
    "shorter epoch, and are fitted by Newton's method to the optimum; 100 gradient steps of 0.01 on the "
    "summed loss, as the paper says, are unstable. "
)
TRAINED = (
    "Networks are warmed up by each arm once (cut to half of a shorter epoch) and trained by 100 steps of "
    "0.01 on the mean loss. "
)
NEURAL = (
    "All methods share a network with L = 3 and N = 20. Neural-UCB and Neural-TS have a diagonal width. "
    "Neural-ES stays at the paper's perturbation of 0.1, not one chosen as its baselines' numbers were. "
)


def _regret(label: str, setting: str) -> Quantity:
    return total(setting, label)


def _competitive(score: str, setting: str, where: str = "") -> tuple[Claim, ...]:
    """Claims of a panel of figure 1."""
    from superarm.policies.anytime import GROWTH, loss_constant

    labels = labels_of(score)
    ensemble = labels[0]
    best = lowest(*(_regret(label, setting) for label in baselines(score)))
    factor = loss_constant(100, GROWTH)
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
                f"restarts cost {label} no more than the factor l = {factor:.2f}{where}",
                _regret(label, setting),
                _regret(ensemble, setting),
                factor=factor,
            )
            for label in (f"{ensemble}-DT100", f"{ensemble}-DT300")
        ),
    )


def _tunables(score: str) -> dict[str, Tunable]:
    return {
        label: Tunable(partial(_explored, label, score), {"exploration": GRID})
        for label in labels_of(score)
        if explored_by(label)
    }


def _explored(label: str, score: str, world: Any, *, exploration: float) -> Any:
    return policy_of(label, score, world, exploration=exploration)


def _panel(score: str, letter: str, note: str) -> Experiment:
    return Experiment(
        id=f"sun2026/{score}",
        title=f"Ensemble sampling, {score} means: 50 arms that stay, d = 20",
        reference=f"{REFERENCE}, figure 1({letter})",
        plan=Cases({score: Case.figure(score)}),
        claims=_competitive(score, score),
        figure=Figure("regret", "round", "cumulative regret", band="deviation"),
        note=OPEN + CHOSEN + note,
        tunables=_tunables(score),
    )


PANELS = (
    _panel("linear", "a", "Lin-ES has no warm-up."),
    _panel("logistic", "b", GLM),
    _panel("distance", "d", NEURAL + TRAINED + "Fits are made every round."),
    _panel("quadratic", "e", NEURAL + TRAINED + "Fits are made every round."),
)


def _constant(first: int, growth: float) -> float:
    from superarm.policies.anytime import loss_constant

    return loss_constant(first, growth)


CONSTANT = Aside(
    lines={f"T_0 = {first}": partial(_constant, first) for first in (30, 100, 300, 1000)},
    low=1.2,
    high=15.0,
    x_label="b",
    y_label="l(T_0, b)",
)


def _sweep(
    name: str,
    title: str,
    reference: str,
    case: Case,
    claims: tuple[Claim, ...],
    note: str,
    aside: Aside | None = None,
) -> Experiment:
    return Experiment(
        id=f"sun2026/{name}",
        title=title,
        reference=f"{REFERENCE}, {reference}",
        plan=Cases({case.score: case}, smoke=len(case.methods)),
        claims=claims,
        figure=Figure("regret", "round", "cumulative regret", band="deviation", aside=aside),
        note=OPEN + note,
    )


def _glm(label: str) -> Quantity:
    return total("logistic", label)


def _net(label: str) -> Quantity:
    return total("quadratic", label)


SWEEPS = (
    _sweep(
        "ensemble-size",
        "GLM-ES by the number of members",
        "figure 2(a)",
        Case.variants("logistic", "GLM-ES", **{f"m_{m}": {"size": m} for m in (5, 10, 20, 50)}),
        (
            rules.below("5 members are worse than 10", _glm("m-10"), _glm("m-5")),
            rules.more_variable("5 members vary more than 10", _glm("m-5"), _glm("m-10")),
            rules.not_worse("10 members are hardly worse than 50", _glm("m-10"), _glm("m-50")),
        ),
        GLM,
    ),
    _sweep(
        "regularization",
        "GLM-ES by the regularization lambda",
        "figure 2(b)",
        Case.variants(
            "logistic", "GLM-ES", **{f"lambda_{v:g}": {"ridge": v} for v in (0.01, 0.1, 1.0, 10.0, 100.0)}
        ),
        tuple(
            rules.below(f"lambda = 1 is better than {other}", _glm("lambda-1"), _glm(f"lambda-{other}"))
            for other in ("0.01", "0.1", "10", "100")
        ),
        GLM,
    ),
    _sweep(
        "perturbation",
        "GLM-ES by the perturbation sigma_R",
        "figure 2(c)",
        Case.variants(
            "logistic",
            "GLM-ES",
            **{f"sigma_{v:g}": {"exploration": v} for v in (0.001, 0.01, 0.1, 0.5, 2.0)},
        ),
        tuple(
            rules.below(f"sigma_R = 0.1 is better than {other}", _glm("sigma-0.1"), _glm(f"sigma-{other}"))
            for other in ("0.001", "0.01", "0.5", "2")
        ),
        GLM,
    ),
    _sweep(
        "network",
        "Neural-ES by the network's depth L and width N",
        "figure 2(d)",
        Case.variants(
            "quadratic",
            "Neural-ES",
            L3_N20={},
            L3_N5={"units": 5},
            L3_N10={"units": 10},
            L3_N40={"units": 40},
            L2_N20={"depth": 2},
            L4_N20={"depth": 4},
            L5_N20={"depth": 5},
        ),
        (
            rules.below("a very small network (N = 5) is worse", _net("L3-N20"), _net("L3-N5")),
            *(
                rules.below(
                    f"width helps more than depth (N = 40 against L = {depth})",
                    _net("L3-N40"),
                    _net(f"L{depth}-N20"),
                )
                for depth in (4, 5)
            ),
            rules.not_worse(
                "larger networks gain little (N = 20 against 40)", _net("L3-N20"), _net("L3-N40")
            ),
        ),
        TRAINED,
    ),
    _sweep(
        "anytime-schedules",
        "GLM-ES with restarts, by T_0 and b",
        "figure 3",
        Case.variants(
            "logistic",
            "GLM-ES-DT100",
            T0_100_b_2={"growth": 2.0},
            **{f"T0_{first}_b_2.6": {"first": first} for first in (30, 100, 300, 1000)},
            **{f"T0_100_b_{growth:g}": {"growth": growth} for growth in (1.3, 6.0, 15.0)},
        ),
        (
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
        ),
        GLM + "T_0 = 30 begins its last epoch at round 9,659, the others earlier.",
        aside=CONSTANT,
    ),
)

LARGER = (
    Experiment(
        id="sun2026/large",
        title="Ensemble sampling with 500 arms, d = 50",
        reference=f"{REFERENCE}, figure 4",
        plan=Cases(
            {
                "logistic": Case.figure("logistic", LARGE),
                "quadratic": Case.figure("quadratic", LARGE, learn_every=20),
            },
            words="the networks are fitted every 20 rounds instead of every round",
        ),
        claims=(
            *_competitive("logistic", "logistic", " (logistic)"),
            *_competitive("quadratic", "quadratic", " (quadratic)"),
        ),
        figure=Figure("panels", "round", "cumulative regret", band="deviation"),
        note=OPEN + CHOSEN + GLM + NEURAL + TRAINED + "Explorations are those chosen at 50 arms and d = 20.",
    ),
)


def _spent(label: str, setting: str, *, choice: bool) -> Quantity:
    chosen = total(setting, label, column="choice_seconds")
    if choice:
        return chosen
    spent = total(setting, label, column="seconds")
    return lambda runs: spent(runs) - chosen(runs)


TIMED_NEURAL = ("Neural-ES", "Neural-UCB", "Neural-TS", "Neural-PHE")
TIMED_GLM = ("GLM-ES", "GLM-UCB", "GLM-TSL", "GLM-FPL", "EVILL")


def _timed(score: str, labels: tuple[str, ...]) -> dict[str, Case]:
    """Sums per arm, and plain histories with one member, as m machines in parallel would have."""
    ensemble = labels[0]
    one: dict[str, Any] = {"memory": "all", "size": 1}
    whole: dict[str, Any] = {"memory": "all"}
    plain = {label: (label, whole) for label in labels if label.endswith(("-PHE", "-FPL"))}
    plain |= {f"{ensemble}-member": (ensemble, one)}
    return {
        "sums-per-arm": Case(score, {label: (label, {}) for label in labels}),
        "plain-history": Case(score, plain),
    }


def _runtime(score: str, letter: str, labels: tuple[str, ...], perturbed: str, note: str) -> Experiment:
    ensemble = labels[0]
    sums, plain = "sums-per-arm", "plain-history"
    return Experiment(
        id=f"sun2026/{score}-runtime",
        title=f"Time of choosing and of updating, {score} means",
        reference=f"{REFERENCE}, figure 1({letter})",
        plan=Cases(_timed(score, labels), seeds=3, rounds=2_000, timed=True),
        claims=(
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
        ),
        figure=Figure("runtime", "ms per round", ""),
        note=(
            "Rounds are stepped one by one on one core; a call from Python, which all methods pay alike, is "
            "part of every number. Plain histories are those of the paper; the ensemble's member there is "
            "one of m that would run side by side. Both fit the same history, so that their updates differ "
            "by the perturbations alone, drawn here for all rounds of the run. " + note
        ),
    )


RUNTIMES = (
    _runtime("logistic", "c", TIMED_GLM, "GLM-FPL", GLM),
    _runtime("quadratic", "f", TIMED_NEURAL, "Neural-PHE", NEURAL + TRAINED),
)

EXPERIMENTS = (*PANELS, *RUNTIMES, *SWEEPS, *LARGER)
