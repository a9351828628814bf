"""Random draws as steps of a native call: element i of a result is element i of the key's stream (`ir/philox.py`)."""

import functools

from ...ir import dtype as dt
from ...ir.kernel_builder import KernelBuilder
from ...ir.ops import random
from .native import native
from .native_kernels import fill, step
from .step_list import At, NativeCall, Table


@functools.lru_cache(64)
def _draw(function: str, kind, gives, below: bool):
    """The kernel of a function of (element, seed, call); `below` compares its words with a threshold."""
    k = KernelBuilder(f"{function}_{gives.name}_{int(below)}")
    k.parallel("i", "n")
    k.input("seed", dt.int64, (0,))
    k.input("call", dt.int64, (0,))
    if below:
        k.input("threshold", dt.int64, (0,))
    k.output("y", gives, (1,))
    with k.point():
        made = k.append(function, kind, (k.index("i"), k.load("seed"), k.load("call")))
        k.store(k.fn.lt(made.to(dt.int64), k.load("threshold")) if below else made.to(gives), "y")
    return k.build()


def _drawn(out, function, kind, gives, *more):
    return NativeCall((step(_draw(function, kind, gives, bool(more)), (At(0), At(0, 8), *more, At(1)), n=out.size),))


@native(random.uniform)
def uniform(node, operands, results):
    """Uniform floats of 32 and 64 bits."""
    (out,) = results
    if out.dtype == dt.float32.np:
        return _drawn(out, "random_uniform", dt.float32, dt.float32)
    return _drawn(out, "random_uniform_double", dt.float64, dt.float64) if out.dtype == dt.float64.np else None


@native(random.normal)
def normal(node, operands, results):
    """Normal floats; 16-bit ones are the float32 numbers, rounded."""
    (out,) = results
    if out.dtype == dt.float64.np:
        return _drawn(out, "random_normal_double", dt.float64, dt.float64)
    return _drawn(out, "random_normal", dt.float32, dt.BY_NP[out.dtype])


@native(random.bernoulli_mask)
def bernoulli_mask(node, operands, results):
    """Words below p * 2**32."""
    (out,), threshold = results, round(node.params["p"] * 2**32)
    if threshold >= 2**32:
        return NativeCall((fill(At(1), out.size, True, dt.bool_),))
    return _drawn(out, "random_bits", dt.uint32, dt.bool_, Table([threshold]))
