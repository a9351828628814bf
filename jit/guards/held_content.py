"""Content of objects in C code that no other guard sees: how to read it, and how a replay puts it back.

Classes stand by their names, since most programs never import them.
"""

import io
import os
import pickle
import sys
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...ir.interrupts import raise_interrupt
from ..proxies.set_layout import content_of_set, give_content


def settings_of(context) -> tuple:
    """Return what a context of decimal numbers computes with, without the flags that it raises."""
    c = context
    return c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, tuple(c.traps.values())


def flags_of(x) -> Any:
    """Return the flags that a context of decimal numbers has raised; None for other objects."""
    is_context = "decimal" in sys.modules and isinstance(x, sys.modules["decimal"].Context)
    return tuple(x.flags.values()) if is_context else None


# Class -> content of an object.
_HELD: dict = {
    "array.array": lambda a: (a.typecode, a.tobytes()),
    "builtins.bytearray": bytes,
    "builtins.BaseException": lambda error: (error.args, dict(vars(error))),
    "builtins.memoryview": lambda view: (view.format, view.tobytes()),
    "builtins.mappingproxy": dict,
    "_ctypes._SimpleCData": bytes, "_ctypes.Array": bytes, "_ctypes.Structure": bytes, "_ctypes.Union": bytes,
    "_io.BytesIO": lambda file: file.__getstate__()[:-1],
    "_io.StringIO": lambda file: file.__getstate__()[:-1],
    "decimal.Context": settings_of,
    "enum.Enum": lambda member: member._value_,
    "fractions.Fraction": lambda f: f.as_integer_ratio(),
    "dataclasses.Field": lambda f: (f.name, f.type, f.default, f.default_factory, f.init, f.repr, f.hash, f.compare, f.kw_only,
                                    dict(f.metadata)),
    "configparser.RawConfigParser": lambda c: ({k: dict(v) for k, v in c._sections.items()}, dict(c.defaults())),
    **dict.fromkeys(("numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"), lambda a: (pickle.dumps(a), a.hardmask)),
    "logging.Logger": lambda log: (log.name, log.getEffectiveLevel(), log.disabled, log.propagate, [*log.handlers],
                                   log.manager.disable),
    "queue.Queue": lambda q: (list(q.queue), q.maxsize, q.unfinished_tasks),
    "threading.Event": lambda event: event.is_set(),
}


def held_by(value) -> Any:
    """Return a function that reads the content of such an object (None once it was closed), or None for other objects and
    streams to which programs print."""
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
    except ValueError as error:
        raise_interrupt(error, holds, value)
        return None


def _refill_file(file, content):
    file.__setstate__((*content, file.__getstate__()[-1]))


def _refill_bytes(values, content):
    values[:] = content


def _refill_array(values, content):
    values[:] = type(values)(*content)


def _fill_again(a, content):
    shape, dtype, data = content
    a[...] = np.frombuffer(data, dtype).reshape(shape)


def _refill_environment(environ, content):
    new = dict(content)
    for key in [key for key in environ if key not in new]:
        del environ[key]
    same = next((n for n, (key, now) in enumerate(zip(new, environ)) if key != now), len(new))
    for key in [*new][same:]:       # they come in another order
        environ.pop(key, None)
    for key, value in content:
        if environ.get(key) != value:
            environ[key] = value


# Class -> (content of an object, function that puts a content back).
_PUT_BACK: dict = {
    "builtins.set": (lambda values: (*content_of_set(values),), lambda values, content: give_content(values, *content)),
    "builtins.bytearray": (bytes, _refill_bytes),
    "array.array": (_HELD["array.array"], _refill_array),
    "numpy.ndarray": (lambda a: (a.shape, a.dtype.str, a.tobytes()), _fill_again),
    "_io.BytesIO": (_HELD["_io.BytesIO"], _refill_file),
    "_io.StringIO": (_HELD["_io.StringIO"], _refill_file),
    f"os.{type(os.environ).__name__}": (lambda environ: tuple(environ.items()), _refill_environment),
    "threading.Event": (_HELD["threading.Event"], lambda event, is_set: event.set() if is_set else event.clear()),
}


@lru_cache(maxsize=4096)
def _rules(kind) -> Any:
    return _PUT_BACK.get(f"{getattr(kind, '__module__', '')}.{kind.__qualname__}")


def _rules_of(value) -> Any:
    kind: Any = type(value)
    return _rules(kind)


def can_put_back(value) -> bool:
    """Return whether a replay can give an object another content."""
    if _rules_of(value) is None:
        return False
    if type(value) is np.ndarray:
        return value.flags.writeable and not value.dtype.hasobject and value.dtype.names is None
    if isinstance(value, type(os.environ)):
        return value is os.environ      # `os.environb` has its content, which host functions may read by the other name
    return not (isinstance(value, (io.StringIO, io.BytesIO)) and value.closed)


def content_of(value) -> Any:
    """Return the content of an object that `can_put_back` accepts."""
    reads, _ = _rules_of(value)
    return reads(value)


def put_back(value, content):
    """Give an object a content."""
    _, writes = _rules_of(value)
    writes(value, content)
