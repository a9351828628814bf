"""`export`: write a function or module to an `.ingot` file, checked against eager before it takes its place."""

import inspect
import io
import json
import linecache
import os
import re
import shutil
import subprocess
import sys
import tempfile
import weakref
from typing import Any

import numpy as np

from ....ir import target as targets_
from ....ir.cached_property import cached_property
from ....ir.error_texts.call_errors import explained
from ....ir.errors import ArgumentError
from ....ir.graph.graph import Graph
from ....ir.graph.printer import format_line
from ....ir.graph.text import show
from ....ir.version import VERSION
from ....runtime.core.tensor import wrap
from ....runtime.cuda.driver.context import CHIPS
from ....runtime.serialization import safetensors
from ....runtime.serialization.save_load import load as load_data
from ....runtime.serialization.save_load import save as save_data
from ...errors.errors import ExportError
from ..capture import static_quantization as quantized
from ..capture.example_inputs import Example
from ..capture.module_calls import RECORDED
from ..capture.size_variants import Recorded, optimized, record
from . import archive, loader
from .collect_kernels import DONE, JOB

_CHILD_SECONDS = 1800
_TOLERANCE = {2: 2e-2, 4: 2e-4, 8: 1e-10}      # relative to the largest value of a result, by bytes of a real float


@explained
def export(fn, example_inputs=None, path=None, *, dynamic=None, freeze: bool = True, targets=("native",),
           packed: bool = False, quantize=None, progress=None, stateful: bool = False) -> Any:
    """Write what `fn` computes to `path`, an `.ingot` file, and return it loaded as a callable.

    fn              a function or module (call .eval() on it before)
    example_inputs  a tensor or array, a tuple of positional arguments, or a dict of keyword arguments
    dynamic         sizes that may change, {"x": {0: "batch"}}; dims of one name always have one size
    freeze          compute values that depend on weights alone once, such as batch norms after convolutions
    targets         kinds of machines to include ready kernels for: "native", a level such as "x86-64-v3" or "aarch64", a GPU
                    such as "sm_90" (which needs triton, but no GPU), or none
    packed          also store the weights as the kernels of each target that runs here read them, for a quicker first call
    quantize        calibration inputs (a list, each as `example_inputs`), or a `jit.Calibration`: layers then compute in
                    8-bit integers (docs/quantization.md)
    progress        called with a line of text before each long step
    stateful        let the function write to buffers of modules: the callable then has them, and writes to them at each call;
                    without it such a function is refused

    A fresh process runs the file and compares it with eager before it is put in place. Code for other kinds of machines is
    compiled from what was checked, and not run. As a method decorator without arguments, `@jit.export` changes nothing.
    """
    if path is None:
        if example_inputs is None and inspect.isfunction(fn):
            return fn
        raise ExportError("jit.export takes a function or module, example inputs and a path: jit.export(model, (x,), "
                          "'model.ingot')")
    return written(fn, example_inputs, path, dynamic, freeze, targets, packed, quantize, progress, stateful)


def written(fn, example_inputs, path, dynamic=None, freeze: bool = True, targets=("native",), packed: bool = False,
            quantize=None, progress=None, stateful: bool = False, signatures_of=None) -> Any:
    """Export, as `export` does.

    With `signatures_of` the file also holds the recorded graph and the module calls of its operations, and the arguments and
    results of modules at these paths.
    """
    path, say = archive.new_path_of(path), progress or (lambda text: None)
    names = [target_name(t) for t in ((targets,) if isinstance(targets, str) else targets)]
    calibration = None if quantize is None else quantized.calibration_of(quantize)
    if calibration is not None and any(gpu_of(name) for name in names):
        raise ArgumentError("models in whole numbers run on CPUs alone; leave out the GPU in targets=")
    if calibration is not None and not freeze:
        raise ArgumentError("the weights of a model in whole numbers are frozen; leave out freeze=False")
    if calibration is not None and stateful:
        raise ArgumentError("a model in whole numbers keeps no state; leave out stateful=True")
    say("recording")
    # Integer kernels take no size of 0.
    recording = record(fn, example_inputs, dynamic, empty=calibration is None, stateful=stateful,
                       signatures_of=signatures_of or ())
    content = _floats(recording, freeze, say) if calibration is None else _whole_numbers(recording, fn, calibration, say)
    if signatures_of is not None:
        content.keep_recorded()
    with tempfile.TemporaryDirectory(prefix="ingot-export-") as folder:
        draft = os.path.join(folder, "draft.ingot")
        content.write(draft, {})
        ready = {}
        for name in in_order(names):
            say(f"{'checking and compiling' if runs_here(name) else 'compiling'} for {name or 'this machine'}")
            ready[name] = run_apart(recording, draft, folder, name, packed)
        ready.pop(None, None)
    content.write(path, ready)
    return loader.load(path)


@explained
def quantize(fn, calibration, *, dynamic=None, progress=None) -> Any:
    """Return a model that computes `fn` in 8-bit integers where it can, in a temporary file that goes with the model.

    `calibration` is a list of inputs or a `jit.Calibration`; the first input is the example.
    """
    calibration = quantized.calibration_of(calibration)
    if not calibration.inputs:
        raise ArgumentError("quantize takes calibration inputs, got none")
    return in_own_folder(lambda path: export(fn, calibration.inputs[0], path, dynamic=dynamic, quantize=calibration,
                                             progress=progress))


def in_own_folder(make):
    """Return the model that make(path) gives; its file is deleted with it."""
    folder = tempfile.mkdtemp(prefix="ingot-program-")
    try:
        model = make(os.path.join(folder, "program.ingot"))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(model, shutil.rmtree, folder, ignore_errors=True)
    return model


def _floats(recording, freeze, say):
    say("passes")
    return Content(recording, *optimized(recording, freeze))


def _whole_numbers(recording, fn, calibration, say):
    say(f"calibrating on {len(calibration.inputs)} inputs")
    done = quantized.quantized(recording, fn, calibration)
    say("running the quantised examples")
    errors = quantized.expect_quantized(recording, done)
    content = Content(recording, done.graphs, done.weights)
    names = [spec.name for spec in recording.signature.outputs]
    content.manifest["quantized"] = {"layers": done.layers, "errors": dict(zip(names, errors)), "method": calibration.method}
    return content


# Writing.


def code_members(data) -> tuple:
    """Return (index, blob, packed weights) of a separate run. The blob is objects, then the words of images."""
    index = json.loads(data["index"])
    if "blob" in data:
        return index, data["blob"]._a.tobytes(), {}
    parts, at = [], 0
    spans = index["objects"] = {}
    for name, t in data["objects"].items():
        code = t._a.tobytes()
        spans[name] = [at, len(code)]
        parts += [code, bytes(-len(code) % 16)]
        at += len(code) + -len(code) % 16
    for image in [entry[part] for entry in index["entries"] for part in ("main", "derived") if entry[part]]:
        count = image["words"]
        image["words"] = [at, count]
        at += 8 * count
    return index, b"".join([*parts, data["words"]._a.tobytes()]), data["packed"]


class Content:
    """The members of a file that do not depend on the machine."""

    def __init__(self, recording: Recorded, graphs: list, weights: list):
        self.recording, self.weights, rows = recording, {}, []
        self.members: dict = {}
        lines: dict = {}
        for i, (variant, graph, own) in enumerate(zip(recording.variants, graphs, weights)):
            name = f"graph-{i}.txt" if i else "graph.txt"
            self.members[name] = (show(graph) + "\n").encode()
            lines |= source_lines(graph)
            conditions = [[text, format_line(line) if line else ""] for text, line in variant.conditions.items()]
            rows.append({"member": name, "fixed": variant.fixed, "conditions": conditions,
                         "weights": [self._put(name, a, i) for name, a in own.items()]})
        for name, t in zip(recording.signature.state, recording.state.tensors(recording.signature.state)):
            self.weights[name] = t._a
        self.members["source.json"] = archive.json_bytes(lines)
        self.manifest = {"ingot": VERSION, "name": graphs[0].name, "signature": recording.signature.as_json(), "graphs": rows,
                         "constants": recording.variants[0].constants}

    def keep_recorded(self):
        """Include the recorded graph, before any pass, and the module calls."""
        first = self.recording.variants[0]
        self.members[RECORDED] = (show(first.graph) + "\n").encode()
        names = [self._put(name, t.detach()._a, 0) for name, t in first.weights.items()]
        for name, t in first.modules.tensors.items():       # (read or not)
            self.weights.setdefault(name, t.detach()._a)
        self.manifest["recorded"] = {"weights": names, **first.modules.as_json(first.graph)}

    def _put(self, name, a, i):
        """Store an array among the weights and return its name; variants share equal arrays."""
        known = self.weights.get(name)
        if known is None or known is a or (known.shape == a.shape and known.dtype == a.dtype and np.array_equal(known, a)):
            self.weights.setdefault(name, a)
            return name
        return self._put(f"{name}.{i}", a, i)

    @cached_property
    def stored(self) -> tuple:
        return weight_bytes(self.weights)

    def write(self, path: str, ready: dict):
        """Write the file, with the results of `run_apart` for each target."""
        members = dict(self.members)
        for name, (index, blob, packed) in ready.items():
            members[f"objects/{name}.bin"], members[f"objects/{name}.json"] = blob, archive.json_bytes(index)
            if packed:
                members[f"objects/{name}.packed"] = safetensors_bytes(packed)
        pairs, members["weights.safetensors"] = self.stored
        known = {"weights": list(self.weights), "pairs": pairs,
                 "kinds": {name: kind for name, kind in self.recording.kinds.items() if name in self.weights}}
        archive.write(path, {**self.manifest, **known, "targets": list(ready)}, members)


def weight_bytes(weights: dict) -> tuple:
    """Return (names of complex128 arrays, which safetensors cannot name, and the bytes of a file with all arrays)."""
    pairs = [name for name, a in weights.items() if a.dtype == np.complex128]
    stored = {name: a[..., None].view(np.float64) if name in pairs else a for name, a in weights.items()}
    return pairs, safetensors_bytes({name: wrap(a) for name, a in stored.items()})


def write_again(model, path):
    """Write the file of a loaded model once more, with its buffers as they are now."""
    if not model.state:
        shutil.copyfile(model.path, path)
        return
    with model.state.lock:
        _, stored = weight_bytes({name: t.detach().cpu()._a for name, t in model.weights.items()})
    reader = archive.Reader(model.path)
    members = {name: reader.member(name) for name in reader.names()}
    archive.write(path, reader.manifest, {**members, "weights.safetensors": stored})


def safetensors_bytes(tensors: dict) -> bytes:
    """Return tensors by name as the bytes of a .safetensors file."""
    file = io.BytesIO()
    safetensors.write(tensors, file)
    return file.getvalue()


def source_lines(graph: Graph) -> dict:
    """Return the text of the user's lines, by "file:line"."""
    found = {}
    for n in graph.nodes:
        if n.line is not None:
            text = linecache.getline(*n.line).strip()
            if text:
                found[format_line(n.line)] = text
    return found


# Checking.


def target_name(name: str) -> str:
    """Return the name of a target as files have it."""
    host = targets_.host()
    if name == "native":
        return "+".join([host.level, *sorted(host.features)])
    if not isinstance(name, str) or (name not in targets_.LEVELS and gpu_of(name) is None):
        raise ArgumentError(f"no target {name!r}: one of native, {', '.join(targets_.LEVELS)}, or a GPU such as sm_90")
    if gpu_of(name) is not None and gpu_of(name) not in CHIPS:
        raise ArgumentError(f"no target {name!r}: GPUs are {', '.join(f'sm_{n}' for n in CHIPS)}")
    return name


def gpu_of(name) -> int | None:
    """Return the architecture number of a GPU target, 90 for "sm_90"."""
    return int(name[3:]) if re.fullmatch(r"sm_\d{2,3}", name or "", re.ASCII) else None


def runs_here(name) -> bool:
    """Return whether a target's code can be run, and so be checked, on this machine (None: no code)."""
    return name is None or (gpu_of(name) is None and ("+" in name or targets_.supports(targets_.cpu(name))))


def in_order(names) -> list:
    """Return the distinct targets, a checked one first; None stands for a check without code to store."""
    names = list(dict.fromkeys(names))
    here = [n for n in names if runs_here(n)]
    return [*(here or [None]), *[n for n in names if n not in here]]


def run_apart(recording: Recorded, draft: str, folder: str, name, packed: bool = False) -> tuple:
    """Run a file on every example in a process of its own, compare with eager, and return the compiled code.

    For another kind of machine nothing is run.
    """
    host, here, gpu = targets_.host(), runs_here(name), gpu_of(name)
    native = "+".join([host.level, *sorted(host.features)])
    job = {"packed": packed and here, "path": draft, "inputs": [e.tensors for e in recording.examples], "arch": gpu,
           "level": None if here or gpu else name, "ready": recording.ready if name is not None else []}
    save_data(job, os.path.join(folder, JOB))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    if gpu is not None:
        environment["INGOT_CUDA_TUNE"] = "0"       # there is no device to time configurations on
    if here and name not in (None, native):
        environment["INGOT_CPU_LEVEL"] = name
    words = [sys.executable, "-m", f"{__package__}.{'collect_kernels' if gpu is None else 'cubins'}", folder]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=_CHILD_SECONDS, check=False)
    if done.returncode:
        what = "the exported model does not run in a process of its own" if here else f"the model does not compile for {name}"
        raise ExportError(f"{what}: {last_error(done)}")
    data = load_data(os.path.join(folder, DONE))
    for example, results in zip(recording.examples, data["results"] if here else ()):
        compare(recording, example, [t._a for t in results])
    return code_members(data)


def last_error(done) -> str:
    """Return the last message of a process: its exception, without the traceback."""
    lines = done.stderr.strip().splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    return "\n".join(lines[starts[-1]:] if starts else lines[-5:]) or f"it ended with code {done.returncode}"


def compare(recording: Recorded, example: Example, results):
    """Raise unless results agree with eager's."""
    narrowest = min([bytes_of_real(v.dtype.np) for variant in recording.variants for v in variant.graph.values()
                     if v.dtype.is_inexact], default=8)
    for spec, want, got in zip(recording.signature.outputs, example.results, results):
        if want.shape != got.shape or want.dtype != got.dtype:
            raise ExportError(f"{spec.name}: eager gives {want.dtype.name}{list(want.shape)}, the exported model "
                              f"{got.dtype.name}{list(got.shape)}{_at_sizes(example)}")
        if not agree(want, got, narrowest):
            wide = [a.astype(np.float64) if a.dtype.kind not in "cb" else a for a in (want, got)]
            worst = np.nanmax(np.abs(wide[0] - wide[1])) if want.dtype.kind != "b" else 1
            raise ExportError(f"{spec.name}: the exported model differs from eager by {worst:.3g}{_at_sizes(example)}")


def bytes_of_real(dtype) -> int:
    """Return the bytes of a floating point number, or of a part of a complex one."""
    return dtype.itemsize // (2 if dtype.kind == "c" else 1)


def agree(want, got, narrowest: int = 8) -> bool:
    """Return whether two arrays are equal up to rounding of contractions in floats of so many bytes.

    One in a thousand integers or bools computed from floats may differ, on the other side of a rounding step.
    """
    if want.dtype.kind in "biu":
        return int((want != got).sum()) <= (want.size // 1000 if narrowest < 8 else 0)
    unit = min(bytes_of_real(want.dtype), narrowest)
    kind = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = want.astype(kind), got.astype(kind)
    if not (np.isnan(a) == np.isnan(b)).all() or not (a[np.isinf(a)] == b[np.isinf(a)]).all():
        return False
    keep = np.isfinite(a)
    if not keep.any():
        return True
    return bool(np.abs(a[keep] - b[keep]).max() <= _TOLERANCE[max(unit, 2)] * (1e-3 + np.abs(a[keep]).max()))


def _at_sizes(example):
    return " for inputs " + ", ".join(f"{t.dtype.name}{list(t._a.shape)}" for t in example.tensors)
