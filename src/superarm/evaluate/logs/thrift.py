"""Thrift's compact protocol, in which Parquet writes its footer and the headers of its pages.

Arrow makes room for what these claim before it looks whether it is there, and hundreds of bytes for an entry
that takes three in the file. So superarm reads them first.

Apache Thrift, Thrift compact protocol encoding, https://github.com/apache/thrift/blob/master/doc/specs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
WHOLE = (I16, I32, I64)
SIZES = {TRUE: 0, FALSE: 0, BYTE: 1, DOUBLE: 8}
DEEPEST = 16  # structs in structs: those of Parquet go about 6 deep


class Thrift:
    """Bytes, and the place up to which they are read.

    What is malformed raises ValueError, and what is truncated IndexError.
    """

    def __init__(self, raw: bytes, at: int = 0) -> None:
        """Begin."""
        self.raw, self.at = raw, at

    def fields(self) -> Iterator[tuple[int, int]]:
        """The numbers and kinds of a struct's fields; the caller reads or skips the value of each."""
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self.whole()
            yield number, head & 15

    def numbers(self, *nested: int) -> dict[int, Any]:
        """The fields of a struct that are whole numbers, and those structs of theirs that are `nested`."""
        found: dict[int, Any] = {}
        for number, kind in self.fields():
            if kind in WHOLE:
                found[number] = self.whole()
            elif kind == STRUCT and number in nested:
                found[number] = self.numbers()
            else:
                self.skip(kind)
        return found

    def size_of_list(self) -> tuple[int, int]:
        """How many elements a list has, and of which kind."""
        head = self._byte()
        return (self._varint() if head >> 4 == 15 else head >> 4), head & 15

    def whole(self) -> int:
        """A whole number."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, kind: int, depth: int = 0) -> None:
        """Pass over a value of a struct, where True and False are kinds."""
        if kind in WHOLE:
            self._varint()
        elif kind == BINARY:
            size = self._varint()  # which moves the place
            self.at += size
        elif kind in (LIST, SET):
            count, inner = self.size_of_list()
            self._skip_all(count, (inner,), depth)
        elif kind == MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            self._skip_all(count, (kinds >> 4, kinds & 15), depth)
        elif kind == STRUCT:
            for _, inner in self.fields():
                self._deeper(inner, depth)
        elif kind in SIZES:
            self.at += SIZES[kind]
        else:
            raise ValueError(f"it has a value of an unknown kind, {kind}")

    def _skip_all(self, count: int, kinds: tuple[int, ...], depth: int) -> None:
        """Pass over what is in a list or a map, where True and False take a byte."""
        for _ in range(count):
            for kind in kinds:
                if kind in (TRUE, FALSE):
                    self.at += 1
                else:
                    self._deeper(kind, depth)
            if self.at > len(self.raw):  # else a count that lies would be counted to its end
                raise IndexError("it is truncated")

    def _deeper(self, kind: int, depth: int) -> None:
        if depth > DEEPEST:
            raise ValueError("it is too deeply nested")
        self.skip(kind, depth + 1)

    def _byte(self) -> int:
        byte = self.raw[self.at]
        self.at += 1
        return byte

    def _varint(self) -> int:
        byte = value = self.raw[self.at]
        self.at += 1
        if byte < 128:  # what it mostly is
            return byte
        value, shift = byte & 127, 7
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("it has a number that is too long")
        return value | byte << shift
