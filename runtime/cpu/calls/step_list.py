"""Step lists of the native runner, written from records to words (format: `passes/codegen/llvm/loops/programs.py`).

An operator describes its work for concrete shapes as a `NativeCall`: steps of native code whose words are numbers or symbolic
addresses. `StepList` appends calls on placed operands. All addresses are in `relocations`, so a list can be stored, and loaded
again in a process whose code has other addresses.
"""

from array import array
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ....ir.cached_property import cached_property
from ....ir.errors import GraphError
from ....passes.codegen.llvm.loops import programs
from ....passes.codegen.llvm.pool.fork_join import at_most
from ....passes.schedule.plan_steps import LINE, shallow

WORD = 8
JOB, ARENA, ARGUMENTS = range(3)        # words of the runner's block: the job itself, the arena, the first argument


# Kinds of words of a job, beside numbers.


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
    """The address of the status word; a step sets it to nonzero when it finds wrong data."""


class Table(int):
    """The address of a table of 64-bit integers that is part of the list."""

    array: np.ndarray

    def __new__(cls, array):
        array = np.ascontiguousarray(array, np.int64)
        made = super().__new__(cls, array.ctypes.data)
        made.array = array
        return made


class NativeStep(NamedTuple):
    """Native code and its job.

    chunks   0: called as function(job); else a pool task.
    turn     number of the word that holds the turn's number, if the step runs `turns` times.
    apart    the step is left out if the call's result is in the memory of the operand that it may be written over
    """

    function: int
    words: tuple
    chunks: int = 0
    turns: int = 1
    turn: int = -1
    apart: bool = False


@dataclass(frozen=True, eq=False)
class NativeCall:
    """Steps of an operator on arrays of known shapes, and their scratch memory.

    work   about how many elements of an elementwise kernel take as long (0: unknown)
    over   pairs of operand numbers: the first, a result, may be in the memory of the second, whose every element is read
           only where the result's is written, and before it is
    """

    steps: tuple
    scratch_bytes: int = 0
    work: int = 0
    over: tuple = ()
    _written: dict = field(init=False, default_factory=dict, repr=False)

    @cached_property
    def can_fail(self) -> bool:
        """Whether a step may find wrong data."""
        return any(type(w) is Status for step in self.steps for w in step.words)

    def written(self, threads: int, over: bool) -> "Written":
        """Return the words of the steps, for any operand locations. At most so many threads take part (0: all); scratch memory
        is for as many. Steps that are `apart` are left out if the result is `over` the operand."""
        key = threads, over
        found = self._written.get(key)
        if found is None:
            found = self._written[key] = _write([s for s in self.steps if not (over and s.apart)], threads)
        return found


class Base(NamedTuple):
    """The start of an operand: a word of the runner's block, and bytes from the address in it."""

    slot: int
    offset: int = 0


NOWHERE = Base(0)                                       # of what is no array
SCRATCH, ITSELF, STATUS, OPERANDS = range(4)            # bases of a call: its scratch memory, the job, the arena, operands


@dataclass(frozen=True, eq=False)
class Written:
    """Words of some steps as they are in a list, except the addresses that a call brings.

    patches     numbers of the words that name a base; the next one is the offset from there.
    bases       the number of the call's base for each of them.
    code        [(number of a word, address of the code)]
    tables      [(number of a word, the table that it points to)]
    """

    steps: int
    words: Any
    patches: Any
    bases: Any
    code: list
    tables: list

    def with_words(self, words) -> "Written":
        made = shallow(self)
        vars(made)["words"] = words
        return made

    @cached_property
    def form(self):
        """A key that is equal for records that may replace each other."""
        return (self.steps, len(self.words), [(at, table.array.size) for at, table in self.tables], self.patches.tobytes(),
                self.bases.tobytes())


def _write(steps, threads) -> Written:
    words, patched, bases, code, tables = _lists_of(steps, threads)
    return Written(len(steps), np.array(words, np.int64), np.array(patched, np.intp), np.array(bases, np.intp), code, tables)


def words_alone(steps, threads: int) -> array:
    """Return the list of some steps on the arguments of the runner, in order; their scratch memory follows the arena's first
    line. It is for this process, and reads tables where they are."""
    words, patched, bases, _, tables = _lists_of(steps, threads)
    for at, base in zip(patched, bases):
        words[at] = WORD * (base - OPERANDS + ARGUMENTS if base >= OPERANDS else JOB if base == ITSELF else ARENA)
        if base == SCRATCH:
            words[at + 1] += LINE
    for at, table in tables:
        words[at] = table
    return array("q", [len(steps), *words])


def _lists_of(steps, threads) -> tuple:
    """Return what a record `Written` has of some steps, as lists."""
    words: list = []
    patched: list = []
    bases: list = []
    code: list = []
    tables: list = []
    for step in steps:
        count = max(1, -(-len(step.words) // programs.WIDTH)) * programs.WIDTH
        if count > programs.MOST_WORDS:
            raise GraphError(f"a native step of {len(step.words)} words; at most {programs.MOST_WORDS} fit")
        code.append((len(words), step.function))
        first, patches = len(words) + len(programs.HEAD), []
        job = [0] * count
        for i, word in enumerate(step.words):
            kind = type(word)
            if kind is int:
                job[i] = word
            elif kind is Table:
                tables.append((first + i, word))
            elif kind is Code:
                code.append((first + i, word.address))
                job[i] = word.address
            else:
                base, offset = _base_of(word)
                patched.append(first + count + len(patches) + 1)
                bases.append(base)
                patches += (WORD * i, 0, offset)
        words.extend((step.function, at_most(step.chunks, threads) if step.chunks else 0, step.turns,
                      WORD * step.turn if step.turn >= 0 else -1, count, len(patches) // programs.PATCH_WORDS,
                      *job, *patches))
    return words, patched, bases, code, tables


def _base_of(word):
    """Return (base of the call, bytes from there) of a word that is an address."""
    if type(word) is At:
        return OPERANDS + word.operand, word.offset
    if type(word) is Scratch:
        return SCRATCH, word.offset
    if type(word) is Own:
        return ITSELF, WORD * word.word
    if type(word) is Status:
        return STATUS, 0
    raise GraphError(f"a word of a native step is an int or says an address, got {word!r}")


class StepList:
    """Steps in order, as words.

    calls         the written words of each call
    owners        the owner of each call
    firsts        the number of each call's first base, among those of all calls, in `slots` and `offsets`
    words         the list, once finished
    """

    def __init__(self):
        self.calls: list = []
        self.owners: list = []
        self.firsts: list = []
        self.slots: list = []
        self.offsets: list = []
        self.words = np.zeros(1, np.int64)

    def add(self, written: Written, bases, scratch: Base | None, source):
        """Append a call on operands that start at `bases`."""
        self.calls.append(written)
        self.owners.append(source)
        self.firsts.append(len(self.slots))
        for slot, offset in (scratch or NOWHERE, Base(JOB), Base(ARENA), *bases):
            self.slots.append(slot)
            self.offsets.append(offset)

    def with_others(self, instead) -> "StepList":
        """Return the list with some calls replaced (`instead`, by number), on operands in the same slots."""
        made = shallow(self)
        made.calls = list(self.calls)
        for number, written in instead:
            made.calls[number] = written
        return made

    @property
    def sources(self) -> list:
        return [owner for owner, made in zip(self.owners, self.calls) for _ in range(made.steps)]

    def finish(self) -> np.ndarray:
        """Write the list for the addresses of this process."""
        self.words = Template(self).filled(np.array(self.offsets, np.int64))
        return self.words

    def starts(self) -> list:
        return list(accumulate([len(made.words) for made in self.calls], initial=1))

    @property
    def relocations(self) -> list:
        """[(number of a word, address of the code)]"""
        return [(start + at, address) for start, made in zip(self.starts(), self.calls) for at, address in made.code]

    @property
    def tables(self) -> list:
        """[(number of a word, number of the table's first word)]"""
        starts, found = self.starts(), []
        end = starts[-1]
        for start, made in zip(starts, self.calls):
            for at, table in made.tables:
                found.append((start + at, end))
                end += table.array.size
        return found


class Template:
    """A list without the addresses that its calls bring, and the places to put them."""

    def __init__(self, steps: StepList):
        calls, self._starts = steps.calls, steps.starts()
        self._tables, tables = steps.tables, [table.array.ravel() for made in calls for _, table in made.tables]
        self._words = np.concatenate([np.array([len(steps.sources)], np.int64), *[made.words for made in calls], *tables])
        counts = [*[len(made.patches) for made in calls], 0]
        self._patches = np.concatenate([*[made.patches for made in calls], _NONE]) + np.repeat(self._starts, counts)
        self._bases = np.concatenate([*[made.bases for made in calls], _NONE]) + np.repeat([*steps.firsts, 0], counts)
        self._slots = WORD * np.array(steps.slots, np.int64)[self._bases]
        self._first_tables = list(accumulate([len(made.tables) for made in calls], initial=0))

    def filled(self, offsets, instead=()) -> np.ndarray:
        """Return the list with bases at these offsets; `instead` of some calls, by number, others of the same form."""
        words = self._words.copy()
        for number, made in instead:
            start = self._starts[number]
            words[start:start + len(made.words)] = made.words
            for i, (_, table) in enumerate(made.tables, self._first_tables[number]):
                first = self._tables[i][1]
                words[first:first + table.array.size] = table.array.ravel()
        words[self._patches] = self._slots
        words[self._patches + 1] += offsets[self._bases]
        address = words.ctypes.data
        for place, first in self._tables:
            words[place] = address + WORD * first
        return words


_NONE = np.zeros(0, np.intp)


def in_arena(offset: int) -> Base:
    """Return the base of a value of the arena."""
    if offset < LINE:
        raise GraphError("the first line of the arena belongs to the runner")
    return Base(ARENA, offset)
