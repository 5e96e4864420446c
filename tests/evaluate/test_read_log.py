"""Logs from tables: four layouts, five kinds of source, and what is refused."""

from __future__ import annotations

import gzip
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm
from superarm.evaluate import LogError, off_policy, read_log
from superarm.evaluate.logs import room


class Stream:
    """A data frame of somebody's: it offers Arrow's C stream, as polars does, and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def sources(frame: pd.DataFrame, folder) -> dict[str, object]:
    """The same table in every form."""
    frame.to_csv(folder / "log.csv", index=False)
    frame.to_csv(folder / "log.csv.gz", index=False)
    frame.to_parquet(folder / "log.parquet")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return {
        "pandas": frame,
        "csv": str(folder / "log.csv"),
        "gzip": folder / "log.csv.gz",
        "parquet": folder / "log.parquet",
        "arrow": table,
        "stream": Stream(table),
        "polars": pl.from_arrow(table),
    }


def require_same(first, second) -> None:
    for one in fields(first):
        a, b = getattr(first, one.name), getattr(second, one.name)
        assert (a is None) == (b is None), one.name
        if a is not None:
            np.testing.assert_array_equal(a, b, err_msg=one.name)


WIDE = pd.DataFrame(
    {
        "action": ["b", "a", "c", "b"],
        "reward": [1.0, 0.0, 0.5, 0.25],
        "propensity": [0.5, 0.25, 0.25, 1.0],
        "x_1": [0.1, 0.2, 0.3, 0.4],
        "x_2": [1, 2, 3, 4],
        "segment": ["new", "old", "new", "old"],
        "score_a": [1.0, 2.0, 3.0, 4.0],
        "score_b": [5.0, 6.0, 7.0, 8.0],
        "score_c": [9.0, 10.0, 11.0, 12.0],
    }
)
ITEMS = pd.DataFrame({"action": ["c", "b", "a"], "price": [3.0, 2.0, 1.0], "colour": ["red", "red", "blue"]})


def test_a_wide_table_is_the_same_from_every_source(tmp_path):
    expected = None
    for name, source in sources(WIDE, tmp_path).items():
        log = read_log(source, categories=["segment"], per_arm="score_*")
        expected = expected or log
        require_same(log, expected)
        assert log.contexts.shape == (4, 3, 3 * 5 + 1), name
    assert expected.actions.tolist() == [1, 0, 2, 1]
    assert expected.rewards.tolist() == [1.0, 0.0, 0.5, 0.25]
    assert expected.propensities.tolist() == [0.5, 0.25, 0.25, 1.0]
    assert expected.mask is None


def test_arms_have_the_context_in_their_own_block():
    log = read_log(WIDE)
    for event in range(4):
        context = [1.0, WIDE["x_1"][event], WIDE["x_2"][event]]
        for arm in range(3):
            expected = np.zeros((3, 3))
            expected[:, arm] = context  # (1, x) by arm
            np.testing.assert_array_equal(log.contexts[event, arm], expected.ravel())


def test_items_stand_beside_the_context_or_are_crossed_with_it(tmp_path):
    log = read_log(WIDE, items=ITEMS)
    z = {"a": [1.0, 1.0, 0.0], "b": [2.0, 0.0, 1.0], "c": [3.0, 0.0, 1.0]}  # price, blue, red
    for event in range(4):
        x = [WIDE["x_1"][event], WIDE["x_2"][event]]
        for arm, name in enumerate("abc"):
            np.testing.assert_array_equal(log.contexts[event, arm], x + z[name])
    crossed = read_log(WIDE, items=ITEMS, cross=True)
    x, own = WIDE["x_1"][2], np.array(z["b"])
    expected = [x, 3.0, *own, *(x * own), *(3.0 * own)]
    np.testing.assert_allclose(crossed.contexts[2, 1], expected)
    ITEMS.to_csv(tmp_path / "items.csv")  # with the index of pandas, which is no feature
    require_same(read_log(WIDE, items=tmp_path / "items.csv"), log)


def test_arms_and_columns_are_as_told():
    log = read_log(WIDE, arms=["c", "b", "a", "d"], features=["x_2"], propensity="", rows=3)
    assert log.actions.tolist() == [1, 2, 0]
    assert log.contexts.shape == (3, 4, 8)
    assert log.propensities is None
    numbered = read_log(WIDE.assign(action=[10, 9, 2, 10]))
    assert numbered.actions.tolist() == [2, 1, 0, 2]  # by number, not by letter
    assert read_log(WIDE.assign(action=[10.0, 9.0, 2.0, 10.0]), arms=[2, 9, 10]).actions.tolist() == [
        2,
        1,
        0,
        2,
    ]
    beside = read_log(WIDE, cross=False, features="x_1")
    np.testing.assert_allclose(beside.contexts[1], np.column_stack([np.full(3, 0.2), np.eye(3)]))


LONG = pd.DataFrame(
    {
        "decision": ["u", "u", "v", "v", "v", "u"],
        "chosen": [0, 1, 1, 0, 0, 0],
        "reward": [np.nan, 2.0, 3.0, np.nan, np.nan, np.nan],
        "propensity": [np.nan, 0.5, 0.25, np.nan, np.nan, np.nan],
        "x_1": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)


def test_a_long_table_is_the_same_from_every_source(tmp_path):
    expected = None
    for source in sources(LONG, tmp_path).values():
        log = read_log(source, layout="long")
        expected = expected or log
        require_same(log, expected)
    assert expected.contexts[:, :, 0].tolist() == [[1.0, 2.0, 6.0], [3.0, 4.0, 5.0]]
    assert expected.actions.tolist() == [1, 0]
    assert expected.rewards.tolist() == [2.0, 3.0]
    assert expected.propensities.tolist() == [0.5, 0.25]
    assert expected.mask is None


def test_a_long_table_has_masks_sets_and_rankings(tmp_path):
    sets = LONG.assign(chosen=[1, 1, 1, 0, 0, 0], reward=1.0, propensity=0.5).iloc[:5]
    log = read_log(sets, layout="long")
    assert log.mask.tolist() == [[True, True, False], [True, True, True]]
    assert log.actions.tolist() == [[0, 1], [0, -1]]
    assert log.contexts[0, 2].tolist() == [0.0]
    assert not log.ranking
    ranked = LONG.assign(place=[2, 1, 1, np.nan, 2, np.nan], reward=[1, 2, 3, 0, 4, 0], propensity=0.5)
    expected = None
    for source in sources(ranked, tmp_path).values():
        log = read_log(source, layout="long", position="place")
        expected = expected or log
        require_same(log, expected)
    assert expected.actions.tolist() == [[1, 0], [0, 2]]
    assert expected.rewards.tolist() == [[2.0, 1.0], [3.0, 4.0]]
    assert expected.ranking


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_long_rows_come_in_any_order(seed, decisions):
    """Against plain dicts: decisions by first appearance, arms by their order within."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(decisions):
        size = int(rng.integers(1, 5))
        places = rng.permutation(size) + 1
        taken = int(rng.integers(1, min(size, 3) + 1))
        for place in places:
            shown = int(place) if place <= taken else 0
            rows.append((f"d{number}", shown, rng.normal(), rng.uniform(0.1, 1.0), rng.normal()))
    frame = pd.DataFrame(rows, columns=["decision", "place", "reward", "propensity", "x_1"])
    frame = frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)
    log = read_log(frame, layout="long", position="place")
    groups: dict[str, list[int]] = {}
    for row, name in enumerate(frame["decision"]):
        groups.setdefault(name, []).append(row)
    slots = frame["place"].max()
    assert log.contexts.shape == (decisions, max(map(len, groups.values())), 1)
    for event, members in enumerate(groups.values()):
        offered = np.ones(len(log.contexts[event]), bool) if log.mask is None else log.mask[event]
        assert offered.sum() == len(members)
        np.testing.assert_array_equal(log.contexts[event, : len(members), 0], frame["x_1"][members])
        for slot in range(slots):
            found = [arm for arm, row in enumerate(members) if frame["place"][row] == slot + 1]
            assert np.reshape(log.actions, (decisions, slots))[event, slot] == (found[0] if found else -1)
            if found:
                row = members[found[0]]
                assert np.reshape(log.rewards, (decisions, slots))[event, slot] == frame["reward"][row]
                chance = np.reshape(log.propensities, (decisions, slots))[event, slot]
                assert chance == frame["propensity"][row]


def open_bandit(events: int = 30, num_items: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "timestamp": "2019-11-24 00:00:34",
            "item_id": rng.integers(num_items, size=events),
            "position": rng.integers(1, 4, size=events),
            "click": rng.integers(2, size=events),
            "propensity_score": 1 / num_items,
        }
    )
    for place in range(4):
        frame[f"user_feature_{place}"] = rng.choice(["81ce", "03a5", "cef3"], size=events)
    for item in range(num_items):
        frame[f"user-item_affinity_{item}"] = rng.random(events).round(3)
    return frame


def test_the_open_bandit_format(tmp_path):
    frame = open_bandit()
    expected = None
    for source in sources(frame, tmp_path).values():
        log = read_log(source, layout="open-bandit")
        expected = expected or log
        require_same(log, expected)
    assert expected.actions.tolist() == frame["item_id"].tolist()
    assert expected.rewards.tolist() == frame["click"].tolist()
    assert set(expected.propensities) == {0.25}
    row, arm = 7, 2
    words = ["position", *(f"user_feature_{place}" for place in range(4))]
    codes = [[float(word == frame[name][row]) for word in sorted(frame[name].unique())] for name in words]
    own = frame[f"user-item_affinity_{arm}"][row]
    wanted = np.concatenate([*codes, np.eye(4)[arm], [own]])
    np.testing.assert_array_equal(expected.contexts[row, arm], wanted)
    items = pd.DataFrame(
        {"item_id": range(4), "item_feature_0": [0.1, 0.2, 0.3, 0.4], "item_feature_1": list("xyxy")}
    )
    described = read_log(frame, layout="open-bandit", items=items)
    assert described.contexts.shape[2] == expected.contexts.shape[2] - 4 + 3
    np.testing.assert_array_equal(described.contexts[row, arm, -4:], [0.3, 1.0, 0.0, own])


def coba_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "context": [(1.5, "red"), (2.0, "blue"), (0.0, "red")],
            "actions": [["a", "b"], ["a", "b", "c"], ["b", "c"]],
            "action": ["a", "c", "b"],
            "reward": [1.0, 0.0, 1.0],
            "probability": [0.5, 0.25, 0.5],
        }
    )


def test_cobas_columns(tmp_path):
    """Data frames hold the values of Python, text their repr."""
    frame = coba_frame()
    frame.to_csv(tmp_path / "coba.csv", index=False)
    assert "\"(1.5, 'red')\"" in (tmp_path / "coba.csv").read_text(encoding="utf-8")
    log = read_log(frame, layout="coba")
    require_same(read_log(tmp_path / "coba.csv", layout="coba"), log)
    assert log.actions.tolist() == [0, 2, 0]
    assert log.mask.tolist() == [[True, True, False], [True, True, True], [True, True, False]]
    assert log.propensities.tolist() == [0.5, 0.25, 0.5]
    beside = read_log(frame, layout="coba", cross=False)
    # number, blue, red; a, b, c
    np.testing.assert_array_equal(beside.contexts[0, 1], [1.5, 0.0, 1.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(beside.contexts[0, 2], np.zeros(6))
    x, z = np.array([2.0, 1.0, 0.0]), np.eye(3)[2]
    np.testing.assert_array_equal(log.contexts[1, 2], [*x, *z, *np.outer(x, z).ravel()])
    values = [
        {"context": None, "actions": [[1, 0], [0, 1]], "action": [0, 1], "reward": 1, "probability": 0.5},
        {"context": None, "actions": [[1, 0], [0, 1]], "action": [1, 0], "reward": 0, "probability": 0.5},
    ]
    assert (
        read_log(pa.Table.from_pylist(values), layout="coba").contexts.tolist()
        == [[[1.0, 0.0], [0.0, 1.0]]] * 2
    )
    assert read_log(pa.Table.from_pylist(values), layout="coba").actions.tolist() == [1, 0]


def test_cobas_dicts_in_text_values_and_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "context": [{"age": 3, "sex": "f"}, {"age": 4}],
            "actions": [[{"price": 1}, {"price": 2}], [{"price": 2}, {"colour": "red"}]],
            "action": [{"price": 2}, {"colour": "red"}],
            "reward": [1, 0],
            "probability": [0.5, 0.25],
        }
    )
    log = read_log(frame, layout="coba", cross=False)
    # age, sex f; colour red, price
    assert log.contexts[0].tolist() == [[3.0, 1.0, 0.0, 1.0], [3.0, 1.0, 0.0, 2.0]]
    assert log.contexts[1].tolist() == [[4.0, 0.0, 0.0, 2.0], [4.0, 0.0, 1.0, 0.0]]
    assert log.actions.tolist() == [1, 1]
    frame.to_parquet(tmp_path / "log.parquet")  # Arrow fills in the keys that are not there
    require_same(read_log(tmp_path / "log.parquet", layout="coba", cross=False), log)
    frame.to_csv(tmp_path / "log.csv")
    require_same(read_log(tmp_path / "log.csv", layout="coba", cross=False), log)
    as_json = frame.assign(context=['{"age": 3, "sex": "f"}', '{"age": 4}'])
    require_same(read_log(as_json, layout="coba", cross=False), log)


def test_cobas_actions_may_be_told():
    frame = coba_frame().drop(columns="actions")
    log = read_log(frame, layout="coba", arms=["a", "b", "c"])
    assert log.actions.tolist() == [0, 2, 1]
    assert log.mask is None
    with pytest.raises(
        LogError, match="log must have columns context, action, reward, probability, actions; missing"
    ):
        read_log(frame, layout="coba")
    digits = pd.DataFrame(
        {"context": [1], "actions": [["1", "2"]], "action": ["2"], "reward": [1], "probability": [1]}
    )
    assert read_log(digits, layout="coba").actions.tolist() == [1]  # ids that look like numbers


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("action", ["z", "c", "b"], "action must be one of actions, got 'z' in row 0"),
        (
            "actions",
            [["a", "a"], ["c"], ["b"]],
            "actions must be a list of what was on offer, each once, got .* in row 0",
        ),
        ("actions", [[], ["c"], ["b"]], "actions must be a list of what was on offer, .* in row 0"),
        ("context", ["(1", "2", "3"], r"context must be JSON, or a Python literal, got '\(1' in row 0"),
        ("context", ["1", "[" * 5000, "3"], "context must be JSON, or a Python literal, got .* in row 1"),
        (
            "context",
            ["1", "2", "[nan]"],
            r"context must be JSON, or a Python literal, got '\[nan\]' in row 2",
        ),
        ("context", ["1", "2", "[1e999]"], "context must be made of finite numbers, .*, got 'inf' in row 2"),
        ("context", ["1", "[[[[[1]]]]]", "3"], "context must be made of finite numbers, .* in row 1"),
        (
            "context",
            ["1", "2", "x" * 100_001],
            "context must have at most 100000 characters, got 100001 in row 2",
        ),
        ("probability", [0.5, 0.0, 1.0], "probability must be > 0 and at most 1, got 0.0 in row 1"),
        ("reward", ["1", "2", "many"], "reward must be a finite number, got 'many' in row 2"),
    ],
)
def test_bad_cells_of_coba_are_said_with_their_row(column, values, message):
    with pytest.raises(LogError, match=rf"^read_log: {message}$"):
        read_log(coba_frame().assign(**{column: values}), layout="coba")


def test_text_is_never_evaluated(tmp_path):
    """A word that would be code is a word."""
    target = tmp_path / "made"
    words = [f"__import__('pathlib').Path({str(target)!r}).touch()"] * 3
    log = read_log(coba_frame().assign(context=words), layout="coba")
    assert log.contexts.shape[2] == 1 + 3 + 3
    assert not target.exists()


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({"reward": [1.0, np.nan, 0.0, 0.0]}, {}, "reward must be a finite number, got None in row 1"),
        ({"reward": [1.0, np.inf, 0.0, 0.0]}, {}, "reward must be a finite number, got inf in row 1"),
        ({"x_1": ["1", "2", "x", "3"]}, {}, "x_1 must be a finite number, got 'x' in row 2"),
        ({"x_1": [[1], [2], [3], [4]]}, {}, r"x_1 must be a finite number, got \[1\] in row 0"),
        ({"propensity": [0.5, 0.0, 1.0, 1.0]}, {}, "propensity must be > 0 and at most 1, got 0.0 in row 1"),
        ({"propensity": [0.5, 1.5, 1.0, 1.0]}, {}, "propensity must be > 0 and at most 1, got 1.5 in row 1"),
        (
            {"action": ["a", None, "b", "c"]},
            {},
            "action must be an id, a word or a whole number, got None in row 1",
        ),
        ({"action": [1.5, 1, 1, 1]}, {}, "action must be an id, a word or a whole number, got 1.5 in row 0"),
        ({}, {"arms": ["a", "b"]}, "action must be one of the 2 arms, got 'c' in row 2"),
        ({}, {"arms": ["a", "a"]}, r"arms must be there, each once, got \['a', 'a'\]"),
        (
            {},
            {"reward": "click", "propensity": ""},
            "log must have columns action, click, x_1, x_2; missing click",
        ),
        (
            {},
            {"per_arm": "score_*", "arms": list("abcd")},
            r"log must have a column score_\* for every arm; missing score_d",
        ),
        ({}, {"items": ITEMS.iloc[:2]}, "items must have a row for every arm; missing action a"),
        ({}, {"items": pd.concat([ITEMS, ITEMS])}, "items must have an arm once, got action c again"),
        ({}, {"items": ITEMS[["action"]]}, "items must have columns beside action, got none"),
    ],
)
def test_what_does_not_fit_is_said_with_its_row(changed, options, message):
    with pytest.raises(LogError, match=rf"^read_log: {message}$"):
        read_log(WIDE.assign(**changed), **options)


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({"chosen": [0, 2, 1, 0, 0, 0]}, {}, "chosen must be 1 where chosen, else 0, got 2 in row 1"),
        (
            {"chosen": [0, 1, 0, 0, 0, 0]},
            {},
            "every decision must have a row that was chosen, got none for 'v'",
        ),
        ({"reward": np.nan}, {}, "reward must be a finite number, got None in row 1"),
        ({"propensity": 0.0}, {}, "propensity must be > 0 and at most 1, got 0.0 in row 1"),
        ({}, {"features": "y_*"}, r"log must have feature columns y_\*, got none"),
        (
            {"place": [1, 1, 1, 0, 0, 0], "reward": 1.0, "propensity": 1.0},
            {"position": "place"},
            "place must be there once in a decision, got 1 again in row 1",
        ),
        ({"place": 0.5}, {"position": "place"}, "place must be a position from 1, .*, got 0.5 in row 0"),
    ],
)
def test_what_does_not_fit_in_a_long_table_is_said(changed, options, message):
    with pytest.raises(LogError, match=rf"^read_log: {message}$"):
        read_log(LONG.assign(**changed), layout="long", **options)


HEADER = "action,reward,propensity,x_1\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.txt", b"", "log must end in .parquet, .csv, .csv.gz, got log.txt"),
        ("log.csv", b"", "cannot be read: Empty CSV file"),
        ("log.csv", HEADER.encode(), "log must have rows, got none"),
        (
            "log.csv",
            (HEADER + "a,1,0.5\n").encode(),
            "cannot be read: CSV parse error: .*Expected 4 columns, got 3",
        ),
        ("log.csv", (HEADER + "a,,0.5,1\n").encode(), "reward must be a finite number, got '' in row 0"),
        ("log.csv", (HEADER + "a,1,0.5,nan\n").encode(), "x_1 must be a finite number, got 'nan' in row 0"),
        ("log.csv", (HEADER + "a,1,0.5,0x1\n").encode(), "x_1 must be a finite number, got '0x1' in row 0"),
        ("log.csv", HEADER.encode() + b"\xff,1,0.5,1\n", "cannot be read: .*invalid UTF8 data"),
        (
            "log.csv",
            b"action,reward,propensity,x_1,x_1\na,1,1,1,1\n",
            "log must have a column once, got x_1 again",
        ),
        ("log.csv.gz", b"no gzip", "cannot be read: zlib"),
        (
            "log.csv.gz",
            gzip.compress(HEADER.encode() * 999, mtime=0)[:50],
            "cannot be read: Truncated compressed stream",
        ),
        ("log.parquet", b"PAR1 is not enough", "cannot be read: "),
    ],
)
def test_malformed_files_are_said_in_one_sentence(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LogError, match=message) as caught:
        read_log(tmp_path / name)
    assert str(caught.value).startswith("read_log: ")
    assert "\n" not in str(caught.value)


def test_other_bad_arguments_are_said(tmp_path):
    with pytest.raises(LogError, match=r"log must be a file, got .*none.csv"):
        read_log(tmp_path / "none.csv")
    with pytest.raises(
        TypeError, match="log must be a path, or a table of pandas, polars or Arrow, got list"
    ):
        read_log([1])
    with pytest.raises(
        ValueError, match="layout must be one of 'wide', 'long', 'open-bandit', 'coba', got 'tall'"
    ):
        read_log(WIDE, layout="tall")
    with pytest.raises(ValueError, match="per_arm must end in "):
        read_log(WIDE, per_arm="score_")
    with pytest.raises(ValueError, match="rows must be >= 1, got 0"):
        read_log(WIDE, rows=0)


def test_sizes_are_bounded(tmp_path, monkeypatch):
    """Before memory is taken: the message has what it would be."""
    monkeypatch.setattr(room, "MAX_NUMBERS", 30)
    with pytest.raises(LogError, match=r"at most 30 numbers .*, got 4 x 3 x 9; read fewer with rows="):
        read_log(WIDE)
    with pytest.raises(LogError, match=r"context must have .* and 3 numbers in all, got more by row 1"):
        read_log(coba_frame(), layout="coba")
    with pytest.raises(LogError, match="got 2 x 3 x 6"):
        read_log(LONG, layout="long", features=("x_1",), categories=("x_1",), rows=5)
    monkeypatch.setattr(room, "MAX_NUMBERS", 90)
    with pytest.raises(LogError, match="got 4 x 3 x 15"):
        read_log(coba_frame().iloc[[0, 1, 2, 0]], layout="coba")
    monkeypatch.setattr(room, "MAX_ROWS", 3)
    for source in sources(WIDE, tmp_path).values():
        with pytest.raises(LogError, match=r"log must have at most 3 rows and .* bytes, got 4 rows"):
            read_log(source, features=())
        assert read_log(source, features=(), rows=2, arms=["a", "b", "c"]).actions.tolist() == [1, 0]


def test_a_log_that_was_read_can_be_evaluated():
    rng = np.random.default_rng(0)
    x, actions = rng.normal(size=2000), rng.integers(2, size=2000)
    rewards = np.where(actions == 1, x, -x) + 0.5 * rng.normal(size=2000)
    frame = pd.DataFrame({"action": actions, "reward": rewards, "propensity": 0.5, "x_1": x})
    log = read_log(frame)
    best = np.eye(2)[(x > 0).astype(int)]
    found = off_policy(log, best)
    for method in ("direct", "ips", "snips", "dr"):
        row = found[method]
        assert row.low < np.sqrt(2 / np.pi) < row.high  # E|x|
    table = superarm.evaluate.replay(superarm.lin_ucb(), log, accepted=500)
    assert table["reward"].mean() > 0.6
