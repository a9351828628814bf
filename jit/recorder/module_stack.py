"""Stack of module calls under way, read off Python's frames when an operator is recorded."""

import sys
from types import CodeType
from typing import Any

from ...runtime.nn.base.module import Module

_CALL = Module.__call__.__code__


class ModuleStack:
    """Names of modules for the nodes of a graph. Calls of modules do nothing for it."""

    entered: CodeType | None = None       # code that calls the recorded function: modules around it do not count

    def __init__(self):
        self._paths: dict = {}            # id of a module: (the module, {id of a module below: its path})

    def innermost(self) -> str:
        """Return the innermost module under way: the class of the outermost one, and the path from there."""
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
