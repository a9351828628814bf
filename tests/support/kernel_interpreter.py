"""Reference interpreter of kernels on NumPy arrays.

All parallel and reduce points are evaluated at once as broadcast arrays; sums are numpy's, so float results agree with compiled
kernels to rounding, all else exactly.
"""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ingot.ir.kernel.kernel import EXP_SUM, SPREAD, SWEEP, Kernel, buffer_of
from ingot.ir.reference import philox, scalar_functions

_NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "abs": np.abs,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "atan2": np.arctan2, "pow": np.power, "round": np.rint, "clamp": np.clip,
    "fma": lambda a, b, c: (a.astype(np.float64) * b + c).astype(a.dtype),
    "rsqrt": lambda x: (1 / np.sqrt(x)).astype(x.dtype),
    "relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "silu": lambda x: (x * scalar_functions.sigmoid(x)).astype(x.dtype),
    "gelu": lambda x: (x * 0.5 * (1 + scalar_functions.erf(x * 0.7071067811865476))).astype(x.dtype),
    "softplus": lambda x: np.logaddexp(x, 0).astype(x.dtype),
    "bitwise_not": np.invert,
    "random_bits": lambda i, seed, call: philox.bits_at(i, seed.flat[0], call.flat[0]),
    "random_uniform": lambda i, seed, call: (philox.bits_at(i, seed.flat[0], call.flat[0]) >> 8).astype(np.float32) * 2.0**-24,
}
_FOLDS: dict[str, Any] = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all}


def _function(name):
    return _NUMPY.get(name) or getattr(scalar_functions, name, None) or getattr(np, name)


class _Run:
    """One execution: the arrays, the sizes and the values so far."""

    def __init__(self, kernel, arrays, symbols):
        self.kernel, self.symbols = kernel, symbols
        self.sizes = [self.number(d.extent) for d in kernel.dims]
        self.names = [d.name for d in kernel.dims]
        self.values: dict[str, np.ndarray] = {}
        self.flat = dict(zip((b.name for b in kernel.buffers), arrays))

    def number(self, size):
        return self.symbols[size] if isinstance(size, str) else size

    def view(self, buffer, over_reduce=True):
        """Return the buffer over the loop dims (reduce dims of size one outside of sweeps)."""
        array = self.flat[buffer.name]
        sizes = [n if over_reduce or not d.reduce else min(n, 1) for n, d in zip(self.sizes, self.kernel.dims)]
        strides = [self.number(s) * array.itemsize for s in buffer.strides]
        return as_strided(array, sizes, strides)

    def gather(self, i, args, sweep):
        """Load with a value as index in some dims."""
        buffer = self.kernel.buffer(buffer_of(i))
        at = dict(zip(i.attr[1:], args))
        offset = 0
        for position, (name, stride) in enumerate(zip(self.names, buffer.strides)):
            index = at[name] if name in at else self.index(position, sweep)
            offset = offset + index * self.number(stride)
        array = self.flat[buffer.name]
        top = int(np.max(offset, initial=0))
        return as_strided(array, (top + 1,), (array.itemsize,))[offset]

    def index(self, position, sweep):
        """Return the loop index of one dim, shaped to broadcast."""
        n = self.sizes[position] if sweep or not self.kernel.dims[position].reduce else 1
        shape = [1] * len(self.sizes)
        shape[position] = n
        return np.arange(n).reshape(shape)

    def step(self, i, sweep):
        args = [self.values[a] for a in i.args]
        if i.op == "load":
            return self.gather(i, args, sweep) if args else self.view(self.kernel.buffer(i.attr), sweep)
        if i.op == "store":
            target = self.view(self.kernel.buffer(i.attr), sweep)
            target[...] = np.broadcast_to(args[0], target.shape).astype(target.dtype)
            return None
        if i.op == "const":
            return np.array(i.attr).astype(i.dtype.np)
        if i.op == "index":
            return self.index(self.names.index(i.attr), sweep)
        if i.op == "size":
            return np.array(self.sizes[self.names.index(i.attr)])
        if i.op == "cast":
            return args[0].astype(i.dtype.np)
        if i.op == "reduce":
            return self.fold(i, args[0])
        if i.op == "scan":
            shape = np.broadcast_shapes(args[0].shape, self.sizes)
            wide = np.broadcast_to(args[0], shape).astype(np.float64 if i.dtype.is_floating_point else i.dtype.np)
            return (np.cumsum if i.attr == "sum" else np.cumprod)(wide, axis=-1).astype(i.dtype.np)
        return np.asarray(_function(i.op)(*args)).astype(i.dtype.np)

    def fold(self, i, x):
        axes = tuple(p for p, d in enumerate(self.kernel.dims) if d.reduce)
        x = np.broadcast_to(x, np.broadcast_shapes(x.shape, self.sizes))
        if i.attr.startswith("arg"):
            flat = x.reshape(*x.shape[: axes[0]], -1)
            found = (np.argmax if i.attr == "argmax" else np.argmin)(flat, axis=-1)
            return found.reshape(*found.shape, *([1] * len(axes)))
        if i.attr == SPREAD:
            centred = x - x.mean(axis=axes, keepdims=True, dtype=np.float64)
            return np.square(centred).sum(axis=axes, keepdims=True).astype(i.dtype.np)
        if i.attr == EXP_SUM:
            return np.exp(x - x.max(axis=axes, keepdims=True)).sum(axis=axes, keepdims=True, dtype=i.dtype.np)
        keep = {"dtype": i.dtype.np} if i.attr in ("sum", "prod") else {}
        return _FOLDS[i.attr](x, axis=axes, keepdims=True, **keep)


def run_reference(kernel: Kernel, arrays, **symbols) -> None:
    """Run the kernel on one array per buffer, in order; outputs are written in place. Symbols are keywords."""
    run = _Run(kernel, arrays, symbols)
    with np.errstate(all="ignore"):
        for stage in kernel.stages:
            for i in stage.body:
                value = run.step(i, stage.over == SWEEP)
                if value is not None:
                    run.values[i.name] = value
