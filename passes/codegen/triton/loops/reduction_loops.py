"""Kernels with reduce dims: each program has ROWS rows and loops over them COLS elements at a time.

Two strategies differ in a tile's rows. "rows": any points of the parallel dims, for memory contiguous along the reduce dims.
"columns": adjacent points of the last parallel dim, for memory contiguous along that.

Rows that fit are read at once (`whole`): then nothing is loaded or computed twice, for any number of sweeps. Longer ones have a
loop per sweep; a sweep that only stores begins where the one before ended. Very long rows are cut among programs. Each sweep is
then a kernel of its own (`Part`), which combines the earlier parts' states in order and leaves the states of its own parts; the
last kernel (`FINISH`) computes values that exist once per row. For many parts a kernel combines them once for all (`JOIN`).

Values that exist once per row are stored at the very end, when no thread of the program reads any more: they may overwrite an
operand of the row. The tree of a reduction depends on COLS and the number of parts alone, which depend on the row's length
alone.
"""

from collections.abc import Iterable

from .....ir import dtype as dt
from .....ir.kernel.kernel import EXP_SUM, SPREAD, SWEEP, Kernel, buffer_of
from ...combiners import Fold, folds_of
from ...scalars import Val
from ..ir.nest import COLUMN_AXIS, ROW_AXIS, Nest, Place
from ..ir.source import POINTER, SIZE, Parameter, Source
from ..ir.spelling import TYPE, Text, TritonBuilder, filled, memory
from . import single_pass_folds as single_pass

FINISH = -1         # the part of a cut kernel after all sweeps
JOIN = -2           # JOIN - n combines the parts of sweep n
_WIDEST = dict.fromkeys(dt.FLOATS, dt.float64) | {dt.complex64: dt.complex128}      # dtypes of running folds
_ROW, _COLUMN = frozenset({ROW_AXIS}), frozenset({COLUMN_AXIS})
_BOTH = _ROW | _COLUMN


class Sweeps(Nest):
    """A nest with reduce dims.

    `part` is the number of the sweep of a cut kernel, FINISH, or JOIN - n; `joined` says that the parts of each sweep are
    combined before the next one.
    """

    constants: tuple = ("INDEX", "ROWS", "COLS")

    def __init__(self, kernel: Kernel, numbers=frozenset(), columns=False, whole=False, part=None, joined=False):
        super().__init__(kernel, numbers)
        self.columns, self.whole, self.part, self.joined = columns, whole, part, joined
        self.known: dict = {}        # values of a whole row, by expression
        self.dirty: set = set()      # buffers written since the last barrier
        self.held: list = []         # (instruction, value) stored at the end
        if part is not None:
            self.constants = (*self.constants, "PARTS", "WIDTH")
            self.has_parts = part >= 0

    def name(self):
        if self.part is None:
            return self.kernel.name
        done = f"join{JOIN - self.part}" if self.part <= JOIN else "finish" if self.part == FINISH else f"part{self.part}"
        return f"{self.kernel.name}_{done}"

    def parameters(self):
        if self.part is None:
            return super().parameters()
        swept, names = sweeps_of(self.kernel), set()
        if self.part > JOIN:
            names = {buffer_of(i) for s in self.parts_stages() for i in s.body
                     if i.op == "load" or (i.op == "store" and (s.over == SWEEP) == (self.part != FINISH))}
        seen = {n: self.are_joined(n) for n in (range(len(swept)) if self.part == FINISH else range(self.part + 1))}
        if self.part <= JOIN:
            seen = {JOIN - self.part: False}
        states = [pair for n, joined in seen.items() for pair in self.states(swept[n], joined)]
        if self.part <= JOIN:
            states += self.states(swept[JOIN - self.part], True)
        pointers = [Parameter(n, POINTER, memory(d)) for n, d in states]
        return (*[p for p in super().parameters() if p.kind == SIZE or p.name in names], *pointers)

    def are_joined(self, sweep) -> bool:
        """Return whether the parts of a sweep were combined before."""
        return self.joined and sweep != self.part and sweep < len(sweeps_of(self.kernel)) - 1

    def parts_stages(self) -> list:
        """Return the stages of this part of a cut kernel: all points before its sweep, and that sweep."""
        found, sweep = [], -1
        for stage in self.kernel.stages:
            sweep += stage.over == SWEEP
            if stage.over != SWEEP or sweep == self.part:
                found.append(stage)
            if sweep == self.part and stage.over == SWEEP:
                break
        return found

    def states(self, sweep, joined=False) -> list:
        """Return (name, dtype) of a sweep's stored states, of parts or combined."""
        kinds = {i.name: i.dtype for i in self.kernel.instructions()}
        return [(f"{'joined' if joined else 'state'}_{i.name}_{m}", d) for i in folds_of(sweep)
                for m, d in enumerate(Fold(i.attr, kinds[i.args[0]]).dtypes)]

    # The body.

    def write(self):
        place = self.by_columns() if self.columns else self.by_rows()
        if self.part is not None and self.part <= JOIN:
            self.join(sweeps_of(self.kernel)[JOIN - self.part])
            return
        env: dict = {}
        sweep = -1
        for stage in self.kernel.stages:
            sweep += stage.over == SWEEP
            if stage.over != SWEEP:
                self.at_points(stage, env, place)
            elif self.part in (None, sweep):
                env |= self.swept(stage, env, place)
            else:
                env |= self.finish(stage, sweep)
            if stage.over == SWEEP and sweep == self.part:
                return
        self.put_rows(place)

    def at_points(self, stage, env, place):
        """Compute values that exist once per row; they are stored later."""
        self.run([i for i in stage.body if i.op != "store"], env, place)
        self.held += [(i, env[i.args[0]]) for i in stage.body if i.op == "store"]

    def put_rows(self, place):
        """Store values that exist once per row, when all threads have read their operands."""
        if self.held:
            self.text.put("tl.debug_barrier()")
        for i, value in self.held:
            self.store(i, value, place)

    def by_rows(self) -> Place:
        """Return the place whose axis 0 is all parallel points, flattened."""
        dims, put = self.kernel.parallel, self.text.put
        put(f"at_row = ({self.programs[0]}.to(INDEX) * ROWS + tl.arange(0, ROWS))[:, None]")
        put(f"in_row = at_row < {self.product(dims)}")
        self.row, self.row_count = "at_row", self.product(dims)
        found = self.indices("at_row", dims) if dims else {}
        return Place(found, dict.fromkeys(found, _ROW), {ROW_AXIS: "in_row"})

    def by_columns(self) -> Place:
        """Return the place whose axis 0 is the last parallel dim; the others are one point per program."""
        *outer, last = self.kernel.parallel
        put = self.text.put
        put(f"n_across = tl.cdiv({last.extent}, ROWS)")
        put(f"at_program = {self.programs[0]}.to(INDEX)")
        put(f"at_{last.name} = ((at_program % n_across) * ROWS + tl.arange(0, ROWS))[:, None]")
        put(f"in_row = at_{last.name} < {last.extent}")
        put("at_outer = at_program // n_across")
        self.row, self.row_count = f"at_outer * {last.extent} + at_{last.name}", self.product(self.kernel.parallel)
        found = self.indices("at_outer", outer) if outer else {}
        axes = dict.fromkeys(found, frozenset()) | {last.name: _ROW}
        return Place(found | {last.name: f"at_{last.name}"}, axes, {ROW_AXIS: "in_row"})

    def along(self, place: Place, k: str) -> Place:
        """Return the place with the reduce dims' indices, from the flat index `k`."""
        found = self.indices(k, self.kernel.reduce)
        return place.within(found, dict.fromkeys(found, _COLUMN), {COLUMN_AXIS: "in_k"})

    def swept(self, stage, env, place) -> dict:
        """Return the results of one sweep, by name."""
        self.separate(stage)
        kinds = {i.name: i.dtype for i in self.kernel.instructions()}
        folds = [(i, Fold(i.attr, kinds[i.args[0]])) for i in folds_of(stage)]
        count = self.product(self.kernel.reduce)
        if self.whole:
            return self.at_once(stage, env, place, folds, count)
        led = single_pass.led(folds)
        held = {i.name: [self.text.let(filled("ROWS, COLS", d, n), "state") for d, n in zip(f.dtypes, f.start)]
                for i, f in folds if i.name not in led}
        self.carries = self.start_scans(stage)
        low, high = self.low, self.high = self.bounds(count)
        backwards = self.part is None and goes_back(self.kernel, stage)
        with self.text.block(f"for {'back_k' if backwards else 'from_k'} in range({low}, {high}, COLS):"):
            if backwards:
                self.text.put(f"from_k = (tl.cdiv({count}, COLS) - 1) * COLS - back_k")
            self.text.put("at_k = (from_k + tl.arange(0, COLS))[None, :].to(INDEX)")
            self.text.put(f"in_k = at_k < {high}")
            inner = dict(env)
            found = self.run(stage.body, inner, self.along(place, "at_k"))
            for (i, fold), (_, value) in zip(folds, found):
                if i.name in held:
                    self.gather(held[i.name], fold, value)
        states = {i.name: self.gathered(held[i.name], fold) for i, fold in folds if i.name in held}
        states |= {name: states[leader][:1] for name, leader in led.items()}
        return {i.name: self.folded(fold, states[i.name], i, place) for i, fold in folds}

    def bounds(self, count) -> tuple:
        """Return the range of a program's sweep. Every second sweep goes backwards and first meets data still in cache."""
        if self.part is None:
            return "0", count
        program = self.programs[1]
        number = program if self.part % 2 else f"(PARTS - 1 - {program})"
        self.text.put(f"at_part = {number}.to(INDEX)")
        self.text.put(f"n_part = tl.cdiv(tl.cdiv({count}, PARTS), COLS) * COLS")
        self.text.put("low_k = at_part * n_part")
        self.text.put(f"high_k = tl.minimum(low_k + n_part, {count})")
        return "low_k", "high_k"

    def gather(self, names, fold, value):
        """Fold one tile into the running state."""
        if fold.kind == SPREAD:
            single_pass.gather_spread(self, names, value)
            return
        if fold.kind == EXP_SUM:
            single_pass.gather_exp_sum(self, names, value)
            return
        state = tuple(self.s.wrap(d, n) for d, n in zip(fold.dtypes, names))
        for name, old, new in zip(names, state, fold.combine(self.s, state, self.fresh(fold, value))):
            self.text.put(f"{name} = tl.where(in_row & in_k, {new.ref}, {old.ref})")

    def gathered(self, names, fold) -> tuple:
        """Return the state of each row after a walk."""
        if fold.kind == SPREAD:
            return single_pass.spread_of_lanes(self, names, fold)
        return self.across(fold, [self.s.wrap(d, n) for d, n in zip(fold.dtypes, names)])

    def fresh(self, fold, value) -> tuple:
        """Return the state of each element of a tile."""
        state = fold.state(self.s, value)
        return (*state, self.s.wrap(dt.int64, self.text.let("at_k.to(tl.int64)"))) if fold.indexed else state

    def at_once(self, stage, env, place, folds, count) -> dict:
        """Write a sweep over whole rows: values stay for later sweeps."""
        if "k" not in self.known:
            self.text.put("at_k = tl.arange(0, COLS)[None, :].to(INDEX)")
            self.text.put(f"in_k = at_k < {count}")
            self.known["k"] = self.along(place, "at_k")
        found = self.run(stage.body, dict(env), self.known["k"])
        results, made = {}, {}          # folds already computed, by kind and operand
        for (i, fold), (_, value) in zip(folds, found):
            if fold.kind == SPREAD:
                total = made.get(("sum", value.ref))
                results[i.name] = self.named(single_pass.spread_of_row(self, fold, value, total, count), _ROW)
                continue
            if fold.kind == EXP_SUM:
                results[i.name] = self.named(single_pass.exp_sum_of_row(self, fold, value, made.get(("max", value.ref))), _ROW)
                continue
            results[i.name] = made[fold.kind, value.ref] = self.folded(fold, self.of_row(fold, value), i, place)
        return results

    def of_row(self, fold, value) -> tuple:
        """Return the state of a whole row."""
        state = []
        for v, nothing in zip(self.fresh(fold, value), fold.start):
            name = self.text.let(f"tl.where(in_row & in_k, {v.ref}, {filled('ROWS, COLS', v.dtype, nothing)})")
            state.append(self.s.wrap(v.dtype, name))
        return self.across(fold, state)

    # Folding a tile to a value per row.

    def folded(self, fold, states, i, place) -> Val:
        """Return a reduction's result from the states of rows; a part stores them instead."""
        if self.part is not None:
            for m, v in enumerate(states):
                ref = f"{v.ref}.to(tl.uint8)" if v.dtype is dt.bool_ else v.ref
                at = f"state_{i.name}_{m} + (at_part * ({self.row_count}) + {self.row})"
                self.text.put(f"tl.store({at}, {ref}, {place.masks[ROW_AXIS]})")
        return self.named(self.s.cast(fold.result(self.s, states), i.dtype), _ROW)

    def across(self, fold, state) -> tuple:
        """Fold the states of all columns to those of rows."""
        if fold.kind == SPREAD:
            return single_pass.spread_of_parts(self, fold, state)
        if fold.kind == EXP_SUM:
            return single_pass.joined_exp_sum(self, fold, state)
        if fold.kind == "sum" and fold.dtype is not dt.bool_:
            names = [self.text.let(f"tl.sum({v.ref}, 1)[:, None]", "v") for v in state]
            return tuple([self.s.wrap(d, self._back(d, name)) for d, name in zip(fold.dtypes, names)])
        helper = self.helper(fold)
        if len(state) > 1:
            names = [self.text.name("v") for _ in state]
            self.text.put(f"{', '.join(names)} = tl.reduce(({', '.join(map(self._wide, state))}), 1, {helper})")
            names = [self.text.let(f"{name}[:, None]") for name in names]
            return tuple([self.s.wrap(d, self._narrow(d, name)) for d, name in zip(fold.dtypes, names)])
        name = self.text.let(f"tl.reduce({self._wide(state[0])}, 1, {helper})[:, None]", "v")
        return (self.s.wrap(fold.dtype, self._narrow(fold.dtype, name)),)

    def _back(self, dtype, name):
        """Cast back to a narrow integer type, since tl.sum widens."""
        narrow = not dtype.is_floating_point and dtype.itemsize < 4
        return self.text.let(f"{name}.to({TYPE[dtype]})") if narrow else name

    def _wide(self, value):
        """Widen values of up to 8 bits to int32, for exchanges between threads."""
        return self.text.let(f"{value.ref}.to(tl.int32)") if value.dtype.itemsize == 1 else value.ref

    def _narrow(self, dtype, name):
        if dtype is dt.bool_:
            return self.text.let(f"{name} != 0")
        return self.text.let(f"{name}.to({TYPE[dtype]})") if dtype.itemsize == 1 else name

    def helper(self, fold) -> str:
        """Return the function that combines two states; bools and bytes as int32."""
        kind = dt.int32 if fold.dtype.itemsize == 1 else fold.dtype
        name = f"fold_{fold.kind}_{kind.short}"
        if name not in self.text.helpers:
            wide = Fold({"any": "max", "all": "min"}.get(fold.kind, fold.kind) if kind is not fold.dtype else fold.kind, kind)
            self.text.helpers[name] = combine_text(name, wide)
        return name

    def finish(self, stage, sweep) -> dict:
        """Return the results of an earlier sweep."""
        found = {}
        for i, states in self.combined(stage, self.are_joined(sweep)):
            found[i.name] = self.named(self.s.cast(self.fold_of(i).result(self.s, states), i.dtype), _ROW)
        return found

    def join(self, stage):
        """Store the combined states of rows."""
        for i, states in self.combined(stage, False):
            for m, v in enumerate(states):
                ref = f"{v.ref}.to(tl.uint8)" if v.dtype is dt.bool_ else v.ref
                self.text.put(f"tl.store(joined_{i.name}_{m} + ({self.row}), {ref}, in_row)")

    def fold_of(self, i) -> Fold:
        return Fold(i.attr, next(j.dtype for j in self.kernel.instructions() if j.name == i.args[0]))

    def combined(self, stage, joined) -> list:
        """Return (reduction, states of rows) of a sweep: combined from its parts in order, or as stored."""
        if not joined:
            self.text.put("each_part = tl.arange(0, WIDTH)[None, :].to(INDEX)")
            self.text.put("in_parts = in_row & (each_part < PARTS)")
        found = []
        for i in folds_of(stage):
            fold, state = self.fold_of(i), []
            for m, (d, nothing) in enumerate(zip(fold.dtypes, fold.start)):
                load = f"tl.load(joined_{i.name}_{m} + ({self.row}), in_row)" if joined else \
                    f"tl.load(state_{i.name}_{m} + (each_part * ({self.row_count}) + {self.row}), in_parts)"
                value = self.text.let(f"{load} != 0" if d is dt.bool_ else load)
                if not joined:
                    value = self.text.let(f"tl.where(in_parts, {value}, {filled('ROWS, WIDTH', d, nothing)})")
                state.append(self.s.wrap(d, value))
            found.append((i, tuple(state) if joined else self.across(fold, state)))
        return found

    # Running folds.

    def start_scans(self, stage) -> dict:
        """Return the initial carried value of each scan of a sweep."""
        found = {}
        for i in stage.body:
            if i.op == "scan":
                fold = Fold(i.attr, _WIDEST.get(i.dtype, i.dtype))
                found[i.name] = [self.text.let(filled("ROWS, 1", d, n), "carry") for d, n in zip(fold.dtypes, fold.start)]
        return found

    def scan(self, i, value, place):
        """Add prefixes within the tile to the carried value, in float64 for floats."""
        kind = _WIDEST.get(i.dtype, i.dtype)
        fold = Fold(i.attr, kind)
        tiles = [self.text.let(f"tl.where(in_row & in_k, {v.ref}, {filled('ROWS, COLS', v.dtype, nothing)})")
                 for v, nothing in zip(fold.state(self.s, self.s.cast(value, kind)), fold.start)]
        helper, names = self.helper(fold), [self.text.name() for _ in tiles]
        given = tiles[0] if len(tiles) == 1 else f"({', '.join(tiles)})"
        self.text.put(f"{', '.join(names)} = tl.associative_scan({given}, 1, {helper})")
        prefix, carry, tile = (tuple([self.s.wrap(d, n) for d, n in zip(fold.dtypes, found)])
                               for found in (names, self.carries[i.name], tiles))
        out, after = fold.combine(self.s, carry, prefix), fold.combine(self.s, carry, self.across(fold, tile))
        self.text.put(f"{', '.join(_names(carry))} = {', '.join(_names(after))}")
        return self.named(self.s.cast(fold.result(self.s, out), i.dtype), _BOTH)

    # Results of earlier sweeps.

    def separate(self, stage):
        """Write a barrier if a sweep reads what another thread of the program stored."""
        read = {buffer_of(i) for i in stage.body if i.op == "load"}
        if not self.whole and read & self.dirty:
            self.text.put("tl.debug_barrier()")
            self.dirty.clear()

    def compute(self, i, args, place):
        """Reuse what was computed before in whole rows."""
        if not self.whole or i.op in ("const", "size"):
            return super().compute(i, args, place)
        key = (i.op, i.dtype, i.attr, tuple([a.ref for a in args]), id(place))
        if i.op == "load" and not args and (i.attr, id(place)) in self.stored:
            return self.stored[i.attr, id(place)]
        if key not in self.known:
            self.known[key] = super().compute(i, args, place)
        return self.known[key]

    def offset(self, buffer, place, at=None):
        """Return the offset; stores of one element for all rows still name a tile, as their mask needs."""
        text, axes = super().offset(buffer, place, at)
        return (text, axes) if axes or not buffer.written else (f"{text or 0} + {self.row} * 0", _ROW)

    def store(self, i, value, place):
        super().store(i, value, place)
        self.dirty.add(str(i.attr))
        self.stored[str(i.attr), id(place)] = value

    def store_axes(self, axes, place):
        """Return the masks: row results are stored once per row, and values along the row need both masks."""
        return frozenset(place.masks)


def sweeps_of(kernel) -> list:
    """Return the stages that go over whole rows."""
    return [s for s in kernel.stages if s.over == SWEEP]


def goes_back(kernel, stage) -> bool:
    """Return whether a sweep of an uncut row begins at its end, still in cache from the sweep before. Only sweeps without folds
    do, so results do not depend on it."""
    return stage is not sweeps_of(kernel)[0] and not any(i.op in ("reduce", "scan") for i in stage.body)


def combine_text(name: str, fold: Fold) -> str:
    """Return a function of two states as text. Lanes fold states in either order, so it is symmetric: of two zeros it takes the
    positive one, like the chip's instruction, while scalar functions take the second."""
    if fold.kind in ("max", "min") and fold.dtype.is_floating_point:
        return _extreme(name, f"{fold.kind}imum", fold.dtype)
    text = Text()
    s = TritonBuilder(text)
    a, b = (tuple(s.wrap(d, f"{letter}{n}") for n, d in enumerate(fold.dtypes)) for letter in "ab")
    out = fold.combine(s, a, b)
    text.put(f"return {', '.join(v.ref for v in out)}")
    given = ", ".join(_names(a + b))
    return f"def {name}({given}):\n" + "\n".join(text.lines) + "\n"


def _extreme(name: str, function: str, dtype) -> str:
    """Return the larger or smaller of two floats; chips have no float64 instruction that handles nan."""
    if dtype is not dt.float64:
        return f"def {name}(a0, b0):\n    return tl.{function}(a0, b0, propagate_nan=tl.PropagateNan.ALL)\n"
    sign, first = ("|", "<") if function == "minimum" else ("&", ">")
    return f"""def {name}(a0, b0):
    alike = (a0.to(tl.int64, bitcast=True) {sign} b0.to(tl.int64, bitcast=True)).to(tl.float64, bitcast=True)
    ordered = tl.where(a0 == b0, alike, tl.where(a0 {first} b0, a0, b0))
    return tl.where(a0 != a0, a0, tl.where(b0 != b0, b0, ordered))
"""


def _names(values: Iterable) -> list:
    return [v.ref for v in values]


def write(kernel: Kernel, *how, **more) -> Source:
    """Return the kernel's file; arguments are those of `Sweeps`."""
    return Sweeps(kernel, *how, **more).source()
