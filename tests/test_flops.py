"""The operations that records say a contraction takes, against the sums that define it."""

import numpy as np
import pytest

import ingot
from ingot.ir.aval import Aval
from ingot.ir.dtype import float32
from ingot.ir.op import OPS, operations
from ingot.ir.ops import blocked as _blocked  # noqa: F401  (its records are among those below)

WINDOW = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 2}
CONV = 2 * (3 * 8 * 5 * 7) * (4 // 2 * 9)      # each of the results is a sum over half of the channels and 3x3 places
ROWS = [
    ("matmul", [(6, 5, 4), (6, 4, 3)], [(6, 5, 3)], {}, 2 * 6 * 5 * 3 * 4),
    ("linear", [(5, 4), (3, 4), (3,)], [(5, 3)], {}, 2 * 5 * 3 * 4),
    ("conv", [(3, 4, 5, 7), (8, 2, 3, 3), None], [(3, 8, 5, 7)], WINDOW, CONV),
    ("conv_input_grad", [(3, 8, 5, 7), (8, 2, 3, 3)], [(3, 4, 5, 7)], WINDOW, CONV),
    ("conv_weight_grad", [(3, 4, 5, 7), (3, 8, 5, 7)], [(8, 2, 3, 3)], WINDOW, CONV),
    ("conv_blocked", [(3, 1, 5, 7, 16), (144,)], [(3, 1, 5, 7, 16)], {"filters": (8, 2, 3, 3)}, CONV),
    ("attention", [(2, 4, 5, 16), (2, 4, 9, 16), (2, 4, 9, 8), None], [(2, 4, 5, 8), (2, 4, 5)], {},
     2 * 2 * 4 * 5 * 9 * (16 + 8)),
    ("lstm_sequence", [(6, 2, 32), None, (2, 8), (2, 8), (32, 8), None], [(6, 2, 8)], {}, 2 * 6 * 2 * 32 * 8),
    ("add", [(5, 4), (5, 4)], [(5, 4)], {}, 20),
    ("reshape", [(5, 4)], [(20,)], {}, 0),
]


@pytest.mark.parametrize("name, args, outs, params, expected", ROWS, ids=[r[0] for r in ROWS])
def test_operations_of_a_record(name, args, outs, params, expected):
    args = [None if s is None else Aval(s, float32) for s in args]
    assert operations(OPS[name], args, [Aval(s, float32) for s in outs], params) == expected


def test_a_summary_counts_with_the_records():
    assert ingot.nn.summary(ingot.nn.Linear(4, 3), ingot.ones(5, 4)).flops == 2 * 5 * 3 * 4


def test_a_module_under_a_summary_makes_tensors_of_arrays():
    class Scaled(ingot.nn.Module):
        def forward(self, x):
            return ingot.from_numpy(x) * ingot.tensor([2.0]) + ingot.as_tensor(x) + float(f"{ingot.ones(()):.1f}")

    found = ingot.nn.summary(Scaled(), np.ones((2, 3), np.float32))
    assert "[2, 3]" in str(found) and found.flops == 18
