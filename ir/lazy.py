"""Lazy modules: parts of the project that load on first use, so that `import ingot` stays quick.

    kernels = lazy(__package__, ".cpu.kernels")      # at the top of a file, like any import

The house test reads these calls as imports and holds them to the layers. A fork waits for imports of other threads: in the
child, a module that was halfway in would stay locked for ever.
"""

import importlib
import os
import threading
import time
from types import ModuleType

_LONGEST = 10.0         # seconds that a fork waits
_loading: dict[int, int] = {}       # imports that are under way, by thread


def load_module(name: str, package: str | None = None) -> ModuleType:
    """Import a module at its first use."""
    thread = threading.get_ident()
    _loading[thread] = _loading.get(thread, 0) + 1
    try:
        return importlib.import_module(name, package)
    finally:
        _loading[thread] -= 1
        if not _loading[thread]:
            del _loading[thread]


def _wait_for_others():
    deadline, me = time.monotonic() + _LONGEST, threading.get_ident()
    while any(thread != me for thread in list(_loading)) and time.monotonic() < deadline:
        time.sleep(0.001)


def _forget_others():
    for thread in [thread for thread in _loading if thread != threading.get_ident()]:
        del _loading[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_others, after_in_child=_forget_others)


class LazyModule:
    """A placeholder for a module until its first attribute access."""

    def __init__(self, package: str, name: str):
        self._package, self._name = package, name

    def __getattr__(self, attribute):
        module = load_module(self._name, self._package)
        value = getattr(module, attribute)
        self.__dict__[attribute] = value
        return value


def lazy(package: str, name: str) -> LazyModule:
    """Return the module `name`, relative to `package`, loaded on first use."""
    return LazyModule(package, name)
