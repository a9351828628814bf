"""What the kernels of a training step ask of a GPU's multiprocessors, without one: some programs of each run as PTX, and their
instructions, sectors of memory, waits for shared memory and tensor operations are counted.
`python -m benchmarks.gpu_counts name ...`

`gpu_ledger` says how long memory and arithmetic of a step take at least; this says where something else takes longer.
"""

import argparse
import ctypes
from dataclasses import dataclass

from ingot.runtime.cuda import compile as compiler
from ingot.runtime.cuda import launch
from ingot.runtime.cuda.ledger import H100 as CHIP
from ingot.runtime.cuda.ledger import Ledger
from ingot.tools import ptx

from .gpu_ledger import noted
from .gpu_steps import every
from .harness import Plan

PROGRAMS = 8            # of a kernel that run


@dataclass(frozen=True)
class Chip:
    """What multiprocessors do in a second: instructions of warps, those of them that special units compute, bytes that come
    from the second-level cache, rows of shared memory, operations of tensor cores."""

    issued: float
    special: float
    cache: float
    shared: float
    tensor: float


H100 = Chip(issued=132 * 4 * 1.7e9, special=132 * 4 * 1.7e9 / 8, cache=7.5e12, shared=132 * 1.7e9, tensor=800e12)


class Launches(Ledger):
    """A ledger whose kernels are called by numbers, of what was launched with which numbers: `kept[name]` is (variant, grid,
    block of parameters)."""

    def __init__(self, arch):
        super().__init__(arch)
        self.kept: dict = {}
        self._known: dict = {}

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        """A launch."""
        code = self.modules[function]
        variant, binary = next((v, b) for v, b in compiler.made().items() if b.code == code)
        block = ctypes.string_at(ctypes.c_void_p.from_address(parameters).value, binary.offsets[-1] + 8)
        grid, pointers = launch.grid_of(config), [k[0] == "*" for k in variant.signature().values() if k != "constexpr"]
        numbers = tuple([block[o:o + 8] for o, is_pointer in zip(binary.offsets, pointers) if not is_pointer])
        name = self._known.setdefault((code, grid, numbers), f"{binary.name} {len(self._known)}")
        self.kept.setdefault(name, (variant, grid, block))
        return self._noted(name, grid, 0, 0)


def times(counts: ptx.Counts, chip: Chip = H100) -> dict:
    """Seconds that each part of the chip is busy."""
    special = counts.instructions.get("special", 0)
    return {"issue": counts.issued / chip.issued, "special": special / chip.special,
            "cache": counts.sectors * ptx.SECTOR / chip.cache, "shared": counts.waves / chip.shared,
            "tensor": counts.flops / chip.tensor}


def counted(variant, grid, parameters) -> ptx.Counts:
    """What one launch takes, without a driver."""
    made = compiler._run_triton(variant)
    return ptx.counted(made.asm["ptx"], grid, 32 * made.metadata.num_warps, made.metadata.shared, parameters, PROGRAMS)


def table(rows, found, most) -> str:
    """The kinds of steps whose kernels take longest beyond their floor first."""
    units = ", ".join(times(ptx.Counts()))
    lines = [f"us beyond the floor, times, floor of one, us of: {units}; sectors needed of those touched"]
    alike: dict = {}
    for r in rows:
        alike.setdefault(r, []).append(r)
    shown = []
    for r, same in alike.items():
        counts = [found[name] for name, _ in r.kernels if name in found]
        if counts:
            busy = [sum(t) for t in zip(*[times(c).values() for c in counts])]
            shown.append((len(same) * (max(busy) - r.floor(CHIP)), len(same), busy, counts, r))
    for beyond, often, busy, counts, r in sorted(shown, key=lambda x: -x[0])[:most]:
        share = sum(c.needed for c in counts) / max(1, sum(c.sectors for c in counts))
        parts = " ".join(f"{1e6 * t:7.1f}" for t in busy)
        kernels = ", ".join(f"{name.split()[0]}[{'x'.join(map(str, grid))}]" for name, grid in r.kernels[:3])
        lines.append(f"{1e6 * beyond:8.1f} {often:4} x {1e6 * r.floor(CHIP):7.1f} |{parts} | {share:4.2f}  "
                     f"{r.kind} {r.shapes}: {kernels}")
    return "\n".join(lines)


def main(argv=None) -> int:
    """Prints a table for each step whose name begins as one of those given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_counts", description=__doc__)
    parser.add_argument("names", nargs="+", help="how names of steps begin")
    parser.add_argument("--rows", type=int, default=40, help="how many kinds of launches to show")
    parser.add_argument("--arch", type=int, default=90, help="the chip: 80 or 90")
    args = parser.parse_args(argv)
    with Launches(args.arch) as ledger:
        for step in [s for s in every(Plan()) if any(s.name.startswith(n) for n in args.names)]:
            ledger.kept.clear()
            noted(step, ledger)
            used = list(dict.fromkeys([name for r in ledger.rows for name, _ in r.kernels if name in ledger.kept]))
            found = {}
            for number, name in enumerate(used):
                print(f"\r{number} of {len(used)}", end="", flush=True)
                found[name] = counted(*ledger.kept[name])
            print(f"\r{step.name}\n{table(ledger.rows, found, args.rows)}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
