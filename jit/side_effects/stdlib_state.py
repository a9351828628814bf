"""Objects of Python's library that hold what changes: buffers of bytes, queues, events, dictionaries behind a class.

Their methods are the library's, whose code is not watched while a call is recorded. So all that such an object from outside
holds is a condition of the trace.
"""

import sys
from functools import partial
from typing import Any

# Class -> what an object holds; classes by their names, as most programs never import them.
_HELD: dict = {
    "array.array": lambda a: (a.typecode, a.tobytes()),
    "builtins.bytearray": bytes,
    "builtins.memoryview": lambda view: (view.format, view.tobytes()),
    "builtins.mappingproxy": dict,
    "_ctypes._SimpleCData": bytes, "_ctypes.Array": bytes, "_ctypes.Structure": bytes, "_ctypes.Union": bytes,
    "_io.BytesIO": lambda file: (file.getvalue(), file.tell()),
    "_io.StringIO": lambda file: (file.getvalue(), file.tell()),
    **dict.fromkeys(("collections.UserDict", "collections.UserList", "collections.UserString"), lambda box: box.data),
    "configparser.RawConfigParser": lambda c: ({k: dict(v) for k, v in c._sections.items()}, dict(c.defaults())),
    "queue.Queue": lambda q: list(q.queue),
    "threading.Event": lambda event: event.is_set(),
    "threading.Semaphore": lambda s: s._value,
}


def held_by(value) -> Any:
    """A function without arguments that gives what such an object holds (None once it was closed or released); None for other
    objects, and for what programs print to."""
    if value is sys.stdout or value is sys.stderr:
        return None
    for kind in type(value).__mro__[:-1]:
        holds = _HELD.get(f"{kind.__module__}.{kind.__qualname__}")
        if holds is not None:
            return partial(_unless_closed, holds, value)
    return None


def _unless_closed(holds, value):
    try:
        return holds(value)
    except ValueError:
        return None
