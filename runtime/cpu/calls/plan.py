"""Plans: jobs for the thread pool, made once for shapes and strides, and run by one native call on the arrays of each call.

    jobs = Jobs(threads)                                    # a plan takes its arrays in order
    jobs.add(task, WORDS, chunks=4, rows=3, table=jobs.table(offsets))
    plan = jobs.plan(scratch_bytes, work);  plan(q, k, v, out)

    jobs = SlotJobs()                                       # words are patched with addresses: arrays and a shared workspace
    at = jobs.room(4096)                                    # bytes of the workspace
    jobs.add(task, chunks, WORDS, {"rows": 3}, {"source": (X, 0), "target": (WORKSPACE, at)})
    plan = jobs.plan();  plan(x, w, y)

`plan.native` gives the same jobs as steps of a whole graph (`step_list.py`). `StepBuilder` joins such steps, with scratch
memory between them and float32 copies of operands in low precision.
"""

import ctypes
import functools
import math
from array import array

import numpy as np

from ....ir import dtype as dt
from ....ir.target import host
from ....passes.codegen.llvm.pool import job_plan as codegen
from ....passes.codegen.llvm.pool.fork_join import at_most
from ..compiler.compile import compile_module
from ..memory import alloc
from . import call, pool
from .kernel_steps import convert
from .step_list import At, NativeCall, NativeStep, Own, Scratch, Table

_ALIGNMENT = 64
_BYTE = np.dtype(np.uint8)
_LONG_WORK = 1 << 18                # scalar operations from which other Python threads may run
_LEAST_WORK = 1 << 18               # scalar operations that make another chunk pay


class Jobs:
    """Jobs in order, with the tables that they read; at most `threads` threads take part."""

    def __init__(self, threads: int):
        self._threads = threads
        self._rows, self._given, self._keep = [], [], []

    def table(self, numbers) -> int:
        """Return a table of 64-bit integers that lives as long as the plan, as its address."""
        table = Table(numbers)
        self._keep.append(table)
        return table

    def add(self, task: int, names: tuple, turns: int = 1, **words):
        """Add a job: `names` are the words after its head, `words` their values (default 0; floats as doubles), `chunks` among
        them."""
        chunks = words["chunks"]
        numbers = [words.pop(name, 0) for name in names]
        given = tuple([x if type(x) is Table else _bits(x) for x in numbers])
        packed = (ctypes.c_int64 * max(1, len(names)))(*given)
        if words or len(names) > codegen.MOST_WORDS:
            raise ValueError(f"a job takes at most {codegen.MOST_WORDS} words, and not {', '.join(words)}")
        self._keep.append(packed)
        self._rows.append((task, max(1, chunks), turns, len(names), ctypes.addressof(packed)))
        self._given.append(given)

    def plan(self, scratch_bytes: int, work: int) -> "JobsPlan":
        """Return the jobs, ready to be called; `work` counts scalar operations."""
        words = [len(self._rows)]
        for task, chunks, *rest in self._rows:
            words += [task, at_most(chunks, self._threads), *rest]
        array = (ctypes.c_int64 * len(words))(*words)
        steps = tuple([(task, chunks, turns, given) for (task, chunks, turns, *_), given in zip(self._rows, self._given)])
        return JobsPlan(array, scratch_bytes, work >= _LONG_WORK, (array, *self._keep), steps)


class JobsPlan:
    """Jobs that can be called on arrays of the dtypes that they were planned for."""

    __slots__ = ("_address", "_keep", "_launch", "_long", "_steps", "size")

    def __init__(self, array, size, long, keep, steps):
        self._address, self.size, self._long, self._keep = ctypes.addressof(array), size, long, keep
        self._launch, self._steps = None, steps

    def __call__(self, *arrays):
        start = 0
        if self.size:
            scratch = alloc.empty(self.size + _ALIGNMENT, _BYTE)     # lives as long as this call
            start = -(-call.address_of(scratch) // _ALIGNMENT) * _ALIGNMENT
        if self._launch is None:
            self._launch = _launcher(tuple([a.dtype for a in arrays]), self._long)
        self._launch(*arrays, self._address, start)

    def native(self, arrays, scratch: int = 0) -> NativeCall:
        """Return the jobs as steps of a graph. `arrays` has for each array of the plan an operand's number, a part of one, or a
        table (None: it is not read). `scratch` bytes of the call's scratch memory are left free before theirs."""
        head = (*[0 if n is None else At(n) if type(n) is int else n for n in arrays], Scratch(scratch) if self.size else 0, 0)
        steps = [NativeStep(task, (*head, *words), chunks, turns, len(arrays) + 1)
                 for task, chunks, turns, words in self._steps]
        return NativeCall(tuple(steps), scratch + self.size)


def _bits(number) -> int:
    """Return a word: an integer, or the bits of a double."""
    return ctypes.c_int64.from_buffer(ctypes.c_double(number)).value if isinstance(number, float) else int(number)


@functools.lru_cache(None)
def _launcher(dtypes, long):
    pool.get_num_threads()
    name = codegen.launch_name(len(dtypes))
    address = compile_module(codegen.launch_text(host(), len(dtypes)), [name])[name]
    parameters = [call.array(d, -1) for d in dtypes]
    return call.entry("jobs", address, (*parameters, call.INTEGER, call.INTEGER), 0 if long else -1)


def chunks_for(work: int, items: int, threads: int) -> int:
    """Return the number of chunks of a job of so many items: several for each thread where there is enough to do."""
    if threads == 1 or work < 2 * _LEAST_WORK:
        return 1
    return max(1, min(items, 8 * threads, work // _LEAST_WORK))


X, W, Y, OPERANDS, EXTRA, FACTORS, WORKSPACE = range(codegen.SLOTS)
_WORD = 8
_SERIAL_BYTES = 1 << 16             # arrays below which the interpreter lock is kept
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
        self._given: list = []

    def room(self, size: int) -> int:
        """Reserve bytes of the workspace; return their offset."""
        at = self._size
        self._size += -(-size // _ALIGNMENT) * _ALIGNMENT + _STAGGER
        return at

    def table(self, numbers) -> Table:
        return Table(numbers)

    def add(self, task: int, chunks: int, names: tuple, words: dict, slots: dict):
        """Add a job: words by name, and {name: (slot, byte offset)} for those that are addresses."""
        given = [words.get(name, 0) for name in names]
        patches = [(names.index(name), slot, offset) for name, (slot, offset) in slots.items()]
        self._given.append((task, max(1, chunks), tuple([x if type(x) is Table else int(x) for x in given]), patches))

    @property
    def given(self) -> tuple:
        """(task, chunks, words, patches) of each job; a patch is (number of a word, slot, byte offset)."""
        return tuple(self._given)

    def plan(self) -> "SlotPlan":
        return SlotPlan(self._size + _ALIGNMENT if self._size else 0, self.given, self.threads)


class SlotPlan:
    """A plan that can be called on arrays of one dtype and size."""

    __slots__ = ("_given", "_ready", "_threads", "size")

    def __init__(self, size, given, threads):
        self.size, self._given, self._threads, self._ready = size, given, threads, None

    def __call__(self, x, w, y, operands: int = 0, extra: int = 0, factors: int = 0):
        """Run the jobs on C-contiguous arrays; dtypes and sizes are checked at the first call only."""
        memory = alloc.empty(self.size, _BYTE) if self.size else None
        start = 0 if memory is None else -(-call.address_of(memory) // _ALIGNMENT) * _ALIGNMENT
        ready = self._ready
        if ready is None:
            words = _words_of(self._given, self._threads)
            launch = _slot_launcher(x.dtype, w.dtype, y.dtype, x.nbytes + y.nbytes > _SERIAL_BYTES)
            ready = self._ready = launch, words.buffer_info()[0], words
        launch, address, _ = ready
        launch(x, w, y, operands, extra, factors, start, address)

    def new(self, shape, x, w, *words) -> np.ndarray:
        """Run the jobs; return their result, a new array of a shape and of the dtype of x."""
        out = alloc.empty(shape, x.dtype)
        self(x, w, out, *words)
        return out

    def native(self, places: dict, block=()) -> NativeCall:
        """Return the jobs as steps of a graph. `places` has a word (`step_list.py`) for each slot; `block` are the words that
        OPERANDS points to, unless `places` names it."""
        return NativeCall(tuple([_native_step(given, places, tuple(block)) for given in self._given]), self.size)


def _words_of(given, threads) -> array:
    """Return the launcher's words: the number of jobs, the heads with the places of their words and patches, then these."""
    heads, rest, after = [len(given)], [], _WORD * (1 + codegen.STEP_WORDS * len(given))
    for task, chunks, words, patches in given:
        heads += [task, at_most(chunks, threads), len(words), after + _WORD * len(rest), len(patches),
                  after + _WORD * (len(rest) + len(words))]
        rest += words
        for patch in patches:
            rest += patch
    made = array("q", heads + rest)
    start, _ = made.buffer_info()
    for at in range(1, len(heads), codegen.STEP_WORDS):
        made[at + 3] += start
        made[at + 5] += start
    return made


def _native_step(given, places, block):
    task, chunks, words, patches = given
    words = list(words)
    for at, slot, offset in patches:
        if slot == WORKSPACE:
            words[at] = Scratch(offset)
        elif slot in places:
            words[at] = places[slot]._replace(offset=places[slot].offset + offset) if offset else places[slot]
        elif slot == OPERANDS and block:
            words[at] = Own(len(words))
    return NativeStep(task, (*words, *block), chunks)


@functools.lru_cache(None)
def _slot_launcher(x, w, y, long):
    address = compile_module(codegen.slots_text(host()), [codegen.SLOTS_LAUNCH])[codegen.SLOTS_LAUNCH]
    arrays = (call.array(x, -1), call.array(w, -1), call.array(y, -1, writable=True))
    return call.entry("conv", address, (*arrays, *[call.INTEGER] * 5), 0 if long else -1)


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
        self.scratch_bytes += math.ceil(count * kind.itemsize / _ALIGNMENT) * _ALIGNMENT
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
