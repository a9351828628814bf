"""Matrix products on a device."""

import functools

import numpy as np

from .....ir import config
from .....ir import dtype as dt
from .....ir.errors import DTypeError
from .....ir.graph.graph import Builder
from .....ir.kernel.kernel import CAST, LOAD, Instr
from .....ir.kernel.kernel_builder import KernelBuilder
from .....ir.opdef.aval import Aval
from .....ir.ops.core.elementwise import cast
from .....ir.ops.core.reduce import sum_
from .....ir.ops.quantized.scaled_products import matmul8
from .....passes.codegen.epilogue_program import EpilogueProgram, Operand
from .....passes.codegen.triton.contract import matmul as template
from .....passes.codegen.triton.contract import matmul_hopper as hopper
from .....passes.codegen.triton.ir.source import FAST
from .....passes.codegen.triton.loops.configs import Launch
from .....passes.fusion.lower import lower
from .....passes.rewrite.kernel_body import Body
from ....core.device_array import DeviceArray
from ...compiler import precision, tuning
from ...compiler.kernels import Prepared, PreparedLaunch
from ...driver import context as contexts
from ...driver import streams
from ...driver.driver_state import driver_lru_cache
from ...memory.arrays import empty, fill, used
from .factors import Case, Computed, Laid, SideProgram

_NARROW, _MOST_BATCHES = 1 << 31, 65535
FLOAT8_CHIPS = 89      # the first chips with products of float8
VECTORS = 1 << 14      # multiplications from which a product with a vector uses no tiles


def product(inputs, params, device):
    """x @ y over the last two dims; leading ones are a batch."""
    x, y = inputs
    if not (isinstance(x, DeviceArray) and isinstance(y, DeviceArray)):
        return NotImplemented
    if x.dtype != y.dtype:
        raise DTypeError(f"matmul takes two tensors of one dtype, got {x.dtype.name} and {y.dtype.name}; cast one with .to()")
    dt.refuse_float8("matmul", dt.from_numpy(x.dtype))
    if dt.from_numpy(x.dtype) not in dt.FLOATS:
        return NotImplemented
    *lead, m, _ = x.shape
    return filled_or(x, y, empty(device, (*lead, m, y.shape[-1]), x.dtype), device)


def product8(inputs, params, device):
    """Return x @ y of float8 matrices, in float32."""
    x, y = inputs
    if not (isinstance(x, DeviceArray) and isinstance(y, DeviceArray)):
        return NotImplemented
    return filled_or(x, y, empty(device, (x.shape[0], y.shape[1]), np.float32), device, params["fast"])


def filled_or(x, y, out, device, fast=False):
    """Return the product, or zeros if the depth is empty."""
    if out.size and not x.shape[-1]:
        fill(out, 0)
    elif out.size:
        multiply(x, y, out, device, fast=fast)
    return out


def multiply(x, y, out, device, side: SideProgram | None = None, operands=(), fast=False, wanted=None):
    """Write x @ y with its epilogue to `out`; `operands` are the addresses of the epilogue's arrays.

    A factor is an array, or (Computed, its source arrays, shape). `wanted` is the precision of float32, if not the global one.
    """
    # Copies must live until the launch, or the second would get the memory of the first.
    x, y = _factors_in_order(x, y, out, device, fast, wanted)
    x_laid, x_made, (*_, m, k) = _as_factor(x, "x", device)
    y_laid, y_made, (*_, n) = _as_factor(y, "y", device)
    batch = out.size // (m * n)
    stream = streams.current(device).handle
    x_at, y_at = [used(a, stream) for a in x_made], [used(a, stream) for a in y_made]
    z = side.fused.dtype if side is not None else dt.from_numpy(out.dtype)
    how = _precision(x_laid.kind, fast, wanted)
    if side is None and x_laid.kind.itemsize >= 4 and how == "ieee" and (m == 1 or n == 1) and batch * m * n * k >= VECTORS:
        _vectors(Case(x_laid, y_laid, z, m, n, k, batch, device, how), (*x_at, *y_at, used(out, stream)), stream)
        return
    if side is None and batch == 1:
        whole = Case(x_laid, y_laid, z, m, n, k, 1, device, how)
        parts = _parts(whole)
        if parts > 1:
            _multiply_in_parts(whole, parts, out, x_at, y_at)
            return
    for first in range(0, batch, _MOST_BATCHES) if batch > _MOST_BATCHES else (0,):
        case = Case(x_laid, y_laid, z, m, n, k, min(_MOST_BATCHES, batch - first), device, how)
        made = _tuned(case, side, x_at, y_at) if config.current().cuda_tune else _usual(case, side, x_at, y_at)
        given = (*x_at, *y_at, used(out, stream), *operands)
        if first:
            more = () if side is None else side.steps
            steps = (*x_laid.steps, *y_laid.steps, m * n * out.itemsize, *more)
            given = tuple([at + first * step for at, step in zip(given, steps)])
        made(device, stream, given, {})


def _vectors(case: Case, addresses, stream):
    """Return a product with a vector, without tensor cores: sums along rows or columns of the other factor, read once."""
    matrix, vector, rows = case.x, case.y, case.m
    (row, depth), (along, _) = matrix.last, vector.last
    x_at, y_at, z_at = addresses
    if case.n != 1:
        matrix, vector, rows = case.y, case.x, case.n
        (depth, row), (_, along) = matrix.last, vector.last
        x_at, y_at = y_at, x_at
    sizes = {"batch": case.batch, "rows": rows, "depth": case.k, "m_b": matrix.batch, "m_r": row, "m_d": depth,
             "v_b": vector.batch, "v_r": 0, "v_d": along}
    if rows == 1:           # each pair of vectors is a row
        sizes |= {"batch": 1, "rows": case.batch, "m_b": 0, "m_r": matrix.batch, "v_b": 0, "v_r": vector.batch}
    kernel = _vector_kernel(matrix.kind, tuple([n for n in ("m_r", "m_d", "v_d") if sizes[n] == 1]), rows == 1)
    made = Prepared(kernel, {name: sizes[name] for name in kernel.symbols})
    made(case.device, stream, (x_at, y_at, z_at))


@functools.lru_cache(64)
def _vector_kernel(kind, ones, pairs):
    """Return the kernel for sums of matrix rows times a vector.

    `ones` are the strides of 1; with `pairs` each row has a vector of its own.
    """
    k = KernelBuilder(f"vectors_{kind.short}")
    for dim, size in (("b", "batch"), ("r", "rows")):
        k.parallel(dim, size)
    k.reduce("d", "depth")

    def strides(letter):
        names = [f"{letter}_{dim}" for dim in "brd"]
        return [1 if n in ones else 0 if n == "v_r" and not pairs else n for n in names]

    matrix, vector = k.input("m", kind, strides("m")), k.input("v", kind, strides("v"))
    out = k.output("z", kind, ("rows", 1, 0))
    with k.sweep():
        total = k.append("reduce", kind, (k.load(matrix) * k.load(vector),), "sum")
    with k.point():
        k.store(total, out)
    return k.build()


def _parts(case: Case) -> int:
    """Return the number of parts into which the depth of a product is cut."""
    if not case.in_memory or case.x.kind.itemsize == 1:
        return 1
    sizes, processors = (case.m, case.n, case.k), contexts.context(case.device).processors
    return template.depth_parts(_first(case), case.x.kind.itemsize, _is_fast(case), sizes, processors)


def _multiply_in_parts(case: Case, parts, out, x_at, y_at):
    """Multiply parts of the depth as a batch, and add them in order."""
    depth, wide = case.k // parts, dt.float64 if case.x.kind is dt.float64 else dt.float32
    x, y = case.x._replace(batch=depth * case.x.last[1]), case.y._replace(batch=depth * case.y.last[0])
    cut = case._replace(x=x, y=y, z=wide, k=depth, batch=parts)
    stream = streams.current(case.device).handle
    sums = empty(case.device, (parts, case.m * case.n), wide.np)
    made = _tuned(cut, None, x_at, y_at) if config.current().cuda_tune else _usual(cut, None, x_at, y_at)
    made(case.device, stream, (*x_at, *y_at, used(sums, stream)), {})
    _added(parts, int(case.m * case.n), wide, case.z)(case.device, stream, [used(sums, stream), used(out, stream)])


@driver_lru_cache(1024)
def _added(parts, size, wide, kind) -> Prepared:
    """Return the sum over the first dim of an array (parts, size), in another dtype."""
    b = Builder("add_parts")
    total = sum_(b.input("sums", Aval((parts, size), wide)), dim=(0,), keepdim=False)
    graph = b.finish([total if kind is wide else cast(total, dtype=kind)])
    lowered = lower(Body(graph.nodes, (parts, size), (0,), graph.outputs))
    return Prepared(lowered.kernel, lowered.symbols)


def _precision(kind, fast, wanted) -> str:
    """Return the precision of products in a dtype; `wanted` overrides that of float32."""
    if kind in dt.FLOAT8:
        return FAST if fast else "ieee"
    return (wanted or precision.of_products()) if kind is dt.float32 else "ieee"


def _factors_in_order(x, y, out, device, fast, wanted) -> tuple:
    """Return the factors, those in memory copied into the best order for tiles."""
    if x.__class__ is not DeviceArray or y.__class__ is not DeviceArray:
        return x, y
    how = _precision(dt.from_numpy(x.dtype), fast, wanted)
    return in_best_order(x, y, out.size // (x.shape[-2] * y.shape[-1]), device, how)


def in_best_order(x, y, batch, device, how) -> tuple:
    """Return two factors in memory, copied into the best order for tiles where that is worth a launch."""
    kind, arch = dt.from_numpy(x.dtype), contexts.context(device).arch
    m, n, k = x.shape[-2], y.shape[-1], x.shape[-1]
    found = []
    for letter, a in (("x", x), ("y", y)):
        dim, seconds = template.best_order(letter, kind, how, arch)
        if seconds and a.shape[dim] > 1 and a.strides[dim] != a.itemsize and 0 not in a.strides[:-2] \
                and template.is_worth_turning(seconds, m, n, k, batch, a.size):
            a = a.backend.contiguous(a) if dim == -1 else crossed(a.backend.contiguous(crossed(a)))
        found.append(a)
    return tuple(found)


def crossed(a):
    """Return an array with its last two dims swapped."""
    return a.transpose(*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)


def _as_factor(factor, letter, device) -> tuple:
    """Return (layout or computation, source arrays, shape) of a factor."""
    if factor.__class__ is not DeviceArray:
        return factor
    a, batch = as_batch(factor)
    laid = Laid(dt.from_numpy(a.dtype), batch, _last(a))
    if laid.kind in dt.FLOAT8 and contexts.context(device).arch < FLOAT8_CHIPS:
        a = a if 1 in laid.last else a.backend.contiguous(a)
        return _widened(laid.kind, _last(a), letter), [a], factor.shape
    return laid, [a], factor.shape


@functools.lru_cache(64)
def _widened(kind, last, letter) -> Computed:
    """Return a prologue that widens float8 to float16, exactly, for chips without float8 products."""
    name, transposed = f"{letter}0", last[1] != 1
    lines = Instr("v0", LOAD, kind, (), name), Instr("v1", CAST, dt.float16, ("v0",))
    fused = EpilogueProgram(dt.float16, (Operand(name, kind, True, True),), lines, "v1")
    return Computed(SideProgram(fused, [(last[1] if transposed else last[0], 0)]), transposed)


def _is_fast(case: Case) -> bool:
    return case.x.kind.itemsize <= 2 or (case.x.kind is dt.float32 and case.precision != "ieee")


def _candidates(case: Case, copies=False) -> list:
    """Return the tiles of a product that are worth trying, the default one first."""
    shared = contexts.context(case.device).shared_memory
    return template.candidates(case.x.kind, case.m, case.n, case.k, _is_fast(case), shared, copies, case.batch, _loaded(case),
                               _is_crossed(case))


def _first(case: Case) -> template.Tiles:
    shared = contexts.context(case.device).shared_memory
    return template.tiles(case.x.kind, case.m, case.n, case.k, _is_fast(case), shared, case.batch, _loaded(case),
                          _is_crossed(case))


def _is_crossed(case) -> bool:
    """Return whether the second factor is contiguous along the depth."""
    return case.in_memory and case.y.last[0] == 1 != case.y.last[1]


def _loaded(case) -> tuple:
    return () if case.in_memory else (case.x.loaded, case.y.loaded)


def _usual(case: Case, side, x_at, y_at):
    tile = _first(case)
    if side is None and case.kinds.x.itemsize == 2 and _is_crossed(case) and tile.m * tile.n == 128 * 128 \
            and hopper.pays(case.m, case.n, case.batch, contexts.context(case.device).processors) and _copies(case, x_at, y_at):
        bm, bn, bk, warps, stages = hopper.TILES[hopper.PERSISTENT][0]
        tile = template.Tiles(bm, bn, bk, warps, stages, hopper.PERSISTENT)
    return _prepared(case, tile, side)


def _copies(case: Case, x_at, y_at) -> bool:
    if not case.in_memory:
        return False
    addresses = (*x_at, *y_at, *case.x.steps, *case.y.steps)
    return hopper.takes(case.kinds, contexts.context(case.device).arch, case.x.last, case.y.last, addresses)


def _tuned(case: Case, side, x_at, y_at):
    """Return a product with the fastest tile, timed without the epilogue on a result of its own."""
    copies = _copies(case, x_at, y_at)
    found = _candidates(case, copies)
    held: list = []

    def prepare(tile):
        made, stream = _prepared(case, tile, None), streams.current(case.device).handle
        held.append(held[0] if held else empty(case.device, (case.batch, case.m, case.n), case.z.np))
        given = *x_at, *y_at, used(held[0], stream)
        return made.variant(case.device, given), lambda: made(case.device, stream, given, {})

    factors = _factor_key(case.x), _factor_key(case.y)
    key = ("matmul", case.kinds.short, case.m, case.n, case.k, case.batch, *factors, case.precision, copies)
    return _prepared(case, tuning.best(key, found, prepare, case.device), side)


def _factor_key(factor) -> tuple:
    """Return a factor as part of a key that other processes share."""
    return (factor.batch, factor.last) if type(factor) is Laid else (factor.how.name, factor.side.strides)


def _last(a) -> tuple:
    return a.strides[-2] // a.itemsize, a.strides[-1] // a.itemsize


def as_batch(a):
    """Return (the array, elements between its matrices), copied if these are not evenly spaced."""
    if any(s % a.itemsize for s in a.strides):
        a = a.backend.contiguous(a)
    step, size = 0, 1
    for n, s in zip(reversed(a.shape[:-2]), reversed(a.strides[:-2])):
        if n == 1:
            continue
        if size == 1:
            step = s
        elif s != step * size:
            return as_batch(a.backend.contiguous(a)) if not a.is_contiguous else (a, a.shape[-1] * a.shape[-2])
        size *= n
    return a, step // a.itemsize


def _prepared(case: Case, chosen, side):
    more = () if side is None else (side.fused, side.along)
    if chosen.strategy:
        how = case.precision, case.x.how, case.y.how
        source = hopper.source(case.kinds, *how, template.CONSTANTS, chosen.strategy, *more)
    else:
        source = template.source(case.kinds, case.precision, case.x.how, case.y.how, *more)
    sizes = {"M": case.m, "N": case.n, "K": case.k} | case.x.sizes("x") | case.y.sizes("y")
    batch, room = case.batch, 2 * (chosen.m + chosen.n + chosen.k)       # masked lanes are beyond the matrices
    reaches = [batch * case.m * case.n, case.x.reach(batch, case.m + room, case.k + room),
               case.y.reach(batch, case.k + room, case.n + room)]
    if side is not None:
        sizes |= side.sizes
        reaches.append(side.reach(batch, case.m, case.n))
    programs = template.grid(case.m, case.n, batch, chosen, contexts.context(case.device).processors)
    one = Launch(source, chosen.constants, chosen.warps, programs, stages=chosen.stages)
    return PreparedLaunch(one, sizes, source.pointers, wide=any([reach >= _NARROW - room for reach in reaches]))  # noqa: C419  (quicker)


OPERATORS = {matmul8: product8}
