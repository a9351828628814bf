"""QR factors by Householder reflections as pool tasks: whole matrices of a batch, or one panel of columns of a large matrix.

A matrix is copied to the worker's scratch with its columns as rows, so reflections run along vectors. Signs are LAPACK's: H = I
- tau v v^T with v = 1 on the diagonal maps a column to -sign(its first element) times its length. A column with zeros below the
diagonal stays, with tau = 0.
"""

from dataclasses import dataclass

from ..contract.microkernel import add_lanes, multiply_add
from ..contract.transpose_squares import turn_in, turn_out, write_turn_square
from ..ir.emit import ElementWriter
from ..ir.types import F32, F64, I64, PTR, VOID, Value, constant, mangled, vector, zero
from ..pool.tasks import Words, write_task
from .matrix_columns import Columns

ARRAYS = ("x", "packed", "tau", "v", "r", "q")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "rows", "columns", "steps", "wide", "apart", "scratch_bytes", "x_row",
         "x_batch", "packed_row", "packed_batch", "tau_batch", "v_row", "v_batch", "r_row", "r_batch", "q_row", "q_batch")
# `steps` is the number of reflections. Results with a row stride are written: `packed` as from geqrf, `v` with ones and zeros
# on and above its diagonal, `r` (`steps` rows, zeros below the diagonal), `q` (`wide` columns).
_TOGETHER = 4                                           # columns that a reflection takes side by side
_SAFE = {F32: (2.0 ** -100, 2.0 ** 100), F64: (2.0 ** -900, 2.0 ** 900)}    # range of exact sums of squares


@dataclass(frozen=True)
class HouseholderKernel(ElementWriter):
    """Generator of the task; an item is a matrix."""

    @property
    def symbol(self) -> str:
        return f"householder_{mangled(self.element)}"

    def write(self, module):
        write_turn_square(module, self.element)
        _write_length(module, self)
        _write_reflect(module, self)
        write_task(module, self.symbol, _write_item(module, self), WORDS)


def _write_item(module, kernel):
    """Write the function of one matrix: the reflections, then the results; Q is last, since it overwrites the reflections."""
    f, element = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True), kernel.element
    arg, number, worker = f.params
    job = Words(f, arg, WORDS)
    rows, columns, steps = job.rows, job.columns, job.steps

    def array(name):
        return f.at(job.address(name), f.mul(number, f.load(I64, job.spot(f"{name}_batch"))))

    v = f.at(job.address("scratch"), f.mul(worker, job.scratch_bytes))      # one reflection, then the matrix
    matrix = Columns(f, element, f.at(v, job.apart), job.apart, rows)
    tau = array("tau")
    turn_in(f, element, array("x"), job.x_row, rows, columns, matrix.start, matrix.apart)
    with f.loop(0, steps) as loop:
        _make(matrix, v, loop.index, columns, tau)
    with f.when(f.compare("ne", job.packed_row, 0)):
        turn_out(f, element, matrix.start, matrix.apart, array("packed"), job.packed_row, rows, columns)
    with f.when(f.compare("ne", job.r_row, 0)):
        turn_out(f, element, matrix.start, matrix.apart, array("r"), job.r_row, steps, columns)
        with f.loop(0, steps) as loop:
            line = f.at(array("r"), f.mul(loop.index, job.r_row))
            _clear(f, element, line, f.min(loop.index, columns))
    with f.when(f.compare("ne", job.v_row, 0)):
        with f.loop(0, steps) as loop:
            column = matrix.column(loop.index)
            _clear(f, element, column, loop.index)
            f.store(constant(element, 1.0), f.at(column, loop.index, element))
        turn_out(f, element, matrix.start, matrix.apart, array("v"), job.v_row, rows, steps)
    with f.when(f.compare("ne", job.q_row, 0)):
        _collect(matrix, v, steps, job.wide, tau)
        turn_out(f, element, matrix.start, matrix.apart, array("q"), job.q_row, rows, job.wide)
    f.ret()
    return f.name


def _clear(f, element, start, count):
    lanes = f.lanes(element)
    type_ = vector(lanes, element)
    with f.loop(0, count, lanes) as loop:
        f.store_masked(zero(type_), f.at(start, loop.index, element), f.mask(f.sub(count, loop.index), lanes))


def _make(matrix, v, k, columns, tau):
    """Compute the reflection of column k, and apply it to the columns behind."""
    f, element = matrix.f, matrix.element
    column, one = matrix.column(k), constant(element, 1.0)
    below = f.call("length", element, column, k, matrix.rows)
    alpha = f.load(element, f.at(column, k, element))

    def reflect():
        size = f.call("length_of_two", element, alpha, below)
        beta = f.fneg(f.intrinsic("copysign", element, size, alpha))
        # (alpha - beta) has no cancellation; its reciprocal may be too large for columns of the smallest numbers.
        factor, scale = f.fdiv(f.fsub(beta, alpha), beta), f.fsub(alpha, beta)
        by = f.splat(scale, matrix.lanes)
        with matrix.vectors_from(k) as loop:
            place, rows = f.at(column, loop.index, element), matrix.rows_of(loop.index)
            value = f.load(matrix.type, place)
            inside = f.compare("sgt", rows, matrix.spread(k))
            scaled = f.fdiv(value, by)
            f.store(f.select(inside, scaled, value), place)
            here = f.select(f.compare("eq", rows, matrix.spread(k)), constant(matrix.type, 1.0), zero(matrix.type))
            f.store(f.select(inside, scaled, here), f.at(v, loop.index, element))
        f.store(beta, f.at(column, k, element))
        f.call("reflect", VOID, matrix.start, matrix.apart, matrix.rows, v, k, f.add(k, 1), columns, f.fneg(factor))
        return [factor]

    wanted = f.compare("une", below, 0.0)
    factor, = f.choose(wanted, reflect, lambda: [f.fsub(one, one)])
    f.store(factor, f.at(tau, k, element))


def _collect(matrix, v, steps, wide, tau):
    """Replace the reflections by the first columns of their product, from the last one on, as LAPACK's org2r."""
    f, element = matrix.f, matrix.element
    with f.loop(steps, wide) as extra:
        _clear(f, element, matrix.column(extra.index), f.mul(f.ceil_div(matrix.rows, matrix.lanes), matrix.lanes))
        f.store(constant(element, 1.0), matrix.spot(extra.index, extra.index))
    with f.loop(0, steps) as loop:
        k = f.sub(f.sub(steps, loop.index), 1)
        column, minus = matrix.column(k), f.fneg(f.load(element, f.at(tau, k, element)))
        spread, at = f.splat(minus, matrix.lanes), matrix.spread(k)
        with matrix.vectors_from(k) as along:
            place, rows = f.at(column, along.index, element), matrix.rows_of(along.index)
            value = f.load(matrix.type, place)
            here = f.select(f.compare("eq", rows, at), constant(matrix.type, 1.0), zero(matrix.type))
            value = f.select(f.compare("sgt", rows, at), value, here)
            f.store(value, f.at(v, along.index, element))
            f.store(multiply_add(f, value, spread, here), place)
        _clear(f, element, column, k)
        f.call("reflect", VOID, matrix.start, matrix.apart, matrix.rows, v, k, f.add(k, 1), wide, minus)


def _write_reflect(module, kernel):
    """Write `reflect`: add to some columns v times `minus` times their products with v, which begins at row `first`."""
    element = kernel.element
    f = module.function("reflect", [(PTR, "start"), (I64, "apart"), (I64, "rows"), (PTR, "v"), (I64, "first"), (I64, "low"),
                                    (I64, "high"), (element, "minus")], internal=True)
    start, apart, rows, v, first, low, high, minus = f.params
    matrix = Columns(f, element, start, apart, rows)
    end_of_groups = f.add(low, f.bit_and(f.max(f.sub(high, low), 0), -_TOGETHER))
    for count, begin, end in ((_TOGETHER, low, end_of_groups), (1, end_of_groups, high)):
        with f.loop(begin, end, count) as loop:
            columns = [matrix.column(f.add(loop.index, number)) for number in range(count)]
            with matrix.vectors_from(first, [zero(matrix.type)] * count) as down:
                line = f.load(matrix.type, f.at(v, down.index, element))
                down.next(*[multiply_add(f, line, f.load(matrix.type, f.at(column, down.index, element)), total)
                            for column, total in zip(columns, down.carried)])
            scales = [f.splat(f.fmul(add_lanes(f, total), minus), matrix.lanes) for total in down.results]
            with matrix.vectors_from(first) as down:
                line = f.load(matrix.type, f.at(v, down.index, element))
                for column, scale in zip(columns, scales):
                    place = f.at(column, down.index, element)
                    f.store(multiply_add(f, line, scale, f.load(matrix.type, place)), place)
    f.ret()


def _write_length(module, kernel):
    """Write `length` of a column below row k, with scaled squares if plain ones may over- or underflow, and `length_of_two`."""
    element = kernel.element
    f = module.function("length", [(PTR, "column"), (I64, "k"), (I64, "rows")], ret=element, internal=True)
    column, k, rows = f.params
    matrix = Columns(f, element, column, 0, rows)

    def squares(scale: Value | None):
        with matrix.vectors_from(k, [zero(matrix.type)] * 2) as loop:
            value = f.load(matrix.type, f.at(column, loop.index, element))
            value = f.select(f.compare("sgt", matrix.rows_of(loop.index), matrix.spread(k)), value, zero(matrix.type))
            value = value if scale is None else f.fdiv(value, scale)
            total, most = loop.carried
            size = f.intrinsic("fabs", matrix.type, value)
            loop.next(multiply_add(f, value, value, total), f.select(f.compare("ogt", size, most), size, most))
        return add_lanes(f, loop.results[0]), f.intrinsic("vector.reduce.fmax", matrix.type, loop.results[1], ret=element)

    total, most = squares(None)
    low, high = _SAFE[element]
    good = f.binary("and", f.compare("ogt", total, low), f.compare("olt", total, high))

    def again():
        usable = f.binary("and", f.compare("ogt", most, 0.0), f.compare("olt", most, float("inf")))
        found, = f.choose(usable, lambda: [f.fmul(most, f.intrinsic("sqrt", element,
                                                                    squares(f.splat(most, matrix.lanes))[0]))],
                          lambda: [f.intrinsic("sqrt", element, total)])
        return [found]

    found, = f.choose(good, lambda: [f.intrinsic("sqrt", element, total)], again)
    f.ret(found)
    f = module.function("length_of_two", [(element, "a"), (element, "b")], ret=element, internal=True)
    a, b = (f.intrinsic("fabs", element, value) for value in f.params)
    large, small = (f.select(f.compare("ogt", a, b), *pair) for pair in ((a, b), (b, a)))
    part = f.fdiv(small, large)
    f.ret(f.fmul(large, f.intrinsic("sqrt", element, multiply_add(f, part, part, constant(element, 1.0)))))
