"""A compiled graph as plain data: the step list of its one native call, with relocations for addresses.

The words of `passes/codegen/llvm/loops/programs.py` are stored without addresses. Loading fills in those of functions in
objects and of the list's own tables. Then one call runs the whole graph, without planning or code generation.
"""

import ctypes
from dataclasses import dataclass

import numpy as np

from ....ir.dtype import BY_NAME
from ....ir.errors import FileError
from ....runtime.cpu.calls import call, pool
from ....runtime.cpu.compiler import compile
from ....runtime.cpu.memory import alloc
from ....runtime.cpu.memory.arenas import Arenas

_WORD = 8
_LARGEST = 1 << 40


@dataclass(frozen=True)
class Image:
    """One native call.

    words    the step list, with zeros for addresses
    runner   (name of an object, symbol) of the function that runs step lists
    code     (number of a word, name of an object, symbol) of each function address
    tables   (number of a word, number of the table's first word)
    arena    bytes of memory for inner values
    reads    numbers of the graph's inputs, in the order of the call's arguments
    writes   (dtype, shape) of the arrays that it fills, which follow
    outputs  for each output of the graph its number among these arrays
    can_fail whether steps check their data
    long     whether other Python threads may run meanwhile
    threads  largest number of threads
    inputs   number of inputs of the graph
    """

    words: np.ndarray
    runner: tuple
    code: tuple
    tables: tuple
    arena: int
    reads: tuple
    writes: tuple
    outputs: tuple
    can_fail: bool
    long: bool
    threads: int
    inputs: int

    def as_json(self) -> dict:
        """Return all but the words, as data for a file."""
        writes = [[d.name, list(shape)] for d, shape in self.writes]
        return {"code": [list(c) for c in self.code], "tables": [list(t) for t in self.tables], "arena": self.arena,
                "reads": list(self.reads), "writes": writes, "outputs": list(self.outputs), "can_fail": self.can_fail,
                "long": self.long, "runner": list(self.runner), "threads": self.threads,
                "inputs": self.inputs}

    @classmethod
    def from_json(cls, data: dict, words: np.ndarray) -> "Image":
        """Parse data of `as_json`, and check every number."""
        writes = tuple([(BY_NAME[d], tuple(shape)) for d, shape in data["writes"]])
        code, tables = (tuple(map(tuple, data[name])) for name in ("code", "tables"))
        made = cls(words, tuple(data["runner"]), code, tables, data["arena"], tuple(data["reads"]), writes,
                   tuple(data["outputs"]), data["can_fail"] is True, data["long"] is True, data["threads"], data["inputs"])
        size = len(words)
        numbers = [(at, size) for at, *_ in made.code] + [(n, size) for pair in made.tables for n in pair]
        numbers += [(n, made.inputs) for n in made.reads] + [(n, len(writes)) for n in made.outputs]
        counts = (made.arena, made.threads, made.inputs, *[n for _, shape in writes for n in shape])
        numbers += [(n, _LARGEST) for n in counts]
        if not all(type(n) is int and 0 <= n < limit for n, limit in numbers):
            raise FileError("a ready program is damaged")
        return made


class Ready:
    """A runnable image: maps arrays of the graph's inputs to those of its outputs.

    `instead(arrays)` runs the graph another way: for more threads, and to report data that a step refused.
    """

    is_native = True

    def __init__(self, image: Image, objects, dtypes, instead):
        self.image, self._instead = image, instead
        self._words = self._addressed(image, objects)
        self._address = self._words.ctypes.data
        self._arenas = Arenas(image.arena)
        small = all(d.itemsize * int(np.prod(shape)) < alloc.SMALL_BYTES for d, shape in image.writes)
        self._make = np.empty if small else alloc.empty
        self._shapes = tuple([(shape, d.np) for d, shape in image.writes])
        self._in_order = image.outputs == tuple(range(len(image.writes)))
        self._all = image.reads == tuple(range(len(dtypes)))
        name, symbol = image.runner
        self._entry = _entry(image, compile.load_object(name, objects[name])[symbol], dtypes)

    @staticmethod
    def _addressed(image, objects):
        """Return the words with the addresses of this process."""
        words = np.array(image.words)
        for at, name, symbol in image.code:
            words[at] = compile.load_object(name, objects[name])[symbol]
        start = words.ctypes.data
        for at, first in image.tables:
            words[at] = start + _WORD * first
        return words

    def run(self, arrays) -> list:
        image = self.image
        if pool.get_num_threads() > image.threads:
            return self._instead(arrays)
        made = [self._make(shape, dtype) for shape, dtype in self._shapes]
        given = arrays if self._all else [arrays[i] for i in image.reads]
        arena = self._arenas.take()
        try:
            self._entry(self._address, arena, *given, *made)
        except TypeError:
            if all(map(call.is_plain, given)):
                raise
            self._entry(self._address, arena, *[np.array(a, order="C", subok=False) for a in given], *made)
        failed = image.can_fail and ctypes.c_int64.from_address(call.address_of(arena)).value
        self._arenas.give(arena)
        if failed:
            return self._instead(arrays)
        return made if self._in_order else [made[i] for i in image.outputs]


def _entry(image, runner, dtypes):
    """Return the callable (address of the words, arena, arrays...)."""
    parameters = [call.INTEGER, call.array(np.uint8, -1), *[call.array(dtypes[i], -1, contiguous=True) for i in image.reads],
                  *[call.array(d.np, -1, writable=True, contiguous=True) for d, _ in image.writes]]
    return call.entry("graph", runner, parameters, 0 if image.long else -1)
