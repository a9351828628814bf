"""Budget of an ONNX model: the steps and the sizes that its file may cause, in proportion to the bytes of file and arguments.

A few bytes of a model stand for a padding of 2^31, a loop of 2^62 turns, or functions that call each other twice at each level.
Readers take a step for each node that they make. A run, which is recorded once, takes one for each step and each operator. It
looks at the size of each result before it is computed: the results that are alive at once have one limit.
"""

import weakref
from contextvars import ContextVar

from ....ir.opdef.op import Op, View
from ....ir.symbols.substitute import at_hint
from ....runtime.core.node import aval_of
from ....runtime.core.op_observers import OpObserver
from ....runtime.core.tensor import Tensor
from ....runtime.serialization.read_budget import ReadBudget

_STEP = 40                  # of the budget's steps: one operator of a recorded run takes some 100 us
_BYTES_PER_BYTE = 256       # of a result, for each byte of the arguments: attention, one-hot rows, larger images


class RunBudget(OpObserver):
    """Observer of a run of a model: refuses results out of proportion, and more operators than the file may cause.

    Dead results are looked for only where the limit would be passed, so no code runs when one dies.

    size    bytes of the model
    given   bytes of the arguments
    """

    only_watches = True

    def __init__(self, name: str, size: int, given: int):
        super().__init__()
        self.budget = ReadBudget(name, size)
        self.most_bytes = self.budget.bytes_left + _BYTES_PER_BYTE * given
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
        try:
            given = [aval_of(a._a) if isinstance(a, Tensor) else at_hint(a) for a in args]
            found = op.infer(*given, **{name: at_hint(v) for name, v in params.items()})
        except Exception:
            found = ()                      # the call below raises it with its message
        found = found if isinstance(found, (tuple, list)) else (found,)
        self.allow(sum(aval.nbytes for aval in found), f"a result {', '.join(map(str, found))} of {op.name}")
        results = super().observe(op, args, params)
        if not isinstance(op.lower, View):
            self._hold([t for t in (results if isinstance(results, (tuple, list)) else (results,)) if isinstance(t, Tensor)])
        return results

    def allow(self, size: int, what: str):
        """Raise if a value of so many bytes is too much beside the results that are alive."""
        size = at_hint(size)
        if self._held + size <= self.most_bytes:
            return
        self._results = [(storage, n) for storage, n in self._results if storage() is not None]
        self._held = sum(n for _, n in self._results)
        if self._held + size > self.most_bytes:
            self.budget.refuse(f"{what} takes {size} bytes" + (f" beside {self._held} bytes of others" if self._held else ""))

    def _hold(self, results):
        """Count results as alive."""
        for t in results:
            self._results.append((weakref.ref(t._storage), t._a.nbytes))
            self._held += t._a.nbytes


_RUN: ContextVar[RunBudget | None] = ContextVar("budget of the model that runs", default=None)


def take_step(budget: ReadBudget, what: str):
    """Take the time of one node."""
    budget.take_steps(_STEP, what)


def take_run_step(what: str):
    """Take a step of the model that runs now."""
    run = _RUN.get()
    if run is not None:
        take_step(run.budget, what)


def allow_bytes(size: int, what: str):
    """Raise if the model that runs now may not have a value of so many bytes."""
    run = _RUN.get()
    if run is not None:
        run.allow(size, what)
