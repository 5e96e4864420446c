"""The data loaders, on small files made here; the real files are checked only where they are at hand."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import os
import random
import statistics
import urllib.error
import urllib.request
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from superarm import datasets
from superarm.datasets import (
    FILES,
    DataError,
    DataFile,
    Source,
    download,
    fetch,
    lastfm,
    load_adult,
    load_lastfm,
    rows,
)
from superarm.datasets.adult import parse_adult
from superarm.datasets.fetching import cache_folder

REAL = os.environ.get("SUPERARM_DATA", "")
DOCS = Path(__file__).parents[2] / "docs" / "data.md"
OPEN_URL = download.open_url  # before the fixture cuts the network
SOURCE = Source(title="Toy", page="https://example.org/toy", licence="none", citation="nobody")
CONTENT = b"one,two\nthree,four\n"
NAME = "toy/toy.data"


class Response(io.BytesIO):
    """What `open_url` answers."""

    def __init__(self, body: bytes, length: int | None = None) -> None:
        super().__init__(body)
        self.headers = {} if length is None else {"Content-Length": str(length)}


def toy(
    name: str = NAME, content: bytes = CONTENT, url: str = "https://example.org/toy.data", member: str = ""
):
    digest = hashlib.sha256(content).hexdigest()
    return DataFile(name=name, sha256=digest, size=len(content), url=url, member=member, source=SOURCE)


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty data folder, an empty cache, no network, and one known file."""

    def no_network(url):
        raise urllib.error.URLError("no network")

    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("SUPERARM_DATA", str(data))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(download, "open_url", no_network)
    monkeypatch.setitem(FILES, NAME, toy())
    yield data
    load_adult.cache_clear()
    load_lastfm.cache_clear()


@pytest.fixture
def serve(monkeypatch):
    """Make `open_url` answer with a body; returns the list of addresses asked for."""

    def start(body: bytes, length: int | None = None) -> list[str]:
        asked = []

        def open_url(url):
            asked.append(url)
            return Response(body, length)

        monkeypatch.setattr(download, "open_url", open_url)
        return asked

    return start


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def files_under(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


# Finding files


@pytest.mark.parametrize(("ending", "pack"), [("", bytes), (".gz", gzip.compress)])
def test_a_file_is_found_in_the_folder_plain_or_compressed(folder, ending, pack):
    put(folder / (NAME + ending), pack(CONTENT))
    assert fetch(NAME) == CONTENT


def test_the_folder_comes_before_the_cache_and_the_cache_before_the_publisher(folder, serve):
    asked = serve(CONTENT)
    damaged_cache = put(cache_folder() / NAME, b"damaged")
    put(folder / NAME, CONTENT)
    assert fetch(NAME) == CONTENT  # the damaged file in the cache was not looked at
    (folder / NAME).unlink()
    damaged_cache.write_bytes(CONTENT)
    assert fetch(NAME) == CONTENT
    assert asked == []


def test_without_the_variable_the_cache_is_used(monkeypatch):
    monkeypatch.delenv("SUPERARM_DATA")
    put(cache_folder() / NAME, CONTENT)
    assert fetch(NAME) == CONTENT


def test_a_relative_cache_variable_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "superarm" / "data"


def test_a_folder_that_does_not_exist_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("SUPERARM_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"SUPERARM_DATA must name a folder, got .*nowhere; create it"):
        fetch(NAME)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"fetch: name must be one of .*, got '\.\./secret'"):
        fetch("../secret")


def test_a_missing_file_is_said_in_one_sentence(folder):
    with pytest.raises(DataError) as caught:
        fetch(NAME)
    assert str(caught.value) == (
        f"toy/toy.data is missing: it is not in SUPERARM_DATA ({folder}), not in the cache {cache_folder()},"
        " and https://example.org/toy.data could not be downloaded (no network); set SUPERARM_DATA to a"
        " folder that holds toy/toy.data or toy/toy.data.gz, which is published at https://example.org/toy"
    )
    assert files_under(cache_folder()) == []


# Damaged files


@pytest.mark.parametrize("in_cache", [False, True])
def test_a_damaged_file_is_neither_used_nor_deleted(folder, serve, in_cache):
    asked = serve(CONTENT)
    bad = CONTENT.replace(b"one", b"One")
    path = put((cache_folder() if in_cache else folder) / NAME, bad)
    want, got = (hashlib.sha256(text).hexdigest()[:12] for text in (CONTENT, bad))
    with pytest.raises(DataError) as caught:
        fetch(NAME)
    assert str(caught.value) == (
        f"{path} is damaged: expected 19 bytes with sha256 {want}..., got 19 with {got}...;"
        " delete it and fetch it again from https://example.org/toy"
    )
    assert path.read_bytes() == bad
    assert asked == []


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (gzip.compress(CONTENT, mtime=0)[:-12], "ended before the end-of-stream"),
        (b"not gzip", "Not a gzipped file"),
        (b"", "expected 19 bytes with sha256 .*, got 0"),
        (gzip.compress(CONTENT, mtime=0)[:10] + b"\xff" * 20, "invalid block type"),
        (gzip.compress(bytes(50_000_000), mtime=0), "expected 19 bytes, got more"),
    ],
)
def test_a_broken_gzip_file_is_damaged(folder, stored, reason):
    put(folder / (NAME + ".gz"), stored)
    with pytest.raises(DataError, match=rf"toy\.data\.gz is damaged: .*{reason}.*; delete it"):
        fetch(NAME)


def test_no_more_is_unpacked_than_there_should_be(folder, monkeypatch):
    asked = []
    read = gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda self, size=-1: asked.append(size) or read(self, size))
    put(folder / (NAME + ".gz"), gzip.compress(bytes(1000)))
    with pytest.raises(DataError):
        fetch(NAME)
    assert asked == [len(CONTENT) + 1]


# Downloads


def test_a_download_is_verified_and_kept(serve):
    asked = serve(CONTENT, length=len(CONTENT))
    assert fetch(NAME) == CONTENT
    assert fetch(NAME) == CONTENT
    assert asked == ["https://example.org/toy.data"]
    assert files_under(cache_folder()) == [NAME]


def test_a_compressed_download_is_unpacked(serve, monkeypatch):
    monkeypatch.setitem(FILES, NAME, toy(url="https://example.org/toy.data.gz"))
    serve(gzip.compress(CONTENT))
    assert fetch(NAME) == CONTENT
    assert (cache_folder() / NAME).read_bytes() == CONTENT


def test_an_archive_is_downloaded_once_for_all_its_files(serve, monkeypatch):
    url = "https://example.org/toy.zip"
    others = {"toy/good.data": b"good", "toy/bad.data": b"as it was"}
    monkeypatch.setitem(FILES, NAME, toy(url=url, member="deep/toy.data"))
    for name, content in others.items():
        monkeypatch.setitem(FILES, name, toy(name, content, url, member=Path(name).name))
    asked = serve(
        zipped({"deep/toy.data": CONTENT, "good.data": b"good", "bad.data": b"changed", "../x": b"x"})
    )
    assert fetch(NAME) == CONTENT
    assert fetch("toy/good.data") == b"good"
    assert asked == [url]
    assert files_under(cache_folder().parent.parent) == [
        f"superarm/data/{name}" for name in ("toy/good.data", NAME)
    ]
    with pytest.raises(
        DataError, match=r"toy/bad\.data as downloaded from .*toy\.zip is damaged: .*; try again"
    ):
        fetch("toy/bad.data")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>not an archive</html>", "File is not a zip file"),
        (zipped({"other.data": CONTENT}), "no item named 'toy.data'"),
        (zipped({"toy.data": bytes(10_000_000)}), "expected 19 bytes, got more"),
    ],
)
def test_a_bad_archive_is_damaged_and_not_kept(serve, monkeypatch, body, reason):
    monkeypatch.setitem(FILES, NAME, toy(url="https://example.org/toy.zip", member="toy.data"))
    serve(body)
    with pytest.raises(DataError, match=rf"toy/toy\.data as downloaded from .* is damaged: .*{reason}"):
        fetch(NAME)
    assert files_under(cache_folder()) == []


def test_a_download_that_breaks_off_or_is_too_large_is_not_kept(serve, monkeypatch):
    serve(CONTENT, length=1000)
    with pytest.raises(DataError, match=r"could not be downloaded \(it broke off after 19 of 1000 bytes\)"):
        fetch(NAME)
    monkeypatch.setattr(download, "MAX_BYTES", 10)
    serve(CONTENT)
    with pytest.raises(DataError, match=r"could not be downloaded \(it is larger than 10 bytes\)"):
        fetch(NAME)
    monkeypatch.setattr(download, "MAX_BYTES", 1000)
    monkeypatch.setattr(download, "DEADLINE", -1.0)
    with pytest.raises(DataError, match=r"could not be downloaded \(it took longer than -1 seconds\)"):
        fetch(NAME)
    assert files_under(cache_folder()) == []


def test_an_answer_that_is_an_error_is_said(monkeypatch):
    def not_found(url):
        raise urllib.error.HTTPError(url, 404, "Not Found", None, None)

    monkeypatch.setattr(download, "open_url", not_found)
    with pytest.raises(DataError, match=r"could not be downloaded \(HTTP Error 404: Not Found\)"):
        fetch(NAME)


def test_only_https_is_opened_and_followed():
    with pytest.raises(download.DownloadError, match=r"http://example\.org/x is not https"):
        OPEN_URL("http://example.org/x")
    request = urllib.request.Request("https://example.org/x")
    follow = download._HttpsOnly().redirect_request
    with pytest.raises(download.DownloadError, match=r"http://example\.org/y is not https"):
        follow(request, io.BytesIO(), 302, "Found", {}, "http://example.org/y")
    followed = follow(request, io.BytesIO(), 302, "Found", {}, "https://example.org/y")
    assert followed.full_url == "https://example.org/y"


def test_a_cache_that_cannot_be_written_is_said(serve):
    serve(CONTENT)
    put(cache_folder().parent, b"a file where a folder should be")
    with pytest.raises(DataError, match=r"toy/toy\.data cannot be kept in the cache .*; set XDG_CACHE_HOME"):
        fetch(NAME)


# The table


def test_every_file_is_published_over_https_and_documented():
    page = DOCS.read_text(encoding="utf-8")
    for name, file in FILES.items():
        if name != NAME:
            assert name == file.name
            assert file.url.startswith("https://")
            assert bool(file.member) == file.url.endswith(".zip")
            assert len(file.sha256) == 64
            for fact in (name, file.source.page, file.source.licence):
                assert fact in page, f"{name}: docs/data.md must mention {fact}"


def test_all_names_exist():
    assert all(hasattr(datasets, name) for name in datasets.__all__)


# Adult

ADULT_ROW = (
    "{age}, Private, 77516, Bachelors, {years}, Single, Sales, Wife, White, {sex}, 0, 0, {hours}, Peru, {pay}"
)


def adult_text(people) -> bytes:
    keys = ("age", "years", "sex", "hours", "pay")
    rows = [ADULT_ROW.format(**dict(zip(keys, person, strict=True))) for person in people]
    return ("\n".join(rows) + "\n\n").encode()


def adult_people():
    """Fourteen people of ages 20 to 33, out of order: two in each bin."""
    ages = [20 + (5 * i) % 14 for i in range(14)]
    return [
        (age, 1 + age % 16, ("Male", "Female")[age % 3 == 0], 38 + age % 5, ("<=50K", ">50K")[age % 2])
        for age in ages
    ]


def test_adult_equals_a_plain_computation(folder, monkeypatch):
    people = adult_people()
    text = adult_text(people)
    monkeypatch.setitem(FILES, "adult/adult.data", toy("adult/adult.data", text))
    put(folder / "adult" / "adult.data.gz", gzip.compress(text))
    ads = load_adult()
    for row, (age, years, sex, hours, pay) in enumerate(people):
        one_hot = [float((age - 20) // 2 == place) for place in range(7)]
        expected = [*one_hot, float(sex == "Female"), float(hours > 40), years / 16]
        assert ads.features[row].tolist() == expected
        assert ads.weights[row] == (0.15 if pay == ">50K" else 0.05)
        assert ads.group_names[ads.groups[row]] == sex.lower()
    assert ads.names[:2] == ("age up to 21", "age 22-23")
    assert ads.names[6:] == ("age over 31", "female", "over 40 hours", "education")
    assert ads.features.dtype == ads.weights.dtype == np.float64
    assert load_adult() is ads
    with pytest.raises(ValueError, match="read-only"):
        ads.features[0, 0] = 1.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b" Peru,", b"", r"line 1: must have 15 columns, got 14"),
        (b"25, Private", b"2.5, Private", r"line 2: age must be a whole number, got '2\.5'"),
        (b"25, Private", b"?, Private", r"line 2: age must be a whole number, got '\?'"),
        (b"Bachelors, 10,", b"Bachelors, -1,", r"line 2: education-num must be a whole number, got '-1'"),
        (b"White, Male", b"White, male", r"line 1: sex must be Male or Female, got 'male'"),
        (b">50K", b">50K.", r"line 2: income must be <=50K or >50K, got '>50K\.'"),
        (b"\n30,", b"\n\n30,", r"line 3: must have 15 columns, got 1"),
        (b"Private", b"Priv\xe9", r"must be ascii text, got byte 0xe9"),
    ],
)
def test_adult_names_the_malformed_line(old, new, message):
    text = adult_text(adult_people())
    assert old in text
    with pytest.raises(DataError, match=rf"^adult/adult\.data(, |: ){message}$"):
        parse_adult(text.replace(old, new, 1))


# Last.fm


def lastfm_rows(seed: int = 3):
    """Rows at random; artist 40 has one listener, 41 is only tagged, 42 only listened to."""
    chance = random.Random(seed)  # noqa: S311
    listens = {(user, artist): chance.randint(1, 500) for user in range(2, 12) for artist in range(1, 13)}
    listens = {pair: count for pair, count in listens.items() if chance.random() < 0.6}
    listens |= {(2, 40): 7, (2, 42): 9, (3, 42): 9, (20, 1): 5, (21, 1): 4, (21, 2): 4}
    tagged = {(chance.randint(2, 11), chance.randint(1, 12), chance.randint(1, 30)) for _ in range(150)}
    tagged |= {(2, 40, 1), (3, 40, 1), (2, 41, 1), (3, 41, 1)}
    return [(*pair, count) for pair, count in listens.items()], sorted(tagged)


def plain_lastfm(listens, tagged, audience):
    """Section 6.3 in plain Python: {artist: (features, weight)} and the tags."""
    popularity = Counter(tag for _, _, tag in tagged)
    tags = sorted(popularity, key=lambda tag: (-popularity[tag], tag))[:20]
    listeners, givers, by_user = defaultdict(set), defaultdict(set), defaultdict(dict)
    for user, artist, count in listens:
        listeners[artist].add(user)
        by_user[user][artist] = count
    for user, artist, tag in tagged:
        givers[artist, tag].add(user)
        givers[artist].add(user)
    counted = listeners if audience == "listeners" else givers
    result = {}
    for artist, users in sorted(listeners.items()):
        if len(counted[artist]) >= 2 and any(givers[artist, tag] for tag in tags):
            features = [len(givers[artist, tag]) / len(givers[artist]) for tag in tags]
            result[artist] = features, statistics.fmean(plain_like(by_user[user], artist) for user in users)
    return result, tags


def plain_like(counts, artist):
    """Bayes' rule with two normal densities."""
    median = statistics.median(counts.values())
    classes = [[c for c in counts.values() if c <= median], [c for c in counts.values() if c > median]]
    if not classes[1]:
        return 0.5
    floor = 1e-9 * statistics.pvariance(counts.values())
    logs = []
    for members in classes:
        variance = statistics.pvariance(members) + floor
        distance = (counts[artist] - statistics.fmean(members)) ** 2
        logs.append(math.log(len(members)) - 0.5 * math.log(variance) - 0.5 * distance / variance)
    top = max(logs)
    joint = [math.exp(value - top) for value in logs]
    return joint[1] / sum(joint)


def lastfm_texts(listens, tagged) -> dict[str, bytes]:
    listen_lines = ["userID\tartistID\tweight", *("\t".join(map(str, row)) for row in listens)]
    tag_lines = ["userID\tartistID\ttagID\tday\tmonth\tyear"]
    tag_lines += ["\t".join(map(str, row)) + "\t1\t4\t2009" for row in tagged]
    name_lines = ["tagID\ttagValue", *(f"{tag}\ttag n\xb0\x85{tag}" for tag in range(1, 31))]
    return {
        "user_artists.dat": "\r\n".join([*listen_lines, ""]).encode(),
        "user_taggedartists.dat": "\r\n".join([*tag_lines, ""]).encode(),
        "tags.dat": "\r\n".join([*name_lines, ""]).encode("iso-8859-1"),
    }


@pytest.fixture
def put_lastfm(folder, monkeypatch):
    def store(texts: dict[str, bytes]) -> None:
        for short, text in texts.items():
            name = f"lastfm-hetrec2011/{short}"
            monkeypatch.setitem(FILES, name, toy(name, text))
            put(folder / (name + ".gz"), gzip.compress(text))

    return store


@pytest.mark.parametrize("audience", ["listeners", "taggers"])
def test_lastfm_equals_a_plain_computation(put_lastfm, audience):
    listens, tagged = lastfm_rows()
    put_lastfm(lastfm_texts(listens, tagged))
    artists = load_lastfm(audience)
    expected, tags = plain_lastfm(listens, tagged, audience)
    assert artists.ids.tolist() == list(expected)
    assert (40 in expected) == (audience == "taggers")
    assert not {41, 42} & set(expected)
    assert artists.names == tuple(f"tag n\xb0\x85{tag}" for tag in tags)
    np.testing.assert_array_equal(artists.features, [features for features, _ in expected.values()])
    np.testing.assert_allclose(artists.weights, [weight for _, weight in expected.values()], atol=1e-12)
    assert artists.weights.std() > 0.05  # the comparison is of weights that differ
    assert load_lastfm(audience) is artists
    with pytest.raises(ValueError, match="read-only"):
        artists.weights[0] = 1.0


def test_lastfm_does_not_depend_on_the_order_of_rows():
    listens, tagged = (np.array(rows) for rows in lastfm_rows())
    names = {tag: str(tag) for tag in range(1, 31)}
    one = lastfm.build_lastfm(listens, tagged, names)
    other = lastfm.build_lastfm(listens[::-1], np.concatenate([tagged[::-1], tagged]), names)
    np.testing.assert_array_equal(one.features, other.features)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)


def test_liking_of_users_who_tell_little():
    # User 1 has one artist, user 2 equal counts, user 3 one artist in each class, user 4 mirrored classes.
    users = np.array([1, 2, 2, 3, 3, 4, 4, 4, 4, 4, 4])
    counts = np.array([9, 5, 5, 10, 20, 1, 2, 3, 7, 8, 9])
    liked = lastfm.like_probabilities(users, counts)
    assert liked[:5].tolist() == [0.5, 0.5, 0.5, 0.0, 1.0]
    # Variances 2/3, means 2 and 8: the log odds at count c are 9 (c - 5).
    np.testing.assert_allclose(liked[5:], 1 / (1 + np.exp(-9.0 * (counts[5:] - 5))), rtol=1e-6)


@pytest.mark.parametrize(
    ("short", "old", "new", "message"),
    [
        (
            "user_artists.dat",
            b"weight",
            b"count",
            r"user_artists\.dat, line 1: must be the header 'userID\\t",
        ),
        ("user_artists.dat", b"\r\n2\t", b"\r\n\r\n2\t", r"line 2: must have 3 columns, got 1"),
        ("user_artists.dat", b"\r\n2\t", b"\r\ntwo\t", r"line 2: userID must be a whole number, got 'two'"),
        (
            "user_taggedartists.dat",
            b"\t2009",
            b"",
            r"user_taggedartists\.dat, line 2: must have 6 columns, got 5",
        ),
        ("tags.dat", b"\r\n1\t", b"\r\n1 ", r"tags\.dat, line 2: must have 2 columns, got 1"),
        ("tags.dat", b"\r\n1\t", b"\r\n99\t", r"tags\.dat: must name tag 1, which is among the most popular"),
    ],
)
def test_lastfm_names_the_malformed_line(put_lastfm, short, old, new, message):
    texts = lastfm_texts(*lastfm_rows())
    assert old in texts[short]
    put_lastfm(texts | {short: texts[short].replace(old, new, 1)})
    with pytest.raises(DataError, match=message):
        load_lastfm()


def test_lastfm_without_rows_is_refused(put_lastfm):
    put_lastfm(lastfm_texts(*lastfm_rows()) | {"user_artists.dat": b"userID\tartistID\tweight\r\n"})
    with pytest.raises(DataError, match=r"user_artists\.dat: must have rows below the header, got none"):
        load_lastfm()


def test_lastfm_refuses_an_unknown_audience():
    with pytest.raises(
        ValueError, match="load_lastfm: audience must be one of 'listeners', 'taggers', got 'all'"
    ):
        load_lastfm("all")


# The real files, where SUPERARM_DATA holds them

if REAL and Path(REAL, "adult").is_dir():

    def test_real_adult(monkeypatch):
        monkeypatch.setenv("SUPERARM_DATA", REAL)
        ads = load_adult()
        assert ads.features.shape == (32_561, 10)
        assert np.count_nonzero(ads.weights == 0.15) == 7_841
        assert ads.groups.sum() == 10_771
        assert ads.features[:, :7].sum(axis=0).tolist() == [4772, 4939, 4338, 5069, 4553, 4382, 4508]
        assert (ads.features.min(), ads.features.max()) == (0.0, 1.0)
        best = sum(np.sort(ads.weights[ads.groups == group])[-50:].sum() for group in (0, 1))
        assert best == pytest.approx(15.0)


if REAL and Path(REAL, "lastfm-hetrec2011").is_dir():

    def test_real_lastfm(monkeypatch):
        monkeypatch.setenv("SUPERARM_DATA", REAL)
        artists = load_lastfm()
        assert artists.features.shape == (4_768, 20)
        assert load_lastfm("taggers").features.shape == (6_054, 20)
        assert artists.names[:3] == ("rock", "pop", "alternative")
        assert artists.features.min() == 0.0
        assert artists.features.max() == 1.0
        assert np.all(artists.features.any(axis=1))
        assert artists.weights.mean() == pytest.approx(0.4501, abs=1e-4)
        assert np.sort(artists.weights)[-10:].sum() == pytest.approx(10.0)


# --- text of unknown origin ---


def test_numbers_and_fields_of_named_columns_are_bounded():
    with pytest.raises(DataError, match=r"^log, line 3: item must have at most 18 digits, got 25$"):
        rows.whole("log", 3, "item", "9" * 25)
    assert rows.whole("log", 3, "item", "9" * 18) == 10**18 - 1
    lines = ["a,b\n", "1,2\n", f"1,{'x' * 1001}\n"]
    with pytest.raises(DataError, match=r"^log, line 3: fields must have at most 1000 characters, got 1001$"):
        list(rows.read_named("log", lines, ("a", "b")))
    assert len(list(rows.read_named("log", lines, ("a",)))) == 2  # other columns are passed over
