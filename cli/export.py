"""`python -m ingot export package.module:name` and `convert`: model files from code and from ONNX, and C libraries."""

import importlib
import os
import sys

import numpy as np

from .. import jit
from ..ir import dtype as dt
from ..ir.errors import ArgumentError, FileError
from ..ir.lazy import lazy
from ..runtime.nn.base.module import Module
from ..runtime.serialization.numpy_files import read_arrays
from ..runtime.serialization.save_load import load
from .bench import random_inputs
from .console import has_default_names, report

onnx = lazy(__package__, "..jit.onnx")
_FREE = 4            # the example size of a dim that an ONNX file leaves open


def add_export(parser):
    """Add the arguments of `export`."""
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


def run_export(args) -> int:
    """Run `export`."""
    fn = import_model(args.source)
    if args.weights:
        if not isinstance(fn, Module):
            raise ArgumentError(f"--weights needs a module, {args.source} is a {type(fn).__name__}")
        fn.load_state_dict(loaded_weights(args.weights))
    arrays = read_arrays(args.example)
    given = tuple(arrays[f"arr_{i}"] for i in range(len(arrays))) if has_default_names(arrays) else arrays
    written = jit.export(fn, given, args.output, dynamic=named_dims(args.dynamic), freeze=not args.no_freeze,
                         targets=tuple(args.target) or ("native",), packed=args.packed, progress=report)
    report(f"wrote {args.output}: {written.signature}")
    return 0


def import_model(source: str):
    """Import `package.module:name` and prepare it for inference."""
    module_name, colon, name = source.partition(":")
    if not colon or not module_name or not name:
        raise ArgumentError(f"expected package.module:name, got {source!r}")
    sys.path.insert(0, os.getcwd())
    try:
        value = importlib.import_module(module_name)
    except ImportError as e:
        raise ArgumentError(f"{module_name} cannot be imported: {e}") from e
    finally:
        sys.path.remove(os.getcwd())
    for part in name.split("."):
        if not hasattr(value, part):
            raise ArgumentError(f"{module_name} has no {name}")
        value = getattr(value, part)
    made = value() if isinstance(value, type) and issubclass(value, Module) else value
    return made.eval() if isinstance(made, Module) else made


def named_dims(options) -> dict | None:
    """Parse `--dynamic` for `export`."""
    dims: dict = {}
    for text in options:
        place, equals, name = text.partition("=")
        tensor, colon, number = place.rpartition(":")
        if not (equals and colon and tensor and name) or not number.lstrip("-").isdigit():
            raise ArgumentError(f"--dynamic takes INPUT:DIM=NAME, such as x:0=batch, got {text!r}")
        dims.setdefault(tensor, {})[int(number)] = name
    return dims or None


def loaded_weights(path):
    """Return the state in a file."""
    state = load(path)
    if not isinstance(state, dict):
        raise FileError(f"{path} holds a {type(state).__name__}, not a dict of weights")
    return state


def add_convert(parser):
    """Add the arguments of `convert`."""
    parser.add_argument("source", help="an .onnx file, or an .ingot file")
    parser.add_argument("output", help="an .ingot file; or, from one, the path of a C library without its suffix")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N",
                        help="fixes a named size (in a C library all are fixed: 1 unless given)")
    parser.add_argument("--target", help="kind of machine (default: native)")
    parser.add_argument("--threads", type=int, default=1, help="most threads of a C library's run (default: 1)")
    parser.add_argument("--beside", action="store_true", help="write the weights of a C library to a file of their own")


def run_convert(args) -> int:
    """Run `convert`."""
    if args.source.endswith(".ingot"):
        model = jit.load(args.source)
        examples = random_inputs(model, {**dict.fromkeys(model.signature.dims, 1), **sizes_of(args.size)})
        library = jit.to_c(model, model.arguments_of(examples), args.output, threads=args.threads, embed=not args.beside,
                           target=args.target or "native")
        report(f"wrote {', '.join(path for path in library if path)}")
        return 0
    if not args.source.endswith(".onnx"):
        raise ArgumentError(f"convert reads .onnx and .ingot files, got {args.source}")
    report(f"reading {args.source}")
    model = onnx.from_onnx(args.source).eval()
    examples, dims = example_inputs(model, args.size)
    written = jit.export(model, examples, args.output, dynamic=dims, targets=(args.target or "native",), progress=report)
    report(f"wrote {args.output}: {written.signature}")
    return 0


def sizes_of(options) -> dict:
    """Parse the values of `--size` as {name: size}."""
    fixed = {}
    for text in options:
        name, equals, number = text.partition("=")
        if not equals or not number.isdigit():
            raise ArgumentError(f"--size takes NAME=N, got {text!r}")
        fixed[name] = int(number)
    return fixed


def example_inputs(model, options) -> tuple:
    """Return (random inputs of an ONNX model, its variable sizes), with sizes fixed by `--size`."""
    fixed = sizes_of(options)
    generator, arrays, dims = np.random.default_rng(0), [], {}
    for name, dtype, sizes in model.signature:
        if sizes is None:
            raise ArgumentError(f"{name} has no rank in the ONNX file, so it cannot be converted; give it a shape there")
        known = [fixed.get(n, n) if not isinstance(n, int) else n for n in sizes]
        dims[name] = {d: str(n) if n is not None else f"{name}_{d}" for d, n in enumerate(known) if not isinstance(n, int)}
        shape = [n if isinstance(n, int) else _FREE for n in known]
        random = generator.standard_normal(shape) if (dtype or dt.float32).is_inexact else np.zeros(shape)
        arrays.append(random.astype((dtype or dt.float32).np))
    return tuple(arrays), {i: d for i, d in enumerate(dims.values()) if d} or None
