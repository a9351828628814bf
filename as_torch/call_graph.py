"""`jit._get_trace_graph`: the calls of a run as PyTorch's older compiler lists them, for who counts what a model computes.

fvcore and its like walk through such a list, by module, and take shapes and constants from it. Nodes are the public functions
that a run with example inputs calls, under the names of PyTorch's operators (`aten::linear`), with the arguments of these
(`aten_signatures.py`); so are ingot's operators that are behind no public function (of recurrent layers), and lists of
arguments.
"""

from typing import Any

from ..runtime.api.register.overrides import TorchFunctionMode, redispatch_function
from ..runtime.core.op_observers import AtDoor
from ..runtime.core.tensor import Tensor
from . import c_module
from .aten_signatures import operator_of

__all__ = ["CallGraph", "CallNode", "CallValue", "_get_trace_graph"]

_ENTERED = frozenset({"multi_head_attention_forward"})      # functions that PyTorch writes in Python: what they call is listed


class _Kind:
    """What a value is: a tensor with its sizes, or another thing by its class."""

    def __init__(self, value):
        self._name = "Tensor" if isinstance(value, Tensor) else type(value).__name__
        if isinstance(value, Tensor):
            self._sizes, self._dtype, self._device = list(value.shape), value.dtype, value.device

    def sizes(self) -> list | None:
        """The sizes of a tensor; None for other things."""
        return getattr(self, "_sizes", None)

    def dim(self) -> int | None:
        """The number of a tensor's dims."""
        return None if self.sizes() is None else len(self._sizes)

    def dtype(self):
        """The dtype of a tensor."""
        return getattr(self, "_dtype", None)

    def device(self):
        """Where a tensor is."""
        return getattr(self, "_device", None)

    def kind(self) -> str:
        """The name of the class."""
        return f"{self._name}Type"

    def __str__(self):
        return self._name


class CallValue:
    """What a call takes or gives. Of tensors it knows what they are like, of other things all."""

    def __init__(self, node: "CallNode", value: Any, number: int):
        self._node, self._kind, self._number = node, _Kind(value), number
        self._constant = None if isinstance(value, Tensor) or node.kind() != "prim::Constant" else value

    def node(self) -> "CallNode":
        """The call that gave it."""
        return self._node

    def type(self) -> _Kind:
        """What it is."""
        return self._kind

    def isCompleteTensor(self) -> bool:
        """Whether it is a tensor, whose sizes are known."""
        return self._kind.sizes() is not None

    def toIValue(self) -> Any:
        """The value of a constant; None for other things."""
        return self._constant

    def debugName(self) -> str:
        """Its number, as a name."""
        return str(self._number)

    def __repr__(self):
        return f"%{self._number} : {self._kind}{self._kind.sizes() or ''}"


class CallNode:
    """A call: of what, in which modules, with what."""

    def __init__(self, kind: str, scope: str, inputs: list):
        self._name, self._scope, self._inputs, self._outputs = kind, scope, inputs, []

    def kind(self) -> str:
        """The operator (`aten::linear`)."""
        return self._name

    def scopeName(self) -> str:
        """The scopes that were open, from the outermost one, with slashes between."""
        return self._scope

    def inputs(self) -> list:
        """What it takes, in the order of the operator's arguments."""
        return list(self._inputs)

    def outputs(self) -> list:
        """What it gives."""
        return list(self._outputs)

    def inputsSize(self) -> int:
        """How many values it takes."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """How many values it gives."""
        return len(self._outputs)

    def __repr__(self):
        return f"{', '.join(map(repr, self._outputs))} = {self._name}({', '.join(f'%{v.debugName()}' for v in self._inputs)})"


class CallGraph:
    """The calls of a run, in order. `_C._get_tracing_state()` gives it meanwhile, so hooks can open and close scopes."""

    def __init__(self):
        self._nodes, self._scopes, self._given = [], [], CallNode("prim::Param", "", [])
        self._known: dict[int, tuple] = {}      # by the id of a tensor: the tensor, which stays alive, and its value
        self._results: list = []
        self._count = 0

    def push_scope(self, name: str):
        """What is called from now on belongs to a part of this name."""
        self._scopes.append(name)

    def pop_scope(self):
        """The part that was named last is over."""
        self._scopes.pop()

    def nodes(self) -> list:
        """The calls."""
        return list(self._nodes)

    def inputs(self) -> list:
        """Tensors that were there before: arguments, parameters, buffers."""
        return self._given.outputs()

    def outputs(self) -> list:
        """What the run returned."""
        return list(self._results)

    def __str__(self):
        return "\n".join([f"graph({', '.join(map(repr, self.inputs()))}):", *[f"  {node!r}" for node in self._nodes],
                          f"  return ({', '.join(f'%{v.debugName()}' for v in self._results)})"])

    def _gives(self, node, value) -> CallValue:
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
        """The value that stands for an argument."""
        if isinstance(argument, Tensor):
            known = self._known.get(id(argument))
            return self._gives(self._given, argument) if known is None else known[1]
        if isinstance(argument, (tuple, list)):
            return self._gives(self._add("prim::ListConstruct", [self._value(part) for part in argument]), list(argument))
        return self._gives(self._add("prim::Constant", []), argument)

    def called(self, kind, arguments, result):
        """Notes a call and the tensors that it gave."""
        node = self._add(kind, [self._value(a) for a in arguments])
        for t in _tensors_in(result):
            self._gives(node, t)


def _tensors_in(value) -> list:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in _tensors_in(part)]
    return [value] if isinstance(value, Tensor) else []


class _Functions(TorchFunctionMode):
    """Notes public functions that give tensors."""

    def __init__(self, graph, door):
        self.graph, self.door = graph, door

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in _ENTERED:
            with self:
                return redispatch_function(func, types, args, kwargs)
        with self.door:
            result = func(*args, **kwargs)
        if _tensors_in(result):
            self.graph.called(*operator_of(func, args, kwargs), result)
        return result


class _Door(AtDoor):
    """Notes operators that are behind no public function."""

    def __init__(self, graph):
        super().__init__()
        self.graph, self.depth = graph, 0

    def __enter__(self):
        self.depth += 1

    def __exit__(self, *error):
        self.depth -= 1

    def heard(self, op, args, params):
        out = super().heard(op, args, params)
        if not self.depth:
            self.graph.called(f"aten::{op.name}", (*args, *params.values()), out)
        return out


def _get_trace_graph(f, args=(), kwargs=None, strict=True, _force_outplace=False, return_inputs=False,
                     _return_inputs_states=False):
    """(the calls of `f(*args, **kwargs)`, what it returned), and the arguments if they are asked for."""
    args = args if isinstance(args, tuple) else (args,)
    graph = CallGraph()
    for t in _tensors_in((args, kwargs)):
        graph._value(t)
    door = _Door(graph)
    door.open()
    try:
        with c_module.listing(graph), _Functions(graph, door):
            result = f(*args, **(kwargs or {}))
    finally:
        door.close()
    graph._results = [graph._value(t) for t in _tensors_in(result)]
    if return_inputs or _return_inputs_states:
        return graph, result, args
    return graph, result
