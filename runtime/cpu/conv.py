"""Convolutions of plain arrays (N, C, *spatial) on generated kernels: forward, and the gradients of input and weight.

float32 and float64, up to three spatial dims; `None` comes back for what the kernels do not take. Results do not depend on
the number of threads. A plan is made once per shape: how the operands are brought into blocks, by which algorithm, and back.
"""

import functools

import numpy as np

from . import alloc, call, conv_layout, conv_plan, conv_steps, pool
from .conv_plan import Geometry, Window
from .conv_steps import WORKSPACE, W, X, Y

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
MAX_DIMS = 3


def supported(*arrays) -> bool:
    """Whether the kernels take these arrays."""
    first = arrays[0]
    return (first.dtype in _DTYPES and 3 <= first.ndim <= 2 + MAX_DIMS and first.dtype.isnative
            and all(a.size for a in arrays))


def geometry(x_shape, w_shape, stride, padding, dilation, groups, item) -> Geometry:
    """The geometry of a convolution of shapes; missing spatial dims in front have size 1."""
    dims = []
    for size, taps, step, (low, high), gap in zip(x_shape[2:], w_shape[2:], stride, padding, dilation):
        out = (size + low + high - gap * (taps - 1) - 1) // step + 1
        dims.append(Window(size, out, taps, step, low, gap))
    dims = (Window(1, 1),) * (MAX_DIMS - len(dims)) + tuple(dims)
    return Geometry(x_shape[0], groups, w_shape[1], w_shape[0] // groups, dims, item)


# Forward.


def forward(x, w, b, *, stride, padding, dilation, groups):
    """conv(x, w) + b."""
    x, w = np.ascontiguousarray(x), np.ascontiguousarray(w)
    run = _forward_plan(x.shape, w.shape, stride, padding, dilation, groups, x.dtype, pool.get_num_threads())
    return run(x, w, b)


@functools.lru_cache(512)
def _forward_plan(x_shape, w_shape, stride, padding, dilation, groups, dtype, threads):
    g = geometry(x_shape, w_shape, stride, padding, dilation, groups, dtype.itemsize)
    return Direct(g, dtype, (x_shape[0], w_shape[0], *(d.out for d in g.dims[MAX_DIMS - len(stride):])))


class Direct:
    """Blocks of x, panels of w, the direct kernel, y back."""

    def __init__(self, g: Geometry, dtype, shape):
        self.shape, self.dtype = shape, dtype
        filters, steps = conv_plan.filters_of(g), conv_steps.Steps()
        self.bias = Bias(g, dtype)
        x = _packed_input(steps, g)
        w = WORKSPACE, steps.room(g.groups * filters.group)
        conv_layout.pack_weight(steps, (W, 0), w, g.groups, filters)
        y = WORKSPACE, steps.room(conv_layout.blocked_bytes(g.images * g.groups, Blocked(g), g.out_pixels))
        conv_plan.add_direct(steps, g, filters, x, w, y)
        conv_layout.unpack_activation(steps, y, (Y, 0), g.images * g.groups, g.y_blocks, g.out_pixels)
        self.plan = steps.plan()

    def __call__(self, x, w, b):
        out = alloc.empty(self.shape, self.dtype)
        bias, words = self.bias(b)
        self.plan(x, w, out, call.address_of(words))
        return out


def Blocked(g):
    """Output blocks with all their lanes."""
    return conv_layout.Blocks(-(-g.outputs // g.lanes) * g.lanes, g.lanes, g.item)


def _packed_input(steps, g):
    """Where x lies in blocks: in place where it does already."""
    if g.inputs == 1:
        return X, 0
    x = WORKSPACE, steps.room(conv_layout.blocked_bytes(g.images * g.groups, g.x_blocks, g.pixels))
    conv_layout.pack_activation(steps, (X, 0), x, g.images * g.groups, g.x_blocks, g.pixels)
    return x


class Bias:
    """A bias as the kernels read it: each group's padded to whole vectors, zeros where there is none."""

    def __init__(self, g: Geometry, dtype):
        self.groups, self.outputs, self.dtype = g.groups, g.outputs, dtype
        self.width = -(-g.outputs // g.lanes) * g.lanes
        self.nothing = self._words(np.zeros((g.groups, self.width), dtype))

    def __call__(self, b):
        """(what must stay alive, operand words)."""
        if b is None:
            return self.nothing
        if self.width == self.outputs and b.flags.c_contiguous:
            return self._words(b)
        padded = np.zeros((self.groups, self.width), self.dtype)
        padded[:, :self.outputs] = b.reshape(self.groups, self.outputs)
        return self._words(padded)

    @staticmethod
    def _words(array):
        return array, np.array([call.address_of(array)], np.int64)
