"""Conversion of compiled graphs to images (`image.py`), with the objects that they need."""

import hashlib
from typing import Any

import numpy as np

from ....ir.dtype import of
from ....ir.target import host
from ....passes.codegen.llvm.loops import programs
from ....runtime.cpu.calls import pool
from ....runtime.cpu.compiler import compile
from ....runtime.cpu.graph import program
from ....runtime.cpu.graph.plan_runner import RELEASE_AT, NativeRun
from .image import Image


def object_name(data) -> str:
    """Return the name of an object: a hash of its content."""
    return hashlib.sha256(data).hexdigest()[:32]


def entry_of(model, sizes: dict, objects: dict, words: list) -> dict | None:
    """Return the entry of a model's graph for some sizes: images of what runs once and of what runs at every call.

    None if one of them is not a single native call. Objects are added by name, words of the step lists to `words`.
    """
    compiled, parts = model.planned(sizes)
    main, derived = image_of(compiled, objects), None
    if main is not None and parts.derived is not None:
        owned = frozenset(range(len(parts.names)))
        derived = image_of(program.CompiledGraph(parts.derived, program.kernel_of, owned), objects)
    if main is None or (parts.derived is not None and derived is None):
        return None
    entry: dict[str, Any] = {"kept": list(parts.kept), "sources": list(parts.sources), "names": list(parts.names)}
    for name, image in (("main", main), ("derived", derived)):
        entry[name] = None if image is None else {"words": len(image.words), **image.as_json()}
        words += [] if image is None else [image.words]
    return entry


def image_of(compiled, objects: dict) -> Image | None:
    """Return the image of a compiled graph that is one native call, else None; add the objects that it needs by name."""
    if len(compiled.steps) != 1 or type(compiled.steps[0]) is not NativeRun:
        return None
    run = compiled.steps[0]
    made = [number for number, *_ in run.writes]
    inputs = len(compiled.graph.inputs)
    if run.updates or any(n not in made for n in compiled.outputs) or any(n >= inputs for n in run.reads):
        return None
    words, code = np.array(run.list.words), []
    for at, address in run.list.relocations:
        code.append((at, *_place(address, objects)))
        words[at] = 0
    runner = compile.compile_module(programs.runner_text(host()), [programs.RUNNER])[programs.RUNNER]
    for at, _ in run.list.tables:
        words[at] = 0
    return Image(words, _place(runner, objects), tuple(code), tuple(run.list.tables), run.source.arena_bytes, run.reads,
                 tuple([(of(np.empty(0, d)), shape) for _, shape, d in run.writes]),
                 tuple([made.index(n) for n in compiled.outputs]), run.can_fail, run.work >= RELEASE_AT, pool.get_num_threads(),
                 inputs)


def _place(address, objects) -> tuple:
    """Return (name of the object, symbol) of a compiled function; add the object to `objects`."""
    key, symbol = compile.origin(address)
    data = compile.object_of(key)
    name = object_name(data)
    objects[name] = data
    return name, symbol
