"""Matrices copied with rows and columns exchanged, square by square in registers, and transposing copies as a pool task.

The task takes `columns` neighbours of the source to rows of the result, whose neighbours are `x_row` apart in the source.
Around these two dims are up to three others.

    y[o0][o1][o2] + j * y_row + i  =  x[o0][o1][o2] + i * x_row + j          i < rows, j < columns

An item is a vector's worth of columns, so every line of the source is read once, whole, and few rows are written at a time.
"""

from dataclasses import dataclass

from ..ir.emit import Module, ModuleWriter
from ..ir.types import I64, VOID, bytes_of, constant, vector, zero
from ..pool.tasks import open_task, split_index
from .microkernel import transpose


def _name(element: str, lanes: int) -> str:
    return f"turn_square_{element}_{lanes}"


def write_turn_square(module: Module, element: str, lanes: int = 0):
    """Write `void turn_square_...(source, source_row, rows, columns, target, target_row, target_rows, target_columns)`:
    transpose a block of at most `lanes` rows and columns (default: a vector's). The target gets exactly target_rows x
    target_columns elements, zeros where the source has none."""
    lanes = lanes or module.target.lanes(bytes_of(element))
    params = [("ptr noalias readonly", "source"), (I64, "source_row"), (I64, "rows"), (I64, "columns"),
              ("ptr noalias", "target"), (I64, "target_row"), (I64, "target_rows"), (I64, "target_columns")]
    f = module.function(_name(element, lanes), params, internal=True)
    source, source_row, rows, columns, target, target_row, target_rows, target_columns = f.params
    type_ = vector(lanes, element)

    def whole(high, wide):
        return f.binary("and", f.compare("eq", high, lanes), f.compare("eq", wide, lanes))

    def starts(pointer, row):
        return [f.at(pointer, f.mul(row, number)) for number in range(lanes)]

    def read_all():
        return tuple([f.load(type_, start) for start in starts(source, source_row)])

    def read_some():
        some = rows_there(f, source, source_row, rows, f.mask(columns, lanes), lanes)
        return tuple([f.load_masked(type_, start, mask) for start, mask in some])

    def write_all():
        for value, start in zip(transposed, starts(target, target_row)):
            f.store(value, start)

    def write_some():
        some = rows_there(f, target, target_row, target_rows, f.mask(target_columns, lanes), lanes)
        for value, (start, mask) in zip(transposed, some):
            f.store_masked(value, start, mask)

    transposed = transpose(f, list(f.choose(whole(rows, columns), read_all, read_some)))
    f.choose(whole(target_rows, target_columns), write_all, write_some)
    f.ret()


def rows_there(f, start, row, rows, some, lanes):
    """Return (address, mask) of each of `lanes` rows. Missing rows have empty masks at the last existing row: their own
    addresses may be unmapped, which masked accesses detect slowly."""
    none, last = zero(vector(lanes, "i1")), f.sub(rows, 1)
    numbers = [constant(I64, n) for n in range(lanes)]
    return [(f.at(start, f.mul(row, f.min(n, last))), f.select(f.compare("slt", n, rows), some, none)) for n in numbers]


def turn_in(f, element, source, source_row, rows, columns, target, target_row, lanes=0):
    """Transpose the matrix at `source` into columns of `target`, `target_row` bytes apart, in whole vectors."""
    lanes, size = lanes or f.lanes(element), bytes_of(element)
    with f.loop(0, rows, lanes) as down, f.loop(0, columns, lanes) as along:
        corner = f.at(f.at(source, f.mul(down.index, source_row)), f.mul(along.index, size))
        end = f.at(f.at(target, f.mul(along.index, target_row)), f.mul(down.index, size))
        f.call(_name(element, lanes), VOID, corner, f.index(source_row), f.min(f.sub(rows, down.index), lanes),
               f.min(f.sub(columns, along.index), lanes), end, f.index(target_row), f.index(lanes), f.index(lanes))


def turn_out(f, element, source, source_row, target, target_row, rows, columns, lanes=0):
    """Transpose the columns at `source` into a matrix of `rows` x `columns` at `target`."""
    lanes, size = lanes or f.lanes(element), bytes_of(element)
    with f.loop(0, rows, lanes) as down, f.loop(0, columns, lanes) as along:
        corner = f.at(f.at(source, f.mul(along.index, source_row)), f.mul(down.index, size))
        end = f.at(f.at(target, f.mul(down.index, target_row)), f.mul(along.index, size))
        high, wide = f.min(f.sub(rows, down.index), lanes), f.min(f.sub(columns, along.index), lanes)
        f.call(_name(element, lanes), VOID, corner, f.index(source_row), f.index(lanes), f.index(lanes), end,
               f.index(target_row), high, wide)


def _turn_strip(f, element, source, source_row, rows, columns, target, target_row):
    """Transpose the matrix at `source`, at most one vector of columns wide, to `target`."""
    lanes, size = f.lanes(element), bytes_of(element)
    with f.loop(0, rows, lanes) as down:
        high = f.min(f.sub(rows, down.index), lanes)
        f.call(_name(element, lanes), VOID, f.at(source, f.mul(down.index, source_row)), f.index(source_row), high,
               f.index(columns), f.at(target, f.mul(down.index, size)), f.index(target_row), f.index(columns), high)


ARRAYS = ("x", "y")
OTHERS = 3
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "items", "rows", "columns", "x_row", "y_row",
         *[f"{name}{d}" for name in "nxy" for d in range(OTHERS)])


@dataclass(frozen=True)
class TurnKernel(ModuleWriter):
    """Generator of the task for elements of `item` bytes."""

    item: int

    @property
    def symbol(self) -> str:
        return f"turned_copy_{self.item}"

    def write(self, module):
        element = f"i{8 * self.item}"
        write_turn_square(module, element)
        f, job, share = open_task(module, self.symbol, WORDS)
        lanes, columns = f.lanes(element), job.columns
        x_row, y_row = (f.mul(word, bytes_of(element)) for word in (job.x_row, job.y_row))
        with f.loop(*share) as loop:
            *others, strip = split_index(f, loop.index, [job.n0, job.n1, job.n2, f.ceil_div(columns, lanes)])
            first = f.mul(strip, lanes)
            x, y = job.address("x"), job.address("y")
            for d, at in enumerate(others):
                x, y = (f.at(p, f.mul(at, getattr(job, f"{name}{d}")), element) for p, name in ((x, "x"), (y, "y")))
            _turn_strip(f, element, f.at(x, first, element), x_row, job.rows, f.min(f.sub(columns, first), lanes),
                        f.at(y, f.mul(first, y_row)), y_row)
        f.ret()
