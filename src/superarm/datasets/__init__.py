"""Loaders for the papers' real data. See docs/data.md for where files are looked for, and their licences."""

from superarm.datasets.adult import AdultAds, load_adult
from superarm.datasets.fetch import fetch
from superarm.datasets.files import FILES, DataError, DataFile, Source
from superarm.datasets.lastfm import LastfmArtists, load_lastfm

__all__ = [
    "FILES",
    "AdultAds",
    "DataError",
    "DataFile",
    "LastfmArtists",
    "Source",
    "fetch",
    "load_adult",
    "load_lastfm",
]
