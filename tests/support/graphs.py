"""Random graphs, for fuzzing printers, passes and compilers: `random_graph(rng)` and inputs that fit with `arrays_for`."""

import textwrap

import numpy as np

from graph_interpreter import interpret
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder, Graph, Value
from ingot.ir.graph.text import parse
from ingot.ir.graph.verify import verify
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core import reduce, shape
from ingot.ir.ops.linalg import products
from ingot.ir.symbols.scope import Scope

FLOATS = (dt.float64, dt.float32)
UNARY = (ew.neg, ew.abs_, ew.tanh, ew.exp, ew.square, ew.floor, ew.sin, ew.sigmoid, ew.sqrt, ew.sign, ew.copy, ew.round_)
BINARY = (ew.add, ew.sub, ew.mul, ew.div, ew.maximum, ew.minimum, ew.atan2, ew.add, ew.mul)
COMPARE = (ew.eq, ew.ne, ew.lt, ew.le, ew.gt, ew.ge)
LOGIC = (ew.logical_and, ew.logical_or, ew.logical_xor)
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, float("inf"), float("nan"))
LINES = tuple((f"/home/someone/model {i}.py", 7 * i) for i in range(1, 5))


class _Maker:
    """Appends random nodes to a builder; keeps the values made so far."""

    def __init__(self, rng, kinds):
        self.rng = rng
        self.builder = Builder("fuzz")
        self.values: list[Value] = []
        self.kinds = kinds

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def value(self, options):
        """One of some values; the newest are picked more often, so that chains grow."""
        return self.pick(options[-3:] if self.rng.random() < 0.5 else options)

    def shape(self):
        return tuple(int(n) for n in self.rng.choice([1, 1, 2, 3, 4, 0], size=int(self.rng.integers(0, 4)),
                                                     p=[0.2, 0.2, 0.25, 0.2, 0.13, 0.02]))

    def floats(self):
        return [v for v in self.values if v.dtype.is_floating_point]

    def bools(self):
        return [v for v in self.values if v.dtype is dt.bool_]

    def partner(self, x):
        """A number, or a value that broadcasts with x and has its dtype."""
        if self.rng.random() < 0.25:
            return self.pick(NUMBERS)
        fitting = [v for v in self.floats() if v.dtype is x.dtype and _broadcast(v.shape, x.shape)]
        return self.value(fitting)

    def step(self):
        return getattr(self, self.pick(self.kinds))()

    def unary(self):
        return self.pick(UNARY)(self.value(self.floats()))

    def binary(self):
        x = self.value(self.floats())
        pair = (x, self.partner(x))
        return self.pick(BINARY)(*(pair if self.rng.random() < 0.7 else pair[::-1]))

    def twice(self):
        """One operation on the result of another of its kind, with a number that may do nothing."""
        kind = int(self.rng.integers(5))
        x = self.value(self.floats())
        if kind == 0:
            return self.pick((ew.neg, ew.abs_, ew.square))(self.pick((ew.neg, ew.abs_, ew.floor))(x))
        if kind == 1:
            return self.pick((ew.add, ew.sub, ew.mul, ew.div, ew.maximum))(x, self.pick((0.0, -0.0, 1.0, x)))
        if kind == 2:
            return ew.cast(ew.cast(x, dtype=self.pick((dt.float16, dt.float32, dt.float64, dt.bfloat16))), dtype=dt.float64)
        if kind == 3:
            return ew.logical_not(self.pick(COMPARE)(x, self.partner(x)))
        return self.pick((ew.add, ew.sub, ew.mul, ew.div))(x, ew.neg(self.pick([v for v in self.floats() if v.aval == x.aval])))

    def views(self):
        """Two views of one kind after each other."""
        x = self.value(self.floats())
        if self.rng.random() < 0.6 or not x.ndim:
            orders = [tuple(int(i) for i in self.rng.permutation(x.ndim)) for _ in range(2)]
            return shape.permute(shape.permute(x, dims=orders[0]), dims=orders[1])
        y = self.slice(x)
        d, n = y.node.params["dim"], y.shape[y.node.params["dim"]]
        return shape.slice_(y, dim=d, start=min(1, n), stop=n, step=int(self.rng.integers(1, 3)))

    def repeat(self):
        """The same operation once more, for CSE to find."""
        made = [n for n in self.builder.nodes if n.is_pure]
        if not made:
            return self.unary()
        n = self.pick(made)
        return self.builder.add_exactly(n.op, n.inputs, n.params).output

    def compare(self):
        x = self.value(self.floats())
        return self.pick(COMPARE)(x, self.partner(x))

    def logic(self):
        if not self.bools():
            return self.compare()
        x = self.value(self.bools())
        if self.rng.random() < 0.4:
            return ew.logical_not(x)
        return self.pick(LOGIC)(x, self.pick([v for v in self.bools() if _broadcast(v.shape, x.shape)]))

    def choice(self):
        x = self.value(self.floats())
        y = self.partner(x)
        both = np.broadcast_shapes(x.shape, y.shape if isinstance(y, Value) else ())
        fitting = [v for v in self.bools() if _broadcast(v.shape, both)]
        return ew.where(self.value(fitting), x, y) if fitting else self.compare()

    def cast(self):
        return ew.cast(self.value(self.values), dtype=self.pick(FLOATS))

    def literal(self):
        if self.rng.random() < 0.5:
            return self.builder.call(shape.full, None, shape=self.shape(), value=self.pick(NUMBERS), dtype=self.pick(FLOATS))
        return self.builder.constant(self.rng.standard_normal(self.shape()))

    def view(self):
        x = self.value(self.values)
        kind = int(self.rng.integers(5))
        if kind == 0:
            return shape.permute(x, dims=tuple(int(i) for i in self.rng.permutation(x.ndim)))
        if kind == 1:
            return shape.reshape(x, shape=self.pick(((x.aval.size,), (1, x.aval.size), x.shape, (*x.shape, 1))))
        if kind == 2:
            return shape.expand(x, shape=(2, *(3 if n == 1 else n for n in x.shape)) if x.ndim < 3 else x.shape)
        if kind == 3 and x.ndim:
            return self.slice(x)
        return x if x.is_input else ew.copy(x)

    def slice(self, x):
        d = int(self.rng.integers(x.ndim))
        n = x.shape[d]
        start = int(self.rng.integers(n + 1))
        return shape.slice_(x, dim=d, start=start, stop=int(self.rng.integers(start, n + 1)), step=int(self.rng.integers(1, 3)))

    def reduction(self):
        x = self.value(self.floats())
        dims = tuple(i for i in range(x.ndim) if self.rng.random() < 0.5 and x.shape[i])
        op = self.pick((reduce.sum_, reduce.amax, reduce.amin))
        return op(x, dim=dims, keepdim=bool(self.rng.integers(2))) if dims else self.unary()

    def product(self):
        fitting = [v for v in self.floats() if v.ndim == 2]
        if not fitting:
            return self.unary()
        x = self.value(fitting)
        y = self.pick([v for v in fitting if v.dtype is x.dtype and v.shape[1] == x.shape[1]])
        return products.matmul(x, shape.permute(y, dims=(1, 0)))


KINDS = ("unary", "binary", "binary", "repeat", "compare", "logic", "choice", "cast", "literal", "view", "views", "reduction",
         "product", "twice", "twice")
SMOOTH = ("smooth", "affine", "smooth", "affine", "view", "total")


class _SmoothMaker(_Maker):
    """Only operations whose gradient a difference quotient can see."""

    def smooth(self):
        return self.pick((ew.tanh, ew.sin, ew.sigmoid, ew.neg))(self.value(self.floats()))

    def affine(self):
        x = self.value(self.floats())
        y = self.pick([v for v in self.floats() if v.dtype is x.dtype and _broadcast(v.shape, x.shape)])
        return self.pick((ew.add, ew.sub, ew.mul))(x, y)

    def total(self):
        x = self.value(self.floats())
        dims = tuple(i for i in range(x.ndim) if self.rng.random() < 0.5)
        return reduce.sum_(x, dim=dims, keepdim=True) if dims else self.smooth()


def _broadcast(a, b):
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1]))


def random_graph(rng, nodes: int = 20, *, updates: bool = True, smooth: bool = False) -> Graph:
    """A graph of about `nodes` operations on a few inputs, with repeated and dead code, updates and users' lines."""
    maker = (_SmoothMaker if smooth else _Maker)(rng, SMOOTH if smooth else KINDS)
    b = maker.builder
    for i in range(int(rng.integers(1, 5))):
        maker.values.append(b.input(f"x{i}", Aval(maker.shape(), dt.float64 if smooth else maker.pick(FLOATS))))
    while len(b.nodes) < nodes:
        b.line = maker.pick((None, *LINES))
        v = maker.step()
        if v.aval.size <= 4096:
            maker.values.append(v)
    if updates:
        _random_updates(maker)
    outputs = [maker.pick(maker.floats()) for _ in range(int(rng.integers(1, 4)))]
    if rng.random() < 0.6 and not smooth:
        read = {x for n in b.nodes for x in n.inputs if isinstance(x, Value)}
        outputs += [v for v in maker.values if v not in read]    # nothing is dead
    return b.finish(outputs)


def _random_updates(maker):
    for x in list(maker.builder.inputs):
        fitting = [v for v in maker.values if v.aval == x.aval]
        if maker.rng.random() < 0.4:
            maker.builder.update(x, maker.pick(fitting))


def arrays_for(graph: Graph, rng, *, special: bool = True) -> list:
    """Inputs for a graph: normal numbers, and among them signed zeros, infinities and nan if `special`."""
    arrays = []
    for v in graph.inputs:
        a = rng.standard_normal(v.shape)
        if special and a.size:
            hit = rng.random(v.shape) < 0.2
            a = np.where(hit, rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], size=v.shape), a)
        if v.dtype is dt.bool_:
            a = np.asarray(a > 0)
        elif v.dtype.is_integer:
            a = np.nan_to_num(a, posinf=7, neginf=-7) * 9
        arrays.append(np.asarray(a).astype(v.dtype.np))
    return arrays


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays hold the same values bit by bit (any nan equals any nan)."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if dt.from_numpy(a.dtype).is_floating_point:
        a, b = a.astype(np.float64), b.astype(np.float64)
        return bool(((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)).all())
    return bool(((a == b) | (a != a) & (b != b)).all())


# Properties of every pass.


def graph_of(text: str) -> Graph:
    """The graph of an indented text."""
    return verify(parse(textwrap.dedent(text).strip()))


def check_rewrite(one, before: str, after: str):
    """`one` turns the text `before` into `after`; what it computes stays bit by bit; a second run changes nothing."""
    source, wanted = graph_of(before), graph_of(after)
    got = verify(one(source))
    assert str(got) == str(wanted), f"got\n{got}\nwanted\n{wanted}"
    assert one(got) is got, "a second run changed something"
    check_same_meaning(source, got, seed=0)


def check_untouched(one, text: str):
    """`one` returns the very graph of `text`."""
    g = graph_of(text)
    got = one(g)
    assert got is g, f"changed to\n{got}"


def check_same_meaning(before: Graph, after: Graph, seed: int, *, exact: bool = True):
    """Both graphs give the same outputs and leave the same contents in written inputs."""
    arrays = arrays_for(before, np.random.default_rng(seed))
    contents = {v.name: a for v, a in zip(before.inputs, arrays)}
    first, second = interpret(before, arrays), interpret(after, arrays)
    pairs = list(zip(first.outputs, second.outputs, strict=True))
    pairs += [(first.updates.get(n, a), second.updates.get(n, a)) for n, a in contents.items()]
    for a, b in pairs:
        if exact:
            assert same_bits(a, b), f"seed {seed}: {a} != {b}\n{before}\n{after}"
        else:
            a, b = a.astype(np.float64), b.astype(np.float64)
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=f"seed {seed}\n{before}")


def graph_of_sizes() -> Graph:
    """A graph with symbolic sizes b (4) and seq_len (6), and a number n (0.5)."""
    scope = Scope()
    b, s, n = scope.size("b", 4), scope.size("seq_len", 6), scope.number("n", 0.5)
    g = Builder("sizes")
    x = g.input("x", Aval((b, s, 8), dt.float32))
    y = ew.mul(ew.div(x, b * s), n * 2 - 1)
    y = shape.reshape(y, shape=(b * s, 8))
    y = shape.slice_(y, dim=0, start=b - 1, stop=b * s, step=2)
    y = ew.add(y, b)
    counted = g.call(shape.iota, None, shape=((b + 1) // 2,), dim=0, dtype=dt.int64)
    return g.finish([reduce.sum_(y, dim=(1,), keepdim=False), counted])
