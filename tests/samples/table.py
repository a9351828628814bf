"""Imports every family of operators and of samples, which fills both tables."""

import importlib
import pkgutil

from ingot.ir import ops

from . import __path__ as _path

ops.load_all()
for _module in pkgutil.iter_modules(_path):
    if _module.name != "table":
        importlib.import_module(f"{__package__}.{_module.name}")
