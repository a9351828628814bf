"""Plans: jobs for the thread pool, made once for shapes and strides, and run by one native call on the arrays of each call.

    jobs = Jobs(threads)                                    # a plan takes its arrays in order
    jobs.add(task, WORDS, chunks=4, rows=3, table=jobs.table(offsets))
    plan = jobs.plan(scratch_bytes, work);  plan(q, k, v, out)

    jobs = SlotJobs()                                       # words are patched with addresses: arrays and a shared workspace
    at = jobs.room(4096)                                    # bytes of the workspace
    jobs.add(task, chunks, WORDS, {"rows": 3}, {"source": (X, 0), "target": (WORKSPACE, at)})
    plan = jobs.plan();  plan(x, w, y)

`plan.native` gives the jobs as steps of a whole graph (`step_list.py`). An eager call runs the same steps, as a list of their
own, by the runner of graphs. `StepBuilder` joins such steps, with scratch memory between them and float32 copies of operands in
low precision.
"""

import ctypes
import functools
import math
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.target import host
from ....passes.codegen.llvm.loops import programs
from ....passes.schedule.plan_steps import LINE
from ..compiler.compile import compile_module
from ..memory import alloc
from . import call, pool
from .kernel_steps import convert
from .step_list import At, NativeCall, NativeStep, Own, Scratch, Table, words_alone

_BYTE = np.dtype(np.uint8)
_LONG_WORK = 1 << 18                # scalar operations from which other Python threads may run
_LONG_BYTES = 1 << 16               # bytes of arrays from which they may
_LEAST_WORK = 1 << 18               # scalar operations that make another chunk pay


@functools.lru_cache(None)
def runner(target) -> int:
    """Return the address of the runner of step lists."""
    return compile_module(programs.runner_text(target), [programs.RUNNER])[programs.RUNNER]


class Plan:
    """A native call cut for so many threads, as a function.

    A call takes arrays of the dtypes of the first call, and integers for addresses. Its steps are those that a compiled graph
    takes, so both run the same code.
    """

    __slots__ = ("_address", "_entry", "_steps", "_threads", "_words", "size")

    def __init__(self, steps, size: int, threads: int):
        self._steps, self.size, self._threads = steps, size, threads
        self._entry: Any = None

    def _own_call(self, count: int) -> NativeCall:
        """Return the steps on so many arguments, in order."""
        return self._steps

    def _is_long(self, arguments) -> bool:
        """Whether other Python threads may run during a call."""
        return sum([a.nbytes for a in arguments if type(a) is not int]) > _LONG_BYTES

    def __call__(self, *arguments):
        if self._entry is None:
            self._make_entry(arguments)
        if not self.size:
            self._entry(self._address, NO_SCRATCH, *arguments)
            return
        memory = alloc.empty(self.size + 2 * LINE, _BYTE)     # lives as long as this call
        self._entry(self._address, -(-call.address_of(memory) // LINE) * LINE, *arguments)

    def _make_entry(self, arguments):
        """Write the list of the steps alone. Its arena is a line for the runner, then the scratch memory."""
        self._words = words_alone(self._own_call(len(arguments)).steps, self._threads)
        self._address, _ = self._words.buffer_info()
        kinds = tuple([None if type(a) is int else a.dtype for a in arguments])
        self._entry = _entry(kinds, self._is_long(arguments))


# No step of an eager call writes a status, so calls without scratch memory share a line.
_lines = np.zeros(2 * LINE, np.uint8)
NO_SCRATCH = -(-_lines.ctypes.data // LINE) * LINE


@functools.lru_cache(None)
def _entry(kinds, is_long):
    """Return the entry of plans for arguments of these dtypes (None: an address)."""
    pool.get_num_threads()
    arguments = [call.INTEGER if kind is None else call.array(kind, -1) for kind in kinds]
    return call.entry("jobs", runner(host()), (call.INTEGER, call.INTEGER, *arguments), 0 if is_long else -1)


class Jobs:
    """Jobs in order, with the tables that they read; at most `threads` threads take part."""

    def __init__(self, threads: int):
        self._threads = threads
        self._jobs: list = []

    def table(self, numbers) -> Table:
        """Return a table of 64-bit integers, a word of a job."""
        return Table(numbers)

    def add(self, task: int, names: tuple, turns: int = 1, **words):
        """Add a job: `names` are the words after its head, `words` their values (default 0; floats as doubles), `chunks` among
        them."""
        chunks = words["chunks"]
        numbers = [words.pop(name, 0) for name in names]
        if words:
            raise ValueError(f"a job takes no {', '.join(words)}")
        self._jobs.append((task, max(1, chunks), turns, tuple([x if type(x) is Table else _bits(x) for x in numbers])))

    def plan(self, scratch_bytes: int, work: int) -> "JobsPlan":
        """Return the jobs, ready to be called; `work` counts scalar operations."""
        return JobsPlan(tuple(self._jobs), scratch_bytes, self._threads, work)


class JobsPlan(Plan):
    """Jobs that begin with the addresses of all arrays and of their scratch memory, and with the number of the turn."""

    __slots__ = ("_work",)

    def __init__(self, jobs, size, threads, work):
        super().__init__(jobs, size, threads)
        self._work = work

    def native(self, arrays, scratch: int = 0) -> NativeCall:
        """Return the jobs as steps of a graph. `arrays` has for each array of the plan an operand's number, a part of one, or a
        table (None: it is not read). `scratch` bytes of the call's scratch memory are left free before theirs."""
        head = (*[0 if n is None else At(n) if type(n) is int else n for n in arrays], Scratch(scratch) if self.size else 0, 0)
        steps = [NativeStep(task, (*head, *words), chunks, turns, len(arrays) + 1)
                 for task, chunks, turns, words in self._steps]
        return NativeCall(tuple(steps), scratch + self.size)

    def _own_call(self, count):
        return self.native(range(count))

    def _is_long(self, arguments):
        return self._work >= _LONG_WORK


def _bits(number) -> int:
    """Return a word: an integer, or the bits of a double."""
    return ctypes.c_int64.from_buffer(ctypes.c_double(number)).value if isinstance(number, float) else int(number)


def chunks_for(work: int, items: int, threads: int) -> int:
    """Return the number of chunks of a job of so many items: several for each thread where there is enough to do."""
    if threads == 1 or work < 2 * _LEAST_WORK:
        return 1
    return max(1, min(items, 8 * threads, work // _LEAST_WORK))


X, W, Y, OPERANDS, EXTRA, FACTORS, WORKSPACE = range(7)
# Workspace regions start at odd multiples of a few cache lines, so that streams do not meet in one cache set.
_STAGGER = 320


def one_job(code, task: int, work: int, items: int, threads: int, room: int = 0, **words) -> JobsPlan:
    """Return the plan of one job over items, with the ARRAYS and WORDS of a generator's module `code`; `work` counts scalar
    operations, `room` is the scratch memory of a thread in bytes."""
    jobs, chunks = Jobs(threads), chunks_for(work, items, threads)
    jobs.add(task, code.WORDS[len(code.ARRAYS) + 2:], chunks=chunks, items=items, **words)
    return jobs.plan(room * (threads if chunks > 1 else 1), work)


class SlotJobs:
    """Jobs in order and their shared workspace, cut for so many threads (default: the current number)."""

    def __init__(self, threads: int | None = None):
        self.threads, self._size = threads or pool.get_num_threads(), 0
        self._jobs: list = []

    def room(self, size: int) -> int:
        """Reserve bytes of the workspace; return their offset."""
        at = self._size
        self._size += -(-size // LINE) * LINE + _STAGGER
        return at

    def table(self, numbers) -> Table:
        return Table(numbers)

    def add(self, task: int, chunks: int, names: tuple, words: dict, slots: dict):
        """Add a job: words by name, and {name: (slot, byte offset)} for those that are addresses."""
        numbers = [words.get(name, 0) for name in names]
        patches = [(names.index(name), slot, offset) for name, (slot, offset) in slots.items()]
        self._jobs.append((task, max(1, chunks), tuple([x if type(x) is Table else int(x) for x in numbers]), patches))

    @property
    def jobs(self) -> tuple:
        """(task, chunks, words, patches) of each job; a patch is (number of a word, slot, byte offset)."""
        return tuple(self._jobs)

    def plan(self) -> "SlotPlan":
        return SlotPlan(self.jobs, self._size, self.threads)


class SlotPlan(Plan):
    """Jobs on x, w and y of one dtype and size, then the addresses of what OPERANDS, EXTRA and FACTORS name."""

    __slots__ = ()

    def new(self, shape, x, w, *words) -> np.ndarray:
        """Run the jobs; return their result, a new array of a shape and of the dtype of x."""
        out = alloc.empty(shape, x.dtype)
        self(x, w, out, *words)
        return out

    def native(self, locations: dict, block=()) -> NativeCall:
        """Return the jobs as steps of a graph. `locations` has a word (`step_list.py`) for each slot; `block` are the words
        that OPERANDS points to, unless `locations` names it."""
        return NativeCall(tuple([_native_step(job, locations, tuple(block)) for job in self._steps]), self.size)

    def _own_call(self, count):
        return self.native({slot: At(slot) for slot in range(count)})


def _native_step(job, locations, block):
    task, chunks, words, patches = job
    words = list(words)
    for at, slot, offset in patches:
        if slot == WORKSPACE:
            words[at] = Scratch(offset)
        elif slot in locations:
            words[at] = locations[slot]._replace(offset=locations[slot].offset + offset) if offset else locations[slot]
        elif slot == OPERANDS and block:
            words[at] = Own(len(words))
    return NativeStep(task, (*words, *block), chunks)


def share(work: int, items: int, threads: int, least: int = 1 << 15) -> int:
    """Return the number of chunks of a job: some per thread where there is enough to do."""
    if threads == 1 or work < 4 * least:
        return 1
    return max(1, min(items, 8 * threads, work // least))


def wide(kind) -> np.dtype:
    """Return the dtype in which kernels compute elements of a dtype."""
    return dt.accumulator(dt.BY_NP[kind]).np


def rows_of(sizes, item: int) -> tuple:
    """Return the strides, in bytes, of an array in C order."""
    return tuple([math.prod(sizes[d + 1:]) * item for d in range(len(sizes))])


class StepBuilder:
    """Steps of a native call under construction, with their scratch memory."""

    def __init__(self):
        self.before: list = []
        self.steps: list = []
        self.after: list = []
        self.scratch_bytes = 0

    def room(self, count: int, kind) -> Scratch:
        """Reserve scratch memory for so many elements of a dtype, on a cache line."""
        at = Scratch(self.scratch_bytes)
        self.scratch_bytes += math.ceil(count * kind.itemsize / LINE) * LINE
        return at

    def read(self, number: int, array):
        """Return the location of an operand; low precision is first converted to float32."""
        kind = wide(array.dtype)
        if kind == array.dtype:
            return At(number)
        at = self.room(array.size, kind)
        self.before.append(convert(At(number), dt.BY_NP[array.dtype], at, dt.BY_NP[kind], array.size))
        return at

    def write(self, number: int, array):
        """Return the location to write a result to; low precision is converted from float32 at the end."""
        kind = wide(array.dtype)
        if kind == array.dtype:
            return At(number)
        at = self.room(array.size, kind)
        self.after.append(convert(at, dt.BY_NP[kind], At(number), dt.BY_NP[array.dtype], array.size))
        return at

    def call(self, more=()) -> NativeCall:
        return NativeCall((*self.before, *self.steps, *more, *self.after), self.scratch_bytes)
