"""The table of known data files: what each is, where it is published, and on what terms.

To add a file, add a `DataFile` to the table; `fetch` needs nothing else. Checksums and sizes are of the
content, after decompression, so a plain copy and a compressed one are the same file.
"""

from __future__ import annotations

from dataclasses import dataclass


class DataError(RuntimeError):
    """A data file is missing, damaged or malformed; the message says which, and what to do."""


@dataclass(frozen=True)
class Source:
    """Where a data set is published.

    Attributes:
        title: the name of the data set.
        page: the page that describes it.
        licence: the terms of use, as the publisher states them.
        citation: what to cite.
    """

    title: str
    page: str
    licence: str
    citation: str


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes:
        name: its path below the data folder, with forward slashes.
        sha256: checksum of the content.
        size: bytes of the content.
        url: the https address of the file itself, of its .gz form, or of a .zip archive that holds it.
        member: its name inside the archive; "" when `url` is not an archive.
        source: the data set that it belongs to.
    """

    name: str
    sha256: str
    size: int
    url: str
    member: str
    source: Source


ADULT = Source(
    title="Adult (Census Income)",
    page="https://archive.ics.uci.edu/dataset/2/adult",
    licence="CC BY 4.0",
    citation="Becker & Kohavi (1996), Adult, UCI Machine Learning Repository, doi:10.24432/C5XW20",
)
ADULT_ZIP = "https://archive.ics.uci.edu/static/public/2/adult.zip"

LASTFM = Source(
    title="Last.fm (HetRec 2011)",
    page="https://grouplens.org/datasets/hetrec-2011/",
    licence="non-commercial use only",
    citation=(
        "Cantador, Brusilovsky & Kuflik (2011), 2nd Workshop on Information Heterogeneity and Fusion in"
        " Recommender Systems, RecSys; Last.fm, http://www.lastfm.com"
    ),
)
LASTFM_ZIP = "https://files.grouplens.org/datasets/hetrec2011/hetrec2011-lastfm-2k.zip"

_TABLE = (
    DataFile(
        name="adult/adult.data",
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        size=3_974_305,
        url=ADULT_ZIP,
        member="adult.data",
        source=ADULT,
    ),
    DataFile(
        name="adult/adult.test",
        sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        size=2_003_153,
        url=ADULT_ZIP,
        member="adult.test",
        source=ADULT,
    ),
    DataFile(
        name="lastfm-hetrec2011/user_artists.dat",
        sha256="001400dc3c7d2667fca6e4ea6dc6acc31a9dd28ad5cd0f74cea988c019934d3b",
        size=1_296_455,
        url=LASTFM_ZIP,
        member="user_artists.dat",
        source=LASTFM,
    ),
    DataFile(
        name="lastfm-hetrec2011/user_taggedartists.dat",
        sha256="d31fe938fcfeed6f0059f37a36b156f63674d073fc2553e5cc9dc1595e365bc7",
        size=4_366_696,
        url=LASTFM_ZIP,
        member="user_taggedartists.dat",
        source=LASTFM,
    ),
    DataFile(
        name="lastfm-hetrec2011/tags.dat",
        sha256="e95175f259be4c0c47644ae23d66131cd6d5767142a1405000e79f5584691d70",
        size=234_468,
        url=LASTFM_ZIP,
        member="tags.dat",
        source=LASTFM,
    ),
)

FILES = {file.name: file for file in _TABLE}
