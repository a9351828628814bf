"""float16 and bfloat16 through kernels of float32: operands are widened, each result is rounded once."""

from ....ir import dtype as dt
from . import kernels

LOW = (dt.float16.np, dt.bfloat16.np)


def widened(run, rounded: int | None = None, like: int = 0):
    """Return a kernel that computes float16 and bfloat16 in float32. Each result is rounded, or the first `rounded` ones. The
    dtype is that of argument `like`, or of the first array. A result None stays None."""

    def call(*args, **params):
        kind = next(a.dtype for a in args if a is not None) if args[like] is None else args[like].dtype
        if kind not in LOW:
            return run(*args, **params)
        wide = [kernels.converted(a, dt.float32.np) if a is not None and a.dtype == kind else a for a in args]
        found = run(*wide, **params)
        if type(found) is not tuple:
            return None if found is None else kernels.converted(found, kind)
        narrow = [kernels.converted(r, kind) for r in found[:rounded]]
        return (*narrow, *found[len(narrow):])

    return call
