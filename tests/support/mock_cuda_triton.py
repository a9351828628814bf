"""Runs generated Triton source on numpy, strictly: every load and store in bounds, no two writers of one element, no reader of
what another program has written, one dtype per instruction. It knows the part of `triton.language` that the code generator
writes, and nothing of Triton itself.

    run(text, "name", grid, arguments, constants)

Lanes that a mask leaves out hold garbage, so that code which uses them shows.
"""

import functools
import re
import threading

import ml_dtypes
import numpy as np

import multiply_add
import special_units
from mock_cuda_tiles import BOOL, DTYPES, FLOAT8, LIBRARY, Fault, Memory, Pointer, Tile, as_library, relabelled

__all__ = ["DTYPES", "Fault", "as_library", "relabelled", "run"]


_UNITS = {"ex2.approx.ftz.f32 $0, $1;": special_units.power, "rcp.approx.ftz.f32 $0, $1;": special_units.reciprocal}


class Language:
    """`tl` for one program at a time."""

    constexpr = object()

    def __init__(self):
        self.program, self.grid, self.number = (0, 0, 0), (1, 1, 1), 1
        for name, d in DTYPES.items():
            setattr(self, name, d)

    def begin(self, x, y, z):
        """Makes the program at a place of the grid the one that runs; its number is from 1."""
        self.program, self.number = (x, y, z), 1 + x + self.grid[0] * (y + self.grid[1] * z)

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
        if a.__class__ is b.__class__ is condition.__class__ is Tile and a.a.dtype is b.a.dtype and condition.a.dtype is BOOL:
            return Tile(np.where(condition.a, a.a, b.a))
        if isinstance(a, Pointer) and isinstance(b, Pointer) and condition.shape == ():
            if a.memory.flat.dtype != b.memory.flat.dtype:
                raise Fault(f"tl.where of pointers to {a.memory.flat.dtype} and {b.memory.flat.dtype}")
            return a if condition else b
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
        return Tile(multiply_add.rounded_once(like, a, b, c))

    @staticmethod
    def div_rn(a, b):
        a, b = (x if isinstance(x, Tile) else Tile(x, np.float32) for x in (a, b))
        if a.dtype != np.float32 or b.dtype != np.float32:
            raise Fault("tl.div_rn is there for float32")
        return Tile(a.a / b.a)

    @staticmethod
    def inline_asm_elementwise(text, constraints, args, dtype, is_pure, pack):
        """An instruction of a special unit."""
        x, = args
        if (constraints, dtype, is_pure, pack) != ("=f,f", np.float32, True, 1) or x.dtype != np.float32:
            raise Fault(f"{text} of {x.dtype} as {constraints}")
        return Tile(_UNITS[text](x.a))

    @staticmethod
    def umulhi(a, b):
        a, b = (x.a if isinstance(x, Tile) else np.asarray(x, np.uint32) for x in (a, b))
        if a.dtype != np.uint32 or b.dtype != np.uint32:
            raise Fault("tl.umulhi of other than uint32")
        return Tile((a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32))

    class PropagateNan:
        ALL = "all"

    @staticmethod
    def minimum(a, b, propagate_nan=None):
        if propagate_nan is not None:
            return Language._ordered(a, b, np.minimum, np.bitwise_or)
        return Tile(np.fmin(*a._other(b, "minimum"))) if isinstance(a, Tile) else Tile(np.fmin(*b._other(a, "minimum")))

    @staticmethod
    def maximum(a, b, propagate_nan=None):
        if propagate_nan is not None:
            return Language._ordered(a, b, np.maximum, np.bitwise_and)
        return Tile(np.fmax(*a._other(b, "maximum"))) if isinstance(a, Tile) else Tile(np.fmax(*b._other(a, "maximum")))

    @staticmethod
    def _ordered(a, b, pick, of_zeros):
        """The extreme of two floats, of which nan is the most extreme and -0 lies below 0."""
        if a.dtype != b.dtype or a.dtype not in (np.float32, np.float16, ml_dtypes.bfloat16):
            raise Fault(f"no instruction for {a.dtype} and {b.dtype}")
        bits = f"i{a.dtype.itemsize}"
        alike = of_zeros(a.a.view(bits), b.a.view(bits)).view(a.dtype)
        return Tile(np.where((a.a == 0) & (b.a == 0), alike, pick(a.a, b.a)))

    @staticmethod
    def max(x, axis=None):
        return Tile(np.max(x.a, axis=axis))

    @staticmethod
    def sum(x, axis=None):
        if x.dtype in (np.float16, ml_dtypes.bfloat16, np.bool_):
            raise Fault(f"tl.sum in {x.dtype}")
        wide = np.int32 if x.dtype in (np.int8, np.int16) else np.uint32 if x.dtype in (np.uint8, np.uint16) else x.dtype
        a, axis = x.a.astype(wide, copy=False), axis or 0
        while a.shape[axis] > 1:
            low, high = _parted(a.shape[axis], axis)
            a = a[low] + a[high]
        return Tile(a.take(0, axis))

    @staticmethod
    def reduce(x, axis, combine):
        many = isinstance(x, tuple)
        out = _halves(x if many else (x,), axis, combine)
        return out if many else out[0]

    @staticmethod
    def associative_scan(x, axis, combine):
        many = isinstance(x, tuple)
        out, step = [t.a.copy() for t in (x if many else (x,))], 1
        assert axis == out[0].ndim - 1
        while step < out[0].shape[axis]:
            made = combine(*[Tile(a[..., :-step]) for a in out], *[Tile(a[..., step:]) for a in out])
            out = [np.concatenate([a[..., :step], t.a], axis) for a, t in zip(out, made if many else (made,))]
            step *= 2
        return tuple(map(Tile, out)) if many else Tile(out[0])

    @staticmethod
    def sort(x):
        if x.a.ndim != 1 or x.dtype.kind not in "iu":
            raise Fault(f"tl.sort of {x.dtype} {x.shape}")
        return Tile(np.sort(x.a))

    @staticmethod
    def gather(x, index, axis):
        """Of each lane, what another one holds."""
        if index.dtype.kind not in "iu" or x.a.ndim != index.a.ndim:
            raise Fault(f"tl.gather of {x.shape} at {index.dtype} {index.shape}")
        if index.a.size and not 0 <= index.a.min() <= index.a.max() < x.a.shape[axis]:
            raise Fault(f"tl.gather at {index.a.min()} to {index.a.max()} of {x.shape}")
        return Tile(np.take_along_axis(x.a, index.a.astype(np.int64), axis))

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
    def dot(a, b, acc=None, input_precision=None, out_dtype=np.float32, max_num_imprecise_acc=None):
        small = a.dtype in FLOAT8 and b.dtype in FLOAT8
        if a.dtype != b.dtype and not small:
            raise Fault(f"tl.dot of {a.dtype} and {b.dtype}")
        if small and (a.shape[-1] < 32 or (max_num_imprecise_acc or 0) > a.shape[-1]):
            raise Fault(f"tl.dot of float8 {a.shape}, sums of {max_num_imprecise_acc}")
        if a.shape[-2] < 16 or b.shape[-1] < 8 or a.shape[-1] < 16:
            raise Fault(f"tl.dot of {a.shape} and {b.shape}: sizes are at least 16, columns 8")
        if a.dtype == np.float32 and input_precision is None:
            raise Fault("tl.dot of float32 states its precision")
        if input_precision == "tf32":
            a, b = (Tile((x.a.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)) for x in (a, b))
        wide = np.float64 if a.dtype == np.float64 else np.float32
        if acc is not None and acc.dtype != wide:
            raise Fault(f"tl.dot of {a.dtype} onto {acc.dtype}")
        out = np.matmul(a.a.astype(wide), b.a.astype(wide))
        return Tile(out if acc is None else out + acc.a)

    @staticmethod
    def join(a, b):
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Fault(f"tl.join of {a.dtype} {a.shape} and {b.dtype} {b.shape}")
        return Tile(np.stack([a.a, b.a], -1))

    @staticmethod
    def split(x):
        if x.shape[-1] != 2:
            raise Fault(f"tl.split of {x.shape}")
        return Tile(x.a[..., 0]), Tile(x.a[..., 1])

    @staticmethod
    def reshape(x, shape):
        return Tile(x.a.reshape(shape))

    @staticmethod
    def permute(x, order):
        return Tile(np.transpose(x.a, order))

    @staticmethod
    def trans(x):
        return Tile(np.swapaxes(x.a, -1, -2))

    static_range = range                # of plain numbers

    @staticmethod
    def range(*bounds, flatten=False, warp_specialize=False):
        return (Tile(i, np.int32) for i in range(*[b if isinstance(b, int) else b.__index__() for b in bounds]))

    def make_tensor_descriptor(self, pointer, shape, strides, block):
        return Descriptor(self, pointer, shape, strides, block)

    def debug_barrier(self):
        pass

    def load(self, pointer, mask=None, other=None):
        offset, on = self._lanes(pointer, mask)
        memory, at = pointer.memory, offset[on]
        self._check(memory, at, "load")
        if memory.written and self._is_anothers(memory.writer[at]).any():
            raise Fault(f"program {self.program} reads what another one has written")
        if on is ...:
            return Tile(memory.flat[at])
        dtype = memory.flat.dtype
        if other is None:
            out = np.full(offset.size * dtype.itemsize, 0xA5, np.uint8).view(dtype).reshape(offset.shape)
        else:
            out = np.empty(offset.shape, dtype)
            out[...] = other.a if isinstance(other, Tile) else other
        out[on] = memory.flat[at]
        return Tile(out)

    def store(self, pointer, value, mask=None):
        offset, on = self._lanes(pointer, mask)
        memory = pointer.memory
        value = value if isinstance(value, Tile) else Tile(value, memory.flat.dtype)
        if value.dtype != memory.flat.dtype:
            raise Fault(f"store of {value.dtype} into {memory.flat.dtype}")
        at, values = offset[on].reshape(-1), _spread(value.a, offset, "store of a tile")[on].reshape(-1)
        self._check(memory, at, "store")
        if not (at[1:] > at[:-1]).all():
            order = np.sort(at)
            if (order[1:] == order[:-1]).any():
                raise Fault(f"program {self.program} writes an element twice in one store")
        others = memory.writer[at]
        if others.any() and self._is_anothers(others).any():
            raise Fault(f"programs {others[self._is_anothers(others)][0]} and {self.number} write the same element")
        memory.writer[at] = self.number
        memory.flat[at] = values

    @staticmethod
    def _lanes(pointer, mask):
        """Return the offsets of the elements, and a mask of those that are accessed."""
        offset = np.asarray(pointer.offset, np.int64)
        if mask is None:
            return offset, ...
        if mask.dtype != np.bool_:
            raise Fault("a mask is int1")
        return offset, _spread(mask.a, offset, "a mask")

    def _is_anothers(self, writers):
        return (writers > 0) & (writers != self.number)

    def _check(self, memory, at, what):
        """(As numbers without a sign, those below 0 are the largest.)"""
        if at.size and at.view(np.uint64).max() >= memory.flat.size:
            wrong = (at < 0) | (at >= memory.flat.size)
            raise Fault(f"{what} out of bounds in program {self.program}: element {at[wrong][0]} of {memory.flat.size}")


def _spread(a, offset, what):
    """One of `a` for each address."""
    if a.shape == offset.shape:
        return a
    if np.broadcast_shapes(a.shape, offset.shape) != offset.shape:
        raise Fault(f"{what} {a.shape} for addresses {offset.shape}")
    return np.broadcast_to(a, offset.shape)


class Descriptor:
    """A matrix that blocks are copied from; beyond its edges there are zeros."""

    def __init__(self, language, pointer, shape, strides, block):
        self.language, self.block = language, block
        self.memory, self.start = pointer.memory, int(np.asarray(pointer.offset))
        self.shape, self.strides = ([n if isinstance(n, int) else n.__index__() for n in x] for x in (shape, strides))
        size = self.memory.flat.dtype.itemsize
        if self.strides[-1] != 1 or any(s * size % 16 for s in (self.start, *self.strides[:-1])):
            raise Fault(f"a descriptor from element {self.start} with strides {self.strides} is not on multiples of 16 bytes")
        if max(block) > 256 or block[-1] * size < 16:
            raise Fault(f"a descriptor of blocks {block}")

    def load(self, at):
        at = [i if isinstance(i, Tile) else Tile(i, np.int32) for i in at]
        rows, columns = (int(np.asarray(i.a)) + np.arange(n) for i, n in zip(at, self.block))
        if any(i.dtype != np.int32 for i in at):
            raise Fault("a block's place is int32")
        inside = (rows < self.shape[0])[:, None] & (columns < self.shape[1])[None, :]
        offset = self.start + rows[:, None] * self.strides[0] + columns[None, :]
        self.language._check(self.memory, offset[inside], "copy")
        out = np.zeros(self.block, self.memory.flat.dtype)
        out[inside] = self.memory.flat[offset[inside]]
        return Tile(out)


def _unary(fn, only=None):
    def apply(x):
        if only is not None and x.dtype != only:
            raise Fault(f"{fn} is there for {only}")
        return Tile(fn(x.a).astype(x.dtype, copy=False))

    return staticmethod(apply)


for _name, _fn, _only in (("floor", np.floor, None), ("ceil", np.ceil, None), ("abs", np.abs, None), ("sqrt", np.sqrt, None),
                          ("sqrt_rn", np.sqrt, np.float32), ("exp2", np.exp2, None), ("log2", np.log2, None),
                          ("exp", np.exp, None), ("log", np.log, None)):
    setattr(Language, _name, _unary(_fn, _only))


@functools.cache
def _parted(length, axis):
    """Return indices of the first and the second half along an axis."""
    half, before = length // 2, (slice(None),) * axis
    return (*before, slice(half)), (*before, slice(half, 2 * half))


def _halves(tiles, axis, combine):
    """A tree of halves along an axis."""
    tiles = tuple(t if isinstance(t, Tile) else Tile(t) for t in tiles)
    axis = axis if axis is not None else 0
    while tiles[0].shape[axis] > 1:
        low, high = _parted(tiles[0].shape[axis], axis)
        made = combine(*[Tile(t.a[low]) for t in tiles], *[Tile(t.a[high]) for t in tiles])
        tiles = made if isinstance(made, tuple) else (made,)
        tiles = tuple(t if isinstance(t, Tile) else Tile(t) for t in tiles)
    return tuple(Tile(t.a.take(0, axis)) for t in tiles)


class _Triton:
    @staticmethod
    def jit(fn):
        return fn


@functools.lru_cache(512)
def _compiled(text):
    body = re.sub(r"^import triton.*$", "", text, flags=re.M)
    return compile(body, f"{LIBRARY}/triton source", "exec")


def _argument(a, kinds):
    if isinstance(a, np.ndarray):
        return Pointer(Memory(a), 0)
    return Pointer(Memory(a[0]), a[1]) if isinstance(a[0], np.ndarray) else Tile(a[1], kinds[a[0]])


_KINDS = {f"{k}{8 * size}": np.dtype(f"{k}{size}") for k in "iuf" for size in (1, 2, 4, 8) if (k, size) != ("f", 1)}


@functools.lru_cache(512)
def _space(text, thread):
    """Return the definitions of a text for a thread; its language holds the running program."""
    space = {"triton": _Triton, "tl": Language()}
    exec(_compiled(text), space)
    return space


def run(text, name, grid, arguments, constants):
    """Runs function `name` for every program of the grid. Arrays are buffers, (array, offset) pairs point into one, ints and
    floats come as ("i32", 5) pairs."""
    space = _space(text, threading.get_ident())
    language, kernel, given = space["tl"], space[name], [_argument(a, _KINDS) for a in arguments]
    language.grid = tuple(grid)
    with np.errstate(all="ignore"):
        for z, y, x in np.ndindex(*grid[::-1]):
            language.begin(x, y, z)
            kernel(*given, **constants)


as_library(globals())
