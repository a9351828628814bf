"""Counts of the work of kernels on a GPU's multiprocessors, taken without a GPU.

Some programs of each kernel run as PTX. Counted are instructions, sectors of memory, waits for shared memory and tensor
operations, for the kernels of training steps or of single calls. `python -m benchmarks.gpu_counts name ...`; without a name it
lists the names. `gpu_ledger` gives the least time that memory and arithmetic of a step take; these counts show other limits.
"""

import argparse
from dataclasses import dataclass

import ingot
from ingot import nn
from ingot.backends import cudnn
from ingot.nn import functional as F
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.offline import cost_model
from ingot.tools import ptx

from .gpu_launches import Launches
from .gpu_ledger import recorded
from .gpu_steps import every
from .harness import Plan

PROGRAMS = 8            # of a kernel that run
CARD = cost_model.H100
RATES = {"bf16": "bfloat16", "f16": "float16", "tf32": "tf32", "f64": "float64"}      # what the card's rates call factors


@dataclass(frozen=True)
class Chip:
    """Rates per second of all multiprocessors: instructions of warps, instructions of special function units, bytes from the
    second-level cache, rows of shared memory."""

    issued: float
    special: float
    cache: float
    shared: float


H100 = Chip(issued=132 * 4 * 1.7e9, special=132 * 4 * 1.7e9 / 8, cache=7.5e12, shared=132 * 1.7e9)


def times(counts: ptx.Counts, chip: Chip = H100) -> dict:
    """Seconds that each part of the chip is busy."""
    tensor = sum([n / CARD.rates.get(RATES.get(kind, ""), CARD.rates["bfloat16"]) for kind, n in counts.flops.items()])
    special = counts.instructions.get("special", 0)
    return {"issue": counts.issued / chip.issued, "special": special / chip.special,
            "cache": counts.sectors * ptx.SECTOR / chip.cache, "shared": counts.waves / chip.shared, "tensor": tensor}


def counted(variant, grid, parameters) -> ptx.Counts:
    """Count one launch, without a driver."""
    made = compiler._run_triton(variant)
    return ptx.counted(made.asm["ptx"], grid, 32 * made.metadata.num_warps, made.metadata.shared, parameters, PROGRAMS)


def described(counts, names) -> str:
    """Us of each part of the chip, the share of touched sectors that is needed, kernels with their grids, and the instruction
    that wastes most of sectors or cycles."""
    busy = [sum(t) for t in zip(*[times(c).values() for c in counts])]
    share = sum(c.needed for c in counts) / max(1, sum(c.sectors for c in counts))
    wasted = max([(n, i.name) for c in counts for i, n in c.wasted.items()], default=(0, ""))
    rest = sum(c.sectors + c.waves for c in counts)
    worst = f"; {wasted[1]}" if wasted[0] > rest / 10 else ""
    kernels = ", ".join(f"{name.split()[0]}[{'x'.join(map(str, grid))}]" for name, grid in names[:3])
    return f"{' '.join(f'{1e6 * t:7.1f}' for t in busy)} | {share:4.2f}  {kernels}{worst}"


UNITS = f"us of: {', '.join(times(ptx.Counts()))}; sectors needed of those touched; what wastes most"


def table(rows, results, most) -> str:
    """The kinds of steps whose kernels take longest beyond their floor first."""
    lines = [f"us beyond the floor, times, floor of one, {UNITS}"]
    alike: dict = {}
    for r in rows:
        alike.setdefault(r, []).append(r)
    shown = []
    for r, same in alike.items():
        counts = [results[name] for name, _ in r.kernels if name in results]
        if counts:
            busy = max([sum(t) for t in zip(*[times(c).values() for c in counts])])
            shown.append((len(same) * (busy - r.floor(CARD)), len(same), counts, r))
    for beyond, calls, counts, r in sorted(shown, key=lambda x: -x[0])[:most]:
        told = described(counts, r.kernels)
        lines.append(f"{1e6 * beyond:8.1f} {calls:4} x {1e6 * r.floor(CARD):7.1f} |{told}  {r.kind} {r.shapes}")
    return "\n".join(lines)


def calls() -> dict:
    """Single calls, by name; those that take gradients do so of a sum."""
    def zeros(*shape, dtype=ingot.float32):
        return ingot.zeros(*shape, dtype=dtype, device="cuda")

    def attention(dtype):
        q = zeros(4, 16, 1024, 64, dtype=dtype).requires_grad_()
        return lambda: ingot.autograd.grad(F.scaled_dot_product_attention(q, q, q, is_causal=True).sum(), q)

    def decoding(heads, keys, dtype=ingot.bfloat16):
        q, k = zeros(1, 12, 1, 64, dtype=dtype), zeros(1, heads, keys, 64, dtype=dtype)
        return lambda: F.scaled_dot_product_attention(q, k, k, enable_gqa=heads != 12)

    def gradients(f, *shapes, dtype=ingot.float32):
        given = [zeros(*s, dtype=dtype).requires_grad_() for s in shapes]
        return lambda: ingot.autograd.grad(f(*given).sum(), given)

    x, w, v = zeros(8192, 1024), zeros(1536, 384), zeros(1024)
    lstm, steps = nn.LSTM(256, 256).to("cuda"), zeros(8, 32, 256)
    images = (64, 128, 28, 28), (128, 128, 3, 3)
    return {
        "product x @ w.T, float32": lambda: zeros(4096, 384) @ w.T,
        "product 256x784 x 784x512, float32": lambda: zeros(256, 784) @ zeros(512, 784).T,
        "product with a vector, float32": lambda: x @ v,
        "products of pairs of vectors, float32": lambda: ingot.einsum("bi,bi->b", x, x),
        "attention, float32": attention(ingot.float32), "attention, bfloat16": attention(ingot.bfloat16),
        "decoding over 4096 keys, bfloat16": decoding(12, 4096), "decoding over 32768 keys, bfloat16": decoding(12, 32768),
        "decoding over 32768 keys that heads share, bfloat16": decoding(3, 32768),
        "decoding over 4096 keys, float32": decoding(12, 4096, ingot.float32),
        "LSTM, float32": lambda: lstm(steps),
        "convolution 3x3, TF32": gradients(lambda x, w: F.conv2d(x, w, padding=1), *images),
        "convolution 7x7 of 3 channels, bfloat16": gradients(
            lambda x, w: F.conv2d(x, w, padding=3, stride=2), (64, 3, 224, 224), (64, 3, 7, 7), dtype=ingot.bfloat16),
        "convolution 3x3 to 3 channels, bfloat16": gradients(
            lambda x, w: F.conv2d(x, w, padding=1), (64, 64, 128, 128), (3, 64, 3, 3), dtype=ingot.bfloat16),
        "max pool, bfloat16": gradients(lambda x: F.max_pool2d(x, 3, 2, 1), (64, 64, 112, 112), dtype=ingot.bfloat16),
        "running sums": lambda: zeros(16384, 4096).cumsum(-1), "running sums of one row": lambda: zeros(1 << 20).cumsum(0),
        "running extremes": lambda: zeros(16384, 4096).cummax(-1),
        "running log sums": lambda: zeros(16384, 4096).logcumsumexp(-1),
        "embedding, bfloat16": gradients(
            lambda w: F.embedding(ingot.zeros(8192, dtype=ingot.int64, device="cuda"), w), (50257, 768), dtype=ingot.bfloat16),
        "GELU": lambda: F.gelu(zeros(16384, 4096)), "softmax": lambda: zeros(16384, 4096).softmax(-1),
        "GELU with its gradient, bfloat16": gradients(F.gelu, (16384, 4096), dtype=ingot.bfloat16),
        "GELU with its gradient, float32": gradients(F.gelu, (16384, 4096)),
        "SiLU with its gradient, bfloat16": gradients(F.silu, (16384, 4096), dtype=ingot.bfloat16),
        "tanh": lambda: zeros(16384, 4096).tanh(), "sigmoid": lambda: zeros(16384, 4096).sigmoid(),
        "log-softmax of 50257 classes, float32": lambda: zeros(2048, 50257).log_softmax(-1),
        "log-softmax of 50257 classes, bfloat16": lambda: zeros(2048, 50257, dtype=ingot.bfloat16).log_softmax(-1),
        "cross entropy of 50257 classes, bfloat16": gradients(
            lambda x: F.cross_entropy(x, zeros(8192, dtype=ingot.int64)), (8192, 50257), dtype=ingot.bfloat16),
        "channels last": lambda: zeros(64, 64, 56, 56).permute(0, 2, 3, 1).contiguous(),
        "channels last, bfloat16": lambda: zeros(64, 64, 56, 56, dtype=ingot.bfloat16).permute(0, 2, 3, 1).contiguous(),
        "matrix turned": lambda: zeros(1001, 3001).t().contiguous(),
        "matrix turned and added": lambda: zeros(4096, 4096).t() + zeros(4096, 4096)}


def count_call(name, call, launched_by_name, most) -> str:
    """A line for each kernel of a call, those that take longest first."""
    cudnn.allow_tf32 = "TF32" in name
    launched_by_name.clear()
    call()
    results = [(counted(*launched), kernel, launched[1]) for kernel, launched in launched_by_name.items()]
    results.sort(key=lambda x: -max(times(x[0]).values()))
    lines = ["      " + described([counts], [(kernel, grid)]) for counts, kernel, grid in results[:most]]
    return "\n".join([f"\n{name}: {UNITS}", *lines])


def main(argv=None) -> int:
    """Prints a table for each step, and for each call, whose name begins as one of those given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_counts", description=__doc__)
    parser.add_argument("names", nargs="*", help="how names of steps or calls begin")
    parser.add_argument("--rows", type=int, default=40, help="how many kinds of launches to show")
    parser.add_argument("--arch", type=int, default=90, help="the chip: 80 or 90")
    args = parser.parse_args(argv)
    with Launches(args.arch) as launches:
        steps, single = {s.name: s for s in every(Plan())}, calls()
        wanted = [n for n in [*steps, *single] if any(n.startswith(start) for start in args.names)]
        if not wanted:
            parser.error("name steps or calls by how they begin: " + "; ".join([*steps, *single]))
        for name in wanted:
            if name in single:
                print(count_call(name, single[name], launches.launched_by_name, args.rows), flush=True)
                continue
            launches.launched_by_name.clear()
            recorded(steps[name], launches)
            used = list(dict.fromkeys([k for r in launches.rows for k, _ in r.kernels if k in launches.launched_by_name]))
            results = {}
            for number, kernel in enumerate(used):
                print(f"\r{number} of {len(used)}", end="", flush=True)
                results[kernel] = counted(*launches.launched_by_name[kernel])
            print(f"\r{name}\n{table(launches.rows, results, args.rows)}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
