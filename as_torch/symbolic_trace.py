"""`torch.fx._symbolic_trace`: parts of symbolic tracing for libraries with tracers of their own, such as torch_geometric."""

import functools
from types import FunctionType

from ..jit.fx.graph import Graph
from ..jit.fx.proxy import Proxy
from ..jit.fx.tracer import PH, Patches, Tracer, _patching, compatibility, patch_wrapped, symbolic_trace, wrap
from ..runtime.nn.base.module import Module

__all__ = ["PH", "FunctionType", "Graph", "Module", "Proxy", "ScriptObject", "Tracer", "compatibility", "functools",
           "symbolic_trace", "wrap"]

_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__
_patch_wrapped_functions = patch_wrapped


class ScriptObject:
    """The type of compiled TorchScript objects; ingot has none."""


class _Patcher(Patches):
    """Patches that a `with` block reverts."""

    def __enter__(self):
        _patching.acquire()
        return self

    def __exit__(self, *raised):
        try:
            self.revert()
        finally:
            _patching.release()

    def patch(self, frame_dict: dict, name: str, new_fn, deduplicate: bool = True) -> None:
        self.item(frame_dict, name, new_fn)

    def patch_method(self, cls: type, name: str, new_fn, deduplicate: bool = True) -> None:
        self.attribute(cls, name, new_fn)


def _autowrap_check(patcher: Patches, frame_dict: dict, function_ids: set[int]) -> None:
    """Record calls of the functions with these ids, in a module's namespace, as nodes."""
    patcher.functions(frame_dict, function_ids)
