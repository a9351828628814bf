"""Arrays in blocks of channels, packed weights, and runs of fused convolutions on them, for tests."""

import numpy as np

from ingot.ir.opdef.op import OPS
from ingot.ir.target import host
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.calls import call, pool
from ingot.runtime.cpu.calls.plan import Plan
from ingot.runtime.cpu.calls.step_list import At
from ingot.runtime.cpu.conv import conv_fused
from ingot.runtime.cpu.memory import alloc


def operator(name):
    """Return the eager kernel of an operator."""
    return kernel_of(OPS[name])


def lanes_of(dtype) -> int:
    """Return the channels of a block."""
    return host().lanes(np.dtype(dtype).itemsize)


def block(x):
    """Return (N, C, *spatial) as (N, blocks, *spatial, lanes); missing channels are zeros."""
    return operator("to_blocked")(x, lanes=lanes_of(x.dtype))


def unblock(x, channels: int):
    """Return (N, blocks, *spatial, lanes) as (N, channels, *spatial)."""
    return operator("from_blocked")(x, channels=channels)


def pack_weight(w, groups: int, x_blocked: bool, algorithm, factors=None):
    """Pack a plain weight for the kernel of an algorithm (None: direct), times a factor for each output channel."""
    plan, size = conv_fused.weight_plan(w.shape, w.itemsize, groups, x_blocked, algorithm, pool.get_num_threads(),
                                        factors is not None)
    packed = alloc.aligned_zeros((-(-size // w.itemsize),), w.dtype)
    plan(w, w, packed, 0, 0, *[] if factors is None else [call.address_of(factors)])
    return packed


def run_fused(fused, x, w, arrays=(), sources=()):
    """Run a convolution with a packed weight. `arrays` are those of its epilogue, `sources` the plain weight of a transformed
    one, and perhaps factors."""
    operands = [x, w, *sources, *arrays]
    locations = [At(number) for number in range(2, len(operands))]
    native = fused.native(len(operands), locations[len(sources):], locations[:len(sources)])
    out = alloc.aligned_zeros(fused.shape, x.dtype)
    Plan(native, native.scratch_bytes, pool.get_num_threads())(*[alloc.dense(a) for a in operands], out)
    return out
