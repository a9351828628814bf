"""Builder of kernels by hand: stages as `with` blocks, values that read like arithmetic.

k = KernelBuilder("row_sum")
i, r = k.parallel("i", "rows"), k.reduce("k", "cols")
x = k.input("x", float32, ("xs", 1))
y = k.output("y", float32, (1, 0))
with k.sweep():
    total = k.fold("sum", k.load(x))
with k.point():
    k.store(total, y)
kernel = k.build()
"""

from contextlib import contextmanager
from functools import partial

from .. import dtype as dt
from ..ops.core import elementwise
from .kernel import POINT, SWEEP, Buffer, Dim, Instr, Kernel, Stage, verify


def _operator(fn: str, flipped=False):
    """Return a method that calls a scalar function of a value and another operand."""
    def call(self, other):
        return self.builder.call(fn, other, self) if flipped else self.builder.call(fn, self, other)

    return call


class Name:
    """A value of a kernel being built. Python numbers beside it become constants of its dtype."""

    __slots__ = ("builder", "dtype", "name")

    def __init__(self, builder, name, dtype):
        self.builder, self.name, self.dtype = builder, name, dtype

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", True)

    def __neg__(self):
        return self.builder.call("neg", self)

    def to(self, dtype):
        if dtype is self.dtype:
            return self
        return self.builder.append("cast", dtype, (self,))


BOOL_RESULTS = frozenset([op.name for op in vars(elementwise).values() if "gives_bool" in getattr(op, "traits", ())])
_OF_PARTS = frozenset({"real", "imag", "modulus"})


def result_of(fn: str, kind: dt.DType) -> dt.DType:
    """Return the result dtype of a scalar function of values of a dtype."""
    if fn in BOOL_RESULTS:
        return dt.bool_
    if fn in _OF_PARTS:
        return dt.PARTS[kind]
    return dt.WHOLES[kind] if fn == "complex" else kind


class Functions:
    """The scalar functions as attributes: `k.fn.exp(x)`."""

    def __init__(self, builder):
        self._builder = builder

    def __getattr__(self, name):
        return partial(self._builder.call, name)


class KernelBuilder:
    """Collects dims, buffers and stages; `build()` verifies. `fn` writes scalar functions."""

    def __init__(self, name: str):
        self.name = name
        self.fn = Functions(self)
        self.dims: list[Dim] = []
        self.buffers: list[Buffer] = []
        self.stages: list[Stage] = []
        self._body: list[Instr] = []
        self._count = 0

    def parallel(self, name, extent):
        self.dims.append(Dim(name, extent))
        return name

    def reduce(self, name, extent):
        self.dims.append(Dim(name, extent, True))
        return name

    def input(self, name, dtype, strides):
        return self._buffer(name, dtype, strides, "in")

    def output(self, name, dtype, strides):
        return self._buffer(name, dtype, strides, "out")

    def _buffer(self, name, dtype, strides, role):
        self.buffers.append(Buffer(name, dtype, tuple(strides), role))
        return name

    @contextmanager
    def _stage(self, over):
        self._body = []
        yield
        self.stages.append(Stage(over, tuple(self._body)))

    def point(self):
        """Open a stage that runs once per parallel point."""
        return self._stage(POINT)

    def sweep(self):
        """Open a stage over the reduce dims."""
        return self._stage(SWEEP)

    def append(self, op, dtype, args=(), attr=None) -> Name:
        """Append any instruction."""
        name = f"v{self._count}"
        self._count += 1
        self._body.append(Instr(name, op, dtype, tuple(a.name for a in args), attr))
        return Name(self, name, dtype)

    def const(self, dtype, number):
        return self.append("const", dtype, (), number)

    def load(self, buffer, **at):
        """Load an element; `at` replaces the loop's index in named dims by i64 values."""
        dtype = next(b.dtype for b in self.buffers if b.name == buffer)
        return self.append("load", dtype, tuple(at.values()), (buffer, *at) if at else buffer)

    def store(self, value, buffer):
        self.append("store", value.dtype, (value,), buffer)

    def index(self, dim):
        return self.append("index", dt.int64, (), dim)

    def size(self, dim):
        return self.append("size", dt.int64, (), dim)

    def fold(self, kind, value):
        """Reduce `value` over the sweep."""
        return self.append("reduce", dt.int64 if kind.startswith("arg") else value.dtype, (value,), kind)

    def scan(self, kind, value):
        """Return the running fold of `value` over the sweep."""
        return self.append("scan", value.dtype, (value,), kind)

    def call(self, fn: str, *args):
        """Call a scalar function by name; numbers take the dtype of the last value argument."""
        kind = next(a.dtype for a in reversed(args) if isinstance(a, Name))
        values = [a if isinstance(a, Name) else self.const(kind, a) for a in args]
        return self.append(fn, result_of(fn, kind), tuple(values))

    def build(self) -> Kernel:
        return verify(Kernel(self.name, tuple(self.dims), tuple(self.buffers), tuple(self.stages)))
