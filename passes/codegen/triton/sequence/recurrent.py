"""One step of a recurrent layer as one launch: the product of a state with the weights, and the gates right after it.

A program computes some units of some rows of the batch, and sums for all gates of its units, so it holds all that the states
need. Other operands of the gates are loaded before the product, and arrive during it. The steps of a walk along time are
launches of one kernel that differ in numbers alone: AT, the step; NEAR, the one before it in reading order; LATER, the one
after it. -1 means none.

    forward     h[near] @ w' for each gate, then the states (`recurrent_cells.py`)
    backward    da[later] @ w, and the part of the gradient that bypassed the product; then the gates' gradients

A projection is another product in each step, and a launch of its own: `projected` kernels write the hidden states before it
(`hidden`), and get their gradient from that of the projected ones (`dy`) by a separate product.
"""

import functools
from contextlib import contextmanager
from dataclasses import dataclass

from .....ir import dtype as dt
from ...recurrent_cells import BEFORE, CELLS, Cell
from ...scalars import Val
from ..contract.matmul import best_order, is_worth_turning
from ..contract.prologue import zero_of
from ..ir.nest import memory
from ..ir.source import NUMBER, POINTER, SIZE, Parameter, Source, emit, stated_dot
from ..ir.spelling import TYPE, Text, TritonBuilder
from ..loops.configs import power_of_two

DOTS, SUMS = "", "_sums"        # forms of products: dots of tiles, or elementwise products that are summed
FEW = 2                         # rows up to which sums are faster without tensor cores
# (rows, units) of dot tiles that fit registers, with and without tensor cores.
QUICK = ((64, 16), (64, 8), (32, 16), (32, 8), (16, 16), (16, 8))
PLAIN = ((32, 16), (16, 16), (16, 8))
LEAST = 16                      # least rows of a dot tile
DEPTH = 64                      # elements of a row loaded at a time
HELD = 16                       # accumulators of a thread for sums of a gate
SECTOR = 32                     # bytes of a memory transaction
# Rates of a multiprocessor per clock: bytes from the second-level cache, alone and with all others working, and multiply-adds
# without tensor cores.
ALONE, TOGETHER, EXACT = 64, 24, 128
TILE = ("BM", "BN", "BK")
CONSTANTS = ("INDEX", *TILE)
SIZES, STEPS = ("B", "H", "K"), ("AT", "NEAR", "LATER")
_PLACE = "row * H + unit"        # in an array (B, H)
_NAMES = ("row", "unit", "inside", "across", "state", "from_k", "at_k", "left", "right", "depth", *STEPS, *SIZES, *CONSTANTS)
_ARRAYS = ("z", "mask", "w", "bias", "h", "c", "y", "cells", "exact", "gates", "hidden", "gy", "gc", "gg", "dy", "dz", "da",
           "dc", "dh")


@dataclass(frozen=True)
class Step:
    """Options that determine the text of a step.

        cell        the kind of layer
        kind        the dtype of all arrays but those passed between steps
        precision   how float32 is multiplied
        masked      whether steps may be padding
        projected   whether there is a projection
        keeps       whether cells and gates are saved for gradients (forward)
        biased      whether recurrent sums have a bias (forward)
        given       existing gradients among gy, gc and gg (backward)
        form        DOTS or SUMS
        turned      whether units of the weights are contiguous, for sums without tensor cores (forward)
    """

    cell: str
    kind: dt.DType
    precision: str = "ieee"
    masked: bool = False
    projected: bool = False
    keeps: bool = True
    biased: bool = False
    given: tuple = ()
    form: str = DOTS
    transposed: bool = False

    @property
    def wide(self) -> dt.DType:
        """The dtype of sums and gates."""
        return dt.float64 if self.kind is dt.float64 else dt.float32

    @property
    def hands(self) -> str:
        """The state passed between steps in the dtype of sums, if that differs."""
        return "" if self.wide is self.kind else self.layer.adds_up

    @property
    def layer(self) -> Cell:
        return CELLS[self.cell]

    @property
    def passes(self) -> bool:
        """Whether part of a state's gradient bypasses the product."""
        return not self.projected and (self.masked or self.layer.passes)

    @property
    def slopes(self) -> str:
        """The array whose product with the weights is the gradient of a state."""
        return "dy" if self.projected else "da" if self.layer.apart else "dz"

    def name(self, *words: str) -> str:
        """Return the kernel's name."""
        options = (("tf32", self.precision != "ieee"), ("masked", self.masked), ("projected", self.projected),
                ("biased", self.biased), ("turned", self.transposed))
        return "_".join([self.cell, *words, self.kind.short, *[word for word, is_so in options if is_so]]) + self.form


def form_of(kind: dt.DType, precision: str, batch: int) -> str:
    """Return how products with this many rows are computed."""
    return SUMS if batch <= FEW and not _on_cores(kind, precision) else DOTS


def pays_to_transpose(kind: dt.DType, precision: str, sizes: tuple, gates: int, steps: int) -> bool:
    """Return whether a copy of the weights with contiguous units pays, for this many steps of sizes (batch, hidden, depth)."""
    batch, hidden, depth = sizes
    dim, seconds = best_order("y", kind, precision, 0)
    is_worth = is_worth_turning(seconds, max(batch, LEAST), gates * hidden, depth, steps, gates * hidden * depth)
    return dim == -1 and is_worth and form_of(kind, precision, batch) == DOTS


def _on_cores(kind, precision) -> bool:
    return kind.itemsize == 2 or (kind is dt.float32 and precision != "ieee")


def tiles(how: Step, gates: int, sizes: tuple, processors: int) -> tuple:
    """Return ((rows, units, depth) of a tile, warps, stages) of a step of sizes (batch, units, depth), with `gates` sums per
    unit; `gates` 0 means backward."""
    batch, _, depth = sizes
    if how.form == SUMS:
        rows, units = power_of_two(batch), 4 if gates else 8
        most = HELD * 128 // (rows * units) // (how.wide.itemsize // 4)
        return (rows, units, min(most, power_of_two(depth))), 4, 1
    fast = _on_cores(how.kind, how.precision)
    most = max(LEAST, power_of_two(batch))
    if fast and not gates and how.kind is dt.float32:
        most = min(most, 32)        # (larger tiles use warp groups, which need TF32 weights contiguous along the depth)
    there = [tile for tile in (QUICK if fast else PLAIN) if tile[0] <= most]
    rows, units = min(there, key=lambda tile: _clocks(how, gates, tile, sizes, processors))
    if fast:        # (twice as many for weights contiguous along the depth, in whole vectors, or registers spill)
        whole = 2 * DEPTH if gates and how.kind.itemsize == 2 and depth % 8 == 0 else DEPTH
    else:
        whole = 32 if rows * units <= 128 and how.kind is dt.float32 else 16
    return (rows, units, max(16, min(whole, power_of_two(depth)))), 4, 3


def _clocks(how, gates, tile, sizes, processors) -> float:
    """Return the least time of the product in such tiles."""
    (batch, hidden, depth), (rows, units) = sizes, tile
    size, programs = how.kind.itemsize, -(-hidden // units) * -(-batch // rows)
    weights = gates * units * size if gates else max(units * size, SECTOR)
    loaded = (min(rows, batch) * size + weights) * depth
    turns = -(-programs // processors)
    sums = 0 if _on_cores(how.kind, how.precision) else rows * units * max(gates, 1) * depth / EXACT
    return max(turns * loaded / ALONE, programs / processors * loaded / TOGETHER, turns * sums)


def grid(tile: tuple, batch: int, hidden: int) -> tuple:
    """Return the programs of a step."""
    return -(-hidden // tile[1]) * -(-batch // tile[0]), 1, 1


@functools.lru_cache(256)
def forward(how: Step) -> Source:
    """Return the kernel of a forward step. Without `keeps` there are no gates, and one cell per sequence."""
    p = Point(how, how.hands)
    p.head += [f"state = tl.where(NEAR < 0, {p.array('h', how.kind)}, {p.start('y', 'NEAR', 'K')})", "depth = K"]
    gates = range(how.layer.gates)
    units = [f"({p.unit}{f' + {gate} * H' if gate else ''})" for gate in gates]
    across = f"{p.across} * ({len(gates)} * H)"
    product = p.product([f"{across} + {unit}" if how.transposed else f"{unit} * K + {p.across}" for unit in units])
    how.layer.step(p, [p.s.wrap(how.wide, f"total{gate}") for gate in gates])
    return p.source(how.name("step" if how.keeps else "states"), product)


@functools.lru_cache(256)
def backward(how: Step) -> Source:
    """Return the kernel of a backward step. The first one has no later step and receives nothing."""
    p = Point(how)
    if how.projected:
        p.head += [f"state = {p.start('dy', 'AT', 'K')}", "depth = K"]
    else:
        p.head += [f"state = {p.start(how.slopes, 'LATER', 'K')}", "depth = tl.where(LATER < 0, 0, K)"]
    product = p.product([f"{p.across} * H + {p.unit}"])
    total = p.s.wrap(how.wide, "total0")
    if how.projected:
        how.layer.slopes(p, total)
    else:
        arrived = p.plus("gy", total + p.carried("dh") if how.passes else total)
        direct = how.layer.slopes(p, p.inside(arrived))
        if how.passes:
            p.carry("dh", p.past(direct, arrived))
    return p.source(how.name("step_grad", *how.given), product)


class Point:
    """Some units of some rows at a step, as text. Loads precede the product, all else follows it.

    `hands` names the state that comes from the step before in the dtype of sums.
    """

    def __init__(self, how: Step, hands: str = ""):
        self.how, self.hands = how, hands
        self.arrays: dict = {}          # dtypes of the pointer parameters
        self.steps: set = set()         # used names among STEPS
        self.head: list = []            # lines before the product
        self.loaded: dict = {}
        self.again = False              # whether an operand is overwritten
        self.text = Text({*_NAMES, *_ARRAYS})
        self.s = TritonBuilder(self.text)
        dots = how.form == DOTS
        self.row, self.unit = ("row", "unit") if dots else ("row[:, :, None]", "unit[:, :, None]")
        self.along = "at_k[None, :]" if dots else "at_k[None, None, :]"
        self.across = "at_k[:, None]" if dots else "at_k[None, None, :]"

    # The file.

    def source(self, name, product) -> Source:
        """Return the whole file."""
        where = ["across = tl.cdiv(H, BN)", "row = ((tl.program_id(0) // across) * BM + tl.arange(0, BM)).to(INDEX)[:, None]",
                 "unit = ((tl.program_id(0) % across) * BN + tl.arange(0, BN)).to(INDEX)[None, :]",
                 "inside = (row < B) & (unit < H)"]
        barrier = ["tl.debug_barrier()"] if self.again else []
        lines = [*where, *[line.removeprefix("    ") for line in self.head], *product, *barrier,
                 *[line.removeprefix("    ") for line in self.text.lines]]
        pointers = [Parameter(n, POINTER, memory(kind)) for n, kind in self.arrays.items()]
        numbers = [Parameter(n, NUMBER, dt.int32) for n in STEPS if n in self.steps]
        helpers = "".join(f"@triton.jit\n{text}\n\n" for text in self.text.helpers.values())
        return emit(name, (*pointers, *numbers, *[Parameter(n, SIZE) for n in SIZES]), CONSTANTS, lines, helpers=helpers)

    def product(self, weights) -> list:
        """Return lines for the sums total0, total1 ... of `state` by the weights at these places."""
        how, zero = self.how, zero_of(self.how.kind)
        self.array("w", how.kind)
        dots, wide = how.form == DOTS, TYPE[how.wide]
        loop = ["at_k = (from_k + tl.arange(0, BK)).to(INDEX)",
                f"left = tl.load(state + ({self.row} * K + {self.along}), ({self.row} < B) & ({self.along} < K), {zero})"]
        for n, place in enumerate(weights):
            loop.append(f"right = tl.load(w + ({place}), ({self.unit} < H) & ({self.across} < K), {zero})")
            loop.append(f"total{n} = tl.dot(left, right, total{n}{stated_dot(how.kind, how.precision)})" if dots
                        else f"total{n} = tl.fma(left, right, total{n})")
        totals = range(len(weights))
        return [*[f"total{n} = tl.zeros([BM, BN{'' if dots else ', BK'}], {wide})" for n in totals],
                "for from_k in range(0, depth, BK):", *["    " + line for line in loop],
                *([] if dots else [f"total{n} = tl.sum(total{n}, 2)" for n in totals])]

    # Places.

    def array(self, name, kind) -> str:
        """Return an array's name, and make it a pointer parameter."""
        self.arrays[name] = kind
        return name

    def start(self, name, step, width) -> str:
        """Return the start of the rows of an all-steps array at a step."""
        self.array(name, self.how.kind)
        self.steps.add(step)
        return f"{name} + {step}.to(INDEX) * (B * ({width}))"

    def load(self, key, pointer, place, kind, mask="inside", other="") -> Val:
        """Load from a place, in the dtype of sums."""
        if key not in self.loaded:
            with self._early():
                found = self.text.let(f"tl.load({pointer} + ({place}), {mask}{other and ', ' + other})", "v")
            self.loaded[key] = self.s.cast(self.s.wrap(kind, found), self.how.wide)
        return self.loaded[key]

    @contextmanager
    def _early(self):
        later, self.text.lines = self.text.lines, self.head
        yield
        self.text.lines = later

    def _part(self, parts, part) -> str:
        return f"row * ({parts} * H) + (unit + {part} * H)" if parts > 1 else _PLACE

    def at(self, name, step, parts=1, part=0):
        """Load an array of all steps at one of them."""
        start = self.start(name, step, f"{parts} * H" if parts > 1 else "H")
        return self.load((name, step, part), start, self._part(parts, part), self.how.kind)

    def put(self, value, start, place):
        self.s.store(self.s.cast(value, self.arrays[start.split(" ")[0]]), start, place, "inside")

    # Steps of the forward walk that cells call.

    def input(self, gate):
        return self.at("z", "AT", self.how.layer.gates, gate)

    def biased(self, gate, total):
        """Return a recurrent sum, with its bias if there is one."""
        if not self.how.biased:
            return total
        bias = self.array("bias", self.how.kind)
        return total + self.load(("bias", gate), bias, f"unit + {gate} * H", self.how.kind, "unit < H")

    def before(self, state):
        """Load the state h or c at the start of the step."""
        if state not in self.loaded:
            self.loaded[state] = self._started(state)
        return self.loaded[state]

    def _started(self, state):
        how, first = self.how, self.array(state, self.how.kind)
        self.steps.add("NEAR")
        if state == self.hands:
            old = self.load(f"first {state}", first, _PLACE, how.kind, "inside & (NEAR < 0)", zero_of(how.kind))
            new = self.load("exact", self._passed_on("exact"), _PLACE, how.wide, "inside & (NEAR >= 0)", zero_of(how.wide))
            return self.s.select(self.s.wrap(dt.bool_, "(NEAR < 0)"), old, new)
        name = {before: after for after, before in BEFORE.items()}[state]
        after = self.start(name, "NEAR", "H") if how.keeps or state == "h" else self._passed_on(name)
        return self.load(f"before {state}", f"tl.where(NEAR < 0, {first}, {after})", _PLACE, how.kind)

    @property
    def live(self):
        """Return per row whether the step is real."""
        if "live" not in self.loaded:
            self.array("mask", dt.bool_)
            self.steps.add("AT")
            with self._early():
                found = self.text.let("tl.load(mask + (AT.to(INDEX) * B + row), row < B, 0)", "v")
            self.loaded["live"] = self.s.wrap(dt.bool_, self.text.let(f"{found} != 0"))
        return self.loaded["live"]

    def state(self, name, value):
        """Store a state, or the one before if the step is padding."""
        if name == "y" and self.how.projected:
            self.put(value, self.array("hidden", self.how.kind), _PLACE)
            return
        if self.how.masked:
            value = self.s.select(self.live, value, self.before(BEFORE[name]))
        once = name == "cells" and not self.how.keeps
        self.put(value, self._passed_on(name) if once else self.start(name, "AT", "H"), _PLACE)
        if BEFORE[name] == self.hands:
            self.put(value, self._passed_on("exact"), _PLACE)

    def _passed_on(self, name) -> str:
        """Return an array (B, H) that each step leaves for the next one."""
        self.again = True
        return self.array(name, self.how.kind if name == "cells" else self.how.wide)

    def give(self, name, values):
        """Store the parts of an array of all steps, except gates that are not saved."""
        if name == "gates" and not self.how.keeps:
            return
        for part, value in enumerate(values):
            self.put(value, self.start(name, "AT", f"{len(values)} * H"), self._part(len(values), part))

    # Steps of the backward walk.

    def saved_parts(self, name, count):
        """Load the parts of a saved array."""
        return [self.at(name, "AT", count, part) for part in range(count)]

    def saved_array(self, name):
        return self.at(name, "AT")

    def plus(self, name, value, parts=1, part=0):
        """Return a value plus an outside gradient, if there is one."""
        return self.at(name, "AT", parts, part) + value if name in self.how.given else value

    def carried(self, name):
        """Load a gradient from the later step."""
        self.steps.add("LATER")
        return self.load(name, self._passed_on(name), _PLACE, self.how.wide, "inside & (LATER >= 0)",
                         zero_of(self.how.wide))

    def carry(self, name, value):
        """Store a gradient for the earlier step."""
        self.put(value, self._passed_on(name), _PLACE)

    def inside(self, gradient):
        """Return the gradient that enters the step."""
        return self.s.select(self.live, gradient, self.nothing()) if self.how.masked else gradient

    def past(self, value, gradient):
        """Return a value, or the whole gradient if the step is padding."""
        return self.s.select(self.live, value, gradient) if self.how.masked else value

    def nothing(self):
        return self.s.const(self.how.wide, 0.0)
