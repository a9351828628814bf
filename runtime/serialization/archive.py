"""The ingot file: an uncompressed zip archive of one JSON text (`ingot.json`) and raw blocks (`data/0`, `data/1`, ...).

Blocks begin at multiples of 64 bytes, so a mapped file can be used in place. The CRC-32 of every entry is checked when it is
read (not when it is mapped). Nothing in the file is ever executed.
"""

import json
import struct
import sys
import zipfile
import zlib

import numpy as np

from ...ir.errors import FileError
from .file_buffers import Block
from .json_tree import Reader, Writer, no_device
from .read_budget import ReadBudget, shown

INDEX = "ingot.json"
OBJECTS = "objects.pkl"     # entry of files with Python objects
FORMAT = 1
_ALIGN = 64
_LOCAL_HEADER = 30
_PADDING_ID = 0x4749        # extra field of the zip header: zeros
_ZIP64_BYTES = 20
_LARGE = 1 << 31


def write(obj, file, entries=None):
    """Write `obj` to an open binary file, with further small entries by name."""
    writer = Writer()
    tree = writer.encode(obj)
    blocks = writer.blocks()
    index = {"format": FORMAT, "byteorder": sys.byteorder, "tree": tree, "tensors": writer.tensors,
             "blocks": [b.nbytes for b in blocks]}
    with NewArchive(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(INDEX), json.dumps(index, allow_nan=False, separators=(",", ":")))
        for name, content in (entries or {}).items():
            archive.writestr(zipfile.ZipInfo(name), content)
        for i, block in enumerate(blocks):
            write_block(archive, f"data/{i}", block)


class NewArchive(zipfile.ZipFile):
    """A zip file in an open file. After an exception it is left unfinished: to close it in the middle of an entry would raise
    another error in the place of that one (tests/runtime/serialization/test_interrupted_saves.py)."""

    # Nothing, in C: Python drops an exception that comes in a finaliser.
    __del__ = tuple         # type: ignore[assignment]

    def __exit__(self, kind, error, traceback):
        if kind is not None:
            self.fp = None
        self.close()


def write_block(archive, name, block):
    """Add flat bytes to an archive under a name, at a multiple of 64 bytes."""
    entry = zipfile.ZipInfo(name)
    entry.file_size = block.nbytes
    large = block.nbytes >= _LARGE
    head = archive.fp.tell() + _LOCAL_HEADER + len(name) + (_ZIP64_BYTES if large else 0) + 4
    entry.extra = struct.pack("<HH", _PADDING_ID, -head % _ALIGN) + bytes(-head % _ALIGN)
    with archive.open(entry, "w", force_zip64=large) as out:
        view, step = memoryview(block), 1 << 24
        for start in range(0, len(view), step):
            out.write(view[start:start + step])


class Archive:
    """Zip file whose entries are read straight into memory, or mapped."""

    def __init__(self, file, name, mapped=None):
        self.file, self.name, self.mapped = file, name, mapped
        self.zip = zipfile.ZipFile(file)
        self.entries = {e.filename: e for e in self.zip.infolist()}
        if len(self.entries) != len(self.zip.infolist()):
            raise FileError(f"{name}: two entries of the archive have the same name")
        file.seek(0, 2)
        self.size = file.tell()
        self.budget = ReadBudget(name, self.size)
        self._check_places()

    def _check_places(self):
        """Raise if entries share bytes of the file: a few bytes could then stand for any number of entries."""
        end = 0
        for entry in sorted(self.entries.values(), key=lambda e: e.header_offset):
            if entry.header_offset < end:
                raise FileError(f"{self.name}: entry {shown(entry.filename)} overlaps another one; the file is damaged")
            end = entry.header_offset + _LOCAL_HEADER + entry.compress_size

    def text(self, entry_name) -> bytes:
        """Return the checked bytes of a small entry."""
        return self._read(self._entry(entry_name)).tobytes()

    def block(self, entry_name, nbytes, byteorder="little") -> Block:
        """Return an entry of a known size."""
        entry = self._entry(entry_name)
        if type(nbytes) is not int or entry.file_size != nbytes:
            raise FileError(f"{self.name}: {entry_name} has {entry.file_size} bytes, expected {nbytes}; the file is damaged")
        if self.mapped is not None:
            start = self._data_start(entry)
            memory = np.asarray(self.mapped[start:start + nbytes])
        else:
            memory = self._read(entry)
        return Block(memory, self.name, self.budget, byteorder)

    def _entry(self, entry_name):
        entry = self.entries.get(entry_name)
        if entry is None:
            raise FileError(f"{self.name}: the archive has no entry {entry_name}; the file is incomplete")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise FileError(f"{self.name}: entry {entry_name} is compressed; only stored entries are read")
        return entry

    def _data_start(self, entry) -> int:
        """Return the offset of an entry's bytes; raise unless all are inside the file."""
        inside = 0 <= entry.header_offset < self.size
        self.file.seek(entry.header_offset if inside else self.size)
        header = self.file.read(_LOCAL_HEADER)
        if len(header) != _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            raise FileError(f"{self.name}: entry {entry.filename} has no header; the file is damaged")
        name_bytes, extra_bytes = struct.unpack("<HH", header[26:30])
        start = entry.header_offset + _LOCAL_HEADER + name_bytes + extra_bytes
        if start + entry.file_size > self.size:
            raise FileError(f"{self.name}: entry {entry.filename} ends after the file; the file is cut off")
        return start

    def _read(self, entry) -> np.ndarray:
        start = self._data_start(entry)
        memory = np.empty(entry.file_size, np.uint8)
        self.file.seek(start)
        if fill(self.file, memory) != memory.nbytes:
            raise FileError(f"{self.name}: entry {entry.filename} is cut off")
        if zlib.crc32(memory.data) != entry.CRC:
            raise FileError(f"{self.name}: the checksum of {entry.filename} is wrong; the file is damaged")
        return memory


def fill(file, memory) -> int:
    """Read until `memory` is full or the file ends; return the number of bytes."""
    view, done = memoryview(memory), 0
    while done < len(view):
        if hasattr(file, "readinto"):
            got = file.readinto(view[done:])
        else:
            data = file.read(len(view) - done)
            got = len(data)
            view[done:done + got] = data
        if not got:
            break
        done += got
    return done


def read(archive: Archive, where=no_device):
    """Return the object that `write` wrote; `where(location)` is the device for a saved location, None for the CPU."""
    index = json.loads(archive.text(INDEX))
    if type(index) is not dict or type(index.get("format")) is not int:
        raise FileError(f"{archive.name}: {INDEX} does not describe an ingot file")
    if index["format"] > FORMAT:
        raise FileError(f"{archive.name} has format {index['format']}, newer than this ingot reads ({FORMAT}); update ingot")
    if index["byteorder"] not in ("little", "big"):
        raise FileError(f"{archive.name}: unknown byte order {index['byteorder']!r}")
    blocks = [archive.block(f"data/{i}", n, index["byteorder"]) for i, n in enumerate(index["blocks"])]
    return Reader(index["tensors"], blocks, archive.budget, where).decode(index["tree"])
