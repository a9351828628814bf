"""The `.ingot` file: an uncompressed zip archive whose members begin at multiples of 64 bytes.

    manifest.json           format, versions, signature, and size and checksum of every other member
    graph.txt               the graph after all passes, as IR text with the user's lines
    source.json             the text of those lines
    weights.safetensors     constants of the graph, used in place in the mapped file
    objects/<target>.bin    compiled kernels for one kind of machine, one after the other
    objects/<target>.json   offsets of the kernels in it
    objects/<target>.packed weights as kernels of that machine read them, if the export asked for them

A member is read only after its size and checksum agree with the manifest; the manifest's own CRC is part of the zip format.
Checksums find damage. They are no signature: whoever can write the file can write them too. Only the objects of a file are ever
executed, and only if the caller allows it.
"""

import errno
import hashlib
import json
import mmap
import os
import sys
from contextlib import contextmanager

import numpy as np

from ....ir.errors import ArgumentError, FileError, IngotError
from ....runtime.serialization import archive as container
from ....runtime.serialization.regular_file import open_regular
from ....runtime.serialization.save_load import replacing

FORMAT = 1
MANIFEST = "manifest.json"
_KIND = "ingot model"
_SMALL = 1 << 16
_ROW = 256                # 64-bit words whose sum is one number of a large member's checksum
_ROWS = 128


def checksum(data) -> str:
    """Return a name for the content of a member.

    Small members are hashed whole. For large ones the sums of rows and columns of 64-bit words are hashed, which takes some
    milliseconds for a hundred megabytes; any changed byte changes two of them.
    """
    raw = np.frombuffer(data, np.uint8)
    head = hashlib.sha256(str(raw.size).encode())
    if raw.size < _SMALL:
        head.update(raw)
        return head.hexdigest()
    block = 8 * _ROW * _ROWS
    whole = raw.size // block * block
    for start in range(0, whole, block):
        words = raw[start:start + block].view(np.uint64).reshape(_ROWS, _ROW)
        head.update(np.add.reduce(words, axis=1))
        head.update(np.add.reduce(words, axis=0))
    head.update(raw[whole:])
    return head.hexdigest()


def write(path: str, manifest: dict, members: dict):
    """Write members (bytes by name, in order) and the manifest to `path`: the whole file, or nothing."""
    entries = {name: {"size": len(data), "checksum": checksum(data)} for name, data in members.items()}
    manifest = {"kind": _KIND, "format": FORMAT, "byteorder": sys.byteorder, **manifest, "members": entries}
    text = json.dumps(manifest, allow_nan=False, indent=1).encode()
    with replacing(path) as file, container.NewArchive(file, "w") as archive:
        for name, data in {MANIFEST: text, **members}.items():
            container.write_block(archive, name, np.frombuffer(data, np.uint8))


class Reader:
    """An open `.ingot` file with a checked manifest."""

    def __init__(self, path: str):
        self.path, self.name = path, os.path.basename(path)
        with guarded(self.name), open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if file.read(4) != b"PK\x03\x04":
                raise FileError(f"{self.name} is not an ingot model" + (": it is empty" if not size else ""))
            self.memory = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
            archive = container.Archive(file, self.name, self.memory)
            if MANIFEST not in archive.entries:
                raise FileError(f"{self.name} is not an ingot model, as jit.export or export writes: it has no {MANIFEST}; "
                                "ingot.load reads files of ingot.save and torch.save")
            self.manifest = _manifest(json.loads(archive.text(MANIFEST)), self.name)
            listed = self.manifest["members"]
            if set(archive.entries) != {MANIFEST, *listed}:
                raise FileError(f"{self.name}: the members are not those that the manifest names; the file is damaged")
            self._blocks = {name: archive.block(name, listed[name]["size"]).memory for name in listed}

    def names(self):
        return list(self._blocks)

    def size(self, name: str) -> int:
        return self._blocks[name].nbytes

    def member(self, name: str) -> np.ndarray:
        """Return the bytes of a member, checked, in place in the mapped file."""
        block = self._blocks.get(name)
        if block is None:
            raise FileError(f"{self.name} has no {name}; the file is incomplete")
        if checksum(block) != self.manifest["members"][name]["checksum"]:
            raise FileError(f"{self.name}: the checksum of {name} is wrong; the file is damaged")
        return block

    def json(self, name: str):
        return json.loads(self.member(name).tobytes())

    def text(self, name: str) -> str:
        return self.member(name).tobytes().decode()


def _manifest(data, name):
    if type(data) is not dict or data.get("kind") != _KIND or type(data.get("format")) is not int:
        raise FileError(f"{name} is not an ingot model: its manifest does not say so")
    if data["format"] > FORMAT:
        raise FileError(f"{name} has format {data['format']}, newer than this ingot reads ({FORMAT}), written by ingot "
                        f"{data.get('ingot')}; update ingot")
    if data.get("byteorder") != sys.byteorder:
        raise FileError(f"{name} was written on a {data.get('byteorder')}-endian machine; this one is {sys.byteorder}-endian")
    for member, entry in data["members"].items():
        if type(entry["size"]) is not int or type(entry["checksum"]) is not str:
            raise FileError(f"{name}: the entry of {member} is damaged")
    return data


@contextmanager
def guarded(name: str, let_through=()):
    """Turn errors about the content of a file into one FileError; errors that say nothing of the file pass."""
    try:
        yield
    except let_through:
        raise
    except FileError as e:
        raise e if name in str(e) else FileError(f"{name}: {e}") from e
    except OSError as e:
        if e.errno is None:
            raise FileError(f"{name} cannot be read: {e}") from e
        raise
    except IngotError as e:
        raise FileError(f"{name}: {e}") from e
    except Exception as e:
        raise FileError(f"{name} is damaged or of an unknown format ({type(e).__name__}: {e})") from e


def json_bytes(data) -> bytes:
    """Return data as the bytes of a JSON member."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()


def new_path_of(path) -> str:
    """Return the path of a file to be written, as text; raise before long work if it cannot be written."""
    path = path_of(path)
    folder = os.path.dirname(path) or os.curdir
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", folder)
    if os.path.isdir(path) or not os.path.basename(path):
        raise IsADirectoryError(errno.EISDIR, "a file cannot take the place of a folder", path)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "nothing may be written to this folder", folder)
    return path


def path_of(path) -> str:
    """Return a path as text."""
    try:
        return os.fsdecode(os.fspath(path))
    except TypeError:
        raise ArgumentError(f"expected the path of a file, got {type(path).__name__}") from None
