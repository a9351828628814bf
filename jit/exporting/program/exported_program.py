"""Return the callable program, which takes the arguments of the exported module and does not need its code."""

import os
import shutil
import tempfile
from types import SimpleNamespace
from typing import Any

from ....ir.draw.tables import html_text, shortened
from ....ir.error_texts.call_errors import explained
from ....ir.errors import ArgumentError, DTypeError
from ....passes.simplify.decompose import decompose
from ....runtime.pytree.pytree import register_dataclass
from ..capture.signature import HoldsWeights
from ..file import archive, loader, writer
from . import decompositions, fx_graph
from . import draft_export as program_draft
from .decompositions import CustomDecompTable, default_decompositions
from .dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims, named
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .unflatten import (
    FlatArgsAdapter,
    ModuleCallEntry,
    ModuleCallSignature,
    UnflattenedModule,
    call_spec,
    module_calls,
    unflatten,
)

__all__ = ["AdditionalInputs", "CustomDecompTable", "Dim", "ExportBackwardSignature", "ExportGraphSignature",
           "ExportedProgram", "FlatArgsAdapter", "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection",
           "UnflattenedModule", "default_decompositions", "dims", "draft_export", "export", "load", "register_dataclass",
           "save", "unflatten"]


class ExportedProgram(HoldsWeights):
    """An exported program. `module()` runs it and writes to the module's buffers; weights have the module's names."""

    _report: Any = None         # of a draft

    def __init__(self, model, example_inputs=None, decomposed=None):
        self._model, self.example_inputs, self._decomposed = model, example_inputs, decomposed
        self.__signature__ = vars(model).get("__signature__")

    def module(self):
        """Return the callable program, which takes the arguments of the exported module and does not need its code."""
        return self._model

    @property
    def graph(self):
        graph = self._model.graph
        return graph if self._decomposed is None else decompose(graph, keep=decompositions.whole_composites(self._decomposed))

    @property
    def graph_module(self):
        """The recorded graph, before any pass, as a `fx.GraphModule`: a function of the tensors of `graph_signature`, in order.

        Nodes call operators. `meta["nn_module_stack"]` has their enclosing module calls, and `meta["val"]` their results as
        meta tensors.
        """
        return fx_graph.graph_module(self._model)

    @property
    def module_call_graph(self) -> list:
        """The modules that were called, each once, in order, the whole program first."""
        return module_calls(self._model)

    @property
    def call_spec(self):
        """The structures of arguments and results, as treespecs: `in_spec` and `out_spec`."""
        return SimpleNamespace(**dict(zip(("in_spec", "out_spec"), call_spec(self._model.signature))))

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """Inputs and outputs of the graph: parameters, buffers, arguments, results."""
        return ExportGraphSignature.of(self._model)

    def run_decompositions(self, decomp_table: Any = None) -> "ExportedProgram":
        """Return the same program with the remaining composite operators (such as batch_norm) decomposed in its graph.

        Its file holds the composites, which compute the same. A table of `default_decompositions()` selects the operators to
        decompose: those taken out of it stay. Other bodies are refused: an operator has one meaning.
        """
        table = decompositions.default_decompositions() if decomp_table is None else decompositions.checked(decomp_table)
        return ExportedProgram(self._model, self.example_inputs, table)

    # Weights.

    def _named(self, *kinds) -> dict:
        return {name: t for name, t in self._model.weights.items() if self._model.kinds.get(name) in kinds}

    @property
    def state_dict(self) -> dict:
        """The parameters and buffers of the module by name, without non-persistent buffers."""
        return self._named("parameter", "buffer")

    @property
    def constants(self) -> dict:
        """All other tensors that the program reads, by name."""
        return self._named("passing buffer", None)

    def named_parameters(self):
        yield from self._named("parameter").items()

    def parameters(self):
        yield from self._named("parameter").values()

    def named_buffers(self):
        yield from self._named("buffer", "passing buffer").items()

    def buffers(self):
        yield from self._named("buffer", "passing buffer").values()

    def named_weights(self) -> tuple:
        return self._model.named_weights()

    def __call__(self, *args, **kwargs):
        return self._model(*args, **kwargs)

    def __repr__(self):
        return shortened(str(self), "print(program)")

    def _repr_html_(self) -> str:
        return html_text(str(self), "print(program)")

    def __str__(self):
        return f"ExportedProgram {self._model.signature}\n{self.graph}"


@explained
def export(mod, args, kwargs=None, *, dynamic_shapes=None, strict: bool = False, preserve_module_call_signature=(),
           **others) -> ExportedProgram:
    """Return the program that a module (or function) runs for these arguments.

    `dynamic_shapes` declares dynamic sizes, for each argument by its name or position. A tensor has {dim: size}, or a list with
    an entry for each dim; containers have containers. A size is a `Dim`, a size derived from one (2 * dim + 1), `Dim.AUTO`,
    `Dim.DYNAMIC`, or, if it is fixed, None, a number or `Dim.STATIC`. `ShapesCollection` and `AdditionalInputs` declare the
    same.

    `preserve_module_call_signature` are paths of modules whose arguments and results are recorded, so that `unflatten` rebuilds
    modules with these signatures. `strict` is ignored: actions that cannot be exported are refused either way. See
    `jit.export` for the rules.
    """
    example, sizes = _parse_arguments(mod, args, kwargs, dynamic_shapes, others)
    return ExportedProgram(sizes.tried(_writing(mod, example, preserve_module_call_signature)), (args, dict(kwargs or {})))


def draft_export(mod, args, kwargs=None, *, dynamic_shapes=None, preserve_module_call_signature=(), strict: bool = False,
                 **others) -> ExportedProgram:
    """Export a function that may not be exportable yet; `program._report` lists all obstacles.

    Sizes that the code fixes are fixed. Other obstacles leave no program, and calling it raises the report. `strict` is
    ignored: obstacles are the same either way.
    """
    example, sizes = _parse_arguments(mod, args, kwargs, dynamic_shapes, others)
    write = _writing(mod, example, preserve_module_call_signature)
    model, report = program_draft.drafted(write, mod, example, sizes.by_tensor)
    made = ExportedProgram(program_draft.NoModel(report) if model is None else model, (args, dict(kwargs or {})))
    made._report = report
    return made


def _writing(mod, example, signature_paths):
    return lambda dynamic: writer.in_own_folder(lambda path: writer.written(
        mod, example, path, dynamic, freeze=False, stateful=True, signatures_of=tuple(signature_paths)))


def _parse_arguments(mod, args, kwargs, dynamic_shapes, others) -> tuple:
    """Return (the arguments as an example, their dynamic sizes)."""
    if not isinstance(args, tuple):
        raise DTypeError(f"export takes the arguments as a tuple, got {type(args).__name__}")
    unknown = set(others) - {"prefer_deferred_runtime_asserts_over_guards"}
    if unknown or any(others.values()):
        raise ArgumentError(f"export does not take {', '.join(sorted(unknown or others))}")
    if not callable(mod):
        raise ArgumentError(f"export takes a module or a function, got {type(mod).__name__}")
    return named(dynamic_shapes, mod, args, kwargs or {})


def save(ep: ExportedProgram, f) -> None:
    """Write a program to a path or an open file, with the current values of its buffers."""
    if not isinstance(ep, ExportedProgram):
        raise DTypeError(f"save takes an ExportedProgram, got {type(ep).__name__}; export the module first")
    if not hasattr(f, "write"):
        writer.write_again(ep.module(), archive.new_path_of(f))
        return
    with tempfile.TemporaryDirectory(prefix="ingot-program-") as folder:
        path = os.path.join(folder, "program.ingot")
        writer.write_again(ep.module(), path)
        with open(path, "rb") as file:
            shutil.copyfileobj(file, f)


def load(f) -> ExportedProgram:
    """Return the program in a file (a path, or an open file) that `save` or `jit.export` wrote."""
    if not hasattr(f, "read"):
        return ExportedProgram(loader.load(f))

    def from_copy(path):
        with open(path, "wb") as file:
            shutil.copyfileobj(f, file)
        return loader.load(path)

    return ExportedProgram(writer.in_own_folder(from_copy))
