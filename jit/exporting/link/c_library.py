"""`to_c`: write a model as a header, an object and a shared library that need neither Python nor ingot.

No tool of the system is needed: LLVM compiles the functions around the step list, and `linker.py` joins them with the kernels.
"""

import hashlib
import os
import re
import tempfile
from typing import NamedTuple

import numpy as np

from ....ir import target as targets
from ....ir.error_texts.call_errors import explained
from ....ir.errors import ArgumentError
from ....ir.target import Target
from ....ir.version import VERSION
from ....passes.codegen.llvm.loops import programs
from ....passes.codegen.llvm.pool import fork_join
from ....runtime.cpu.calls import pool
from ....runtime.cpu.compiler import amx, compile
from ....runtime.serialization.save_load import replacing
from ...errors.errors import ExportError
from ..capture import treespec
from ..file import archive, writer
from ..file.collect_kernels import image_of
from ..file.cross_compile import entry_for
from ..file.image import Image
from ..file.model import Model
from . import c_header
from .c_checks import MOST_DIMS, expected_bytes, message_bytes
from .c_entry import STAMP_BYTES, Entry, entry_text
from .elf import relocatable, shared_library
from .linker import Link

_LINE = 64
_POOL = {"ingot_pool_run": "pool", "ingot_pool_stop": "pool", "ingot_pool_try_acquire": "pool", "ingot_pool_state": "pool",
         programs.RUNNER: "runner"}


class Written(NamedTuple):
    """Paths of the files that `to_c` wrote; `weights` is None if they are in the library."""

    header: str
    object: str
    shared: str
    weights: str | None


@explained
def to_c(model, example_inputs=None, path="model", *, name=None, embed: bool = True, threads: int = 1, concurrency: int = 4,
         target: str = "native", stateful: bool = False) -> Written:
    """Write a model for C programs: `<path>.h`, `<path>.o` and `lib<name>.so` in the same folder.

    model           a function, a module, or a loaded model
    example_inputs  as for `export`; the library is for their sizes (a loaded model of fixed sizes needs none)
    name            prefix of the C names; the last part of the path unless given
    embed           False writes the weights to `<path>.weights`, which a program passes to `<name>_init`
    threads         the most threads that one run may use; 1 leaves all threads out of the library
    concurrency     how many runs may be active at the same time without waiting for each other
    target          "native", or a level: "x86-64", "x86-64-v3", "x86-64-v4", "aarch64"
    stateful        let the function write to buffers of modules: a run then takes a `<name>_state` that holds them, and
                    `<name>_init_state` fills in their values of the export

    The header documents the functions. Operators without native code are refused by name.
    """
    path = archive.new_path_of(path)
    name = name if name is not None else re.sub(r"\W", "_", os.path.basename(path)) or "model"
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ArgumentError(f"name= must be a C identifier, got {name!r}")
    if not (isinstance(threads, int) and 1 <= threads <= 64 and isinstance(concurrency, int) and 1 <= concurrency <= 1024):
        raise ArgumentError(f"to_c: threads is 1 to 64 and concurrency 1 to 1024, got {threads} and {concurrency}")
    with tempfile.TemporaryDirectory(prefix="ingot-c-") as folder:
        loaded = model if isinstance(model, Model) else _drafted(model, example_inputs, folder, stateful)
        state = [loaded.weights[buffer].detach().cpu()._a for buffer in loaded.signature.state]
        loaded = loaded if type(loaded) is Model else Model(loaded._reader, objects=False)  # a model on the CPU, not on a GPU
        sizes = _sizes(model, example_inputs) if isinstance(model, Model) else {}
        return _write(loaded, state, sizes, path, name, embed, threads, concurrency, _target_of(target))


def _drafted(fn, example_inputs, folder, stateful) -> Model:
    """Return the model from an unchecked file. Users who link the library check its machine code."""
    if example_inputs is None:
        raise ArgumentError("to_c needs example_inputs to export a function")
    made = writer.record(fn, example_inputs, stateful=stateful)
    draft = os.path.join(folder, "draft.ingot")
    writer.Content(made, *writer.optimized(made, freeze=True)).write(draft, {})
    return Model(archive.Reader(draft), objects=False)


def _target_of(name) -> Target:
    if name == "native":
        return targets.host()
    if name not in targets.LEVELS:
        raise ArgumentError(f"no target {name!r}: one of native, {', '.join(targets.LEVELS)}")
    return targets.cpu(name)


# Contents of a library.


class Runs(NamedTuple):
    """Native calls of a library.

    image    call of every run, on the arguments, then `weights`, then the results of `once`
    weights  arrays
    once     call of the first run for derived weights: (image, numbers of the weights that it takes), or None
    """

    image: Image
    weights: list
    once: tuple | None
    objects: dict


def _sizes(model: Model, example_inputs) -> dict:
    """Return the named sizes for which a loaded model becomes a library."""
    if not model.signature.dims:
        return {}
    if example_inputs is None:
        raise ArgumentError("to_c needs example_inputs for this model, whose sizes "
                            f"{', '.join(model.signature.dims)} may change")
    given = (example_inputs,) if treespec.is_tensor(example_inputs) else example_inputs
    args, kwargs = ((), given) if isinstance(given, dict) else (tuple(given), {})
    buffers = [model.weights[name] for name in model.signature.state]
    given = [*model.signature.arrays_of(args, kwargs), *buffers]
    return model.signature.check([treespec.as_tensor(t)._a for t in given])


def _runs(model: Model, sizes: dict, target: Target, threads: int) -> Runs:
    if target == targets.host():
        return _runs_here(model, sizes, threads)
    entry, objects = entry_for(model, sizes, target, threads)
    arrays = [t._a for t in model.weights.values()]
    weights = [arrays[i] for i in entry.weights]
    if entry.derived is None:
        return Runs(entry.main, weights, None, objects)
    sources = tuple(range(len(weights), len(weights) + len(entry.sources)))
    return Runs(entry.main, [*weights, *[arrays[i] for i in entry.sources]], (entry.derived, sources), objects)


def _runs_here(model, sizes, threads):
    """Return the native calls for this machine; derived weights are computed now and stored instead of their sources."""
    objects: dict = {}
    with pool.with_threads(threads), amx.withheld():
        compiled, parts = model.planned(sizes)
        image = image_of(compiled, objects)
    if image is None:
        raise model.needs_python(sizes)
    return Runs(image, model.weights_of(parts), None, objects)


# Writing.


def _write(model, state, sizes, path, name, embed, threads, concurrency, target) -> Written:
    runs = _runs(model, sizes, target, threads)
    image, signature = runs.image, model.signature.at(sizes)
    results = image.outputs[:len(image.outputs) - len(state)]
    _check_tensors(signature)
    weight_offsets, weights = _joined(runs.weights)
    if len(set(results)) != len(results):
        raise ExportError("two results are the same tensor; return it once")
    state_offsets, initial = _joined(state)
    entry = _entry(model, runs, weight_offsets, state_offsets, name, embed, threads, concurrency, STAMP_BYTES + len(weights))
    stamp = b"INGOTW01" + hashlib.sha256(weights).digest() + bytes(STAMP_BYTES - 40)
    link = _link(entry, runs, target, signature, weights, initial, stamp)
    library = os.path.join(os.path.dirname(path), f"lib{name}.so")
    weights_path = None if embed else f"{path}.weights"
    header = c_header.header_text(entry, signature, VERSION, link.outside())
    files = {f"{path}.h": header.encode(), f"{path}.o": relocatable(link), library: shared_library(link, f"lib{name}.so")}
    if weights_path is not None:
        files[weights_path] = stamp + weights
    for where, data in files.items():
        with replacing(where) as file:
            file.write(data)
    return Written(f"{path}.h", f"{path}.o", library, weights_path)


def _entry(model, runs, weight_offsets, state_offsets, name, embed, threads, concurrency, weight_bytes) -> Entry:
    """Return the parameters of the entry functions. `state_offsets` are the bytes of the state where each buffer begins."""
    image, count = runs.image, len(model.signature.inputs)
    own = count - len(state_offsets)
    state = _NextState(image, state_offsets)
    made, once = [], None
    if runs.once is not None:
        derived, sources = runs.once
        sizes = [_rounded(d.itemsize * int(np.prod(shape, dtype=np.int64))) for d, shape in derived.writes]
        starts = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
        made = [starts[n] for n in derived.outputs]
        takes = [("weights", weight_offsets[sources[i]]) for i in derived.reads]
        once = [*takes, *[("made", at) for at in starts[:-1]]], starts[-1]
    read = len(runs.weights) - (len(runs.once[1]) if runs.once else 0)

    def place(number):
        if number < count:
            return ("in", number) if number < own else ("state", state_offsets[number - own])
        return ("weights", weight_offsets[number - count]) if number < count + read else ("made", made[number - count - read])

    arena = _rounded(image.arena) + _LINE
    writes, updates = state.from_arena(arena)
    return Entry(name, own, len(image.outputs) - len(state_offsets), tuple(map(place, image.reads)), writes, arena + state.size,
                 concurrency, embed, weight_bytes, threads, once, state.whole, state.align, updates)


class _NextState:
    """Placement of the next values of buffers in a run's arena, after the inner values, unless they are results too.

    They are copied to the state at the end of the run, because the old values are read until then.

    size     bytes in the arena
    whole    bytes of the state
    align    alignment of the state
    """

    def __init__(self, image, state_offsets):
        count = len(image.outputs) - len(state_offsets)
        self._slots: dict = {number: ("out", at) for at, number in enumerate(image.outputs[:count])}
        self._copies: list = []
        self._count = len(image.writes)
        self.size = self.whole = 0
        self.align = max([image.writes[number][0].itemsize for number in image.outputs[count:]], default=1)
        for number, to in zip(image.outputs[count:], state_offsets):
            dtype, shape = image.writes[number]
            size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            self._copies.append((number, to, size))
            self.whole = to + _rounded(size)
            if number not in self._slots:
                self._slots[number] = "next", self.size
                self.size += _rounded(size)

    def from_arena(self, start: int) -> tuple:
        """Return (the place of each written array, the copies) in arenas whose inner values end at byte `start`."""
        def place(number):
            kind, at = self._slots[number]
            return kind, start + at if kind == "next" else at

        return tuple(map(place, range(self._count))), tuple([(*place(n), to, size) for n, to, size in self._copies])


def _rounded(size):
    return -(-size // _LINE) * _LINE


def _check_tensors(signature):
    for s in (*signature.inputs, *signature.outputs):
        if s.dtype.name not in c_header.NUMBERS or len(s.shape) > MOST_DIMS:
            raise ExportError(f"{s} cannot be a C tensor: at most {MOST_DIMS} dims of {', '.join(c_header.NUMBERS)}")


def _joined(arrays) -> tuple:
    """Return (the first byte of each array, all bytes); each array begins on a cache line."""
    offsets, parts, at = [], [], 0
    for a in arrays:
        data = np.ascontiguousarray(a).tobytes()
        offsets.append(at)
        parts += [data, bytes(-len(data) % _LINE)]
        at += len(data) + -len(data) % _LINE
    return offsets, b"".join(parts)


def _tensor_rows(specs) -> bytes:
    return b"".join([expected_bytes(s, c_header.NUMBERS[s.dtype.name]) for s in specs])


def _link(entry, runs, target, signature, weights, initial, stamp) -> Link:
    lists = {"steps": runs.image, **({"once": runs.once[0]} if runs.once else {})}
    link = Link(target.arch)
    pool_text = fork_join.serial_text(target) if entry.threads == 1 else fork_join.pool_text(target)
    link.add("pool", compile.emit_object(pool_text, target))
    link.add("runner", compile.emit_object(programs.runner_text(target), target))
    link.add("entry", compile.emit_object(entry_text(entry), target, "O2"))
    for name in dict.fromkeys(name for image in lists.values() for _, name, _ in image.code):
        link.add(f"kernel {name}", runs.objects[name])
    for symbol, source in _POOL.items():
        link.provide(symbol, (source, symbol))
    blocks = {"inputs": (_tensor_rows(signature.users(signature.inputs)), False),
              "outputs": (_tensor_rows(signature.users(signature.outputs)), False), "slots": (_LINE * entry.arenas, True),
              "arenas": (entry.arena * entry.arenas, True), "stamp": (stamp, False), "messages": (message_bytes(), False),
              "weights": (weights if entry.embedded else bytes(_LINE), False), "state": (_LINE, True),
              **{name: (image.words.tobytes(), True) for name, image in lists.items()}}
    if entry.state:
        blocks["initial"] = initial, False
    if runs.once is not None:
        blocks["made"] = entry.once[1] + _rounded(runs.once[0].arena) + _LINE, True
    for name, (content, writable) in blocks.items():
        link.data(name, content, writable)
        link.provide(f"ingot_{name}", name)
    for block, image in lists.items():
        for at, name, symbol in image.code:
            link.address(block, 8 * at, (f"kernel {name}", symbol))
        for at, first in image.tables:
            link.address(block, 8 * at, (block, 8 * first))
    functions = {"run": True, "message": True, "init_state": entry.state, "init": not entry.embedded,
                 "set_threads": entry.threads > 1}
    for function in [function for function, is_there in functions.items() if is_there]:
        link.export(f"{entry.name}_{function}", "entry", f"{entry.name}_{function}")
    return link
