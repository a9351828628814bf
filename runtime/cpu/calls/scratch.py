"""What lies between the steps of a native call: its scratch memory, and operands of low precision as float32 there."""

import math

import numpy as np

from ....ir import dtype as dt
from .kernel_steps import convert
from .step_list import At, NativeCall, Scratch

_LINE = 64


def wide(kind) -> np.dtype:
    """The dtype that kernels compute elements of a dtype in."""
    return dt.accumulator(dt.BY_NP[kind]).np


def rows_of(sizes, item: int) -> tuple:
    """The strides, in bytes, of an array in rows."""
    return tuple([math.prod(sizes[d + 1:]) * item for d in range(len(sizes))])


class Steps:
    """The steps of a call, as they are put together."""

    def __init__(self):
        self.before: list = []
        self.steps: list = []
        self.after: list = []
        self.scratch_bytes = 0

    def room(self, count: int, kind) -> Scratch:
        """Scratch memory for so many elements of a dtype, on a cache line."""
        at = Scratch(self.scratch_bytes)
        self.scratch_bytes += math.ceil(count * kind.itemsize / _LINE) * _LINE
        return at

    def read(self, number: int, array):
        """Where an operand lies: as float32, if it is of low precision."""
        kind = wide(array.dtype)
        if kind == array.dtype:
            return At(number)
        at = self.room(array.size, kind)
        self.before.append(convert(At(number), dt.BY_NP[array.dtype], at, dt.BY_NP[kind], array.size))
        return at

    def write(self, number: int, array):
        """Where a result is to be written: as float32, if it is of low precision."""
        kind = wide(array.dtype)
        if kind == array.dtype:
            return At(number)
        at = self.room(array.size, kind)
        self.after.append(convert(at, dt.BY_NP[kind], At(number), dt.BY_NP[array.dtype], array.size))
        return at

    def call(self, more=()) -> NativeCall:
        """All of it, and `more` steps."""
        return NativeCall((*self.before, *self.steps, *more, *self.after), self.scratch_bytes)
