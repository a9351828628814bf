"""Samples of operators on stored weights."""

import numpy as np

from ingot.ir.reference.weight_formats import format_named

from . import Sample, samples

FORMATS = "Q4_0", "Q5_1", "Q4_K", "Q6_K", "IQ4_XS", "BF16", "int4_group32", "uint5_group64", "int8_group32"
SINGLE = ("float32",)
TOLERANCE = 1500.0      # few rows of x are rounded to 16 bits: 2 ** -16 of 4, for 300 weights of size 1, is 2e-2 at worst


def _rows(rng, name, *shape):
    return format_named(name).pack(rng.standard_normal(shape).astype(np.float32))


@samples("unpack_weight")
def _unpack(rng):
    for name in FORMATS:
        for shape in ((300,), (2, 40), (2, 1, 33), (0, 3), (2, 0)):
            yield Sample((_rows(rng, name, *shape),), {"format": name, "numbers": shape[-1]}, grad=False, dtypes=SINGLE)


@samples("linear_stored")
def _linear(rng):
    for name in FORMATS:
        for shape, outs in (((3,), 2), ((1, 300), 4), ((2, 2, 70), 5), ((0, 3), 2), ((2, 0), 3), ((2, 3), 0)):
            for bias in (None, rng.standard_normal(outs)):
                yield Sample((rng.standard_normal(shape), _rows(rng, name, outs, shape[-1]), bias),
                             {"format": name, "numbers": shape[-1]}, dtypes=("float32", "float64"), tol=TOLERANCE)
