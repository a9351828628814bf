"""Random draws as steps of a native call: element i of a result is element i of the key's stream (`ir/reference/philox.py`)."""

import functools

from ....ir import dtype as dt
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.ops.core import random
from ..calls import pool
from ..calls.kernel_steps import fill, step
from ..calls.lowering_rules import native
from ..calls.step_list import At, NativeCall
from . import draws


@functools.lru_cache(64)
def _rounded(function: str, kind, gives):
    """The kernel of a function of (element, seed, call) whose values are rounded to another dtype."""
    k = KernelBuilder(f"{function}_{gives.name}")
    k.parallel("i", "n")
    k.input("seed", dt.int64, (0,))
    k.input("call", dt.int64, (0,))
    k.output("y", gives, (1,))
    with k.point():
        made = k.append(function, kind, (k.index("i"), k.load("seed"), k.load("call")))
        k.store(made.to(gives), "y")
    return k.build()


def _drawn(out, function, kind, gives):
    if kind is gives:
        return _plan(out, function, 0)
    return NativeCall((step(_rounded(function, kind, gives), (At(0), At(0, 8), At(1)), n=out.size),))


def _plan(out, function, span):
    return draws.plan(function, out.size, pool.get_num_threads(), span).native((0, 1))


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


@native(random.mask_below)
def mask_below(node, operands, results):
    """Words below a number that stands behind the key."""
    return _plan(results[0], draws.MASK, None)


@native(random.bernoulli_mask)
def bernoulli_mask(node, operands, results):
    """Words below p * 2**32."""
    (out,), threshold = results, round(node.params["p"] * 2**32)
    if threshold >= 2**32:
        return NativeCall((fill(At(1), out.size, True, dt.bool_),))
    return _plan(out, draws.MASK, threshold)
