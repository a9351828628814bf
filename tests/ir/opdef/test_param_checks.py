"""Checks of parameters: each takes what its schema allows, by type and range, and refuses the rest with its name."""

import numpy as np
import pytest

from ingot.ir.dtype import float32, int8
from ingot.ir.errors import IngotError
from ingot.ir.opdef import param_checks as pc
from ingot.ir.opdef.aval import Aval

ROW = Aval((3,), float32)
TAKEN = [
    (pc.check_int, (0,)), (pc.check_int, (pc.MOST,)), (pc.check_int, (-3, "offset", -3)),
    (pc.check_ints, ((),)), (pc.check_ints, ((2, 0), "stride", 2)),
    (pc.check_dim, (0, 1)), (pc.check_dim, (2, 3)), (pc.check_dims, ((), 0)), (pc.check_dims, ((2, 0), 3)),
    (pc.check_index, (0, 1)), (pc.check_index, (4, 5)),
    (pc.check_sizes, ((),)), (pc.check_sizes, ((0, 1 << 40),)), (pc.check_sizes, ((1 << 30, 1 << 20),)),
    (pc.check_flag, (True,)), (pc.check_choice, ("a", ("a", "b"))), (pc.check_choice, (None, (None, 1))),
    (pc.check_number, (float("nan"),)), (pc.check_number, (1, "eps", 0, 1)), (pc.check_dtype, (float32,)),
    (pc.check_element, (1e39, float32)), (pc.check_element, (127.9, int8)), (pc.check_operand, (ROW, (3,), float32, "thing")),
]
REFUSED = [
    *[(pc.check_int, (v,)) for v in (True, 1.0, "1", None, (), -1, 1 << 63, np.int64(1))],
    *[(pc.check_ints, (v, "stride", 2)) for v in ((1,), (1, 2, 3), [1, 2], 1, None, (1, 2.0), (1, -1), (True, 1))],
    *[(pc.check_dim, (v, 2)) for v in (2, -1, 1 << 64, 0.0, False, None, "0")], (pc.check_dim, (0, 0)),
    *[(pc.check_dims, (v, 2)) for v in ((0, 0), (2,), (-1,), 0, None, [0], (True,))],
    *[(pc.check_index, (v, 3)) for v in (3, -1, 1 << 70, 1.0, None, True)], (pc.check_index, (0, 0)),
    *[(pc.check_sizes, (v,)) for v in ((-1, -8), (1 << 32, 1 << 32), (0, 1 << 60, 1 << 60), (2.0,), 3, None)],
    *[(pc.check_flag, (v, "keepdim")) for v in (1, 0, None, "True", 1.0)],
    *[(pc.check_choice, (v, ("a", 1))) for v in ("b", True, 1.0, None, ("a",))],
    *[(pc.check_number, (v, "eps", 0, 1)) for v in (float("nan"), -1e-9, 2, "0", None, True, 1j, (1,))],
    *[(pc.check_element, (v, float32)) for v in (1j, None, "1", np.float32(1))],
    *[(pc.check_element, (v, int8)) for v in (128, -129.5, float("nan"), float("inf"))],
    *[(pc.check_operand, (ROW, *wanted, "thing")) for wanted in (((4,), float32), ((3, 1), float32), ((3,), int8))],
    *[(pc.check_dtype, (v,)) for v in ("float32", None, np.float32, 1)],
]


def call(check, args):
    named = args if len(args) > 1 or check in (pc.check_sizes, pc.check_dtype) else (*args, "thing")
    if check is pc.check_choice:
        named = (*args, "thing")
    return check(*named)


@pytest.mark.parametrize(("check", "args"), TAKEN, ids=lambda v: getattr(v, "__name__", repr(v)))
def test_an_allowed_parameter_is_taken(check, args):
    call(check, args)


@pytest.mark.parametrize(("check", "args"), REFUSED, ids=lambda v: getattr(v, "__name__", repr(v)))
def test_any_other_parameter_is_refused(check, args):
    with pytest.raises(IngotError, match=r"must|out of range|twice|more bytes"):
        call(check, args)
