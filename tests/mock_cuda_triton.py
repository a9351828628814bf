"""Runs generated Triton source on numpy, strictly: every load and store in bounds, no two writers of one element, one dtype
per instruction. It knows the part of `triton.language` that the code generator writes, and nothing of Triton itself.

    run(text, "name", grid, arguments, constants)

Lanes that a mask leaves out hold garbage, so that code which uses them shows.
"""

import functools
import re
import types

import ml_dtypes
import numpy as np

from ingot.passes.codegen.scalars.numpy_builder import fma32, fma64

INSTALLED = "site-packages/"     # traces do not watch code of installed packages, which a driver is


def as_installed(namespace):
    """Makes the functions and classes of a module look like code of an installed package."""
    for found in list(namespace.values()):
        if isinstance(found, types.FunctionType) and found.__module__ == namespace["__name__"]:
            _relabel(found)
        elif isinstance(found, type) and found.__module__ == namespace["__name__"]:
            for x in vars(found).values():
                x = x.__func__ if isinstance(x, (staticmethod, classmethod)) else x.fget if isinstance(x, property) else x
                if isinstance(x, types.FunctionType):
                    _relabel(x)


def _relabel(function):
    function.__code__ = _code_of_package(function.__code__)
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, types.FunctionType):
            _relabel(cell.cell_contents)


def _code_of_package(code):
    inner = tuple([_code_of_package(c) if isinstance(c, types.CodeType) else c for c in code.co_consts])
    return code.replace(co_filename=INSTALLED + "mock_cuda.py", co_consts=inner)


class Fault(AssertionError):
    """What a GPU would have done silently."""


DTYPES = {"int1": np.bool_, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8,
          "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16,
          "float32": np.float32, "float64": np.float64}


class Memory:
    """One buffer: its flat elements, and who wrote each."""

    def __init__(self, array):
        assert array.flags.c_contiguous or array.ndim <= 1, "buffers are contiguous here"
        self.flat = array.reshape(-1)
        assert np.shares_memory(self.flat, array) or not array.size
        self.writer = np.full(self.flat.size, -1, np.int64)


class Pointer:
    """Addresses of elements of a buffer."""

    def __init__(self, memory, offset):
        self.memory, self.offset = memory, offset

    def __add__(self, other):
        value = other.a if isinstance(other, Tile) else other
        return Pointer(self.memory, np.asarray(self.offset, np.int64) + np.asarray(value).astype(np.int64))

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


class Tile:
    """Elements of one dtype."""

    __array_ufunc__ = None

    def __init__(self, a, dtype=None):
        self.a = np.asarray(a, dtype)

    @property
    def shape(self):
        return self.a.shape

    @property
    def dtype(self):
        return self.a.dtype

    def _other(self, other, what):
        if isinstance(other, Tile):
            d = _meet(self.a.dtype, other.a.dtype, what)
            return self.a.astype(d), other.a.astype(d)
        if isinstance(other, bool) or (isinstance(other, float) and self.a.dtype.kind in "iub"):
            raise Fault(f"{what} of {self.a.dtype} and the literal {other!r}")
        if isinstance(other, int) and _integral(self.a.dtype):
            info = np.iinfo(self.a.dtype)
            if not info.min <= other <= info.max:
                raise Fault(f"the literal {other} is out of range of {self.a.dtype}")
        return self.a, np.asarray(other).astype(self.a.dtype)

    def _do(self, other, fn, what, swap=False, low=False):
        if self.a.dtype in (np.float16, ml_dtypes.bfloat16) and not low:
            raise Fault(f"{what} in {self.a.dtype}: arithmetic is done in float32")
        a, b = self._other(other, what)
        with np.errstate(all="ignore"):
            out = fn(b, a) if swap else fn(a, b)
        return Tile(out if out.dtype == np.bool_ else out.astype(a.dtype))

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
            info = np.iinfo(target)
            with np.errstate(all="ignore"):
                if not np.all((self.a >= float(info.min)) & (self.a < float(info.max) + 1.0)):
                    raise Fault(f"conversion of {source} to {target} out of range is not the same everywhere")
        with np.errstate(all="ignore"):
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
    q = np.abs(a.astype(object)) // np.where(b == 0, 1, np.abs(b.astype(object)))
    return np.where((a < 0) != (b < 0), -q, q).astype(a.dtype)


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


class Language:
    """`tl` for one program at a time."""

    constexpr = object()

    def __init__(self):
        self.program, self.grid = (0, 0, 0), (1, 1, 1)
        for name, d in DTYPES.items():
            setattr(self, name, d)

    @property
    def number(self):
        """The program's number in the grid."""
        (x, y, z), (nx, ny, _) = self.program, self.grid
        return x + nx * (y + ny * z)

    def program_id(self, axis):
        return Tile(self.program[axis], np.int32)

    def num_programs(self, axis):
        return Tile(self.grid[axis], np.int32)

    @staticmethod
    def arange(low, high):
        assert high > low and (high - low) & (high - low - 1) == 0, "arange spans a power of two"
        return Tile(np.arange(low, high, dtype=np.int32))

    @staticmethod
    def full(shape, value, dtype):
        assert all(n & (n - 1) == 0 for n in shape), f"a tile's sizes are powers of two: {shape}"
        if isinstance(value, Tile):
            assert value.a.size == 1
            value = value.a.item() if value.dtype != ml_dtypes.bfloat16 else float(value.a)
        if np.dtype(dtype).kind in "iu" and not isinstance(value, bool):
            info = np.iinfo(dtype)
            if not info.min <= value <= info.max:
                raise Fault(f"{value} is no {np.dtype(dtype)}")
        return Tile(np.full(shape, value).astype(dtype))

    @classmethod
    def zeros(cls, shape, dtype):
        return cls.full(shape, 0, dtype)

    @staticmethod
    def cdiv(a, b):
        return (a + (b - 1)) // b

    @staticmethod
    def where(condition, a, b):
        tiles = [x for x in (a, b) if isinstance(x, Tile)]
        if not tiles:
            raise Fault("tl.where of two literals")
        if not isinstance(condition, Tile) or condition.dtype != np.bool_:
            raise Fault("the condition of tl.where is an int1 tile")
        a, b = (x if isinstance(x, Tile) else Tile(x, tiles[0].dtype) for x in (a, b))
        if a.dtype != b.dtype:
            raise Fault(f"tl.where of {a.dtype} and {b.dtype}")
        return Tile(np.where(condition.a, a.a, b.a))

    @staticmethod
    def fma(a, b, c):
        like = next(x.dtype for x in (a, b, c) if isinstance(x, Tile))
        a, b, c = (x.a if isinstance(x, Tile) else np.asarray(x, like) for x in (a, b, c))
        if not a.dtype == b.dtype == c.dtype:
            raise Fault(f"tl.fma of {a.dtype}, {b.dtype} and {c.dtype}")
        with np.errstate(all="ignore"):
            return Tile((fma64 if like == np.float64 else fma32)(a, b, c))

    @staticmethod
    def div_rn(a, b):
        a, b = (x if isinstance(x, Tile) else Tile(x, np.float32) for x in (a, b))
        if a.dtype != np.float32 or b.dtype != np.float32:
            raise Fault("tl.div_rn is there for float32")
        with np.errstate(all="ignore"):
            return Tile(a.a / b.a)

    @staticmethod
    def umulhi(a, b):
        a, b = (x.a if isinstance(x, Tile) else np.asarray(x, np.uint32) for x in (a, b))
        if a.dtype != np.uint32 or b.dtype != np.uint32:
            raise Fault("tl.umulhi of other than uint32")
        return Tile((a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32))

    @staticmethod
    def minimum(a, b):
        return Tile(np.minimum(*a._other(b, "minimum"))) if isinstance(a, Tile) else Tile(np.minimum(*b._other(a, "minimum")))

    @staticmethod
    def maximum(a, b):
        return Tile(np.maximum(*a._other(b, "maximum"))) if isinstance(a, Tile) else Tile(np.maximum(*b._other(a, "maximum")))

    @staticmethod
    def max(x, axis=None):
        return Tile(np.max(x.a, axis=axis))

    @staticmethod
    def sum(x, axis=None):
        if x.dtype in (np.float16, ml_dtypes.bfloat16, np.bool_):
            raise Fault(f"tl.sum in {x.dtype}")
        wide = np.int32 if x.dtype in (np.int8, np.int16) else np.uint32 if x.dtype in (np.uint8, np.uint16) else x.dtype
        return _halves((x.a.astype(wide),), axis, lambda a, b: a + b)[0]

    @staticmethod
    def reduce(x, axis, combine):
        many = isinstance(x, tuple)
        out = _halves(x if many else (x,), axis, combine)
        return out if many else out[0]

    @staticmethod
    def associative_scan(x, axis, combine):
        out, step, n = x.a.copy(), 1, x.shape[axis]
        assert axis == x.a.ndim - 1
        while step < n:
            made = combine(Tile(out[..., :-step]), Tile(out[..., step:])).a
            out = np.concatenate([out[..., :step], made], axis)
            step *= 2
        return Tile(out)

    @staticmethod
    def cumsum(x, axis):
        if x.dtype.itemsize < 4:
            raise Fault(f"tl.cumsum in {x.dtype}")
        return Tile(np.cumsum(x.a, axis, dtype=x.dtype))

    def atomic_max(self, pointer, value):
        memory, at = pointer.memory, np.asarray(pointer.offset)
        self._check(memory, at.reshape(-1), "atomic_max")
        memory.flat[at] = max(memory.flat[at], value)

    @staticmethod
    def dot(a, b, acc=None, input_precision=None, out_dtype=np.float32):
        if a.dtype != b.dtype:
            raise Fault(f"tl.dot of {a.dtype} and {b.dtype}")
        if min(a.shape[-1], a.shape[-2], b.shape[-1]) < 16:
            raise Fault(f"tl.dot of {a.shape} and {b.shape}: sizes are at least 16")
        if a.dtype == np.float32 and input_precision is None:
            raise Fault("tl.dot of float32 states its precision")
        wide = np.float64 if a.dtype == np.float64 else np.float32
        if acc is not None and acc.dtype != wide:
            raise Fault(f"tl.dot of {a.dtype} onto {acc.dtype}")
        out = np.matmul(a.a.astype(wide), b.a.astype(wide))
        return Tile(out if acc is None else out + acc.a)

    @staticmethod
    def trans(x):
        return Tile(np.swapaxes(x.a, -1, -2))

    def debug_barrier(self):
        pass

    def load(self, pointer, mask=None, other=None):
        offset, on = self._lanes(pointer, mask)
        memory = pointer.memory
        self._check(memory, offset[on], "load")
        dtype = memory.flat.dtype
        out = np.full(offset.size * dtype.itemsize, 0xA5, np.uint8).view(dtype).reshape(offset.shape)
        if other is not None:
            out[...] = other.a if isinstance(other, Tile) else other
        out[on] = memory.flat[offset[on]]
        return Tile(out)

    def store(self, pointer, value, mask=None):
        offset, on = self._lanes(pointer, mask)
        memory = pointer.memory
        value = value if isinstance(value, Tile) else Tile(value, memory.flat.dtype)
        if value.dtype != memory.flat.dtype:
            raise Fault(f"store of {value.dtype} into {memory.flat.dtype}")
        if np.broadcast_shapes(value.shape, offset.shape) != offset.shape:
            raise Fault(f"store of a tile {value.shape} to addresses {offset.shape}")
        at, values = offset[on], np.broadcast_to(value.a, offset.shape)[on]
        self._check(memory, at, "store")
        order = np.argsort(at, kind="stable")
        same = at[order][1:] == at[order][:-1]
        if same.any():
            raise Fault(f"program {self.program} writes an element twice in one store")
        others = memory.writer[at]
        if ((others >= 0) & (others != self.number)).any():
            raise Fault(f"programs {others[others >= 0][0]} and {self.number} write the same element")
        memory.writer[at] = self.number
        memory.flat[at] = values

    @staticmethod
    def _lanes(pointer, mask):
        offset = np.asarray(pointer.offset, np.int64)
        if mask is None:
            return offset, np.ones(offset.shape, np.bool_)
        if mask.dtype != np.bool_:
            raise Fault("a mask is int1")
        if np.broadcast_shapes(mask.shape, offset.shape) != offset.shape:
            raise Fault(f"a mask {mask.shape} for addresses {offset.shape}")
        return offset, np.broadcast_to(mask.a, offset.shape)

    def _check(self, memory, at, what):
        wrong = (at < 0) | (at >= memory.flat.size)
        if wrong.any():
            raise Fault(f"{what} out of bounds in program {self.program}: element {at[wrong][0]} of {memory.flat.size}")


def _unary(fn, only=None):
    def apply(x):
        if only is not None and x.dtype != only:
            raise Fault(f"{fn} is there for {only}")
        with np.errstate(all="ignore"):
            return Tile(fn(x.a).astype(x.dtype))

    return staticmethod(apply)


for _name, _fn, _only in (("floor", np.floor, None), ("ceil", np.ceil, None), ("abs", np.abs, None), ("sqrt", np.sqrt, None),
                          ("sqrt_rn", np.sqrt, np.float32), ("exp2", np.exp2, None), ("log2", np.log2, None),
                          ("exp", np.exp, None), ("log", np.log, None)):
    setattr(Language, _name, _unary(_fn, _only))


def _halves(tiles, axis, combine):
    """A tree of halves along an axis."""
    tiles = tuple(t if isinstance(t, Tile) else Tile(t) for t in tiles)
    axis = axis if axis is not None else 0
    while tiles[0].shape[axis] > 1:
        half = tiles[0].shape[axis] // 2
        low = tuple(Tile(np.take(t.a, range(half), axis)) for t in tiles)
        high = tuple(Tile(np.take(t.a, range(half, 2 * half), axis)) for t in tiles)
        made = combine(*low, *high)
        tiles = made if isinstance(made, tuple) else (made,)
        tiles = tuple(t if isinstance(t, Tile) else Tile(t) for t in tiles)
    return tuple(Tile(np.take(t.a, 0, axis)) for t in tiles)


class _Triton:
    @staticmethod
    def jit(fn):
        return fn


@functools.lru_cache(512)
def _compiled(text):
    body = re.sub(r"^import triton.*$", "", text, flags=re.M)
    return compile(body, f"{INSTALLED}triton source", "exec")


def _argument(a, kinds):
    if isinstance(a, np.ndarray):
        return Pointer(Memory(a), 0)
    return Pointer(Memory(a[0]), a[1]) if isinstance(a[0], np.ndarray) else Tile(a[1], kinds[a[0]])


def run(text, name, grid, arguments, constants):
    """Runs function `name` for every program of the grid. Arrays are buffers, (array, offset) pairs point into one, ints and
    floats come as ("i32", 5) pairs."""
    language = Language()
    space = {"triton": _Triton, "tl": language}
    exec(_compiled(text), space)
    kinds = {"i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}
    given = [_argument(a, kinds) for a in arguments]
    language.grid = tuple(grid)
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                language.program = (x, y, z)
                space[name](*given, **constants)


as_installed(globals())
