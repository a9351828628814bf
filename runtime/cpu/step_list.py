"""Step lists for the native runner (`passes/codegen/llvm/programs.py` says how they look): from records to words.

A kernel module describes what it would call for concrete shapes as a `NativeCall`: steps of native code whose words are numbers
or say what address belongs there. `StepList` puts calls on placed operands one after the other. Words hold no address that is
not in `relocations`, so a list can be stored, and loaded again where the same code lies elsewhere.
"""

from typing import NamedTuple

import numpy as np

from ...ir.errors import GraphError
from ...passes.codegen.llvm import programs
from ...passes.codegen.llvm.fork_join import at_most
from ...passes.plan_steps import LINE

WORD = 8
JOB, ARENA, ARGUMENTS = range(3)        # words of the runner's block: the job itself, the arena, the first argument


# What a word of a job may be, other than a number.


class At(NamedTuple):
    """The address of an operand's data, or of a byte after it. Operands are the inputs, then the results."""

    operand: int
    offset: int = 0


class Scratch(NamedTuple):
    """The address of a byte of the call's scratch memory, which starts on a cache line."""

    offset: int = 0


class Own(NamedTuple):
    """The address of a word of the job itself."""

    word: int


class Code(NamedTuple):
    """The address of a compiled function (`compile.origin` tells which)."""

    address: int


class Status(NamedTuple):
    """The address of the word that a step sets to anything but 0 when it finds wrong data."""


class Table(int):
    """The address of a table of 64-bit integers that is part of the list."""

    array: np.ndarray

    def __new__(cls, array):
        array = np.ascontiguousarray(array, np.int64)
        made = super().__new__(cls, array.ctypes.data)
        made.array = array
        return made


class NativeStep(NamedTuple):
    """Native code and its job. `chunks` 0: called as function(job); else a pool task. `turn`: number of the word that holds the
    turn's number, where the step is done `turns` times. `apart`: it is left out where the call's result lies in the memory of
    the operand that it may be written over."""

    function: int
    words: tuple
    chunks: int = 0
    turns: int = 1
    turn: int = -1
    apart: bool = False


class NativeCall(NamedTuple):
    """What an operator does on arrays of known shapes: steps, the scratch memory that they share, and about how many elements
    of an elementwise kernel take as long (0: not said).

    `over` has pairs of operands, by number: the first, a result, may lie in the memory of the second, whose every element is
    read only where the result's is written, and before it is.
    """

    steps: tuple
    scratch_bytes: int = 0
    work: int = 0
    over: tuple = ()


class Base(NamedTuple):
    """Where an operand starts: a word of the runner's block, and the bytes from the address in it."""

    slot: int
    offset: int = 0


class StepList:
    """Steps in order, as words.

    words         the list, once finished
    relocations   [(number of a word, address of the code)]; `tables` [(number of a word, number of the table's first word)]
    sources       what each step belongs to
    """

    def __init__(self):
        self._written, self._tables = [0], []
        self.sources: list = []
        self.relocations: list = []
        self.tables: list = []
        self.words = np.zeros(1, np.int64)

    def add(self, made: NativeCall, bases, scratch: Base | None, source, threads: int = 0):
        """Appends a call on operands that start at `bases`. No more than so many threads take part: its scratch memory is for
        these (0: all that there are)."""
        over = any([bases[result] == bases[operand] for result, operand in made.over])  # noqa: C419
        for step in made.steps:
            if step.apart and over:
                continue
            step = step._replace(chunks=at_most(step.chunks, threads)) if step.chunks else step
            self._write(self._written, step, bases, scratch)
            self.sources.append(source)

    def finish(self) -> np.ndarray:
        """The list for the addresses of this process."""
        words, self._written = self._written, []
        words[0] = len(self.sources)
        for at, table in self._tables:
            self.tables.append((at, len(words)))
            words += table.array.ravel().tolist()
        made = self.words = np.array(words, np.int64)
        start = made.ctypes.data
        for at, first in self.tables:
            made[at] = start + WORD * first
        return made

    def _write(self, words, step, bases, scratch):
        count = max(1, -(-len(step.words) // programs.WIDTH)) * programs.WIDTH
        if count > programs.MOST_WORDS:
            raise GraphError(f"a native step of {len(step.words)} words; at most {programs.MOST_WORDS} fit")
        self.relocations.append((len(words), step.function))
        first, patches = len(words) + len(programs.HEAD), []
        job = [0] * count
        for i, word in enumerate(step.words):
            kind = type(word)
            if kind is int:
                job[i] = word
            elif kind is Table:
                self._tables.append((first + i, word))
            elif kind is Code:
                self.relocations.append((first + i, word.address))
                job[i] = word.address
            else:
                patches += (WORD * i, *_base(word, bases, scratch))
        words += (step.function, step.chunks, step.turns, WORD * step.turn if step.turn >= 0 else -1, count,
                  len(patches) // programs.PATCH_WORDS, *job, *patches)


def _base(word, bases, scratch):
    """(byte of the block that holds the base, bytes from there) of a word that is an address of the call."""
    if type(word) is At:
        slot, offset = bases[word.operand]
        return WORD * slot, offset + word.offset
    if type(word) is Scratch:
        return WORD * scratch.slot, scratch.offset + word.offset
    if type(word) is Own:
        return WORD * JOB, WORD * word.word
    if type(word) is Status:
        return WORD * ARENA, 0
    raise GraphError(f"a word of a native step is an int or says an address, got {word!r}")


def in_arena(offset: int) -> Base:
    """Where a value of the arena starts."""
    if offset < LINE:
        raise GraphError("the first line of the arena belongs to the runner")
    return Base(ARENA, offset)
