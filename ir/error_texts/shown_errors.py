"""Errors where they are shown: uncaught ones of a program or a thread, text that another process gets, IPython.

Doors (`ir/doors.py`) shorten what leaves public functions. The functions here shorten all else, for as long as it is shown.
Debuggers that look at the error afterwards have all frames. The module `traceback` writes what `logging`, asyncio and pytest
show, so it explains calls that Python refused (`ir/error_texts/refused_calls.py`) as well.
"""

import io
import sys
import threading
import traceback
from contextlib import contextmanager, nullcontext, redirect_stderr
from functools import partial, wraps
from typing import Any

from ..config import current
from ..errors import IngotError
from ..tracebacks import FULL, chain_of, entries_of, is_own, is_user, shorten, users_part
from .refused_calls import explain_refusal


@contextmanager
def shortened(error: BaseException | None):
    """Drop ingot's frames from an exception, and from all that it came from, inside of the block."""
    before = [] if error is None else [(e, e.__traceback__, e.__cause__, e.__context__, e.__suppress_context__)
                                       for e in chain_of(error)]
    try:
        for e, trace, *_ in before:
            shorten(e)
            if e.__traceback__ is None:         # ingot's own program: `python -m ingot`
                e.__traceback__ = trace
        yield
    finally:
        for e, trace, cause, context, suppress in before:
            e.__traceback__, e.__cause__, e.__context__, e.__suppress_context__ = trace, cause, context, suppress


def text_for_parent(error: BaseException) -> str:
    """Return the text of an error in a worker process that the error of its parent will hold: the user's lines that ran last,
    and the error, in `_LINES` lines. All frames with `INGOT_TRACEBACK=full`."""
    if current().traceback == "full":
        return "".join(traceback.format_exception(error))
    with shortened(error):
        said = "".join(traceback.format_exception_only(error))
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is not None:
            said += f"  from {traceback.format_exception_only(cause)[0].splitlines()[0]}\n"
        entries = entries_of(error.__traceback__)
        while entries and not is_user(entries[-1]):
            entries.pop()
    if not entries:         # ingot raised it between two calls of the user's code: samples that do not stack
        return said
    most = len(entries)
    if 1 + 2 * most + said.count("\n") > _LINES:
        most = max(1, (_LINES - 2 - said.count("\n")) // 2)
    # Marks below the lines would need room, so the summaries have no columns.
    frames = [traceback.FrameSummary(e.tb_frame.f_code.co_filename, e.tb_lineno, e.tb_frame.f_code.co_name)
              for e in entries[-most:]]
    before = len(entries) - most
    hidden = f"  ... {before} frame{'s' * (before != 1)} before; {FULL} shows all\n" if before else ""
    return "".join(["Traceback (most recent call last):\n", hidden, *traceback.format_list(frames), said])


_LINES = 7      # of a worker's text: a statement that iterates a loader takes five more, and twelve fit


def install() -> None:
    """Shorten what `sys.excepthook` and `threading.excepthook` show, through the hooks that are set now; once. Explain refused
    calls in what `traceback` writes, and IPython if it runs."""
    if not _installed:
        _installed.append(True)
        sys.excepthook = partial(_show, sys.excepthook)
        threading.excepthook = partial(_show_of_thread, threading.excepthook)
        IngotError._render_traceback_ = property(_renderer)         # type: ignore[attr-defined]
        traceback.TracebackException.__init__ = _explaining(traceback.TracebackException.__init__)      # type: ignore
        shell = _shell()
        if shell is not None:
            shell.InteractiveTB.structured_traceback = _explaining_method(shell.InteractiveTB.structured_traceback)


_installed: list[bool] = []


def _explaining(init):
    """Return the `__init__` of `TracebackException`, which first explains a refused call."""
    @wraps(init)
    def __init__(self, exc_type, exc_value, *args, **kwargs):
        explain_refusal(exc_value)
        init(self, exc_type, exc_value, *args, **kwargs)

    return __init__


def _explaining_method(method):
    """Return the method of IPython that writes an exception, which first explains a refused call."""
    @wraps(method)
    def structured_traceback(etype=None, value=None, *args, **kwargs):
        explain_refusal(value)
        return method(etype, value, *args, **kwargs)

    return structured_traceback


def _shell() -> Any:
    """Return the shell of IPython that runs this program, or None."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get is None else get()


UNCAUGHT: list = []         # functions of an exception that ends the program, called before it is shown
_of_lines = {"prefix": ""}


def name_lines(prefix: str) -> None:
    """Set what begins each line of an uncaught exception: several processes may write to one terminal."""
    _of_lines["prefix"] = prefix


def _show(before, kind, error, trace) -> None:
    """Show an uncaught exception by the hook that was set before."""
    for report in UNCAUGHT:
        report(error)
    text = io.StringIO()
    with shortened(error), redirect_stderr(text) if _of_lines["prefix"] else nullcontext():
        before(kind, error, error.__traceback__ if error is not None and trace is not None else trace)
    if text.getvalue():         # at once, so that lines of other processes do not come between
        sys.stderr.write("".join(_of_lines["prefix"] + line for line in text.getvalue().splitlines(keepends=True)))


def _show_of_thread(before, args) -> None:
    """Show an uncaught exception of a thread by the hook that was set before."""
    with shortened(args.exc_value):
        trace = None if args.exc_value is None else args.exc_value.__traceback__
        before(threading.ExceptHookArgs((args.exc_type, args.exc_value, trace, args.thread)))


def _renderer(error: IngotError) -> Any:
    """Return what IPython calls for the lines of an error that left ingot by no door; there is none for others."""
    trace = error.__traceback__
    if current().traceback == "full" or not any(is_own(entry.tb_frame) for entry in entries_of(trace)):
        raise AttributeError("_render_traceback_")
    return partial(_rendered, error, users_part(trace) or trace)


def _rendered(error, trace) -> list:
    shell = _shell()
    with shortened(error):
        return shell.InteractiveTB.structured_traceback(type(error), error, trace, tb_offset=shell.InteractiveTB.tb_offset)
