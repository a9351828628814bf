"""Host functions whose replay cannot go on: the run in its place takes what they gave, and calls none a second time."""

import warnings

import pytest

import ingot
from ingot import jit


class _Late(Exception):
    """Error of a host function."""


def _branch(scale, note, x):
    y = scale(x)
    if y.sum() > 10:
        y = scale(y) - 1
    return scale(y)


def _failing_operator(scale, note, x):
    y = scale(x)
    return scale(ingot.arange(4.0)[y.sum().long().reshape(1)])


def _error_caught(scale, note, x):
    try:
        return scale(x) * 2
    except _Late:
        return x * 5


def _error_passes(scale, note, x):
    return scale(scale(x)) + 1


def _with_effects(scale, note, x):
    note(x)
    y = scale(x)
    note(y)
    if y.sum() > 10:
        note(y + 1)
    return y


def _in_a_loop(scale, note, x):
    while x.sum() < 40:
        x = scale(x)
    return x


def _in_place(scale, note, x):
    state = ingot.ones(2)
    state.add_(scale(x))
    if state.sum() > 12:
        state.mul_(scale(state))
    return state


BODIES = [_branch, _failing_operator, _error_caught, _error_passes, _with_effects, _in_a_loop, _in_place]


def _life(body, wrap):
    """Return what each call gave, and the calls of the host functions."""
    seen: list = []

    @jit.host
    def scale(v):
        seen.append(("scale", v.tolist()))
        if v[0] == 7:
            raise _Late("late")
        return v + v

    @jit.host
    def note(v):
        seen.append(("note", v.tolist()))

    fn, found = wrap(lambda x: body(scale, note, x)), []
    for v in (1.0, 1.0, 4.0, 2.0, 7.0, 9.0, 1.0, 3.5, 7.0, 4.0):
        seen.clear()
        try:
            found.append(fn(ingot.full((2,), v)).tolist())
        except (_Late, IndexError) as error:
            found.append(type(error).__name__)
        found.append(sorted(seen, key=str) if body is _with_effects else [*seen])       # effects come at the end
    return found


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_each_host_call_is_made_once(body):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.TracerWarning)
        assert _life(body, jit.trace) == _life(body, lambda fn: fn)


def test_an_outer_run_keeps_what_is_left_of_its_own():
    seen: list = []

    @jit.host
    def scale(v):
        seen.append(v.tolist())
        return v * 2

    @jit.trace
    def inner(x):
        y = scale(x)
        if y.sum() > 10:
            y = scale(y)
        return y

    @jit.trace
    def outer(x):
        y = inner(scale(x))
        if y.sum() > 30:
            y = inner(y) + 1
        return scale(y)

    def plain(x):
        y = _doubled(2 * x)
        if y.sum() > 30:
            y = _doubled(y) + 1
        return 2 * y

    for v in (1.0, 2.0, 3.0, 10.0, 1.0, 20.0, 10.0):
        before = len(seen)
        assert outer(ingot.full((2,), v)).tolist() == plain(ingot.full((2,), v)).tolist()
        assert len(seen) - before == len(set(map(tuple, seen[before:])))        # each doubles another value


def _doubled(x):
    y = 2 * x
    return 2 * y if y.sum() > 10 else y
