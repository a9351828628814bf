"""Elementwise kernels for many small arrays in one launch, and norms of lists of tensors in a few launches."""

from math import prod

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.core import moments
from .....ir.ops.core.elementwise import eq
from .....ir.ops.core.reduce import sum_
from .....ir.process_state import ignore_float_errors
from .....passes.codegen.triton.loops import configs
from .....passes.codegen.triton.loops import multi_tensor as codegen
from .....passes.codegen.triton.loops.configs import Launch
from ....core.device_array import DeviceArray
from ...compiler import compile as compiler
from ...compiler import copies
from ...compiler.kernels import Prepared, launch
from ...driver import streams
from ...driver.driver_state import driver_lru_cache
from ...graph.eager import composed, contiguous, run
from ...memory import transfer
from ...memory.arrays import empty, used
from ...memory.pools import Memory
from ..products.batched_launch import BatchedLaunch

ARRAYS = codegen.SLOTS        # sets of arrays of one launch: their parameters take about 1024 of 4096 bytes
ALONE = 1 << 20       # elements from which a launch takes longer on the device than on the host
EVEN = compiler.EVEN[-1]        # divisor of sizes with whole vectors
_NARROW = 1 << 31               # elements that 32-bit indices reach
_WHAT = {1: "size", 2: "square"}        # by the order of a norm


def sweep(rows, numbers):
    """Run elementwise kernels in place, for rows (kernel, outs, arrays) with common numbers.

    `runtime/cpu/loops/kernels.py` describes the kernels. A number may be a device array of one element in the dtype of all
    rows.
    """
    alone, batches = _sorted(rows) if len(rows) > 1 else (rows, {})
    rounded = {kind: _rounded(numbers, kind) for kind in {outs[0].dtype for _, outs, _ in rows}}
    for (kernel, device, even), found in batches.items():
        for i in range(0, len(found), ARRAYS):
            some = found[i:i + ARRAYS]
            if len(some) == 1:
                alone.append(some[0][0])
            else:
                _run_batch(kernel, device, even, some, rounded)
    for kernel, outs, read in alone:
        _run(kernel, outs, read, rounded[outs[0].dtype])


def fresh(arrays) -> list:
    """Return new arrays like others."""
    return [empty(a.device, a.shape, a.dtype) for a in arrays]


@ignore_float_errors
def _rounded(numbers, kind) -> list:
    return [n if n.__class__ is DeviceArray else kind.type(n).item() for n in numbers]


def _sorted(rows) -> tuple[list, dict]:
    """Return (rows that run alone, {(kernel, device, whether vectors are whole): [(row, addresses, size)]} of the others)."""
    alone: list = []
    batches: dict = {}
    memories, count = set(), 0
    for row in rows:
        kernel, outs, read = row
        size, device = prod(outs[0].shape), outs[0].memory.device
        small, all_bits, addresses = 0 < size < ALONE, 0, []
        for a in (*outs, *read):
            memory = a.memory
            if memory.__class__ is Memory:
                memories.add(memory)
            count += 1
            small = small and a.is_contiguous and memory.device == device
            address = memory.pointer + a.offset
            all_bits |= address
            addresses.append(address)
        if small:
            even = size % EVEN == 0 and all_bits % compiler.ALIGNED == 0
            batches.setdefault((kernel, device, even), []).append((row, addresses, size))
        else:
            alone.append(row)
    return (alone, batches) if len(memories) == count or _lie_apart(rows) else (rows, {})


def _lie_apart(rows) -> bool:
    """Return whether no arrays overlap, so that rows may run in any order."""
    end = 0
    for start, following in sorted([_span(a) for _, outs, read in rows for a in (*outs, *read) if a.size]):
        if start < end:
            return False
        end = following
    return True


def _span(a) -> tuple:
    if a.is_contiguous:
        return a.pointer, a.pointer + a.nbytes
    return a.memory.pointer, a.memory.pointer + a.memory.nbytes


def _run_batch(kernel, device, even, some, rounded):
    stream = streams.current(device).handle
    addresses: list = []
    for (_, outs, read), here, _ in some:
        for a in (*outs, *read):
            memory = a.memory
            if memory.stream != stream:
                memory.used_on(stream)
        addresses += here
    _, outs, read = some[0][0]
    numbers = rounded[outs[0].dtype]
    made, known, columns = _prepared_batch(kernel, len(outs), len(read), _on_device(numbers))
    sizes, programs = [], 0
    for _, _, size in some:
        count = (size + columns - 1) // columns
        sizes += size, count
        programs += count
    made(device, stream, known[even], _number_arguments(numbers, stream), addresses, sizes, programs)


def _run(kernel, outs, arrays, numbers):
    reads = [contiguous(a) for a in (*outs, *arrays)]
    writes = [a if a.is_contiguous else empty(a.device, a.shape, a.dtype) for a in outs]
    made = _prepared(kernel, len(outs), len(arrays), _on_device(numbers), outs[0].size)
    device = outs[0].device
    stream = streams.current(device).handle
    given = [*[used(a, stream) for a in reads], *_number_arguments(numbers, stream), *[used(a, stream) for a in writes]]
    if outs[0].size:
        made(device, stream, given)
    for a, made_there in zip(outs, writes):
        if a is not made_there:
            copies.write(a, made_there)


def _number_arguments(numbers, stream) -> list:
    return [used(n, stream) if n.__class__ is DeviceArray else n for n in numbers]


def _on_device(numbers) -> tuple:
    return tuple([n.__class__ is DeviceArray for n in numbers])


def _kernel(kernel, outs, read, on_device) -> tuple:
    """Return (the kernel of one dim, the names of numbers passed at launch).

    Its buffers are replaced arrays, read arrays, numbers, results.
    """
    classes = (1,) * (outs + read) + (0,) * len(on_device) + (1,) * outs
    return kernel.kernel(1, classes), frozenset([f"b{n}" for n, there in enumerate(on_device, outs + read) if not there])


@driver_lru_cache(1024)
def _prepared(kernel, outs, read, on_device, size):
    nest, names = _kernel(kernel, outs, read, on_device)
    return Prepared(nest, {"n0": size}, numbers=names)


@driver_lru_cache(256)
def _prepared_batch(kernel, outs, read, on_device):
    """Return (the batched kernel, known divisors without and with whole vectors, its tile)."""
    nest, names = _kernel(kernel, outs, read, on_device)
    pointers, first = outs + read, outs + read + len(on_device)
    over = tuple([(f"b{first + n}", f"b{n}") for n in range(outs)])
    shared = frozenset([f"b{n}" for n in range(pointers, first)])
    one = configs.any_size(nest, names)
    made = BatchedLaunch(configs.multi_tensor(nest, names, one, ARRAYS, shared, over), len(on_device), ARRAYS, ((EVEN,),))
    return made, ((0,), (EVEN,)), dict(one.constants)["COLS"]


def norms(inputs, params, device):
    """Return the norm of each array."""
    arrays, what = _there(inputs, device), _WHAT.get(params["ord"])
    if what is None or not _are_narrow(arrays):
        return composed(_norms, arrays, params, device)[0]
    return _folded(what, arrays, device, dt.from_numpy(arrays[0].dtype))


def _norms(*arrays, ord):
    return (moments.norms.lower.body(*arrays, ord=ord),)


def all_finite(inputs, params, device):
    """Return whether all elements are finite: no part counts a number that is not."""
    arrays = _there(inputs, device)
    if not _are_narrow(arrays):
        return composed(_all_finite, arrays, params, device)[0]
    found = _folded("wrong", arrays, device, codegen.wide(dt.from_numpy(arrays[0].dtype)))
    return run(eq, (run(sum_, (found,), {"dim": (0,), "keepdim": False}), 0.0), {}, device)


def _all_finite(*arrays):
    return (moments.all_finite.lower.body(*arrays),)


def _there(inputs, device) -> list:
    return [contiguous(x) if x.__class__ is DeviceArray else transfer.to_device(np.asarray(x), device) for x in inputs]


def _are_narrow(arrays) -> bool:
    return max([x.size for x in arrays]) < _NARROW - codegen.PART


def _folded(what, arrays, device, out_kind):
    kind = dt.from_numpy(arrays[0].dtype)
    counts = [-(-a.size // codegen.PART) for a in arrays]
    starts = [0]
    for n in counts:
        starts.append(starts[-1] + n)
    made, out = empty(device, (max(1, starts[-1]),), codegen.wide(kind).np), empty(device, (len(arrays),), out_kind.np)
    vector, rows = _vector(kind), {False: [], True: []}         # by whether vectors are whole
    for a, at, count in zip(arrays, starts, counts):
        if count:
            even = a.size % vector == 0 and a.pointer % compiler.ALIGNED == 0
            rows[even].append((a, a.size, at, count))
    for even, found in rows.items():
        for i in range(0, len(found), codegen.SLOTS):
            _run_parts(_parts(what, kind), device, made, found[i:i + codegen.SLOTS], vector if even else 0)
    source = codegen.combined(what, codegen.wide(kind), out_kind)
    for i in range(0, len(arrays), codegen.LISTED):
        some = starts[i:i + codegen.LISTED + 1]
        sizes = {f"at_{n}": at for n, at in enumerate([*some, *some[-1:] * (codegen.LISTED + 1 - len(some))])}
        launch(device, source, (made, out.look((len(some) - 1,), (out.itemsize,), i * out.itemsize)), sizes,
               ((("COLS", 256),), 4, (len(some) - 1, 1, 1)))
    return out


def _vector(kind) -> int:
    """Return the divisor of sizes with whole vectors."""
    return max(compiler.EVEN[-1], compiler.ALIGNED // kind.itemsize)


def _run_parts(kernel, device, sums, rows, multiple):
    """Launch the partial sums of some rows, whose sizes are multiples of a number (0: unknown)."""
    stream, known = streams.current(device).handle, (multiple, 0)
    addresses = [used(a, stream) for a, *_ in rows]
    kernel(device, stream, known, [used(sums, stream)], addresses, [n for _, *sizes in rows for n in sizes],
           sum([count for *_, count in rows]))


@driver_lru_cache(64)
def _parts(what, kind) -> BatchedLaunch:
    one = Launch(codegen.partial_sums(what, kind), (("COLS", codegen.COLS), ("PART", codegen.PART)), 4, (0, 1, 1))
    return BatchedLaunch(one, 1, codegen.SLOTS, ((_vector(kind),), ()))


OPERATORS = {moments.norms: norms, moments.all_finite: all_finite}
