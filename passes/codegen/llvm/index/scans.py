"""Scans along the middle dim of [outer, size, inner], as pool tasks, each step rounded by itself:

    add, mul     y[r] = y[r - 1] + x[r], or times
    linear       y[r] = x[r] * y[r - 1] + z[r], from 0
    logaddexp    y[r] = log(exp(y[r - 1]) + exp(x[r])), of floats
    amax, amin   y[r] the largest (smallest) so far, or the first nan; z[r] its last position, an int64

With inner = 1 a row is one chain of steps, so rows run side by side, a lane each: squares of as many columns are transposed in
registers on the way in and out. Extremes of halves combine, so such a row, if it fills a vector, is scanned vector by vector,
and a vector without news is only written. With larger inner, vectors of inner elements go row by row, block by block of inner.

`OtherProducts` is the gradient of a product: y[r] is first the product of the elements before r, then is multiplied by that of
the elements after it, from the end.
"""

from dataclasses import dataclass

from ... import scalars
from ...cost import function_cost
from ..contract.microkernel import transpose
from ..contract.transpose_squares import rows_there
from ..ir.emit import ElementWriter
from ..ir.memory_types import FLOAT_DTYPES
from ..ir.spelling import LlvmBuilder
from ..ir.types import I1, I64, bytes_of, constant, element_of, iota, is_float, lanes_of, vector, zero
from ..pool.tasks import open_task, task_items

ARRAYS = ("x", "z", "y")
ADD, MUL, LINEAR, LOG_ADD, MOST, LEAST = "add", "mul", "linear", "logaddexp", "amax", "amin"
FINDING = MOST, LEAST   # steps with z as a result
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "items", "outer", "size", "inner")
FEW = 3                 # rows up to which each is scanned alone: transposing squares takes longer
BLOCK = 4               # vectors of inner elements side by side


@dataclass(frozen=True)
class ScanKernel(ElementWriter):
    """Generator for an element type and a step."""

    how: str = ADD

    @property
    def along(self) -> str:
        """Name of the task for inner = 1; an item is `rows` rows."""
        return f"scan_rows_{self.element}_{self.how}"

    @property
    def rows(self) -> int:
        return self.target.lanes(bytes_of(self.element))

    @property
    def across(self) -> str:
        """Name of the task for other inner; an item is a block of inner of one outer."""
        return f"scan_columns_{self.element}_{self.how}"

    @property
    def block(self) -> int:
        """Inner elements of an item."""
        return BLOCK * self.target.lanes(bytes_of(self.element))

    @property
    def cost(self) -> int:
        """Work of a step, in simple instructions."""
        return function_cost(LOG_ADD, 2, FLOAT_DTYPES[self.element]) if self.how == LOG_ADD else 4

    @property
    def finds(self) -> bool:
        """Whether z is a result."""
        return self.how in FINDING

    def write(self, module):
        _along(module, self)
        _across(module, self)

    def scan_rows(self, f, job, first, count, one_by_one):
        """Write the scans of `count` rows from the row `first` on; one_by_one(write_row) takes them one after the other."""
        def short():
            f.choose(f.compare("sle", count, FEW), lambda: one_by_one(_row), lambda: _rows(f, self, job, first, count))

        if self.finds:
            is_long = f.compare("sge", job.size, self.rows)
            f.choose(is_long, lambda: one_by_one(_extreme_row), short)
        else:
            short()

    def scan_columns(self, f, job, start, masks):
        """Write the scans of vectors of inner from `start` on."""
        element, lanes, type_ = self.element, f.lanes(self.element), vector(f.lanes(self.element), self.element)
        kinds, begin = {"y": element, "z": I64}, _start(self, type_)
        with f.loop(0, job.size, 1, begin * BLOCK) as rows:
            at, results = f.add(start, f.mul(rows.index, job.inner)), []
            for n, mask in enumerate(masks):
                spot = f.add(at, n * lanes)
                state = _step(f, self, rows.carried[n * len(begin):(n + 1) * len(begin)], lambda name, spot=spot, mask=mask:
                              f.load_masked(type_, f.at(job.address(name), spot, element), mask), rows.index)
                for name, value in zip(("y", "z"), state):
                    f.store_masked(value, f.at(job.address(name), spot, kinds[name]), mask)
                results += state
            rows.next(*results)


def _start(kernel, type_) -> list:
    """Return the carried values before the first step."""
    real = is_float(kernel.element)
    if kernel.how == ADD:       # -0.0 changes no element
        return [constant(type_, -0.0) if real else zero(type_)]
    if kernel.how == MUL:
        return [constant(type_, 1.0 if real else 1)]
    if kernel.how == LOG_ADD:
        return [constant(type_, float("-inf"))]
    return [zero(type_), zero(_position_type(type_))] if kernel.finds else [zero(type_)]


def _position_type(type_) -> str:
    return I64 if type_ == element_of(type_) else vector(lanes_of(type_), I64)


def _step(f, kernel, before, load, number) -> list:
    """Return the carried values after step `number`: y, and z if it is a result. `load` loads an array's elements."""
    real, x = is_float(kernel.element), load("x")
    if kernel.how in (ADD, MUL):
        return [f.binary(f"f{kernel.how}" if real else kernel.how, before[0], x)]
    if kernel.how == LOG_ADD:
        s, dtype = LlvmBuilder(f, lanes_of(x.type)), FLOAT_DTYPES[kernel.element]
        return [scalars.apply(s, LOG_ADD, s.wrap(dtype, before[0]), s.wrap(dtype, x)).ref]
    if kernel.how == LINEAR:
        return [f.fadd(f.fmul(x, before[0]), load("z"))]
    (best, position), first = before, f.compare("eq", number, 0)
    order = {True: ("oge", "ole"), False: ("sge", "sle")}[real][kernel.how == LEAST]
    stays, nan = f.compare(order, best, x), None
    if real:
        stays, nan = f.binary("or", stays, f.compare("uno", best, best)), f.compare("uno", x, x)
    best = f.select(first, x, f.select(stays, best, x))
    hit = f.compare("oeq" if real else "eq", x, best)
    hit = f.binary("or", hit, nan) if real else hit
    here = number if position.type == I64 else f.splat(number, lanes_of(position.type))
    return [best, f.select(hit, here, position)]


def _arrays_of(f, kernel, job, row):
    """Return {array: (address, element type)} of a row."""
    start = f.mul(row, job.size)
    kinds = {"x": kernel.element, "z": I64 if kernel.finds else kernel.element, "y": kernel.element}
    return {name: (f.at(job.address(name), start, kind), kind) for name, kind in kinds.items()}


def _row(f, kernel, job, row):
    arrays = _arrays_of(f, kernel, job, row)

    def spot(name, at):
        address, kind = arrays[name]
        return f.at(address, at, kind)

    with f.loop(0, job.size, 1, _start(kernel, kernel.element)) as loop:
        at = loop.index
        state = _step(f, kernel, loop.carried, lambda name: f.load(kernel.element, spot(name, at)), at)
        for name, value in zip(("y", "z"), state):
            f.store(value, spot(name, at))
        loop.next(*state)


def _rows(f, kernel, job, first, count):
    """Scan `count` rows from the row `first` on, a lane each."""
    lanes, arrays = kernel.rows, _arrays_of(f, kernel, job, first)
    whole = f.select(f.compare("eq", f.index(count), lanes), f.bit_and(job.size, -lanes), f.index(0))
    with f.loop(0, whole, lanes, _start(kernel, vector(lanes, kernel.element))) as loop:
        loop.next(*_square(f, kernel, job, arrays, loop, None))
    with f.loop(whole, job.size, lanes, loop.results) as rest:
        rest.next(*_square(f, kernel, job, arrays, rest, count))


def _square(f, kernel, job, arrays, loop, count):
    """Scan a square of steps; `count` if rows or columns may be missing. Return the carried values."""
    lanes, state = kernel.rows, loop.carried
    columns = {name: load_square(f, job, arrays[name], loop.index, count, lanes)
               for name in (("x", "z") if kernel.how == LINEAR else ("x",))}
    states = []
    for n in range(lanes):
        state = _step(f, kernel, state, lambda name, n=n: columns[name][n], f.add(loop.index, n))
        states.append(state)
    for name, values in zip(("y", "z"), zip(*states)):
        store_square(f, job, arrays[name], loop.index, count, list(values))
    return state


def _lines(f, job, array, at, count, lanes) -> list:
    """Return (address, mask) of each row of a square, from the element `at` on."""
    address, kind = array
    corner, apart = f.at(address, at, kind), f.mul(job.size, bytes_of(kind))
    if count is None:
        return [(f.at(corner, f.mul(apart, n)), None) for n in range(lanes)]
    return rows_there(f, corner, apart, count, f.mask(f.sub(job.size, at), lanes), lanes)


def load_square(f, job, array, at, count, lanes) -> list:
    """Load the columns of a square; `count` if rows or columns may be missing."""
    type_, found = vector(lanes, array[1]), _lines(f, job, array, at, count, lanes)
    return transpose(f, [f.load_masked(type_, spot, mask) for spot, mask in found])


def store_square(f, job, array, at, count, columns):
    """Store the columns of a square."""
    for value, (spot, mask) in zip(transpose(f, columns), _lines(f, job, array, at, count, len(columns))):
        f.store_masked(value, spot, mask)


def _later(f, kernel, before, after):
    """Return the extreme (value, index) of adjacent segments: of equals the later index but the earlier bits; nan stays."""
    (best, place), (x, at) = before, after
    real, least = is_float(kernel.element), kernel.how == LEAST
    better, as_good = (("olt", "ole") if least else ("ogt", "oge")) if real else (("slt", "sle") if least else ("sgt", "sge"))
    wins, seen = f.compare(better, x, best), f.compare(as_good, x, best)
    if real:
        nan = f.compare("uno", x, x)
        wins, seen = f.binary("or", wins, f.binary("and", nan, f.compare("ord", best, best))), f.binary("or", seen, nan)
    return f.select(wins, x, best), f.select(seen, at, place)


def _has_news(f, kernel, best, x):
    """Return whether some element of a vector changes the extreme or its index."""
    real, least, lanes = is_float(kernel.element), kernel.how == LEAST, lanes_of(x.type)
    news = f.compare(("ole" if least else "oge") if real else ("sle" if least else "sge"), x, best)
    if real:
        news = f.binary("or", news, f.compare("uno", x, x))
    return news if lanes == 1 else f.call(f"llvm.vector.reduce.or.v{lanes}i1", I1, news)


def _extreme_row(f, kernel, job, row):
    """Scan one row vector by vector. A vector with news is combined with itself shifted by 1, 2, 4, ... lanes."""
    element, lanes = kernel.element, f.lanes(kernel.element)
    type_, start = vector(lanes, element), f.mul(row, job.size)
    x, y, z = [f.at(job.address(name), start, kind) for name, kind in (("x", element), ("y", element), ("z", I64))]

    def vector_at(at, mask, state):
        spot = f.at(x, at, element)
        seen = f.load_masked(type_, spot, mask)

        def changed():
            found = seen, f.binary("add", f.splat(at, lanes), iota(lanes, I64))
            apart = 1
            while apart < lanes:
                order = [i - apart if i >= apart else i for i in range(lanes)]
                found = _later(f, kernel, [f.shuffle(v, v, order) for v in found], found)
                apart *= 2
            found = _later(f, kernel, state, found)
            return (*found, *(f.shuffle(v, v, [lanes - 1] * lanes) for v in found))

        best, position, *after = f.choose(_has_news(f, kernel, state[0], seen), changed, lambda: (*state, *state))
        for value, goal, kind in ((best, y, element), (position, z, I64)):
            f.store_masked(value, f.at(goal, at, kind), mask)
        return after

    whole = f.bit_and(job.size, -lanes)
    begin = f.splat(f.load(element, x), lanes), zero(_position_type(type_))
    with f.loop(0, whole, lanes, begin) as loop:
        loop.next(*vector_at(loop.index, None, loop.carried))
    rest = f.sub(job.size, whole)
    with f.when(f.compare("sgt", rest, 0)):
        vector_at(whole, f.mask(rest, lanes), loop.results)


def _along(module, kernel):
    """Write the task for inner = 1, in groups of rows."""
    with task_items(module, kernel.along, WORDS) as (f, job, item):
        first = f.mul(item, kernel.rows)
        count = f.min(f.sub(job.outer, first), kernel.rows)

        def one_by_one(write_row):
            with f.loop(first, f.add(first, count)) as row:
                write_row(f, kernel, job, row.index)

        kernel.scan_rows(f, job, first, count, one_by_one)


def _across(module, kernel):
    """Write the task for other inner, in blocks of vectors of inner."""
    f, job, share = open_task(module, kernel.across, WORDS)
    lanes, blocks = f.lanes(kernel.element), f.ceil_div(job.inner, kernel.block)
    with f.loop(*share) as loop:
        column = f.mul(f.mod(loop.index, blocks), kernel.block)
        start = f.add(f.mul(f.mul(f.div(loop.index, blocks), job.size), job.inner), column)
        kernel.scan_columns(f, job, start, [f.mask(f.sub(f.sub(job.inner, column), n * lanes), lanes) for n in range(BLOCK)])
    f.ret()


OTHERS = "others"


@dataclass(frozen=True)
class OtherProducts(ScanKernel):
    """Generator of products of all other elements, for floats."""

    how: str = OTHERS

    @property
    def cost(self) -> int:
        return 8

    def scan_rows(self, f, job, first, count, one_by_one):
        f.choose(f.compare("sle", count, FEW), lambda: one_by_one(_product_row),
                 lambda: _product_rows(f, self, job, first, count))

    def scan_columns(self, f, job, start, masks):
        element, lanes, type_ = self.element, f.lanes(self.element), vector(f.lanes(self.element), self.element)

        def each(row, products, value):
            at, after = f.add(start, f.mul(row, job.inner)), []
            for n, (mask, product) in enumerate(zip(masks, products)):
                x, y = [f.at(job.address(name), f.add(at, n * lanes), element) for name in ("x", "y")]
                f.store_masked(value(product, y, mask), y, mask)
                after.append(f.fmul(product, f.load_masked(type_, x, mask)))
            return after

        begin = [constant(type_, 1.0)] * BLOCK
        with f.loop(0, job.size, 1, begin) as rows:
            rows.next(*each(rows.index, rows.carried, lambda product, y, mask: product))
        with f.loop(0, job.size, 1, begin) as rows:
            back = f.sub(f.sub(job.size, 1), rows.index)
            rows.next(*each(back, rows.carried, lambda product, y, mask: f.fmul(f.load_masked(type_, y, mask), product)))


def _product_row(f, kernel, job, row):
    arrays, element = _arrays_of(f, kernel, job, row), kernel.element

    def spot(name, at):
        return f.at(arrays[name][0], at, element)

    with f.loop(0, job.size, 1, [constant(element, 1.0)]) as loop:
        f.store(loop.carried[0], spot("y", loop.index))
        loop.next(f.fmul(loop.carried[0], f.load(element, spot("x", loop.index))))
    with f.loop(0, job.size, 1, [constant(element, 1.0)]) as loop:
        at = f.sub(f.sub(job.size, 1), loop.index)
        f.store(f.fmul(f.load(element, spot("y", at)), loop.carried[0]), spot("y", at))
        loop.next(f.fmul(loop.carried[0], f.load(element, spot("x", at))))


def _product_rows(f, kernel, job, first, count):
    """Compute `count` rows from the row `first` on, a lane each."""
    lanes, arrays = kernel.rows, _arrays_of(f, kernel, job, first)
    whole = f.select(f.compare("eq", f.index(count), lanes), f.bit_and(job.size, -lanes), f.index(0))
    rest = f.mul(f.ceil_div(f.sub(job.size, whole), lanes), lanes)
    last = f.sub(f.add(whole, rest), lanes)
    with f.loop(0, whole, lanes, [constant(vector(lanes, kernel.element), 1.0)]) as loop:
        loop.next(_forwards(f, job, arrays, loop.index, None, lanes, *loop.carried))
    with f.loop(whole, job.size, lanes, loop.results) as loop:
        loop.next(_forwards(f, job, arrays, loop.index, count, lanes, *loop.carried))
    with f.loop(0, rest, lanes, [constant(vector(lanes, kernel.element), 1.0)]) as loop:
        loop.next(_backwards(f, job, arrays, f.sub(last, loop.index), count, lanes, *loop.carried))
    with f.loop(0, whole, lanes, loop.results) as loop:
        loop.next(_backwards(f, job, arrays, f.sub(f.sub(whole, lanes), loop.index), None, lanes, *loop.carried))


def _forwards(f, job, arrays, at, count, lanes, product):
    """Store the products before the elements of a square, from `product`; return the product after it."""
    found = []
    for x in load_square(f, job, arrays["x"], at, count, lanes):
        found.append(product)
        product = f.fmul(product, x)
    store_square(f, job, arrays["y"], at, count, found)
    return product


def _backwards(f, job, arrays, at, count, lanes, product):
    """Multiply the stored products by those after the elements of a square, from its last one on."""
    xs, ys = [load_square(f, job, arrays[name], at, count, lanes) for name in ("x", "y")]
    for n in range(lanes - 1, -1, -1):
        ys[n], after = f.fmul(ys[n], product), f.fmul(product, xs[n])
        is_there = None if count is None else f.compare("slt", f.add(at, n), job.size)
        product = after if is_there is None else f.select(is_there, after, product)
    store_square(f, job, arrays["y"], at, count, ys)
    return product
