"""Counts of a kernel's work, from some of its programs run on memory of zeros.

Counted are instructions, sectors of 32 bytes that loads and stores touch, cycles of shared memory (bank conflicts included),
and operations of tensor cores. Instructions are PTX: the assembler emits several for a division or a root, and one for some
pairs.
"""

from dataclasses import dataclass, field

import numpy as np

from .machine import TOGETHER, Machine, entry_of, programs_of

__all__ = ["SECTOR", "Counts", "counted"]

SECTOR = 32             # bytes of a memory transaction
BANKS = 32              # banks of 4 bytes each
_KINDS = {"global": ("ld.global", "st.global", "cp.async", "atom", "red"),
          "shared": ("ld.shared", "st.shared", "ldmatrix", "stmatrix"), "tensor": ("mma", "wgmma.mma"),
          "special": ("ex2", "lg2", "sin", "cos", "rsqrt", "rcp", "tanh", "sqrt", "div"),
          "exchange": ("shfl", "redux", "vote"), "barrier": ("bar",)}


@dataclass
class Counts:
    """Sums over a whole grid, extrapolated from some of its programs.

        instructions    warps that ran each kind of instruction: global, shared, tensor, special, exchange, barrier, other
        sectors         sectors of 32 bytes that warps touched in device memory
        needed          sectors that their bytes would fill
        waves           cycles of shared memory
        flops           operations of tensor cores, by operand type: bf16, f16, tf32, f64 ...
        wasted          instruction -> sectors, or cycles of shared memory, beyond what its bytes need
    """

    programs: int = 0
    instructions: dict = field(default_factory=dict)
    sectors: float = 0.0
    needed: float = 0.0
    waves: float = 0.0
    flops: dict = field(default_factory=dict)
    wasted: dict = field(default_factory=dict)

    @property
    def issued(self) -> float:
        return sum(self.instructions.values())


class _Zeros:
    """Device memory of any size that always holds zeros."""

    def load(self, addresses, size, *rest):
        return np.zeros((len(addresses), size), np.uint8)

    def store(self, *args):
        """Ignore the values."""

    def update(self, addresses, values, *rest):
        return np.zeros_like(values)


class _Observer:
    """Accumulator of accesses."""

    def __init__(self):
        self.sectors: dict = {}         # instruction -> [touched sectors, needed ones]
        self.waves: dict = {}           # the same for cycles of shared memory

    def __call__(self, i, addresses, size, warps):
        if i.parts[0] in ("ldmatrix", "stmatrix") or i.parts[1].startswith("shared"):
            table, took, least = self.waves, _waves(addresses, size, warps), 4 * BANKS
        else:
            table, least = self.sectors, SECTOR
            took = len(np.unique(warps.astype(np.uint64) << np.uint64(44) | addresses // np.uint64(SECTOR)))
        found = table.setdefault(i, [0, 0.0])
        found[0] += took
        found[1] += len(addresses) * size / least


def _waves(addresses, size, warps) -> int:
    """Return cycles of shared memory: lanes that access different words of one bank take turns, 128 bytes at a time."""
    lanes = max(1, 4 * BANKS // max(size, 4))
    order = np.arange(len(addresses)) % 32 // lanes
    group = warps.astype(np.int64) * 8 + order
    words = (addresses.astype(np.int64)[:, None] + np.arange(0, max(size, 4), 4)[None, :]) // 4
    key = np.unique((group[:, None] << 24 | words).reshape(-1))
    _, counts = np.unique((key >> 24) * BANKS + (key & (1 << 24) - 1) % BANKS, return_counts=True)
    banks = np.unique((key >> 24) * BANKS + (key & (1 << 24) - 1) % BANKS) // BANKS
    most = np.zeros(len(np.unique(banks)), np.int64)
    np.maximum.at(most, np.searchsorted(np.unique(banks), banks), counts)
    return int(most.sum())


def counted(text, grid, threads, shared, parameters, programs=8) -> Counts:
    """Run up to `programs` programs, evenly spread over the grid, and return the counts for all."""
    entry, every = entry_of(text), programs_of(grid)
    some = every[np.unique(np.linspace(0, len(every) - 1, min(programs, len(every))).astype(int))]
    observer, step, executed = _Observer(), max(1, TOGETHER // threads), np.zeros(len(entry.instructions), np.int64)
    for low in range(0, len(some), step):
        machine = Machine(entry, some[low:low + step], grid, threads, parameters, _Zeros(), shared, observer)
        machine.run()
        executed += machine.executed
    scale = len(every) / len(some)
    found = Counts(len(every))
    for i, times in zip(entry.instructions, executed):
        kind = next((k for k, names in _KINDS.items() if i.name.startswith(names)), "other")
        found.instructions[kind] = found.instructions.get(kind, 0) + times * scale
        if kind == "tensor":
            factor = i.parts[-2]
            found.flops[factor] = found.flops.get(factor, 0) + times * scale * _flops(i)
    found.sectors, found.needed = (scale * sum([pair[k] for pair in observer.sectors.values()]) for k in (0, 1))
    found.waves = scale * sum([took for took, _ in observer.waves.values()])
    seen = observer.sectors | observer.waves
    found.wasted = {i: scale * (took - least) for i, (took, least) in seen.items() if took > least}
    return found


def _flops(i) -> int:
    """Return the operations of a warp's share of a product."""
    shape = next(p for p in i.parts if p[0] == "m" and p[1:2].isdigit())
    rows, rest = shape[1:].split("n")
    columns, depth = rest.split("k")
    return 2 * int(rows) * int(columns) * int(depth) // (4 if i.parts[0] == "wgmma" else 1)
