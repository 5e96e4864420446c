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
        member: its name inside the archive; "" when `url` is not an archive. It may end in .Z or .gz.
        source: the data set that it belongs to.
        unended: checksum of the content without its last line end, where `url` has it so; "" elsewhere.
    """

    name: str
    sha256: str
    size: int
    url: str
    member: str
    source: Source
    unended: str = ""


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

MNIST = Source(
    title="MNIST",
    page="http://yann.lecun.com/exdb/mnist/",
    licence="CC BY-SA 3.0 as commonly stated",
    citation="LeCun, Bottou, Bengio & Haffner (1998), Proceedings of the IEEE 86(11)",
)
MNIST_FOLDER = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/"  # a mirror; the page's own files are not https
)

MUSHROOM = Source(
    title="Mushroom",
    page="https://archive.ics.uci.edu/dataset/73/mushroom",
    licence="CC BY 4.0",
    citation="Mushroom (1981), UCI Machine Learning Repository, doi:10.24432/C5959T",
)

SHUTTLE = Source(
    title="Statlog (Shuttle)",
    page="https://archive.ics.uci.edu/dataset/148/statlog+shuttle",
    licence="CC BY 4.0",
    citation="Statlog (Shuttle), UCI Machine Learning Repository, doi:10.24432/C5WS31",
)

MAGIC = Source(
    title="MAGIC Gamma Telescope",
    page="https://archive.ics.uci.edu/dataset/159/magic+gamma+telescope",
    licence="CC BY 4.0",
    citation="Bock (2004), MAGIC Gamma Telescope, UCI Machine Learning Repository, doi:10.24432/C52C8B",
)

BANKNOTE = Source(
    title="Banknote Authentication",
    page="https://archive.ics.uci.edu/dataset/267/banknote+authentication",
    licence="CC BY 4.0",
    citation="Lohweg (2012), Banknote Authentication, UCI Machine Learning Repository, doi:10.24432/C55P57",
)

PHONEME = Source(
    title="Phoneme (ELENA)",
    page="https://sci2s.ugr.es/keel/dataset.php?cod=105",
    licence="none stated",
    citation="Van Cappel, Thomson-Sintra, ELENA project (1993), as in the KEEL data set repository",
)
# KEEL's own file has a header; these are its rows.
PHONEME_ROWS = "https://raw.githubusercontent.com/jbrownlee/Datasets/3aafcf4b895557f08f95274bc050841d8568667e/phoneme.csv"

COVERTYPE = Source(
    title="Covertype",
    page="https://archive.ics.uci.edu/dataset/31/covertype",
    licence="CC BY 4.0",
    citation="Blackard (1998), Covertype, UCI Machine Learning Repository, doi:10.24432/C50K5N",
)

OPEN_BANDIT = Source(
    title="Open Bandit Dataset, small sample",
    page="https://github.com/st-tech/zr-obp",
    licence="Apache-2.0",
    citation="Saito, Aihara, Matsutani & Narita (2021), Open Bandit Dataset and Pipeline, arXiv:2008.07146",
)
OPEN_BANDIT_FOLDER = "https://raw.githubusercontent.com/st-tech/zr-obp/master/obp/dataset/obd/random/all/"

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
    DataFile(
        name="mnist/train-images-idx3-ubyte",
        sha256="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        size=47_040_016,
        url=MNIST_FOLDER + "train-images-idx3-ubyte.gz",
        member="",
        source=MNIST,
    ),
    DataFile(
        name="mnist/train-labels-idx1-ubyte",
        sha256="65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        size=60_008,
        url=MNIST_FOLDER + "train-labels-idx1-ubyte.gz",
        member="",
        source=MNIST,
    ),
    DataFile(
        name="mushroom/agaricus-lepiota.data",
        sha256="e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
        size=373_704,
        url="https://archive.ics.uci.edu/static/public/73/mushroom.zip",
        member="agaricus-lepiota.data",
        source=MUSHROOM,
    ),
    DataFile(
        name="shuttle/shuttle.trn",
        sha256="87b24ee9fb5137e1d417659cf905d84d0e15342bbaa60770f1ae83da1a38200a",
        size=1_153_518,
        url="https://archive.ics.uci.edu/static/public/148/statlog+shuttle.zip",
        member="shuttle.trn.Z",
        source=SHUTTLE,
    ),
    DataFile(
        name="magic/magic04.data",
        sha256="e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a",
        size=1_477_391,
        url="https://archive.ics.uci.edu/static/public/159/magic+gamma+telescope.zip",
        member="magic04.data",
        source=MAGIC,
    ),
    DataFile(
        name="banknote/data_banknote_authentication.txt",
        sha256="d0539aaed2139ba7a587b3e34fb345ce503ff7d5d33dbf9912d8e195ce425cb9",
        size=46_400,
        url="https://archive.ics.uci.edu/static/public/267/banknote+authentication.zip",
        member="data_banknote_authentication.txt",
        source=BANKNOTE,
    ),
    DataFile(
        name="phoneme/phoneme.dat",
        sha256="c0eebb5b33f68008d6030ed36148b79d3d370f060902fa0f23b9d801e213be58",
        size=174_718,
        url=PHONEME_ROWS,
        member="",
        source=PHONEME,
        unended="eacbb9f7a2b2135d067bff28ed7b9adb760f61f5e91f375f91e22e7e42ace24d",
    ),
    DataFile(
        name="covertype/covtype.data",
        sha256="0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
        size=75_169_317,
        url="https://archive.ics.uci.edu/static/public/31/covertype.zip",
        member="covtype.data.gz",
        source=COVERTYPE,
    ),
    DataFile(
        name="open-bandit-dataset/random/all/all.csv",
        sha256="7168295b6e0a9eabcf3392320a5dd434e542b68e705d5cd9491499af589812f1",
        size=5_039_451,
        url=OPEN_BANDIT_FOLDER + "all.csv",
        member="",
        source=OPEN_BANDIT,
    ),
    DataFile(
        name="open-bandit-dataset/random/all/item_context.csv",
        sha256="eba04cc23d5f130a93ff174c5392986882b94c3839433cb8143870eaa6221358",
        size=10_041,
        url=OPEN_BANDIT_FOLDER + "item_context.csv",
        member="",
        source=OPEN_BANDIT,
    ),
)

FILES = {file.name: file for file in _TABLE}
