"""Logs from files and data frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from superarm import checks
from superarm.evaluate.logs.coba import coba_log
from superarm.evaluate.logs.log import Log
from superarm.evaluate.logs.long import long_log
from superarm.evaluate.logs.tables import opened
from superarm.evaluate.logs.wide import wide_log
from superarm.features.tables import Table

Layout = Literal["wide", "long", "open-bandit", "coba"]
# layout -> the names of its columns
LAYOUTS: dict[str, dict[str, Any]] = {
    "wide": {"features": ("x_*",)},
    "long": {"features": ("x_*",)},
    "open-bandit": {
        "action": "item_id",
        "reward": "click",
        "propensity": "propensity_score",
        "categories": ("position", "user_feature_*"),
        "per_arm": "user-item_affinity_*",
        "cross": False,
    },
    "coba": {"propensity": "probability"},
}
NAMES: dict[str, Any] = {
    "action": "action",
    "reward": "reward",
    "propensity": "propensity",
    "features": (),
    "categories": (),
    "per_arm": "",
    "cross": True,
}


@checks.named
def read_log(
    source: str | Path | Table,
    *,
    layout: Layout = "wide",
    action: str | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    features: Sequence[str] | None = None,
    categories: Sequence[str] | None = None,
    per_arm: str | None = None,
    arms: Sequence[object] | None = None,
    items: str | Path | Table | None = None,
    cross: bool | None = None,
    decision: str = "decision",
    chosen: str = "chosen",
    position: str = "",
    rows: int | None = None,
) -> Log:
    """Read a log with named columns from Parquet, comma-separated text, pandas, polars or Arrow.

    Columns by layout, with the names that hold unless you say others:

        wide         action, reward, propensity, x_*          one row per decision; every arm is on offer
        long         decision, chosen, reward, propensity, x_*    one row per arm on offer
        open-bandit  item_id, position, click, propensity_score, user_feature_*, user-item_affinity_*
        coba         context, actions, action, reward, probability

    In a wide table x are features of the event. An arm's features are its one-hot code times (1, x): x in the
    block of the arm, K (p + 1) in all. With `items`, a table of features z by arm, they are x and z side by
    side; `cross` adds all products. In a long table features are the arms' own; in every decision K arms are
    the most that any has, and the others are masked. A decision has one row that was chosen; or several, a
    set, with chances of being in it; or `position` says where in a ranking a row stood.

    Args:
        source: a path that ends in .parquet, .csv or .csv.gz, or a data frame.
        layout: "wide", "long", "open-bandit" or "coba".
        action: the column with the id of the chosen arm.
        reward: the column with what it earned; of a long table, read in chosen rows only.
        propensity: the column with the log's chance of it; "" where the log has none.
        features: columns of numbers; a name that ends in * stands for all that begin so.
        categories: columns of words, each made into one-hot columns in the order of its words.
        per_arm: of a wide table, columns with a number per arm: "affinity_*" for affinity_<id of the arm>.
        arms: the ids of the arms, in the order of the log's; by default all that the table has, by number or
            by letter.
        items: of a wide table, a source with a row per arm: its id, named as `action`, and its features.
        cross: whether arms' features are multiplied with those of the context; by default True, and False
            with `items` and for "open-bandit", where that would be many.
        decision: of a long table, the column with the id of the decision.
        chosen: of a long table, the column with 1 where the arm was chosen, else 0.
        position: of a long table, the column with the position from 1 where it was chosen, else 0 or empty.
        rows: read so many only, from the top.

    Raises:
        LogError: a ValueError, in one sentence: missing columns, or what is not a finite number, and in which
            row, from 0. What is too large is refused before memory is taken: a small file takes 1 GB at most,
            a large one in proportion to its size, and a log has 2^28 numbers (events x arms x features).

    Categories are coded as this table has them: read the events to learn from and those to judge by together,
    and part them with `Log.take`.

    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"action": ["b", "a"], "reward": [1, 0], "propensity": [0.5, 0.25], "x_1": [0.1, 0.2]}
    ... )
    >>> log = read_log(table)
    >>> log.actions.tolist(), log.contexts[0].tolist()
    ([1, 0], [[1.0, 0.0, 0.1, 0.0], [0.0, 1.0, 0.0, 0.1]])
    >>> read_log(table, reward="click", propensity="", features=())
    Traceback (most recent call last):
    ...
    superarm.evaluate.logs.tables.LogError: read_log: log must have columns action, click; missing click
    """
    where = "read_log"
    checks.one_of(where, "layout", layout, tuple(LAYOUTS))
    if rows is not None:
        checks.count(where, "rows", rows)
    own = NAMES | LAYOUTS[layout]
    if items is not None:
        own = own | {"cross": False}
    given = {
        "action": action,
        "reward": reward,
        "propensity": propensity,
        "features": (features,) if isinstance(features, str) else features,
        "categories": (categories,) if isinstance(categories, str) else categories,
        "per_arm": per_arm,
        "cross": cross,
    }
    told = own | {name: value for name, value in given.items() if value is not None}
    table = opened(where, "log", source, rows)
    if layout == "long":
        names = ("reward", "propensity", "features", "categories")
        wanted = {name: told[name] for name in names}
        return long_log(table, decision=decision, chosen=chosen, position=position, **wanted)
    if layout == "coba":
        wanted = {name: told[name] for name in ("action", "reward", "propensity", "cross")}
        return coba_log(table, arms=arms, **wanted)
    if told["per_arm"] and not told["per_arm"].endswith("*"):
        raise ValueError(f"{where}: per_arm must end in *, got {told['per_arm']!r}")
    return wide_log(table, arms=arms, items=items, **told)
