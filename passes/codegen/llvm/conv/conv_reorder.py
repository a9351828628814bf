"""Copies between plain arrays and the blocked layouts of convolutions: most transpose rows into lanes.

One task serves activations, weights and weight gradients. Its job describes matrices of rows with contiguous elements; the
elements of `lanes` rows at one column become a vector of the result. Rows are cut into chunks of `rows`, columns into chunks of
`columns`; outer dims repeat the matrix. A row's start, or the target of a column's vector, is given by a stride or a table of
byte offsets; a negative offset drops a column.

    variant   rows          columns
    plain     by stride     by stride
    scatter   by stride     by table
    gather    by table      by stride

A few columns (`plain` without fill) are moved element by element. The task "straight" transposes nothing: `lanes` neighbours of
a row become a vector. Its columns are whole vectors, filled with zeros beyond the row.
"""

from .....ir.target import Target
from ..contract.microkernel import row_offsets, transpose
from ..ir.emit import Module
from ..ir.types import I64, PTR, VOID, bytes_of, vector
from ..pool.tasks import Words, split_index, task_items

# The outer dims are (outer, row chunk, column chunk, extra), each with its count and its strides in bytes. `fill` pads missing
# rows with zeros up to `width` lanes; without it only the lanes of rows that exist are stored.
WORDS = ("source", "target", "items", "chunks", "outer", "row_chunks", "column_chunks", "extra",
         "source_outer", "source_row_chunk", "source_column_chunk", "source_extra",
         "target_outer", "target_row_chunk", "target_column_chunk", "target_extra",
         "rows", "rows_total", "columns", "columns_total", "row_stride", "group_step", "column_step", "width", "fill",
         "row_table", "column_table")
STRAIGHT = "straight"
VARIANTS = ("plain", "scatter", "gather", STRAIGHT)
_FEW = 4                                        # columns too few to transpose squares


def symbol(variant: str, element: str) -> str:
    """Return the name of a variant's task."""
    return f"reorder_{variant}_{element}"


def reorder_text(target: Target, element: str, variant: str) -> str:
    """Return a module with the task of a variant for one element type."""
    module = Module(target)
    if variant == STRAIGHT:
        _write_untransposed(module, element)
    else:
        _task(module, variant, element)
    return module.text()


def _matrix(f, job, number):
    outer, rows, columns, extra = split_index(f, number, (job.outer, job.row_chunks, job.column_chunks, job.extra))
    source, target = job.address("source"), job.address("target")
    for name, index in (("outer", outer), ("row_chunk", rows), ("column_chunk", columns), ("extra", extra)):
        source = f.at(source, f.mul(getattr(job, "source_" + name), index))
        target = f.at(target, f.mul(getattr(job, "target_" + name), index))
    rows_left = f.min(f.sub(job.rows_total, f.mul(rows, job.rows)), job.rows)
    return source, target, rows_left, f.min(f.sub(job.columns_total, f.mul(columns, job.columns)), job.columns)


def _write_untransposed(module, element):
    lanes = module.target.lanes(bytes_of(element))
    type_ = vector(lanes, element)
    with task_items(module, symbol(STRAIGHT, element), WORDS) as (f, job, number):
        source, target, rows, columns = _matrix(f, job, number)
        with f.loop(0, rows) as row, f.loop(0, job.columns, lanes) as column:
            start = f.at(f.at(source, f.mul(job.row_stride, row.index)), column.index, element)
            goal = f.at(f.at(target, f.mul(job.column_step, row.index)), column.index, element)
            left = f.sub(columns, column.index)
            value = f.choose(f.compare("sge", left, lanes), lambda start=start: (f.load(type_, start),),
                             lambda start=start, left=left: (f.load_masked(type_, start, f.mask(left, lanes)),))[0]
            f.store(value, goal)


def _task(module, variant, element):
    lanes = module.target.lanes(bytes_of(element))
    group, few = _group(module, variant, element, lanes), _few_columns(module, element, lanes) if variant == "plain" else None
    with task_items(module, symbol(variant, element), WORDS) as (f, job, item):
        source, target, rows_left, columns_left = _matrix(f, job, item)
        end_row = f.select(f.compare("ne", job.fill, 0), job.rows, rows_left)
        with f.loop(0, end_row, lanes) as groups:
            number, row = f.div(groups.index, lanes), groups.index
            start = source if variant == "gather" else f.at(source, f.mul(job.row_stride, row))
            to = f.at(target, f.mul(job.group_step, number))
            rows = VOID, job.pointer, start, to, f.sub(rows_left, row), columns_left, row
            if few is None:
                f.call(group, *rows)
            else:
                is_few = f.binary("and", f.compare("sle", columns_left, _FEW), f.compare("eq", job.fill, 0))
                f.choose(is_few, lambda rows=rows: f.call(few, *rows[:-1]), lambda rows=rows: f.call(group, *rows))


def _few_columns(module, element, lanes):
    """Write the function of one group of rows with so few columns that elements are moved one by one."""
    f = module.function(f"few_columns_{element}", [(PTR, "job"), ("ptr noalias", "source"), ("ptr noalias", "target"),
                                                   (I64, "rows"), (I64, "columns")], internal=True)
    arg, source, target, rows, columns = f.params
    job, size = Words(f, arg, WORDS), bytes_of(element)
    stride, row_at = job.row_stride, row_offsets(f, job.row_stride, lanes)
    with f.loop(0, columns) as column:
        start, goal = f.at(source, column.index, element), f.at(target, f.mul(job.column_step, column.index))

        def all_rows(start=start, goal=goal):
            for row in range(lanes):
                f.store(f.load(element, f.at(start, row_at(row))), f.at(goal, row * size))

        def some_rows(start=start, goal=goal):
            with f.loop(0, rows) as row:
                f.store(f.load(element, f.at(start, f.mul(stride, row.index))), f.at(goal, row.index, element))

        f.choose(f.compare("sge", rows, lanes), all_rows, some_rows)
    f.ret()
    return f.name


def _group(module, variant, element, lanes):
    """Write the function of a group of rows, by squares. Edge squares share the transpose, which LLVM compiles slowly."""
    name = f"group_{variant}_{element}"
    f = module.function(name, [(PTR, "job"), ("ptr noalias", "source"), ("ptr noalias", "target"), (I64, "rows"),
                               (I64, "columns"), (I64, "first")], internal=True)
    arg, source, target, rows, columns, first = f.params
    job, type_ = Words(f, arg, WORDS), vector(lanes, element)
    starts = _row_starts(f, job, variant, source, lanes, first, rows)
    keep = f.select(f.compare("ne", job.fill, 0), job.width, rows)
    full = f.binary("and", f.compare("sge", rows, lanes), f.compare("sge", keep, lanes))
    square_end, mask = f.select(full, f.bit_and(columns, -lanes), f.index(0)), f.mask(keep, lanes)
    with f.loop(0, columns, lanes) as loop:
        inside, left = f.compare("slt", loop.index, square_end), f.min(f.sub(columns, loop.index), lanes)

        def edge(at=loop.index, left=left):
            for number, start in enumerate(starts):
                seen = f.select(f.compare("slt", f.index(number), rows), left, f.index(0))
                yield f.load_masked(type_, f.at(start, at, element), f.mask(seen, lanes))

        values = transpose(f, f.choose(
            inside, lambda at=loop.index: [f.load(type_, f.at(start, at, element)) for start in starts], lambda: [*edge()]))
        f.choose(inside, lambda at=loop.index, values=values: _put(f, job, variant, target, at, values, None),
                 lambda at=loop.index, values=values, left=left: _put(f, job, variant, target, at, values, (mask, left)))
    f.ret()
    return name


def _row_starts(f, job, variant, source, lanes, first, rows):
    """Return the addresses of a group's rows. Missing rows repeat the last: a load without lanes is slow at unmapped memory."""
    last = f.sub(rows, 1)
    numbers = [f.max(f.min(f.index(number), last), 0) for number in range(lanes)]
    if variant != "gather":
        stride = job.row_stride
        return [f.at(source, f.mul(stride, number)) for number in numbers]
    table = job.address("row_table")
    return [f.at(source, f.load(I64, f.at(table, f.add(first, number), I64))) for number in numbers]


def _put(f, job, variant, target, column, values, edge):
    """Store one vector per column; `edge` is (mask of lanes, number of columns)."""
    table, step = job.address("column_table") if variant == "scatter" else None, job.column_step
    mask = None if edge is None else edge[0]

    def store(number, value):
        place = f.add(column, number)
        if table is None:
            f.store_masked(value, f.at(target, f.mul(step, place)), mask)
            return
        offset = f.load(I64, f.at(table, place, I64))
        with f.when(f.compare("sge", offset, 0)):
            f.store_masked(value, f.at(target, offset), mask)

    for number, value in enumerate(values):
        if edge is None:
            store(number, value)
        else:
            with f.when(f.compare("slt", f.index(number), edge[1])):
                store(number, value)
