"""Programs that are called, changed from outside, and called again: what they give then, traced or not."""

import ingot
from ingot.ir.errors import AutogradError


def nothing():
    """Changes or shows nothing."""


def plain(x):
    if isinstance(x, ingot.Tensor):
        return str(x.dtype), x.tolist()
    return [plain(v) for v in x] if isinstance(x, (list, tuple)) else x


def life(program, wrap, *args):
    """Return the results of four calls, of four more after a change, and what is seen then; and the wrapped function."""
    ingot.manual_seed(0)
    fn, change, seen = program(*args)
    call, found = wrap(fn), []
    for turn in (nothing, change):
        turn()
        for i in range(4):
            try:
                found.append(plain(call(ingot.ones(3) * (i + 1))))
            except (ValueError, AutogradError) as e:
                found.append(type(e).__name__)
        found.append(plain(seen()))
    return found, call
