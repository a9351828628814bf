"""Text with numbers that a traced function prints or logs: `print(f"step {i}: {loss.item():.3f}")` prints at every call.

If the instructions that follow put the result of `format` into a string, and that only into `print`, a method of a logger or
one of a progress bar (`bar.set_description(f"loss {loss.item():.3f}")`), a mark stands in the string. The number is inserted
each time that the text is shown. A text that nothing reads is plain (`unread_texts.py`).
"""

import builtins
import re
import secrets
from typing import Any, NamedTuple

from ...ir.tracebacks import computes_for_python
from ...runtime.core.tensor import Tensor
from ...runtime.state.mode import tls
from ..bytecode.stack import Walk, instructions_of, position_of
from ..proxies.lazy_scalars import LazyScalar, as_number
from .unread_texts import UnreadTexts, asking_frame, is_logged

computes_for_python(__name__)

_PRINT = print         # (users may put another function there)
_FORMATS = frozenset(("FORMAT_SIMPLE", "FORMAT_VALUE", "FORMAT_WITH_SPEC"))
SHOWN: dict = {}        # class -> names of methods that show texts at each call, filled by `python_state/progress_bars.py`


def _is_shown(x) -> bool:
    """Return whether an object shows texts at each call: the function may read those that it has made."""
    recorder: Any = tls.m.recorder
    return type(x) in SHOWN and id(x) not in recorder.tracker.known.own


class Formatted(NamedTuple):
    """Formatted value in a text."""

    value: Any
    spec: str


class Text(NamedTuple):
    """Sequence of strings and formatted values."""

    pieces: tuple

    def __str__(self):
        return "".join([format(*p) if type(p) is Formatted else p for p in self.pieces])


class DeferredPrints:
    """Values in strings that wait to be printed, while a recorder listens."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.unread = UnreadTexts(recorder)
        self._values: list = []
        self._sign = f"\0{secrets.token_hex(8)}"     # begins a mark; no user string has it

    def mark(self, t: Tensor, value, spec: str, frame) -> str | None:
        """Return the mark for a formatted tensor with the number `value` in a printed string; None if it must be the text."""
        kind = type(value)
        is_text = bool(t.ndim and spec) or not (t.ndim or kind in (float, int))
        if is_text or not self._recorder.reads.defers or not _is_printed(frame):
            return None
        return self._added(t.detach().clone() if t.ndim else LazyScalar(self._recorder, as_number(t, kind), value), spec)

    def text(self, x, spec: str | None, frame) -> str | None:
        """Return a symbolic or lazy number as `format` gives it, or `repr` without `spec`; None if it has to be fixed."""
        frame = asking_frame(frame)
        if frame is None:
            return None
        if self._recorder.reads.defers and (_is_printed(frame) or is_logged(frame)):
            return self._added(x, spec or "")
        if not self.unread.takes(x, frame):
            return None
        return repr(x.hint) if spec is None else format(x.hint, spec)

    def _added(self, x, spec) -> str:
        self._values.append(Formatted(x, spec))
        return f"{self._sign}{len(self._values) - 1}\0"

    def opened(self, x):
        """Return a string with marks as a `Text`; other values as they are."""
        if type(x) is not str or self._sign not in x:
            return x
        pieces: list = re.split(f"{self._sign}([0-9]+)\0", x)
        pieces[1::2] = [self._values[int(n)] for n in pieces[1::2]]
        return Text(tuple(pieces))


def written(x):
    """Return a `Text` as a string; other values as they are."""
    return str(x) if type(x) is Text else x


class _Flow(Walk):
    """Walk that marks one value, strings made with it, `print`, and methods of objects in `SHOWN`, which are marked by
    themselves."""

    def __init__(self, frame):
        super().__init__()
        self._frame = frame
        self._shown = {name: x for name, x in frame.f_locals.items() if _is_shown(x)} if SHOWN else {}

    def step(self, ins):
        self.variables |= {name: x for name, x in self._shown.items() if self.variables.get(name) is None}
        return super().step(ins)

    def marked(self, ins, taken):
        if ins.opname == "BUILD_STRING" and any(x is True for x in taken):
            return True
        if ins.opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME"):
            space = self._frame.f_globals if ins.opname == "LOAD_GLOBAL" else self._frame.f_locals
            found = space.get(ins.argval)
            return found if _is_shown(found) else "print" if ins.argval == "print" else None
        if ins.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            return "print" if ins.argval in SHOWN.get(type(taken[0]), ()) else None
        return None


def _is_printed(frame) -> bool:
    """Return whether a frame only puts the text of its current instruction into a printed string."""
    if "print" in frame.f_globals or frame.f_builtins is not vars(builtins) or print is not _PRINT:
        return False
    instructions, at = instructions_of(frame.f_code), position_of(frame)
    if instructions[at].opname not in _FORMATS:
        return False
    walk = _Flow(frame).up_to(instructions, at)
    walk.step(instructions[at])
    walk.stack[-1] = True
    for ins in instructions[at + 1:]:
        taken = walk.step(ins)
        if taken is None or any(x is True for x in walk.variables.values()):
            return False
        if any(x is True for x in taken) and ins.opname != "BUILD_STRING":
            return ins.opname in ("CALL", "CALL_KW") and any(x == "print" for x in taken[:2] if type(x) is str)
    return False
