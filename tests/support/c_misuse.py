"""Wrong calls of a C library, as data: each misuse changes a correct call, and a code must answer it.

`calls` makes the table for a model's inputs and outputs. `Caller` runs it through ctypes, `c_program` writes it as a program in
C, for tools that watch the memory of a process.
"""

import ctypes
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ingot.jit.exporting.link.c_checks import CODES, MOST_DIMS, TENSOR_BYTES
from ingot.jit.exporting.link.c_header import DTYPES

NUMBERS = {np.dtype(bool if name == "bool" else name): number for number, name in enumerate(DTYPES)
           if name not in ("bfloat16", "float8_e4m3fn", "float8_e5m2")}
FILL = 0xA5             # bytes of outputs before a run


class At(NamedTuple):
    """An address: a byte of the data of a tensor, of an array of descriptors ("ins", "outs"), or of the state."""

    side: str
    number: int
    byte: int = 0


class Edit(NamedTuple):
    """A field of a descriptor, or a whole argument (`side` is "in", "out" or "state", `field` is ""), and its new value."""

    side: str
    number: int
    field: str
    value: int | At


class Call(NamedTuple):
    """A call with its edits, and the name of the code that answers it."""

    name: str
    edits: tuple
    code: str


def calls(inputs, outputs, state: int, align=1) -> list:
    """Return wrong and unusual calls of a model with arrays like these, and with so many bytes of state, aligned to `align`."""
    sides = {"in": inputs, "out": outputs}
    found = [*_arguments(state, align)]
    for side, arrays in sides.items():
        for number, a in enumerate(arrays):
            found += _descriptors(side, number, a)
    return [*found, *_overlaps(sides, state), *_allowed(sides)]


def _arguments(state, align) -> Iterator[Call]:
    for side in ["in", "out"] + ["state"] * bool(state):
        yield Call(f"{side} is NULL", (Edit(side, 0, "", 0),), "NULL")
    for side in ("in", "out"):
        yield Call(f"{side} at an odd address", (Edit(side, 0, "", At(f"{side}s", 0, 4)),), "ALIGNMENT")
    if state and align > 1:
        yield Call("the state at an odd address", (Edit("state", 0, "", At("state", 0, align // 2)),), "ALIGNMENT")


def _descriptors(side, number, a) -> Iterator[Call]:
    def call(field, value, code):
        return Call(f"{side}[{number}].{field} = {value}", (Edit(side, number, field, value),), code)

    yield call("data", 0, "NULL")
    for byte in [1 << i for i in range(a.itemsize.bit_length() - 1)]:
        yield call("data", At(side, number, byte), "ALIGNMENT")
    for dtype in {*range(len(DTYPES)), -1, len(DTYPES), 1 << 30, -1 << 31} - {NUMBERS[a.dtype]}:
        yield call("dtype", dtype, "DTYPE")
    for rank in {a.ndim - 1, a.ndim + 1, -1, MOST_DIMS, MOST_DIMS + 1, (1 << 31) - 1, -1 << 31} - {a.ndim}:
        yield call("rank", rank, "RANK")
    for dim, size in enumerate(a.shape):
        for other in {size - 1, size + 1, 0, -1, -size, size + (1 << 32), (1 << 63) - 1, -1 << 63} - {size}:
            yield call(f"shape[{dim}]", other, "SHAPE")


def _overlaps(sides, state) -> Iterator[Call]:
    blocks = [(At(side, number), a.nbytes) for side, arrays in sides.items() for number, a in enumerate(arrays)]
    blocks += [(At(f"{side}s", 0), TENSOR_BYTES * len(arrays)) for side, arrays in sides.items()]
    blocks += [(At("state", 0), state)] if state else []
    for number, a in enumerate(sides["out"]):
        step = a.itemsize
        for at, size in blocks:
            if at == ("out", number, 0) or not a.nbytes or not size:
                continue
            places = {"at": 0, "ends in": -((a.nbytes - 1) // step) * step, "begins in": (size - 1) // step * step}
            for place, byte in places.items():
                edit = Edit("out", number, "data", at._replace(byte=byte))
                yield Call(f"out[{number}] {place} {at.side}[{at.number}]", (edit,), "OVERLAP")


def _allowed(sides) -> Iterator[Call]:
    """Outputs that touch inputs and each other, all at the least alignment; inputs that share memory."""
    at, edits = 0, []
    for number, a in enumerate(sides["out"]):
        at = -(-at // a.itemsize) * a.itemsize
        edits.append(Edit("out", number, "data", At("room", 0, at)))
        at += a.nbytes
    yield Call("outputs without gaps", tuple(edits), "OK")
    least = [Edit(side, i, "data", At(f"shifted {side}", i)) for side, arrays in sides.items() for i in range(len(arrays))]
    yield Call("all at the least alignment", tuple(least), "OK")
    unused = [Edit(side, i, f"shape[{dim}]", -5) for side, arrays in sides.items() for i, a in enumerate(arrays)
              for dim in range(a.ndim, MOST_DIMS)]
    yield Call("sizes beyond the rank", tuple(unused), "OK")


# Through ctypes.


class Tensor(ctypes.Structure):
    """The tensor of the headers."""

    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * MOST_DIMS)]


class Caller:
    """A loaded library with correct arguments, whose calls may be changed.

    state   initial bytes of the state, or None
    """

    def __init__(self, run, inputs, outputs, state=None):
        self.run, self.inputs, self.outputs = run, inputs, outputs
        room = sum(a.nbytes + 16 for a in outputs)
        self.first = {"room": bytes(room), "state": state or b""}
        self.first |= {("in", i): a.tobytes() for i, a in enumerate(inputs)}
        self.first |= {("out", i): bytes([FILL]) * a.nbytes for i, a in enumerate(outputs)}
        self.memory = {name: buffer(data) for name, data in self.first.items()}

    def address(self, at: At, ins, outs) -> int:
        side, _, shifted = at.side.rpartition(" ")[::-1]
        if at.side in ("ins", "outs"):
            return ctypes.addressof(ins if at.side == "ins" else outs) + at.byte
        if at.side in self.memory:
            return self.memory[at.side].ctypes.data + at.byte
        base = self.memory[side, at.number].ctypes.data + at.byte
        if not shifted:
            return base
        a = (self.inputs if side == "in" else self.outputs)[at.number]
        copy = self.memory[at.side, at.number] = buffer(bytes(a.itemsize) + self.first[side, at.number])
        return copy.ctypes.data + a.itemsize

    def __call__(self, call: Call) -> tuple:
        """Return (the code, the outputs of the run, whether anything changed that the run may not change)."""
        for name, data in self.first.items():
            self.memory[name][:] = np.frombuffer(data, np.uint8)
        ins, outs = self._tensors("in", self.inputs), self._tensors("out", self.outputs)
        arguments: dict = {"in": ctypes.addressof(ins), "out": ctypes.addressof(outs)}
        if self.first["state"]:
            arguments["state"] = self.memory["state"].ctypes.data
        for e in call.edits:
            value = e.value if isinstance(e.value, int) else self.address(e.value, ins, outs)
            field, _, dim = e.field.partition("[")
            if not field:
                arguments[e.side] = value
            elif dim:
                (ins if e.side == "in" else outs)[e.number].shape[int(dim[:-1])] = value
            else:
                setattr((ins if e.side == "in" else outs)[e.number], field, value)
        code = self.run(*[ctypes.c_void_p(a) for a in arguments.values()])
        kept = ["state", *[key for key in self.first if key[0] in ("in", "out") and not (key[0] == "out" and code == 0)]]
        kept = [key for key in kept if not (key == "state" and code == 0)]
        changed = any(bytes(self.memory[key]) != self.first[key] for key in kept)
        found = [ctypes.string_at(t.data, a.nbytes) for t, a in zip(outs, self.outputs)] if code == 0 else []
        return code, [np.frombuffer(d, a.dtype).reshape(a.shape) for d, a in zip(found, self.outputs)], changed

    def _tensors(self, side, arrays):
        made = (Tensor * len(arrays))()
        for i, (t, a) in enumerate(zip(made, arrays)):
            t.data, t.dtype, t.rank = self.memory[side, i].ctypes.data, NUMBERS[a.dtype], a.ndim
            t.shape[:a.ndim] = a.shape
        return made


def buffer(data) -> np.ndarray:
    """Return a writable copy of bytes that begins at a multiple of 64."""
    made = np.empty(len(data) + 64, np.uint8)
    start = -made.ctypes.data % 64
    made[start:start + len(data)] = np.frombuffer(data, np.uint8)
    return made[start:start + len(data)]


def code_of(name) -> int:
    return CODES.index(name)
