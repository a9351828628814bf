"""Budget of a reader: the memory and work that a file may cost, in proportion to its size.

Formats let a few bytes stand for much: tuples that share parts are hashed once for each path to them, a tensor of stride 0 has
any number of elements, a program repeats itself. Readers take what a file makes them copy or repeat from one budget, before
they do it. Work that is linear in the bytes of a file costs nothing.
"""

from collections import Counter
from typing import NoReturn

import numpy as np

from ...ir import config
from ...ir.errors import FileError
from ..core.tensor import Tensor

BYTES_PER_BYTE = 16         # memory that a byte of a file may take
STEPS_PER_BYTE = 32         # elements, characters of names, keys compared: some 50 ns each
STEPS_PER_MIB = 4000        # of `Settings.read_limit`
MAX_DIMS = 64
MAX_SIZE = 1 << 62
_DEEPEST = 500              # containers in each other; hashing deeper ones would overflow the stack
_SMALL = 1 << 60            # ints below have hashes of their own
_FREE = {bool, float, type(None)}


class ReadBudget:
    """Memory and work left to the reader of one file of `size` bytes, called `name` in messages."""

    def __init__(self, name: str, size: int):
        limit = config.current().read_limit
        self.name, self.size = name, size
        self.bytes_left = int(limit * (1 << 20)) + BYTES_PER_BYTE * size
        self.steps_left = int(limit * STEPS_PER_MIB) + STEPS_PER_BYTE * size
        self._hashes: dict = {}         # {id of a container: (the container, {hash: number of keys})}

    def grow(self, size: int):
        """Add a file that the first one refers to."""
        self.size += size
        self.bytes_left += BYTES_PER_BYTE * size
        self.steps_left += STEPS_PER_BYTE * size

    def take_bytes(self, count: int, what: str):
        """Take memory; raise a FileError that says what for if the file may not have so much."""
        self.bytes_left -= count
        if self.bytes_left < 0:
            self.refuse(f"{what} takes {count} bytes")

    def take_steps(self, count: int, what: str):
        """Take work; raise a FileError that says what for if the file may not cause so much."""
        self.steps_left -= count
        if self.steps_left < 0:
            self.refuse(f"{what} takes too much time")

    def refuse(self, found: str) -> NoReturn:
        """Raise the error for a thing that is too much."""
        raise FileError(f"{self.name}: {found}, out of proportion to the file's {self.size} bytes. If you trust the file, set "
                         f"INGOT_READ_LIMIT to more than {config.current().read_limit:g} (MiB)")

    def take_tree(self, x, what: str, with_data=False) -> int:
        """Take a step for each part of nested data, as often as it occurs, and the memory of texts; return the number of parts.

        That bounds functions which hash, copy, compare or print the data. `with_data` also takes the memory of tensors.
        """
        level, count, depth = [x], 1, 0
        while level:
            below: list = []
            for part in level:
                kind = type(part)
                if kind in _FREE or (kind is int and -_SMALL < part < _SMALL):
                    continue
                if kind is str or kind is bytes or kind is bytearray:
                    self.take_bytes(len(part), what)
                elif kind is int:
                    self.take_bytes(part.bit_length() >> 3, what)
                elif isinstance(part, (list, tuple, dict, set, frozenset)):
                    count += len(part)
                    self.take_steps(len(part), what)
                    below.extend(part)
                    below.extend(part.values() if isinstance(part, dict) else ())
                elif with_data and isinstance(part, Tensor):
                    self.take_bytes(_nbytes(part), what)
            level, depth = below, depth + 1
            if depth > _DEEPEST:
                raise FileError(f"{self.name}: {what} is nested more than {_DEEPEST} deep")
        return count

    def take_keys(self, keys, owner=None):
        """Take the work of hashing and comparing keys that go into one container, `owner` if it has keys already.

        Keys of equal hash are compared with each other, and a file can choose such keys.
        """
        others = [k for k in keys if type(k) is not str and not (type(k) is int and -_SMALL < k < _SMALL)]
        if not others:
            return
        _, seen = self._hashes.setdefault(id(owner), (owner, Counter())) if owner is not None else (None, Counter())
        for key in others:
            size = self.take_tree(key, "a key")
            number = hash(key)
            self.take_steps(size * seen[number], "comparing keys of equal hash")
            seen[number] += 1


def _nbytes(t) -> int:
    a = getattr(t, "_a", None)
    return a.nbytes if isinstance(a, np.ndarray) else 0


def count_of(shape, name: str) -> int:
    """Return the number of elements of a shape from a file; raise unless it is a possible one."""
    is_list = isinstance(shape, (tuple, list)) and len(shape) <= MAX_DIMS
    if not is_list or not all(type(n) is int and 0 <= n < MAX_SIZE for n in shape):
        raise FileError(f"{name}: {shown(shape)} is no shape of a tensor")
    count = 1
    for n in shape:
        count *= n
    return count


def shown(x) -> str:
    """Return data of a file for a message, in a few words however large it is."""
    if x is None or type(x) in (bool, float, str, bytes):
        text = repr(x[:60] if type(x) in (str, bytes) else x)
        return text if len(text) < 80 else f"{text[:76]}..."
    if type(x) is int:
        return repr(x) if x.bit_length() < 200 else f"an int of {x.bit_length()} bits"
    if isinstance(x, (tuple, list)) and len(x) <= 8 and all(type(v) is int for v in x):
        return f"({', '.join(map(shown, x))})"
    return f"a {type(x).__name__}" + (f" of {len(x)}" if isinstance(x, (tuple, list, dict)) else "")
