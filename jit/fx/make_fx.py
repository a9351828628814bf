"""`ingot.fx.experimental.proxy_tensor`: the graph of what a function does with example inputs, in public functions.

The function runs once, with the values that it is given: sizes and branches are those of the example. What the graph could not
say is refused: values that Python reads, operators that are not behind a public function (recurrent layers, backward), and
switches of gradients or autocast on the way.
"""

import inspect
import operator
from collections.abc import Callable
from typing import Any

from ...ir.errors import ArgumentError
from ...runtime.api.register.overrides import TorchFunctionMode
from ...runtime.core.op_observers import AtDoor
from ...runtime.core.state import tls
from ...runtime.core.tensor import Tensor
from ...runtime.nn import Module
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate
from .proxy import TraceError, TracerBase, users_line

__all__ = ["get_proxy_mode", "make_fx"]


class _Tracer(TracerBase):
    """Knows which node gave each tensor."""

    def __init__(self):
        self.root, self.graph = Module(), Graph()
        self.nodes: dict[int, Node] = {}        # by the id of a tensor
        self.kept: list[Tensor] = []            # so that no id is given twice
        self.storages: set[int] = set()
        self.switches = _switches()

    def know(self, value, node: Node):
        """Find the tensors of a value in what a node gives."""
        if isinstance(value, Tensor):
            self.nodes[id(value)] = node
            self.storages.add(id(value._storage))
            self.kept.append(value)
        elif isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                if has_tensors(part):
                    self.know(part, self.create_node("call_function", operator.getitem, (node, i), {}))
        elif isinstance(value, dict):
            for key, part in value.items():
                if has_tensors(part):
                    self.know(part, self.create_node("call_function", operator.getitem, (node, key), {}))

    def create_arg(self, a: Any) -> Any:
        """Return an argument as nodes have it; tensors that were there before are attributes of the root."""
        if not isinstance(a, Tensor):
            return super().create_arg(a)
        if id(a) not in self.nodes:
            if id(a._storage) in self.storages or (a._node is not None and not a.is_leaf):
                raise TraceError(f"{users_line()}: make_fx met a tensor that no public function gave, such as the result of a "
                                 f"Function of the user's")
            path = f"_tensor_constant{sum(n.op == 'get_attr' for n in self.graph.nodes)}"
            setattr(self.root, path, a)
            self.know(a, self.create_node("get_attr", path, (), {}))
        return self.nodes[id(a)]


def has_tensors(value) -> bool:
    """Return whether there are tensors in nested containers."""
    if isinstance(value, (tuple, list)):
        return any(map(has_tensors, value))
    return isinstance(value, Tensor) or (isinstance(value, dict) and any(map(has_tensors, value.values())))


def _switches() -> tuple:
    casting = tls.m.autocast
    return bool(tls.m.grad), None if casting is None else dict(casting.dtypes)


class _Functions(TorchFunctionMode):
    """Makes a node of every public function that is called."""

    def __init__(self, tracer, door):
        self.tracer, self.door = tracer, door

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, tracer = kwargs or {}, self.tracer
        if _switches() != tracer.switches:
            raise TraceError(f"{users_line()}: gradients or autocast are switched inside of the function, which a graph does "
                             f"not say: switch them around it")
        kind, target, before = _target(func, args)
        taken = tracer.create_arg(tuple(args) if before is None else (args[0], before)), tracer.create_arg(dict(kwargs))
        with self.door.inside() as seen:
            result = func(*args, **kwargs)
        if has_tensors(result) or (result is None and has_tensors(args)):
            tracer.know(result, tracer.create_node(kind, target, *taken))
        elif seen.reads:
            raise _reads(target)
        return result


def _target(func, args) -> tuple:
    """Return (kind of node, what it calls, the name of the attribute that is read, or None)"""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):
        return "call_function", getattr, next(name for name, value in vars(Tensor).items() if value is owner)
    name = getattr(func, "__name__", "")
    if args and isinstance(args[0], Tensor) and vars(Tensor).get(name) is func:
        return "call_method", name, None
    return "call_function", func, None


def _reads(what) -> TraceError:
    return TraceError(f"{users_line()}: make_fx: {what if isinstance(what, str) else what.__name__} reads a value, on which "
                      f"what follows would depend. Keep it a tensor (where, masks), or use jit.trace, which follows both ways")


class _Door(AtDoor):
    """Hears operators and values that are read, and refuses both where no public function runs."""

    def __init__(self):
        super().__init__()
        self.depth, self.reads = 0, False

    def inside(self):
        """While a public function runs."""
        return self

    def __enter__(self):
        self.depth, self.reads = self.depth + 1, False
        return self

    def __exit__(self, *error):
        self.depth -= 1

    def heard(self, op, args, params):
        if not self.depth:
            raise TraceError(f"{users_line()}: make_fx meets the operator {op.name} outside of a public function, as recurrent "
                             f"layers have them; trace the module with fx.symbolic_trace, which keeps layers whole")
        return super().heard(op, args, params)

    def met_only_now(self):
        self.reads = True
        if not self.depth:
            raise _reads("bool(), int() or float() of a tensor")

    def around_backward(self, through):
        raise TraceError(f"{users_line()}: make_fx does not go through backward; take the gradient of the graph that it makes")


def get_proxy_mode() -> None:
    """Return None: recordings run on real tensors, so no mode traces with fake ones."""


def make_fx(f: Callable, decomposition_table=None, tracing_mode: str = "real", _allow_non_fake_inputs=False, *,
            pre_dispatch=False, record_module_stack=False) -> Callable:
    """Return a function of example inputs that gives a GraphModule of what `f` does with them, which takes such inputs, too.

    Nodes call ingot's public functions, one for each call that the program makes. Tensors from outside are attributes.
    """
    if tracing_mode not in ("real", "fake"):
        raise ArgumentError(f"make_fx runs the function with values (tracing_mode='real'), so sizes are numbers; got "
                            f"{tracing_mode!r}. jit.trace takes sizes that change")
    if decomposition_table:
        raise ArgumentError("make_fx makes nodes of public functions as they are called: leave out decomposition_table")

    def traced(*args) -> GraphModule:
        tracer = _Tracer()
        for name, value in zip(_names(f, len(args)), args):
            tracer.know(value, tracer.graph.create_node("placeholder", name, (), {}))
        door = _Door()
        mode = _Functions(tracer, door)
        door.open()
        try:
            with mode:
                result = f(*args)
        finally:
            door.close()
        tracer.create_node("output", "output", (map_aggregate(result, tracer.create_arg),), {})
        return GraphModule(tracer.root, tracer.graph, getattr(f, "__name__", type(f).__name__))

    return traced


def _names(f, count) -> list:
    """Names of placeholders: those of the parameters, where there are as many."""
    function = f.forward if isinstance(f, Module) else f
    try:
        found = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        found = []
    return [f"{found[i]}_1" if i < len(found) else f"arg{i}_1" for i in range(count)]
