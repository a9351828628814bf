"""Proxies: stand-ins for values during symbolic tracing. Each operation on a `Proxy` becomes a node."""

import dis
import enum
import operator
import sys
from dataclasses import fields, is_dataclass
from typing import Any

from ...ir.errors import IngotError
from ...ir.source_location import shown_file
from ...runtime.api.register.register import FUNCTIONS
from ...runtime.api.register.torch_function import start
from ...runtime.core.tensor import Tensor
from .graph import Graph
from .immutable_collections import immutable_dict, immutable_list
from .node import Node, map_aggregate, public_path, writes

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "ProxyableClassMeta", "TraceError", "TracerBase"]

_PACKAGE = __name__.partition(".")[0]
_UNPACK = dis.opmap["UNPACK_SEQUENCE"]
_ASK = "Symbolic tracing follows one way through a program, which holds for all values."


class TraceError(IngotError, ValueError):
    """A program reads a value that is known only at run time."""


def users_line() -> str | None:
    """Return the running line of user code, as in tracebacks."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        own = (frame.f_globals.get("__name__") or "").partition(".")[0] == _PACKAGE or name.startswith(("<a ", "<frozen"))
        if not own:
            return f'File "{shown_file(name)}", line {frame.f_lineno}, in {frame.f_code.co_name}'
        frame = frame.f_back            # type: ignore[assignment]
    return None


class TracerBase:
    """Base of tracers, which turn operations on proxies into nodes. `Tracer` adds modules and functions."""

    graph: Graph
    record_stack_traces = True
    proxy_buffer_attributes = True
    trace_asserts = False

    def create_node(self, kind: str, target, args, kwargs, name: str | None = None, type_expr=None) -> Node:
        """Add a node to the graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.record_stack_traces and kind != "output":
            line = users_line()
            if line is not None:
                node.stack_trace = line
        return node

    def proxy(self, node: Node) -> "Proxy":
        return Proxy(node, self)

    def create_proxy(self, kind: str, target, args, kwargs, name: str | None = None, type_expr=None,
                     proxy_factory_fn=None) -> "Proxy":
        """Add a node for a call with proxies among its arguments, and return its proxy."""
        args, kwargs = self.create_arg(tuple(args)), self.create_arg(dict(kwargs))
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """Return an argument with nodes in place of proxies."""
        if isinstance(a, (Node, Proxy)):
            return a if isinstance(a, Node) else a.node
        if hasattr(type(a), "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, list):
            return immutable_list(map(self.create_arg, a))
        if isinstance(a, tuple):
            parts = map(self.create_arg, a)
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, dict):
            if any(isinstance(key, Proxy) for key in a):
                raise TraceError(f"{_at()}a value that is traced cannot be the key of a dictionary")
            return immutable_dict({key: self.create_arg(x) for key, x in a.items()})
        if isinstance(a, (range, slice)):
            return type(a)(*[self.create_arg(x) for x in (a.start, a.stop, a.step)])
        if is_dataclass(a) and not isinstance(a, type):
            made = {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a) if f.init}
            return self.create_node("call_function", type(a), (), made)
        return self.create_constant(a)

    def create_constant(self, a: Any) -> Any:
        """Return an argument that is neither container nor proxy."""
        plain = a is None or a is Ellipsis or isinstance(a, (bool, int, float, complex, str, bytes, enum.Enum, Node, Tensor))
        if plain or callable(a) or type(a).__module__.partition(".")[0] in _PACKAGES:
            return a
        raise TraceError(f"{_at()}an argument of the class {type(a).__name__} cannot stand in a graph: nodes take tensors, "
                         f"numbers, strings, containers of them and functions")

    def check_writable(self, a: Any) -> None:
        """Raise if a traced value would be written into a constant tensor."""

    # Queries that need a value.

    def to_bool(self, obj: "Proxy") -> bool:
        """Return the truth of a value, or raise."""
        raise TraceError(f"{_at()}the truth of {obj} is asked, as `if`, `while`, `and`, `assert` do. {_ASK} Compute with "
                         f"where(), make the module that branches a leaf (is_leaf_module), or give the value that decides by "
                         f"concrete_args")

    def iter(self, obj: "Proxy"):
        """Return the items of an unpacking `a, b = x`, whose number comes from the bytecode."""
        frame = sys._getframe(2)
        code = frame.f_code.co_code
        if code[frame.f_lasti] == _UNPACK:
            return iter([obj[i] for i in range(code[frame.f_lasti + 1])])
        raise TraceError(f"{_at()}{obj} is iterated over, as `for`, `*`, list() do, and how many values it has is not known. "
                         f"{_ASK} Index it (x[0]), unpack it (`a, b = x`), or wrap the function that does so (fx.wrap)")

    def keys(self, obj: "Proxy"):
        return Attribute(obj, "keys")()


_PACKAGES = frozenset((_PACKAGE, "numpy"))


def _at() -> str:
    line = users_line()
    return "" if line is None else f"{line}: "


class GraphAppendingTracer(TracerBase):
    """A tracer that adds nodes to an existing graph."""

    def __init__(self, graph: Graph):
        self.graph = graph


class Proxy:
    """The stand-in of a node's result. Operators, methods, attributes and functions of tensors return further proxies."""

    __getitem__: Any            # operators: see below
    __setitem__: Any
    __array_ufunc__ = None      # NumPy scalars leave operators to it

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        start()
        self.node = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, name):
        if name[:2] == name[-2:] == "__":           # queries by Python, copy and pickle
            raise AttributeError(f"{self!r} has no {name}")
        return Attribute(self, name)

    def __setattr__(self, name, value):
        if name not in ("node", "tracer", "root", "attr", "_node"):
            raise TraceError(f"{_at()}the attribute {name!r} of a value that is traced is set; that becomes no node")
        object.__setattr__(self, name, value)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        return self.tracer.iter(self)

    def __bool__(self):
        return self.tracer.to_bool(self)

    def keys(self):
        """Return the keys of a dictionary value."""
        return self.tracer.keys(self)

    __hash__ = object.__hash__

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None)
        kind, target, args = _node_of_call(func, args)
        if writes(target):
            found[0].tracer.check_writable(args[0])
        return found[0].tracer.create_proxy(kind, target, args, kwargs)


def _node_of_call(func, args):
    """Return the node of a call of an ingot function: kind, target, arguments."""
    name = func.__name__
    if hasattr(func, "__self__"):                   # the getter of an attribute
        getter = func.__self__
        name = next((n for n, v in vars(Tensor).items() if v is getter or getattr(v, "fget", v) is getter), "data")
        return "call_function", getattr, (args[0], name)
    if func is FUNCTIONS["einsum"] and len(args) == 2 and isinstance(args[1], (list, tuple)):
        args = (args[0], *args[1])                  # products keep their operands in one place
    if FUNCTIONS.get(name) is func or public_path(func) is not None:
        return "call_function", func, args
    name = next((n for n, v in vars(Tensor).items() if v is func), name)
    operation = getattr(operator, name, None)
    if name[:2] == "__" and name[2:3] == "r" and hasattr(operator, f"__{name[3:]}"):
        return "call_function", getattr(operator, f"__{name[3:]}"), args[::-1]
    if operation is not None and name[:2] == "__":
        return "call_function", operation, args
    return ("call_method", name, args) if vars(Tensor).get(name) is func else ("call_function", func, args)


class Attribute(Proxy):
    """An attribute of a value: a method if it is called, otherwise a node of its own."""

    def __init__(self, root: Proxy, attr: str):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:         # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ProxyableClassMeta(type):
    """Metaclass of classes whose construction with a proxy is a node."""

    def __call__(cls, *args, **kwargs):
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None)
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


# Operators.

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and", "or", "xor")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_UNARY = ("neg", "pos", "invert", "abs")


def _operation(name: str):
    return getattr(operator, f"{name}_" if name in ("and", "or") else name)


def _add_operators():
    def method(target, swapped=False, name=None):
        def operation(self, *others):
            args = (*others, self) if swapped else (self, *others)
            return self.tracer.create_proxy("call_function", target, args, {}, name)

        return operation

    for name in (*_BINARY, *_COMPARISONS, *_UNARY, "getitem"):
        setattr(Proxy, f"__{name}__", method(_operation(name)))
    for name in _BINARY:
        setattr(Proxy, f"__r{name}__", method(_operation(name), swapped=True))
        setattr(Proxy, f"__i{name}__", method(getattr(operator, f"i{name}"), name=name))      # x += y is recorded as "add"


def _setitem(self, key, value):
    self.tracer.create_proxy("call_function", operator.setitem, (self, key, value), {})


def _add_refusals():
    def refusal(what, instead):
        def method(self, *args, **kwargs):
            raise TraceError(f"{_at()}{what} of {self} is asked, which is known only when the program runs. {_ASK} {instead}")

        return method

    wrapped = "Have the function that asks be one node: fx.wrap('{}') at the top of the module of the code"
    for name, what, instead in (
            ("len", "len()", "Use x.shape[0], or fx.wrap('len') at the top of the module of the code"),
            ("index", "the whole number", f"Python takes it for range() or for an index of a list. {wrapped.format('range')}"),
            ("int", "the int()", wrapped.format("int")), ("float", "the float()", wrapped.format("float")),
            ("complex", "the complex()", wrapped.format("complex")),
            ("contains", "what is `in` the values", "Compare: (x == value).any()"),
            ("array", "the numpy array", "Compute with ingot's functions")):
        setattr(Proxy, f"__{name}__", refusal(what, instead))


_add_operators()
Proxy.__setitem__ = _setitem
_add_refusals()
