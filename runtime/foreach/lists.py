"""Lists of tensors at once: one kernel for many small tensors, without a launch or a call for each.

`sweep_each` is the fused update. One kernel reads tensors and numbers, and replaces some of them, in one sweep over memory:

    sweep_each(build, [((p, mean), (g,)), ((q, mean_q), (h,))], [0.1])      # build(k, p, mean, g, n) gives the new p and mean

Each other function returns None (or False), and does nothing, if the tensors do not qualify: they are on the host (where only
writes in place are such kernels), have histories to continue, or something listens. The caller then goes one by one.
"""

import functools
import threading
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.ops.core import moments as records
from ...ir.process_state import ignore_float_errors
from ..core.backend import HOST
from ..core.device_array import DeviceArray
from ..core.node import Leaf
from ..core.placement import on_device_of
from ..core.tensor import Tensor, wrap
from ..core.writes import check_writable, is_quiet, wrote_plainly
from ..state.mode import tls

KINDS = {np.dtype(np.float32): dt.float32, np.dtype(np.float64): dt.float64}       # that kernels of written rows take


def sweep_each(build, rows, numbers, name="step"):
    """Run `build(k, *written, *read, *numbers)`, whose values replace the tensors `written`, for each row (written, read) of
    tensors of one shape and dtype. On a device, numbers may be arrays there."""
    m, kind = tls.m, None
    kernel: Any = None
    scalars: Any = None
    far: dict = {}          # {backend: [(kernel, outs, arrays)]}
    for written, read in rows:
        for t in written:
            check_writable(t, m, name)
        outs, arrays = tuple([t._a for t in written]), [t._a for t in read]
        if outs[0].dtype is not kind:
            kind = outs[0].dtype
            kernel = _kernel(build, len(outs) + len(arrays) + len(numbers), len(outs), KINDS.get(kind) or dt.from_numpy(kind))
            scalars = None
        if outs[0].__class__ is DeviceArray:
            far.setdefault(outs[0].backend, []).append((kernel, outs, arrays))
        else:
            if scalars is None:
                scalars = _scalars(numbers, kind)
            kernel.sweep(outs, arrays, scalars)
        for t in written:
            wrote_plainly(t, name)
    for backend, rows_there in far.items():
        backend.sweep(rows_there, numbers)


_local = threading.local()


def _scalars(numbers, kind) -> tuple:
    """Return numbers as arrays, in memory that this thread uses again at its next sweep."""
    scalars_by_kind: Any = _local.__dict__
    key = len(numbers), kind
    arrays = scalars_by_kind.get(key) or scalars_by_kind.setdefault(key, tuple([np.empty((), kind) for _ in numbers]))
    _fill(arrays, numbers)
    return arrays


@ignore_float_errors        # a limit that no number of the dtype reaches is infinite
def _fill(arrays, numbers):
    for a, n in zip(arrays, numbers):
        a.fill(n)


@functools.lru_cache(None)
def _kernel(build, inputs, outputs, kind):
    return HOST.elementwise(build.__name__, (kind,) * inputs, (kind,) * outputs, build)


def fit_one_operator(tensors) -> bool:
    """Return whether one operator can take all tensors: floats of one dtype on one device; listeners are fine."""
    first = tensors[0]._a
    if first.__class__ is not DeviceArray or tensors[0].dtype not in dt.FLOATS or tls.m.batched is not None:
        return False
    kind, dtype, device = first.kind, first.dtype, first.device
    return all([(a := t._a).__class__ is DeviceArray and a.dtype is dtype and a.kind == kind and a.device == device  # noqa: C419
                for t in tensors])


def norms(tensors, order) -> Tensor | None:
    """Return the norm of each tensor, in one tensor without a history."""
    m = tls.m
    if not fit_one_operator(tensors) or (m.grad and any(t._node is not None for t in tensors)):
        return None
    return records.norms(*tensors, ord=float(order))


def all_finite(tensors) -> Tensor | None:
    """Return whether no element of any tensor is infinite or nan."""
    return records.all_finite(*tensors) if fit_one_operator(tensors) else None


def computed(build, rows, numbers=()) -> list | None:
    """Return new tensors: build(k, *row, *numbers) of each row of tensors of one shape."""
    m = tls.m
    if not _are_alike(rows, numbers) or m.special or any([m.grad and t._node is not None for row in rows for t in row]):  # noqa: C419
        return None
    found = [wrap(a) for a in rows[0][0]._a.backend.fresh([row[0]._a for row in rows])]
    sweep_each(_not_reading(build), [((out,), row) for out, row in zip(found, rows)], _scalars_of(numbers))
    return found


def replace(build, rows, numbers=(), name="step") -> bool:
    """Replace the first tensor of each row by build(k, *row, *numbers)."""
    m = tls.m
    if not (_lie_apart(rows, numbers) or _are_alike(rows, numbers)):
        return False
    if not all([is_quiet(row[0], m) for row in rows]) or (          # noqa: C419
            m.grad and any([t._node is not None for row in rows for t in row])):        # noqa: C419
        return False
    sweep_each(build, [(row[:1], row[1:]) for row in rows], _scalars_of(numbers), name)
    return True


def _are_alike(rows, numbers) -> bool:
    """Return whether there are several rows, each of tensors of one shape that one operator takes; numbers must be Python's, or
    0-d tensors beside them."""
    tensors = [t for row in rows for t in row] + [n for n in numbers if isinstance(n, Tensor)]
    if len(rows) < 2 or not all([isinstance(t, Tensor) for t in tensors]):  # noqa: C419
        return False
    if not fit_one_operator(tensors):
        return False
    wide = tensors[0]._a.dtype in KINDS
    return all([_is_number(n, wide) for n in numbers]) and all(       # noqa: C419
        [t._a.shape == row[0]._a.shape for row in rows for t in row[1:]])     # noqa: C419


def _lie_apart(rows, numbers) -> bool:
    """Return whether there are several rows of contiguous float32 or float64 host tensors, each of one shape, whose first
    tensor shares no memory with the others; numbers must be Python's."""
    if len(rows) < 2 or not all([n.__class__ in _NUMBERS for n in numbers]) or tls.m.batched is not None:        # noqa: C419
        return False
    kind = rows[0][0]._a.dtype if isinstance(rows[0][0], Tensor) else None
    if kind not in KINDS:
        return False
    for row in rows:
        arrays: list = [t._a if isinstance(t, Tensor) else None for t in row]
        first = arrays[0]
        for a in arrays:
            if a.__class__ is not np.ndarray or a.dtype is not kind or a.shape != first.shape or not a.flags.c_contiguous:
                return False
        if any([np.may_share_memory(first, a) for a in arrays[1:]]):        # noqa: C419
            return False
    return True


_NUMBERS = frozenset((int, float, bool))


def _is_number(n, wide) -> bool:
    """Return whether an operand is one number for all: a 0-d tensor, or a Python number. Beside low precision only 0 is, since
    others keep digits there that the dtype lacks."""
    if isinstance(n, Tensor):
        return not n._a.shape and n._node is None
    return n.__class__ in _NUMBERS and (wide or n == 0)


def _scalars_of(numbers) -> list:
    return [n._a if isinstance(n, Tensor) else n for n in numbers]


@functools.lru_cache(None)
def _not_reading(build):
    """Return the same for a kernel that does not read what it overwrites."""
    def into(k, old, *values):
        return build(k, *values)

    into.__name__ = build.__name__
    return into


@functools.lru_cache(None)
def function(name: str):
    """Return a scalar function as a kernel function."""
    def build(k, *values):
        return k.call(name, *values)

    build.__name__ = name
    return build


def fill(k, x, n):
    """Compute a number everywhere."""
    return n


def copy(k, x, y):
    """Compute the value of another tensor."""
    return y


def goes_towards(k, x, y, weight):
    """Compute x + (y - x) * weight, as `lerp` does for weights below a half."""
    return x + (y - x) * weight


def goes_back(k, x, y, rest):
    """Compute y - (y - x) * rest, as `lerp` does for the weight 1 - rest otherwise."""
    return y - (y - x) * rest


def lerp_by(numbers) -> tuple:
    """Return (kernel function, the numbers that it takes) for a lerp by a weight; no numbers if there is more than one weight.
    """
    weight, = numbers if len(numbers) == 1 and numbers[0].__class__ in _NUMBERS else (None,)
    if weight is None:
        return goes_back, [None]
    return (goes_towards, [weight]) if abs(weight) < 0.5 else (goes_back, [1 - weight])


def counts_in(k, x, y, n):
    """Compute the mean of n, of which x is the mean of all but y."""
    return x + (y - x) / n


def zero(tensors, name: str):
    """Write zeros into tensors."""
    if not tensors or not replace(fill, [(t,) for t in tensors], (0.0,), name):
        for t in tensors:
            t.zero_()


def clear_gradients(parameters, set_to_none: bool):
    """Drop gradients, or set them to zero."""
    gradients, quiet = [], tls.m.recorder is None
    for p in parameters:
        if set_to_none and quiet and type(p._node) is Leaf:
            p._node.grad = None         # the attribute, without the check for listeners
            continue
        grad = p.grad
        if grad is None:
            continue
        if set_to_none:
            p.grad = None
            continue
        if grad.requires_grad:
            grad = p.grad = grad.detach()
        gradients.append(grad)
    zero(gradients, "zero_grad")


def lerp(tensors, ends, weight, name: str):
    """Move tensors towards others by a number's share of the way."""
    build, numbers = lerp_by([weight])
    if not replace(build, list(zip(tensors, ends)), numbers, name):
        for t, end in zip(tensors, ends):
            t.lerp_(end, weight)


def scale(tensors, number: Tensor, name: str):
    """Multiply tensors by a 0-d tensor, each in its own dtype and on its own device."""
    alike: dict = {}
    for t in tensors:
        a = t._a
        alike.setdefault((a.dtype, a.__class__ is DeviceArray and a.device), []).append(t)
    for some in alike.values():
        there = on_device_of(number, some[0])
        there = there if there.dtype is some[0].dtype else there.to(some[0].dtype)
        if not replace(function("mul"), [(t,) for t in some], (there,), name):
            for t in some:
                t.mul_(there)
