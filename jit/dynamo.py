"""`ingot._dynamo`: names of PyTorch's compiler that libraries look at, to ask whether something is compiled."""

from . import accepted_switches as config
from .compiler import Compiled as OptimizedModule
from .compiler import allow_in_graph, disable, is_compiling, list_backends, reset

__all__ = ["OptimizedModule", "allow_in_graph", "config", "disable", "graph_break", "is_compiling", "list_backends",
           "mark_dynamic", "mark_static", "mark_static_address", "mark_unbacked", "maybe_mark_dynamic", "reset"]


def graph_break(msg: str = ""):
    """Nothing: a recording goes on through whatever Python does."""


def mark_dynamic(t, index, **options):
    """Nothing: sizes become symbols when a second one comes."""


def mark_static_address(t, guard: bool = True):
    """Nothing: what a recording captures keeps its memory, and is guarded."""


maybe_mark_dynamic = mark_static = mark_unbacked = mark_dynamic
