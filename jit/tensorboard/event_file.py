"""Event files: records of a length and its checksum, a message and its checksum.

Messages are protocol buffers: lists of fields, (number, value). An int is a varint, a float a double, a `Float` a 32-bit one;
text and bytes stay as they are; a NumPy array of doubles or floats is packed. None leaves a field out.

The checksum is CRC-32C. Long messages are cut into pieces whose checksums are computed side by side, a byte of each at a time,
and then joined: a linear map moves a checksum over the bytes behind it.
"""

import functools
import itertools
import os
import socket
import struct
import time
from pathlib import Path

import numpy as np

from ...ir.locks import new_lock
from ...ir.process_state import ignore_float_errors

_POLYNOMIAL = 0x82F63B78            # of CRC-32C, its bits turned round
_PIECES = 256                       # of a long message
_LONG = 4096                        # bytes from which on it is cut into pieces
_ALL = 0xFFFFFFFF
_numbers = itertools.count()        # of the files of this process
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5        # kinds of fields
_BITS64 = (1 << 64) - 1


class Float(float):
    """A number that its message keeps in 32 bits."""


def varint(number: int) -> bytes:
    """Return an int as seven bits a byte, the lowest first; negative numbers are 64-bit ones."""
    number &= _BITS64
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def message(*fields) -> bytes:
    """Return the fields that have values, one after the other."""
    return b"".join([_field(number, value) for number, value in fields if value is not None])


@ignore_float_errors
def _field(number, value):
    if isinstance(value, Float):
        return varint(number << 3 | _FIXED32) + np.array(value, "<f4").tobytes()
    if isinstance(value, float):
        return varint(number << 3 | _FIXED64) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3 | _VARINT) + varint(value)
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    elif isinstance(value, np.ndarray):
        value = value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
    return varint(number << 3 | _BYTES) + varint(len(value)) + value


@functools.lru_cache(None)
def _table() -> np.ndarray:
    """Return the effect of each byte on a checksum."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> np.uint32(1) ^ np.uint32(_POLYNOMIAL), table >> np.uint32(1))
    return table


@functools.lru_cache(16)
def _moved_over(size: int) -> np.ndarray:
    """Return four tables, one for each byte of a checksum: its value after `size` zeros."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for _ in range(size):
        bits = _table()[bits & np.uint32(255)] ^ bits >> np.uint32(8)
    values = np.arange(256)
    return np.stack([np.bitwise_xor.reduce(np.where(values[:, None] >> np.arange(8) & 1, bits[8 * i:8 * i + 8], 0), 1)
                     for i in range(4)]).astype(np.uint32)


def crc32c(data: bytes) -> int:
    """Return the checksum of some bytes."""
    size = len(data) // _PIECES if len(data) >= _LONG else 0
    pieces = np.frombuffer(data, np.uint8, size * _PIECES).reshape(_PIECES, size).T
    table, crc = _table(), _ALL
    if size:
        sums = np.zeros(_PIECES, np.uint32)
        for column in np.ascontiguousarray(pieces):
            sums = table[(sums ^ column) & np.uint32(255)] ^ sums >> np.uint32(8)
        tables = _moved_over(size).tolist()
        for one in sums.tolist():
            crc = tables[0][crc & 255] ^ tables[1][crc >> 8 & 255] ^ tables[2][crc >> 16 & 255] ^ tables[3][crc >> 24] ^ one
    numbers = table.tolist()
    for byte in data[size * _PIECES:]:
        crc = numbers[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ _ALL


def record(data: bytes) -> bytes:
    """Return a message as a record of the file."""
    size = struct.pack("<Q", len(data))
    return size + _masked(size) + data + _masked(data)


def _masked(data):
    crc = crc32c(data)
    return struct.pack("<I", (crc >> 15 | crc << 17) + 0xA282EAD8 & _ALL)


class EventFile:
    """A file of events in a folder. It is flushed after `max_queue` events or `flush_secs`. Threads may share it; a forked
    process continues in a file of its own."""

    def __init__(self, log_dir, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = ""):
        self._folder, self._suffix = Path(log_dir), filename_suffix
        self._most, self._seconds = max_queue, flush_secs
        self._lock = new_lock()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._begin()

    def _begin(self):
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{self._suffix}"
        self.path = self._folder / name
        self._owner, self._waiting, self._flushed = os.getpid(), [], now
        self.path.touch()
        self._write(message((1, now), (3, "brain.Event:2")))

    def get_logdir(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def add_summary(self, summary: bytes, global_step: int | None = None, walltime: float | None = None):
        """Write a summary message at a step."""
        self.add_event((5, summary), step=global_step, walltime=walltime)

    def add_event(self, field: tuple, step: int | None = None, walltime: float | None = None):
        """Write an event with a field of its message."""
        event = message((1, time.time() if walltime is None else float(walltime)),
                        (2, None if step is None else int(step)), field)
        with self._lock:
            if self._owner != os.getpid():
                self._begin()
            self._write(event)
            if len(self._waiting) >= self._most or time.time() - self._flushed >= self._seconds:
                self._flush()

    def _write(self, event):
        self._waiting.append(record(event))

    def _flush(self):
        waiting, self._waiting, self._flushed = self._waiting, [], time.time()
        if waiting and self._owner == os.getpid():
            with self.path.open("ab") as file:
                file.write(b"".join(waiting))

    def flush(self):
        """Write everything to the disk."""
        with self._lock:
            self._flush()

    close = flush

    def reopen(self):
        """Do nothing: a closed file takes further events."""
