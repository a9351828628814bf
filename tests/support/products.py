"""Operands of matrix products in every layout, and how far a result is off: what tests of products share."""

import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16
DTYPES = {"float32": 2e-6, "float64": 4e-15, "float16": 1e-3, "bfloat16": 8e-3}
LAYOUTS = ["plain", "turned", "strided"]


def make(rng, shape, dtype, layout="plain"):
    """Random values in C order, as the transpose of C order, or with gaps between elements."""
    values = rng.standard_normal(shape).astype(dtype)
    if layout == "turned":
        return np.ascontiguousarray(values.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout == "strided":
        room = np.zeros((*shape[:-2], shape[-2] * 2 + 1, shape[-1] * 3 + 1), dtype)
        spots = room[..., 1::2, 1::3][..., :shape[-2], :shape[-1]]
        spots[...] = values
        return spots
    return values


def error(result, a, b):
    """Largest error relative to the sum of absolute products."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    scale = np.abs(a) @ np.abs(b)
    return (np.abs(result.astype(np.float64) - a @ b) / np.maximum(scale, 1e-300)).max()
