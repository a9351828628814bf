"""Running a function traced and untraced side by side: what the tests of tracing share."""

import pytest

import ingot
from ingot import jit

CALLS = 4


def vec(*values):
    return ingot.tensor(list(values) or [1.0, 2.0, 3.0])


def plain(x):
    """Tensors as nested tuples of bytes, so that results compare bit by bit."""
    if isinstance(x, ingot.Tensor):
        return (str(x.dtype), tuple(x.shape), x.detach().numpy().tobytes())
    if isinstance(x, (list, tuple)):
        return tuple(plain(v) for v in x)
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return x


def same(make_fn, make_args, calls=CALLS):
    """Calls a traced and an untraced copy of a function side by side on equal arguments; compares results and arguments."""
    eager, traced = make_fn(), jit.trace(make_fn())
    for i in range(calls):
        a, b = make_args(i), make_args(i)
        ingot.manual_seed(i)
        want = eager(*a)
        ingot.manual_seed(i)
        got = traced(*b)
        assert plain(got) == plain(want), f"call {i}"
        assert plain(b) == plain(a), f"call {i}: arguments differ afterwards"
    return traced


def same_or_refused(life, said: str | None = None):
    """Check that `life(jit.trace)` is eager code's life, or that it raises a TraceError that says something; None: any is
    a failure."""
    try:
        traced = life(jit.trace)
    except jit.TraceError as error:
        assert said is not None and said in str(error)
    else:
        assert traced == life(lambda fn: fn)


def refused(fn, *args, match="cannot be traced"):
    with pytest.raises(jit.TraceError, match=match):
        jit.trace(fn)(*args)


def numbers(x):
    """Nested containers with plain data in the place of tensors."""
    if isinstance(x, dict):
        return {k: numbers(v) for k, v in x.items()}
    return type(x)(map(numbers, x)) if isinstance(x, (list, tuple)) else plain(x)
