"""Path of the module in which a call failed: `in net.3 (Linear)`, as the last line of the error's message.

The modules that run are read off the stack, so calls of modules pay nothing for it. The path leads from the outermost module
to the innermost one that it knows. It begins with the name of the user's variable, or else with the class.
"""

import re
import sys

from ....ir.errors import IngotError
from ....ir.interrupts import result_or
from ....ir.tracebacks import entries_of, is_own, is_user, outer_frame

_LOCATED = re.compile(r"(?:^|\n)in \S+( \(\w+\))?$")
_OPTIMIZED = 0x1            # flag of code whose local variables are no dict
_UNSHARED = 3               # references to a dict of local variables: the frame's, a variable's here, and an argument's


def locate(error: Exception, module) -> None:
    """Add the path of a module, whose call `error` leaves, to the message of an error of ingot; once for all modules around. An
    error of other classes that arose inside ingot gets a note."""
    result_or(None, _locate, error, sys._getframe(2))       # (objects of users may have odd attributes)


def _locate(error: Exception, frame) -> None:
    if isinstance(error, IngotError):
        _add_to_message(error, frame)
    elif error.__traceback__ is not None and not is_user(entries_of(error.__traceback__)[-1]):
        _add_note(error, frame)


def _add_to_message(error: Exception, frame) -> None:
    text = error.args[0] if error.args else None
    if type(text) is not str or str(error) != text:         # an OSError, whose text has several parts
        _add_note(error, frame)
    elif not _LOCATED.search(text):
        error.args = (f"{text}\n{_path(frame)}", *error.args[1:])


def _add_note(error: Exception, frame) -> None:
    if not any(map(_LOCATED.search, getattr(error, "__notes__", ()))):
        error.add_note(_path(frame))


def _path(frame) -> str:
    """Return the path for the module whose `__call__` runs in a frame."""
    call, modules, outermost = frame.f_code, [], frame
    while frame is not None:
        if frame.f_code is call:
            modules.append(frame.f_locals["self"])
            outermost = frame
        frame = frame.f_back
    whole = modules[-1]
    names = _names_below(whole)
    module = next(m for m in modules if id(m) in names)
    name, kind = _variable_of(whole, outermost.f_back), type(module).__name__
    if not name and module is whole:
        return f"in {kind}"
    return f"in {'.'.join(filter(None, (name or type(whole).__name__, names[id(module)])))} ({kind})"


def _names_below(module) -> dict:
    """Return the first path of each module below one, by its id; past methods that users override."""
    names: dict = {}
    stack = [("", module)]
    while stack:
        path, module = stack.pop()
        if module is not None and id(module) not in names:
            names[id(module)] = path
            stack += [(f"{path}.{name}" if path else name, child) for name, child in reversed(module._modules.items())]
    return names


def _variable_of(module, frame) -> str:
    """Return the name by which the user's code that calls a module knows it; empty if it has none."""
    frame = outer_frame(frame)
    while frame is not None and is_own(frame):
        frame = outer_frame(frame.f_back)
    if frame is None:
        return ""
    values = frame.f_locals
    owner = values.get("self")
    found = _name_in(values, module)
    if not found and owner is not None and owner is not module:
        inner = _name_in({**vars(owner), **vars(owner).get("_modules", {})}, module)
        found = f"self.{inner}" if inner else ""
    del owner
    if frame.f_code.co_flags & _OPTIMIZED and isinstance(values, dict) and sys.getrefcount(values) == _UNSHARED:
        values.clear()          # Python 3.12 keeps the copy in the frame, and with it values that the frame lets go
    return found or _name_in(frame.f_globals, module)


def _name_in(values, module) -> str:
    return next((name for name, value in [*values.items()] if value is module and name != "self" and name[0] != "_"), "")
