"""Values of the Triton that `mock_cuda_triton` runs: tiles of one dtype, and pointers into buffers."""


import functools
import sysconfig
import types

import ml_dtypes
import numpy as np

from ingot.tools.ptx import Fault
from ingot.tools.ptx.operations import WIDENED_NAN

LIBRARY = sysconfig.get_path("stdlib")      # traces do not watch code of the standard library; a driver is no user code either


def as_library(namespace):
    """Makes the functions and classes of a module look like code of a library."""
    for found in list(namespace.values()):
        found = found.__wrapped__ if isinstance(found, functools._lru_cache_wrapper) else found
        if isinstance(found, dict):
            for x in found.values():
                if isinstance(x, types.FunctionType) and x.__module__ == namespace["__name__"]:
                    relabelled(x)
        elif isinstance(found, types.FunctionType) and found.__module__ == namespace["__name__"]:
            relabelled(found)
        elif isinstance(found, type) and found.__module__ == namespace["__name__"]:
            for x in vars(found).values():
                x = x.__func__ if isinstance(x, (staticmethod, classmethod)) else x.fget if isinstance(x, property) else x
                if isinstance(x, types.FunctionType):
                    relabelled(x)


def relabelled(function):
    function.__code__ = _code_of_package(function.__code__)
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, types.FunctionType):
            relabelled(cell.cell_contents)


def _code_of_package(code):
    inner = tuple([_code_of_package(c) if isinstance(c, types.CodeType) else c for c in code.co_consts])
    return code.replace(co_filename=f"{LIBRARY}/mock_cuda.py", co_consts=inner)


DTYPES = {"int1": np.bool_, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8,
          "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16,
          "float32": np.float32, "float64": np.float64, "float8e4nv": ml_dtypes.float8_e4m3fn,
          "float8e5": ml_dtypes.float8_e5m2}
FLOAT8 = DTYPES["float8e4nv"], DTYPES["float8e5"]
BOOL = np.dtype(np.bool_)
_ONLY_STORED = frozenset(np.dtype(d).num for d in (np.float16, ml_dtypes.bfloat16, *FLOAT8))
_LIMITS = {np.dtype(d): (int(np.iinfo(d).min), int(np.iinfo(d).max)) for d in DTYPES.values() if np.dtype(d).kind in "iu"}


class Memory:
    """One buffer: its flat elements, and who wrote which."""

    def __init__(self, array):
        assert array.flags.c_contiguous or array.ndim <= 1, "buffers are contiguous here"
        self.flat = array.reshape(-1)
        assert np.shares_memory(self.flat, array) or not array.size
        self._writer = None

    @property
    def written(self):
        return self._writer is not None

    @property
    def writer(self):
        """The program that wrote each element, 0 for none; made for buffers that are written."""
        if self._writer is None:
            self._writer = np.zeros(self.flat.size, np.int64)
        return self._writer


class Pointer:
    """Addresses of elements of a buffer."""

    def __init__(self, memory, offset):
        self.memory, self.offset = memory, offset

    def __add__(self, other):
        value = other.a if isinstance(other, Tile) else np.asarray(other)
        return Pointer(self.memory, np.asarray(self.offset, np.int64) + value.astype(np.int64, copy=False))

    __radd__ = __add__

    def __getitem__(self, where):
        return Pointer(self.memory, np.asarray(self.offset)[where])


def _integral(d):
    return d.kind in "iu"


def _meet(a, b, what):
    """The dtype of an operation on tiles: one dtype, or integers of two widths as Triton promotes them."""
    if a == b:
        return a
    if _integral(a) and _integral(b):
        if a.kind == b.kind:
            return max(a, b, key=lambda d: d.itemsize)
        unsigned, signed = (a, b) if a.kind == "u" else (b, a)
        return unsigned if unsigned.itemsize >= signed.itemsize else signed
    raise Fault(f"{what} of {a} and {b}: the generator states every dtype")


def _literal(number, its_class, mine, what):
    """A number of the text as one of a dtype."""
    if its_class is bool or (its_class is float and mine.kind in "iub"):
        raise Fault(f"{what} of {mine} and the literal {number!r}")
    if its_class is int and _integral(mine):
        low, high = _LIMITS[mine]
        if not low <= number <= high:
            raise Fault(f"the literal {number} is out of range of {mine}")
    return np.asarray(number).astype(mine)


_kept = functools.lru_cache(4096)(_literal)         # (but of zeros, of which two are equal and differ)


class Tile:
    """Elements of one dtype. Nothing writes into `a`, which other tiles may share. Kernels run where numpy warns of nothing."""

    __slots__ = ("a",)
    __array_ufunc__ = None

    def __init__(self, a, dtype=None):
        self.a = a if a.__class__ is np.ndarray and dtype is None else np.asarray(a, dtype)

    @property
    def shape(self):
        return self.a.shape

    @property
    def dtype(self):
        return self.a.dtype

    def _other(self, other, what):
        mine = self.a.dtype
        if isinstance(other, Tile):
            if other.a.dtype is mine:
                return self.a, other.a
            d = _meet(mine, other.a.dtype, what)
            return self.a.astype(d, copy=False), other.a.astype(d, copy=False)
        return self.a, (_kept if other else _literal)(other, other.__class__, mine, what)

    def _do(self, other, fn, what, swap=False, low=False):
        mine = self.a.dtype
        if not low and mine.num in _ONLY_STORED:
            raise Fault(f"{what} in {mine}: arithmetic is done in float32")
        a, b = (self.a, other.a) if other.__class__ is Tile and other.a.dtype is mine else self._other(other, what)
        out = fn(b, a) if swap else fn(a, b)
        return Tile(out if out.dtype is a.dtype or out.dtype is BOOL else out.astype(a.dtype, copy=False))

    def __getitem__(self, where):
        return Tile(self.a[where if isinstance(where, tuple) else (where,)])

    def __index__(self):
        assert self.a.size == 1 and _integral(self.a.dtype)
        return int(self.a.item())

    def __bool__(self):
        assert self.a.size == 1, "the truth of a tile"
        return bool(self.a.item())

    def __invert__(self):
        return Tile(~self.a)

    def __neg__(self):
        raise Fault("unary minus differs between versions of Triton")

    def to(self, dtype, bitcast=False):
        if bitcast:
            if np.dtype(dtype).itemsize != self.a.dtype.itemsize:
                raise Fault(f"bitcast of {self.a.dtype} to {np.dtype(dtype)}")
            return Tile(np.ascontiguousarray(self.a).view(dtype).reshape(self.a.shape))
        source, target = self.a.dtype, np.dtype(dtype)
        if target == np.bool_:
            return Tile(self.a != 0)
        if source.kind == "f" and _integral(target):
            low, high = _LIMITS[target]
            if not np.all((self.a >= float(low)) & (self.a < float(high) + 1.0)):
                raise Fault(f"conversion of {source} to {target} out of range is not the same everywhere")
        if source == np.float16 and target == np.float32:
            return Tile(np.where(np.isnan(self.a), WIDENED_NAN, self.a.astype(target)))
        return Tile(self.a.astype(target))


def _method(fn, what, low=False):
    return (lambda self, o: self._do(o, fn, what, low=low)), (lambda self, o: self._do(o, fn, what, swap=True, low=low))


def _floats_only(fn):
    def divide(a, b):
        if a.dtype.kind != "f":
            raise Fault("/ of integers")
        return fn(a, b)

    return divide


def _quotient(a, b):
    """Towards zero; what no number of the dtype is raises."""
    b = np.where(b == 0, b.dtype.type(1), b)
    with np.errstate(over="raise"):
        q = a // b
    return q + ((a < 0) != (b < 0)) * (q * b != a) if a.dtype.kind == "i" else q


def _remainder(a, b):
    return np.fmod(a, np.where(b == 0, 1, b))


for _name, _fn in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": _floats_only(np.divide),
                   "floordiv": _quotient, "mod": _remainder, "and": np.bitwise_and, "or": np.bitwise_or,
                   "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift}.items():
    _forward, _back = _method(_fn, _name)
    setattr(Tile, f"__{_name}__", _forward)
    setattr(Tile, f"__r{_name}__", _back)
for _name, _fn in {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
                   "ne": np.not_equal}.items():
    setattr(Tile, f"__{_name}__", _method(_fn, _name)[0])
Tile.__hash__ = None


as_library(globals())
