"""Imports every family, which fills the table."""

import importlib
import pkgutil

from . import __path__ as _path

for _module in pkgutil.iter_modules(_path):
    if _module.name != "table":
        importlib.import_module(f"{__package__}.{_module.name}")
