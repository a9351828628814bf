"""Program in a process of its own: run a model file on given inputs and collect the kernels that it needs.

`export` starts it once for each kind of machine, with a folder that holds `job.ingot`: the path of the model and the inputs of
each run. It leaves `done.ingot` there: results, compiled modules, and images for inputs whose graph is one native call. So a
fresh process checks the file itself. For another kind of machine everything is planned and compiled, and nothing is run.
`image_of` converts a compiled graph to an image (`image.py`), with the objects that it needs.
"""

import contextlib
import hashlib
import os
import sys
from typing import Any

import numpy as np

from ....ir import target as targets
from ....ir.dtype import of
from ....ir.errors import ShapeError
from ....passes.codegen.llvm.loops import programs
from ....runtime.core.tensor import wrap
from ....runtime.cpu.calls import call, pool
from ....runtime.cpu.compiler import compile
from ....runtime.cpu.graph import program
from ....runtime.cpu.graph.plan_runner import RELEASE_AT, NativeRun
from ....runtime.serialization.save_load import load, save
from . import archive, loader
from .image import Image

JOB, DONE = "job.ingot", "done.ingot"
FURTHER = (2, 3, 8, 32, 128)        # sizes whose kernels are compiled beside those that are checked
_THREADS = (1, 2, 4, 8, 16)      # counts of threads that images are made for, beside this process's own


def main(folder: str) -> int:
    """Do the job in a folder; return the exit code."""
    modules = compile.collect()
    job = load(os.path.join(folder, JOB))
    if job["level"]:
        _assume_level(job["level"])
    inputs = [[t._a for t in tensors] for tensors in job["inputs"]]
    here = pool.get_num_threads()
    model = loader.load(job["path"], objects=False)
    results = [] if job["level"] else [model.run(arrays) for arrays in inputs]
    objects: dict = {}
    entries: list = []
    words: list = []
    for threads in sorted({here, *_THREADS}):
        with pool.with_threads(threads):
            for arrays in [inputs[i] for i in job["ready"]]:
                entry = entry_of(model, model.signature.check(arrays), objects, words)
                if entry is not None:
                    entries.append({"shapes": [list(a.shape) for a in arrays], **entry})
    for arrays in [inputs[i] for i in job["ready"]]:
        warm(model, model.signature.check(arrays))
    objects |= {object_name(data): data for data in modules.values()}
    named = {key: object_name(data) for key, data in modules.items()}
    index = {"modules": named, "entries": entries}
    packed = model.derived_weights if job["packed"] else {}
    save({"results": [[wrap(a) for a in run] for run in results], "index": archive.json_bytes(index).decode(),
          "objects": {name: wrap(np.frombuffer(data, np.uint8).copy()) for name, data in objects.items()},
          "words": wrap(np.concatenate([*words, np.zeros(0, np.int64)])),
          "packed": {name: wrap(a) for name, a in packed.items()}}, os.path.join(folder, DONE))
    return 0


def _assume_level(level: str):
    """Compile for another kind of machine from now on, including what running code would request."""
    targets.assume(targets.cpu(level))
    compile.plan_only()
    pool.compile_code()
    call.compile_adapter()


def warm(model, sizes: dict):
    """Plan further sizes, so that their kernels are compiled too."""
    for further in further_sizes(sizes):
        with contextlib.suppress(ShapeError):
            model.planned(further)
            model.planned_for_more(further)


def further_sizes(sizes: dict) -> list:
    """Return sizes beside those of an example.

    They are others for each name by itself or, where some sizes are 1, for all other names together.
    """
    free = [name for name, n in sizes.items() if n != 1]
    groups = [(name,) for name in free] if len(free) == len(sizes) else [tuple(free)] * bool(free)
    return [{**sizes, **dict.fromkeys(group, n)} for group in groups for n in FURTHER]


# Images.


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
    entry: dict[str, Any] = {"kept": list(parts.weights), "sources": list(parts.sources), "names": list(parts.names)}
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
    runner = compile.compile_module(programs.runner_text(targets.host()), [programs.RUNNER])[programs.RUNNER]
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
