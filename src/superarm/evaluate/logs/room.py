"""How much of a table is read: bounds that hold before memory is taken.

A file of a few kilobytes can say that it unpacks to terabytes. So what is read of a file is bounded by its
size, above an amount that any file may have: 1 GB in all for a small file. Data frames are in memory already,
and have the upper bounds alone.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_ROWS = 50_000_000
MAX_BYTES = 4 * 2**30  # of the columns that are read, unpacked
MAX_NUMBERS = 2**28  # events x arms x features: 2 GiB

FREE_ROWS = 2**21  # 2 million
FREE_BYTES = 2**28  # a million rows of 20 columns take 160 MB
FREE_NUMBERS = 2**26  # 512 MiB

# Per byte of the file. Text takes at most 8 bytes a byte; Parquet with few different values in a column, some
# fifty. What is packed closer must be as small as the bounds above.
ROWS_PER_BYTE = 1
BYTES_PER_BYTE = 64
NUMBERS_PER_BYTE = 16


@dataclass(frozen=True)
class Room:
    """At most so many rows, bytes of columns, and numbers (events x arms x features)."""

    rows: int
    nbytes: int
    numbers: int

    @property
    def page(self) -> int:
        """Bytes of what a file is unpacked by at once: Arrow copies it up to four times."""
        return self.nbytes // 4

    @classmethod
    def of_frame(cls) -> Room:
        """For a data frame."""
        return cls(MAX_ROWS, MAX_BYTES, MAX_NUMBERS)

    @classmethod
    def of_file(cls, size: int) -> Room:
        """For a file of so many bytes.

        >>> Room.of_file(14_000).numbers, Room.of_file(10**9).numbers
        (67108864, 268435456)
        """
        return cls(
            rows=min(MAX_ROWS, max(FREE_ROWS, ROWS_PER_BYTE * size)),
            nbytes=min(MAX_BYTES, max(FREE_BYTES, BYTES_PER_BYTE * size)),
            numbers=min(MAX_NUMBERS, max(FREE_NUMBERS, NUMBERS_PER_BYTE * size)),
        )
