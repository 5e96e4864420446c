"""Tables of runs that are written by hand, for claims and figures."""

from __future__ import annotations

import pandas as pd

from superarm.experiments.claims import judge
from superarm.experiments.runs import Runs


def table_of(regrets, *, value=3.0, best=4.0):
    """Rows from {(setting, policy): [[regret per round] per seed]}."""
    rows = [
        {
            "setting": setting,
            "policy": policy,
            "seed": seed,
            "round": index + 1,
            "regret": regret,
            "realized_regret": regret,
            "reward": value,
            "value": value,
            "best": best,
            "seconds": 0.5,
        }
        for (setting, policy), seeds in regrets.items()
        for seed, per_seed in enumerate(seeds)
        for index, regret in enumerate(per_seed)
    ]
    return pd.DataFrame(rows)


def runs_of(regrets, axis=None, **options):
    names = {setting: None for setting, _ in regrets}
    return Runs(table_of(regrets, **options), axis or names)


def one_round(values):
    """A run of one round per value, one seed each."""
    return [[value] for value in values]


def verdict(claim, runs):
    return judge([claim], runs)[0]
