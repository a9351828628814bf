"""Budget of an ONNX model: the steps and the sizes that its file may cause, in proportion to the bytes of file and arguments.

A few bytes of a model stand for a padding of 2^31, a loop of 2^62 turns, or functions that call each other twice at each level.
Readers take a step for each node that they make. A run, which is recorded once, takes one for each step and each operator. It
looks at each operator before it is computed: the results that are alive at once have one limit, with what the operator needs
meanwhile, and all operators have one limit of work. Importers that compute with NumPy ask `allow_numbers` before.
"""

import weakref
from contextvars import ContextVar
from math import prod

from ....ir.interrupts import result_or
from ....ir.opdef.op import Composite, Op, Reduce, Scalar, View, operations
from ....ir.ops.nn.resample import TABLES
from ....ir.symbols.substitute import at_hint
from ....runtime.core.node import aval_of
from ....runtime.core.op_observers import OpObserver
from ....runtime.core.tensor import Tensor
from ....runtime.serialization.read_budget import ReadBudget

_STEP = 40                  # of the budget's steps: one operator of a recorded run takes some 100 us
_BYTES_PER_BYTE = 256       # of a result, for each byte of the arguments: attention, one-hot rows, larger images

# Work is counted in bytes that an elementwise operator reads or writes: some 0.5 ns each.
_WORK_PER_BYTE = 128        # of a run, for each byte that its results may take
_OPERATIONS = 16            # of a contraction, in the time of a byte
_WORK_OF = {Scalar: 1, Reduce: 1, View: 0, Composite: 4}        # for each byte of operands and results; other families:
_SLOW = 16
_TAP = 2048                 # plans of windows look at each tap
_TABLE = 320                # bytes for each place of a dim that a table maps to another one, while it is made
_NUMBER = 48                # bytes for each number of an array that an importer computes, with its parts


class RunBudget(OpObserver):
    """Observer of a run of a model: refuses results and work out of proportion, and more operators than the file may cause.

    Dead results are looked for only where the limit would be passed, so no code runs when one dies.

    size    bytes of the model
    given   bytes of the arguments
    """

    only_watches = True

    def __init__(self, name: str, size: int, given: int):
        super().__init__()
        self.budget = ReadBudget(name, size)
        self.most_bytes = self.budget.bytes_left + _BYTES_PER_BYTE * given
        self.work_left = _WORK_PER_BYTE * self.most_bytes
        self._results: list = []        # (weak reference to a storage, bytes)
        self._held = 0                  # bytes of these, dead ones too

    def __enter__(self):
        self._token = _RUN.set(self)
        self.open()

    def __exit__(self, *exc):
        self.close()
        _RUN.reset(self._token)

    def observe(self, op: Op, args, params):
        take_step(self.budget, f"operator {op.name}")
        given = [aval_of(a._a) if isinstance(a, Tensor) else at_hint(a) for a in args]
        plain = {name: at_hint(v) for name, v in params.items()}
        found = result_or((), op.infer, *given, **plain)        # the call below raises an error with its message
        found = found if isinstance(found, (tuple, list)) else (found,)
        if found:
            what = f"a result {', '.join(map(str, found))} of {op.name}"
            self.allow(sum(aval.nbytes for aval in found), what, _needed(op, given, found))
            self.take_work(_work(op, given, found, plain), what)
        results = super().observe(op, args, params)
        if not isinstance(op.lower, View):
            self._hold([t for t in (results if isinstance(results, (tuple, list)) else (results,)) if isinstance(t, Tensor)])
        return results

    def allow(self, size: int, what: str, needed: int = 0):
        """Raise if a value of so many bytes, and those to compute it, are too much beside the results that are alive."""
        size = at_hint(size) + needed
        if self._held + size <= self.most_bytes:
            return
        self._results = [(storage, n) for storage, n in self._results if storage() is not None]
        self._held = sum(n for _, n in self._results)
        if self._held + size > self.most_bytes:
            self.budget.refuse(f"{what} takes {size} bytes" + (f" beside {self._held} bytes of others" if self._held else ""))

    def take_work(self, work: int, what: str):
        """Take the work of an operator; raise if the file may not cause so much."""
        self.work_left -= at_hint(work)
        if self.work_left < 0:
            self.budget.refuse(f"{what} takes too much time")

    def _hold(self, results):
        """Count results as alive."""
        for t in results:
            self._results.append((weakref.ref(t._storage), t._a.nbytes))
            self._held += t._a.nbytes


_RUN: ContextVar[RunBudget | None] = ContextVar("budget of the model that runs", default=None)


def _needed(op: Op, given, found) -> int:
    """Return the bytes that an operator takes beside its operands and results."""
    if op not in TABLES:
        return 0
    return _TABLE * sum(n + m for n, m in zip(given[0].shape, found[0].shape) if n != m)


def _work(op: Op, given, found, params) -> int:
    """Return the work of an operator. One with windows but without weights reads each tap for each result."""
    nbytes = sum(aval.nbytes for aval in (*given, *found) if hasattr(aval, "nbytes"))
    work = _WORK_OF.get(type(op.lower), _SLOW) * nbytes
    if op.flops is not None:
        work = nbytes + operations(op, given, found, params) // _OPERATIONS
    if "kernel" in params:
        taps = prod(params["kernel"])
        work += taps * (_TAP + found[0].nbytes)
    return work


def take_step(budget: ReadBudget, what: str):
    """Take the time of one node."""
    budget.take_steps(_STEP, what)


def take_run_step(what: str):
    """Take a step of the model that runs now."""
    run = _RUN.get()
    if run is not None:
        take_step(run.budget, what)


def allow_numbers(count: int, what: str):
    """Raise if the model that runs now may not have an array of so many numbers, which an importer computes with NumPy."""
    run = _RUN.get()
    if run is not None:
        run.allow(_NUMBER * count, what)
        run.take_work(_NUMBER * count, what)
