"""Bounds of rows in attention: for each row of scores the first key that it sees and the first beyond, as 64-bit integers.

Ranges are what several rows see together: no keys are looked at that are outside of it. Rows that see nothing have a range of
one key, so that they get their zeros.
"""

from ..ir.types import I64

BOUND_WORDS = ("bounds_row", "bounds_head", "ranges_at", "squash_inner", "squash_outer")
RANGE = 16                          # bytes of a pair of bounds


def range_of(f, pair):
    """(first key, first key beyond) that lie somewhere."""
    return f.load(I64, pair), f.load(I64, f.at(pair, 8))


def row_bounds(f, job, bounds, row, start):
    """(where the bounds of a row are, bytes to the next row's, the key that counts as the first)."""
    return f.at(bounds, f.mul(row, job.bounds_row)), job.bounds_row, start


def edges_of(f, given, near, height):
    """[(first key, first key beyond)] of some rows, within `near` keys; `given` as from `row_bounds`."""
    bounds, row, start = given
    found = []
    for i in range(height):
        low, high = range_of(f, f.at(bounds, f.mul(row, i)))
        found.append(tuple([f.min(f.max(f.sub(x, start), 0), near) for x in (low, high)]))
    return found


def note_ranges(f, job, bounds, ranges, side, share, squares):
    """Writes the range of every `side` rows, which are numbered over all heads, `squares` a head; only the `share` (first, end)
    of them. Returns the range of all."""
    first, end = share
    rows, keys = job.rows, job.keys
    with f.loop(first, end, 1, [keys, f.index(0)]) as loop:
        head, row = f.div(loop.index, squares), f.mul(f.mod(loop.index, squares), side)
        here = f.at(f.at(bounds, f.mul(head, job.bounds_head)), f.mul(row, job.bounds_row))
        with f.loop(0, f.min(f.sub(rows, row), side), 1, [keys, f.index(0)]) as each:
            low, high = range_of(f, f.at(here, f.mul(each.index, job.bounds_row)))
            low, high = f.max(low, 0), f.min(high, keys)
            some = f.compare("slt", low, high)
            each.next(f.select(some, f.min(each.carried[0], low), each.carried[0]),
                      f.select(some, f.max(each.carried[1], high), each.carried[1]))
        low, high = each.results
        nothing = f.compare("sle", high, low)
        low, high = f.select(nothing, f.index(0), low), f.select(nothing, f.index(1), high)
        pair = f.at(ranges, f.mul(f.sub(loop.index, first), RANGE))
        f.store(low, pair)
        f.store(high, f.at(pair, 8))
        loop.next(f.min(loop.carried[0], low), f.max(loop.carried[1], high))
    return loop.results
