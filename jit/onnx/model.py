"""`from_onnx`: an ONNX model as a module that runs on ingot tensors and is traced at its first call."""

from typing import Any

import numpy as np

from ...ir.errors import ArgumentError, DTypeError, FileError, IngotError, ShapeError
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.nn.base.module import Module
from ...runtime.nn.base.parameter import Parameter
from ..tracing.trace import Traced
from .format import proto
from .importers.interpreter import Context, Program, refuse_sparse
from .importers.registry import importer_of, to_tensor


class Weights(Module):
    """A part of a model's weights, as deep in the tree as their names have dots. It runs at every call, so that a trace of the
    model sees when one of them is replaced."""

    def __init__(self, prefix=""):
        super().__init__()
        self.prefix = prefix

    def enter(self, name: str, array):
        """Takes in a weight under its name from here on."""
        first, dot, rest = name.partition(".")
        if not dot:
            self._parameters[first] = Parameter(wrap(array), requires_grad=False)
            return
        if first not in self._modules:
            self._modules[first] = Weights(f"{self.prefix}{first}.")
        self._modules[first].enter(rest, array)

    def forward(self, into: dict):
        """Puts all weights into a dict by their whole names."""
        for name, p in self._parameters.items():
            into[self.prefix + name] = p
        for part in self._modules.values():
            part.forward(into)


class OnnxModel(Weights):
    """An ONNX model as a module.

    Its floating point weights are parameters under the names they have in the file (they do not require grad until asked to
    with requires_grad_()). It is called with tensors in the order of `input_names`, or by name, and gives one tensor or a
    tuple in the order of `output_names`.
    """

    def __init__(self, graph, program: Program, weights: dict, signature: list):
        super().__init__()
        self.graph_name = graph.name
        self.input_names, self.output_names = program.inputs, program.outputs
        self._signature, self._program = signature, program
        for name, array in weights.items():
            self.enter(name, array)
        self._traced: Any = None

    @property
    def signature(self) -> list:
        """(name, dtype, sizes) of each input; sizes are numbers, or names where they are free, or None."""
        return list(self._signature)

    def forward(self, *inputs, **named):
        """The outputs for tensors (or numpy arrays) in the order of `input_names`, or by name."""
        if self._traced is None:
            self._traced = Traced(self.compute)
        return self._traced(*self._arguments(inputs, named))

    def compute(self, *inputs):
        """As calling the model, without tracing."""
        weights: dict = {}
        Weights.forward(self, weights)
        found = [to_tensor(v) for v in self._program.run(inputs, weights)]
        return found[0] if len(found) == 1 else tuple(found)

    def _arguments(self, inputs, named):
        rest = self.input_names[len(inputs):]
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
    """An argument as a tensor, if it is what the model says it takes."""
    if not isinstance(x, Tensor):
        if not isinstance(x, (np.ndarray, np.generic)):
            raise ArgumentError(f"input {name!r} takes a tensor, got {type(x).__name__}")
        x = wrap(np.asarray(x))
    if dtype is not None and x.dtype is not dtype:
        raise DTypeError(f"input {name!r} takes {dtype}, got {x.aval}; cast it with .to()")
    fits = sizes is None or (len(sizes) == x.ndim and all(not isinstance(n, int) or n == m for n, m in zip(sizes, x.shape)))
    if not fits:
        raise ShapeError(f"input {name!r} takes the shape {sizes}, got {x.aval}")
    return x


def from_onnx(source) -> OnnxModel:
    """An ONNX model, given by its path, its bytes or as a ModelProto, as a module that is traced when it is called.

    Operators that are not supported are named here, before anything runs.
    """
    model, folder = proto.read_model(source)
    try:
        return _imported(model, folder)
    except (IngotError, OSError):
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError, MemoryError) as e:
        raise FileError(f"this ONNX model does not hold together: {type(e).__name__}: {e}") from e


def _imported(model, folder) -> OnnxModel:
    graph = model.graph
    refuse_sparse(graph)
    versions = {"" if i.domain == "ai.onnx" else i.domain: i.version for i in model.opset_import}
    context = Context(versions, {(f.domain, f.name): f for f in model.functions}, folder)
    arrays = {t.name: proto.array_of(t, folder) for t in graph.initializer}
    inputs = [i for i in graph.input if i.name not in arrays]
    signature = [(i.name, proto.tensor_type(i), proto.sizes_of(i)) for i in inputs]
    for o in graph.output:
        proto.tensor_type(o)
    weights = {n: a for n, a in arrays.items() if a.dtype.kind in "fcV" and _is_data(n, graph, versions)}
    constants = {n: a for n, a in arrays.items() if n not in weights}
    program = Program(graph.name, [i.name for i in inputs], [o.name for o in graph.output], graph.node, constants, context,
                      frozenset(weights))
    return OnnxModel(graph, program, weights, signature)


def _is_data(name, graph, versions) -> bool:
    """Whether an initializer is read as data anywhere; else it is a known number (a scale of a resize, say)."""
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
