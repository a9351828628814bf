"""Which module an operation belongs to: the calls that are under way when a recorder hears of it."""

import sys
from types import CodeType
from typing import Any

from ...ir.source_location import Where
from ...runtime.core.storage import user_line
from ...runtime.nn.base.module import Module

_CALL = Module.__call__.__code__


class ModulesAround:
    """The part of a recorder that knows the names of modules. They are asked for while an operation is written down, so calls
    of modules do nothing for it."""

    entered: CodeType | None = None       # of the function that calls what is recorded: modules around it do not count

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._paths: dict = {}            # id of a module -> (the module, {id of a module below: its path})

    def here(self) -> tuple:
        """The user's line that runs, and the module."""
        return Where(user_line(), self.module_around())

    def module_around(self) -> str:
        """The innermost module whose call is under way: the class of the outermost one, and the path from there."""
        frame: Any = sys._getframe(1)
        calls = []
        while frame is not None and frame.f_code is not self.entered:
            if frame.f_code is _CALL:
                calls.append(frame.f_locals["self"])
            frame = frame.f_back
        name, paths = "", {}
        for module in reversed(calls):
            path = paths.get(id(module))
            if path is None:
                root, paths, path = type(module).__name__, self._below(module), ""
            name = f"{root}.{path}" if path else root
        return name

    def _below(self, module) -> dict:
        known = self._paths.get(id(module))
        if known is None:
            known = self._paths[id(module)] = module, {id(m): path for path, m in module.named_modules()}
        return known[1]
