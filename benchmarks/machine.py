"""What the benchmarks ran on."""

from __future__ import annotations

import os
from pathlib import Path

from superarm.provenance import cpu_model

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
MEMORY = Path("/proc/meminfo")


def machine() -> str:
    """The processor, its cores and caches, and the memory, as far as the system tells."""
    return ", ".join([cpu_model(), f"{os.cpu_count()} cores", *caches(), *memory()])


def caches() -> list[str]:
    """The caches of a core that hold data, the smallest first."""
    found = []
    for folder in sorted(CACHES.glob("index*")):
        level, kind, size = (
            (folder / name).read_text(encoding="utf-8").strip() for name in ("level", "type", "size")
        )
        if kind != "Instruction":
            found.append(f"L{level} {int(size.removesuffix('K')):,} KB")
    return found


def memory() -> list[str]:
    """The memory of the machine."""
    if not MEMORY.exists():
        return []
    total = MEMORY.read_text(encoding="utf-8").split("MemTotal:", 1)[1].split()[0]
    return [f"{int(total) / 2**20:.0f} GB of memory"]
