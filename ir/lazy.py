"""Lazy modules: parts of the project that load on first use, so that `import ingot` stays quick.

    kernels = lazy(__package__, ".cpu.kernels")      # at the top of a file, like any import

The house test reads these calls as imports and holds them to the layers.
"""

import importlib


class LazyModule:
    """A placeholder for a module until its first attribute access."""

    def __init__(self, package: str, name: str):
        self._package, self._name = package, name

    def __getattr__(self, attribute):
        module = importlib.import_module(self._name, self._package)
        value = getattr(module, attribute)
        self.__dict__[attribute] = value
        return value


def lazy(package: str, name: str) -> LazyModule:
    """Return the module `name`, relative to `package`, loaded on first use."""
    return LazyModule(package, name)
