"""Random programs of collectives beside NumPy: groups, dtypes, layouts, reductions, asynchronous and traced calls.

Every rank draws the same program and the values of all ranks, so it knows what each result must be. Values are small integers,
which every order of additions sums alike.
"""

import itertools
from functools import reduce

import numpy as np

import ingot
from ingot import distributed as dist
from ingot import jit
from ingot.distributed import ReduceOp

_BY_NUMPY = {ReduceOp.SUM: np.add, ReduceOp.AVG: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: np.minimum,
             ReduceOp.MAX: np.maximum, ReduceOp.BAND: np.bitwise_and, ReduceOp.BOR: np.bitwise_or,
             ReduceOp.BXOR: np.bitwise_xor}
ON_BITS = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
_OPS = {"f": [op for op in _BY_NUMPY if op not in ON_BITS], "c": [ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT],
        "i": [op for op in _BY_NUMPY if op is not ReduceOp.AVG]}
_KINDS = ("f4", "f8", "i8", "i4", "u1", "i1", "i2", "?", "c8")
_SHAPES = ((), (0,), (1,), (7,), (3, 5), (0, 4), (2, 3, 4))
_LARGE = ((5000,), (70, 90), (40_000,), (200_000,))
_MOST_GROUPS = 6
_MOST_PENDING = 4


def _transposed(a):
    return np.ascontiguousarray(a.T).T


def _spread(a):
    """Return every other row of memory."""
    memory = np.zeros((2 * a.shape[0], *a.shape[1:]), a.dtype)
    memory[::2] = a
    return memory[::2]


def _shifted(a):
    """Return memory that starts at no boundary."""
    memory = np.zeros(a.size + 3, a.dtype)[3:].reshape(a.shape)
    memory[...] = a
    return memory


_LAYOUTS = (np.array, _transposed, _spread, _shifted)


class _Case:
    """One collective of a group. `values[i][j]` is the array that position i has for position j."""

    def __init__(self, rng, group, members, shapes, kinds, unknown_ops):
        self.group, self.members, self.n = group, members, len(members)
        self.kind = np.dtype(kinds[rng.integers(len(kinds))])
        self.name = [*COLLECTIVES][rng.integers(len(COLLECTIVES))]
        self.shape = shapes[rng.integers(len(shapes))]
        if self.name in OF_ROWS and not self.shape:
            self.shape = (1,)
        ops = [op for op in _OPS.get(self.kind.kind, _OPS["i"]) if op not in unknown_ops]
        self.op, self.root = ops[rng.integers(len(ops))], int(rng.integers(self.n))
        self.is_async, self.is_traced = rng.random() < 0.3, rng.random() < 0.2
        least = 0 if self.kind.kind in "u?" else -3
        self.values = rng.integers(least, 4, (self.n, self.n, *self.shape)).astype(self.kind)
        self._layouts = itertools.cycle(rng.integers(len(_LAYOUTS), size=8))

    def __str__(self):
        return f"{self.name} of {self.members}, {self.kind} {self.shape}, {self.op}, root {self.root}, async {self.is_async}"

    def settle(self, rank: int, place):
        """Choose the rank that the case is seen from, and where its tensors are."""
        self.me, self.place = self.members.index(rank), place
        self.is_root, self.root_rank = self.me == self.root, self.members[self.root]

    def tensor(self, a):
        layout = _LAYOUTS[next(self._layouts)]
        return self.place(ingot.from_numpy(layout(a) if a.ndim else np.array(a)))

    def tensors(self, arrays) -> list:
        return [self.tensor(a) for a in arrays]

    def room(self):
        return self.tensor(np.zeros(self.shape, self.kind))

    def rooms(self) -> list:
        return [self.room() for _ in self.members]

    def wide_room(self):
        return self.tensor(np.zeros((self.n * self.shape[0], *self.shape[1:]), self.kind))

    def combined(self, position):
        """Return the combination of what all have for a position."""
        total = reduce(_BY_NUMPY[self.op], self.values[:, position])
        return np.asarray(total / self.n if self.op is ReduceOp.AVG else total).astype(self.kind)


# Each returns a call that may be asynchronous, the tensors that it is given, those that it fills, and their values.


def _all_reduce(c):
    x = c.tensor(c.values[c.me, 0])
    return lambda x, **how: dist.all_reduce(x, c.op, **how), [x], [x], [c.combined(0)]


def _reduce(c):
    x = c.tensor(c.values[c.me, 0])
    wanted = c.combined(0) if c.is_root else c.values[c.me, 0]
    return lambda x, **how: dist.reduce(x, c.root_rank, c.op, **how), [x], [x], [wanted]


def _broadcast(c):
    x = c.tensor(c.values[c.me, 0])
    return lambda x, **how: dist.broadcast(x, c.root_rank, **how), [x], [x], [c.values[c.root, 0]]


def _all_gather(c):
    x, outs = c.tensor(c.values[c.me, 0]), c.rooms()
    return lambda x, *outs, **how: dist.all_gather([*outs], x, **how), [x, *outs], outs, [*c.values[:, 0]]


def _all_gather_into_tensor(c):
    x, out = c.tensor(c.values[c.me, 0]), c.wide_room()
    return lambda x, out, **how: dist.all_gather_into_tensor(out, x, **how), [x, out], [out], [np.concatenate(c.values[:, 0])]


def _gather(c):
    x, outs = c.tensor(c.values[c.me, 0]), c.rooms() if c.is_root else []
    wanted = c.values[:, 0] if c.is_root else ()
    return lambda x, *outs, **how: dist.gather(x, [*outs], c.root_rank, **how), [x, *outs], outs, [*wanted]


def _scatter(c):
    xs, out = c.tensors(c.values[c.me]) if c.is_root else [], c.room()
    return lambda out, *xs, **how: dist.scatter(out, [*xs], c.root_rank, **how), [out, *xs], [out], [c.values[c.root, c.me]]


def _reduce_scatter(c):
    xs, out = c.tensors(c.values[c.me]), c.room()
    return lambda out, *xs, **how: dist.reduce_scatter(out, [*xs], c.op, **how), [out, *xs], [out], [c.combined(c.me)]


def _reduce_scatter_tensor(c):
    x, out = c.tensor(np.concatenate(c.values[c.me])), c.room()
    return lambda out, x, **how: dist.reduce_scatter_tensor(out, x, c.op, **how), [out, x], [out], [c.combined(c.me)]


def _all_to_all(c):
    xs, outs = c.tensors(c.values[c.me]), c.rooms()
    return (lambda *both, **how: dist.all_to_all([*both[:c.n]], [*both[c.n:]], **how), [*outs, *xs], outs,
            [*c.values[:, c.me]])


def _all_to_all_single(c):
    x, out = c.tensor(np.concatenate(c.values[c.me])), c.wide_room()
    return (lambda out, x, **how: dist.all_to_all_single(out, x, **how), [out, x], [out],
            [np.concatenate(c.values[:, c.me])])


COLLECTIVES = {"all_reduce": _all_reduce, "reduce": _reduce, "broadcast": _broadcast, "all_gather": _all_gather,
               "all_gather_into_tensor": _all_gather_into_tensor, "gather": _gather, "scatter": _scatter,
               "reduce_scatter": _reduce_scatter, "reduce_scatter_tensor": _reduce_scatter_tensor, "all_to_all": _all_to_all,
               "all_to_all_single": _all_to_all_single}
OF_ROWS = ("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single")


def _groups() -> list:
    """Return (group, ranks): all ranks, and some of them."""
    ranks = range(dist.get_world_size())
    some = [list(c) for k in range(2, len(ranks)) for c in itertools.combinations(ranks, k)]
    return [(dist.group.WORLD, [*ranks]), *[(dist.new_group(members), members) for members in some[:_MOST_GROUPS]]]


def _started(case):
    """Begin a collective; return its work, or None if it is done, with what it fills and the values of that."""
    call, given, outs, wanted = COLLECTIVES[case.name](case)
    if case.is_async:
        return call(*given, group=case.group, async_op=True), outs, wanted
    if case.is_traced:
        traced = jit.trace(lambda *given: (call(*given, group=case.group), None)[1])
        traced(*[t.clone() for t in given])         # records; the next call replays, unless the layout is another one
        traced(*given)
        return None, outs, wanted
    return call(*given, group=case.group), outs, wanted


def run(seed: int, count: int, place=lambda t: t, shapes=_SHAPES + _LARGE, kinds=_KINDS, unknown_ops=(), averages_round=False):
    """Run a program of so many collectives, and check what each has filled. With `averages_round` values are divided before
    they are added."""
    rng, groups, pending = np.random.default_rng(seed), _groups(), []
    for number in range(count):
        group, members = groups[rng.integers(len(groups))]
        case = _Case(rng, group, members, shapes, kinds, unknown_ops)
        if dist.get_rank() not in members:
            continue
        case.settle(dist.get_rank(), place)
        pending.append((f"seed {seed}, number {number}: {case}", case.op, *_started(case)))
        if len(pending) == _MOST_PENDING or number == count - 1:
            _check(pending, averages_round)
            pending.clear()
    _check(pending, averages_round)


def _check(pending, averages_round: bool):
    for said, op, work, outs, wanted in pending:
        if work is not None:
            work.wait()
        for out, values in zip(outs, wanted, strict=True):
            found = out.cpu().numpy()
            is_near = op is ReduceOp.AVG and averages_round
            is_same = np.allclose(found, values, rtol=1e-6, atol=1e-6) if is_near else np.array_equal(found, values)
            assert found.dtype == values.dtype and is_same, f"rank {dist.get_rank()}, {said}"
