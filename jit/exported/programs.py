"""`ingot.export`: exporting under the names of PyTorch's module. A program is an `.ingot` file, written by `jit.export`.

    program = export.export(model.eval(), (x,), dynamic_shapes={"x": {0: export.Dim("batch")}})
    export.save(program, "model.ingot");  y = export.load("model.ingot").module()(x)
"""

import inspect
import itertools
import shutil
from typing import Any

from ...ir.errors import ArgumentError, DTypeError
from ...runtime.nn.module import Module
from ...runtime.pytree import register_dataclass
from . import loaded, writer

__all__ = ["Dim", "ExportedProgram", "dims", "export", "load", "register_dataclass", "save"]


class Dim:
    """A size that may change: the same wherever it has this name. `min` and `max` are what the caller promises; a program takes
    other sizes, too."""

    AUTO: Any = "AUTO"
    DYNAMIC: Any = "DYNAMIC"
    STATIC: Any = "STATIC"

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        if not (isinstance(name, str) and name.isidentifier()):
            raise ArgumentError(f"the name of a Dim is an identifier, got {name!r}")
        self.name, self.min, self.max = name, min, max

    def __repr__(self):
        return f"Dim({self.name!r})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple:
    """Several sizes that may change."""
    return tuple([Dim(name, min=min, max=max) for name in names])


class ExportedProgram:
    """What `export` has made: `module()` runs it."""

    def __init__(self, model, example_inputs=None):
        self._model, self.example_inputs = model, example_inputs

    def module(self):
        """What runs the program: called like the module that was exported, without its code."""
        return self._model

    @property
    def graph(self):
        """The graph, as IR."""
        return self._model.graph

    @property
    def graph_signature(self):
        """Names, dtypes and sizes of what goes in and comes out."""
        return self._model.signature

    @property
    def state_dict(self) -> dict:
        """The weights by name."""
        return dict(self._model.weights)

    def __call__(self, *args, **kwargs):
        return self._model(*args, **kwargs)

    def __str__(self):
        return f"ExportedProgram {self._model.signature}\n{self._model.graph}"


def export(mod, args, kwargs=None, *, dynamic_shapes=None, strict: bool = False, **others) -> ExportedProgram:
    """The program that a module (or function) runs for these arguments; `dynamic_shapes` says which sizes may change, for each
    argument by its name or place: {dim: Dim(name)}, or a list with an entry (None for a fixed size) for each dim.

    `strict` changes nothing: what cannot be exported is refused either way. See `jit.export` for the rules.
    """
    if not isinstance(args, tuple):
        raise DTypeError(f"export takes the arguments as a tuple, got {type(args).__name__}")
    unknown = set(others) - {"preserve_module_call_signature", "prefer_deferred_runtime_asserts_over_guards"}
    if unknown or any(others.values()):
        raise ArgumentError(f"export does not take {', '.join(sorted(unknown or others))}")
    bound = inspect.signature(mod.forward if isinstance(mod, Module) else mod).bind(*args, **(kwargs or {})).arguments
    example = {**bound, **(kwargs or {})} if kwargs else args
    dynamic = _dynamic(dynamic_shapes, bound)
    model = writer.in_own_folder(lambda path: writer.export(mod, example, path, dynamic=dynamic))
    return ExportedProgram(model, (args, dict(kwargs or {})))


def _dynamic(shapes, bound) -> dict:
    """Sizes that may change as `jit.export` takes them."""
    if shapes is None:
        return {}
    if not isinstance(shapes, dict):
        if len(shapes) != len(bound):
            raise ArgumentError(f"dynamic_shapes has {len(shapes)} entries for {len(bound)} arguments")
        shapes = dict(zip(bound, shapes))
    if set(shapes) - set(bound):
        raise ArgumentError(f"dynamic_shapes names {', '.join(sorted(set(shapes) - set(bound)))}, the arguments are "
                            f"{', '.join(bound)}")
    counter = itertools.count()
    return {name: found for name, spec in shapes.items() if (found := _sizes(name, spec, counter))}


def _sizes(name, spec, counter) -> dict:
    """{dim: name of its size} of an argument."""
    entries = spec or {}
    entries = entries if isinstance(entries, dict) else dict(enumerate(entries))
    if not all(isinstance(dim, int) for dim in entries):
        raise ArgumentError(f"dynamic_shapes of {name}: a tensor has {{dim: Dim}}; name tensors in containers by arguments of "
                            f"their own")
    return {dim: size.name if isinstance(size, Dim) else f"size{next(counter)}" for dim, size in entries.items()
            if _is_free(name, size)}


def _is_free(name, size) -> bool:
    if size is None or size is Dim.STATIC or type(size) is int:
        return False
    if isinstance(size, Dim) or size is Dim.AUTO or size is Dim.DYNAMIC:
        return True
    raise ArgumentError(f"dynamic_shapes of {name}: expected a Dim or None for a fixed size, got {size!r}")


def save(ep: ExportedProgram, f) -> None:
    """Writes a program to a file, by its path or as an open one."""
    if not hasattr(f, "write"):
        shutil.copyfile(ep.module().path, f)
        return
    with open(ep.module().path, "rb") as file:
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
