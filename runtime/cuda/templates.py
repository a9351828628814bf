"""Launching hand-shaped kernels on device arrays: prepared once for each set of sizes."""

import functools

from ...passes.codegen.triton.configs import Launch
from ...passes.codegen.triton.nest import NUMBER, POINTER, SIZE
from . import streams
from .arrays import used
from .kernels import PreparedLaunch

_NARROW = 1 << 31
_ROOM = 1 << 24       # how far the addresses of masked lanes may lie beyond an array


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
    reaches = [abs(sizes[p.name]) for p in source.parameters if p.kind == SIZE]
    wide = max(max(a.nbytes // a.itemsize for a in arrays), max(reaches, default=0)) + _ROOM >= _NARROW
    return _prepared(source, tuple(sizes.items()), how, stages, wide)


@functools.lru_cache(8192)
def _prepared(source, sizes, how, stages, wide) -> PreparedLaunch:
    constants, warps, grid = how
    numbers = dict(sizes)
    names = [p.name for p in source.parameters if p.kind == POINTER]
    names += [p.name for p in source.parameters if p.kind == NUMBER and p.name not in numbers]
    one = Launch(source, constants, warps, grid, stages=stages)
    return PreparedLaunch(one, numbers, {n: i for i, n in enumerate(names)}, (0,) * len(names), wide)


def forget():
    """Forgets what was prepared, for a driver that was replaced."""
    _prepared.cache_clear()
