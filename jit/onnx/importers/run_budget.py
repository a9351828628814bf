"""Budget of an ONNX model: the steps and the sizes that its file may cause, in proportion to the bytes of file and arguments.

A few bytes of a model stand for a padding of 2^31, a loop of 2^62 turns, or functions that call each other twice at each level.
Readers take a step for each node that they make. A run, which is recorded once, takes one for each step and each operator, and
looks at the size of each result before it is computed.
"""

from contextvars import ContextVar
from math import prod

from ....ir.opdef.op import Op
from ....ir.symbols.substitute import at_hint
from ....runtime.core.node import aval_of
from ....runtime.core.op_observers import OpObserver
from ....runtime.core.tensor import Tensor
from ....runtime.serialization.read_budget import ReadBudget

_STEP = 40                  # of the budget's steps: one operator of a recorded run takes some 100 us
_BYTES_PER_BYTE = 256       # of a result, for each byte of the arguments: attention, one-hot rows, larger images


class RunBudget(OpObserver):
    """Observer of a run of a model: refuses results out of proportion, and more operators than the file may cause.

    size    bytes of the model
    given   bytes of the arguments
    """

    only_watches = True

    def __init__(self, name: str, size: int, given: int):
        super().__init__()
        self.budget = ReadBudget(name, size)
        self.most_bytes = self.budget.bytes_left + _BYTES_PER_BYTE * given

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
        for aval in found if isinstance(found, (tuple, list)) else (found,):
            self.allow(prod(aval.shape) * aval.dtype.itemsize, f"a result {aval} of {op.name}")
        return super().observe(op, args, params)

    def allow(self, size: int, what: str):
        """Raise if one value may not have so many bytes."""
        size = at_hint(size)
        if size > self.most_bytes:
            self.budget.take_bytes(self.budget.bytes_left + size, what)


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
