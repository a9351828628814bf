"""Tensors made from numbers: how many elements a range has, its values, and the dtype that numbers choose.

Each function has one row of many calls: literal results of PyTorch for starts, ends and steps that meet, miss and round.
"""

import itertools

import numpy as np

from ..row import Name, Row
from .promotion import accepted, options

STARTS = (0, 1, 0.0, -0.5, 0.1, 0.9, 2.5, -3, -8.000001, 7.999999999999999, 2.0 ** 24 + 1, 2.0 ** 53 - 2, 250)
ENDS = (0, 5, -4, -8.000001, 2.9, 9.0, 0.7, 1.0 - 2.0 ** -40, -8, 2.0 ** 24 + 6, 2.0 ** 53 + 4, 255, 10 ** 9)
STEPS = (1, -1, 2, 0.1, 0.3, -0.5, 2.9, 1 / 3, -4.0, -2, 0.9999999, 1e8, 7)
FLOATS, INTEGERS = ("float64", "float32", "float16", "bfloat16"), ("int64", "int32", "int16", "int8", "uint8")
TRACED = 10
CHOSEN = 400            # calls of arange for each group of dtypes
VALUES = (0, 3, -2, 1.5, -0.0, True, 2 - 1j, float("inf"), float("nan"))


def _dtypes(*names) -> list[dict]:
    return [{"dtype": Name(name)} for name in names]


def _length(start, end, step) -> float:
    return (end - start) / step


def _ranges(rng):
    """Yield calls of arange: whole numbers and fractions, each in dtypes of their own."""
    every = [c for c in itertools.product(STARTS, ENDS, STEPS) if -1 < _length(*c) < 40]
    for names in (INTEGERS, FLOATS, ("",)):
        for i in sorted(rng.permutation(len(every))[:CHOSEN]):
            name = names[i % len(names)]
            small = name not in ("int8", "uint8", "int16", "float16") or max(map(abs, every[i][:2])) < 300
            if small and (name != "uint8" or min(every[i][:2]) >= 0) and (name != "int8" or max(map(abs, every[i][:2])) < 128):
                yield every[i], {"dtype": Name(name)} if name else {}
    for args in ((5,), (4.5,), (0,), (2, 7), (1.5, 6), (-3, 2.0), (True,), (np.array(7),), (np.array(0.5), 3), (1, np.array(9), 3)):
        yield args, {}
        yield args, {"dtype": Name("float64")}


def _steps():
    """Yield calls of linspace and logspace."""
    for start, end, steps in itertools.product((0, -1.5, 3, 1e-3), (1, 2.5, -7, 3), (0, 1, 2, 5, 8)):
        for kind in ({}, *_dtypes("float64", "int64", "float16")):
            yield (start, end, steps), kind
    yield (np.array(0.5), 2, 4), {}
    yield (1, np.array(4.0), 4), {"dtype": Name("float64")}
    yield (0, 1 + 2j, 4), {"dtype": Name("complex128")}


def _calls(rng):
    """Yield (target, calls)."""
    yield "arange", list(_ranges(rng))
    yield "linspace", list(_steps())
    powers = [(args, kwargs) for args, kwargs in _steps() if kwargs != {"dtype": Name("int64")}]
    bases = [((0, 3, 4, base), {"dtype": Name(kind)}) for base in (2, 0.5, 1, 10.0) for kind in ("float64", "float32", "int64")]
    yield "logspace", powers + bases
    sizes, kinds = ((2, 3), (0,), (), (1, 2, 2)), _dtypes("float32", "int8", "bool", "complex64", "bfloat16")
    yield "full", [((size, value), kind) for size in sizes for value in VALUES[:7] for kind in ({}, *kinds[:2])]
    for name in ("zeros", "ones"):
        yield name, [((size,), kind) for size in sizes for kind in ({}, *kinds)] + [((2, 3), {}), ((4,), {})]
    likes = [np.zeros((2, 3), kind) for kind in ("float64", "int16", "bool", "complex64")] + [np.zeros((3, 1, 2), "float32")]
    for name in ("zeros_like", "ones_like"):
        yield name, [((like,), kind) for like in likes for kind in ({}, *kinds)]
    yield "full_like", [((like, value), kind) for like in likes for value in (3, 1.75, True) for kind in ({}, *kinds[:2])]
    for name in ("new_zeros", "new_ones"):
        yield f"Tensor.{name}", [((like, size), kind) for like in likes for size in sizes[:3] for kind in ({}, *kinds[:2])]
    yield "Tensor.new_full", [((like, size, value), kind) for like in likes for size in sizes[:2] for value in (3, -1.75)
                              for kind in ({}, *kinds[:2])]
    yield "eye", [((n, *m), kind) for n in (0, 1, 3) for m in ((), (2,), (4,), (0,)) for kind in ({}, *kinds)]
    for name in ("tril_indices", "triu_indices"):
        yield name, [((rows, columns, *offset), kind) for rows in (0, 1, 3, 4) for columns in (2, 4, 5)
                     for offset in ((), (1,), (-1,), (-3,), (3,)) for kind in ({}, *_dtypes("int32"))]
    yield "scalar_tensor", [((value,), kind) for value in VALUES[:7] for kind in ({}, *kinds[:2])]
    yield "tensor", [((value,), {}) for value in VALUES] + [(([value, 1],), kind) for value in VALUES[:6] for kind in ({}, *kinds)]
    windows = ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")
    for name in windows:
        yield name, [((n, *periodic), kind) for n in (0, 1, 2, 7, 8) for periodic in ((), (True,), (False,))
                     for kind in ({}, *_dtypes("float64"))]
    for name in ("fftfreq", "rfftfreq"):
        yield f"fft.{name}", [((n, *d), kind) for n in (1, 2, 5, 8) for d in ((), (0.25,), (3.0,)) for kind in ({}, *_dtypes("float64"))]
    yield "broadcast_shapes", [(shapes, {}) for shapes in (((2, 1), (3,)), ((1,), (4, 1, 2), (3, 1)), ((5,),), ((0,), (1,)))]


def _rows(torch, rng, target, calls):
    """Yield the row of all calls that PyTorch accepts, and the row of some."""
    operands, keywords, calls_at = [], [], []
    for args, kwargs in calls:
        if kwargs not in keywords:
            keywords.append(kwargs)
        calls_at.append((*range(len(operands), len(operands) + len(args)), keywords.index(kwargs)))
        operands += args
    calls_at = accepted(torch, target, operands, keywords, calls_at)
    yield Row(f"{target}/all", "grid", target, options=options(operands, keywords, calls_at, eager=True))
    some = [calls_at[i] for i in sorted(rng.permutation(len(calls_at))[:TRACED])]
    yield Row(f"{target}/some", "grid", target, options=options(operands, keywords, some))


def rows(torch, rng):
    """Yield the rows of all functions."""
    for target, calls in _calls(rng):
        yield from _rows(torch, rng, target, calls)
