"""`ingot.fx`: programs as graphs that Python code can read and change: `symbolic_trace` runs a module or a function on
stand-ins (`Proxy`), the `Graph` of what it did is changed, and a `GraphModule` runs it as Python code.

This is for rewriting models. What makes them fast is `jit.trace`, which takes a GraphModule like any other module.
"""

from . import (
    graph,
    graph_module,
    immutable_collections,
    interpreter,
    node,
    passes,
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
