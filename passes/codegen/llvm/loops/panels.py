"""Kernels with reduce dims over many columns: a panel of columns at a time, so that rows are read in long pieces.

Each lane is a column, as in `columns.py`, and the tree is that of `reduce.py`. Memory is fastest when it reads a few streams
side by side, each in order. So many rows are added to their chains a few rows of a chain at once, chain after chain: rows 0,
64, 128, ... together, then 1, 65, 129. Few rows, a chain each, are read in groups that the tree joins first, and joined in
registers. What is written beside the results is a fraction of what is read, and stays in the caches. Values for later stages
wait in rows of the panel.
"""

from typing import Any

from .....ir.kernel.kernel import SWEEP, Kernel
from ...cost import instr_cost
from ..ir.memory_types import memory_element
from ..ir.spelling import LlvmBuilder
from .columns import SHORT_BODY
from .nest import Nest, Where
from .reduce import CHAINS, CHUNK, Counter, Stack, combine_all, flatten, folds_of, folds_with_dtypes, identities, unflatten

WIDE = 256              # columns from which panels pay
MOST_STATE = 16         # bytes of the states of a column, at most
LEAST = 256             # columns of a panel that is cut for the threads
SHARES = 16             # parts that the work is cut into, about
_ROOM = 4096            # bytes of a row of states
_AGAIN = 8              # panels of few rows are so many times wider
_TOGETHER = 4           # rows of a chain that a short body reads at once
_ORDER = (0, 4, 2, 6, 1, 5, 3, 7)       # order of eight rows that the tree joins in pairs
_GAP = 80               # elements between rows of states, to avoid equal cache sets
_CHUNK_LEVELS, _RUN_LEVELS = 20, 32     # levels of the counters of chunks and of runs


class Shelf(Stack):
    """States in memory: rows of a panel, `pitch` elements apart. `at` is the stack of one vector of its columns."""

    def __init__(self, f, s, folds, rows, pitch, memory):
        self.f, self.s, self.folds, self.pitch, self.first = f, s, folds, pitch, 0
        self.bases, start = [], 0
        for fold in folds:
            self.bases.append([])
            for dtype in fold.dtypes:
                self.bases[-1].append(f.at(memory, start))
                start += rows * pitch * dtype.itemsize

    def at(self, first, pitch=None) -> "Shelf":
        """Return the stack of the columns from `first` on; `pitch` may be larger."""
        part = Shelf.__new__(Shelf)
        part.f, part.s, part.folds, part.bases = self.f, self.s, self.folds, self.bases
        part.first, part.pitch = first, pitch or self.pitch
        return part

    def _pointer(self, place, dtype, row):
        return self.f.at(place, self.f.add(self.f.mul(row, self.pitch), self.first), memory_element(dtype))


class Panels(Nest):
    """A nest whose lanes are columns, panel by panel."""

    def write(self):
        self.start(self.module.task(f"{self.kernel.name}_task"))
        f, dims = self.f, self.kernel.parallel
        self.lane_dim = dims[-1].name
        indexed = any(i.attr.startswith("arg") for stage in self.kernel.stages for i in folds_of(stage))
        self.width = self.lanes() * (4 if self.cost() < SHORT_BODY and not indexed else 1)
        self.s = LlvmBuilder(f, self.width)
        self.prepare()
        panel, columns = self.panel(), self.number(dims[-1].extent)
        panels = f.ceil_div(columns, panel)
        low, high = self.share(self.units())
        with f.loop(low, high) as loop:
            outer = dict(zip((d.name for d in dims[:-1]), self.indices(f.div(loop.index, panels), dims[:-1])))
            self.first = f.mul(f.mod(loop.index, panels), panel)
            self.last = f.min(f.add(self.first, panel), columns)
            self.block(Where(self, outer))
        f.ret()
        self.launch(self.units, lambda: self.product(d.extent for d in self.kernel.dims))

    # --- panels ---
    @property
    def most(self) -> int:
        """Return the columns of a panel over many rows: the states of all chains fit the second-level cache."""
        return max(_ROOM // max(1, state_bytes(self.kernel)), LEAST)

    def panel(self):
        f, dims = self.f, self.kernel.parallel
        columns, most = self.number(dims[-1].extent), self.most
        if all(_is_short(stage.body) for stage in self.kernel.stages) and len(self.kernel.reduce) == 1:
            few = f.compare("sle", f.index(self.number(self.kernel.reduce[0].extent)), f.index(CHAINS))
            most = f.select(few, f.index(_AGAIN * most), f.index(most))
        all_columns = f.mul(self.product(d.extent for d in dims[:-1]), columns)
        share = f.mul(f.ceil_div(f.ceil_div(all_columns, SHARES), LEAST), LEAST)
        return f.min(f.max(share, LEAST), most)

    def units(self):
        dims = self.kernel.parallel
        return self.f.mul(self.product(d.extent for d in dims[:-1]),
                          self.f.ceil_div(self.number(dims[-1].extent), self.panel()))

    def prepare(self):
        """Allocate the memory of sweeps, which they share, and of values that outlive their stage."""
        self.shelves: dict[Any, tuple[list, Shelf, list[Shelf]]] = {}
        self.saved: dict[str, tuple] = {}
        pitch, levels = self.most + _GAP, (CHAINS, _CHUNK_LEVELS, _RUN_LEVELS)[:1 + min(len(self.kernel.reduce), 2)]
        rooms = [self.f.local(rows * pitch * max(1, state_bytes(self.kernel))) for rows in levels]
        for number, stage in enumerate(self.kernel.stages):
            folds = folds_with_dtypes(self.kernel, stage)
            if folds:
                chains, *counters = [Shelf(self.f, self.s, folds, rows, pitch, room) for rows, room in zip(levels, rooms)]
                self.shelves[stage] = folds, chains, counters
            later = {a for after in self.kernel.stages[number + 1:] for i in after.body for a in i.args}
            for i in folds_of(stage) if stage.over == SWEEP else stage.body:
                if i.name in later:
                    self.saved[i.name] = i.dtype, self.f.local(_AGAIN * pitch * i.dtype.itemsize)

    def each_vector(self, body, do):
        """Call `do(column, mask)` for each vector of the panel; a long body is written once, always masked."""
        f = self.f
        whole = self.first
        if _is_short(body):
            whole = f.add(self.first, f.bit_and(f.sub(self.last, self.first), -self.width))
            with f.loop(self.first, whole, self.width) as loop:
                do(loop.index, None)
        with f.loop(whole, self.last, self.width) as loop:
            do(loop.index, f.mask(f.sub(self.last, loop.index), self.width))

    def each_state(self, do):
        """Call `do(offset in the panel)` for each vector of states, the last one whole too."""
        with self.f.loop(0, self.f.sub(self.last, self.first), self.width) as loop:
            do(loop.index)

    def spot(self, column):
        return self.f.sub(column, self.first)

    # --- values that outlive a stage ---
    def saved_at(self, name, at):
        dtype, place = self.saved[name]
        return dtype, self.f.at(place, at, memory_element(dtype))

    def earlier(self, body, column) -> dict:
        """Return the values from earlier stages that a body reads."""
        env, own = {}, {i.name for i in body}
        for name in dict.fromkeys(a for i in body for a in i.args if a in self.saved and a not in own):
            dtype, pointer = self.saved_at(name, self.spot(column))
            env[name] = self.s.load(dtype, pointer)
        return env

    def keep(self, name, value, at):
        _, pointer = self.saved_at(name, at)
        self.s.store(value, pointer)

    # --- stages ---
    def block(self, place: Where):
        """Write all stages for one panel of columns."""
        for stage in self.kernel.stages:
            if stage.over != SWEEP:
                self.points(stage.body, place)
            elif folds_of(stage):
                self.reduce(stage, place)
            else:
                self.rows(stage.body, place)

    def inside(self, place, column, mask):
        return place.within({self.lane_dim: column}, self.lane_dim, mask)

    def points(self, body, place):
        """Write a stage that runs once per column."""
        def one(column, mask):
            env = self.earlier(body, column)
            self.run(self.s, body, env, self.inside(place, column, mask))
            for i in body:
                if i.name in self.saved:
                    self.keep(i.name, self.fetch(self.s, env, i.name), self.spot(column))

        self.each_vector(body, one)

    def rows(self, body, place):
        """Write a sweep that only stores."""
        f, dims = self.f, self.kernel.reduce
        with f.loop(0, self.product(d.extent for d in dims)) as loop:
            row = place.within(dict(zip((d.name for d in dims), self.indices(loop.index, dims))))
            self.each_vector(body, lambda column, mask: self.run(self.s, body, self.earlier(body, column),
                                                                 self.inside(row, column, mask)))

    def reduce(self, stage, place):
        """Write a whole sweep and keep its results."""
        f, outer = self.f, self.kernel.reduce[:-1]
        folds, _, shelves = self.shelves[stage]
        if outer:
            count = self.product(d.extent for d in outer)
            with f.loop(0, count) as loop:
                at = place.within(dict(zip((d.name for d in outer), self.indices(loop.index, outer))))
                chunks = self.run_of_chunks(stage, at)
                self.each_state(lambda spot: self.counter(folds, shelves[1], spot).push(
                    loop.index, self.counter(folds, shelves[0], spot).finish(chunks)))
        else:
            count = self.run_of_chunks(stage, place)

        def results(spot):
            states = self.counter(folds, shelves[-1], spot).finish(count)
            for i, fold, state in zip(folds_of(stage), folds, states):
                if i.name in self.saved:
                    self.keep(i.name, fold.result(self.s, state), spot)

        self.each_state(results)

    def counter(self, folds, shelf, spot):
        """Return the counter of one vector of columns."""
        return Counter(self.f, self.s, folds, shelf.at(spot))

    def run_of_chunks(self, stage, place):
        """Count the chunks of one run; return their number."""
        f, (folds, chains, shelves) = self.f, self.shelves[stage]
        extent = self.number(self.kernel.reduce[-1].extent)
        chunks = f.ceil_div(extent, CHUNK)
        with f.loop(0, chunks) as loop:
            low = f.mul(loop.index, CHUNK)
            self.chunk(stage, place, low, f.index(f.min(CHUNK, f.sub(extent, low))))
            self.each_state(lambda spot: self.counter(folds, shelves[0], spot).push(loop.index, chains.at(spot).load(0)))
        return chunks

    # --- chunks; their result is the first row of the shelf of chains ---
    def chunk(self, stage, place, low, count):
        if not _is_short(stage.body):
            self.many_rows(stage, place, low, count, 1)
            return
        self.f.choose(self.f.compare("sle", count, self.f.index(CHAINS)), lambda: self.few_rows(stage, place, low, count),
                      lambda: self.many_rows(stage, place, low, count, _TOGETHER))

    def many_rows(self, stage, place, low, count, rows_at_once):
        """Add rows to their chains, `together` rows of a chain at once."""
        f, (folds, shelf, _) = self.f, self.shelves[stage]
        chains = f.min(self.next_power_of_two(count), CHAINS)
        with f.loop(0, count, rows_at_once * CHAINS) as group:
            begun = f.compare("sgt", group.index, 0)
            left = f.sub(count, group.index)
            with f.loop(0, f.select(begun, f.min(left, CHAINS), chains)) as chain:
                rows = [f.add(chain.index, u * CHAINS) for u in range(rows_at_once)]
                positions = [place.within(self.row(f.add(low, f.add(group.index, row)))) for row in rows]
                there = [f.compare("slt", row, left) for row in rows]

                def one(column, mask):
                    env, states = self.earlier(stage.body, column), self.begun(folds, shelf.at(self.spot(column)), chain, begun)
                    for here, is_there in zip(positions, there):
                        states = self.joined(stage, folds, states, env, self.inside(here, column, mask), is_there)
                    shelf.at(self.spot(column)).store(chain.index, states)

                self.each_vector(stage.body, one)
        self.halve(folds, shelf, chains, CHAINS // 2, shelf.pitch)

    def begun(self, folds, column, chain, begun):
        refs = self.f.choose(begun, lambda: tuple(flatten(column.load(chain.index))),
                             lambda: tuple(flatten(identities(self.s, folds))))
        return unflatten(self.s, folds, refs)

    def few_rows(self, stage, place, low, count):
        """Reduce rows that are a chain each, eight at a time in the tree's first groups."""
        f, (folds, shelf, _) = self.f, self.shelves[stage]
        pitch = _AGAIN * self.most + _GAP
        step = f.div(f.min(f.max(self.next_power_of_two(count), len(_ORDER)), CHAINS), len(_ORDER))
        with f.loop(0, step) as loop:
            rows = [f.add(loop.index, f.mul(step, number)) for number in _ORDER]
            positions = [place.within(self.row(f.add(low, row))) for row in rows]
            there = [f.compare("slt", row, count) for row in rows]

            def one(column, mask):
                env = self.earlier(stage.body, column)
                states = [self.joined(stage, folds, identities(self.s, folds), env, self.inside(here, column, mask), is_there)
                          for here, is_there in zip(positions, there)]
                while len(states) > 1:
                    states = [combine_all(self.s, folds, a, b) for a, b in zip(states[::2], states[1::2])]
                shelf.at(self.spot(column), pitch).store(loop.index, states[0])

            self.each_vector(stage.body, one)
        self.halve(folds, shelf, step, CHAINS // len(_ORDER) // 2, pitch)

    def row(self, number) -> dict:
        return {self.kernel.reduce[-1].name: number}

    def joined(self, stage, folds, states, env, where, is_there):
        """Join states with those of a row, if the row exists."""
        def more():
            found = self.run(self.s, stage.body, dict(env), where)
            fresh = [(v, self.flat_reduce_index(self.s, where.indices)) if i.attr.startswith("arg") else self.s.pieces(v)
                     for i, v in found]
            return tuple(flatten(combine_all(self.s, folds, states, fresh)))

        refs = self.f.choose(is_there, more, lambda: tuple(flatten(states)))
        return unflatten(self.s, folds, refs)

    def halve(self, folds, shelf, count, width, pitch):
        """Fold `count` rows of states, a power of two, into the first one, halves onto halves."""
        f = self.f
        while width:
            with f.when(f.compare("sgt", count, f.index(width))), f.loop(0, width) as loop:
                def one(spot):
                    column = shelf.at(spot, pitch)
                    low, high = column.load(loop.index), column.load(f.add(loop.index, width))
                    column.store(loop.index, combine_all(self.s, folds, low, high))

                self.each_state(one)
            width //= 2


def state_bytes(kernel: Kernel) -> int:
    """Return the bytes of a column's states, in the largest sweep."""
    return max((sum(d.itemsize for fold in folds_with_dtypes(kernel, stage) for d in fold.dtypes) for stage in kernel.stages),
               default=0)


def suits(kernel: Kernel, across: int) -> bool:
    """Return whether panels should reduce a kernel over this many columns."""
    return across >= WIDE and 0 < state_bytes(kernel) <= MOST_STATE


def _is_short(body) -> bool:
    return sum(map(instr_cost, body)) < SHORT_BODY
