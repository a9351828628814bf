"""Interrupts: exceptions that code did not raise itself, but that came while it ran.

A signal handler, a trace function or another thread can raise any exception behind any call. Its class, its text and its frames
may be those of a failure, so nothing in it tells where it came from. But code without side effects fails once more in the same
way when it runs again, and an interrupt does not come again.
"""

import itertools
import types

_MOST = 8       # runs of code that raises another exception each time, such as one with the time in its text


def raise_interrupt(error: BaseException, function, *args, **kwargs) -> None:
    """Return if a function without side effects, which raised `error` in the calling frame, raises it itself: called again, it
    fails in the same way. Raise the exception that came from outside otherwise, be that `error` or one that comes now."""
    seen: list = [error]
    try:
        while len(seen) < _MOST:
            try:
                function(*args, **kwargs)
            except BaseException as again:
                own = next((e for e in seen if _are_one_failure(e, again)), None)
                others = [e for e in seen if e is not own]
                if own is not None and not others:
                    return
                if own is not None:
                    raise others[0] from None
                seen.append(again)
            else:
                break
        raise seen[0]
    finally:
        seen.clear()            # else exceptions and this frame hold each other
        own = others = error = None     # type: ignore[assignment]


def result_or(default, function, *args, **kwargs):
    """Return the result of a function without side effects, or `default` if it fails itself. Interrupts pass."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        raise_interrupt(error, function, *args, **kwargs)
        return default


def _are_one_failure(a: BaseException, b: BaseException) -> bool:
    """Return whether two exceptions are of one class, from one place of the code. `b` was caught in `raise_interrupt`. If that
    called C code, there is no place to compare, and the arguments tell."""
    if type(a) is not type(b) or bool(a.args) is not bool(b.args):
        return False
    if isinstance(a, RecursionError):       # it comes where the stack ends, and this run begins in a deeper frame
        return True
    here, there = _places(a), _places(b)[1:]
    below = here[1:] or here        # the function may be the catching one itself, called once more
    most = min(len(below), len(there))
    if most:
        return below[-most:] == there[-most:]
    return len(here) == 1 and len(a.args) == len(b.args) > 0 and all(map(_is_same, a.args, b.args))


def _is_same(x, y) -> bool:
    return x is y or (type(x) is type(y) is str and x == y)


def _places(error: BaseException) -> list:
    """Return (code, lines and columns) of the frames that an exception passed, beginning with the one that caught it. Offsets
    of instructions would differ: the interpreter makes one out of the two of a call that it has adapted (CPython 3.11)."""
    found: list = []
    step: types.TracebackType | None = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        found.append((code, next(itertools.islice(code.co_positions(), step.tb_lasti // 2, None))))
        step = step.tb_next
    return found


def is_of_call(error: Exception) -> bool:
    """Return whether an error comes from the call of a function in C that is all of a `try`. The error of a handler, which runs
    behind the call, has frames of its own, and one that another thread raises has no arguments."""
    return bool(error.args) and error.__traceback__ is not None and error.__traceback__.tb_next is None
