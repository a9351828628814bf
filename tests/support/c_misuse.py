"""Wrong calls of a C library, as data: each misuse changes a correct call, and a code must answer it.

`calls` makes the table for a model's inputs and outputs. `Caller` runs it through ctypes with fenced memory. `program` writes
it as C, for tools that watch the memory of a process.
"""

import ctypes
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from guard_pages import fenced
from ingot.ir.target import host
from ingot.jit.exporting.link.c_checks import CODES, MOST_DIMS, TENSOR_BYTES
from ingot.jit.exporting.link.c_header import DTYPES

NUMBERS = {np.dtype(bool if name == "bool" else name): number for number, name in enumerate(DTYPES)
           if name not in ("bfloat16", "float8_e4m3fn", "float8_e5m2")}
LINUX_X86 = host().arch == "x86_64" and host().system == "linux"
needs_linux_x86 = pytest.mark.skipif(not LINUX_X86, reason="libraries are run here on Linux x86-64 only")
FILL = 0xA5             # bytes of outputs before a run


def code_of(name) -> int:
    return CODES.index(name)


DATA = code_of("DATA")


class At(NamedTuple):
    """An address: a byte of the data of a tensor, of an array of descriptors ("ins", "outs"), or of the state."""

    side: str
    number: int
    byte: int = 0


class Edit(NamedTuple):
    """A field of a descriptor, or a whole argument (`side` is "in", "out" or "state", `field` is ""), and its new value.

    The field "fill" stands for the data: all bytes are the value, or pseudo-random after a seed from 256 on.
    """

    side: str
    number: int
    field: str
    value: int | At


class Call(NamedTuple):
    """A call with its edits, and the name of the code that answers it: "VALUES" is OK or DATA."""

    name: str
    edits: tuple
    code: str


CORRECT = Call("correct", (), "OK")


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


def values(inputs, seeds) -> list:
    """Return calls whose data has unusual bytes, some or all of it."""
    fills = [0, 1, 0x7F, 0x80, 0xFF, *range(256, 256 + seeds)]
    alone = [Call(f"in[{i}] is filled with {fill}", (Edit("in", i, "fill", fill),), "VALUES")
             for i in range(len(inputs)) for fill in fills]
    together = [Call(f"all is filled with {fill}", tuple(Edit("in", i, "fill", fill) for i in range(len(inputs))), "VALUES")
                for fill in fills]
    return alone + together


def filled(count: int, fill: int) -> bytes:
    """Return the bytes for which an edit stands. C programs compute the same."""
    if fill < 256:
        return bytes([fill]) * count
    made, x = bytearray(), fill
    for _ in range(count):
        x = (x * 1103515245 + 12345) & 0xFFFFFFFF
        made.append(x >> 16 & 0xFF)
    return bytes(made)


# Through ctypes.


class Tensor(ctypes.Structure):
    """The tensor of the headers."""

    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * MOST_DIMS)]


def tensors(arrays):
    """Return the arguments of a library for arrays, and keep them alive with it."""
    made = (Tensor * len(arrays))()
    made.arrays = arrays
    for t, a in zip(made, arrays):
        t.data, t.dtype, t.rank = a.ctypes.data, NUMBERS[a.dtype], a.ndim
        t.shape[:a.ndim] = a.shape
    return made


class Caller:
    """A loaded library with correct arguments, whose calls may be changed.

    state   initial bytes of the state, or None
    """

    def __init__(self, run, inputs, outputs, state=None):
        self.run, self.inputs, self.outputs = run, inputs, outputs
        room = sum(a.nbytes // 64 * 64 + 128 for a in outputs)
        self.first: dict = {"room": bytes(room), "state": state or b""}
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
            if field == "fill":
                block = self.memory[e.side, e.number]
                block[:] = np.frombuffer(filled(block.size, value), np.uint8)
            elif not field:
                arguments[e.side] = value
            elif dim:
                (ins if e.side == "in" else outs)[e.number].shape[int(dim[:-1])] = value
            else:
                setattr((ins if e.side == "in" else outs)[e.number], field, value)
        before = {key: bytes(block) for key, block in self.memory.items()}
        code = self.run(*[ctypes.c_void_p(a) for a in arguments.values()])
        given = {key: data for key, data in before.items() if key[0] == "in" or (code and (code != DATA or key == "state"))}
        changed = any(bytes(self.memory[key]) != data for key, data in given.items())
        found = [ctypes.string_at(t.data, a.nbytes) for t, a in zip(outs, self.outputs)] if code == 0 else []
        return code, [np.frombuffer(d, a.dtype).reshape(a.shape) for d, a in zip(found, self.outputs)], changed

    def _tensors(self, side, arrays):
        made = (Tensor * len(arrays))()
        for i, (t, a) in enumerate(zip(made, arrays)):
            t.data, t.dtype, t.rank = self.memory[side, i].ctypes.data, NUMBERS[a.dtype], a.ndim
            t.shape[:a.ndim] = a.shape
        return made


def buffer(data) -> np.ndarray:
    """Return a writable copy of bytes at a multiple of 8, with no memory behind it but up to 7 bytes."""
    padded = data + bytes(-len(data) % 8)
    return fenced(np.frombuffer(padded, np.uint8), True)[:len(data)] if data else np.empty(0, np.uint8)


# As a program in C.

_PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "model.h"

enum { FENCED = @FENCED@, PAGE = 65536, INS = MODEL_INPUTS, OUTS = MODEL_OUTPUTS, STATE = @STATE@, ROOM = @ROOM@ };
static const size_t in_bytes[] = {@IN_BYTES@}, out_bytes[] = {@OUT_BYTES@};
static const size_t in_item[] = {@IN_ITEM@}, out_item[] = {@OUT_ITEM@};
@DATA@
static const unsigned char *const first[] = {@FIRST@};

/* Memory of its own: from malloc, or at a multiple of 8 with no page behind it. */
static char *take(size_t size)
{
    if (!FENCED) return malloc(size);
    size = (size + 7) / 8 * 8;
    size_t whole = (size + PAGE - 1) / PAGE * PAGE;
    char *at = mmap(NULL, whole + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + whole, PAGE, PROT_NONE)) abort();
    return at + whole - size;
}

static void give(char *at, size_t size)
{
    size = (size + 7) / 8 * 8;
    size_t whole = (size + PAGE - 1) / PAGE * PAGE;
    if (!FENCED) free(at);
    else if (at) munmap(at + size - whole, whole + PAGE);
}

static void fill(char *at, size_t size, uint32_t x)
{
    for (size_t i = 0; i < size; i++) {
        if (x >= 256 || i) x = x < 256 ? x : x * 1103515245u + 12345u;
        at[i] = (char)(x < 256 ? x : x >> 16);
    }
}

static int changed(const char *at, size_t size, int byte)
{
    for (size_t i = 0; i < size; i++) if ((unsigned char)at[i] != byte) return 1;
    return 0;
}

struct call {
    model_tensor *in, *out;
    char *ins[INS], *outs[OUTS], *shifted_in[INS], *shifted_out[OUTS], *room, *state;
    void *arg_in, *arg_out, *arg_state;
};

static char *shift(char **to, const char *from, size_t size, size_t item)
{
    *to = take(size + item);
    memcpy(*to + item, from, size);
    return *to + item;
}

@EDITS@

int main(void)
{
    static const model_tensor first_in[] = {@INIT_IN@}, first_out[] = {@INIT_OUT@};
    char *first_state = take(STATE + 1);
@START@
    for (int number = 0; number < @COUNT@; number++) {
        struct call c;
        memset(&c, 0, sizeof c);
        c.in = (void *)take(sizeof first_in);
        c.out = (void *)take(sizeof first_out);
        memcpy(c.in, first_in, sizeof first_in);
        memcpy(c.out, first_out, sizeof first_out);
        for (int i = 0; i < INS; i++) c.in[i].data = memcpy(c.ins[i] = take(in_bytes[i]), first[i], in_bytes[i]);
        for (int i = 0; i < OUTS; i++) c.out[i].data = memset(c.outs[i] = take(out_bytes[i]), @FILL@, out_bytes[i]);
        c.room = memset(take(ROOM), @FILL@, ROOM);
        c.state = memcpy(take(STATE + !STATE), first_state, STATE);
        c.arg_in = c.in; c.arg_out = c.out; c.arg_state = c.state;
        edit(&c, number);
        int code = model_run(c.arg_in, c.arg_out@PASS@), bad = 0;
        if (code && code != MODEL_DATA)
            for (int i = 0; i < OUTS; i++) bad |= changed(c.outs[i], out_bytes[i], @FILL@);
        if (code) bad |= changed(c.room, ROOM, @FILL@) | (STATE && memcmp(c.state, first_state, STATE));
        printf("%d %d ", code, !!bad);
        for (int i = 0; code == 0 && i < OUTS; i++)
            for (size_t k = 0; k < out_bytes[i]; k++) printf("%02x", ((unsigned char *)c.out[i].data)[k]);
        printf("\\n");
        for (int i = 0; i < INS; i++) give(c.ins[i], in_bytes[i]), give(c.shifted_in[i], in_bytes[i] + in_item[i]);
        for (int i = 0; i < OUTS; i++) give(c.outs[i], out_bytes[i]), give(c.shifted_out[i], out_bytes[i] + out_item[i]);
        give(c.room, ROOM), give(c.state, STATE + !STATE);
        give((void *)c.in, sizeof first_in), give((void *)c.out, sizeof first_out);
    }
    give(first_state, STATE + 1);
@END@
    return 0;
}
"""


def program(table, inputs, outputs, state: int, weights=None, is_fenced=False) -> str:
    """Return a program that does the calls of a table; `weights` is the path of a file that it gives to the library first.

    It prints a line for each call: the code, 1 if it changed what it may not change, the bytes of all outputs if the code is 0.
    """
    def listed(numbers):
        return ", ".join(map(str, numbers))

    data = [f"static const unsigned char first{i}[] = {{{listed(a.tobytes()) or 0}}};" for i, a in enumerate(inputs)]
    start, end = [], []
    if state:
        start.append("    if (model_init_state((void *)first_state)) return 1;")
    if weights is not None:
        start += [f'    FILE *file = fopen("{weights}", "rb");', "    char *weights = aligned_alloc(64, MODEL_WEIGHTS_SIZE);",
                  "    if (!file || fread(weights, 1, MODEL_WEIGHTS_SIZE, file) != MODEL_WEIGHTS_SIZE) return 1;",
                  "    fclose(file);", "    if (model_init(weights, MODEL_WEIGHTS_SIZE)) return 1;"]
        end.append("    free(weights);")
    cases = [f"    case {number}: {' '.join(map(_statement, call.edits))} break;    /* {call.name} */"
             for number, call in enumerate(table)]
    words = {"FENCED": int(is_fenced), "STATE": state, "ROOM": sum(a.nbytes // 64 * 64 + 128 for a in outputs),
             "IN_BYTES": listed(a.nbytes for a in inputs), "OUT_BYTES": listed(a.nbytes for a in outputs),
             "IN_ITEM": listed(a.itemsize for a in inputs), "OUT_ITEM": listed(a.itemsize for a in outputs),
             "DATA": "\n".join(data), "FIRST": listed(f"first{i}" for i in range(len(inputs))), "FILL": FILL,
             "INIT_IN": listed(f"MODEL_IN{i}(0)" for i in range(len(inputs))),
             "INIT_OUT": listed(f"MODEL_OUT{i}(0)" for i in range(len(outputs))), "COUNT": len(table),
             "EDITS": "\n".join(["static void edit(struct call *c, int number)", "{", "    switch (number) {", *cases, "    }",
                                 "}"]),
             "START": "\n".join(start), "END": "\n".join(end), "PASS": ", c.arg_state" if state else ""}
    return re.sub("@([A-Z_]+)@", lambda m: str(words[m[1]]), _PROGRAM)


def _statement(e: Edit) -> str:
    if e.field == "fill":
        return f"fill(c->{e.side}s[{e.number}], {e.side}_bytes[{e.number}], {e.value});"
    value = f"{e.value}u" if isinstance(e.value, int) and e.value > 0 else f"(int64_t){e.value + 1} - 1" if isinstance(
        e.value, int) else _address(e.value)
    if not e.field:
        return f"c->arg_{e.side} = (void *)({value});"
    kind = "(void *)(intptr_t)" if e.field == "data" else ""
    return f"c->{e.side}[{e.number}].{e.field} = {kind}({value});"


def _address(at: At) -> str:
    side, _, shifted = at.side.rpartition(" ")[::-1]
    if at.side in ("ins", "outs"):
        return f"(char *)c->{at.side[:-1]} + {at.byte}"
    if at.side in ("room", "state"):
        return f"c->{at.side} + {at.byte}"
    if shifted:
        i = at.number
        return f"shift(&c->shifted_{side}[{i}], c->{side}s[{i}], {side}_bytes[{i}], {side}_item[{i}])"
    return f"c->{side}s[{at.number}] + ({at.byte})"


def outcomes(printed: str, outputs) -> list:
    """Return what a program printed, as `Caller` gives it: (code, outputs, whether anything changed) of each call."""
    found = []
    for line in printed.splitlines():
        code, changed, *text = line.split()
        data, results, at = bytes.fromhex(text[0] if text else ""), [], 0
        for a in outputs if code == "0" else ():
            results.append(np.frombuffer(data, a.dtype, a.size, at).reshape(a.shape))
            at += a.nbytes
        found.append((int(code), results, changed == "1"))
    return found


def check(found, call: Call, outputs, close=1e-3):
    """Check the outcome of a call: its code, its outputs, and that nothing else changed."""
    code, results, changed = found
    if call.code == "VALUES":
        assert code in (0, DATA) and not changed, call
        return
    assert (code, changed) == (code_of(call.code), False), call
    for got, want in zip(results, outputs):
        np.testing.assert_allclose(got, want, rtol=close, atol=close, err_msg=call.name)
