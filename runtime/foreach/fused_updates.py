"""Fused updates: one kernel reads tensors and numbers, and replaces some of the tensors, in one sweep over memory.

    sweep_each(build, [((p, mean), (g,)), ((q, mean_q), (h,))], [0.1])      # build(k, p, mean, g, n) gives the new p and mean

The overhead of a call, which dominates for small tensors, is paid once for all rows.
"""

import functools
import threading
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ..core.backend import HOST
from ..core.device_array import DeviceArray
from ..core.state import tls
from ..core.writes import check_writable, wrote_plainly

KINDS = {np.dtype(np.float32): dt.float32, np.dtype(np.float64): dt.float64}       # of what is swept, but for `lists.py`


def sweep_each(build, rows, numbers, name="step"):
    """Run `build(k, *written, *read, *numbers)`, whose values replace the tensors `written`, for each row (written, read) of
    tensors of one shape and dtype. On a device, numbers may be arrays there."""
    m, kind = tls.m, None
    kernel: Any = None
    scalars: Any = None
    far: list = []          # (kernel, outs, arrays) on a device
    for written, read in rows:
        for t in written:
            check_writable(t, m, name)
        outs, arrays = tuple([t._a for t in written]), [t._a for t in read]
        if outs[0].dtype is not kind:
            kind = outs[0].dtype
            kernel = _kernel(build, len(outs) + len(arrays) + len(numbers), len(outs), KINDS.get(kind) or dt.from_numpy(kind))
            scalars = None
        if outs[0].__class__ is DeviceArray:
            far.append((kernel, outs, arrays))
        else:
            if scalars is None:
                scalars = _scalars(numbers, kind)
            kernel.sweep(outs, arrays, scalars)
        for t in written:
            wrote_plainly(t, name)
    if far:
        far[0][1][0].backend.sweep(far, numbers)


_local = threading.local()


def _scalars(numbers, kind) -> tuple:
    """Return numbers as arrays, in memory that this thread uses again at its next sweep."""
    kept: Any = _local.__dict__
    key = len(numbers), kind
    arrays = kept.get(key) or kept.setdefault(key, tuple([np.empty((), kind) for _ in numbers]))
    with np.errstate(over="ignore"):        # a limit that no number of the dtype reaches is infinite
        for a, n in zip(arrays, numbers):
            a.fill(n)
    return arrays


@functools.lru_cache(None)
def _kernel(build, inputs, outputs, kind):
    return HOST.elementwise(build.__name__, (kind,) * inputs, (kind,) * outputs, build)
