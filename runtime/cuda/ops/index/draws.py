"""Random numbers on a device: the stream of ir/reference/philox.py, with the same bits as on the CPU.

Keys (seed, call) are read from device memory, so a captured graph draws new numbers when its key is overwritten.
"""

import functools

import numpy as np

from .....ir import dtype as dt
from .....ir.kernel.kernel_builder import KernelBuilder
from .....ir.ops.core import random as rn
from .....ir.ops.math import gamma
from .....passes.codegen import rejection_kernels
from ....core.device_array import DeviceArray
from ...compiler.flat_launches import check_values
from ...compiler.kernels import Prepared
from ...driver import streams
from ...driver.driver_state import DriverCache
from ...graph.eager import contiguous
from ...memory import pools, transfer
from ...memory.arrays import empty, filled, used

_LOW_BITS = {dt.float16: 11, dt.bfloat16: 8}       # of a word, as ir/ops/core/random.py has them
_WORD = 8


def key(generator, device: int) -> DeviceArray | None:
    """Return the next key of a generator, from a table uploaded at once; None while a graph is captured, which has its own."""
    if pools.is_capturing():
        return None
    seed, call = generator.reserve(1)
    place = device, streams.current(device).handle, seed
    first, keys = _keys.get(place, _NO_TABLE)
    if keys is None or not 0 <= call - first < _TOGETHER:
        rows = np.array([(seed, (call + n) % 2 ** 64) for n in range(_TOGETHER)], np.uint64)
        first, keys = _keys.put(place, (call, transfer.to_device(rows, device, wait=False)))
    return keys.look((2,), (_WORD,), 2 * _WORD * (call - first))


_keys = DriverCache(64)     # (device, stream, seed) -> (the first call of the table, its keys)
_NO_TABLE = (0, None)
_TOGETHER = 256


def draw(key, shape, dtype, device, write, *how, words=2, operands=()) -> DeviceArray:
    """Return an array of `shape` with elements `write(k, i, seed, call, *given, *how)`, values of a KernelBuilder.

    Further words of the key follow the call. `given` are values of arrays of that shape.
    """
    out = empty(device, shape, dtype.np)
    if out.size:
        key = key if isinstance(key, DeviceArray) else transfer.to_device(np.asarray(key), device)
        stream = streams.current(device).handle
        seed = used(key, stream)
        operands = [contiguous(a) for a in operands]
        kernel = _kernel(write, how, dtype, words, tuple([dt.from_numpy(a.dtype) for a in operands]))
        made = Prepared(kernel, {"n": out.size}, (*[n * _WORD for n in range(words)], *[0] * len(operands), 0))
        made(device, stream, (*[seed] * words, *[used(a, stream) for a in operands], used(out, stream)))
    return out


@functools.lru_cache(1024)
def _kernel(write, how, dtype, words, kinds):
    k = KernelBuilder("_".join([write.__name__.strip("_"), dtype.short]))
    k.parallel("i", "n")
    key = [k.input(name, dt.int64, (0,)) for name in ("seed", "call", "bound")[:words]]
    operands, y = [k.input(f"x{n}", kind, (1,)) for n, kind in enumerate(kinds)], k.output("y", dtype, (1,))
    with k.point():
        k.store(write(k, k.index("i"), *map(k.load, (*key, *operands)), *how).to(dtype), y)
    return k.build()


def _uniform(k, i, seed, call, dtype):
    if dtype in _LOW_BITS:
        bits = _LOW_BITS[dtype]
        word = k.append("random_bits", dt.uint32, (i, seed, call))
        high = k.call("bitwise_right_shift", word, 32 - bits)
        return high.to(dt.float32) * 2.0 ** -bits
    name = "random_uniform_double" if dtype is dt.float64 else "random_uniform"
    return k.append(name, dtype, (i, seed, call))


def _normal(k, i, seed, call, dtype):
    if dtype is dt.float64:
        return k.append("random_normal_double", dt.float64, (i, seed, call))
    return k.append("random_normal", dt.float32, (i, seed, call))


def _mask(k, i, seed, call, threshold):
    return k.call("lt", k.append("random_bits", dt.uint32, (i, seed, call)), threshold)


def _below(k, i, seed, call, bound):
    return k.call("lt", k.append("random_bits", dt.uint32, (i, seed, call)).to(dt.int64), bound)


def _integers(k, i, seed, call, low, span):
    below = k.append("random_below", dt.int64, (i, seed, call, k.const(dt.int64, span)))
    return below + k.const(dt.int64, low)


def _floats(write):
    """Return the operator that draws floats by a function."""
    def run(inputs, params, device):
        return draw(inputs[0], params["shape"], params["dtype"], device, write, params["dtype"])

    return run


def bernoulli_mask(inputs, params, device):
    """Draw bools, true with a probability."""
    threshold = round(params["p"] * 2 ** 32)
    if threshold == 2 ** 32:
        return filled(device, params["shape"], np.bool_, True)
    return draw(inputs[0], params["shape"], dt.bool_, device, _mask, threshold)


def mask_below(inputs, params, device):
    """Return whether words are below a number that follows the key."""
    return draw(inputs[0], params["shape"], dt.bool_, device, _below, words=3)


def randint(inputs, params, device):
    """Draw integers in a range."""
    low, span = int(params["low"]), (int(params["high"]) - int(params["low"])) % 2 ** 64
    return draw(inputs[0], params["shape"], params["dtype"], device, _integers, low, span)


def _rejecting(write, rules):
    """Return an operator that draws by rejection; invalid parameters are raised at the next read."""

    def run(inputs, params, device):
        key, *operands = inputs
        if not all(isinstance(x, DeviceArray) for x in operands):
            return NotImplemented
        operands = [contiguous(x) for x in operands]
        first = operands[0]
        if first.size:
            for x, rule in zip(operands, rules):
                check_values(x, rule, write.__name__)
        return draw(key, first.shape, dt.from_numpy(first.dtype), device, write, operands=operands)

    return run


OPERATORS = {rn.poisson: _rejecting(rejection_kernels.poisson, ("rate",)),
             gamma.standard_gamma: _rejecting(rejection_kernels.standard_gamma, ("concentration",)),
             rn.binomial: _rejecting(rejection_kernels.binomial, ("count", "probability"))}
OPERATORS |= {rn.uniform: _floats(_uniform), rn.normal: _floats(_normal), rn.bernoulli_mask: bernoulli_mask,
              rn.mask_below: mask_below, rn.randint: randint}
