"""Entries: calls of compiled kernels from Python with as little overhead as the interpreter allows.

    add = entry("add", address, [array("float32", 1), array("float32", 1), array("float32", 1, writable=True)])
    add(a, b, out)

`address` is native code `void kernel(ptr block)`. For each argument in order, the block holds an array as {data, sizes[rank],
strides[rank] in bytes}, or a scalar as i64 or double, 8 bytes a word. Arguments are checked (exact ndarray, dtype, rank,
alignment, writability); a wrong one is a TypeError before anything runs. The interpreter lock is released when an array
argument has `release_at` elements or more (-1: never).

On CPython with the usual object layout, which is tested once, an entry is a builtin function of native code; elsewhere it is
ctypes, with the same contract.
"""

import ctypes
import functools
import struct
import sys
import sysconfig
import weakref
from typing import NamedTuple

import numpy as np

from ....ir.errors import ArgumentError
from ....ir.target import host
from ....passes.codegen.llvm.pool import entry as native
from ..compiler import compile as compiler

RELEASE_AT = 16384
_CONTIGUOUS, _ALIGNED, _WRITABLE = 0x1, 0x100, 0x400
_METH_FASTCALL = 0x80


class Parameter(NamedTuple):
    """A parameter of an entry: an array of a dtype and rank, or a scalar."""

    kind: int
    dtype: np.dtype | None = None
    rank: int = 0
    writable: bool = False
    contiguous: bool = False

    @property
    def words(self) -> int:
        return 1 + 2 * max(0, self.rank) if self.kind == native.ARRAY else 1

    def __str__(self):
        if self.kind == native.ARRAY:
            dimensions = f" of {self.rank} dimensions" if self.rank >= 0 else ""
            words = f"{'C-contiguous ' if self.contiguous else ''}{'writable ' if self.writable else ''}"
            return f"an aligned {words}{self.dtype} array{dimensions}"
        return "an int" if self.kind == native.INTEGER else "a float"


def array(dtype, rank: int, writable: bool = False, contiguous: bool = False) -> Parameter:
    """Return an ndarray parameter. Rank -1 takes any rank, of which the kernel sees the data pointer only; `contiguous` demands
    C order."""
    return Parameter(native.ARRAY, np.dtype(dtype), rank, writable, contiguous)


INTEGER = Parameter(native.INTEGER)
FLOAT = Parameter(native.FLOAT)


def entry(name: str, address: int, parameters, release_at: int = RELEASE_AT):
    """Return a Python callable for the kernel at `address`; equal requests get the same one. It takes the parameters by
    position and returns None."""
    parameters = tuple(parameters)
    if 8 * sum(parameter.words for parameter in parameters) > native.BLOCK_BYTES:
        raise ArgumentError(f"{name}: {len(parameters)} parameters do not fit the argument block of {native.BLOCK_BYTES} bytes")
    make = _builtin_entry if fast_calls() else _ctypes_entry
    return _cached_entry(make, name, address, parameters, release_at)


@functools.lru_cache(1024)
def _cached_entry(make, *how):
    return make(*how)


def is_plain(array) -> bool:
    """Return whether entries take an array as it is: in C order, aligned and writable. A TypeError of a call with such arrays
    alone came from outside."""
    return type(array) is np.ndarray and array.flags.carray


def address_of(array: np.ndarray) -> int:
    """Return the address of an array's data; an eighth of the cost of `array.ctypes.data`."""
    return _POINTER_AT(id(array) + native.ARRAY_DATA).value or 0 if fast_calls() else array.ctypes.data


_POINTER_AT = ctypes.c_void_p.from_address


@functools.lru_cache(None)
def fast_calls() -> bool:
    """Whether entries are native builtin functions: the interpreter's objects have the expected layout. All else that they need
    is Python's public C interface."""
    return knows_objects() and sys.byteorder == "little" and sys.platform != "win32" and _layout_holds()


def knows_objects() -> bool:
    """Whether objects of this interpreter begin with a reference count and their type."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    return object.__basicsize__ == 16 and struct.calcsize("P") == 8


def _layout_holds():
    """Compare a sample array's memory with NumPy's description of it."""
    sample = np.empty((3, 5), np.float32)[:, ::2]

    def field(kind, offset, base=id(sample)):
        return kind.from_address(base + offset).value

    dtype = field(ctypes.c_void_p, native.ARRAY_DTYPE)
    sizes, strides = field(ctypes.c_void_p, native.ARRAY_SIZES), field(ctypes.c_void_p, native.ARRAY_STRIDES)
    return (field(ctypes.c_void_p, native.OBJECT_TYPE) == id(np.ndarray)
            and field(ctypes.c_void_p, native.ARRAY_DATA) == sample.ctypes.data
            and field(ctypes.c_int, native.ARRAY_RANK) == 2 and dtype == id(sample.dtype)
            and tuple((ctypes.c_int64 * 2).from_address(sizes)) == sample.shape
            and tuple((ctypes.c_int64 * 2).from_address(strides)) == sample.strides
            and field(ctypes.c_int, native.ARRAY_FLAGS) == sample.flags.num
            and field(ctypes.c_int, native.DTYPE_NUMBER, dtype) == sample.dtype.num
            and field(ctypes.c_char, native.DTYPE_ORDER, dtype) == b"=")


# --- native entries ---
class _MethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class _Read(weakref.ref):
    """A builtin function, and the descriptors and definitions that it reads for as long as it lives."""

    __slots__ = ("data",)
    data: tuple


# They are kept even when the interpreter ends: it may free a function after this module, and looks at its definition then. Of
# functions that are gone they are freed when the next one is made, since whoever frees a function reads them once more after
# its references were told.
_live_reads: dict = {}
_dead_reads: list = []
for _lasting in (_live_reads, _dead_reads):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_lasting))


@functools.lru_cache(None)
def _native_adapter():
    compiler.provide("ingot_ndarray_type", lambda: id(np.ndarray))
    return compiler.compile_module(native.entry_text(host()), [native.SYMBOL])[native.SYMBOL]


def compile_adapter():
    """Compile the adapters of native entries, for machines other than this one."""
    _native_adapter()


def _builtin_entry(name, address, parameters, release_at):
    encoded = name.encode()
    words = [str(parameter).encode() for parameter in parameters]
    descriptor = ctypes.create_string_buffer(_describe(encoded, address, parameters, release_at, words))
    method = _MethodDef(encoded, _native_adapter(), _METH_FASTCALL, None)
    while _dead_reads:
        del _live_reads[id(_dead_reads.pop())]
    capsule = _python_function("PyCapsule_New", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ctypes.addressof(descriptor), native.CAPSULE, None)
    new = _python_function("PyCFunction_NewEx", ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    made = new(ctypes.addressof(method), capsule, None)
    read = _Read(made, _dead_reads.append)
    read.data = encoded, words, descriptor, method
    _live_reads[id(read)] = read
    return made


@functools.lru_cache(None)
def _python_function(name, *argument_types):
    return ctypes.PYFUNCTYPE(ctypes.py_object, *argument_types)((name, ctypes.pythonapi))


def _describe(name, address, parameters, release_at, words):
    def address_of(text):
        return ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value

    limit = release_at if release_at >= 0 else 2**63
    data = struct.pack("<QqQQ", address, len(parameters), limit, address_of(name))
    offset = 0
    for parameter, text in zip(parameters, words, strict=True):
        number = parameter.dtype.num if parameter.dtype is not None else 0
        flags = _ALIGNED | _WRITABLE * parameter.writable | _CONTIGUOUS * parameter.contiguous
        flags = flags if parameter.kind == native.ARRAY else 0
        data += struct.pack("<iiiiqQ", parameter.kind, parameter.rank, number, flags, offset, address_of(text))
        offset += 8 * parameter.words
    return data


# --- the portable way ---
def _ctypes_entry(name, address, parameters, release_at):
    holding = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(address)
    releasing = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
    total = sum(parameter.words for parameter in parameters)

    def call(*args):
        if len(args) != len(parameters):
            raise TypeError(f"{name} takes {len(parameters)} arguments, got {len(args)}")
        block, at, work = (ctypes.c_int64 * max(1, total))(), 0, 0
        for number, (parameter, arg) in enumerate(zip(parameters, args), 1):
            if not _fits(parameter, arg):
                raise TypeError(f"{name}: argument {number} must be {parameter}")
            if parameter.kind == native.ARRAY:
                words = [arg.ctypes.data, *arg.shape, *arg.strides]
                block[at:at + parameter.words] = words[:parameter.words]
                work = max(work, arg.size)
            else:
                code = "<q" if parameter.kind == native.INTEGER else "<d"
                struct.pack_into(code, block, 8 * at, arg)
            at += parameter.words
        (releasing if 0 <= release_at <= work else holding)(ctypes.addressof(block))

    call.__name__ = name
    return call


def _fits(parameter, arg):
    if parameter.kind != native.ARRAY:
        return isinstance(arg, (int, np.integer)) or (parameter.kind == native.FLOAT and isinstance(arg, (float, np.floating)))
    return (type(arg) is np.ndarray and arg.dtype == parameter.dtype and parameter.rank in (-1, arg.ndim) and arg.flags.aligned
            and (arg.flags.writeable or not parameter.writable) and (arg.flags.c_contiguous or not parameter.contiguous))
