"""Reduction tree for every layout, instruction set and thread count.

A reduction over n values k = 0 .. n-1 is cut into chunks of CHUNK. Inside a chunk, value k goes to chain k mod CHAINS; each
chain adds its values in order, starting from the identity; then chain j takes chain j + w for w = CHAINS/2, ..., 1. Chunk
results are combined pairwise in order, as a binary counter does: (0 1)(2 3) -> (0..3), the rest merged from the small end.
Adjacent reduce dims are one run of values; of several runs, the innermost is reduced first, for each point of the others in
row-major order, and its results are combined as if each were a chunk.

So CHAINS independent chains feed vectors of any width, the error grows like that of a pairwise sum, and chunks may run on
any thread. The tree depends on the logical sizes alone.
"""

from .....ir.kernel.kernel import Kernel, Stage
from ...combiners import Fold, folds_of, has_scan
from ..ir.emit import Function
from ..ir.spelling import LlvmBuilder
from ..ir.types import I1, I64, Value, bytes_of, constant
from .nest import Nest

CHAINS = 64
CHUNK = 4096
_LEVELS = 48


class Stack:
    """States in memory: `room` rows of one vector per component."""

    def __init__(self, f: Function, s: LlvmBuilder, folds: list, room: int):
        self.f, self.s, self.folds = f, s, folds
        self.bases = [[f.local(room * s.lanes * 8) for _ in fold.dtypes] for fold in folds]

    def _pointer(self, base, dtype, row):
        return self.f.at(base, self.f.mul(row, bytes_of(self.s.memory(dtype))))

    def store(self, row, states):
        for bases, fold, state in zip(self.bases, self.folds, states):
            for base, dtype, v in zip(bases, fold.dtypes, state):
                self.s.store(v, self._pointer(base, dtype, row))

    def load(self, row) -> list:
        return [tuple(self.s.load(dtype, self._pointer(base, dtype, row)) for base, dtype in zip(bases, fold.dtypes))
                for bases, fold in zip(self.bases, self.folds)]


def folds_with_dtypes(kernel: Kernel, stage: Stage) -> list:
    """Return the folds of a stage; none unless it reduces."""
    kinds = {i.name: i.dtype for i in kernel.instructions()}
    return [Fold(i.attr, kinds[i.args[0]]) for i in folds_of(stage)]


class Sweeps(Nest):
    """A nest of sweeps over the reduce dims. Subclasses fill `memory` and reduce runs of chunks."""

    memory: dict

    def run_of_chunks(self, stage, env, place, counter) -> list:
        """Return the states of a run along the innermost reduce dim."""
        raise NotImplementedError

    def reduce(self, stage, env, place):
        """Return the states of a whole sweep: runs of chunks, and runs of those."""
        outer, counters = self.kernel.reduce[:-1], self.memory[stage][2]
        if not outer:
            return self.run_of_chunks(stage, env, place, counters[0])
        count = self.product(d.extent for d in outer)
        with self.f.loop(0, count) as loop:
            at = place.within(dict(zip((d.name for d in outer), self.indices(loop.index, outer))))
            counters[1].push(loop.index, self.run_of_chunks(stage, env, at, counters[0]))
        return counters[1].finish(count)

    def results(self, s, stage, states) -> dict:
        """Return the values of a sweep's reductions by name."""
        return {i.name: fold.result(s, state) for i, fold, state in zip(folds_of(stage), self.memory[stage][0], states)}


def combine_all(s, folds, a, b):
    """Combine two states of each fold."""
    return [fold.combine(s, x, y) for fold, x, y in zip(folds, a, b)]


def identities(s, folds):
    """Return each fold's state before the first element."""
    return [fold.identity(s) for fold in folds]


def flatten(states) -> list:
    """Return the values of several states in one list."""
    return [v.ref for state in states for v in state]


def unflatten(s, folds, refs) -> list:
    """Return the states of a flat list of values."""
    from_refs = iter(refs)
    return [tuple(s.wrap(d, next(from_refs)) for d in fold.dtypes) for fold in folds]


class Counter:
    """Pairwise combination of states pushed in order, as a binary counter, on a stack of its own or a given one."""

    def __init__(self, f: Function, s: LlvmBuilder, folds: list, stack: Stack | None = None):
        self.f, self.s, self.folds = f, s, folds
        self.stack = stack or Stack(f, s, folds, _LEVELS)

    def run(self, count, make) -> list:
        """Return the combined `make(chunk)` of `count` chunks; a single chunk does not pass through memory."""
        f, s = self.f, self.s
        several = f.compare("sgt", f.index(count), f.index(1))
        with f.loop(0, count, 1, flatten(identities(s, self.folds))) as loop:
            states = make(loop.index)
            with f.when(several):
                self.push(loop.index, states)
            loop.next(*flatten(states))
        refs = f.choose(several, lambda: tuple(flatten(self.finish(count))), lambda: loop.results)
        return unflatten(s, self.folds, refs)

    def push(self, number, states):
        """Add the states of the number-th chunk."""
        f = self.f
        flipped = f.binary("xor", f.index(number), constant(I64, -1))
        level = f.call("llvm.cttz.i64", I64, flipped, Value(I1, "false"))
        with f.loop(0, level, 1, flatten(states)) as loop:
            earlier = self.stack.load(loop.index)
            merged = combine_all(self.s, self.folds, earlier, unflatten(self.s, self.folds, loop.carried))
            loop.next(*flatten(merged))
        self.stack.store(level, unflatten(self.s, self.folds, loop.results))

    def finish(self, count) -> list:
        """Return the result of `count` chunks; the identity for none."""
        f, s = self.f, self.s
        count = f.index(count)
        some = f.compare("sgt", count, f.index(0))
        refs = f.choose(some, lambda: tuple(self._merge(count)), lambda: tuple(flatten(identities(s, self.folds))))
        return unflatten(s, self.folds, refs)

    def _merge(self, count):
        f, s = self.f, self.s
        false = Value(I1, "false")
        first = f.call("llvm.cttz.i64", I64, count, false)
        levels = f.sub(64, f.call("llvm.ctlz.i64", I64, count, false))
        with f.loop(f.add(first, 1), levels, 1, flatten(self.stack.load(first))) as loop:
            now = unflatten(s, self.folds, loop.carried)
            merged = combine_all(s, self.folds, self.stack.load(loop.index), now)
            bit = f.binary("and", f.binary("lshr", count, loop.index), constant(I64, 1))
            there = f.compare("ne", bit, 0)
            loop.next(*(f.select(there, a, b) for a, b in zip(flatten(merged), loop.carried)))
        return loop.results


def fold_vectors(f: Function, s: LlvmBuilder, folds, rows: list) -> list:
    """Fold chains in `rows` of vectors to one-lane states, halves onto halves; missing chains are empty."""
    half = CHAINS // s.lanes
    while half > 1:
        half //= 2
        rows = [combine_all(s, folds, rows[i], rows[i + half]) if i + half < len(rows) else rows[i]
                for i in range(min(half, len(rows)))]
    states = rows[0]
    while s.lanes > 1:
        s = LlvmBuilder(f, s.lanes // 2)
        low, high = ([tuple(_half(f, s, v, start) for v in state) for state in states] for start in (0, s.lanes))
        states = combine_all(s, folds, low, high)
    return states


def _half(f, s, v, start):
    if s.lanes == 1:
        return s.wrap(v.dtype, f.extract(v.ref, start))
    return s.wrap(v.dtype, f.shuffle(v.ref, v.ref, range(start, start + s.lanes)))


__all__ = ["CHAINS", "CHUNK", "Counter", "Fold", "Stack", "Sweeps", "combine_all", "flatten", "fold_vectors", "folds_of",
           "folds_with_dtypes", "has_scan", "identities", "unflatten"]
