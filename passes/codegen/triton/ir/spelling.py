"""Triton spelling of scalar instructions: one line of Python text each, over tiles of any shape.

Every value states its dtype, so no promotion rule applies: operands of an instruction have one dtype, and only float32 and
int32 constants are plain literals. Division, square root and conversions are correctly rounded; conversions out of range are
defined to match a CPU. bool is int1 in registers. float8, which chips support differently, is its bits. Complex numbers are two
values in registers; in memory complex64 is an int64, so that both parts come with one load.
"""

import math
from contextlib import contextmanager

import numpy as np

from .....ir import dtype as dt
from .....ir.reference.scalar_functions import as_kind
from ...scalars import Builder, Val

TYPE = {dt.bool_: "tl.int1", dt.float16: "tl.float16", dt.bfloat16: "tl.bfloat16", dt.float32: "tl.float32",
        dt.float64: "tl.float64", dt.int8: "tl.int8", dt.int16: "tl.int16", dt.int32: "tl.int32", dt.int64: "tl.int64",
        dt.uint8: "tl.uint8", dt.uint16: "tl.uint16", dt.uint32: "tl.uint32", dt.uint64: "tl.uint64",
        **dict.fromkeys(dt.FLOAT8, "tl.uint8")}
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&",
          "or": "|", "xor": "^", "shl": "<<", "shr": ">>", "quo": "//", "rem": "%"}
# Memory dtypes that differ from register dtypes.
_IN_MEMORY = {dt.bool_: dt.uint8, dt.complex64: dt.int64, dt.complex128: dt.float64, **dict.fromkeys(dt.FLOAT8, dt.uint8)}
_SMALLEST = 2.0 ** -126     # Triton parses smaller literals as float64
_CALLS = {"sqrt": "tl.sqrt_rn", "floor": "tl.floor", "ceil": "tl.ceil", "abs": "tl.abs", "mulhi": "tl.umulhi", "fma": "tl.fma",
          "select": "tl.where", "smaller": "tl.minimum", "larger": "tl.maximum"}
# PTX of special function units: Triton's own functions take several instructions, to handle subnormals.
_UNITS = {"power": "ex2.approx.ftz.f32", "reciprocal": "rcp.approx.ftz.f32"}


def memory(dtype: dt.DType) -> dt.DType:
    """Return the dtype under which kernels see elements in memory."""
    return _IN_MEMORY.get(dtype, dtype)


class Text:
    """Lines of Python being written, and a supply of fresh names."""

    def __init__(self, taken=frozenset()):
        self.taken = taken
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.helpers: dict[str, str] = {}       # functions that the kernel calls, by name

    def put(self, line: str):
        """Append a line at the current depth."""
        self.lines.append("    " * self.depth + line)

    def name(self, stem: str = "t") -> str:
        self.count += 1
        name = f"{stem}{self.count}"
        return self.name(stem) if name in self.taken else name

    def let(self, expression: str, stem: str = "t") -> str:
        """Name the value of an expression."""
        name = self.name(stem)
        self.put(f"{name} = {expression}")
        return name

    @contextmanager
    def block(self, head: str):
        """Write a compound statement."""
        self.put(head)
        self.depth += 1
        yield
        self.depth -= 1


def digits(dtype, value) -> str:
    """Return a number as text, wrapped or rounded to the dtype."""
    if dtype is dt.bool_:
        return str(int(bool(value)))
    if dtype in dt.FLOAT8:
        return str(int(as_kind(np.asarray(value), dtype.np).view(np.uint8)))
    if dtype.is_floating_point:
        x = float(np.asarray(value).astype(dtype.np)) if dtype in (dt.float32, dt.float64) else float(value)
        return repr(x) if math.isfinite(x) else f'float("{x}")'
    bits = 8 * dtype.itemsize
    n = int(value) & ((1 << bits) - 1)
    return str(n - (1 << bits) if dtype.is_signed and n >> (bits - 1) else n)


def number(dtype, value) -> str:
    """Return a constant as an expression of exactly that dtype, or as a literal of the same meaning."""
    text = digits(dtype, value)
    size = abs(float(value)) if dtype is dt.float32 else 0
    if dtype is dt.int32 or (dtype is dt.float32 and (size == 0 or not size < _SMALLEST)):
        return text
    return f"tl.full([], {text}, {TYPE[dtype]})"


def filled(shape: str, dtype, value) -> str:
    """Return a tile of one number."""
    return f"tl.full([{shape}], {digits(dtype, value)}, {TYPE[dtype]})"


class TritonBuilder(Builder):
    """A builder that appends instructions to a Text; a value's ref is its name or literal."""

    has_units = True

    def __init__(self, text: Text):
        self.text = text

    def wrap(self, dtype, ref: str | tuple) -> Val:
        """Return a name (two for a complex number) as a value."""
        return Val(self, dtype, ref)

    def load(self, dtype, pointer: str, offset: str, mask: str) -> Val:
        """Load elements behind a pointer, in register form; offset and mask may be empty."""
        if dtype is dt.complex128:
            return self.whole(*[self.load(dt.float64, pointer, at, mask) for at in _of_parts(offset)])
        kind = memory(dtype)
        loaded = self.wrap(kind, self.text.let(f"tl.load({_at(pointer, offset)}{', ' + mask if mask else ''})", "v"))
        if dtype is dt.complex64:
            halves = [f"{loaded.ref}.to(tl.int32)", f"({loaded.ref} >> 32).to(tl.int32)"]
            return self.whole(*[self._let(dt.float32, f"{half}.to(tl.float32, bitcast=True)") for half in halves])
        return loaded.ne(0) if dtype is dt.bool_ else self.wrap(dtype, loaded.ref)

    def store(self, value: Val, pointer: str, offset: str, mask: str):
        ref = value.ref
        if value.dtype is dt.complex128:
            for part, at in zip(self.re_im(value), _of_parts(offset)):
                self.store(part, pointer, at, mask)
            return
        if value.dtype is dt.complex64:
            re, im = map(self.stated, self.re_im(value))
            ref = (f"({im}.to(tl.int32, bitcast=True).to(tl.int64) << 32)"
                   f" | {re}.to(tl.uint32, bitcast=True).to(tl.int64)")
        elif value.dtype is dt.bool_:
            ref = f"{ref}.to(tl.uint8)"
        self.text.put(f"tl.store({_at(pointer, offset)}, {ref}{', ' + mask if mask else ''})")

    def emit(self, op, dtype, args, attr=None):
        if op == "const":
            return Val(self, dtype, number(dtype, attr))
        own = getattr(self, "_" + op, None)
        if own is not None:
            return own(dtype, args, attr)
        refs = [a.ref for a in args]
        if op in _UNITS:
            assembly = f"\"{_UNITS[op]} $0, $1;\", \"=f,f\", [{self.stated(args[0])}], tl.float32, True, 1"
            return self._let(dtype, f"tl.inline_asm_elementwise({assembly})")
        if op in _SIGNS:
            return self._let(dtype, f"{self.stated(args[0], args[1])} {_SIGNS[op]} {refs[1]}")
        return self._let(dtype, f"{_CALLS[op]}({', '.join([self.stated(*args), *refs[1:]])})")

    def _let(self, dtype, expression) -> Val:
        return Val(self, dtype, self.text.let(expression))

    @staticmethod
    def stated(first, *others) -> str:
        """Return the first operand, with its dtype stated if all operands are literals."""
        if _is_literal(first.ref) and all(_is_literal(o.ref) for o in others):
            return f"tl.full([], {first.ref}, {TYPE[first.dtype]})"
        return first.ref

    def _neg(self, dtype, args, attr):
        x = self.stated(*args)
        return self._let(dtype, f"{x} * {number(dtype, -1.0)}" if dtype.is_floating_point else f"{number(dtype, 0)} - {x}")

    def _abs(self, dtype, args, attr):
        plain = not dtype.is_signed and not dtype.is_floating_point
        return args[0] if plain else self._let(dtype, f"tl.abs({self.stated(args[0])})")

    def _not(self, dtype, args, attr):
        return self._let(dtype, f"~{args[0].ref}")

    def _div(self, dtype, args, attr):
        a, b = self.stated(*args), args[1].ref
        return self._let(dtype, f"tl.div_rn({a}, {b})" if dtype is dt.float32 else f"{a} / {b}")

    def _sqrt(self, dtype, args, attr):
        call = "tl.sqrt_rn" if dtype is dt.float32 else "tl.sqrt"
        return self._let(dtype, f"{call}({self.stated(args[0])})")

    def _select(self, dtype, args, attr):
        cond, a, b = args
        return self._let(dtype, f"tl.where({cond.ref}, {self.stated(a, b)}, {b.ref})")

    def _trunc(self, dtype, args, attr):
        x = self.stated(args[0])
        return self._let(dtype, f"tl.where({x} < {number(dtype, 0.0)}, tl.ceil({x}), tl.floor({x}))")

    def _round(self, dtype, args, attr):
        """Add and subtract 2**mantissa, which rounds to the nearest even integer; larger numbers are integers."""
        x = args[0]
        big = 2.0 ** 52 if dtype is dt.float64 else 2.0 ** 23
        near = self.copysign((abs(x) + big) - big, x)
        return self.select(abs(x) < big, near, x)

    def _bitcast(self, dtype, args, attr):
        if TYPE[dtype] == TYPE[args[0].dtype]:
            return self.wrap(dtype, args[0].ref)
        return self._let(dtype, f"{self.stated(args[0])}.to({TYPE[dtype]}, bitcast=True)")

    def _lookup(self, dtype, args, attr):
        """Write a short table as a tree of selections."""
        return Val(self, dtype, self._choose(attr, 0, args[0].ref))

    def _choose(self, words, first, index) -> str:
        if len(words) == 1:
            return number(dt.uint64, words[0])
        half = len(words) // 2
        low, high = self._choose(words[:half], first, index), self._choose(words[half:], first + half, index)
        return self.text.let(f"tl.where({index} < {first + half}, {low}, {high})")

    def _cast(self, dtype, args, attr):
        """Write one conversion. The shared `cast` has handled low precision and bool tests before."""
        x = args[0]
        if x.dtype.is_floating_point and not dtype.is_floating_point:
            return self._to_integer(x, dtype)
        return self._let(dtype, f"{self.stated(x)}.to({TYPE[dtype]})")

    def _to_integer(self, x, dtype):
        """Truncate; nan and values out of range give x86's result: the smallest integer, cut to narrower types."""
        if dtype is dt.uint64:
            small = self._limited(x, dt.int64)
            large = self._limited(x - 2.0 ** 63, dt.int64)
            large = self._let(dt.int64, f"{large.ref} ^ {number(dt.int64, -2 ** 63)}")
            both = self.select(x < 2.0 ** 63, small, large)
            return self._let(dtype, f"{both.ref}.to(tl.uint64, bitcast=True)")
        whole = self._limited(x, dt.int32 if dtype.itemsize < 4 or dtype is dt.int32 else dt.int64)
        return whole if whole.dtype is dtype else self._let(dtype, f"{whole.ref}.to({TYPE[dtype]})")

    def _limited(self, x, via):
        edge = 2.0 ** (8 * via.itemsize - 1)
        inside = self.select((x >= -edge) & (x < edge), x, -edge)
        return self._let(via, f"{inside.ref}.to({TYPE[via]})")

    def rare(self, cond, usual, slow, *operands):
        """Branch around the slow part unless an element needs it. A scalar condition joins a tile: tl.max takes no scalar."""
        several = isinstance(usual, tuple)
        values = usual if several else (usual,)
        names = [self.text.let(f"tl.where({cond.ref}, {v.ref}, {v.ref})") for v in values]
        with self.text.block(f"if tl.max({cond.ref}.to(tl.int32) | tl.zeros([1], tl.int32)) > 0:"):
            made = slow(self, *operands) if operands else slow()
            for name, a, v in zip(names, made if several else (made,), values):
                self.text.put(f"{name} = tl.where({cond.ref}, {a.ref}, {v.ref})")
        out = tuple(self.wrap(v.dtype, n) for v, n in zip(values, names))
        return out if several else out[0]

    def _carried(self, state) -> list:
        """Return names of tiles of one shape that a loop reassigns."""
        names = [self.text.let(self.stated(v)) for v in state]
        for line in of_one_shape(names):
            self.text.put(line)
        return names

    def repeat(self, times, state, step, numbered=False):
        """Write a counted loop; the iteration number is one scalar."""
        names = self._carried(state)
        count = self.text.name("turn") if numbered else "_"
        with self.text.block(f"for {count} in range({times}):"):
            turn = [self._let(dt.int64, f"tl.full([], 0, tl.int64) + {count}")] if numbered else []
            after = step(*turn, *(self.wrap(v.dtype, n) for v, n in zip(state, names)))
            fresh = [v.ref for v in after]
            self.text.put(f"{', '.join(names)} = {', '.join(fresh)}")
        return tuple(self.wrap(v.dtype, n) for v, n in zip(state, names))

    def iterate(self, most, live, state, step):
        """Write a loop that ends when no lane of the tile is live."""
        before = (live, *state)
        names = self._carried(before)
        left = self.text.let(f"tl.full([], {most}, tl.int32)")
        with self.text.block(f"while (tl.max({names[0]}.to(tl.int32) | tl.zeros([1], tl.int32)) > 0) & ({left} > 0):"):
            after = self._lived(tuple(self.wrap(v.dtype, n) for v, n in zip(before, names)), step)
            self.text.put(f"{', '.join(names)} = {', '.join([v.ref for v in after])}")
            self.text.put(f"{left} = {left} - 1")
        return tuple(self.wrap(v.dtype, n) for v, n in zip(state, names[1:]))


def _at(pointer: str, offset: str) -> str:
    return f"{pointer} + ({offset})" if offset else pointer


def _of_parts(offset: str) -> tuple:
    """Return the offsets of a complex number's parts, in elements of a part."""
    return (f"2 * ({offset})", f"2 * ({offset}) + 1") if offset else ("", "1")


def of_one_shape(names) -> list:
    """Return lines that give tiles one shape: a block may reassign a name only to the same shape, and scalars would meet tiles
    there."""
    first, *others = names
    pairs = [(first, x) for x in others] + [(x, first) for x in others]
    return [f"{x} = tl.where({like}.to(tl.float32) == 0, {x}, {x})" for x, like in pairs]


def _is_literal(ref: str) -> bool:
    return ref[0].isdigit() or ref[0] == "-" or ref.startswith("float(")
