"""The figures of sun2026's section 7 and appendix F: each with its plan, its claims, and its notes."""

from __future__ import annotations

from functools import partial

from superarm.experiments.claims import Claim
from superarm.experiments.experiment import Aside, Experiment, Figure
from superarm.reproduce.papers.sun2026 import claims
from superarm.reproduce.papers.sun2026.data import LOADERS, POOL, classes_plan
from superarm.reproduce.papers.sun2026.methods import GRID, tunables
from superarm.reproduce.papers.sun2026.plans import LARGE, TIMED_GLM, TIMED_NEURAL, Case, Cases, timed_cases

REFERENCE = "Sun, Wang & Xu (2026), Provable anytime ensemble sampling"
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

ARMS = (
    "Every class is an arm, with the row's features in a block of its own; a row is drawn per round, "
    f"from {POOL:,} at most that are drawn per seed. Rewards are 1 for the right class and 0 otherwise. "
    "As the paper says, settings are those of the simulated worlds, here with explorations chosen "
    "there. Contexts change, so that warm-ups are uniform (500 rounds for generalized linear models, "
    "which linear ones do not pay, 50 for networks), and sums per arm do not do: a likelihood is fitted "
    "every 50 rounds, and a network every 20 rounds by 100 Adam steps of 0.003 on 256 observations "
    "each. For Covertype, whose features are 378, likelihoods are fitted every 100 rounds to a sample "
    "of 2,000 observations, which lets GLM-ES and GLM-TSL explore for longer than GLM-UCB."
)


def _panel(score: str, letter: str, note: str) -> Experiment:
    return Experiment(
        id=f"sun2026/{score}",
        title=f"Ensemble sampling, {score} means: 50 arms that stay, d = 20",
        reference=f"{REFERENCE}, figure 1({letter})",
        plan=Cases({score: Case.figure(score)}),
        claims=claims.competitive(score, score),
        figure=Figure("regret", "round", "cumulative regret", band="deviation"),
        note=OPEN + CHOSEN + note,
        tunables=tunables(score),
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
    sweep_claims: tuple[Claim, ...],
    note: str,
    aside: Aside | None = None,
) -> Experiment:
    return Experiment(
        id=f"sun2026/{name}",
        title=title,
        reference=f"{REFERENCE}, {reference}",
        plan=Cases({case.score: case}, smoke=len(case.methods)),
        claims=sweep_claims,
        figure=Figure("regret", "round", "cumulative regret", band="deviation", aside=aside),
        note=OPEN + note,
    )


SWEEPS = (
    _sweep(
        "ensemble-size",
        "GLM-ES by the number of members",
        "figure 2(a)",
        Case.variants("logistic", "GLM-ES", **{f"m_{m}": {"size": m} for m in (5, 10, 20, 50)}),
        claims.ENSEMBLE_SIZE,
        GLM,
    ),
    _sweep(
        "regularization",
        "GLM-ES by the regularization lambda",
        "figure 2(b)",
        Case.variants(
            "logistic", "GLM-ES", **{f"lambda_{v:g}": {"ridge": v} for v in (0.01, 0.1, 1.0, 10.0, 100.0)}
        ),
        claims.REGULARIZATION,
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
        claims.PERTURBATION,
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
        claims.NETWORK,
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
        claims.SCHEDULES,
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
        claims=claims.LARGE,
        figure=Figure("panels", "round", "cumulative regret", band="deviation"),
        note=OPEN + CHOSEN + GLM + NEURAL + TRAINED + "Explorations are those chosen at 50 arms and d = 20.",
    ),
)


def _runtime(score: str, letter: str, labels: tuple[str, ...], perturbed: str, note: str) -> Experiment:
    return Experiment(
        id=f"sun2026/{score}-runtime",
        title=f"Time of choosing and of updating, {score} means",
        reference=f"{REFERENCE}, figure 1({letter})",
        plan=Cases(timed_cases(score, labels), seeds=3, rounds=2_000, timed=True),
        claims=claims.runtime(labels, perturbed),
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

CLASSES = tuple(
    Experiment(
        id=f"sun2026/{name}",
        title=f"Ensemble sampling, classes as arms: {name}",
        reference=f"{REFERENCE}, figure 5({letter})",
        plan=partial(classes_plan, name),
        claims=claims.on_classes(name),
        figure=Figure("regret", "round", "cumulative regret", band="deviation"),
        note=ARMS,
    )
    for name, letter in zip(LOADERS, "abcd", strict=True)
)

EXPERIMENTS = (*PANELS, *RUNTIMES, *SWEEPS, *LARGER, *CLASSES)
