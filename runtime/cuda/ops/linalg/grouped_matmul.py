"""Grouped matrix products on a device, as in mixtures of experts."""

from typing import NamedTuple

from .....ir import dtype as dt
from .....ir.opdef.aval import Aval
from .....ir.ops.linalg.products import grouped_matmul
from .....ir.symbols.symbolic import power_of_two
from .....passes.codegen.triton.contract import grouped_matmul as text
from ....core.device_array import DeviceArray
from ...compiler import kernels, precision, tuning
from ...driver import context as contexts
from ...graph.eager import contiguous
from ...memory import status_words
from ...memory.arrays import empty, fill
from ..products import products


class Case(NamedTuple):
    """A product z = x @ y of groups of rows of x and z, each with its matrix of y.

    With `depth`, groups cut the depth, each with its matrix of z.
    """

    x: DeviceArray
    y: DeviceArray
    ends: DeviceArray
    z: DeviceArray
    depth: bool

    @property
    def sizes(self) -> tuple:
        return *self.z.shape[-2:], self.x.shape[-1]

    @property
    def units(self) -> tuple:
        """Flags of the last two strides of x, y and z that are 1."""
        return tuple([tuple([s == a.itemsize for s in a.strides[-2:]]) for a in (self.x, self.y, self.z)])


def grouped(inputs, params, device):
    """Return the grouped products of floats."""
    x, y, ends = inputs
    if not all(isinstance(a, DeviceArray) for a in inputs):
        return NotImplemented
    kinds = [dt.from_numpy(a.dtype) for a in inputs]
    out = grouped_matmul.infer(*[Aval(a.shape, kind) for a, kind in zip(inputs, kinds)])
    if kinds[0] not in dt.FLOATS:
        return NotImplemented
    z = empty(device, out.shape, x.dtype)
    if not (x.size and y.size and z.size):
        fill(z, 0)
        return z
    ends, crossed = contiguous(ends), products.crossed
    if x.ndim == y.ndim == 2:
        case = Case(crossed(contiguous(crossed(x))), contiguous(y), ends, z, True)
    elif y.ndim == 3:
        case = Case(_even(x), _even(y), ends, z, False)
    else:                   # columns of y in groups: the transposed product has rows in groups
        case = Case(crossed(_even(y)), crossed(_even(x)), ends, crossed(z), False)
    _multiply(case, device)
    return z


def _even(a):
    return contiguous(a) if any(s % a.itemsize for s in a.strides) else a


def _multiply(case: Case, device):
    kind = dt.from_numpy(case.x.dtype)
    how = precision.of_products() if kind is dt.float32 else "ieee"
    fast, shared, groups = kind.itemsize <= 2 or how != "ieee", contexts.context(device).shared_memory, case.ends.size
    if not case.depth:
        x, y = products.in_best_order(case.x, case.y, 1, device, how)
        case = case._replace(x=x, y=y)
    found = text.candidates(kind, case.sizes, groups, case.depth, fast, shared)

    def prepare(tile):
        given = _launch_arguments(case, kind, how, tile, device)
        return kernels.variant(device, *given), lambda: kernels.launch(device, *given)

    key = ("grouped", kind.short, *case.sizes, groups, case.depth, case.units, how)
    kernels.launch(device, *_launch_arguments(case, kind, how, tuning.best(key, found, prepare, device), device))


def _launch_arguments(case: Case, kind, how, tile, device) -> tuple:
    source = text.source(kind, dt.from_numpy(case.ends.dtype), how, case.units, case.depth)
    m, n, k = case.sizes
    sizes = {"M": m, "N": n, "K": k, "COUNT": case.ends.size, "s_xb": 0, "s_yb": 0, "s_zb": m * n}
    for letter, names, a in (("x", "mk", case.x), ("y", "kn", case.y), ("z", "mn", case.z)):
        sizes |= {f"s_{letter}{name}": s // a.itemsize for name, s in zip(names, a.strides[-2:])}
        if a.ndim == 3 and letter != "z":
            sizes[f"s_{letter}b"] = a.strides[0] // a.itemsize
    at_once = min(text.AT_ONCE, power_of_two(case.ends.size + 1))
    constants = *tile.constants, ("SLOT", status_words.slot("grouped_mm")), ("GROUPS", at_once)
    grid = text.programs(m, n, case.ends.size, case.depth, tile), 1, 1
    arrays = case.x, case.y, case.ends, case.z, status_words.words(device)
    return source, arrays, {name: sizes[name] for name in source.sizes}, (constants, tile.warps, grid), tile.stages
