"""Results and errors of calls as data, to compare a traced function with the eager one."""

import numpy as np

import ingot
from ingot import jit
from random_programs import bits


def outcome(fn, *args):
    """("ok", result), ("trace", message) or ("error", type and message)."""
    try:
        return "ok", plain(fn(*args))
    except jit.TraceError as e:
        return "trace", str(e)
    except Exception as e:
        return "error", (type(e).__name__, str(e))


def tried(run):
    """Return what a function gives, or the name of the error that it raises; refusals of traces are raised."""
    try:
        return run()
    except jit.TraceError:
        raise
    except Exception as error:
        return type(error).__name__


def plain(x):
    if isinstance(x, ingot.Tensor):
        return bits(x)
    if isinstance(x, np.ndarray):
        return x.tobytes()
    return tuple(map(plain, x)) if isinstance(x, (list, tuple)) else x
