"""`from_onnx`: read an ONNX model as a module that runs on ingot tensors and is traced at its first call."""

from typing import Any

import numpy as np

from ...ir.error_texts.call_errors import explained
from ...ir.errors import ArgumentError, DTypeError, FileError, IngotError, ShapeError
from ...ir.interrupts import raise_interrupt
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.nn.base.module import Module
from ...runtime.nn.base.parameter import Parameter
from ...runtime.serialization.read_budget import ReadBudget
from ..errors.parameters import identifier, unique
from ..exporting.capture.signature import signature_with
from ..tracing.trace import Traced
from .format import proto
from .importers.interpreter import Context, Program, refuse_sparse
from .importers.registry import importer_of, to_tensor
from .importers.run_budget import RunBudget


class Weights(Module):
    """Module of a model's weights, nested along the dots in their names.

    It runs at every call, so a trace of the model sees a replaced weight.
    """

    def __init__(self, prefix=""):
        super().__init__()
        self.prefix = prefix

    def enter(self, name: str, array):
        """Add a weight under the rest of its name."""
        first, dot, rest = name.partition(".")
        if not dot:
            self._parameters[first] = Parameter(wrap(array), requires_grad=False)
            return
        if first not in self._modules:
            self._modules[first] = Weights(f"{self.prefix}{first}.")
        self._modules[first].enter(rest, array)

    def forward(self, into: dict):
        """Put all weights into a dict by their whole names."""
        for name, p in self._parameters.items():
            into[self.prefix + name] = p
        for part in self._modules.values():
            part.forward(into)


class OnnxModel(Weights):
    """An ONNX model as a module.

    Its floating point weights are parameters under their names in the file; requires_grad_() makes them trainable. It is called
    with tensors in the order of `input_names`, or by name, and returns one tensor or a tuple in the order of `output_names`.
    """

    def __init__(self, graph, program: Program, weights: dict, signature: list, file: tuple[str, int]):
        super().__init__()
        self.graph_name = graph.name
        self.input_names, self.output_names = program.inputs, program.outputs
        self._signature, self._program, self._file = signature, program, file
        for name, array in weights.items():
            self.enter(name, array)
        self._traced: Any = None
        self._names = dict(zip(unique([identifier(name) for name in self.input_names]), self.input_names))   # by identifiers
        self.__signature__ = signature_with(self._names)

    @property
    def signature(self) -> list:
        """(name, dtype, sizes) of each input; sizes are numbers, names of dynamic dims, or None."""
        return list(self._signature)

    def forward(self, *inputs, **named):
        """Return the outputs for tensors (or numpy arrays) in the order of `input_names`, or by name."""
        if self._traced is None:
            self._traced = Traced(self.compute)
        return self._traced(*self._arguments(inputs, named))

    def compute(self, *inputs):
        weights: dict = {}
        Weights.forward(self, weights)
        with RunBudget(*self._file, sum(x._a.nbytes for x in inputs)):
            found = [to_tensor(v) for v in self._program.run(inputs, weights)]
        return found[0] if len(found) == 1 else tuple(found)

    def _arguments(self, inputs, named):
        rest = self.input_names[len(inputs):]
        named = {self._names.get(name, name): x for name, x in named.items()}
        if len(inputs) > len(self.input_names) or set(named) != set(rest):
            raise ArgumentError(f"this model takes {', '.join(self.input_names) or 'nothing'}; got {len(inputs)} by position "
                                f"and {', '.join(named) or 'none'} by name")
        given = [*inputs, *[named[n] for n in rest]]
        return [_fitting(x, *row) for x, row in zip(given, self._signature)]

    def __getstate__(self):
        return {**self.__dict__, "_traced": None}

    def extra_repr(self):
        return f"{self.graph_name}: ({', '.join(self.input_names)}) -> ({', '.join(self.output_names)})"


def _fitting(x, name, dtype, sizes) -> Tensor:
    """Return an argument as a tensor; raise if it does not match the model's input."""
    if not isinstance(x, Tensor):
        if not isinstance(x, (np.ndarray, np.generic)):
            raise ArgumentError(f"input {name!r} takes a tensor, got {type(x).__name__}")
        x = wrap(np.asarray(x))
    if dtype is not None and x.dtype is not dtype:
        raise DTypeError(f"input {name!r} takes {dtype.name}, got {x.aval}; cast it with .to()")
    fits = sizes is None or (len(sizes) == x.ndim and all(not isinstance(n, int) or n == m for n, m in zip(sizes, x.shape)))
    if not fits:
        raise ShapeError(f"input {name!r} takes the shape {list(sizes)}, got {x.aval}")
    return x


@explained
def from_onnx(source) -> OnnxModel:
    """Return an ONNX model, given by its path, its bytes or as a ModelProto, as a module that is traced when called.

    Unsupported operators raise here, by name, before anything runs.
    """
    model, folder = proto.read_model(source)
    try:
        return _imported(model, folder)
    except (IngotError, OSError):
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError, MemoryError) as e:
        raise_interrupt(e, _imported, model, folder)
        raise FileError(f"this ONNX model does not hold together: {type(e).__name__}: {e}") from e


def _imported(model, folder) -> OnnxModel:
    graph = model.graph
    refuse_sparse(graph)
    versions = {"" if i.domain == "ai.onnx" else i.domain: i.version for i in model.opset_import}
    arrays = {t.name: proto.array_of(t, folder) for t in graph.initializer}
    file = f"the ONNX model {graph.name!r}", model.ByteSize() + sum(a.nbytes for a in arrays.values())
    context = Context(versions, {(f.domain, f.name): f for f in model.functions}, ReadBudget(*file), folder)
    inputs = [i for i in graph.input if i.name not in arrays]
    signature = [(i.name, proto.tensor_type(i), proto.sizes_of(i)) for i in inputs]
    for o in graph.output:
        proto.tensor_type(o)
    weights = {n: a for n, a in arrays.items() if a.dtype.kind in "fcV" and _is_data(n, graph, versions)}
    constants = {n: a for n, a in arrays.items() if n not in weights}
    program = Program(graph.name, [i.name for i in inputs], [o.name for o in graph.output], graph.node, constants, context,
                      frozenset(weights))
    return OnnxModel(graph, program, weights, signature, file)


def _is_data(name, graph, versions) -> bool:
    """Return whether any operator reads an initializer as data, not as a known number such as a scale of a resize."""
    used = False
    for node in graph.node:
        for position, n in enumerate(node.input):
            if n == name:
                used = True
                importer: Any = importer_of("" if node.domain == "ai.onnx" else node.domain, node.op_type,
                                            versions.get(node.domain, 0))
                if importer is None or position not in importer.host:
                    return True
    return not used
