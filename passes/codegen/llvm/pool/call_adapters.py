"""Call adapters: native functions `void <name>(ptr block)` that unpack numpy arrays and launch a kernel.

`runtime/cpu/calls/call.py` fills the block: for each array {data, sizes[rank], strides[rank] in bytes}. An adapter fills the
kernel's slots from it; `rules` says where to find the value of each symbol:

    ("size", array, dim)      a size          ("stride", array, dim)   a stride, in elements
    ("sizes", array, i, j)    the product of the sizes of dims i .. j-1
"""

from .....ir.kernel.kernel import Kernel
from .....ir.target import Target
from ..ir.emit import Module
from ..ir.types import I64, PTR, VOID

MAX_SYMBOLS = 254


def write_door(module: Module, name: str, kernel: Kernel, ranks, rules: dict):
    """Add the adapter `name` for arrays of the given ranks, one per buffer of the kernel."""
    f = module.function(name, [(PTR, "block")])
    block, = f.params
    starts = [8 * sum(1 + 2 * rank for rank in ranks[:number]) for number in range(len(ranks))]
    slots = f.local(8 * (len(kernel.buffers) + len(kernel.symbols) + 2))
    for number, start in enumerate(starts):
        f.store(f.load(PTR, f.at(block, start)), f.at(slots, 8 * number))
    for position, symbol in enumerate(kernel.symbols, len(kernel.buffers)):
        f.store(_rule_value(f, kernel, block, starts, ranks, rules[symbol]), f.at(slots, 8 * position))
    f.call(kernel.name, VOID, slots)
    f.ret()


def _rule_value(f, kernel, block, starts, ranks, rule):
    kind, array, *dims = rule
    sizes = f.at(block, starts[array] + 8)
    if kind == "stride":
        step = f.load(I64, f.at(sizes, 8 * (ranks[array] + dims[0])))
        return f.binary("sdiv exact", step, f.index(kernel.buffers[array].dtype.itemsize))
    total = 1
    for dim in range(*dims) if kind == "sizes" else dims:
        total = f.mul(total, f.load(I64, f.at(sizes, 8 * dim)))
    return f.index(total)


def plan_door_text(name: str, ranks, target: Target) -> str:
    """Return a module with an adapter for kernels whose symbols are known.

    It takes arrays of the given ranks, then a plan: a 1-D i64 array of {the kernel's address, its symbols in order}.
    """
    module = Module(target)
    f = module.function(name, [(PTR, "block")])
    block, = f.params
    slots, at = f.local(8 * (len(ranks) + MAX_SYMBOLS + 2)), 0
    for number, rank in enumerate(ranks):
        f.store(f.load(PTR, f.at(block, at)), f.at(slots, 8 * number))
        at += 8 * (1 + 2 * rank)
    plan, count = f.load(PTR, f.at(block, at)), f.load(I64, f.at(block, at + 8))
    with f.loop(1, count) as loop:
        f.store(f.load(I64, f.at(plan, loop.index, I64)), f.at(slots, f.add(loop.index, len(ranks) - 1), I64))
    f.call_pointer(f.load(PTR, plan), VOID, slots)
    f.ret()
    return module.text()
