"""Imports every family of operators and of samples, which fills both tables."""

import importlib
import pkgutil

import ingot.ir.ops

from . import __path__ as _path

for _module in pkgutil.iter_modules(ingot.ir.ops.__path__):
    importlib.import_module(f"ingot.ir.ops.{_module.name}")
for _module in pkgutil.iter_modules(_path):
    if _module.name != "table":
        importlib.import_module(f"{__package__}.{_module.name}")
