"""Reading the .Z files of the Unix program compress, in which UCI still keeps an archive's member.

A code stands for a byte string, and every code read defines one more: the string before it and its own first
byte. Codes grow from 9 bits to the number that the header names. Writers put codes out in groups of eight, so
a change of their size leaves the rest of a group unused.
"""

from __future__ import annotations

from superarm.datasets.files import DataError

_MAGIC = b"\x1f\x9d"
_CLEAR = 256  # in block mode the code that forgets all strings
_FIRST_BITS = 9
_MOST_BITS = 16


def unpack(packed: bytes, bound: int) -> bytes:
    """Return the first `bound` bytes, or a few more, of what a .Z file holds."""
    if len(packed) < 3 or packed[:2] != _MAGIC:
        raise DataError("not a compressed .Z file")
    most_bits, block_mode = packed[2] & 0x1F, bool(packed[2] & 0x80)
    if not _FIRST_BITS < most_bits <= _MOST_BITS:
        raise DataError(f"codes of {most_bits} bits in a .Z file")
    literals = [bytes([value]) for value in range(256)] + [b""] * block_mode
    strings, previous, bits = list(literals), b"", _FIRST_BITS
    group = place = 24  # bits before the first code of this size, and before the next code
    out = bytearray()
    while len(out) < bound:
        if len(strings) >> bits and bits < most_bits:
            group = place = _group_end(group, place, bits)
            bits += 1
        if place + bits > 8 * len(packed):
            break
        window = int.from_bytes(packed[place >> 3 : (place >> 3) + 4], "little")
        code = window >> (place & 7) & ((1 << bits) - 1)
        place += bits
        if block_mode and code == _CLEAR:
            group = place = _group_end(group, place, bits)
            strings, previous, bits = list(literals), b"", _FIRST_BITS
            continue
        if code > len(strings) or (code == len(strings) and not previous):
            raise DataError("a code that no string has in a .Z file")
        current = strings[code] if code < len(strings) else previous + previous[:1]
        if previous and len(strings) < 1 << most_bits:
            strings.append(previous + current[:1])
        out += current
        previous = current
    return bytes(out)


def _group_end(group: int, place: int, bits: int) -> int:
    """Where the group of eight codes ends that the next code would belong to, or that just ended."""
    return group - (group - place) // (8 * bits) * (8 * bits)
