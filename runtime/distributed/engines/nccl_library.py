"""The NCCL library (libnccl.so.2) through ctypes: functions by name, its numbers for dtypes and reductions, and its errors.

This file alone knows NCCL's C interface. The library is loaded when the first run asks for the engine `nccl`.
"""

import ctypes
import importlib.util
import os
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_void_p
from typing import Any

import numpy as np

from ....ir.errors import DTypeError
from ....ir.locks import new_lock
from ....ir.requirements import EXTRAS, install_extra
from ..stores.distributed_errors import DistBackendError
from .reduce_op import ReduceOp

ABSENT = (f"the library libnccl.so.2 is not found: {install_extra('nccl-cu12')}, or {EXTRAS['nccl-cu13'][0]} for a driver of "
          "CUDA 13")
UNIQUE_ID_BYTES = 128
SUCCESS, IN_PROGRESS = 0, 7     # of ncclResult_t
BYTES = 0                       # ncclInt8, for values that only move
OLDEST = 21800                  # the first version that splits communicators
_NAME = "libnccl.so.2"
_UNDEFINED, _MAGIC = -(1 << 31), 0xCAFEBEEF
_IMMEDIATE = 1                  # ncclScalarHostImmediate: a factor is read during the call
_NO_COLOR = -1                  # NCCL_SPLIT_NOCOLOR

# ncclDataType_t, by the names of dtypes, and ncclRedOp_t.
TYPES = {"int8": 0, "uint8": 1, "bool": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6, "float32": 7,
         "float64": 8, "bfloat16": 9, "float8_e4m3fn": 10, "float8_e5m2": 11, "complex64": 7, "complex128": 8}
REDUCTIONS = {ReduceOp.SUM: 0, ReduceOp.PRODUCT: 1, ReduceOp.MAX: 2, ReduceOp.MIN: 3}
_OF_BOOL = {ReduceOp.SUM: ReduceOp.MAX, ReduceOp.BOR: ReduceOp.MAX, ReduceOp.PRODUCT: ReduceOp.MIN, ReduceOp.BAND: ReduceOp.MIN}


class UniqueId(Structure):
    """Name of a new communicator, which one rank draws and all use."""

    _fields_ = (("bytes", c_ubyte * UNIQUE_ID_BYTES),)


class Config(Structure):
    """Settings of a communicator: ncclConfig_t of version 2.18, which later versions read too. All calls return at once."""

    _fields_ = (("size", c_size_t), ("magic", c_uint), ("version", c_uint), ("blocking", c_int), ("cga_cluster_size", c_int),
                ("min_ctas", c_int), ("max_ctas", c_int), ("net_name", c_char_p), ("split_share", c_int))

    def __init__(self):
        super().__init__(ctypes.sizeof(Config), _MAGIC, OLDEST, 0, *[_UNDEFINED] * 3, None, _UNDEFINED)


# Parameters of each function of the library that ingot calls.
_P, _I, _Z = c_void_p, c_int, c_size_t
FUNCTIONS: dict[str, tuple] = {
    "ncclGetVersion": (_P,), "ncclGetUniqueId": (_P,), "ncclGetErrorString": (_I,), "ncclGetLastError": (_P,),
    "ncclCommInitRankConfig": (_P, _I, UniqueId, _I, POINTER(Config)), "ncclCommSplit": (_P, _I, _I, _P, POINTER(Config)),
    "ncclCommFinalize": (_P,), "ncclCommDestroy": (_P,), "ncclCommAbort": (_P,), "ncclCommGetAsyncError": (_P, _P),
    "ncclRedOpCreatePreMulSum": (_P, _P, _I, _I, _P), "ncclRedOpDestroy": (_I, _P), "ncclGroupStart": (), "ncclGroupEnd": (),
    "ncclAllReduce": (_P, _P, _Z, _I, _I, _P, _P), "ncclReduce": (_P, _P, _Z, _I, _I, _I, _P, _P),
    "ncclBroadcast": (_P, _P, _Z, _I, _I, _P, _P), "ncclAllGather": (_P, _P, _Z, _I, _P, _P),
    "ncclReduceScatter": (_P, _P, _Z, _I, _I, _P, _P), "ncclSend": (_P, _Z, _I, _I, _P, _P),
    "ncclRecv": (_P, _Z, _I, _I, _P, _P),
}
_TEXTS = ("ncclGetErrorString", "ncclGetLastError")


class Library:
    """libnccl: functions by name, called with `call`."""

    def __init__(self, loaded: Any):
        self.raw = {name: _bound(loaded, name, types) for name, types in FUNCTIONS.items()}
        self.version = self._number("ncclGetVersion")
        if self.version < OLDEST:
            raise DistBackendError(f"NCCL is of version {self.version}, and the engine 'nccl' needs {OLDEST} (2.18) or later")

    def call(self, name: str, *args, comm: int = 0) -> bool:
        """Call a function; return whether it is done, or goes on in the background. Raise what it reports, with the last
        error of a communicator."""
        code = self.raw[name](*args)
        if code not in (SUCCESS, IN_PROGRESS):
            raise self.error(name, code, comm)
        return code == SUCCESS

    def error(self, what: str, code: int, comm: int = 0) -> DistBackendError:
        """Return the exception for a result of the library."""
        detail = (self.raw["ncclGetLastError"](comm or None) or b"").decode(errors="replace").strip()
        return DistBackendError(f"{what}: {self.words(code)}" + (f": {detail}" if detail else ""))

    def words(self, code: int) -> str:
        """Return an error in words."""
        return f"{self.raw['ncclGetErrorString'](code).decode(errors='replace')} (NCCL error {code})"

    def _number(self, name: str, *args) -> int:
        value = c_int()
        self.call(name, *args, byref(value))
        return value.value

    # Communicators.

    def unique_id(self) -> bytes:
        """Return the name of a new communicator."""
        made = UniqueId()
        self.call("ncclGetUniqueId", byref(made))
        return bytes(made.bytes)

    def join(self, name: bytes, rank: int, size: int) -> c_void_p:
        """Begin to join the communicator of a unique id; return the place of its handle."""
        if len(name) != UNIQUE_ID_BYTES:
            raise DistBackendError(f"the store holds {len(name)} bytes where a unique id of NCCL has {UNIQUE_ID_BYTES}")
        handle = c_void_p()
        self.call("ncclCommInitRankConfig", byref(handle), size, UniqueId((c_ubyte * UNIQUE_ID_BYTES)(*name)), rank,
                  byref(Config()))
        return handle

    def split(self, comm: int, color: int | None, key: int) -> c_void_p:
        """Begin to split a communicator by colors (None: this rank is in no part); return the place of the handle."""
        handle = c_void_p()
        self.call("ncclCommSplit", comm, _NO_COLOR if color is None else color, key, byref(handle), byref(Config()), comm=comm)
        return handle

    def state(self, comm: int) -> int:
        """Return the result of what a communicator does in the background."""
        return self._number("ncclCommGetAsyncError", comm)

    def premultiplied_sum(self, factor: np.ndarray, kind: int, comm: int) -> int:
        """Return the reduction of a communicator that sums values times a factor, which has their dtype."""
        made = c_int()
        self.call("ncclRedOpCreatePreMulSum", byref(made), factor.ctypes.data, kind, _IMMEDIATE, comm, comm=comm)
        return made.value


def reduction_of(op: ReduceOp, dtype: np.dtype) -> tuple[int, int]:
    """Return NCCL's numbers of a dtype and of a reduction on it. AVG gives that of SUM."""
    op = ReduceOp.SUM if op is ReduceOp.AVG else op
    if dtype.kind == "b":
        op = _OF_BOOL.get(op, op)
    if dtype.name not in TYPES or op not in REDUCTIONS or (dtype.kind == "c" and op is not ReduceOp.SUM):
        raise DTypeError(f"NCCL has no reduction {op.name} of {dtype.name}; convert the tensor, or move it to the CPU")
    return TYPES[dtype.name], REDUCTIONS[op]


def _bound(loaded, name, types):
    function: Any = getattr(loaded, name, None)
    if function is None:
        raise DistBackendError(f"this NCCL library has no {name}; a newer one is needed")
    if hasattr(function, "argtypes"):
        function.argtypes, function.restype = types, c_char_p if name in _TEXTS else c_int
    return function


class _State:
    """The library of this process, once it was searched."""

    lock = new_lock()
    loaded: Library | None = None
    why: Exception | None = None
    searched = False


def path() -> str:
    """Return the file of the library: that of a wheel, or else the name that the loader searches."""
    try:
        found = importlib.util.find_spec("nvidia.nccl")
    except ModuleNotFoundError:
        found = None
    folders = [] if found is None else found.submodule_search_locations or []
    files = [os.path.join(folder, "lib", _NAME) for folder in folders]
    return next((file for file in files if os.path.exists(file)), _NAME)


def find() -> Library | None:
    """Return the library, loaded at the first call, or None."""
    with _State.lock:
        if not _State.searched:
            _State.searched = True
            try:
                _State.loaded = Library(ctypes.CDLL(path()))
            except OSError as e:
                _State.why = DistBackendError(f"{ABSENT} ({e})")
            except DistBackendError as e:
                _State.why = e
    return _State.loaded


def get() -> Library:
    """Return the library; raise with the reason if there is none."""
    library = find()
    if library is None:
        raise DistBackendError(str(_State.why)) from _State.why
    return library


def why_not() -> str:
    """Return why there is no library, or ""."""
    return "" if find() is not None else str(_State.why)


def replace(loaded: Any) -> tuple:
    """Replace the library by an object with its functions (None: no library); return the state before, for `restore`."""
    before = (_State.loaded, _State.why, _State.searched)
    _State.loaded = None if loaded is None else Library(loaded)
    _State.why, _State.searched = DistBackendError(ABSENT) if loaded is None else None, True
    return before


def restore(before: tuple):
    """Restore the state that `replace` returned."""
    _State.loaded, _State.why, _State.searched = before
