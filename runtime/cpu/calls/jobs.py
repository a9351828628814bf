"""Plans of pool jobs on the arrays of a call, run by one native call (`passes/codegen/llvm/pool/job_plan.py`).

    jobs = Jobs(threads)
    jobs.add(task, WORDS, chunks=4, rows=3, table=jobs.table(offsets))
    plan = jobs.plan(scratch_bytes, work);  plan(q, k, v, out)

A plan is made once for shapes and strides; arrays come with each call and are looked at only for their dtype. `plan.native(n)`
is the same as steps of a whole graph (`step_list.py`).
"""

import ctypes
import functools

import numpy as np

from ....ir.target import host
from ....passes.codegen.llvm.pool import job_plan as codegen
from ....passes.codegen.llvm.pool.fork_join import at_most
from ..compiler.compile import compile_module
from ..memory import alloc
from . import call, pool
from .step_list import At, NativeCall, NativeStep, Scratch, Table

_ALIGNMENT = 64
_BYTE = np.dtype(np.uint8)
_LONG_WORK = 1 << 18                # scalar operations from which other Python threads may run
_LEAST_WORK = 1 << 18               # scalar operations that make another chunk pay


class Jobs:
    """Jobs in order, with the tables that they read; no more threads than they are cut for take part."""

    def __init__(self, threads: int):
        self._threads = threads
        self._rows, self._given, self._keep = [], [], []

    def table(self, numbers) -> int:
        """A table of 64-bit integers that lives as long as the plan; gives its address."""
        table = Table(numbers)
        self._keep.append(table)
        return table

    def add(self, task: int, names: tuple, turns: int = 1, **words):
        """One job: `names` are the words after its head, `words` their values (0 unless given; floats as doubles); `chunks`
        is one of them."""
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
        """The jobs, ready to be called; `work` counts scalar operations."""
        words = [len(self._rows)]
        for task, chunks, *rest in self._rows:
            words += [task, at_most(chunks, self._threads), *rest]
        array = (ctypes.c_int64 * len(words))(*words)
        steps = tuple([(task, chunks, turns, given) for (task, chunks, turns, *_), given in zip(self._rows, self._given)])
        return JobsPlan(array, scratch_bytes, work >= _LONG_WORK, (array, *self._keep), steps)


class JobsPlan:
    """Jobs that can be called on arrays of the dtypes that they were made for."""

    __slots__ = ("_address", "_keep", "_launch", "_long", "_steps", "size")

    def __init__(self, array, size, long, keep, steps):
        self._address, self.size, self._long, self._keep = ctypes.addressof(array), size, long, keep
        self._launch, self._steps = None, steps

    def __call__(self, *arrays):
        """Runs the jobs."""
        start = 0
        if self.size:
            scratch = alloc.empty(self.size + _ALIGNMENT, _BYTE)     # lives as long as this call
            start = -(-call.address_of(scratch) // _ALIGNMENT) * _ALIGNMENT
        if self._launch is None:
            self._launch = _launcher(tuple([a.dtype for a in arrays]), self._long)
        self._launch(*arrays, self._address, start)

    def native(self, arrays, scratch: int = 0) -> NativeCall:
        """The jobs as steps of a graph; `arrays` says which operand each array of the plan is, what part of one, or which table
        (`None`: it is not read). Their scratch memory comes behind so many bytes of it."""
        head = (*[0 if n is None else At(n) if type(n) is int else n for n in arrays], Scratch(scratch) if self.size else 0, 0)
        steps = [NativeStep(task, (*head, *words), chunks, turns, len(arrays) + 1)
                 for task, chunks, turns, words in self._steps]
        return NativeCall(tuple(steps), scratch + self.size)


def _bits(number) -> int:
    """A word: an integer, or the bits of a double."""
    return ctypes.c_int64.from_buffer(ctypes.c_double(number)).value if isinstance(number, float) else int(number)


@functools.lru_cache(None)
def _launcher(dtypes, long):
    pool.get_num_threads()
    name = codegen.launch_name(len(dtypes))
    address = compile_module(codegen.launch_text(host(), len(dtypes)), [name])[name]
    parameters = [call.array(d, -1) for d in dtypes]
    return call.entry("jobs", address, (*parameters, call.INTEGER, call.INTEGER), 0 if long else -1)


def chunks_for(work: int, items: int, threads: int) -> int:
    """How many chunks a job of so many items is cut into: several for each thread where there is enough to do."""
    if threads == 1 or work < 2 * _LEAST_WORK:
        return 1
    return max(1, min(items, 8 * threads, work // _LEAST_WORK))


def as_rows(array: np.ndarray) -> np.ndarray:
    """An array that kernels can read by strides: exact, aligned, native, its last dim contiguous; copied if it is not so."""
    item = array.itemsize
    good = (type(array) is np.ndarray and array.flags.aligned and array.dtype.isnative
            and (array.strides[-1] == item or array.shape[-1] == 1))
    return array if good else np.array(array, array.dtype.newbyteorder("="), order="C", subok=False)
