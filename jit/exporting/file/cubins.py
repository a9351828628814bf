"""Program in a process of its own: plan and compile a model file for a GPU that need not be there.

`export` starts it once for each kind of GPU, with a folder that holds `job.ingot` (as in `collect_kernels.py`, and `arch`). It
leaves `done.ingot` there: programs for the inputs to prepare, and machine code for these and some further sizes.
"""

import contextlib
import os
import sys

import numpy as np

from ....ir.errors import DeviceError, ShapeError
from ....ir.graph.printer import format_line
from ....ir.opdef.aval import Aval
from ....runtime.core.tensor import wrap
from ....runtime.cuda.compiler import compile as compiler
from ....runtime.cuda.graph import eager
from ....runtime.cuda.graph.program import Called
from ....runtime.cuda.offline import ready
from ....runtime.cuda.offline.planning import Planner
from ....runtime.serialization.save_load import load, save
from ...errors.errors import ExportError
from ...errors.extents import parsed
from . import archive, loader
from .collect_kernels import DONE, FURTHER, JOB
from .cuda_model import graph_for


def main(folder: str) -> int:
    """Do the job in a folder; return the exit code."""
    job = load(os.path.join(folder, JOB))
    model = loader.load(job["path"], objects=False)
    with Planner(job["arch"]) as planner:
        shapes = [[t._a.shape for t in job["inputs"][i]] for i in job["ready"]]
        made = [_entry(planner, model, row) for row in shapes]
        for row in shapes:
            _compile_further(planner, model, row)
    blobs, entries = [written for _, written, _ in made], [entry for entry, _, _ in made]
    known = compiler.binaries()
    binaries = list(dict.fromkeys([b for *_, used in made for b in used] + list(known.values())))
    code, spans = ready.packed(binaries)
    at = len(code)
    for (entry, _, used), blob in zip(made, blobs):
        entry["binaries"], entry["written"] = [binaries.index(b) for b in used], [at, len(blob)]
        at += len(blob)
    index = {"binaries": spans, "modules": {v.key(): binaries.index(b) for v, b in known.items()}, "entries": entries}
    save({"index": archive.json_bytes(index).decode(), "blob": wrap(np.frombuffer(b"".join([code, *blobs]), np.uint8).copy())},
         os.path.join(folder, DONE))
    return 0


def _entry(planner, model, shapes) -> tuple:
    """Return (the entry of a program for input shapes, the bytes that it writes, its binaries)."""
    graph, weights, avals = _graph(model, shapes)
    try:
        program = planner.program(graph.run, avals)
    except DeviceError as e:
        raise ExportError(f"for sm_{planner.arch}: {e}{_hosts(graph)}") from e
    entry, written, binaries = ready.as_json(program, [v.aval for v in graph.graph.outputs])
    return {**entry, "shapes": [list(s) for s in shapes], "weights": list(weights)}, written, binaries


def _graph(model, shapes) -> tuple:
    """Return (the device graph for input shapes, numbers of the weights that it takes, avals of all inputs)."""
    sizes = model.signature.check([_Shaped(s, spec.dtype.np) for s, spec in zip(shapes, model.signature.inputs)])
    graph, weights = graph_for(model, sizes)
    given = [Aval(s, spec.dtype) for s, spec in zip(shapes, model.signature.inputs)]
    return graph, weights, [*given, *[v.aval for v in graph.graph.inputs[len(given):]]]


class _Shaped:
    """Shape and dtype, all that a signature reads of an array."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def _compile_further(planner, model, shapes):
    """Compile for other sizes; only the machine code is saved."""
    for position, name in enumerate(model.signature.dims):
        for n in FURTHER if position == 0 else ():
            other = [tuple([_size(declared, name, n, size) for declared, size in zip(spec.shape, row)])
                     for spec, row in zip(model.signature.inputs, shapes)]
            with contextlib.suppress(ShapeError, DeviceError):
                graph, _, avals = _graph(model, other)
                planner.attempt(graph.run, avals)


def _size(declared, name, n, size) -> int:
    """Return an input's size where the named size is n; `given` if it does not depend on the name."""
    extent = parsed(declared) if type(declared) is str else None
    return size if extent is None or extent.name != name else extent.of(n)


def _hosts(graph) -> str:
    """Return the operators without device code for their operands, for a message."""
    calls = [s.node for s in graph.steps if type(s) is Called and not s.node.op.is_view
             and (s.node.op not in eager.OWN or s.node.op is eager.Host.last)]
    found = dict.fromkeys(f"{n.op.name}{f' ({format_line(n.line)})' if n.line else ''}" for n in calls)
    return f": {', '.join(found)} may run on the host" if found else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
