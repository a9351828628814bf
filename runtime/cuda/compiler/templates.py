"""Launching hand-shaped kernels on device arrays."""

from ....passes.codegen.triton.loops.configs import Launch
from ..driver import streams
from ..memory.arrays import used
from .kernels import PreparedLaunch

_ROOM = 1 << 24       # how far the addresses of masked lanes may lie beyond an array
_FAR = (1 << 31) - _ROOM


def launch(device, source, arrays, sizes, how, stages=3):
    """One launch. `arrays` are those of the pointer parameters in order, `sizes` the other parameters by name (sizes, strides
    and numbers), `how` is (constants, warps, grid)."""
    stream = streams.current(device).handle
    prepared(source, arrays, sizes, how, stages)(device, stream, [used(a, stream) for a in arrays], {})


def variant(device, source, arrays, sizes, how, stages=3):
    """What is compiled for such a launch."""
    return prepared(source, arrays, sizes, how, stages).variant(device, [a.pointer for a in arrays])


def prepared(source, arrays, sizes, how, stages=3) -> PreparedLaunch:
    """Such a launch, to be done many times. Numbers that `sizes` has not are given each time, in order, after the addresses."""
    wide = any([a.size >= _FAR for a in arrays]) or any([abs(sizes[name]) >= _FAR for name in source.sizes])  # noqa: C419  (quicker)
    constants, warps, grid = how
    buffers = (*source.pointers, *[name for name in source.numbers if name not in sizes])
    return PreparedLaunch(Launch(source, constants, warps, grid, stages=stages), sizes, buffers, wide=wide)
