"""The methods of oh2026's figures by their labels, such as NVLDB-UCB-ASYM."""

from __future__ import annotations

import math
from typing import Any

STRATEGIES = {"ASYM": "asymmetric", "OSYM": "optimistic", "CSYM": "candidate"}
LINEAR = ("uniform", "ColSTIM", "MaxPairUCB", "VACDB")
VARIANTS = tuple(f"{rule}-{short}" for rule in ("UCB", "TS") for short in STRATEGIES)
AWARE = tuple(f"NVLDB-{variant}" for variant in VARIANTS)
AGNOSTIC = tuple(f"NLDB-{variant}" for variant in VARIANTS)
BASELINES = ("VACDB", "ColSTIM", "NDB-UCB", "NDB-TS")

# Options of a method beside its label's.
RARELY: dict[str, Any] = {"learn_every": 10}
MAIN_TEXT: dict[str, Any] = {"units": 100, "learning_rate": 1e-3}

SELDOM = "NVLDB-UCB-ASYM+seldom"

MAIN: dict[str, dict[str, Any]] = {
    **{label: {} for label in (*AWARE, *BASELINES, "MaxPairUCB")},
    SELDOM: RARELY,
    "uniform": {},
}

OPTIMISTIC = tuple(f"NVLDB-UCB-{short}" for short in STRATEGIES)
CHEAPER: dict[str, Any] = {**RARELY, "batch": 64}
LAST, ALL = "NVLDB-UCB-ASYM", "NVLDB-UCB-ASYM+all-parameters"
RADII = (0.01, 0.1, 1.0, 10.0, 100.0)
SELF, ON = {"self_duels": True}, {"restart": False}


def policy_of(label: str, world: Any, rounds: int, **options: Any) -> Any:
    """Build a method by its label, such as NVLDB-UCB-ASYM; a "+" and what follows only names it."""
    import superarm

    name = label.split("+", maxsplit=1)[0]
    if name == "VACDB":
        return superarm.vacdb(rounds, radius=2.0 * math.sqrt(world.spec.dim * math.log(rounds)))
    plain = {
        "uniform": superarm.uniform_duel,
        "ColSTIM": superarm.colstim,
        "MaxPairUCB": superarm.max_pair_ucb,
        "NDB-UCB": superarm.ndb_ucb,
        "NDB-TS": superarm.ndb_ts,
    }
    if name in plain:
        return plain[name](**options)
    family, rule, short = name.split("-")
    build: Any = superarm.nvldb if family == "NVLDB" else superarm.nldb
    return build(rule=rule.lower(), strategy=STRATEGIES[short], **options)
