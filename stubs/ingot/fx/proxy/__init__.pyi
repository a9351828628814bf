"""Proxies: stand-ins for values during symbolic tracing. Each operation on a `Proxy` becomes a node."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.fx import Graph as _Graph
from ingot.fx import Node as _Node
from ingot.fx import Proxy as Proxy
from ingot.fx import Proxy as _Proxy
from ingot.fx import ProxyableClassMeta as ProxyableClassMeta
from ingot.fx import TraceError as TraceError

class Attribute(_Proxy):
    """An attribute of a value: a method if it is called, otherwise a node of its own."""
    attr: _b.str
    root: _Proxy
    tracer: _t.Any
    def __call__(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any: ...
    def __init__(self, root: _Proxy, attr: _b.str) -> None: ...
    @_b.property
    def node(self) -> _Node: ...

class GraphAppendingTracer(TracerBase):
    """A tracer that adds nodes to an existing graph."""
    graph: _Graph
    def __init__(self, graph: _Graph) -> None: ...

class TracerBase:
    """Base of tracers, which turn operations on proxies into nodes. `Tracer` adds modules and functions."""
    graph: _Graph
    def check_writable(self, a: _t.Any) -> None:
        """Raise if a traced value would be written into a constant tensor."""
    def create_arg(self, a: _t.Any) -> _t.Any:
        """Return an argument with nodes in place of proxies."""
    def create_constant(self, a: _t.Any) -> _t.Any:
        """Return an argument that is neither container nor proxy."""
    def create_node(self, kind: _b.str, target: _t.Any, args: _t.Any, kwargs: _t.Any, name: _b.str | None = None,
                    type_expr: _t.Any = None) -> _Node:
        """Add a node to the graph."""
    def create_proxy(self, kind: _b.str, target: _t.Any, args: _t.Any, kwargs: _t.Any, name: _b.str | None = None,
                     type_expr: _t.Any = None, proxy_factory_fn: _t.Any = None) -> _Proxy:
        """Add a node for a call with proxies among its arguments, and return its proxy."""
    def iter(self, obj: _Proxy) -> _t.Any:
        """Return the items of an unpacking `a, b = x`, whose number comes from the bytecode."""
    def keys(self, obj: _Proxy) -> _t.Any: ...
    def proxy(self, node: _Node) -> _Proxy: ...
    proxy_buffer_attributes: _b.bool
    record_stack_traces: _b.bool
    def to_bool(self, obj: _Proxy) -> _b.bool:
        """Return the truth of a value, or raise."""
    trace_asserts: _b.bool
