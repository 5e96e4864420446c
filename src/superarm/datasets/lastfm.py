"""Last.fm: which artists to recommend (wen2015, section 6.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from superarm import checks
from superarm.datasets.fetching import fetch
from superarm.datasets.files import DataError
from superarm.datasets.rows import read_rows, whole

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FOLDER = "lastfm-hetrec2011"
NUM_TAGS = 20  # wen2015, section 6.3
MIN_USERS = 2  # wen2015, section 6.3
VARIANCE_FLOOR = 1e-9  # share of the user's variance; the usual smoothing of a Gaussian naive Bayes
Audience = Literal["listeners", "taggers"]
AUDIENCES: tuple[Audience, ...] = get_args(Audience)


@dataclass(frozen=True, eq=False)
class LastfmArtists:
    """Artists that can be recommended. Arrays are read-only; d = 20.

    Attributes:
        features: (n, d) in [0, 1]: for each tag, the share of the artist's taggers who gave it.
        weights: (n,) in [0, 1]: probability that an average listener chooses the artist.
        ids: (n,) the data's artistID, rising.
        names: (d) names of the features: the most popular tags, most popular first.
    """

    features: Floats
    weights: Floats
    ids: Integers
    names: tuple[str, ...]


@lru_cache(maxsize=len(AUDIENCES))
def load_lastfm(audience: Audience = "listeners") -> LastfmArtists:
    """Load the recommendation problem of wen2015, section 6.3.

        w(e) = mean over users u who listened to e of w_u(e),   w_u(e) = P(u likes e | listening count)

    Args:
        audience: which users an artist must have two of. "listeners" is the paper's text and gives 4,768
            artists, though the paper counts "about 6k"; "taggers" (with at least one listener) gives 6,054.

    What the paper leaves open, and what is done here:

    - Popularity of a tag is its number of assignments; ties go to the lower tagID.
    - A feature is the number of users who gave the artist the tag, over the users who gave it any tag.
    - w_u is a naive Bayes of user u alone, of one variable, the raw listening count. The classes are liked
      (count above the user's median) and not; priors are their shares; each is a Gaussian with the class's
      mean and variance (ddof 0), plus 1e-9 of the variance of all the user's counts so that a class of one
      artist has a density. Taking logarithms of counts would move the mean weight from 0.45 to 0.48.
    - A user with no count above the median (one artist, or equal counts) tells nothing: w_u = 1/2.
    - Users are fitted on all their artists, also those that are not among the items.

    The files are fetched (see `fetch`) and read once per process.

    References:
        Wen, Kveton & Ashkan (2015), Efficient Learning in Large-Scale Combinatorial Semi-Bandits, ICML.
        Cantador, Brusilovsky & Kuflik (2011), HetRec workshop, RecSys; Last.fm, http://www.lastfm.com.
        Non-commercial use only.
    """
    checks.one_of("load_lastfm", "audience", audience, AUDIENCES)
    listens = _table("user_artists.dat", ("userID", "artistID", "weight"))
    columns = ("userID", "artistID", "tagID", "day", "month", "year")
    tagged = _table("user_taggedartists.dat", columns)
    return build_lastfm(listens, tagged, _tag_names(), audience)


def build_lastfm(
    listens: Integers, tagged: Integers, tag_names: dict[int, str], audience: Audience = "listeners"
) -> LastfmArtists:
    """Build the problem from rows (user, artist, count) and (user, artist, tag)."""
    tagged = np.unique(tagged, axis=0)
    tags = popular_tags(tagged[:, 2])
    num_artists = 1 + max(listens[:, 1].max(), tagged[:, 1].max())
    listeners = np.bincount(listens[:, 1], minlength=num_artists)
    taggers = np.bincount(np.unique(tagged[:, :2], axis=0)[:, 1], minlength=num_artists)
    given = _tag_counts(tagged, tags, num_artists)
    enough = (listeners if audience == "listeners" else taggers) >= MIN_USERS
    ids = np.flatnonzero(enough & (listeners > 0) & given.any(axis=1))

    liked = like_probabilities(listens[:, 0], listens[:, 2])
    weights = np.bincount(listens[:, 1], weights=liked, minlength=num_artists)[ids] / listeners[ids]
    features = given[ids] / taggers[ids, None]
    for array in (features, weights, ids):
        array.setflags(write=False)
    names = tuple(_named(tag_names, int(tag)) for tag in tags)
    return LastfmArtists(features=features, weights=weights, ids=ids, names=names)


def popular_tags(tags: Integers) -> Integers:
    """(20,) the tags with the most assignments, most first; fewer if there are fewer."""
    distinct, counts = np.unique(tags, return_counts=True)
    return distinct[np.argsort(-counts, kind="stable")][:NUM_TAGS]


def like_probabilities(users: Integers, counts: Integers) -> Floats:
    """(m,) P(user likes artist | count) for each pair, by one Gaussian naive Bayes per user.

    Args:
        users: (m,) user of each pair.
        counts: (m,) the user's listening count of the artist.
    """
    _, user, sizes = np.unique(users, return_inverse=True, return_counts=True)
    values = counts.astype(np.float64)
    liked = values > _medians(user, sizes, values)[user]
    cell = 2 * user + liked  # (user, class)
    members, means, variances = _moments(cell, values, 2 * sizes.size)
    _, _, spread = _moments(user, values, sizes.size)

    def log_joint(cells: Integers) -> Floats:
        variance = np.where(spread[user] > 0, variances[cells] + VARIANCE_FLOOR * spread[user], 1.0)
        density = np.log(variance) + (values - means[cells]) ** 2 / variance
        return np.asarray(np.log(np.maximum(members[cells], 1)) - 0.5 * density)

    odds = log_joint(2 * user + 1) - log_joint(2 * user)
    split = members[2 * user + 1] > 0
    return np.where(split, expit(odds), 0.5)


def _medians(user: Integers, sizes: Integers, values: Floats) -> Floats:
    """(users,) median of each user's values."""
    ordered = values[np.lexsort((values, user))]
    start = np.cumsum(sizes) - sizes
    middle: Floats = ordered[start + (sizes - 1) // 2] + ordered[start + sizes // 2]
    return 0.5 * middle


def _moments(cell: Integers, values: Floats, num: int) -> tuple[Floats, Floats, Floats]:
    """(num,) count, mean and variance of the values in each cell; 0 in an empty one."""
    members = np.bincount(cell, minlength=num).astype(np.float64)
    divisor = np.maximum(members, 1)
    means = np.bincount(cell, weights=values, minlength=num) / divisor
    variances = np.bincount(cell, weights=(values - means[cell]) ** 2, minlength=num) / divisor
    return members, means, variances


def _tag_counts(tagged: Integers, tags: Integers, num_artists: int) -> Floats:
    """(artists, tags) users who gave the tag to the artist."""
    counts = np.zeros((num_artists, tags.size))
    for column, tag in enumerate(tags):
        artists = tagged[tagged[:, 2] == tag, 1]
        counts[:, column] = np.bincount(artists, minlength=num_artists)
    return counts


def _table(short: str, columns: tuple[str, ...]) -> Integers:
    """(m, 3) the first three columns, which are all that is used."""
    name = f"{FOLDER}/{short}"
    rows = read_rows(name, fetch(name), separator="\t", columns=len(columns), header="\t".join(columns))
    parsed = [
        [whole(name, number, column, row[place]) for place, column in enumerate(columns[:3])]
        for number, row in rows
    ]
    return np.array(parsed, dtype=np.int64)


def _tag_names() -> dict[int, str]:
    name = f"{FOLDER}/tags.dat"
    header = "tagID\ttagValue"
    rows = read_rows(name, fetch(name), separator="\t", columns=2, header=header, encoding="iso-8859-1")
    return {whole(name, number, "tagID", tag): value for number, (tag, value) in rows}


def _named(tag_names: dict[int, str], tag: int) -> str:
    if tag not in tag_names:
        raise DataError(
            f"{FOLDER}/tags.dat: must name tag {tag}, which is among the most popular, got no such row"
        )
    return tag_names[tag]
