"""LU factors with partial pivoting as pool tasks: whole matrices of a batch, or one panel of columns of a large matrix.

A matrix is copied to the worker's scratch with its columns as rows, so pivot search, scaling and elimination run along vectors.
`BLOCK` columns are eliminated one after the other. Then the other columns exchange rows, become rows of U, and subtract the
block's products while its L is in registers.
"""

from dataclasses import dataclass

from ..contract.microkernel import fold_lanes, multiply_add
from ..contract.transpose_squares import turn_in, turn_out, write_turn_square
from ..ir.emit import ElementWriter
from ..ir.types import F32, F64, I32, I64, PTR, VOID, bytes_of, constant, iota, mangled, vector
from ..pool.tasks import WORD, Words, write_task
from .matrix_columns import Columns

ARRAYS = ("x", "out", "pivots", "info")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "rows", "columns", "x_row", "x_batch", "out_row", "out_batch",
         "pivots_batch", "apart", "scratch_bytes", "first")
# `first` is this panel's row and column in a large matrix; `apart` is the bytes between columns.
MOVE_ARRAYS = ("x", "pivots")
MOVE_WORDS = (*MOVE_ARRAYS, "scratch", "turn", "items", "chunks", "strips", "width", "columns", "count", "first", "x_row",
              "x_batch", "pivots_batch")
BLOCK = 8                                               # columns, or fewer where a vector has fewer lanes
_SMALLEST = {F32: 2.0 ** -126, F64: 2.0 ** -1022}       # smallest numbers with a finite reciprocal
_GROWTH = 2.0 ** 64


@dataclass(frozen=True)
class LuKernel(ElementWriter):
    """Generator of the factoring task and of row exchanges."""

    @property
    def block(self) -> int:
        """Columns that are eliminated together."""
        return min(BLOCK, self.lanes)

    @property
    def symbol(self) -> str:
        """Name of the task that factors; an item is a matrix."""
        return f"lu_{mangled(self.element)}"

    @property
    def moves(self) -> str:
        """Name of the task that exchanges rows; an item is a strip of columns of a matrix."""
        return f"lu_moves_{mangled(self.element)}"

    def write(self, module):
        write_turn_square(module, self.element)
        write_task(module, self.symbol, _write_factor(module, self), WORDS)
        write_task(module, self.moves, _write_moves(module, self), MOVE_WORDS, worker=False)


def _write_factor(module, kernel):
    element = kernel.element
    factor, follow = _write_block(module, kernel), _write_follow(module, kernel)
    f = module.function("factor", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    arg, number, worker = f.params
    job = Words(f, arg, WORDS)
    rows, columns, apart = job.rows, job.columns, job.apart
    work = f.at(job.address("scratch"), f.mul(worker, job.scratch_bytes))
    turn_in(f, element, f.at(job.address("x"), f.mul(number, job.x_batch)), job.x_row, rows, columns, work, apart)
    pivots = f.at(job.address("pivots"), f.mul(number, job.pivots_batch))
    info, exchanged = f.at(job.address("info"), number, I32), f.local(kernel.block * WORD)
    with f.loop(0, f.min(rows, columns), kernel.block) as loop:
        f.call(factor, VOID, work, apart, rows, columns, loop.index, job.first, pivots, info, exchanged)
        f.call(follow, VOID, work, apart, rows, columns, loop.index, exchanged)
    turn_out(f, element, work, apart, f.at(job.address("out"), f.mul(number, job.out_batch)), job.out_row, rows, columns)
    f.ret()
    return f.name


def _write_block(module, kernel):
    """Write the function that eliminates `BLOCK` columns; `exchanged` gets the byte offset of each one's pivot in a column."""
    f = module.function("block", [(PTR, "work"), (I64, "apart"), (I64, "rows"), (I64, "columns"), (I64, "start"),
                                  (I64, "first"), (PTR, "pivots"), (PTR, "info"), (PTR, "exchanged")], internal=True)
    work, apart, rows, columns, start, first, pivots, info, exchanged = f.params
    matrix, end = Columns(f, kernel.element, work, apart, rows), f.min(rows, columns)
    for number in range(kernel.block):
        k = f.add(start, number)
        f.store(f.mul(k, matrix.size), f.at(exchanged, WORD * number))
        with f.when(f.compare("slt", k, end)):
            pivot = _pivot_row(matrix, k)
            f.store(f.mul(pivot, matrix.size), f.at(exchanged, WORD * number))
            f.store(f.cast("trunc", f.add(f.add(pivot, first), 1), I32), f.at(pivots, k, I32))
            _eliminate(matrix, start, number, kernel.block, pivot, lambda is_zero, k=k: _note_zero(f, is_zero, k, first, info))
    f.ret()
    return f.name


def _pivot_row(matrix, k):
    """Return the row of the first largest element of column k, from row k on."""
    f, lanes, number = matrix.f, matrix.lanes, matrix.number
    column, least = matrix.column(k), constant(matrix.type, -1.0)
    own = matrix.spread(k)
    with matrix.vectors_from(k, [least, own]) as loop:
        best, where = loop.carried
        size = f.intrinsic("fabs", matrix.type, f.load(matrix.type, f.at(column, loop.index, matrix.element)))
        rows = matrix.rows_of(loop.index)
        larger = f.binary("and", f.compare("ogt", size, best), f.compare("sge", rows, own))
        loop.next(f.select(larger, size, best), f.select(larger, rows, where))
    best, where = loop.results
    largest = fold_lanes(f, best, lambda a, b: f.select(f.compare("ogt", a, b), a, b))
    equal = f.compare("oeq", best, f.splat(largest, lanes))
    none = constant(where.type, (1 << 31) - 1)
    found = f.intrinsic("vector.reduce.smin", where.type, f.select(equal, where, none), ret=number)
    found = f.cast("sext", found, I64) if number == I32 else found
    return f.select(f.compare("slt", found, matrix.rows), found, k)     # beyond the rows if all are nan


def _swap(f, matrix, column, here, there):
    one, other = f.at(column, here), f.at(column, there)
    a, b = f.load(matrix.element, one), f.load(matrix.element, other)
    f.store(b, one)
    f.store(a, other)


def _note_zero(f, is_zero, k, first, info):
    with f.when(f.binary("and", is_zero, f.compare("eq", f.load(I32, info), 0))):
        f.store(f.cast("trunc", f.add(f.add(k, first), 1), I32), info)


def _eliminate(matrix, start, number, block, pivot, note):
    """Exchange row k of a block's columns with the pivot's, scale column k below it, and subtract its products from the columns
    to its right. The vector with row k is exchanged in a register: a load would wait for elements just stored."""
    f, element, lanes = matrix.f, matrix.element, matrix.lanes
    k = f.add(start, number)
    columns = [matrix.column(f.add(start, n)) for n in range(block)]
    own, others = ([f.load(element, f.at(column, row, element)) for column in columns] for row in (k, pivot))
    head = f.bit_and(k, -lanes)
    after = f.add(head, lanes)
    with f.when(f.compare("sge", pivot, after)):
        for column, value in zip(columns, own):
            f.store(value, f.at(column, pivot, element))
    grown, scale = _scales(f, element, others[number], note)
    factors = [f.splat(f.fneg(value), lanes) for value in others[number + 1:]]
    rows, here = matrix.rows_of(head), matrix.spread(k)
    at_pivot = f.compare("eq", rows, matrix.spread(pivot))
    at_own, inside = f.compare("eq", rows, here), f.compare("sgt", rows, here)
    first = []
    for column, mine, other in zip(columns, own, others):
        value = f.select(at_pivot, f.splat(mine, lanes), f.load(matrix.type, f.at(column, head, element)))
        first.append(f.select(at_own, f.splat(other, lanes), value))
    scaled = f.fmul(f.fmul(first[number], grown), scale)
    first[number] = f.select(inside, scaled, first[number])
    first[number + 1:] = [f.select(inside, multiply_add(f, scaled, by, value), value)
                          for by, value in zip(factors, first[number + 1:])]
    for column, value in zip(columns, first):
        f.store(value, f.at(column, head, element))
    with f.loop(after, matrix.rows, lanes) as loop:
        place = f.at(columns[number], loop.index, element)
        scaled = f.fmul(f.fmul(f.load(matrix.type, place), grown), scale)
        f.store(scaled, place)
        for column, by in zip(columns[number + 1:], factors):
            there = f.at(column, loop.index, element)
            f.store(multiply_add(f, scaled, by, f.load(matrix.type, there)), there)


def _scales(f, element, pivot, note):
    """Return two factors that together divide by a pivot: very small ones are enlarged first; zero ones change nothing."""
    lanes, one = f.lanes(element), constant(element, 1.0)
    is_zero, tiny = f.compare("oeq", pivot, 0.0), f.compare("olt", f.intrinsic("fabs", element, pivot), _SMALLEST[element])
    note(is_zero)
    grown = f.select(f.binary("and", tiny, f.compare("une", pivot, 0.0)), constant(element, _GROWTH), one)
    scale = f.select(is_zero, one, f.fdiv(one, f.fmul(pivot, grown)))
    return f.splat(grown, lanes), f.splat(scale, lanes)


def _write_follow(module, kernel):
    """Write the function that lets all other columns follow a block: exchanges, rows of U, products."""
    element = kernel.element
    f = module.function("follow", [(PTR, "work"), (I64, "apart"), (I64, "rows"), (I64, "columns"), (I64, "start"),
                                   (PTR, "exchanged")], internal=True)
    work, apart, rows, columns, start, exchanged = f.params
    block, lanes = kernel.block, kernel.lanes
    matrix, right = Columns(f, element, work, apart, rows), f.add(start, block)
    offsets = [f.load(I64, f.at(exchanged, WORD * number)) for number in range(block)]
    with f.loop(0, start) as loop:
        _exchange(matrix, loop.index, start, offsets)
    lines = [f.load(vector(block, element), matrix.spot(start, f.add(start, number))) for number in range(block - 1)]
    with f.loop(right, columns) as loop:
        _exchange(matrix, loop.index, start, offsets)
        place = matrix.spot(start, loop.index)
        value = f.load(vector(block, element), place)
        for number, line in enumerate(lines):
            by = f.splat(f.fneg(f.extract(value, number)), block)
            value = f.select(f.compare("sgt", iota(block), number), multiply_add(f, line, by, value), value)
        f.store(value, place)
    whole = f.mul(f.ceil_div(right, lanes), lanes)
    with f.when(f.compare("slt", right, whole)):
        _take_off(matrix, start, right, columns, f.sub(whole, lanes), block, 1, matrix.below(f.sub(whole, lanes), right))
    group = 2 if kernel.target.vector_registers >= 32 else 1
    last = f.mul(f.ceil_div(rows, lanes), lanes)
    pairs = f.add(whole, f.bit_and(f.max(f.sub(last, whole), 0), -group * lanes))
    for count, begin, end in ((group, whole, pairs), (1, pairs, last))[:group]:
        with f.loop(begin, end, count * lanes) as down:
            _take_off(matrix, start, right, columns, down.index, block, count)
    f.ret()
    return f.name


def _exchange(matrix, column, start, offsets):
    """Exchange the rows of one column as the block did."""
    f, begin = matrix.f, matrix.column(column)
    for number, offset in enumerate(offsets):
        _swap(f, matrix, begin, f.mul(f.add(start, number), matrix.size), offset)


def _take_off(matrix, start, right, columns, row, block, count, inside=None):
    """Subtract the block's products from some vectors of rows of all columns to the right, only from rows `inside` if given."""
    f, lanes = matrix.f, matrix.lanes
    held = [[f.load(matrix.type, matrix.spot(f.add(row, n * lanes), f.add(start, number))) for n in range(count)]
            for number in range(block)]
    with f.loop(right, columns) as loop:
        top = matrix.spot(start, loop.index)
        spots = [matrix.spot(f.add(row, n * lanes), loop.index) for n in range(count)]
        before = values = [f.load(matrix.type, spot) for spot in spots]
        for number, line in enumerate(held):
            by = f.splat(f.fneg(f.load(matrix.element, f.at(top, number * matrix.size))), lanes)
            values = [multiply_add(f, one, by, value) for one, value in zip(line, values)]
        for value, old, spot in zip(values, before, spots):
            f.store(value if inside is None else f.select(inside, value, old), spot)


def _write_moves(module, kernel):
    """Write the function of a strip of columns: exchange its rows, one pivot after the other."""
    f = module.function("move", [(PTR, "job"), (I64, "number")], internal=True)
    size, lanes = bytes_of(kernel.element), kernel.lanes
    arg, number = f.params
    job, type_ = Words(f, arg, MOVE_WORDS), vector(kernel.lanes, kernel.element)
    batch, column = f.div(number, job.strips), f.mul(f.mod(number, job.strips), job.width)
    wide, x_row, first = f.min(f.sub(job.columns, column), job.width), job.x_row, job.first
    x = f.at(f.at(job.address("x"), f.mul(batch, job.x_batch)), f.mul(column, size))
    pivots = f.at(job.address("pivots"), f.mul(batch, job.pivots_batch))
    with f.loop(0, job.count) as loop:
        other = f.sub(f.sub(f.cast("sext", f.load(I32, f.at(pivots, loop.index, I32)), I64), 1), first)
        with f.when(f.compare("ne", other, loop.index)):
            rows = [f.at(x, f.mul(row, x_row)) for row in (loop.index, other)]
            with f.loop(0, wide, lanes) as along:
                mask = f.mask(f.sub(wide, along.index), lanes)
                spots = [f.at(row, along.index, kernel.element) for row in rows]
                values = [f.load_masked(type_, spot, mask) for spot in spots]
                for value, spot in zip(values, reversed(spots)):
                    f.store_masked(value, spot, mask)
    f.ret()
    return f.name
