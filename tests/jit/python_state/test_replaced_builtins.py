"""`print` replaced by a function of the user, as programs do on all ranks but one: it runs as any function does."""

import builtins
import io
import sys

import pytest

import ingot
from ingot import jit

STEPS = ["print('sum', x.sum().item())", "print(f'{x.sum().item():.2f}', float(x[0]))", "print('%.1f' % x.sum().item())",
         "print(f'{x.sum()}', x.sum().item(), sep='|')", "print('plain')"]


def _results(step, is_traced):
    """Return what calls give, the number of calls of the function in place of `print`, and what is printed."""
    known, noted, out, space = print, [], io.StringIO(), {}
    exec(f"def step(x):\n    {step}\n    return x * 2\n", space)

    def other(*args, **kwargs):
        noted.append(len(args))
        known("[0]", *args, **kwargs)

    function = jit.trace(space["step"]) if is_traced else space["step"]
    found, stdout = [], sys.stdout
    sys.stdout = out
    try:
        for call in range(6):
            builtins.print = known if call == 3 else other
            found.append(function(ingot.full((2,), 1.0 + call)).tolist())
    finally:
        sys.stdout, builtins.print = stdout, known
    return found, noted, out.getvalue()


@pytest.mark.parametrize("step", STEPS)
def test_a_replaced_print_runs_as_in_eager_code(step):
    assert _results(step, True) == _results(step, False)
