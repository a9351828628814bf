"""Precompiled code in model files for this kind of machine: kernels, and whole graphs as images."""

import bisect
from dataclasses import dataclass

import numpy as np

from ....ir.errors import FileError
from ....ir.target import Target, cpu, host
from ....runtime.cpu.calls import pool
from ....runtime.cpu.compiler import amx, compile
from ....runtime.serialization import safetensors
from .image import Image, Ready

_WORD = 8


@dataclass(frozen=True)
class Entry:
    """A model's graph for some sizes.

    main     image of every call, on the arguments, the weights numbered `weights` and the derived values
    derived  image, run once, of values derived from the weights `sources`, or None
    names    a content-based name for each result of `derived`
    """

    main: Image
    derived: Image | None
    weights: tuple
    sources: tuple
    names: tuple
    objects: dict

    def derive(self, arrays) -> list:
        if self.derived is None:
            return []
        return Ready(self.derived, self.objects, [a.dtype for a in arrays], None).run(arrays)

    def callable(self, dtypes, instead) -> Ready:
        return Ready(self.main, self.objects, dtypes, instead)


class Code:
    """Code of a file for one target.

    name     the target's name in the file
    objects  {name: bytes}
    packed   {name: array} of derived weights, if they are in the file
    entries  {shapes of the inputs: [entry data, in order of the threads that they are for]}
    """

    def __init__(self, name: str, index: dict, blob: np.ndarray, arguments: int, weights: int, packed: dict):
        self.name, self.packed = name, packed
        self._blob, self._arguments, self._weights = blob, arguments, weights
        self.objects = {key: self._part(start, size) for key, (start, size) in index["objects"].items()}
        self.entries: dict = {}
        for data in index["entries"]:
            self.entries.setdefault(tuple(map(tuple, data["shapes"])), []).append(data)
        for found in self.entries.values():
            found.sort(key=_threads)
        compile.use_objects({key: self.objects[n] for key, n in index["modules"].items()})

    @classmethod
    def of(cls, reader, names) -> "Code | None":
        """Return the code in a file that suits this machine best, or None."""
        fitting = [(len(target.features), name) for name in names if (target := suits(name)) is not None]
        if not fitting:
            return None
        name = max(fitting)[1]
        manifest = reader.manifest
        packed = f"objects/{name}.packed"
        found = safetensors.read_memory(reader.member(packed), packed) if packed in reader.names() else {}
        return cls(name, reader.json(f"objects/{name}.json"), reader.member(f"objects/{name}.bin"),
                   len(manifest["signature"]["inputs"]), len(manifest["weights"]), {key: t._a for key, t in found.items()})

    def _part(self, start, size):
        if not (type(start) is type(size) is int and 0 <= start <= start + size <= self._blob.nbytes):
            raise FileError("code lies outside of its member")
        return self._blob[start:start + size]

    def _image(self, data):
        start, count = data["words"]
        image = Image.from_json(data, self._part(start, _WORD * count).view(np.int64))
        if any(name not in self.objects for name in (image.runner[0], *[name for _, name, _ in image.code])):
            raise FileError("a ready program names code that is not there")
        return image

    def _entry(self, data) -> Entry:
        main, derived = self._image(data["main"]), data["derived"] and self._image(data["derived"])
        weights, sources, names = (tuple(data[key]) for key in ("kept", "sources", "names"))
        if not all(type(n) is int and 0 <= n < self._weights for n in (*weights, *sources)):
            raise FileError("a ready program takes weights that are not there")
        made = len(derived.outputs) if derived else 0
        takes = self._arguments + len(weights) + made
        if made != len(names) or main.inputs != takes or (derived and derived.inputs != len(sources)):
            raise FileError("a ready program takes other arrays than there are")
        return Entry(main, derived, weights, sources, names, self.objects)

    def ready(self, shapes) -> Entry | None:
        """Return the entry for input shapes and the current number of threads, or None."""
        found = self.entries.get(shapes, [])
        number = bisect.bisect_left(found, pool.get_num_threads(), key=_threads)
        return self._entry(found[number]) if number < len(found) and compile.maps_objects() else None


def _threads(data) -> int:
    return data["main"]["threads"]


def suits(name: str) -> Target | None:
    """Return the target of a name if this machine would make the same code, or code with more features.

    Code that may use matrix tiles is only for processes that are allowed to.
    """
    level, *features = name.split("+")
    mine = host()
    if level != mine.level or not set(features) <= mine.features or (amx.FEATURES & set(features) and not amx.is_allowed()):
        return None
    return cpu(level, features)
