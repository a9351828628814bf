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


def _targets(doc: str, *kinds, persistent: tuple = (None, True, False)) -> Any:
    """Return a property: the targets of inputs of some kinds."""
    return property(lambda self: tuple([s.target for s in self.input_specs if s.kind in kinds and s.persistent in persistent]),
                    doc=doc)


def _by_argument(doc: str, specs: str, kind) -> Any:
    """Return a property: {name in the graph: target} of inputs or outputs of a kind."""
    return property(lambda self: {s.arg.name: s.target for s in getattr(self, specs) if s.kind is kind}, doc=doc)


def _values(doc: str, specs: str, kind) -> Any:
    """Return a property: names of the tensors among inputs or outputs of a kind, and values of those that are no tensors."""
    return property(lambda self: tuple([s.arg.name if isinstance(s.arg, TensorArgument) else s.arg.value
                                        for s in getattr(self, specs) if s.kind is kind]), doc=doc)


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
        written = zip(known.state, known.inputs[len(model.inputs):], known.outputs[len(model.outputs):])
        buffers = [(replace(_weight(name, model.kinds.get(name)), arg=TensorArgument(now.name)),
                    OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(later.name), name)) for name, now, later in written]
        args = [InputSpec(InputKind.USER_INPUT, x) for x in leaves(known.arguments, known.inputs)]
        results = [OutputSpec(OutputKind.USER_OUTPUT, x) for x in leaves(known.results, known.outputs)]
        taken, given = ([pair[i] for pair in buffers] for i in (0, 1))
        return cls((*weights, *taken, *args), (*given, *results), known.dims, known)

    parameters = _targets("Names of parameters.", InputKind.PARAMETER)
    buffers = _targets("Names of buffers.", InputKind.BUFFER)
    non_persistent_buffers = _targets("Names of buffers that are in no state_dict.", InputKind.BUFFER, persistent=(False,))
    lifted_tensor_constants = _targets("Names of tensors that the function took from elsewhere.", InputKind.CONSTANT_TENSOR)
    user_inputs = _values("Names of tensors in the arguments in order, and values of arguments that are no tensors.",
                          "input_specs", InputKind.USER_INPUT)
    user_outputs = _values("Names of tensors in the results in order, and values of results that are no tensors.",
                           "output_specs", OutputKind.USER_OUTPUT)
    inputs_to_parameters = _by_argument("{graph input: parameter}", "input_specs", InputKind.PARAMETER)
    inputs_to_buffers = _by_argument("{graph input: buffer}", "input_specs", InputKind.BUFFER)
    inputs_to_lifted_tensor_constants = _by_argument("{graph input: tensor from elsewhere}", "input_specs",
                                                     InputKind.CONSTANT_TENSOR)
    buffers_to_mutate = _by_argument("{name of a result of the graph: name of the buffer that gets it}", "output_specs",
                                     OutputKind.BUFFER_MUTATION)

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
    input_kind = {"parameter": InputKind.PARAMETER, None: InputKind.CONSTANT_TENSOR}.get(kind, InputKind.BUFFER)
    persistent = kind == "buffer" if input_kind is InputKind.BUFFER else None
    return InputSpec(input_kind, TensorArgument(name), name, persistent)


def leaves(structure, specs) -> list:
    """Return the tensors and constants of a structure, in order."""
    kind = next(iter(structure))
    if kind == "tensor":
        return [TensorArgument(specs[structure["tensor"]].name)]
    if kind in ("value", "float"):
        return [ConstantArgument("", structure["value"] if kind == "value" else float.fromhex(structure["float"]))]
    parts = [s for _, s in structure["dict"]] if kind == "dict" else structure.get("items", structure.get(kind))
    return [x for part in parts for x in leaves(part, specs)]
