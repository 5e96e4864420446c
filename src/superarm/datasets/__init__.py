"""Loaders for the papers' real data. See docs/data.md for where files are looked for, and their licences."""

from superarm import checks
from superarm.datasets.adult import AdultAds, load_adult
from superarm.datasets.adult_classes import load_adult_classes
from superarm.datasets.classes import ClassData
from superarm.datasets.fetching import fetch
from superarm.datasets.files import FILES, DataError, DataFile, Source
from superarm.datasets.lastfm import LastfmArtists, load_lastfm
from superarm.datasets.mnist import load_mnist
from superarm.datasets.mushroom import load_mushroom
from superarm.datasets.open_bandit import OpenBandit, load_open_bandit
from superarm.datasets.tables import load_banknote, load_covertype, load_magic, load_phoneme, load_shuttle

__all__ = [
    "FILES",
    "AdultAds",
    "ClassData",
    "DataError",
    "DataFile",
    "LastfmArtists",
    "OpenBandit",
    "Source",
    "fetch",
    "load_adult",
    "load_adult_classes",
    "load_banknote",
    "load_covertype",
    "load_lastfm",
    "load_magic",
    "load_mnist",
    "load_mushroom",
    "load_open_bandit",
    "load_phoneme",
    "load_shuttle",
]

checks.public(__name__)
