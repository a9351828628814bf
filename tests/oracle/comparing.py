"""Comparison of one row's results with the expected ones: structure, dtypes, shapes, values, signs of zeros left aside."""

import ml_dtypes
import numpy as np

from .tensors import is_tensor, to_array

# Relative room by dtype. Absolute room is a tenth of that, scaled with the largest expected value if this is below one; in
# single precision a quarter, since sums cancel. What remains of sums that cancel altogether is below `NOISE`.
ROOM = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2, "complex128": 1e-10, "complex64": 2e-5,
        "float8_e4m3fn": 0.13, "float8_e5m2": 0.26}
NOISE = {"float64": 1e-12, "complex128": 1e-12, "float32": 1e-7, "complex64": 1e-7}
EXTENDED = {name: np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")}


def as_plain(library, value):
    """Return a result as what a file holds: an array, or plain data."""
    if is_tensor(library, value):
        return to_array(library, value)
    if isinstance(value, library.dtype):
        return str(value).split(".")[-1]
    return value if isinstance(value, (bool, int, float, str, np.ndarray)) else str(value)


def widened(array: np.ndarray) -> np.ndarray:
    """Return numbers in a dtype that numpy computes in without loss."""
    return array.astype(np.float64) if array.dtype.kind in "fV" or array.dtype.name in EXTENDED else array


def differences(row, results: dict, expected: dict) -> dict[str, str]:
    """Return {result: how it differs} of plain results."""
    unlike = dict.fromkeys(expected.keys() - results.keys(), "missing")
    unlike |= dict.fromkeys(results.keys() - expected.keys(), "not expected")
    pairs = ((k, difference(results[k], expected[k], row.tolerance)) for k in expected if k in results)
    return unlike | {k: text for k, text in pairs if text}


def difference(ours, theirs, tolerance=None) -> str:
    """Return how a result differs from the expected one; nothing if it does not."""
    if not isinstance(theirs, np.ndarray):
        if type(ours) is float and type(theirs) is float:
            same = np.isclose(ours, theirs, rtol=tolerance or 1e-10, atol=1e-14, equal_nan=True)
        else:
            same = type(ours) is type(theirs) and ours == theirs
        return "" if same else f"{ours!r} in place of {theirs!r}"
    if not isinstance(ours, np.ndarray):
        return f"{type(ours).__name__} in place of a tensor"
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)} in place of {theirs.dtype}{list(theirs.shape)}"
    a, b = widened(ours), widened(theirs)
    if a.dtype.kind not in "fc":
        wrong = a != b
    else:
        room, noise = tolerance or ROOM[theirs.dtype.name], NOISE.get(theirs.dtype.name, 0.0)
        finite = np.abs(b[np.isfinite(b)])
        scale = min(1.0, float(finite.max())) if finite.size else 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            absolute = room * scale * (0.25 if theirs.dtype.name in ("float32", "complex64") else 0.1)
            wrong = ~np.isclose(a, b, rtol=room, atol=max(absolute, noise), equal_nan=True)
    if not wrong.any():
        return ""
    a, b, wrong = map(np.atleast_1d, (a, b, wrong))
    at = tuple(int(i[0]) for i in np.nonzero(wrong))
    return f"{int(wrong.sum())} of {wrong.size} elements, at {at}: {a[at]!r} in place of {b[at]!r}"
