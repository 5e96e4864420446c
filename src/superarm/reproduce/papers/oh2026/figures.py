"""oh2026: neural variance-aware dueling bandits (figures 2, E.1, E.3 to E.11, tables E.2 and E.3).

Oh, Park & Paik (2026), Neural variance-aware dueling bandits with deep representation and shallow
exploration, arXiv:2506.01250.
"""

from __future__ import annotations

from superarm.experiments import rules
from superarm.experiments.experiment import Experiment
from superarm.reproduce.papers.oh2026.data import DATA_SETS
from superarm.reproduce.papers.oh2026.parts import (
    AGNOSTIC,
    AWARE,
    MAIN,
    MAIN_TEXT,
    NOTE,
    REFERENCE,
    REGRET,
    RIVALS,
    SELDOM,
    VARIANTS,
    below_rivals,
    falls,
    share,
)
from superarm.reproduce.papers.oh2026.plans import ROUNDS, WARM, Panels, synthetic
from superarm.reproduce.papers.oh2026.tables import TABLES

UTILITIES = ("cosine", "square", "quadratic")
WIDE = {"cosine": 10, "square": 20, "quadratic": 5}  # repetitions with networks of width 100

SYNTHETIC = tuple(
    Experiment(
        id=f"oh2026/{utility}",
        title=f"Duels with {utility} utilities",
        reference=f"{REFERENCE}, figures 2, E.1, E.3 and E.4",
        plan=Panels(
            {
                "d-5": synthetic(utility),
                "d-10": synthetic(utility, dim=10),
                "K-10": synthetic(utility, num_arms=10),
                "figure-2": synthetic(utility, own=WARM, seeds=WIDE[utility], **MAIN_TEXT),
            },
            MAIN,
        ),
        claims=(
            *(
                below_rivals(setting, label)
                for setting in ("d-5", "d-10", "K-10", "figure-2")
                for label in AWARE
            ),
            *(falls("d-5", label, ROUNDS) for label in AWARE),
            rules.not_worse(
                "NVLDB-UCB-ASYM fitted every 10 rounds is not worse than fitted every round (d-5)",
                share("d-5", SELDOM),
                share("d-5", "NVLDB-UCB-ASYM"),
            ),
        ),
        figure=REGRET,
        note=NOTE
        + RIVALS
        + "The panel figure-2 has the main text's width 100 and learning rate 0.001; NVLDB's network goes on "
        "from fit to fit there: the main text does not tell that it is set back, and its rows were at hand "
        "when this was decided (set back, one strategy had a like regret in a trial on other seeds). ",
    )
    for utility in UTILITIES
)

COMPARED = Experiment(
    id="oh2026/agnostic",
    title="Duels with and without variances",
    reference=f"{REFERENCE}, figures E.5 to E.7",
    plan=Panels(
        {utility: synthetic(utility) for utility in UTILITIES},
        {label: {} for label in (*AWARE, *AGNOSTIC, "uniform")},
    ),
    claims=tuple(
        rules.below(
            f"NVLDB-{variant} is below NLDB-{variant} ({utility})",
            share(utility, f"NVLDB-{variant}"),
            share(utility, f"NLDB-{variant}"),
        )
        for utility in UTILITIES
        for variant in VARIANTS
    )
    + tuple(falls(utility, label, ROUNDS) for utility in UTILITIES for label in AGNOSTIC),
    figure=REGRET,
    note=NOTE + "The paper says that NVLDB is generally below NLDB, not always. ",
)

RADII = (0.01, 0.1, 1.0, 10.0, 100.0)
RADIUS = Experiment(
    id="oh2026/radius",
    title="NVLDB-UCB-ASYM by the confidence width a_t",
    reference=f"{REFERENCE}, figure E.8",
    plan=Panels(
        {utility: synthetic(utility) for utility in UTILITIES},
        {**{f"NVLDB-UCB-ASYM+a-{radius:g}": {"radius": radius} for radius in RADII}, "uniform": {}},
    ),
    claims=tuple(
        rules.below(
            f"a moderate a_t is best: 1 against {other:g} ({utility})",
            share(utility, "NVLDB-UCB-ASYM+a-1"),
            share(utility, f"NVLDB-UCB-ASYM+a-{other:g}"),
        )
        for utility in UTILITIES
        for other in (0.01, 100.0)
    ),
    figure=REGRET,
    note=NOTE,
)

SELF, ON = {"self_duels": True}, {"restart": False}
FREED = {
    "NDB that may let an arm meet itself": ("NDB-UCB+self", "NDB-TS+self"),
    "NDB that may, and whose network goes on": ("NDB-UCB+self-on",),
}
ALIKE = Experiment(
    id="oh2026/self-duels",
    title="NVLDB and NDB on the same terms",
    reference=f"{REFERENCE}, listing 2; not in the paper",
    plan=Panels(
        {
            **{utility: synthetic(utility) for utility in UTILITIES},
            "figure-2": synthetic("square", own=WARM, seeds=3, **MAIN_TEXT),
        },
        {
            "NVLDB-UCB-ASYM": {},
            "NVLDB-UCB-ASYM+differing": {"self_duels": False},
            "NDB-UCB+self": SELF,
            "NDB-TS+self": SELF,
            "NDB-UCB+self-on": {**SELF, **ON},
            "uniform": {},
        },
    ),
    claims=tuple(
        rules.chain(
            f"NVLDB-UCB-ASYM is below {words} ({setting})",
            {"NVLDB-UCB-ASYM": share(setting, "NVLDB-UCB-ASYM")},
            {rival: share(setting, rival) for rival in rivals},
        )
        for setting in (*UTILITIES, "figure-2")
        for words, rivals in FREED.items()
    ),
    figure=REGRET,
    note=NOTE
    + "NDB's own code forces the two arms to differ, and so do our other experiments: with five arms even a "
    "policy that knows all then pays the gap of the second best arm in every round, 20 to 37 % of the "
    "average regret of chance. Here NDB may let an arm meet itself, as NVLDB does; in -on its network goes "
    "on from fit to fit; and in +differing NVLDB may not. ",
)

EXPERIMENTS = (*SYNTHETIC, COMPARED, RADIUS, ALIKE, *DATA_SETS, *TABLES)
