"""Kernels with reduce dims, vectors along the innermost of them: softmax, norms, losses, row sums, full reductions.

One parallel point (a row) follows the other, each in as many sweeps as the kernel has, so a row that fits the cache is read
from memory once. A short sweep keeps its chains in registers, one copy of the body per register; a long one keeps them in
memory and is written once.

A kernel of one sweep over few long rows spreads the chunks of a row over threads. Their states wait on the launch's stack in
groups of 1, 2, 4, ... chunks, as large as needed for all states to fit. A group's state is a node of the tree that combines
chunks, so groups change no bit. The second sweep works in the cache while memory is idle, so it prefetches the next row.
"""

from .....ir.kernel.kernel import SWEEP
from ...cost import instr_cost
from ..ir.memory_types import memory_element
from ..ir.spelling import LlvmBuilder
from ..ir.types import I64, PTR, VOID
from .nest import Where
from .reduce import (
    CHAINS,
    CHUNK,
    Counter,
    Stack,
    Sweeps,
    combine_all,
    flatten,
    fold_vectors,
    folds_of,
    folds_with_dtypes,
    identities,
    unflatten,
)

LONG_SWEEP = 40  # instructions from which chains live in memory
LONG_ROW = 1 << 16  # elements of a row above which the next one would push this one out of the caches
SPLIT_CHUNKS = 16  # chunks of a row from which it may be shared between threads
SPLIT_ROWS = 8  # below this many rows
SPLIT_WORDS = 4096  # of the launch's stack, for the states of groups


class Rows(Sweeps):
    """A nest whose lanes run along its innermost reduce dim."""

    def write(self):
        self.task(f"{self.kernel.name}_task")
        if self.splittable():
            self.partial_task()
            self.task(f"{self.kernel.name}_finish", stored=True)
        self.write_launch()

    def rows(self):
        return self.product(d.extent for d in self.kernel.parallel)

    def inner(self):
        return self.number(self.kernel.reduce[-1].extent)

    def task(self, name, stored=False):
        """Write a task over rows; `stored` says that a partial task left the states of the first sweep's groups."""
        self.start(self.module.task(name))
        f = self.f
        self.stored = stored
        self.prepare()
        low, high = self.share(self.rows())
        with f.loop(low, high) as loop:
            self.row_number = loop.index
            if self.second is not None:
                near = f.compare("sle", f.index(self.inner()), f.index(LONG_ROW))
                self.next_row = Where(self, self.row_indices(f.select(near, f.add(loop.index, 1), loop.index)))
            self.row(Where(self, self.row_indices(loop.index)))
        f.ret()

    def row_indices(self, row):
        dims = self.kernel.parallel
        return dict(zip((d.name for d in dims), self.indices(row, dims)))

    def prepare(self):
        """Allocate the memory of sweeps, once per function."""
        sweeps = [stage for stage in self.kernel.stages if stage.over == SWEEP]
        self.s = LlvmBuilder(self.f, self.lanes(sweeps))
        self.one = LlvmBuilder(self.f, 1)
        self.memory = {}
        swept_again = len(self.kernel.reduce) == 1 and len(sweeps) > 1 and sweeps[0] is self.kernel.stages[0]
        self.second = sweeps[1] if swept_again else None
        for stage in self.kernel.stages:
            folds = folds_with_dtypes(self.kernel, stage)
            if folds:
                runs = len(self.kernel.reduce)
                self.memory[stage] = (folds, Stack(self.f, self.s, folds, CHAINS // self.s.lanes),
                                      [Counter(self.f, self.one, folds) for _ in range(min(runs, 2))])

    def row(self, place: Where):
        env: dict = {}
        for stage in self.kernel.stages:
            if stage.over != SWEEP:
                self.run(self.one, stage.body, env, place)
                continue
            wide = self.spread_all(self.s, env, stage.body)
            if folds_of(stage):
                env |= self.results(self.one, stage, self.reduce(stage, wide, place))
            else:
                self.each(stage, wide, place)

    # --- sweeps that only write ---
    def each(self, stage, env, place):
        f, outer = self.f, self.kernel.reduce[:-1]
        with f.loop(0, self.product(d.extent for d in outer)) as loop:
            at = place.within(dict(zip((d.name for d in outer), self.indices(loop.index, outer))))
            low = 0
            if sum(map(instr_cost, stage.body)) < 2 * LONG_SWEEP:
                low = f.bit_and(self.inner(), -self.s.lanes)
                with f.loop(0, low, self.s.lanes) as inner:
                    self.body(stage, env, at, inner.index, None)
            with f.loop(low, self.inner(), self.s.lanes) as inner:
                self.body(stage, env, at, inner.index, self.rest_mask(inner.index, self.inner()))

    def rest_mask(self, at, end):
        return self.f.mask(self.f.sub(end, at), self.s.lanes)

    def body(self, stage, env, place, at, mask):
        """Write one vector of a sweep; return the states that it contributes."""
        dim = self.kernel.reduce[-1].name
        where = place.within({dim: at}, dim, mask)
        env = dict(env)
        if stage is self.second:
            self.prefetch(at)
        found = self.run(self.s, stage.body, env, where)
        return [(v, self.flat_index(where)) if i.attr.startswith("arg") else self.s.pieces(v) for i, v in found]

    def prefetch(self, at):
        """Prefetch a vector of the next row, of the buffers that the first sweep reads."""
        row, inner = range(len(self.kernel.parallel)), len(self.kernel.dims) - 1
        for i in self.kernel.stages[0].body:
            buffer = self.kernel.buffer(i.attr) if i.op == "load" and not i.args else None
            if buffer is not None and buffer.strides[inner] == 1 and any(buffer.strides[d] != 0 for d in row):
                self.f.prefetch(self.f.at(self.next_row.bases[buffer.name], at, memory_element(buffer.dtype)), 2)

    def flat_index(self, where):
        """Return the row-major index of each lane's element along all reduce dims."""
        dims = self.kernel.reduce
        flat = where.index(self.s, dims[0].name)
        for d in dims[1:]:
            extent = self.spread(self.s, self.one.wrap(flat.dtype, self.f.index(self.number(d.extent))))
            flat = flat * extent + where.index(self.s, d.name)
        return flat

    # --- sweeps that reduce ---
    def run_of_chunks(self, stage, env, place, counter):
        n = self.inner()
        if self.stored and stage is self.kernel.stages[0]:
            return counter.run(self.row_groups(), lambda group: self.stored_group(stage, group))
        if isinstance(n, int) and 0 < n <= CHUNK:
            return self.sweep_chunk(stage, env, place, 0)
        return counter.run(self.row_chunks(), lambda chunk: self.sweep_chunk(stage, env, place, chunk))

    def sweep_chunk(self, stage, env, place, chunk):
        """Return the states of one chunk, from its elements."""
        low = self.f.mul(chunk, CHUNK)
        high = self.f.min(self.f.add(low, CHUNK), self.inner())
        short = sum(map(instr_cost, stage.body)) < LONG_SWEEP
        return (self.chunk_in_registers if short else self.chunk_in_memory)(stage, env, place, low, high)

    def chunk_in_registers(self, stage, env, place, low, high):
        f, s = self.f, self.s
        folds = self.memory[stage][0]
        count = CHAINS // s.lanes
        full = f.add(low, f.bit_and(f.sub(high, low), -CHAINS))
        start = [identities(s, folds) for _ in range(count)]
        width = len(flatten(start[0]))
        with f.loop(low, full, CHAINS, [r for states in start for r in flatten(states)]) as loop:
            after = []
            for u in range(count):
                now = unflatten(s, folds, loop.carried[u * width:(u + 1) * width])
                fresh = self.body(stage, env, place, f.add(loop.index, u * s.lanes), None)
                after += flatten(combine_all(s, folds, now, fresh))
            loop.next(*after)
        ends = [unflatten(s, folds, loop.results[u * width:(u + 1) * width]) for u in range(count)]
        ragged = f.compare("slt", f.index(full), f.index(high))
        refs = f.choose(ragged, lambda: self.ragged_end(stage, env, place, full, high, ends),
                        lambda: tuple(r for states in ends for r in flatten(states)))
        rows = [unflatten(s, folds, refs[u * width:(u + 1) * width]) for u in range(count)]
        return fold_vectors(f, s, folds, rows)

    def ragged_end(self, stage, env, place, low, high, rows):
        """Return the chains after the last, partial group of elements."""
        stack = self.memory[stage][1]
        for u, states in enumerate(rows):
            stack.store(u, states)
        self.masked_loop(stage, env, place, low, high, low)
        return tuple(r for u in range(len(rows)) for r in flatten(stack.load(u)))

    def chunk_in_memory(self, stage, env, place, low, high):
        s = self.s
        folds, stack, _ = self.memory[stage]
        count = CHAINS // s.lanes
        for u in range(count):
            stack.store(u, identities(s, folds))
        self.masked_loop(stage, env, place, low, high, low)
        return fold_vectors(self.f, s, folds, [stack.load(u) for u in range(count)])

    def masked_loop(self, stage, env, place, low, high, origin):
        """Add elements [low, high) to the chains in memory, one masked vector at a time."""
        f, s = self.f, self.s
        folds, stack, _ = self.memory[stage]
        with f.loop(low, high, s.lanes) as loop:
            row = f.bit_and(f.div(f.sub(loop.index, origin), s.lanes), CHAINS // s.lanes - 1)
            mask = self.rest_mask(loop.index, high)
            now = stack.load(row)
            after = combine_all(s, folds, now, self.body(stage, env, place, loop.index, mask))
            inside = s.wrap(None, mask)
            stack.store(row, [tuple(s.select(inside, a, b) for a, b in zip(x, y)) for x, y in zip(after, now)])

    # --- rows shared between threads ---
    def splittable(self):
        stages = self.kernel.stages
        sweeps = [st for st in stages if st.over == SWEEP]
        return len(sweeps) == 1 and stages[0] is sweeps[0] and bool(folds_of(sweeps[0])) and len(self.kernel.reduce) == 1

    def row_chunks(self):
        return self.f.ceil_div(self.inner(), CHUNK)

    def components(self):
        return sum(len(fold.dtypes) for fold in folds_with_dtypes(self.kernel, self.kernel.stages[0]))

    def group(self):
        """Return the chunks of a group: the power of two for which the states of all rows fit into the launch's stack."""
        f, most = self.f, SPLIT_WORDS // self.components() - SPLIT_ROWS
        return self.next_power_of_two(f.ceil_div(f.mul(self.rows(), self.row_chunks()), most))

    def row_groups(self):
        return self.f.ceil_div(self.row_chunks(), self.group())

    def scratch(self, row, group):
        """Return the address of the states of a row's group, one 8-byte word per component."""
        f = self.f
        number = f.add(f.mul(row, self.row_groups()), group)
        base = f.cast("inttoptr", self.slot("#scratch"), PTR)
        return f.at(base, f.mul(number, 8 * self.components()))

    def partial_task(self):
        self.start(self.module.task(f"{self.kernel.name}_partial"))
        f, stage = self.f, self.kernel.stages[0]
        self.prepare()
        group, groups, counter = self.group(), self.row_groups(), self.memory[stage][2][0]
        low, high = self.share(f.mul(self.rows(), groups))
        with f.loop(low, high) as loop:
            row, number = f.div(loop.index, groups), f.mod(loop.index, groups)
            where, first = Where(self, self.row_indices(row)), f.mul(number, group)
            states = counter.run(f.min(f.sub(self.row_chunks(), first), group), lambda chunk, where=where, first=first:
                                 self.sweep_chunk(stage, {}, where, f.add(first, chunk)))
            place = self.scratch(row, number)
            for position, v in enumerate(v for state in states for v in state):
                self.one.store(v, f.at(place, 8 * position))
        f.ret()

    def stored_group(self, stage, group):
        """Return the states of one group that a partial task left."""
        f, one = self.f, self.one
        place, position, states = self.scratch(self.row_number, group), 0, []
        for fold in self.memory[stage][0]:
            state = []
            for dtype in fold.dtypes:
                state.append(one.load(dtype, f.at(place, 8 * position)))
                position += 1
            states.append(tuple(state))
        return states

    def write_launch(self):
        name = self.kernel.name
        if not self.splittable():
            self.launch(self.rows, lambda: self.f.mul(self.rows(), self.product(d.extent for d in self.kernel.reduce)))
            return
        self.launch_whole(f"{name}_whole")
        self.launch_split(f"{name}_split")
        self.start(self.module.function(name, [(PTR, "arg")]))
        f = self.f
        few = f.compare("slt", f.index(self.rows()), f.index(SPLIT_ROWS))
        long = f.compare("sge", f.index(self.row_chunks()), f.index(SPLIT_CHUNKS))
        f.choose(f.binary("and", few, long), lambda: f.call(f"{name}_split", VOID, self.arg),
                 lambda: f.call(f"{name}_whole", VOID, self.arg))
        f.ret()

    def launch_whole(self, name):
        kernel = self.kernel
        self.start(self.module.function(name, [(PTR, "arg")], internal=True))
        self.cut(self.rows(), self.f.mul(self.rows(), self.product(d.extent for d in kernel.reduce)), f"{kernel.name}_task")
        self.f.ret()

    def launch_split(self, name):
        """Launch groups of chunks, then their combination; a function of its own, because it needs much stack."""
        self.start(self.module.function(name, [(PTR, "arg")], internal=True))
        f, kernel = self.f, self.kernel.name
        room, groups = f.local(8 * SPLIT_WORDS), f.mul(self.rows(), self.row_groups())
        self.set_slot("#scratch", f.cast("ptrtoint", room, I64))
        self.cut(groups, f.mul(self.rows(), f.mul(self.row_chunks(), CHUNK)), f"{kernel}_partial")
        self.cut(self.rows(), groups, f"{kernel}_finish")
        f.ret()
