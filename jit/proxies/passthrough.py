"""Values that the function reads out of tensors and returns without looking at them.

    return float(loss)                      # numbers,
    probs = net(x).numpy()                  # arrays,
    return {"probs": probs, "top": y.tolist()}

Each call can give its own value then. The instructions that follow show it: they must run one after the other, put the value
into variables and containers, and return it.
"""

import builtins

import numpy as np

from ...ir.doors import door
from ...runtime.core.tensor import Tensor
from ..bytecode.attribute_queries import Names
from ..bytecode.stack import NO_EFFECT, Walk, builds_container, instructions_of, position_of
from ..errors.errors import RunEagerlyError
from .lazy_scalars import as_number

ARRAYS = (np.ndarray, list, tuple)      # types of arguments for which a tensor may stand
_CALLER = f"{__package__.rpartition('.')[0]}.tracing.recorded_call"         # the module that calls the function
_FIRST_UNSHARED = 257                    # Python shares smaller ints


_READERS = {how: door(getattr(method, "_asks_for", method)).__code__ for how, method in (
    ("float", Tensor.__float__), ("int", Tensor.__int__), ("numpy", Tensor.numpy), ("tolist", Tensor.tolist))}
_SAVED_AS: dict = {        # type of a value -> the tensor that is saved for it
    float: lambda t: as_number(t, float), int: lambda t: as_number(t, int), np.ndarray: Tensor.detach,
    list: lambda t: t.detach().clone()}


class PassthroughValues:
    """Values that the function reads and returns as they are."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._known: dict = {}      # by id: (value, type, tensor behind it, way of reading)
        self._returned: set = set()    # ids of those that stand in the results
        self._lent: list = []          # (array over the memory of a tensor, on which the function acted; the tensor)
        self._left: dict = {}          # by id: those of them that the results hold, and the tensors that each call reads

    def takes(self, t: Tensor, how: str, value, code, frame) -> bool:
        """Return whether a value that `frame` has read by calling `code` goes straight to the results; remember it if so."""
        kind = type(value)
        if kind not in _SAVED_AS or _READERS.get(how) is not code or (kind is int and abs(value) < _FIRST_UNSHARED):
            return False
        if how in ("float", "int") and not _is_builtin(how, frame):
            return False
        if not goes_to_result(frame):
            return False
        self._known[id(value)] = value, kind, _SAVED_AS[kind](t), how
        return True

    def part(self, x) -> tuple | None:
        """Return (type, tensor) of a value that was read and stands in the results, or of an array or list among the arguments.
        """
        if type(x) in ARRAYS and id(x) in self._recorder.inputs.arrays:
            return type(x), self._recorder.inputs.arrays[id(x)]
        found = self._known.get(id(x))
        if found is None:
            return self._lent_part(x) if self._lent and type(x) in (np.ndarray, memoryview) else None
        self._returned.add(id(x))
        return found[1:3]

    def lend(self, array, t: Tensor):
        """Note an array over the memory of a tensor, on whose values the function acts."""
        self._lent.append((array, t))

    def _lent_part(self, x) -> tuple | None:
        """Return (type, tensor) of a lent array that the function leaves; refuse to record other arrays over its memory."""
        for array, t in self._lent:
            if type(x) is np.ndarray and _are_alike(x, array) and id(x) not in self._left:
                self._left[id(x)] = x, t.detach()
                return np.ndarray, self._left[id(x)][1]
        self._check_left(np.asarray(x))
        return None

    def check_tensors(self, tensors):
        """Raise if one of the tensors that the function leaves was made over a lent array, or over an array from outside."""
        outside = [a for a in self._recorder.tracker.known.objects.values() if type(a) is np.ndarray]
        for t in tensors if self._lent or outside else ():
            if type(t._a) is np.ndarray:
                self._check_left(t._a, t._storage)
                cell = self._recorder.cell_of(t) if t._storage.lent else None
                if cell is not None and cell.root is None and any(np.may_share_memory(t._a, a) for a in outside):
                    raise RunEagerlyError("it leaves a tensor over the memory of an array from outside, and a replay would "
                                          "leave a copy; make the tensor outside, or leave a clone")

    def _check_left(self, memory, storage=None):
        """Raise if memory that the function leaves is that of a lent array: replays would leave copies. Tensors of the same
        `storage` are known to be one."""
        if any(np.may_share_memory(memory, array) for array, t in self._lent if t._storage is not storage):
            raise RunEagerlyError("it leaves an array or tensor over the memory of an array that numpy() gave it, of which it "
                                  "reads the values; leave the tensor, or a copy of the array")

    def settle(self):
        """Count values that came to no result after all as read."""
        for value, _, tensor, how in [v for k, v in self._known.items() if k not in self._returned]:
            self._recorder.cut(tensor, how, value)


def _are_alike(a, b) -> bool:
    """Return whether two arrays lie in the same way over the same memory."""
    return a is b or (a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
                      and a.__array_interface__["data"] == b.__array_interface__["data"])


class _NumbersOnly(np.ndarray):
    """Memory of a tensor for a caller that takes its numbers at once; `tolist` or `item` is the tensor's own."""


def read_on(t: Tensor, value, code, frame):
    """Return the array of `t.numpy()` if `frame` only takes its numbers at once (`t.numpy().tolist()`), else None. The numbers
    count as read from the tensor then. `code` is that of the reading method."""
    if code is not _READERS["numpy"] or value.dtype.kind not in "fiub":
        return None
    instructions, at = instructions_of(frame.f_code), position_of(frame)
    start = max(at - 4, 0)
    steps = [(i, ins) for i, ins in enumerate(instructions[start:at + 6], start) if ins.opname not in NO_EFFECT]
    here = next((k for k, (i, _) in enumerate(steps) if i == at), 0)
    names = [ins.argval if ins.opname in ("LOAD_METHOD", "LOAD_ATTR") else ins.opname if not ins.arg else None
             for _, ins in steps[max(here - 1, 0):here + 3]]
    if names not in (["numpy", "CALL", "tolist", "CALL"], ["numpy", "CALL", "item", "CALL"]):
        return None
    array = value.view(_NumbersOnly)
    setattr(array, names[2], getattr(t, names[2]))
    return array


def goes_to_result(frame) -> bool:
    """Return whether a frame and its callers, up to the recorded function, return the value of its instruction unread."""
    while frame is not None and frame.f_globals.get("__name__") != _CALLER:
        if not _is_returned(frame):
            return False
        frame = frame.f_back
    return frame is not None


def _is_builtin(name, frame) -> bool:
    return called_by_name(frame) == name and name not in frame.f_globals and frame.f_builtins is vars(builtins)


def called_by_name(frame):
    """Return the name of the global that a frame is calling, or None."""
    instructions, at = instructions_of(frame.f_code), position_of(frame)
    ins = instructions[at]
    if ins.opname != "CALL":
        return None
    slots = Names().up_to(instructions, at).take(ins.arg + 2)[:2]
    names = {name for name in slots if name is not None}
    return names.pop() if len(names) == 1 else None


class _Flow(Walk):
    """Walk that marks one value, and the containers into which it goes."""

    def marked(self, ins, taken):
        return True if any(taken) and builds_container(ins, taken) else None


def _is_returned(frame) -> bool:
    """Return whether a frame only returns the value of its current instruction."""
    if frame.f_code.co_flags & 0x2A0:       # generators and coroutines return values in other ways
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
        if taken is None or (any(taken) and not builds_container(ins, taken)):
            return False
    return False
