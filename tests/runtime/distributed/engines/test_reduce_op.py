"""Combinations of arrays: kinds, layouts, and results in the memory of an operand."""

import random

import ml_dtypes
import numpy as np
import pytest

from ingot.ir.errors import DTypeError
from ingot.ir.reference.scalar_functions import as_kind
from ingot.runtime.distributed.engines.reduce_op import _BITS, _COMBINE, ReduceOp, combine, combined

FLOATS = ["float32", "float64", "float16", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, "complex64"]
KINDS = [*FLOATS, "int64", "uint8", "bool"]


def _operands(rng, kind, count, shape):
    values = [np.random.default_rng(rng.randrange(1 << 30)).integers(-9, 9, shape) for _ in range(count)]
    return [as_kind(v.astype(np.float32), np.dtype(kind)) for v in values]


@pytest.mark.parametrize("seed", range(60))
def test_combinations_match_a_loop(seed):
    rng = random.Random(seed)
    kind, count = np.dtype(rng.choice(KINDS)), rng.randrange(1, 6)
    ops = [op for op in _COMBINE if op is not ReduceOp.AVG or kind.kind not in "biu"]
    op = rng.choice([op for op in ops if op not in _BITS or kind.kind in "biu"])
    shape = rng.choice([(), (0,), (5,), (300, 117), (70_000,)])
    arrays = _operands(rng, kind, count, shape)
    wide = np.float32 if kind.itemsize < 4 and kind.kind in "fV" else kind
    want = as_kind(arrays[0], np.dtype(wide))
    for a in arrays[1:]:
        want = np.asarray(_COMBINE[op](want, as_kind(a, np.dtype(wide))))
    want = as_kind(want / np.dtype(wide).type(count) if op is ReduceOp.AVG else want, kind)
    assert combined(op, arrays).tobytes() == want.tobytes()
    turned = [np.asfortranarray(a) for a in arrays]
    assert combined(op, turned).tobytes() == want.tobytes()
    out = arrays[rng.randrange(count)]        # the memory of an operand
    combine(op, arrays, out)
    assert out.tobytes() == want.tobytes()


def test_operations_that_a_dtype_lacks_are_refused():
    from ingot.ir import dtype as dt
    from ingot.runtime.distributed.engines.reduce_op import check_op
    for op, dtype in ((ReduceOp.AVG, dt.int32), (ReduceOp.BAND, dt.float32), ("sum", dt.float32)):
        with pytest.raises(DTypeError):
            check_op(op, dtype)
