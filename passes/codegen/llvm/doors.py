"""Doors: native functions `void <name>(ptr block)` that take numpy arrays apart and launch a kernel.

The block is what `runtime/cpu/call.py` lays out: for each array {data, sizes[rank], strides[rank] in bytes}. A door fills the
kernel's slots from it: `rules` says for each symbol where its value is found.

    ("size", array, dim)      a size          ("stride", array, dim)   a stride, in elements
    ("sizes", array, i, j)    the product of the sizes of dims i .. j-1
"""

from ....ir.kernel import Kernel
from .emit import Module
from .types import I64, PTR, VOID


def write_door(module: Module, name: str, kernel: Kernel, ranks, rules: dict):
    """Adds the door `name` for arrays of the given ranks, one per buffer of the kernel."""
    f = module.function(name, [(PTR, "block")])
    block, = f.params
    starts, at = [], 0
    for rank in ranks:
        starts.append(at)
        at += 8 * (1 + 2 * rank)
    slots = f.local(8 * (len(kernel.buffers) + len(kernel.symbols) + 2))
    for number, start in enumerate(starts):
        f.store(f.load(PTR, f.at(block, start)), f.at(slots, 8 * number))

    def size(array, dim):
        return f.load(I64, f.at(block, starts[array] + 8 * (1 + dim)))

    def value(rule):
        kind, array, *dims = rule
        if kind == "size":
            return size(array, *dims)
        if kind == "stride":
            step = f.load(I64, f.at(block, starts[array] + 8 * (1 + ranks[array] + dims[0])))
            return f.binary("sdiv exact", step, f.index(kernel.buffers[array].dtype.itemsize))
        total = 1
        for dim in range(*dims):
            total = f.mul(total, size(array, dim))
        return f.index(total)

    for position, symbol in enumerate(kernel.symbols, len(kernel.buffers)):
        f.store(value(rules[symbol]), f.at(slots, 8 * position))
    f.call(kernel.name, VOID, slots)
    f.ret()
