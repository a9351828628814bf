"""Control flow as functions: cond and while_loop.

A trace records the branches and rounds that run and guards the conditions, as for `if` and `while`. An export keeps both
branches (`jit/exporting/capture/cond_branches.py`).
"""

from typing import Any

from ...ir.errors import ArgumentError
from ..api.register.register import api
from ..core.tensor import Tensor
from ..state.mode import tls


@api(method=False, checked=False)
def cond(pred, true_fn, false_fn, operands=()) -> Any:
    """Return true_fn(*operands) if pred, a bool or a tensor of one element, is true, else false_fn(*operands)."""
    if recorder := _recorder_of(pred):
        return recorder.both(pred, true_fn, false_fn, operands)
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


@api(method=False, checked=False)
def while_loop(cond_fn, body_fn, carried_inputs) -> tuple:
    """Repeat carried = body_fn(*carried) while cond_fn(*carried) is true; return the last values as a tuple."""
    carried = tuple(carried_inputs)
    while True:
        going = cond_fn(*carried)
        if recorder := _recorder_of(going):
            recorder.refuse_rounds()
        if not bool(going):
            return carried
        new = body_fn(*carried)
        new = tuple(new) if isinstance(new, (tuple, list)) else (new,)
        if len(new) != len(carried):
            raise ArgumentError(f"while_loop: body_fn must return as many values as it takes ({len(carried)}), got {len(new)}")
        carried = new


def _recorder_of(answer) -> Any:
    """Return the recorder of an export, which needs both branches, or None."""
    recorder = tls.m.recorder
    return recorder if recorder is not None and isinstance(answer, Tensor) and recorder.keeps_branches(answer) else None
