"""`ingot export package.module:name`: model files from code."""

import importlib
import os

from .. import jit
from ..ir.errors import ArgumentError, FileError
from ..ir.process_state import import_folder
from ..ir.source_location import place_text
from ..jit.errors.parameters import meant
from ..jit.guards.frames import position_of
from ..runtime.nn.base.module import Module
from ..runtime.serialization.numpy_files import read_arrays
from ..runtime.serialization.save_load import load
from .console import UsageError, has_default_names, report


def add_arguments(parser):
    """Add the command's arguments."""
    parser.add_argument("source", help="what to export, as package.module:name: a function, a module, or a class of modules")
    parser.add_argument("--example", required=True, help="an .npz file with example inputs, by the names of the arguments")
    parser.add_argument("-o", "--output", required=True, help="the .ingot file to write")
    parser.add_argument("--weights", help="a file of weights (.safetensors, .pt, ...) for a module's load_state_dict")
    parser.add_argument("--dynamic", action="append", default=[], metavar="INPUT:DIM=NAME",
                        help="a size that may change, such as x:0=batch; once for each")
    parser.add_argument("--target", action="append", default=[],
                        help="a kind of machine to put ready kernels in for: native (default), x86-64-v3, aarch64, sm_90, ...; "
                             "once for each")
    parser.add_argument("--packed", action="store_true", help="put the weights in a second time, as kernels read them")
    parser.add_argument("--no-freeze", action="store_true", help="keep the weights as they are")


def run(args) -> int:
    """Run the command."""
    dims = named_dims(args.dynamic)
    if not args.output.lower().endswith(".ingot"):
        raise UsageError(f"export writes .ingot files, got {args.output}; convert makes other formats of them")
    fn = import_model(args.source)
    if args.weights:
        if not isinstance(fn, Module):
            raise ArgumentError(f"--weights needs a module, {args.source} is a {type(fn).__name__}")
        fn.load_state_dict(loaded_weights(args.weights))
    arrays = read_arrays(args.example)
    given = tuple(arrays[f"arr_{i}"] for i in range(len(arrays))) if has_default_names(arrays) else arrays
    written = jit.export(fn, given, args.output, dynamic=dims, freeze=not args.no_freeze,
                         targets=tuple(args.target) or ("native",), packed=args.packed, progress=report)
    report(f"wrote {args.output}: {written.signature}")
    return 0


def import_model(source: str):
    """Import `package.module:name` and prepare it for inference."""
    module_name, colon, name = source.partition(":")
    if not colon or not module_name or not name:
        raise UsageError(f"expected package.module:name, got {source!r}")
    try:
        with import_folder(os.getcwd()):
            value = importlib.import_module(module_name)
    except ImportError as e:
        raise ArgumentError(f"{module_name} cannot be imported: {e}") from e
    except Exception as e:
        raise ArgumentError(f"{module_name} cannot be imported: {raised(e)}") from e
    for part in name.split("."):
        if not hasattr(value, part):
            raise ArgumentError(f"{module_name} has no {name}{meant(part, dir(value))}")
        value = getattr(value, part)
    if isinstance(value, type) and issubclass(value, Module):
        try:
            value = value()
        except Exception as e:
            raise ArgumentError(f"{name}() raised {raised(e)}; give a module, or a class that takes no arguments") from e
    if not callable(value):
        raise ArgumentError(f"{source} is a {type(value).__name__}, which cannot be called")
    return value.eval() if isinstance(value, Module) else value


def raised(error: Exception) -> str:
    """Return an error of user code as text, with its line."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error}"
    place = position_of(error)
    return f"{type(error).__name__}: {error}" + (f" at {place_text(place)}" if place is not None else "")


def named_dims(options) -> dict | None:
    """Parse `--dynamic` for `export`."""
    dims: dict = {}
    for text in options:
        place, equals, name = text.partition("=")
        tensor, colon, number = place.rpartition(":")
        if not (equals and colon and tensor and name) or not number.lstrip("-").isdigit():
            raise UsageError(f"--dynamic takes INPUT:DIM=NAME, such as x:0=batch, got {text!r}")
        dims.setdefault(tensor, {})[int(number)] = name
    return dims or None


def loaded_weights(path):
    """Return the state in a file."""
    state = load(path)
    if not isinstance(state, dict):
        raise FileError(f"{path} holds a {type(state).__name__}, not a dict of weights")
    return state
