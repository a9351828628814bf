"""Kernels with reduce dims, vectors along the last parallel dim: sums over leading dims, softmax over channels, scans.

Each lane is a row of its own and the reduce dims are plain loops, so memory is read in order where the last parallel dim is
contiguous. The chains of the reduction tree are rows of vectors in memory: the same tree as along a row, lane by lane.
A scan keeps a running value per lane, in float64 for floats (rounded at each element), in the dtype for integers.
"""

from ....ir import dtype as dt
from ....ir.kernel import SWEEP, Kernel
from .emit import Module
from .nest import Nest, Where
from .reduce import CHAINS, CHUNK, Counter, Fold, Stack, combine_all, folds_of, identities
from .spelling import LlvmBuilder
from .types import I1, I64, Value

WIDE_LANES = 64  # lanes of a short body: several registers side by side read whole cache lines
SHORT_BODY = 16
PREFETCH_ROWS = 8


class Columns(Nest):
    """Writes the task and the launch of a kernel whose lanes are parallel points."""

    def write(self):
        self.start(self.module.task(f"{self.kernel.name}_task"))
        f, dims = self.f, self.kernel.parallel
        self.width = self.lanes() if self.cost() >= SHORT_BODY else max(self.lanes(), min(WIDE_LANES, 4 * self.lanes()))
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

    def blocks(self):
        return self.f.ceil_div(self.number(self.kernel.parallel[-1].extent), self.width)

    def units(self):
        return self.f.mul(self.product(d.extent for d in self.kernel.parallel[:-1]), self.blocks())

    def prepare(self, stage):
        kinds = {i.name: i.dtype for i in self.kernel.instructions()}
        folds = [Fold(i.attr, kinds[i.args[0]]) for i in folds_of(stage)]
        counters = [Counter(self.f, self.s, folds) for _ in range(min(len(self.kernel.reduce), 2))]
        return folds, Stack(self.f, self.s, folds, CHAINS), counters

    def block(self, place: Where):
        """All stages for one vector of parallel points."""
        env: dict = {}
        for stage in self.kernel.stages:
            if stage.over != SWEEP:
                self.run(self.s, stage.body, env, place)
            elif folds_of(stage):
                states = self.reduce(stage, env, place)
                env |= {i.name: fold.result(state)
                        for i, fold, state in zip(folds_of(stage), self.memory[stage][0], states)}
            else:
                self.each(stage, env, place)

    def each(self, stage, env, place):
        """A sweep that writes, with the running values of its scans."""
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

    def reduce(self, stage, env, place):
        """The states of a whole sweep."""
        f, outer = self.f, self.kernel.reduce[:-1]
        counters = self.memory[stage][2]
        if not outer:
            return self.run_of_chunks(stage, env, place, counters[0])
        count = self.product(d.extent for d in outer)
        with f.loop(0, count) as loop:
            at = place.within(dict(zip((d.name for d in outer), self.indices(loop.index, outer))))
            counters[1].push(loop.index, self.run_of_chunks(stage, env, at, counters[0]))
        return counters[1].finish(count)

    def run_of_chunks(self, stage, env, place, counter):
        f = self.f
        n = self.number(self.kernel.reduce[-1].extent)

        def make(chunk):
            low = f.mul(chunk, CHUNK)
            return self.chunk(stage, env, place, low, f.min(f.add(low, CHUNK), n))

        return counter.run(f.ceil_div(n, CHUNK), make)

    def chunk(self, stage, env, place, low, high):
        """The states of one chunk: chains as rows of memory, then halves onto halves where both hold something."""
        f, s, dim = self.f, self.s, self.kernel.reduce[-1].name
        folds, stack, _ = self.memory[stage]
        count = f.index(f.sub(high, low))
        with f.loop(0, f.min(self.next_power_of_two(count), CHAINS)) as loop:
            stack.store(loop.index, identities(s, folds))
        with f.loop(low, high) as loop:
            at = place.within({dim: loop.index})
            self.prefetch(stage, at, dim)
            found = self.run(s, stage.body, dict(env), at)
            fresh = [(v, self.flat_index(s, at.indices)) if i.attr.startswith("arg") else (v,) for i, v in found]
            row = f.bit_and(f.sub(loop.index, low), CHAINS - 1)
            stack.store(row, combine_all(s, folds, stack.load(row), fresh))
        width = CHAINS // 2
        while width:
            with f.loop(0, f.select(f.compare("sgt", count, f.index(width)), f.index(width), f.index(0))) as loop:
                stack.store(loop.index, combine_all(s, folds, stack.load(loop.index), stack.load(f.add(loop.index, width))))
            width //= 2
        return stack.load(0)

    def prefetch(self, stage, place, dim):
        """Ask for the rows to come: each lies on a page of its own, where the hardware does not look ahead."""
        f = self.f
        for i in stage.body:
            if i.op != "load" or i.args:
                continue
            buffer = self.kernel.buffer(i.attr)
            ahead = f.at(place.bases[i.attr], self.offset(buffer, {dim: PREFETCH_ROWS}), self.element(buffer))
            if place.stride(buffer) == 1:
                for line in range(0, self.width * buffer.dtype.itemsize, 64):
                    f.prefetch(f.at(ahead, line))

    def next_power_of_two(self, count):
        """The smallest power of two that is not below a count of 1 or more."""
        f = self.f
        zeros = f.call("llvm.ctlz.i64", I64, f.index(f.sub(count, 1)), Value(I1, "false"))
        return f.select(f.compare("sgt", count, f.index(1)), f.binary("shl", f.index(1), f.index(f.sub(64, zeros))), f.index(1))

    def flat_index(self, s, indices):
        """The index along all reduce dims, row-major, in every lane."""
        flat = 0
        for d in self.kernel.reduce:
            flat = self.f.add(self.f.mul(flat, self.number(d.extent)), indices[d.name])
        return self.spread(s, LlvmBuilder(self.f, 1).wrap(dt.int64, self.f.index(flat)))


def write(module: Module, kernel: Kernel) -> Nest:
    """Adds the kernel's functions to the module."""
    nest = Columns(module, kernel)
    nest.write()
    return nest
