"""`ingot.fx._symbolic_trace`: what a trace consists of, by the names of PyTorch's private file, for tracers that go through a
program themselves, as torch_geometric's does: they put functions in the place of others and record what comes back.
"""

import functools
from types import FunctionType

from ..runtime.nn.base.module import Module
from ..jit.fx.graph import Graph
from ..jit.fx.proxy import Proxy
from ..jit.fx.tracer import PH, Patches, Tracer, _patching, compatibility, patch_wrapped, symbolic_trace, wrap

__all__ = ["PH", "FunctionType", "Graph", "Module", "Proxy", "ScriptObject", "Tracer", "compatibility", "functools",
           "symbolic_trace", "wrap"]

_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__
_patch_wrapped_functions = patch_wrapped


class ScriptObject:
    """What PyTorch's compiled classes make; nothing here is one."""


class _Patcher(Patches):
    """Names with other values inside a `with` block."""

    def __enter__(self):
        _patching.acquire()
        return self

    def __exit__(self, *raised):
        try:
            self.revert()
        finally:
            _patching.release()

    def patch(self, frame_dict: dict, name: str, new_fn, deduplicate: bool = True) -> None:
        """Puts a function in a dictionary."""
        self.item(frame_dict, name, new_fn)

    def patch_method(self, cls: type, name: str, new_fn, deduplicate: bool = True) -> None:
        """Sets a method of a class."""
        self.attribute(cls, name, new_fn)


def _autowrap_check(patcher: Patches, frame_dict: dict, function_ids: set[int]) -> None:
    """Has the functions of these ids that a module knows be nodes."""
    patcher.functions(frame_dict, function_ids)
