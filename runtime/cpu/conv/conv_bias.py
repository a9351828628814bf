"""A bias alone, as the epilogues of blocked convolutions read it."""

import numpy as np

from ..calls import call


class Bias:
    """Each group's bias padded to whole vectors; zeros where there is none."""

    def __init__(self, groups: int, outputs: int, lanes: int, dtype):
        self.groups, self.outputs, self.dtype = groups, outputs, dtype
        self.width = -(-outputs // lanes) * lanes
        self.nothing = self._words(np.zeros((groups, self.width), dtype))

    def __call__(self, b):
        """(what must stay alive during the call, operand words)."""
        if b is None:
            return self.nothing
        if self.width == self.outputs and b.flags.c_contiguous:
            return self._words(b)
        padded = np.zeros((self.groups, self.width), self.dtype)
        padded[:, :self.outputs] = b.reshape(self.groups, self.outputs)
        return self._words(padded)

    @staticmethod
    def _words(array):
        return array, np.array([call.address_of(array), 0, 0], np.int64)         # no array, no ReLU (`Usual`)
