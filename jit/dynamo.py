"""`ingot._dynamo`: names of PyTorch's compiler that libraries look at, to ask whether something is compiled."""

from contextlib import contextmanager, nullcontext
from typing import Any

from . import accepted_switches as config
from .compiler import Compiled as OptimizedModule
from .compiler import allow_in_graph, compile, disable, is_compiling, list_backends, reset, set_stance

__all__ = ["OptimizedModule", "TransformGetItemToIndex", "allow_in_graph", "assume_constant_result", "config", "disable",
           "disallow_in_graph", "error_on_graph_break", "forbid_in_graph", "graph_break", "is_compile_supported",
           "is_compiling", "is_dynamo_supported", "list_backends", "mark_dynamic", "mark_static", "mark_static_address",
           "mark_unbacked", "maybe_mark_dynamic", "nonstrict_trace", "optimize", "optimize_assert", "patch_dynamo_config",
           "reset", "set_stance"]

patch_dynamo_config = config.patch


def assume_constant_result(fn):
    """The function itself: what it reads is guarded, so its result is constant for as long as it may be."""
    return fn


disallow_in_graph = forbid_in_graph = nonstrict_trace = assume_constant_result


def optimize(backend="inductor", *, nopython=False, disable=False, dynamic=None, **hooks: Any):
    """What makes traced functions and modules, as `compile` does."""
    def make(fn):
        return compile(fn, fullgraph=nopython, dynamic=dynamic, backend=backend, disable=disable)

    return make


def optimize_assert(backend="inductor", **options: Any):
    """What makes traced functions and modules, as `compile` does."""
    return optimize(backend, nopython=True, **options)


def is_dynamo_supported() -> bool:
    """True: `compile` works wherever ingot does."""
    return True


def is_compile_supported(device_type: str) -> bool:
    """Whether `compile` makes something faster on devices of a type: on those that ingot computes on."""
    return device_type in ("cpu", "cuda")


@contextmanager
def error_on_graph_break(error_on_graph_break: bool = True):
    """Nothing: there are no breaks, a recording goes on through whatever Python does."""
    yield


class TransformGetItemToIndex(nullcontext):
    """Nothing: inside of vmap, too, tensors are indexed by tensors as they are."""


def graph_break(msg: str = ""):
    """Nothing: a recording goes on through whatever Python does."""


def mark_dynamic(t, index, **options):
    """Nothing: sizes become symbols when a second one comes."""


def mark_static(t, index=None):
    """Nothing: a size is a number until a second one comes."""


def mark_static_address(t, guard: bool = True):
    """Nothing: what a recording captures keeps its memory, and is guarded."""


maybe_mark_dynamic = mark_unbacked = mark_dynamic
