"""Inputs and outputs of an exported program's graph, under PyTorch's names (`export.graph_signature`)."""

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

__all__ = ["ConstantArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind",
           "OutputSpec", "TensorArgument"]


class InputKind(Enum):
    """Kind of a graph input."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()


class OutputKind(Enum):
    """Kind of a graph output: a result of the function, or the next value of a buffer that it writes."""

    USER_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    USER_INPUT_MUTATION = auto()


@dataclass(frozen=True)
class TensorArgument:
    """A tensor, by its name in the graph."""

    name: str


@dataclass(frozen=True)
class ConstantArgument:
    """An argument that is no tensor, with its value at the export."""

    name: str
    value: Any


@dataclass(frozen=True)
class InputSpec:
    """A graph input: its kind, its name in the graph, and the name of its parameter or buffer."""

    kind: InputKind
    arg: TensorArgument | ConstantArgument
    target: str | None = None
    persistent: bool | None = None


@dataclass(frozen=True)
class OutputSpec:
    """A result."""

    kind: OutputKind
    arg: TensorArgument | ConstantArgument
    target: str | None = None


@dataclass
class ExportBackwardSignature:
    """Gradients of a program with a backward. Programs have none, so only user code makes this."""

    gradients_to_parameters: dict
    gradients_to_user_inputs: dict
    loss_output: str


@dataclass(frozen=True)
class ExportGraphSignature:
    """Inputs of a graph (weights, written buffers, arguments) and outputs (next values of these buffers, results).

    Names are those of modules: "layers.0.weight".
    """

    input_specs: tuple
    output_specs: tuple
    dims: tuple = ()                 # names of sizes that may change
    signature: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, model) -> "ExportGraphSignature":
        known = model.signature
        weights = [_weight(name, model.kinds.get(name)) for name in _taken(model)]
        kept = zip(known.state, known.inputs[len(model.inputs):], known.outputs[len(model.outputs):])
        buffers = [(replace(_weight(name, model.kinds.get(name)), arg=TensorArgument(now.name)),
                    OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(later.name), name)) for name, now, later in kept]
        args = [InputSpec(InputKind.USER_INPUT, x) for x in leaves(known.arguments, known.inputs)]
        results = [OutputSpec(OutputKind.USER_OUTPUT, x) for x in leaves(known.results, known.outputs)]
        taken, given = ([pair[i] for pair in buffers] for i in (0, 1))
        return cls((*weights, *taken, *args), (*given, *results), known.dims, known)

    def _targets(self, *kinds, persistent: tuple = (None, True, False)) -> tuple:
        return tuple([s.target for s in self.input_specs if s.kind in kinds and s.persistent in persistent])

    def _by_input(self, kind) -> dict:
        return {s.arg.name: s.target for s in self.input_specs if s.kind is kind}

    @property
    def parameters(self) -> tuple:
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple:
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple:
        """Names of buffers that are in no state_dict."""
        return self._targets(InputKind.BUFFER, persistent=(False,))

    @property
    def lifted_tensor_constants(self) -> tuple:
        """Names of tensors that the function took from elsewhere."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> tuple:
        """Names of tensors in the arguments in order, and values of arguments that are no tensors."""
        return tuple([_said(s.arg) for s in self.input_specs if s.kind is InputKind.USER_INPUT])

    @property
    def user_outputs(self) -> tuple:
        """Names of tensors in the results in order, and values of results that are no tensors."""
        return tuple([_said(s.arg) for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT])

    @property
    def inputs_to_parameters(self) -> dict:
        return self._by_input(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict:
        return self._by_input(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict:
        return self._by_input(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> dict:
        """{name of a result of the graph: name of the buffer that gets it}"""
        return {s.arg.name: s.target for s in self.output_specs if s.kind is OutputKind.BUFFER_MUTATION}

    @property
    def user_inputs_to_mutate(self) -> dict:
        """Written arguments: none, because such functions are refused."""
        return {}

    @property
    def backward_signature(self) -> None:
        """None, because programs have no gradients."""
        return None

    def __str__(self):
        return str(self.signature)


def _taken(model) -> list:
    """Return the names of the weights that the graph for all sizes reads, in order."""
    names = list(model.weights)
    return [names[i] for i in model.variants[0].weights]


def _weight(name, kind) -> InputSpec:
    found = {"parameter": InputKind.PARAMETER, None: InputKind.CONSTANT_TENSOR}.get(kind, InputKind.BUFFER)
    return InputSpec(found, TensorArgument(name), name, kind == "buffer" if found is InputKind.BUFFER else None)


def leaves(structure, specs) -> list:
    """Return the tensors and constants of a structure, in order."""
    kind = next(iter(structure))
    if kind == "tensor":
        return [TensorArgument(specs[structure["tensor"]].name)]
    if kind in ("value", "float"):
        return [ConstantArgument("", structure["value"] if kind == "value" else float.fromhex(structure["float"]))]
    parts = [s for _, s in structure["dict"]] if kind == "dict" else structure.get("items", structure.get(kind))
    return [x for part in parts for x in leaves(part, specs)]


def _said(arg):
    return arg.name if isinstance(arg, TensorArgument) else arg.value
