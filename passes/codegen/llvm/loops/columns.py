"""Kernels with reduce dims, vectors along the last parallel dim: sums over leading dims, softmax over channels, scans.

Each lane is a row of its own and the reduce dims are plain loops, so memory is read in order if the last parallel dim is
contiguous. The chains of the reduction tree are rows of vectors in memory: the tree of a row, lane by lane. A scan keeps a
running value per lane, in float64 for floats (rounded at each element), in the dtype for integers.
"""

from .....ir import dtype as dt
from .....ir.kernel.kernel import SWEEP, Kernel
from ...cost import kernel_cost
from ..ir.memory_types import memory_element
from ..ir.spelling import LlvmBuilder
from .nest import Where
from .reduce import CHAINS, CHUNK, Counter, Fold, Stack, Sweeps, combine_all, folds_of, folds_with_dtypes, identities

WIDE_LANES = 64  # lanes of a short body: several registers side by side read whole cache lines
SHORT_BODY = 16
PREFETCH_ROWS = 8
FEW = 32            # parallel points up to which one vector at a time is enough


class Columns(Sweeps):
    """A nest whose lanes are parallel points."""

    def write(self):
        self.start(self.module.task(f"{self.kernel.name}_task"))
        f, dims = self.f, self.kernel.parallel
        self.width = self.wide()
        self.s = LlvmBuilder(f, self.width)
        self.memory = {stage: self.prepare(stage) for stage in self.kernel.stages if folds_of(stage)}
        low, high = self.share(self.units())
        with f.loop(low, high) as loop:
            blocks = self.blocks()
            outer = dict(zip((d.name for d in dims[:-1]), self.indices(f.div(loop.index, blocks), dims[:-1])))
            first = f.mul(f.mod(loop.index, blocks), self.width)
            mask = f.mask(f.sub(self.number(dims[-1].extent), first), self.width)
            self.block(Where(self, outer | {dims[-1].name: first}, dims[-1].name, mask))
        f.ret()
        self.launch(self.units, lambda: self.product(d.extent for d in self.kernel.dims))

    def wide(self) -> int:
        """Return the parallel points computed side by side."""
        return self.lanes() if self.cost() >= SHORT_BODY else max(self.lanes(), min(WIDE_LANES, 4 * self.lanes()))

    def blocks(self):
        return self.f.ceil_div(self.number(self.kernel.parallel[-1].extent), self.width)

    def units(self):
        return self.f.mul(self.product(d.extent for d in self.kernel.parallel[:-1]), self.blocks())

    def prepare(self, stage):
        folds = folds_with_dtypes(self.kernel, stage)
        counters = [Counter(self.f, self.s, folds) for _ in range(min(len(self.kernel.reduce), 2))]
        return folds, Stack(self.f, self.s, folds, CHAINS), counters

    def block(self, place: Where):
        """Write all stages for one vector of parallel points."""
        env: dict = {}
        for stage in self.kernel.stages:
            if stage.over != SWEEP:
                self.run(self.s, stage.body, env, place)
            elif folds_of(stage):
                env |= self.results(self.s, stage, self.reduce(stage, env, place))
            else:
                self.each(stage, env, place)

    def each(self, stage, env, place):
        """Write a sweep that stores, with the running values of its scans."""
        f, s, dims = self.f, self.s, self.kernel.reduce
        scans = [i for i in stage.body if i.op == "scan"]
        folds = [Fold(i.attr, dt.float64 if i.dtype.is_floating_point else i.dtype) for i in scans]
        start = [v.ref for state in identities(s, folds) for v in state]
        with f.loop(0, self.product(d.extent for d in dims), 1, start) as loop:
            running = {i.name: s.wrap(fold.dtype, ref) for i, fold, ref in zip(scans, folds, loop.carried)}
            by_name = dict(zip((i.name for i in scans), folds))

            def advance(i, value):
                fold = by_name[i.name]
                running[i.name], = fold.combine(s, (running[i.name],), (s.cast(value, fold.dtype),))
                return s.cast(running[i.name], i.dtype)

            at = dict(zip((d.name for d in dims), self.indices(loop.index, dims)))
            self.run(s, stage.body, dict(env), place.within(at, scan=advance))
            loop.next(*(running[i.name].ref for i in scans))

    def run_of_chunks(self, stage, env, place, counter):
        f = self.f
        n = self.number(self.kernel.reduce[-1].extent)

        def make(chunk):
            low = f.mul(chunk, CHUNK)
            return self.chunk(stage, env, place, low, f.min(f.add(low, CHUNK), n))

        return counter.run(f.ceil_div(n, CHUNK), make)

    def chunk(self, stage, env, place, low, high):
        """Return the states of one chunk: chains as rows of memory, then halves joined where both hold values."""
        f, s = self.f, self.s
        folds, stack, _ = self.memory[stage]
        count = f.index(f.sub(high, low))
        begun = f.min(count, CHAINS) if self.cost() < SHORT_BODY else f.index(0)
        with f.loop(begun, f.min(self.next_power_of_two(count), CHAINS)) as loop:
            stack.store(loop.index, identities(s, folds))
        if self.cost() < SHORT_BODY:
            with f.loop(0, begun) as loop:
                fresh = self.contribution(stage, env, place, f.add(low, loop.index))
                stack.store(loop.index, combine_all(s, folds, identities(s, folds), fresh))
        with f.loop(f.add(low, begun), high) as loop:
            fresh = self.contribution(stage, env, place, loop.index)
            row = f.bit_and(f.sub(loop.index, low), CHAINS - 1)
            stack.store(row, combine_all(s, folds, stack.load(row), fresh))
        self.fold_chains(folds, stack, count)
        return stack.load(0)

    def contribution(self, stage, env, place, at):
        """Return the states that one element of each lane adds."""
        s, dim = self.s, self.kernel.reduce[-1].name
        where = place.within({dim: at})
        self.prefetch(stage, where, dim)
        found = self.run(s, stage.body, dict(env), where)
        return [(v, self.flat_reduce_index(s, where.indices)) if i.attr.startswith("arg") else s.pieces(v) for i, v in found]

    def fold_chains(self, folds, stack, count):
        """Join halves of chains where both hold values; two levels at once if all chains do."""
        f = self.f

        def halves(width, steps):
            rows = f.index(width)
            if steps == 1:
                rows = f.select(f.compare("sgt", count, rows), rows, f.index(0))
            with f.loop(0, rows) as loop:
                parts = [stack.load(f.add(loop.index, n * width)) for n in range(2 ** steps)]
                while len(parts) > 1:
                    half = len(parts) // 2
                    parts = [combine_all(self.s, folds, a, b) for a, b in zip(parts[:half], parts[half:])]
                stack.store(loop.index, parts[0])

        def one_by_one():
            width = CHAINS // 2
            while width:
                halves(width, 1)
                width //= 2

        def by_twos():
            width = CHAINS // 4
            while width:
                halves(width, 2)
                width //= 4

        f.choose(f.compare("sge", count, f.index(CHAINS)), by_twos, one_by_one)

    def prefetch(self, stage, place, dim):
        """Prefetch following rows: each is on a page of its own, where hardware prefetching stops."""
        f = self.f
        for i in stage.body:
            if i.op != "load" or i.args:
                continue
            buffer = self.kernel.buffer(i.attr)
            ahead = f.at(place.bases[i.attr], self.offset(buffer, {dim: PREFETCH_ROWS}), memory_element(buffer.dtype))
            if place.stride(buffer) == 1:
                for line in range(0, self.width * buffer.dtype.itemsize, 64):
                    f.prefetch(f.at(ahead, line))


class FewColumns(Columns):
    """A nest over few parallel points with a short body: one vector of lanes, since more registers would be masked."""

    def wide(self) -> int:
        return self.lanes()


def are_few(kernel: Kernel, across: int) -> bool:
    """Return whether `FewColumns` should write a kernel over `across` adjacent parallel points."""
    return across <= FEW and kernel_cost(kernel) < SHORT_BODY
