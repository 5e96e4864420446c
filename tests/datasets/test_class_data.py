"""The classification data sets, on small files made here; the real files only where they are at hand."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
import struct
import urllib.error
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from superarm.datasets import (
    FILES,
    DataError,
    download,
    fetch,
    load_adult_classes,
    load_banknote,
    load_covertype,
    load_magic,
    load_mnist,
    load_mushroom,
    load_phoneme,
    load_shuttle,
    lzw,
)
from superarm.datasets.adult_classes import CATEGORIES, parse_adult_classes
from superarm.datasets.mnist import parse_mnist
from superarm.datasets.mushroom import parse_mushroom
from superarm.datasets.tables import BANKNOTE, COVERTYPE, MAGIC, PHONEME, SHUTTLE
from superarm.environments import classification

REAL = os.environ.get("SUPERARM_DATA", "")
LOADERS = (
    *(load_adult_classes, load_banknote, load_covertype, load_magic),
    *(load_mnist, load_mushroom, load_phoneme, load_shuttle),
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty data folder, an empty cache and no network."""

    def no_network(url):
        raise urllib.error.URLError("no network")

    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("SUPERARM_DATA", str(data))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(download, "open_url", no_network)
    yield data
    for load in LOADERS:
        load.cache_clear()


@pytest.fixture
def known(monkeypatch):
    """Make some content the known content of a file."""

    def know(name: str, content: bytes, **changes: str) -> None:
        digest = hashlib.sha256(content).hexdigest()
        changed = replace(FILES[name], sha256=digest, size=len(content), **changes)
        monkeypatch.setitem(FILES, name, changed)

    return know


@pytest.fixture
def put(folder, known):
    """Store a known file in the data folder."""

    def store(name: str, content: bytes) -> None:
        known(name, content)
        path = folder / (name + ".gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content, mtime=0))

    return store


# Tables of numbers

TABLES = [
    (
        load_shuttle,
        SHUTTLE,
        b"50 21 77 0 28 0 27 48 22 2\n55 0 92 0 0 -26 36 92 56 7\n53 0 82 0 52 -5 29 30 2 1\n",
    ),
    (
        load_magic,
        MAGIC,
        b"28.8,16,2.6,.39,0.2,27.7,22,-8.2,40,81.9,g\n31.6,1e1,?,0.5,,26.3,23.8,-9.9,6,205,h\n",
    ),
    (load_banknote, BANKNOTE, b"3.6216,8.6661,-2.8073,-0.44699,0\r\n-1.5,2,3,4.0,1"),
    (load_phoneme, PHONEME, b"1.24,0.875,-0.205,-0.078,0.067,0\n0.268,1.352,1.035,-0.332,0.217,1\n"),
    (
        load_covertype,
        COVERTYPE,
        b"2596,51,3,258,0,510,221,232,148,6279" + b",1,0,0,0" + b",0" * 39 + b",1,5\n"
        b"2590,56,2,212,-6,390,220,235,151,6225" + b",0,0,0,1" + b",1" + b",0" * 39 + b",7\n"
        b"2804,139,9,268,65,3180,234,238,135,6121" + b",0,1,0,0" + b",0,1" + b",0" * 38 + b",1\n",
    ),
]
LABELS = {SHUTTLE: [1, 6, 0], MAGIC: [1, 0], BANKNOTE: [0, 1], PHONEME: [0, 1], COVERTYPE: [4, 6, 0]}


@pytest.mark.parametrize(("load", "table", "text"), TABLES, ids=lambda value: getattr(value, "file", ""))
def test_a_table_equals_a_plain_reading(put, load, table, text):
    put(table.file, text)
    data = load()
    lines = text.decode().split()
    if table is SHUTTLE:
        rows = [text.decode().split()[start : start + 9] for start in range(0, 30, 10)]
    else:
        rows = [line.split(",")[:-1] for line in lines]
    plain = [[0.0 if field in ("", "?") else float(field) for field in row] for row in rows]
    np.testing.assert_array_equal(data.features, plain)
    assert data.labels.tolist() == LABELS[table]
    assert (data.features.dtype, data.labels.dtype) == (np.float64, np.int64)
    assert len(data.names) == data.features.shape[1]
    assert not data.categorical
    assert load() is data
    with pytest.raises(ValueError, match="read-only"):
        data.features[0, 0] = 1.0


@pytest.mark.parametrize(
    ("table", "old", "new", "message"),
    [
        (SHUTTLE, b"55 0 92", b"55 92", r"line 2: must have 10 columns, got 9"),
        (SHUTTLE, b"55 0 92", b"55 0  92", r"line 2: must have 10 columns, got 11"),
        (SHUTTLE, b"48 22 2", b"48 22 8", r"line 1: label must be 1 or 2 or 3 or 4 or 5 or 6 or 7, got '8'"),
        (SHUTTLE, b"48 22 2", b"48 22 0", r"line 1: label must be 1 or .*, got '0'"),
        (SHUTTLE, b"55 0 92", b"55 ? 92", r"line 2: attribute 2 must be a number, got '\?'"),
        (MAGIC, b"16,", b"1_6,", r"line 1: fWidth must be a number, got '1_6'"),
        (MAGIC, b"16,", b"nan,", r"line 1: fWidth must be a number, got 'nan'"),
        (MAGIC, b"16,", b"1e999,", r"line 1: fWidth must be a number, got '1e999'"),
        (MAGIC, b",g", b",G", r"line 1: label must be h or g, got 'G'"),
        (BANKNOTE, b"-1.5,2,", b"-1.5,,", r"line 2: skewness must be a number, got ''"),
        (BANKNOTE, b",0\r", b",0.0\r", r"line 1: label must be 0 or 1, got '0\.0'"),
        (PHONEME, b"0.268", b"0,268", r"line 2: must have 6 columns, got 7"),
        (PHONEME, b"0.268", b"\xb2", r"must be ascii text, got byte 0xb2"),
        (COVERTYPE, b",7\n", b",0\n", r"line 2: label must be 1 or .* or 7, got '0'"),
        (COVERTYPE, b",7\n", b",8\n", r"line 2: label must be 1 or .* or 7, got '8'"),
        (COVERTYPE, b",-6,", b",--6,", r"line 2: Vertical_Distance_To_Hydrology must be a number, got '--6'"),
        (COVERTYPE, b",1,5\n", b",?,5\n", r"line 1: Soil_Type40 must be a number, got '\?'"),
        (COVERTYPE, b",1,5\n", b",5\n", r"line 1: must have 55 columns, got 54"),
    ],
)
def test_a_malformed_table_is_said_in_one_sentence(table, old, new, message):
    text = next(text for _, one, text in TABLES if one is table)
    assert old in text
    with pytest.raises(DataError, match=rf"^{table.file}(, |: ){message}$"):
        table.parse(text.replace(old, new, 1))


def test_an_empty_table_is_refused():
    with pytest.raises(DataError, match=r"phoneme\.dat, line 1: must have 6 columns, got 1"):
        PHONEME.parse(b"")


def test_phoneme_may_lack_its_last_line_end(folder, known, monkeypatch):
    text = TABLES[3][2]
    known(PHONEME.file, text, unended=hashlib.sha256(text[:-1]).hexdigest())
    monkeypatch.setattr(download, "open_url", lambda url: response(text[:-1]))
    np.testing.assert_array_equal(load_phoneme().labels, [0, 1])
    load_phoneme.cache_clear()
    monkeypatch.setattr(download, "open_url", lambda url: response(text[:-2]))
    (Path(os.environ["XDG_CACHE_HOME"]) / "superarm" / "data" / PHONEME.file).unlink()
    with pytest.raises(DataError, match=r"phoneme\.dat as downloaded from .* is damaged"):
        load_phoneme()


def response(body: bytes) -> io.BytesIO:
    answer = io.BytesIO(body)
    answer.headers = {}
    return answer


# Mushroom


def mushroom_text(seed: int = 0, rows: int = 6) -> bytes:
    chance = random.Random(seed)  # noqa: S311
    lines = [",".join(["pe"[row % 2], *(chance.choice("abxyz?") for _ in range(22))]) for row in range(rows)]
    return ("\n".join(lines) + "\n").encode()


def test_mushroom_equals_a_plain_reading(put):
    text = mushroom_text()
    put("mushroom/agaricus-lepiota.data", text)
    data = load_mushroom()
    for row, line in enumerate(text.decode().split()):
        label, *characters = line.split(",")
        assert data.features[row].tolist() == [ord(character) for character in characters]
        assert data.class_names[data.labels[row]] == {"e": "edible", "p": "poisonous"}[label]
    assert data.categorical
    assert data.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert len(data.names) == 22 == data.features.shape[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace(b"p,", b"q,", 1), r"line 1: label must be p or e, got 'q'"),
        (lambda text: text.replace(b"\ne,", b"\ne,xx,", 1), r"line 2: must have 23 columns, got 24"),
        (
            lambda text: b"p,xx" + text[3:],
            r"line 1: cap-shape must be a letter from a to z or \?, got 'xx'",
        ),
        (lambda text: b"p,X" + text[3:], r"line 1: cap-shape must be a letter from a to z or \?, got 'X'"),
        (lambda text: b"p," + text[3:], r"line 1: cap-shape must be a letter from a to z or \?, got ''"),
    ],
)
def test_a_malformed_mushroom_is_said_in_one_sentence(change, message):
    with pytest.raises(DataError, match=rf"^mushroom/agaricus-lepiota\.data, {message}$"):
        parse_mushroom(change(mushroom_text()))


# Adult

ADULT = b"""\
39, State-gov, 77516, Masters, 14, Never-married, Sales, Wife, White, Male, 2174, 0, 40, United-States, <=50K
50, ?, 83311, 10th, 6, Divorced, ?, Husband, Black, Female, 0, 0, 13, ?, >50K
38, Private, 215646, HS-grad, 9, Divorced, Sales, Own-child, Other, Male, 0, 1902, 60, Trinadad&Tobago, <=50K
28, Private, 338409, 10th, 6, Separated, Tech-support, Wife, White, Female, 0, 0, 40, Outlying-US(Guam), >50K

"""


def test_adult_equals_a_plain_reading(put):
    put("adult/adult.data", ADULT)
    data = load_adult_classes()
    rows = [line.split(", ") for line in ADULT.decode().split("\n")[:4]]
    for place, name in enumerate(data.names):
        column = [row[place] for row in rows]
        if name in CATEGORIES:
            plain = [sorted(set(column)).index(word) for word in column]
        else:
            plain = [int(word) for word in column]
        assert data.features[:, place].tolist() == plain, name
    assert data.features[:, 1].tolist() == [2, 0, 1, 1]  # workclass: ? is the first
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.class_names == ("<=50K", ">50K")
    assert data.features.shape == (4, 14)
    assert (data.features.dtype, data.labels.dtype) == (np.float64, np.int64)
    assert load_adult_classes() is data
    with pytest.raises(ValueError, match="read-only"):
        data.features[0, 0] = 1.0


def test_adult_is_rescaled_column_by_column(put):
    put("adult/adult.data", ADULT)
    world = classification(load_adult_classes())
    np.testing.assert_array_equal(world.features.min(axis=0), np.full(14, -1.0))
    np.testing.assert_array_equal(world.features.max(axis=0), np.full(14, 1.0))
    assert world.features[:, 1].tolist() == [1.0, -1.0, 0.0, 0.0]
    assert world.num_codes == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b" Private,", b"", r"line 3: must have 15 columns, got 14"),
        (b"\n50,", b"\n?,", r"line 2: age must be a whole number, got '\?'"),
        (b"83311", b"8331.1", r"line 2: fnlwgt must be a whole number, got '8331\.1'"),
        (b" 1902,", b" -1902,", r"line 3: capital-loss must be a whole number, got '-1902'"),
        (b"State-gov", b"", r"line 1: workclass must be a word or \?, got ''"),
        (b"State-gov", b"State gov", r"line 1: workclass must be a word or \?, got 'State gov'"),
        (b"Sales", b"??", r"line 1: occupation must be a word or \?, got '\?\?'"),
        (b">50K", b">50K.", r"line 2: income must be <=50K or >50K, got '>50K\.'"),
        (b"\n50,", b"\n\n50,", r"line 2: must have 15 columns, got 1"),
        (b"Private", b"Priv\xe9", r"must be ascii text, got byte 0xe9"),
    ],
)
def test_a_malformed_adult_is_said_in_one_sentence(old, new, message):
    assert old in ADULT
    with pytest.raises(DataError, match=rf"^adult/adult\.data(, |: ){message}$"):
        parse_adult_classes(ADULT.replace(old, new, 1))


# MNIST


def idx(array: np.ndarray) -> bytes:
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return struct.pack(">I", 0x0800 + array.ndim) + sizes + array.astype(np.uint8).tobytes()


def digits(rows: int = 3, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.integers(256, size=(rows, 28, 28)), rng.integers(10, size=rows)


def test_mnist_is_averaged_over_squares_of_four_pixels(put):
    images, labels = digits()
    put("mnist/train-images-idx3-ubyte", idx(images))
    put("mnist/train-labels-idx1-ubyte", idx(labels))
    data = load_mnist()
    assert data.features.shape == (3, 196)
    for row in range(3):
        for place in range(196):
            top, left = 2 * (place // 14), 2 * (place % 14)
            assert data.features[row, place] == images[row, top : top + 2, left : left + 2].mean()
    assert data.labels.tolist() == labels.tolist()
    assert data.class_names == tuple("0123456789")
    assert data.labels.dtype == np.int64


def test_malformed_mnist_is_said_in_one_sentence():
    images, labels = digits()
    good, named = idx(images), idx(labels)
    for pictures, classes, message in [
        (
            b"\0\0\x08\x01" + good[4:],
            named,
            r"images-idx3-ubyte: must begin with the magic number 2051, got 2049",
        ),
        (named, named, r"images-idx3-ubyte: must begin with the magic number 2051, got 2049"),
        (good, good, r"labels-idx1-ubyte: must begin with the magic number 2049, got 2051"),
        (good[:-1], named, r"images-idx3-ubyte: must hold 3 x 28 x 28 > 0 bytes below its header, got 2351"),
        (
            good + b"x",
            named,
            r"images-idx3-ubyte: must hold 3 x 28 x 28 > 0 bytes below its header, got 2353",
        ),
        (good[:7], named, r"images-idx3-ubyte: must hold 0 x 0 x 0 > 0 bytes below its header, got 0"),
        (b"", named, r"images-idx3-ubyte: must begin with the magic number 2051, got 0"),
        (idx(images[:, :14]), named, r"images-idx3-ubyte: must hold images of 28 x 28 pixels, got 14 x 28"),
        (good, idx(labels[:2]), r"labels-idx1-ubyte: must hold one label per image, 3, got 2"),
        (good, idx(np.array([3, 10, 1])), r"labels-idx1-ubyte, row 2: label must be from 0 to 9, got 10"),
    ]:
        with pytest.raises(DataError, match=rf"^mnist/train-{message}$"):
            parse_mnist(pictures, classes)


# The .Z form


def packed(data: bytes, most: int = 16, clear_after: int = 0) -> bytes:
    """What the Unix program compress writes: a plain form of it, checked by hand against gzip -d."""
    out, pending, bits, group = bytearray([0x1F, 0x9D, 0x80 | most]), [], 9, 0
    table, reader = {bytes([value]): value for value in range(256)}, 256

    def put(code: int) -> None:
        pending.extend(code >> place & 1 for place in range(bits))

    def end_group() -> None:
        pending.extend([0] * (-(len(pending) - group) % (8 * bits)))

    word = b""
    for place, byte in enumerate(data):
        longer = word + bytes([byte])
        if longer in table:
            word = longer
            continue
        put(table[word])
        if len(table) + 1 < 1 << most:
            table[longer] = len(table) + 1
        reader = min(reader + 1, 1 << most)  # what the reader knows after this code
        if reader >> bits and bits < most:
            end_group()
            group, bits = len(pending), bits + 1
        word = bytes([byte])
        if clear_after and place >= clear_after:
            put(256)
            end_group()
            table, reader = {bytes([value]): value for value in range(256)}, 256
            group, bits, clear_after = len(pending), 9, 0
    put(table[word])
    pending.extend([0] * (-len(pending) % 8))
    return bytes(out) + np.packbits(np.array(pending, np.uint8), bitorder="little").tobytes()


RANDOM = random.Random(0).randbytes(3000)  # noqa: S311
WORDS = b"the shuttle lifts off, " * 400


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"a", {}),
        (b"a" * 3000, {}),  # every code is the one that it defines
        (WORDS, {}),
        (RANDOM, {"most": 10}),  # the table is full, and codes stop growing
        (RANDOM, {}),  # codes of 9, 10 and 11 bits
        (RANDOM + WORDS, {"clear_after": 1500}),
    ],
)
def test_a_packed_file_is_unpacked(content, options):
    assert lzw.unpack(packed(content, **options), len(content) + 1) == content


def test_no_more_is_unpacked_than_asked_for():
    assert len(lzw.unpack(packed(b"a" * 100_000), 1000)) < 1500


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a compressed .Z file"),
        (gzip.compress(b"a", mtime=0), "not a compressed .Z file"),
        (b"\x1f\x9d\x99abc", "codes of 25 bits in a .Z file"),
        (b"\x1f\x9d\x90\xff\xff\xff", "a code that no string has in a .Z file"),
        (
            b"\x1f\x9d\x90\x01\x03\x00",
            "a code that no string has in a .Z file",
        ),  # 257, before there is a string
    ],
)
def test_a_broken_packed_file_is_refused(content, reason):
    with pytest.raises(DataError, match=reason):
        lzw.unpack(content, 100)


def test_a_packed_member_of_an_archive_is_unpacked(known, monkeypatch):
    text = TABLES[0][2] * 200
    known("shuttle/shuttle.trn", text)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("shuttle.trn.Z", packed(text))
    monkeypatch.setattr(download, "open_url", lambda url: response(archive.getvalue()))
    assert fetch("shuttle/shuttle.trn") == text
    assert load_shuttle().features.shape == (600, 9)


def test_a_broken_packed_member_is_damaged(known, monkeypatch):
    known("shuttle/shuttle.trn", TABLES[0][2])
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("shuttle.trn.Z", b"\x1f\x9d\x90\xff\xff\xff")
    monkeypatch.setattr(download, "open_url", lambda url: response(archive.getvalue()))
    with pytest.raises(
        DataError, match=r"shuttle\.trn as downloaded .* is damaged: a code that no string has"
    ):
        fetch("shuttle/shuttle.trn")


# The .gz form inside an archive


def covertype_zip(member: bytes) -> io.BytesIO:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("covtype.data.gz", member)
    return response(archive.getvalue())


def test_a_compressed_member_of_an_archive_is_unpacked(known, monkeypatch):
    text = TABLES[4][2]
    known("covertype/covtype.data", text)
    monkeypatch.setattr(download, "open_url", lambda url: covertype_zip(gzip.compress(text, mtime=0)))
    assert load_covertype().features.shape == (3, 54)


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (b"<html>", "Not a gzipped file"),
        (gzip.compress(TABLES[4][2], mtime=0)[:-20], "Compressed file ended before the end-of-stream marker"),
        (gzip.compress(bytes(10_000_000), mtime=0), r"expected \d+ bytes, got more"),
    ],
)
def test_a_broken_compressed_member_is_damaged(known, monkeypatch, member, reason):
    known("covertype/covtype.data", TABLES[4][2])
    monkeypatch.setattr(download, "open_url", lambda url: covertype_zip(member))
    with pytest.raises(DataError, match=rf"covtype\.data as downloaded .* is damaged: {reason}"):
        load_covertype()


# The real files, where SUPERARM_DATA holds them

COUNTS = {
    load_shuttle: (9, [34108, 37, 132, 6748, 2458, 6, 11]),
    load_magic: (10, [6688, 12332]),
    load_banknote: (4, [762, 610]),
    load_phoneme: (5, [3818, 1586]),
    load_mushroom: (22, [3916, 4208]),
    load_covertype: (54, [211840, 283301, 35754, 2747, 9493, 17367, 20510]),
    load_adult_classes: (14, [24720, 7841]),
    load_mnist: (196, [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]),
}

if REAL and Path(REAL, "mnist").is_dir():

    @pytest.mark.parametrize(
        "load",
        # Covertype takes 20 seconds to read.
        [pytest.param(load, marks=pytest.mark.full) if load is load_covertype else load for load in COUNTS],
        ids=lambda load: load.__name__,
    )
    def test_real_data(load, monkeypatch):
        monkeypatch.setenv("SUPERARM_DATA", REAL)
        data = load()
        dim, counts = COUNTS[load]
        assert data.features.shape == (sum(counts), dim)
        assert np.bincount(data.labels).tolist() == counts
        assert len(data.class_names) == len(counts)
