"""Runners: how each kind of row is run by a library.

A runner takes (library, row, wrap) and returns {name: result}. `wrap` takes a function of tensors and returns the function to
call: itself for an eager run, or one that records a trace and replays it. Runners use only names that PyTorch and ingot share.
Each module registers its kinds with `@kind`; importing this package imports all of them.
"""

import importlib
import pkgutil

KINDS: dict = {}


def kind(name: str):
    """Register the runner of a kind of rows."""
    def mark(run):
        assert name not in KINDS, name
        KINDS[name] = run
        return run
    return mark


for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
