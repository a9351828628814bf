"""`jit._get_trace_graph`: the calls of one run as a TorchScript graph, for libraries that count operations.

fvcore and others walk through such a graph by module and read shapes and constants. Nodes are the public functions that the run
calls, under the names and with the arguments of PyTorch's operators (`aten::linear`). Operators that no public function calls
(those of recurrent layers) and lists of arguments are nodes too.
"""

import inspect
from functools import cache
from typing import Any

from ..runtime.api.register.overrides import TorchFunctionMode, redispatch_function
from ..runtime.core.op_observers import OpObserver
from ..runtime.core.tensor import Tensor
from . import c_module

__all__ = ["CallGraph", "CallNode", "CallValue", "_get_trace_graph"]

_ENTERED = frozenset({"multi_head_attention_forward"})      # Python functions in PyTorch: their inner calls are the nodes


class _Kind:
    """The type of a value: a tensor type with sizes, or the name of a class."""

    def __init__(self, value):
        self._name = "Tensor" if isinstance(value, Tensor) else type(value).__name__
        if isinstance(value, Tensor):
            self._sizes, self._dtype, self._device = list(value.shape), value.dtype, value.device

    def sizes(self) -> list | None:
        return getattr(self, "_sizes", None)

    def dim(self) -> int | None:
        return None if self.sizes() is None else len(self._sizes)

    def dtype(self):
        return getattr(self, "_dtype", None)

    def device(self):
        return getattr(self, "_device", None)

    def kind(self) -> str:
        return f"{self._name}Type"

    def __str__(self):
        return self._name


class CallValue:
    """An argument or result of a node. Tensors keep only their type, constants their value."""

    def __init__(self, node: "CallNode", value: Any, number: int):
        self._node, self._kind, self._number = node, _Kind(value), number
        self._constant = None if isinstance(value, Tensor) or node.kind() != "prim::Constant" else value

    def node(self) -> "CallNode":
        return self._node

    def type(self) -> _Kind:
        return self._kind

    def isCompleteTensor(self) -> bool:
        """Return whether the value is a tensor."""
        return self._kind.sizes() is not None

    def toIValue(self) -> Any:
        """Return the value of a constant, or None."""
        return self._constant

    def debugName(self) -> str:
        return str(self._number)

    def __repr__(self):
        return f"%{self._number} : {self._kind}{self._kind.sizes() or ''}"


class CallNode:
    """One call: operator, module scope, arguments and results."""

    def __init__(self, kind: str, scope: str, inputs: list):
        self._name, self._scope, self._inputs, self._outputs = kind, scope, inputs, []

    def kind(self) -> str:
        return self._name

    def scopeName(self) -> str:
        """Return the open scopes, outermost first, joined by slashes."""
        return self._scope

    def inputs(self) -> list:
        return list(self._inputs)

    def outputs(self) -> list:
        return list(self._outputs)

    def inputsSize(self) -> int:
        return len(self._inputs)

    def outputsSize(self) -> int:
        return len(self._outputs)

    def __repr__(self):
        return f"{', '.join(map(repr, self._outputs))} = {self._name}({', '.join(f'%{v.debugName()}' for v in self._inputs)})"


class CallGraph:
    """The calls of a run, in order. Hooks get it from `_C._get_tracing_state()` and open and close scopes."""

    def __init__(self):
        self._nodes, self._scopes, self._parameters = [], [], CallNode("prim::Param", "", [])
        self._known: dict[int, tuple] = {}      # id of a tensor -> (the tensor, kept alive; its value)
        self._results: list = []
        self._count = 0

    def push_scope(self, name: str):
        self._scopes.append(name)

    def pop_scope(self):
        """Close the innermost scope."""
        self._scopes.pop()

    def nodes(self) -> list:
        return list(self._nodes)

    def inputs(self) -> list:
        """Return the tensors that existed before: arguments, parameters, buffers."""
        return self._parameters.outputs()

    def outputs(self) -> list:
        return list(self._results)

    def __str__(self):
        return "\n".join([f"graph({', '.join(map(repr, self.inputs()))}):", *[f"  {node!r}" for node in self._nodes],
                          f"  return ({', '.join(f'%{v.debugName()}' for v in self._results)})"])

    def _add_result(self, node, value) -> CallValue:
        found = CallValue(node, value, self._count)
        self._count += 1
        node._outputs.append(found)
        if isinstance(value, Tensor):
            self._known[id(value)] = value, found
        return found

    def _add(self, kind, inputs) -> CallNode:
        node = CallNode(kind, "/".join(self._scopes), inputs)
        self._nodes.append(node)
        return node

    def _value(self, argument) -> CallValue:
        """Return the value of an argument, with nodes for lists and constants."""
        if isinstance(argument, Tensor):
            known = self._known.get(id(argument))
            return self._add_result(self._parameters, argument) if known is None else known[1]
        if isinstance(argument, (tuple, list)):
            return self._add_result(self._add("prim::ListConstruct", [self._value(part) for part in argument]), list(argument))
        return self._add_result(self._add("prim::Constant", []), argument)

    def add_call(self, kind, arguments, result):
        """Append a call with the tensors that it returned."""
        node = self._add(kind, [self._value(a) for a in arguments])
        for t in _tensors_in(result):
            self._add_result(node, t)


def _tensors_in(value) -> list:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in _tensors_in(part)]
    return [value] if isinstance(value, Tensor) else []


class _Functions(TorchFunctionMode):
    """Record public functions that return tensors."""

    def __init__(self, graph, operators):
        self.graph, self.operators = graph, operators

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in _ENTERED:
            with self:
                return redispatch_function(func, types, args, kwargs)
        with self.operators:
            result = func(*args, **kwargs)
        if _tensors_in(result):
            self.graph.add_call(*operator_of(func, args, kwargs), result)
        return result


class _Operators(OpObserver):
    """Record operators that no public function called."""

    def __init__(self, graph):
        super().__init__()
        self.graph, self.depth = graph, 0

    def __enter__(self):
        self.depth += 1

    def __exit__(self, *error):
        self.depth -= 1

    def observe(self, op, args, params):
        out = super().observe(op, args, params)
        if not self.depth:
            self.graph.add_call(f"aten::{op.name}", (*args, *params.values()), out)
        return out


def _get_trace_graph(f, args=(), kwargs=None, strict=True, _force_outplace=False, return_inputs=False,
                     _return_inputs_states=False):
    """Return (call graph of `f(*args, **kwargs)`, its result), and the arguments with `return_inputs`."""
    args = args if isinstance(args, tuple) else (args,)
    graph = CallGraph()
    for t in _tensors_in((args, kwargs)):
        graph._value(t)
    operators = _Operators(graph)
    operators.open()
    try:
        with c_module.recording(graph), _Functions(graph, operators):
            result = f(*args, **(kwargs or {}))
    finally:
        operators.close()
    graph._results = [graph._value(t) for t in _tensors_in(result)]
    if return_inputs or _return_inputs_states:
        return graph, result, args
    return graph, result


_NO_ARGUMENTS = frozenset({"inplace", "older", "out", "out_dtype", "_stacklevel"})
_NAMES = {"H": "matrix_H", "T": "numpy_T", "data": "detach", "getitem": "slice", "cross_entropy": "cross_entropy_loss",
          "grid_sample": "grid_sampler"}
# Operators whose arguments differ from those of the function: names of parameters, or constants.
_ORDERS: dict[str, tuple] = {
    "batch_norm": ("input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps", True),
    "embedding": ("weight", "input", "padding_idx", "scale_grad_by_freq", "sparse"),
    "group_norm": ("input", "num_groups", "weight", "bias", "eps", True),
    "instance_norm": ("input", "weight", "bias", "running_mean", "running_var", "use_input_stats", "momentum", "eps", True),
    "interpolate": ("input", "size", "align_corners", "scale_factor"),
    "layer_norm": ("input", "normalized_shape", "weight", "bias", "eps", True),
}


@cache
def _signature(func):
    return inspect.signature(func)


def operator_of(func, args, kwargs) -> tuple:
    """Return (`aten::name`, arguments in the operator's order) of a call of a public function."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):
        name = next(name for name, value in vars(Tensor).items() if value is owner)
        return f"aten::{_NAMES.get(name, name)}", args[:1]
    name = func.__name__.strip("_") if func.__name__.startswith("__") else func.__name__
    bound = _signature(func).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    if name.startswith("conv") and "groups" in given:
        return _convolution(given, transposed="transpose" in name)
    order = _ORDERS.get(name) or [key for key in given if key not in _NO_ARGUMENTS]
    taken = [given.get(key) if isinstance(key, str) else key for key in order]
    if name == "interpolate":
        return f"aten::{_upsampling(given)}", taken
    if name == "getitem" and _is_advanced(given["key"]):
        return "aten::index", taken
    return f"aten::{_NAMES.get(name, name)}{'_' if given.get('inplace') else ''}", taken


def _convolution(arguments, transposed) -> tuple:
    n = arguments["weight"].ndim - 2

    def sizes(key):
        value = arguments.get(key, 0)
        return list(value) if isinstance(value, (tuple, list)) else [value] * n

    taken = [arguments["input"], arguments["weight"], arguments["bias"]]
    if isinstance(arguments["padding"], str):
        how = sizes("stride"), arguments["padding"], sizes("dilation"), arguments["groups"]
        return "aten::_convolution_mode", [*taken, *how]
    taken += [sizes("stride"), sizes("padding"), sizes("dilation"), transposed, sizes("output_padding"), arguments["groups"]]
    return "aten::_convolution", [*taken, False, False, True, True]


def _upsampling(arguments) -> str:
    mode, n = arguments["mode"], arguments["input"].ndim - 2
    if mode == "area":
        return f"adaptive_avg_pool{n}d"
    if mode.startswith("nearest"):
        return f"_upsample_nearest_exact{n}d" if mode == "nearest-exact" else f"upsample_nearest{n}d"
    return f"upsample_{mode}{n}d"


def _is_advanced(key) -> bool:
    """Return whether an index holds tensors or lists."""
    return any(isinstance(part, (Tensor, list)) for part in (key if isinstance(key, tuple) else (key,)))
