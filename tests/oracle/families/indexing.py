"""Reading and writing parts of tensors: every kind of index, alone and with others."""

import numpy as np

from ..row import Leaf, Row
from . import rounded

ALL, REST = slice(None), Ellipsis
LONG, OTHER = np.array([2, 0, -1, 2]), np.array([3, 1, 0, 3])
MASK = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, False]])
COLUMN = MASK[:, 0]
READS = {               # name -> (shape, index) of each
    "int": [((4,), 1), ((3, 4), -1), ((2, 3, 4), (1, -3)), ((2, 3, 4), (0, 1, 2)), ((2, 3), (ALL, -1))],
    "slice": [((5,), slice(1, 4)), ((5,), slice(-3, None)), ((5,), slice(None, -2)), ((7,), slice(1, None, 3)),
              ((5,), slice(2, 2)), ((5,), slice(3, 1)), ((5,), slice(-100, 100)), ((3, 4), (slice(1), slice(1, None, 2))),
              ((2, 3, 4), (ALL, slice(1, 2), slice(None, None, 3)))],
    "None": [((4,), None), ((3, 4), (None, 1)), ((3, 4), (ALL, None, slice(0, 2))), ((3, 4), (None, None, REST, None))],
    "Ellipsis": [((2, 3, 4), REST), ((2, 3, 4), (REST, 1)), ((2, 3, 4), (1, REST)), ((2, 3, 4), (0, REST, slice(1, 3))),
                 ((2, 3), (REST, 1, 0)), ((), REST)],
    "truth value": [((3,), True), ((3,), False), ((2, 3), (True, 1)), ((), True), ((2, 3), (ALL, True))],
    "mask": [((3, 4), MASK), ((4,), MASK[0]), ((3, 4, 2), MASK), ((2, 3, 4), (ALL, MASK)), ((2, 3, 4), (1, MASK)),
             ((3, 4), (COLUMN, 1)), ((3, 4), (ALL, MASK[0])), ((3, 4, 2), (MASK, 0)), ((3, 4), np.zeros((3, 4), bool)),
             ((), np.array(True)), ((3, 2), (COLUMN, None)), ((3, 4), (COLUMN, slice(1, 3)))],
    "tensor": [((4,), LONG), ((3, 4), LONG), ((3, 4), np.array([[0, 1], [2, 0]])), ((3, 4), np.array(1)),
               ((3, 4), np.zeros(0, np.int64)), ((3, 4), (ALL, LONG)), ((3, 4), (REST, LONG)), ((3, 4), LONG.astype(np.int32)),
               ((3, 4), (LONG, None)), ((2, 3, 4), (ALL, LONG[:2], slice(0, 2)))],
    "tensors": [((3, 4), (LONG, OTHER)), ((3, 4), (np.array([[0], [2]]), OTHER[:2])), ((2, 3, 4), (ALL, LONG, OTHER)),
                ((3, 2, 4), (LONG, ALL, OTHER)), ((3, 2, 4), (LONG, 1, OTHER)), ((3, 2, 4), (LONG, slice(0, 1), OTHER)),
                ((3, 2, 4), (LONG, None, OTHER % 2)), ((2, 3, 4, 2), (REST, LONG[:2], OTHER[1:3])),
                ((3, 4), (np.array([0, 2]), np.array(1))),
                ((2, 3, 4), (np.array([[1], [0]]), np.array([[2, 0, 1]]), np.array(3))), ((4, 2, 4), (LONG[:3], ALL, OTHER[:3]))],
    "tensor and mask": [((3, 4), (COLUMN, OTHER[:2])), ((2, 3, 4), (np.array([1, 0, 1, 1, 0, 0]), MASK))],
    "list": [((3, 4), [2, 0]), ((3, 4), ([0, 2], [1, 3])), ((3, 4), (ALL, [1, 1])), ((3,), [True, False, True]),
             ((3, 4), ([True, False, True], 0)), ((3, 4), [[0, 1], [2, 0]])],
}
DTYPES = ("float32", "int64", "bool", "complex128")
# Methods by indices: which of several writes to one element counts is open, so only accumulating ones repeat an element.
SINGLE = [((OTHER[:3],), (4, 3), 1), ((np.array([2, 0, 1, 3]), np.array([1, 0, 1, 3])), (4, 4), 0), ((COLUMN,), (3, 2), 1),
          ((np.array([[0], [2]]), np.array([1, 3])), (3, 4), 0)]
REPEATED = [((LONG,), (4, 3), 1), ((LONG, np.array([1, 0, 1, 1])), (4, 4), 0), ((COLUMN,), (3, 2), 0)]


def _parts(index) -> tuple:
    return index if isinstance(index, tuple) else (index,)


def _is_basic(index) -> bool:
    """Return whether an index gives a view."""
    return not any(isinstance(p, (np.ndarray, list, bool)) for p in _parts(index))


def _selected(shape, index) -> np.ndarray:
    """Return the numbers of the elements that an index reads, in PyTorch's rule, which is numpy's but for lists."""
    given = tuple(np.asarray(p) if isinstance(p, list) else p for p in _parts(index))
    return np.arange(int(np.prod(shape))).reshape(shape)[given]


def _integers(rng, kind, shape) -> np.ndarray:
    return np.asarray((rounded(rng, *shape, low=-9, high=9) * 4).astype(kind))


def _writes(rng, n, name, shape, index):
    """Yield writes of numbers, of tensors of all dimensions and of some, into leaves and into integers."""
    group, read = f"Tensor.__setitem__ {name.rsplit(' ', 1)[0]}/{name}", _selected(shape, index)

    def row(what, value, target=None, **options):
        first = Leaf(rounded(rng, *shape)) if target is None else target
        return Row(f"{group} {what}", "in place", "Tensor.__setitem__", (first, index, value), options=options)

    yield row("number", 1.5 - n)
    if len(np.unique(read)) == read.size:
        yield row("tensor", Leaf(rounded(rng, *read.shape)))
        some = read.shape[1:] if n % 2 else (*read.shape[:-1], 1) if read.ndim else ()
        if read.size:
            options = {"turned": True} if len(shape) > 1 and shape[0] != shape[-1] and n % 2 else {}
            yield row("broadcast", Leaf(rounded(rng, *some)), **options)
    if _is_basic(index):
        yield row("cast", np.array(2.75), rng.integers(-9, 9, shape))
    yield row("truth", True, _integers(rng, DTYPES[n % 2], shape))


def _by_methods(rng):
    """Yield the methods that write by indices."""
    count = 0
    for accumulate, table in ((False, SINGLE), (True, REPEATED)):
        for indices, shape, missing in table:
            value = _selected(shape, indices).shape[missing:]
            for target in ("index_put", "Tensor.index_put", "Tensor.index_put_", "index_put_"):
                count += 1
                operands = (Leaf(rounded(rng, *shape)), tuple(i + 0 if i.dtype != bool else i for i in indices),
                            Leaf(rounded(rng, *value)))
                kind = "in place" if target.endswith("_") else "function"
                yield Row(f"{target}/{count}", kind, target, operands, {"accumulate": accumulate})


def rows(torch, rng):
    """Yield reads with gradients, writes, and the methods that write by indices."""
    entries = [(f"{name} {i}", *entry) for name, table in READS.items() for i, entry in enumerate(table)]
    for n, (name, shape, index) in enumerate(entries):
        group = f"Tensor.__getitem__ {name.rsplit(' ', 1)[0]}/{name}"
        yield Row(group, "function", "Tensor.__getitem__", (Leaf(rounded(rng, *shape)), index))
        if n % 3 == 0:
            kind = DTYPES[n // 3 % len(DTYPES)]
            yield Row(f"{group} {kind}", "function", "Tensor.__getitem__", (_integers(rng, kind, shape), index))
        yield from _writes(rng, n, name, shape, index)
    yield from _by_methods(rng)
