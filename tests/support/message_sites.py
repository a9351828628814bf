"""Places of the tracer that refuse a program or warn about it, found in its source, and those that a run came by."""

import ast
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ingot import jit
from ingot.jit.errors import errors
from ingot.jit.errors.errors import RecordingStatus, TraceError

JIT = Path(jit.__file__).parent
ROOMS = ("guards", "host", "proxies", "python_state", "recorder", "replay", "side_effects", "tracing")
_ERRORS = {"TraceError", "UnrepeatableError", "RunEagerlyError", "FirstTimeError", "ReplacedError", "DisturbedError",
           "ProxyError", "SeveralDevicesError"}
_CALLS = _ERRORS | {"refuse", "warn", "_warn", "_complain"}
_FRAMES = 8         # callers of an error among which its place is


class Site(NamedTuple):
    """A call that makes a message, in a function of a file below jit."""

    file: str
    function: str
    first: int
    last: int
    text: str           # of the message; `...` stands for what the program puts in

    @property
    def name(self) -> str:
        return f"{self.file} {self.function}"


def sites(rooms=ROOMS) -> list:
    """Return all places with a message of their own; not those that pass on the text of another one."""
    found: list = []
    for path in [path for room in rooms for path in sorted((JIT / room).glob("*.py"))]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        for n in ast.walk(tree):
            if isinstance(n, ast.Call) and _name(n.func) in _CALLS and _has_text(n):
                owner = max([f for f in functions if f.lineno <= n.lineno <= f.end_lineno], key=lambda f: f.lineno)
                found.append(Site(path.relative_to(JIT).as_posix(), owner.name, n.lineno, n.end_lineno, _text(n.args)))
    return found


def _name(function) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _has_text(call) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for arg in call.args for part in ast.walk(arg))


def _text(args) -> str:
    """Return the text that the arguments of a call make, of several with a semicolon between them."""
    texts = []
    for arg in args:
        if isinstance(arg, ast.Call):           # `place.of(text)`
            texts.append(_text(arg.args))
        elif isinstance(arg, ast.JoinedStr):
            texts.append("".join(v.value if isinstance(v, ast.Constant) else "..." for v in arg.values))
        elif isinstance(arg, ast.Constant) and isinstance(arg.value, str):
            texts.append(arg.value)
    return "; ".join(filter(None, texts))


@contextmanager
def visited():
    """Collect (file, line) of what makes errors, refusals and warnings of the tracer."""
    found: set = set()

    def note():
        frame = sys._getframe(2)
        for _ in range(_FRAMES):
            if frame is None:
                return
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(JIT):
                found.add((path.relative_to(JIT).as_posix(), frame.f_lineno))
            frame = frame.f_back

    def noting(function):
        def noted(*args, **kwargs):
            note()
            return function(*args, **kwargs)
        noted.__code__ = noted.__code__.replace(co_filename=errors.__file__)        # a frame of ingot's, and not of the user
        return noted

    before = TraceError.__init__, RecordingStatus.refuse, warnings.warn
    TraceError.__init__, RecordingStatus.refuse, warnings.warn = map(noting, before)
    try:
        yield found
    finally:
        TraceError.__init__, RecordingStatus.refuse, warnings.warn = before
