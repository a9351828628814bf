"""Numbers of operands that operators take."""

import pytest

from ingot.ir.opdef.op import OPS, Scalar, operand_bounds
from ingot.ir.ops import load_all

load_all()
ELEMENTWISE = sorted([name for name, record in OPS.items() if isinstance(record.lower, Scalar)])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operators_tell_how_many_operands_they_take(name):
    """A file may give an operator more: its shape rule takes any number, so the function that computes it must tell."""
    fewest, most = operand_bounds(OPS[name])
    assert 0 < fewest <= most <= 4
