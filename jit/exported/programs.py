"""`ingot.export`: exporting under the names of PyTorch's module. A program is an `.ingot` file, written by `jit.export`.

    program = export.export(model.eval(), (x,), dynamic_shapes={"x": {0: export.Dim("batch")}})
    export.save(program, "model.ingot");  y = export.load("model.ingot").module()(x)
"""

import os
import shutil
import tempfile
from typing import Any

from ...ir.errors import ArgumentError, DTypeError
from ...passes.decompose import decompose
from ...runtime.pytree import register_dataclass
from . import archive, loaded, writer
from .program_dims import AdditionalInputs, Dim, ShapesCollection, dims, named
from .program_signature import ExportGraphSignature

__all__ = ["AdditionalInputs", "Dim", "ExportGraphSignature", "ExportedProgram", "ShapesCollection", "dims", "export", "load",
           "register_dataclass", "save"]


class ExportedProgram:
    """What `export` has made: `module()` runs it, and writes to the buffers that the module wrote. Its weights have the names
    that the module gave them."""

    def __init__(self, model, example_inputs=None, decomposed: bool = False):
        self._model, self.example_inputs, self._decomposed = model, example_inputs, decomposed

    def module(self):
        """What runs the program: called like the module that was exported, without its code."""
        return self._model

    @property
    def graph(self):
        """The graph, as IR."""
        return decompose(self._model.graph) if self._decomposed else self._model.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What goes into the graph and what comes out: parameters, buffers, arguments, results."""
        return ExportGraphSignature.of(self._model)

    def run_decompositions(self, decomp_table: Any = None) -> "ExportedProgram":
        """The same program, whose graph has composite operators that are left (such as batch_norm) as what they are made of.
        A file of it holds the composites, which compute the same. Tables of the caller's are refused: an operator has one
        meaning."""
        if decomp_table:
            raise ArgumentError("run_decompositions takes no table: an operator is made of what its record says; write another "
                                "computation as code and export that")
        return ExportedProgram(self._model, self.example_inputs, True)

    # Weights.

    def _named(self, *kinds) -> dict:
        return {name: t for name, t in self._model.weights.items() if self._model.kinds.get(name) in kinds}

    @property
    def state_dict(self) -> dict:
        """The parameters and buffers that the program reads, by name; without buffers that are in no state_dict."""
        return self._named("parameter", "buffer")

    @property
    def constants(self) -> dict:
        """All other tensors that it reads, by name."""
        return self._named("passing buffer", None)

    def named_parameters(self):
        """(name, parameter) of each."""
        yield from self._named("parameter").items()

    def parameters(self):
        """The parameters."""
        yield from self._named("parameter").values()

    def named_buffers(self):
        """(name, buffer) of each."""
        yield from self._named("buffer", "passing buffer").items()

    def buffers(self):
        """The buffers."""
        yield from self._named("buffer", "passing buffer").values()

    def __call__(self, *args, **kwargs):
        return self._model(*args, **kwargs)

    def __str__(self):
        return f"ExportedProgram {self._model.signature}\n{self.graph}"


def export(mod, args, kwargs=None, *, dynamic_shapes=None, strict: bool = False, **others) -> ExportedProgram:
    """The program that a module (or function) runs for these arguments.

    `dynamic_shapes` says which sizes may change, for each argument by its name or place. A tensor has {dim: size}, or a list
    with an entry for each dim; containers have containers. A size is a `Dim`, what follows from one (2 * dim + 1), `Dim.AUTO`,
    `Dim.DYNAMIC`, or None, a number or `Dim.STATIC` for a fixed one. `ShapesCollection` and `AdditionalInputs` say the same.

    `strict` changes nothing: what cannot be exported is refused either way. See `jit.export` for the rules.
    """
    if not isinstance(args, tuple):
        raise DTypeError(f"export takes the arguments as a tuple, got {type(args).__name__}")
    unknown = set(others) - {"preserve_module_call_signature", "prefer_deferred_runtime_asserts_over_guards"}
    if unknown or any(others.values()):
        raise ArgumentError(f"export does not take {', '.join(sorted(unknown or others))}")
    if not callable(mod):
        raise ArgumentError(f"export takes a module or a function, got {type(mod).__name__}")
    example, sizes = named(dynamic_shapes, mod, args, kwargs or {})
    options = {"freeze": False, "stateful": True}
    write = lambda dynamic: writer.in_own_folder(lambda path: writer.export(mod, example, path, dynamic=dynamic, **options))
    return ExportedProgram(sizes.tried(write), (args, dict(kwargs or {})))


def save(ep: ExportedProgram, f) -> None:
    """Writes a program to a file, by its path or as an open one; the buffers that it writes are as they are now."""
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
    """The program in a file (a path, or an open file) that `save` or `jit.export` wrote."""
    if not hasattr(f, "read"):
        return ExportedProgram(loaded.load(f))

    def from_copy(path):
        with open(path, "wb") as file:
            shutil.copyfileobj(f, file)
        return loaded.load(path)

    return ExportedProgram(writer.in_own_folder(from_copy))
