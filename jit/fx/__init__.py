"""`ingot.fx`: programs as graphs that Python code reads and changes.

`symbolic_trace` runs a module or function on proxies (`Proxy`) and returns a `GraphModule`, which runs its `Graph` as Python
code. The room is for rewriting models. `jit.trace` makes them fast, and takes a GraphModule like any module.
"""

from . import (
    graph,
    graph_module,
    immutable_collections,
    interpreter,
    node,
    proxy,
    subgraph_rewriter,
)
from .graph import Graph, PythonCode
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_aggregate, map_arg
from .proxy import Proxy, ProxyableClassMeta, TraceError
from .subgraph_rewriter import replace_pattern
from .tracer import PH, Tracer, symbolic_trace, wrap

__all__ = ["PH", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "PythonCode", "TraceError",
           "Tracer", "Transformer", "graph", "graph_module", "has_side_effect", "immutable_collections", "interpreter",
           "map_aggregate", "map_arg", "node", "passes", "proxy", "replace_pattern", "subgraph_rewriter", "symbolic_trace",
           "wrap"]
