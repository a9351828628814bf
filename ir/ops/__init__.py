"""The operators, one record each, by family."""

import importlib
import pkgutil


def load_all():
    """Load every family, so that `OPS` has all records, as reading a graph from text needs."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)
