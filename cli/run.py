"""`ingot run model.ingot in.npz -o out.npz`: one run of a model on arrays in a file."""

import numpy as np

from .. import jit
from ..ir.errors import ArgumentError
from ..runtime.cpu.calls import pool
from ..runtime.serialization.numpy_files import read_arrays
from .console import flat_results, has_default_names, report, storable


def add_arguments(parser):
    """Add the command's arguments."""
    parser.add_argument("model", help="a file that export wrote")
    parser.add_argument("inputs", help="an .npz file with an array for each input, by name (or arr_0, arr_1, ... in order)")
    parser.add_argument("-o", "--output", required=True, help="the .npz file for the results")
    parser.add_argument("--threads", type=int, help="threads of kernels (default: as many as the machine lets it use)")
    parser.add_argument("--device", default="cpu", help="where to run: cpu (default), cuda, cuda:1, ...")
    parser.add_argument("--no-objects", action="store_true", help="compile from the graph; do not trust code in the file")


def run(args) -> int:
    """Run the command."""
    if args.threads is not None:
        pool.set_num_threads(args.threads)
    model = jit.load(args.model, objects=not args.no_objects, device=args.device)
    results = flat_results(call(model, read_arrays(args.inputs)))
    named = {spec.name: storable(r) for spec, r in zip(model.outputs, results)}
    with open(args.output, "wb") as file:
        np.savez(file, **named)
    for spec, r in zip(model.outputs, results):
        report(f"{spec.name}: {spec.dtype.short}{list(r.shape)}")
    return 0


def call(model, arrays: dict):
    """Call a model on arrays by name, in the order of its inputs if NumPy named them."""
    ordered = in_order(model.inputs, arrays)
    return model.call_with(ordered)


def in_order(inputs, arrays: dict) -> list:
    """Return the arrays of the inputs, cast to their dtypes without loss."""
    names = [f"arr_{i}" for i in range(len(inputs))] if has_default_names(arrays) else [s.name for s in inputs]
    missing = [n for n in names if n not in arrays] or ([] if len(arrays) == len(inputs) else sorted(set(arrays) - set(names)))
    if missing or len(names) != len(arrays):
        raise ArgumentError(f"the model takes {', '.join(map(str, inputs))}; the file has {', '.join(arrays) or 'nothing'}")
    return [cast_input(spec, arrays[name]) for spec, name in zip(inputs, names)]


def cast_input(spec, a):
    """Return an array in the dtype of an input: floats are converted, other dtypes must agree."""
    both_float = spec.dtype.is_floating_point and a.dtype.kind == "f"
    both_int = spec.dtype.is_integer and a.dtype.kind in "iu"
    return a.astype(spec.dtype.np) if a.dtype != spec.dtype.np and (both_float or both_int) else a
