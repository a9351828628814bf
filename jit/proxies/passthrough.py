"""Whether what Python reads out of a tensor goes straight to the results of the function that is recorded.

    return float(loss)                      # numbers,
    probs = net(x).numpy()                  # arrays,
    return {"probs": probs, "top": y.tolist()}

Nobody has looked at such a value when the function returns, so each call can give its own. Which way a value takes is read off
the instructions that follow; they have to run one after the other, put it into variables and containers, and return it.
"""

import builtins

import numpy as np

from ...runtime.core.tensor import Tensor
from ..bytecode.stack import NOTHING, Walk, instructions_of, is_held, position_of
from .lazy_scalars import as_number

_END = f"{__package__.rpartition('.')[0]}.tracing.recorded_call"         # the module that calls the function
_LEAST_OWN = 257                    # ints from here on are objects of their own


_WAYS = {how: getattr(method, "_asks_for", method).__code__ for how, method in (
    ("float", Tensor.__float__), ("int", Tensor.__int__), ("numpy", Tensor.numpy), ("tolist", Tensor.tolist))}
_TAKEN: dict = {        # what is kept of a tensor for a value of a type
    float: lambda t: as_number(t, float), int: lambda t: as_number(t, int), np.ndarray: Tensor.detach,
    list: lambda t: t.detach().clone()}


class PassthroughValues:
    """Values that the function reads and returns as they are."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._known: dict = {}      # by id: (value, its type, the tensor behind it, how it was read)
        self._found: set = set()    # ids of those that stand in the results

    def takes(self, t: Tensor, how: str, seen, code, frame) -> bool:
        """Whether a value that `frame` has read by calling `code` goes straight to the results, and is known from now on."""
        kind = type(seen)
        if kind not in _TAKEN or _WAYS.get(how) is not code or (kind is int and abs(seen) < _LEAST_OWN):
            return False
        if how in ("float", "int") and not _is_builtin(how, frame):
            return False
        if not goes_to_result(frame):
            return False
        self._known[id(seen)] = seen, kind, _TAKEN[kind](t), how
        return True

    def part(self, x) -> tuple | None:
        """(type, tensor) of a value that was read and stands in the results, and of an array that the function was given."""
        if type(x) is np.ndarray and id(x) in self._recorder.inputs.arrays:
            return np.ndarray, self._recorder.inputs.arrays[id(x)]
        found = self._known.get(id(x))
        if found is None:
            return None
        self._found.add(id(x))
        return found[1:3]

    def settle(self):
        """What has come to no result after all counts as read."""
        for value, _, tensor, how in [v for k, v in self._known.items() if k not in self._found]:
            self._recorder.cut(tensor, how, value)


class _ReadOn(np.ndarray):
    """The memory of a tensor for a caller who takes its numbers at once; `tolist` or `item` is the tensor's own."""


def read_on(t: Tensor, seen, code, frame):
    """What `t.numpy()`, whose code is `code`, gives where `frame` only takes its numbers at once (`t.numpy().tolist()`), which
    then count as read of the tensor; None elsewhere."""
    if code is not _WAYS["numpy"] or seen.dtype.kind not in "fiub":
        return None
    instructions, at = instructions_of(frame.f_code), position_of(frame)
    steps = [(i, ins) for i, ins in enumerate(instructions[max(at - 4, 0):at + 6], max(at - 4, 0)) if ins.opname not in NOTHING]
    here = next((k for k, (i, _) in enumerate(steps) if i == at), 0)
    names = [ins.argval if ins.opname in ("LOAD_METHOD", "LOAD_ATTR") else ins.opname if not ins.arg else None
             for _, ins in steps[max(here - 1, 0):here + 3]]
    if names not in (["numpy", "CALL", "tolist", "CALL"], ["numpy", "CALL", "item", "CALL"]):
        return None
    array = seen.view(_ReadOn)
    setattr(array, names[2], getattr(t, names[2]))
    return array


def goes_to_result(frame) -> bool:
    """Whether what the instruction at which a frame stands gives is returned, by it and by all that called it up to the
    function that is recorded, and is not looked at on the way."""
    while frame is not None and frame.f_globals.get("__name__") != _END:
        if not _is_returned(frame):
            return False
        frame = frame.f_back
    return frame is not None


def _is_builtin(name, frame) -> bool:
    """Whether a frame stands where it calls a builtin function by its name."""
    return called_by_name(frame) == name and name not in frame.f_globals and frame.f_builtins is vars(builtins)


def called_by_name(frame):
    """The name of the global by which the function is called at which a frame stands, None if there is none."""
    instructions, at = instructions_of(frame.f_code), position_of(frame)
    ins = instructions[at]
    if ins.opname != "CALL":
        return None
    slots = _Names().up_to(instructions, at).take(ins.arg + 2)[:2]
    names = {name for name in slots if name is not None}
    return names.pop() if len(names) == 1 else None


class _Names(Walk):
    """Marks values with the names of the globals that they are."""

    def marked(self, ins, taken):
        return ins.argval if ins.opname == "LOAD_GLOBAL" else None


class _Flow(Walk):
    """Marks one value, and the containers into which it goes."""

    def marked(self, ins, taken):
        return True if any(taken) and is_held(ins, taken) else None


def _is_returned(frame) -> bool:
    """Whether a frame returns what the instruction gives at which it stands, and does nothing else with it."""
    if frame.f_code.co_flags & 0x2A0:       # generators and coroutines hand out values in other ways
        return False
    instructions, at = instructions_of(frame.f_code), position_of(frame)
    if not instructions[at].opname.startswith("CALL"):
        return False
    walk, ahead = _Flow(stack=[True]), list(instructions[at + 1:])
    while ahead:
        ins = ahead.pop(0)
        if ins.opname == "JUMP_FORWARD":
            ahead = [later for later in ahead if later.offset >= ins.argval]
            continue
        taken = walk.step(ins)
        if ins.opname == "RETURN_VALUE":
            return taken == [True]
        if taken is None or (any(taken) and not is_held(ins, taken)):
            return False
    return False
