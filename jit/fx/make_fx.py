"""`ingot.fx.experimental.proxy_tensor`: make_fx, the graph of a function run on example inputs, in public functions.

The function runs once; sizes and branches are those of the example. Programs that the graph cannot represent raise: values that
Python reads, operators outside public functions (recurrent layers, backward), and changes of grad mode or autocast.
"""

import operator
from collections.abc import Callable
from typing import Any

from ...ir.errors import ArgumentError
from ...runtime.api.register.overrides import TorchFunctionMode
from ...runtime.core.op_observers import OpObserver
from ...runtime.core.tensor import Tensor
from ...runtime.nn import Module
from ...runtime.state.mode import tls
from ..errors.parameters import positional_names, signature_of
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate
from .proxy import TraceError, TracerBase, users_line

__all__ = ["get_proxy_mode", "make_fx"]


class _Tracer(TracerBase):
    """A tracer that maps tensors to nodes."""

    def __init__(self):
        self.root, self.graph = Module(), Graph()
        self.nodes: dict[int, Node] = {}        # id of a tensor -> its node
        self.alive: list[Tensor] = []            # keeps tensors alive, so that ids stay unique
        self.storages: set[int] = set()
        self.switches = _switches()

    def know(self, value, node: Node):
        """Map the tensors of a value to a node and items of it."""
        if isinstance(value, Tensor):
            self.nodes[id(value)] = node
            self.storages.add(id(value._storage))
            self.alive.append(value)
        elif isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                if has_tensors(part):
                    self.know(part, self.create_node("call_function", operator.getitem, (node, i), {}))
        elif isinstance(value, dict):
            for key, part in value.items():
                if has_tensors(part):
                    self.know(part, self.create_node("call_function", operator.getitem, (node, key), {}))

    def create_arg(self, a: Any) -> Any:
        """Return an argument with nodes; tensors that existed before become attributes of the root."""
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
    """Record a node for every public function."""

    def __init__(self, tracer, operators):
        self.tracer, self.operators = tracer, operators

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, tracer = kwargs or {}, self.tracer
        if _switches() != tracer.switches:
            raise TraceError(f"{users_line()}: gradients or autocast are switched inside of the function, which a graph does "
                             f"not say: switch them around it")
        kind, target, before = _target(func, args)
        taken = tracer.create_arg(tuple(args) if before is None else (args[0], before)), tracer.create_arg(dict(kwargs))
        with self.operators.inside() as seen:
            result = func(*args, **kwargs)
        if has_tensors(result) or (result is None and has_tensors(args)):
            tracer.know(result, tracer.create_node(kind, target, *taken))
        elif seen.reads:
            raise _reads(target)
        return result


def _target(func, args) -> tuple:
    """Return (kind of node, target, name of an attribute that is read or None)."""
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


class _OperatorObserver(OpObserver):
    """An observer of operators and read values, which raises outside public functions."""

    def __init__(self):
        super().__init__()
        self.depth, self.reads = 0, False

    def inside(self):
        """Return a context for the run of a public function."""
        return self

    def __enter__(self):
        self.depth, self.reads = self.depth + 1, False
        return self

    def __exit__(self, *error):
        self.depth -= 1

    def observe(self, op, args, params):
        if not self.depth:
            raise TraceError(f"{users_line()}: make_fx meets the operator {op.name} outside of a public function, as recurrent "
                             f"layers have them; trace the module with fx.symbolic_trace, which keeps layers whole")
        return super().observe(op, args, params)

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
    """Return a function of example inputs that returns the GraphModule of `f` for such inputs. Nodes call ingot's public
    functions, one for each call of the program. Captured tensors are attributes. `pre_dispatch` is ignored: nodes are always
    what the program calls. `record_module_stack` is ignored: nodes have no paths of modules."""
    if tracing_mode not in ("real", "fake"):
        raise ArgumentError(f"make_fx runs the function with values (tracing_mode='real'), so sizes are numbers; got "
                            f"{tracing_mode!r}. jit.trace takes sizes that change")
    if decomposition_table:
        raise ArgumentError("make_fx makes nodes of public functions as they are called: leave out decomposition_table")

    def traced(*args) -> GraphModule:
        tracer = _Tracer()
        for name, value in zip(_names(f, len(args)), args):
            tracer.know(value, tracer.graph.create_node("placeholder", name, (), {}))
        operators = _OperatorObserver()
        mode = _Functions(tracer, operators)
        operators.open()
        try:
            with mode:
                result = f(*args)
        finally:
            operators.close()
        tracer.create_node("output", "output", (map_aggregate(result, tracer.create_arg),), {})
        return GraphModule(tracer.root, tracer.graph, getattr(f, "__name__", type(f).__name__))

    return traced


def _names(f, count) -> list:
    """Return names of placeholders: those of the parameters."""
    return [f"{name}_1" for name in positional_names(signature_of(f), count)]
