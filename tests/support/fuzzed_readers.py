"""Fuzz a reader, guided by its coverage: `python fuzzed_readers.py READER SECONDS [FOLDER]`.

Atheris keeps inputs that reach new lines in the modules of readers, and mutates them further. It begins with the corpus of the
tree. The program ends with code 0, or with the first input that broke a bound of `reader_seeds.read`, which it keeps in FOLDER.
`--keep` instead of SECONDS stores small inputs of FOLDER as the corpus.
"""

import inspect
import random
import re
import sys
import tempfile
import types
import zipfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

import this_checkout  # noqa: E402

this_checkout.make_importable()

import reader_seeds  # noqa: E402  (found only now)

CORPUS = Path(__file__).parent / "reader_corpus"
LARGEST = 1 << 14       # bytes of an input
LARGEST_KEPT, MOST_KEPT = 4096, 40      # bytes and number of inputs in the corpus of a reader
ROOMS = ("runtime.serialization", "runtime.distributed.checkpoint", "jit.exporting.file", "ir.graph.text", "ir.graph.verify",
         "jit.onnx.format", "jit.onnx.importers")


def path_of(name) -> Path:
    """Return the path of a reader's corpus."""
    return CORPUS / f"{re.sub(r'[^a-z]+', '_', name.lower()).strip('_')}.zip"


def corpus_of(name) -> dict:
    """Return {name: bytes} of the inputs in the tree, besides the honest file."""
    path = path_of(name)
    return (reader_seeds.unpacked(path.read_bytes()) or {}) if path.exists() else {}


def modules() -> list:
    """Return the loaded modules of readers."""
    return [m for path, m in sorted(sys.modules.items()) for room in ROOMS if f"{path}.".startswith(f"ingot.{room}.")]


def functions(owner, here) -> list:
    """Return the Python functions of a module or class, with those of its classes, that stand in the module `here`."""
    found = []
    for v in vars(owner).values():
        v = v.fget if isinstance(v, property) else v.__func__ if isinstance(v, (classmethod, staticmethod)) else v
        v = inspect.unwrap(v) if isinstance(v, types.FunctionType) else v
        if isinstance(v, (types.FunctionType, type)) and v.__module__ == here:
            found += functions(v, here) if isinstance(v, type) else [v]
    return found


def start_inputs(name, folder):
    folder.mkdir(exist_ok=True)
    for number, data in enumerate([*reader_seeds.honest_files(name), *corpus_of(name).values()]):
        (folder / f"start{number}").write_bytes(data)


def fuzz(name, folder, *options):
    """Run libFuzzer, which ends the process."""
    import atheris

    reader, make = reader_seeds.READERS[name]
    reader(make())          # loads the modules
    for module in modules():
        for function in functions(module, module.__name__):
            atheris.instrument_func(function)

    def mutate(data, most, seed):
        draw = random.Random(seed)
        if draw.random() < 0.3:
            return atheris.Mutate(data, most)
        return reader_seeds.inside_mutated(data, draw, lambda part, _: atheris.Mutate(part, LARGEST))[:most]

    words = [sys.argv[0], "-timeout=60", "-rss_limit_mb=4096", f"-max_len={LARGEST}", f"-artifact_prefix={folder}/", *options]
    atheris.Setup(words, lambda data: reader_seeds.read(name, data), custom_mutator=mutate)
    atheris.Fuzz()


def keep(name, folder):
    """Store the smallest inputs of a folder, each of which reached a new line."""
    found = sorted([p.read_bytes() for p in folder.iterdir() if not p.name.startswith("start")], key=lambda d: (len(d), d))
    found = [data for data in found if len(data) <= LARGEST_KEPT][:MOST_KEPT]
    CORPUS.mkdir(exist_ok=True)
    path = path_of(name)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for number, data in enumerate(found):
            made.writestr(zipfile.ZipInfo(f"{number}"), data, zipfile.ZIP_DEFLATED)
    print(f"{path}: {len(found)} inputs")


def main(name, seconds, folder=None):
    folder = Path(folder or tempfile.mkdtemp(prefix="ingot-readers-"))
    if seconds == "--keep":
        return keep(name, folder)
    start_inputs(name, folder)
    return fuzz(name, folder, f"-max_total_time={seconds}", "-print_final_stats=1", str(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
