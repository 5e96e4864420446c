"""The figures of bae2026's section 7 and appendices A and J: each with its plan, its claims and its note."""

from __future__ import annotations

from collections.abc import Mapping

from superarm.experiments.experiment import Experiment, Figure
from superarm.reproduce.papers.bae2026 import claims
from superarm.reproduce.papers.bae2026.data import DATA, class_problem, invented_classes
from superarm.reproduce.papers.bae2026.methods import TRAININGS, tunables
from superarm.reproduce.papers.bae2026.plans import (
    FORMULAS,
    LATENTS,
    POOL,
    POOLS,
    SMALL,
    Panels,
    latent_problem,
)
from superarm.reproduce.papers.bae2026.replay import published_rates, replay_plan

REFERENCE = "Bae & Lee (2026)"

NOTE = (
    "Each method has the nu and lambda that are best for it over the paper's grid on seeds 1000 and 1001 "
    "(NCBF-UCB with Adam on h1: to 1002), 1,000 rounds each, on data sets from all rows. Intervals are 95 % "
    "(the paper's bands 96 %). The paper prints no exploration bonus, only its orders; ours is stated in "
    "`superarm.policies.bae2026`. 'descent': gradient steps as the paper writes, on the mean loss; 'adam': "
    "Adam at the same rate. "
)

PHONEME = (
    "The paper cites the Nettalk corpus for its phoneme data; this is the ELENA project's phoneme data set."
)

FLAT = (
    "h5 as printed leaves nothing to learn: x'Theta'Theta x is about 44 in 20 dimensions, so that every "
    "arm's chance of a reward is above 0.999, and chance choices cost less than 1e-6 a round. "
)

MNIST = "Here nu and lambda are chosen on seed 1000 alone. "


def _experiment(
    name: str, title: str, where: str, plan: Panels, settings: Mapping[str, str], note: str = ""
) -> Experiment:
    return Experiment(
        id=f"bae2026/{name}",
        title=title,
        reference=f"{REFERENCE}, {where}",
        plan=plan,
        claims=claims.of_panels(settings),
        figure=Figure("panels", "round", "cumulative regret"),
        note=NOTE + note,
        tunables=tunables() if len(plan.problems) == 1 else {},
    )


BOTH = {training: f" ({training})" for training in TRAININGS}

SYNTHETIC = tuple(
    _experiment(
        name,
        f"Binary rewards with log-odds {FORMULAS[name]}",
        f"figure {1 if name in LATENTS[:3] else 4}",
        Panels((latent_problem(name, POOL),), SMALL),
        BOTH,
        FLAT if name == "h5" else "",
    )
    for name in LATENTS
)

DIMENSIONS = tuple(
    _experiment(
        f"dimension-{level}",
        f"Effective dimension, {level}: {pool:,} distinct context vectors",
        "figures 3 and 6",
        Panels(tuple(latent_problem(name, pool) for name in LATENTS), SMALL, trainings=("adam",)),
        {name: f" ({name})" for name in LATENTS},
        "Training is 'adam'; nu and lambda are those of the same log-odds with 2,500 vectors. " + FLAT,
    )
    for level, pool in POOLS.items()
)

REAL = tuple(
    _experiment(
        name,
        f"Classification as a bandit: {name}",
        f"figure {figure}",
        Panels((class_problem(name),), invented_classes()),
        BOTH,
        {"phoneme": PHONEME, "mnist": MNIST}.get(name, ""),
    )
    for name, figure in DATA.items()
)

OPEN_BANDIT = Experiment(
    id="bae2026/open-bandit",
    title="Replay on the Open Bandit data: five arms, 2,000 accepted events",
    reference=f"{REFERENCE}, figures 7 to 9, table 2",
    plan=replay_plan,
    claims=claims.OPEN_BANDIT,
    figure=Figure("reward", "accepted event", "clicks"),
    note=(
        "The public sample has 10,000 events and 38 clicks: click rates from it mean little. A run goes "
        "through it up to five times, reshuffled, and the arms of an event are the same in all runs, so that "
        "intervals are too narrow. With the folder of the full data set in SUPERARM_OPEN_BANDIT the same "
        "command runs on that. Training is 'descent', with nu and lambda of h1. " + published_rates()
    ),
)

EXPERIMENTS = (*SYNTHETIC, *DIMENSIONS, *REAL, OPEN_BANDIT)
