"""`ingot convert SOURCE OUTPUT`: model files and ONNX models into each other, and into C libraries, by the endings of paths."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import jit
from ..ir import dtype as dt
from ..ir.errors import ArgumentError
from ..ir.lazy import lazy
from ..jit.errors.extents import extent_of
from ..jit.errors.parameters import meant
from .bench import random_inputs
from .console import UsageError, report

onnx = lazy(__package__, "..jit.onnx")
_FREE = 4            # the example size of a dim that may change
NOT_WRITTEN = {
    ".c": "C libraries are machine code, not source: name the library (libmodel.so) or its header (model.h)",
    ".dylib": "C libraries are files of Linux: name one that ends with .so",
    ".dll": "C libraries are files of Linux: name one that ends with .so",
    ".a": "the object of a C library is model.o, which ar takes",
    ".pt": "files of PyTorch hold weights or code: ingot.save(model.weights, path) writes weights",
    ".pt2": "files of PyTorch hold weights or code: ingot.save(model.weights, path) writes weights",
    ".safetensors": "a file of weights holds no program: ingot.save(model.weights, path) writes weights",
}


class Source(NamedTuple):
    """A model that was read.

    model      callable
    examples   arguments at the sizes of the conversion
    dims       {number of an input: {dim: name}} of the sizes that may change
    state      names of buffers that it writes
    """

    model: Any
    examples: Any
    dims: dict | None
    state: tuple


def add_arguments(parser):
    """Add the command's arguments."""
    parser.add_argument("source", help="an .onnx or .ingot file")
    parser.add_argument("output", help="the file to write: .ingot, .onnx, or a C library (libmodel.so, model.h, or model, "
                                       "which writes model.h, model.o and libmodel.so)")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N",
                        help="fixes a named size (in a C library all are fixed: 1 unless given)")
    parser.add_argument("--target", help="kind of machine for the code of .ingot files and C libraries (default: native)")
    parser.add_argument("--threads", type=int, help="most threads of a C library's run (default: 1)")
    parser.add_argument("--beside", action="store_true", help="write the weights of a C library to a file of their own")


def run(args) -> int:
    """Run the command."""
    read = _chosen(READERS, args.source, "reads")
    write = _chosen(WRITERS, args.output, "writes")
    if write is not to_library and (args.threads is not None or args.beside):
        raise UsageError(f"--threads and --beside are for C libraries; {args.output} is none")
    if write is to_onnx and args.target:
        raise UsageError("--target is for machine code, which an ONNX model has none of")
    if write is to_library:
        library_path(args.output)
    fixed = sizes_of(args.size)
    report(f"reading {args.source}")
    return write(read(args.source, fixed, write is to_library), args)


def _chosen(table: dict, path: str, verb: str) -> Callable:
    ending = os.path.splitext(path)[1].lower()
    if ending in table:
        return table[ending]
    known = ", ".join([e for e in table if e])
    why = NOT_WRITTEN.get(ending) if verb == "writes" else None
    raise UsageError(f"convert {verb} files that end with {known}, got {path}" + (f"; {why}" if why else meant(ending, table)))


def sizes_of(options) -> dict:
    """Parse the values of `--size` as {name: size}."""
    fixed = {}
    for text in options:
        name, equals, number = text.partition("=")
        if not equals or not number.isdigit():
            raise UsageError(f"--size takes NAME=N, got {text!r}")
        fixed[name] = int(number)
    return fixed


def _check_names(fixed, known):
    for name in fixed:
        if name not in known:
            raise ArgumentError(f"--size names {name!r}, but the sizes that may change are {', '.join(known) or 'none'}"
                                f"{meant(name, known)}")


# Reading.


def from_ingot(path, fixed, fixes_all) -> Source:
    """Read a model file."""
    model = jit.load(path)
    names = model.signature.dims
    _check_names(fixed, names)
    free = [] if fixes_all else [name for name in names if name not in fixed]
    arrays = random_inputs(model, {**dict.fromkeys(names, 1), **dict.fromkeys(free, _FREE), **fixed})
    dims = {i: {d: n for d, n in enumerate(spec.shape) if type(n) is str and extent_of(n).name in free}
            for i, spec in enumerate(model.inputs)}
    return Source(model, model.arguments_of(arrays), {i: d for i, d in dims.items() if d} or None, model.signature.state)


def from_onnx(path, fixed, fixes_all) -> Source:
    """Read an ONNX model."""
    model = onnx.from_onnx(path).eval()
    generator, arrays, dims = np.random.default_rng(0), [], {}
    _check_names(fixed, list(dict.fromkeys([n for *_, sizes in model.signature for n in sizes or () if isinstance(n, str)])))
    for i, (name, dtype, sizes) in enumerate(model.signature):
        if sizes is None:
            raise ArgumentError(f"{name} has no rank in the ONNX file, so it cannot be converted; give it a shape there")
        known = [fixed.get(n, 1 if fixes_all else n) if not isinstance(n, int) else n for n in sizes]
        dims[i] = {d: str(n) if n is not None else f"{name}_{d}" for d, n in enumerate(known) if not isinstance(n, int)}
        shape = [n if isinstance(n, int) else _FREE for n in known]
        random = generator.standard_normal(shape) if (dtype or dt.float32).is_inexact else np.zeros(shape)
        arrays.append(random.astype((dtype or dt.float32).np))
    return Source(model, tuple(arrays), {i: d for i, d in dims.items() if d} or None, ())


READERS = {".onnx": from_onnx, ".ingot": from_ingot}


# Writing.


def to_ingot(source: Source, args) -> int:
    """Write a model file."""
    _refuse_state(source, args)
    written = jit.export(source.model, source.examples, args.output, dynamic=source.dims, targets=(args.target or "native",),
                         progress=report)
    report(f"wrote {args.output}: {written.signature}")
    return 0


def to_onnx(source: Source, args) -> int:
    """Write an ONNX model."""
    _refuse_state(source, args)
    onnx.to_onnx(source.model, source.examples, args.output, dynamic=source.dims)
    report(f"wrote {args.output}")
    return 0


def _refuse_state(source, args):
    if source.state:
        raise ArgumentError(f"{args.source} writes to {', '.join(source.state)}, which only a conversion to C keeps: "
                            "export the module itself with stateful=True")


def library_path(path: str) -> str:
    """Return the path without endings of a C library: `build/net` for `build/libnet.so`, `build/net.h` and `build/net.o`."""
    folder, name = os.path.split(path)
    name, ending = os.path.splitext(name)
    if ending.lower() == ".so":
        if not name.startswith("lib") or name == "lib":
            raise UsageError(f"the library of {name} is called lib{name}.so, got {path}")
        name = name[len("lib"):]
    return os.path.join(folder, name)


def to_library(source: Source, args) -> int:
    """Write a C library."""
    library = jit.to_c(source.model, source.examples, library_path(args.output), threads=args.threads or 1,
                       embed=not args.beside, target=args.target or "native")
    report(f"wrote {', '.join(path for path in library if path)}")
    return 0


WRITERS = {".ingot": to_ingot, ".onnx": to_onnx, ".so": to_library, ".h": to_library, ".o": to_library, "": to_library}
