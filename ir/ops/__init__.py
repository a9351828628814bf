"""The operators, one record each, by family."""

import importlib
import pkgutil


def load_all():
    """Loads every family, so that `OPS` has all records: whoever reads graphs from text needs this."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
