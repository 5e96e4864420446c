"""The Open Bandit Dataset: reading it, and turning it into a log, on small files made here."""

from __future__ import annotations

import gzip
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import superarm
from superarm.datasets import FILES, DataError, load_open_bandit
from superarm.datasets.open_bandit import parse_open_bandit
from superarm.evaluate import open_bandit_log, replay
from superarm.evaluate.logs.open_bandit import compressed

REAL = os.environ.get("SUPERARM_DATA", "")
NUM_ITEMS = 8


def made_rows(events: int = 60, seed: int = 0, affinity: str = "distinct"):
    """(item, position, click, users, affinities) per event, and (number, codes) per item."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(events):
        scores = rng.permutation(NUM_ITEMS) * 1.5 if affinity == "distinct" else np.zeros(NUM_ITEMS)
        users = [f"{letter}{rng.integers(size)}" for letter, size in zip("abcd", (2, 3, 4, 3), strict=True)]
        rows.append(
            (int(rng.integers(NUM_ITEMS)), int(rng.integers(1, 4)), int(rng.integers(2)), users, scores)
        )
    items = [
        (rng.normal(), [f"x{rng.integers(3)}", f"y{rng.integers(4)}", f"z{rng.integers(2)}"])
        for _ in range(NUM_ITEMS)
    ]
    return rows, items


def made_texts(rows, items, propensity: str = "0.125") -> tuple[str, str]:
    """all.csv and item_context.csv as the publisher writes them; items in another order than their ids."""
    columns = ["", "timestamp", "item_id", "position", "click", "propensity_score"]
    columns += [f"user_feature_{place}" for place in range(4)]
    columns += [f"user-item_affinity_{item}" for item in range(NUM_ITEMS)]
    lines = [",".join(columns)]
    for number, (item, position, click, users, scores) in enumerate(rows):
        plain = map(str, (number, "2019-11-24 00:00:34", item, position, click, propensity, *users, *scores))
        lines.append(",".join(plain))
    item_lines = [",item_id," + ",".join(f"item_feature_{place}" for place in range(4))]
    for number, item in enumerate(reversed(range(NUM_ITEMS))):
        item_lines.append(",".join(map(str, (number, item, items[item][0], *items[item][1]))))
    return "\n".join(lines) + "\n", "\n".join(item_lines) + "\n"


def parsed(events: str, items: str):
    return parse_open_bandit(events.splitlines(keepends=True), items.splitlines(keepends=True))


def put(folder: Path, texts, ending: str = "") -> Path:
    for name, text in zip(("all.csv", "item_context.csv"), texts, strict=True):
        path = folder / "random" / "all" / (name + ending)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if ending else text.encode())
    return folder


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_folder_is_read_as_it_says(tmp_path, ending):
    rows, items = made_rows()
    data = load_open_bandit(put(tmp_path, made_texts(rows, items), ending))
    assert data.items.tolist() == [row[0] for row in rows]
    assert data.positions.tolist() == [row[1] for row in rows]
    assert data.clicks.tolist() == [row[2] for row in rows]
    assert set(data.propensities) == {0.125}
    np.testing.assert_array_equal(data.affinities, [row[4] for row in rows])
    words = np.array([row[3] for row in rows])
    for place in range(4):
        known = sorted(set(words[:, place]))
        assert data.users[:, place].tolist() == [known.index(word) for word in words[:, place]]
    np.testing.assert_array_equal(data.item_numbers[:, 0], [number for number, _ in items])
    for place in range(3):
        known = sorted({codes[place] for _, codes in items})
        assert data.item_codes[:, place].tolist() == [known.index(codes[place]) for _, codes in items]
    with pytest.raises(ValueError, match="read-only"):
        data.clicks[0] = 1


def test_the_sample_is_fetched_and_verified(tmp_path, monkeypatch):
    texts = made_texts(*made_rows())
    for short, text in zip(("all.csv", "item_context.csv"), texts, strict=True):
        name = f"open-bandit-dataset/random/all/{short}"
        digest = hashlib.sha256(text.encode()).hexdigest()
        monkeypatch.setitem(FILES, name, replace(FILES[name], sha256=digest, size=len(text)))
    monkeypatch.setenv("SUPERARM_DATA", str(tmp_path))
    put(tmp_path / "open-bandit-dataset", texts)
    assert load_open_bandit().items.size == 60
    put(tmp_path / "open-bandit-dataset", (texts[0].replace("a0", "a1", 1), texts[1]))
    with pytest.raises(DataError, match=r"all\.csv is damaged: expected"):
        load_open_bandit()


def test_a_folder_without_the_files_is_said(tmp_path):
    with pytest.raises(
        DataError, match=r"folder must hold random/all/all\.csv or random/all/all\.csv\.gz, got"
    ):
        load_open_bandit(tmp_path)
    texts = made_texts(*made_rows())
    path = put(tmp_path, texts, ".gz") / "random" / "all" / "all.csv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(
        DataError, match=r"^load_open_bandit: .*all\.csv\.gz or .* cannot be read: .*ended before"
    ):
        load_open_bandit(tmp_path)
    put(tmp_path, texts)
    plain = path.with_name("all.csv")
    plain.write_bytes(plain.read_bytes().replace(b"a0", b"\xff0", 1))
    with pytest.raises(DataError, match=r"all\.csv: must be utf-8 text, got byte 0xff"):
        load_open_bandit(tmp_path)


@pytest.mark.parametrize(
    ("place", "old", "new", "message"),
    [
        (0, "click", "clicks", r"random/all/all\.csv: must have the columns click, got a header without"),
        (
            0,
            "user-item_affinity",
            "affinity",
            r"random/all/all\.csv: must have the columns user-item_affinity_0, .*_4 and 3 more, got .*",
        ),
        (
            1,
            "item_feature_2",
            "feature",
            r".*item_context\.csv: must have the columns item_feature_2, got .*",
        ),
        (0, ",0.125,", ",0.125,x,", r"random/all/all\.csv, line 2: must have 18 columns, got 19"),
        (0, "0,2019", "\n0,2019", r"random/all/all\.csv, line 2: must have 18 columns, got 0"),
        (0, ",0.125,", ",half,", r".*, line 2: propensity_score must be a number, got 'half'"),
        (0, ",0.125,", ",0,", r".*, line 2: propensity_score must be in \(0, 1\], got 0"),
        (0, ",3.0", ",-3.0", r".*, line 2: user-item_affinity_\d must be >= 0, got -3\.0"),
        (0, ",3.0", ",nan", r".*, line 2: user-item_affinity_\d must be a number, got 'nan'"),
        (0, "2019-11-24", '"2019-11-24', r".*all\.csv, line \d+: must be comma-separated text, got .*"),
        (1, ",5,", ",6,", r".*item_context\.csv, line \d: item_id must be there once, got 6 again"),
        (1, ",7,", ",9,", r".*item_context\.csv: item_id must run from 0 without gaps, got 8 other numbers"),
    ],
)
def test_malformed_data_is_said_in_one_sentence(place, old, new, message):
    texts = list(made_texts(*made_rows()))
    assert old in texts[place]
    texts[place] = (
        texts[place].replace(old, new) if old == "user-item_affinity" else texts[place].replace(old, new, 1)
    )
    with pytest.raises(DataError, match=rf"^{message}$"):
        parsed(*texts)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ((1, 1, 2), "click must be 0 or 1, got '2'"),
        ((1, 1, "0.0"), r"click must be 0 or 1, got '0\.0'"),
        ((1, 1, ""), "click must be 0 or 1, got ''"),
        ((8, 1, 0), "item_id must be below 8, the items, got 8"),
        ((-1, 1, 0), "item_id must be a whole number, got '-1'"),
        ((1, 0, 0), "position must be >= 1, got 0"),
    ],
)
def test_a_malformed_event_is_said_in_one_sentence(event, message):
    rows, items = made_rows()
    rows[3] = (*event, *rows[3][3:])
    with pytest.raises(DataError, match=rf"^random/all/all\.csv, line 5: {message}$"):
        parsed(*made_texts(rows, items))


def test_data_without_rows_is_refused():
    _, items = made_rows()
    with pytest.raises(DataError, match=r"all\.csv: must have rows below the header, got none"):
        parsed(*made_texts([], items))


# The log


def small_log(data, **options):
    return open_bandit_log(data, **({"user_dim": 5, "item_dim": 3} | options))


def plain_svd(matrix, dim):
    """Rows in the first singular directions, each with its largest entry positive."""
    _, _, directions = np.linalg.svd(matrix, full_matrices=False)
    for place, row in enumerate(directions):
        directions[place] *= np.sign(row[np.argmax(np.abs(row))])
    return matrix @ directions[:dim].T


def one_hot(words):
    columns = []
    for place in range(len(words[0])):
        known = sorted({row[place] for row in words})
        columns.append([[float(row[place] == word) for word in known] for row in words])
    return np.hstack(columns)


def between(values, low, high):
    return 2 * (np.asarray(values, float) - low) / (high - low) - 1


def test_the_log_equals_a_plain_computation():
    rows, items = made_rows()
    log = small_log(parsed(*made_texts(rows, items)))
    assert log.spec == superarm.Spec(dim=2 * 5 + 3 + 2, num_arms=5)
    users = plain_svd(one_hot([row[3] for row in rows]), 5)
    numbers = [number for number, _ in items]
    matrix = np.column_stack(
        [one_hot([codes for _, codes in items]), between(numbers, min(numbers), max(numbers))]
    )
    embedded = plain_svd(matrix, 3)
    for event, (item, position, click, _, scores) in enumerate(rows):
        others = [other for other in np.argsort(-scores) if other != item][:4]
        affinity = between(np.log(1 + scores), 0.0, np.log(1 + 1.5 * 7))
        expected = {
            arm: [
                *users[event],
                *embedded[arm],
                position - 2.0,
                affinity[arm],
                *(users[event] * affinity[arm]),
            ]
            for arm in (item, *others)
        }
        contexts = log.contexts[event]
        for arm, features in expected.items():
            near = [place for place in range(5) if np.allclose(contexts[place], features, atol=1e-9)]
            assert len(near) == 1, (event, arm)
            if arm == item:
                assert near == [log.actions[event]]
        assert log.rewards[event] == click
    assert set(log.rewards) == {0.0, 1.0}


def test_position_among_the_arms_tells_nothing():
    """The logged arm is anywhere, and so is the arm of highest affinity."""
    log = small_log(parsed(*made_texts(*made_rows(events=2000))))
    counts = np.bincount(log.actions, minlength=5)
    assert 5.0 < np.sum((counts - 400) ** 2) < 400 * 24  # chi-square, 4 degrees: 99.99 % point 23.5
    highest = log.contexts[:, :, 8 + 1].argmax(axis=1)
    assert np.sum((np.bincount(highest, minlength=5) - 400) ** 2) < 400 * 24


def test_ties_are_broken_at_random_by_seed():
    rows, items = made_rows(events=3000, affinity="none")
    data = parsed(*made_texts(rows, items))
    log = small_log(data, num_arms=3, item_dim=5)
    # Each arm's item is known by its embedding.
    numbers = [number for number, _ in items]
    matrix = np.column_stack(
        [one_hot([codes for _, codes in items]), between(numbers, min(numbers), max(numbers))]
    )
    distance = np.abs(log.contexts[:, :, None, 5:10] - plain_svd(matrix, 5)).sum(axis=3)
    arms = distance.argmin(axis=2)
    assert distance.min(axis=2).max() < 1e-9
    assert all(len(set(row)) == 3 for row in arms)
    assert (arms[np.arange(3000), log.actions] == data.items).all()
    counts = np.bincount(arms.ravel(), minlength=NUM_ITEMS)
    assert np.sum((counts - 1125) ** 2) < 1125 * 35  # chi-square, 7 degrees
    np.testing.assert_array_equal(log.contexts, small_log(data, num_arms=3, item_dim=5).contexts)
    other = small_log(data, num_arms=3, item_dim=5, seed=1)
    assert (other.contexts != log.contexts).any(axis=(1, 2)).mean() > 0.5


def told(log):
    """{the arms of an event, in any order: (the logged arm, its reward)}; affinities tell events apart."""
    rounded = np.round(log.contexts, 9)
    return {
        frozenset(map(tuple, arms)): (tuple(arms[action]), reward)
        for arms, action, reward in zip(rounded, log.actions, log.rewards, strict=True)
    }


def test_some_events_can_be_kept():
    data = parsed(*made_texts(*made_rows(events=200)))
    log = small_log(data, events=50)
    assert log.contexts.shape == (50, 5, 15)
    everything, kept = told(small_log(data)), told(log)
    assert (len(everything), len(kept)) == (200, 50)
    assert kept.items() <= everything.items()
    assert told(small_log(data, events=50, seed=1)).keys() != kept.keys()


def test_compression_equals_the_singular_value_decomposition():
    rng = np.random.default_rng(0)
    rows, counts = rng.normal(size=(12, 6)), rng.integers(1, 4, size=12)
    expected = plain_svd(np.repeat(rows, counts, axis=0), 4)
    got = np.repeat(compressed("x", "dim", rows, counts, 4), counts, axis=0)
    np.testing.assert_allclose(got, expected, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"user_dim": 10}, "user_dim must be between 1 and 9, got 10"),  # 12 categories of 4 features
        ({"item_dim": 9}, "item_dim must be between 1 and 8, got 9"),
        ({"user_dim": 0}, "user_dim must be >= 1, got 0"),
        ({"num_arms": 9}, "num_arms must be between 2 and 8, got 9"),
        ({"num_arms": 1}, "num_arms must be between 2 and 8, got 1"),
        ({"events": 61}, "events must be between 1 and 60, got 61"),
    ],
)
def test_dimensions_that_the_data_has_not_are_refused(options, message):
    data = parsed(*made_texts(*made_rows()))
    assert small_log(data, user_dim=9, num_arms=8).spec.dim == 2 * 9 + 3 + 2
    with pytest.raises(ValueError, match=rf"^open_bandit_log: {message}$"):
        small_log(data, **options)


def test_a_log_that_was_not_made_by_chance_is_refused():
    rows, items = made_rows()
    texts = made_texts(rows, items)
    data = parsed(texts[0].replace(",0.125,", ",0.25,", 1), texts[1])
    with pytest.raises(ValueError, match=r"propensities must be equal, .*, got values from 0\.125 to 0\.25$"):
        small_log(data)


def test_features_that_never_change_are_zero():
    rows, items = made_rows(affinity="none")
    rows = [(item, 1, click, users, scores) for item, _, click, users, scores in rows]
    log = small_log(parsed(*made_texts(rows, items)))
    np.testing.assert_array_equal(log.contexts[:, :, 8:], 0.0)


def test_the_log_can_be_replayed():
    log = small_log(parsed(*made_texts(*made_rows(events=300))))
    table = replay(superarm.lin_ucb(), log, accepted=40)
    assert len(table) == 40
    assert set(table["reward"]) == {0.0, 1.0}


# The real sample, where SUPERARM_DATA holds it

if REAL and Path(REAL, "open-bandit-dataset").is_dir():

    def test_the_real_sample():
        log = open_bandit_log(load_open_bandit())
        assert log.contexts.shape == (10_000, 5, 42)
        assert log.rewards.sum() == 38
        with pytest.raises(ValueError, match="user_dim must be between 1 and 21, got 22"):
            open_bandit_log(load_open_bandit(), user_dim=22)
        with pytest.raises(ValueError, match="item_dim must be between 1 and 33, got 40"):
            open_bandit_log(load_open_bandit(), item_dim=40)
