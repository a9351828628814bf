"""Stores: small tables of bytes by key that all processes of a run see, by which they find each other."""

import errno
import fcntl
import os
import struct
import time
from datetime import timedelta
from typing import Any

from ....ir.errors import ArgumentError
from ....ir.locks import new_condition
from ...cpu.compiler.private_folder import UntrustedError, open_private_file
from .distributed_errors import DistStoreError, DistTimeoutError

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store"]

DEFAULT_TIMEOUT = timedelta(seconds=300)
_PAUSE = 0.01
_LONGEST = 1e8      # seconds, three years: the longest wait that all platforms take
_MOST = (1 << 63) - 1       # number of a store
_DIGITS = 20        # of such a number, with its sign


def seconds(timeout) -> float:
    """Return a timeout in seconds, from a number or a timedelta; at most what sockets and locks take."""
    found = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
    if found != found:
        raise ArgumentError("a timeout is a number of seconds, got nan")
    return min(found, _LONGEST)


def seconds_in(field: bytes) -> float:
    """Return the time that a request may wait."""
    return max(0.0, seconds(field.decode("ascii")))


def number_in(field: bytes) -> int:
    """Return the number that a request adds."""
    return _checked(int(field)) if len(field) <= _DIGITS else _checked(_MOST + 1)


def _checked(number: int) -> int:
    if not -_MOST - 1 <= number <= _MOST:
        raise DistStoreError("numbers of a store have 64 bits")
    return number


def as_bytes(value) -> bytes:
    """Return a value as the bytes of a store."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise ArgumentError(f"a store keeps strings and bytes, got {type(value).__name__}")


class Table:
    """Keys and values of a store in this process, with waiting."""

    def __init__(self):
        self.data: dict[str, bytes] = {}
        self.changed = new_condition()

    def put(self, key: str, value: bytes):
        """Set a value."""
        with self.changed:
            self.data[key] = value
            self.changed.notify_all()

    def get(self, key: str, timeout: float) -> bytes:
        """Return the value once it is set."""
        self.wait([key], timeout)
        with self.changed:
            return self.data[key]

    def wait(self, keys: list, timeout: float):
        """Return when all keys are set."""
        with self.changed:
            if not self.changed.wait_for(lambda: all(k in self.data for k in keys), timeout):
                missing = [k for k in keys if k not in self.data]
                raise DistTimeoutError(f"waited {timeout:g} s for {missing} in the store; nobody has set it. Did every "
                                       "process start, with the right rank and world size?")

    def add(self, key: str, amount: int) -> int:
        """Add to a number and return the sum."""
        with self.changed:
            total = _checked(number_in(self.data.get(key, b"0")) + amount)
            self.data[key] = str(total).encode()
            self.changed.notify_all()
            return total

    def append(self, key: str, value: bytes):
        """Append bytes to a value."""
        with self.changed:
            self.data[key] = self.data.get(key, b"") + value
            self.changed.notify_all()

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        """Set `desired` if the value is `expected` (empty: if unset); return the value after that."""
        with self.changed:
            now = self.data.get(key)
            if now == expected or (now is None and not expected):
                self.data[key] = now = desired
                self.changed.notify_all()
            return expected if now is None else now

    def delete(self, key: str) -> bool:
        """Remove a key; return whether it was set."""
        with self.changed:
            return self.data.pop(key, None) is not None

    def has(self, keys: list) -> bool:
        """Return whether all keys are set."""
        with self.changed:
            return all(k in self.data for k in keys)

    def count(self) -> int:
        """Return the number of keys."""
        with self.changed:
            return len(self.data)


class Store:
    """Base of stores. `table` does the work; reads wait up to `timeout` for a key to be set."""

    table: Any

    def __init__(self, timeout=DEFAULT_TIMEOUT):
        self.set_timeout(timeout)

    def set_timeout(self, timeout):
        """Set the timeout of get and wait."""
        self.timeout = timeout if isinstance(timeout, timedelta) else timedelta(seconds=seconds(timeout))

    def _key(self, key):
        return key

    def set(self, key, value):
        """Set a value (a string or bytes)."""
        self.table.put(self._key(key), as_bytes(value))

    def get(self, key) -> bytes:
        """Return the value; wait until it is set."""
        return self.table.get(self._key(key), seconds(self.timeout))

    def add(self, key, amount) -> int:
        """Add to the number at `key` (initially 0) and return the sum."""
        return self.table.add(self._key(key), int(amount))

    def append(self, key, value):
        self.table.append(self._key(key), as_bytes(value))

    def compare_set(self, key, expected_value, desired_value) -> bytes:
        return self.table.compare_set(self._key(key), as_bytes(expected_value), as_bytes(desired_value))

    def wait(self, keys, timeout=None):
        self.table.wait([self._key(k) for k in keys], seconds(self.timeout if timeout is None else timeout))

    def check(self, keys) -> bool:
        return self.table.has([self._key(k) for k in keys])

    def delete_key(self, key) -> bool:
        """Remove a key; return whether it was set."""
        return self.table.delete(self._key(key))

    def num_keys(self) -> int:
        return self.table.count()

    def multi_set(self, keys, values):
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def multi_get(self, keys) -> list:
        """Return several values."""
        return [self.get(k) for k in keys]


class HashStore(Store):
    """Store among the threads of one process."""

    def __init__(self, timeout=DEFAULT_TIMEOUT):
        super().__init__(timeout)
        self.table = Table()


class PrefixStore(Store):
    """Store that prefixes every key of another one."""

    def __init__(self, prefix: str, store: Store):
        super().__init__(store.timeout)
        self.prefix, self.underlying_store, self.table = prefix, store, store.table

    def _key(self, key):
        return self.underlying_store._key(f"{self.prefix}/{key}")


class _FileTable:
    """Table in a file as the sequence of its changes; every access holds the file's lock and reads new changes."""

    _record = struct.Struct("<qI")       # bytes of the value (-1: removed), bytes of the key

    def __init__(self, path):
        self.path, self.here, self.position = os.fspath(path), Table(), 0

    def _locked(self, change):
        """Run change(rows) on the present rows; write the (key, value) pairs that it returns."""
        with self._open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self.position)
            self._take(file.read())
            written, found = change(self.here.data)
            for key, value in written:
                name = key.encode()
                file.write(self._record.pack(-1 if value is None else len(value), len(name)) + name + (value or b""))
                self._enter(key, value)
            file.flush()
            self.position = file.tell()
        return found

    def _open(self):
        try:
            return os.fdopen(open_private_file(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "a+b")
        except UntrustedError as e:
            raise DistStoreError(f"the store's file: {e}") from e
        except OSError as e:
            if e.errno != errno.ELOOP:
                raise
            raise DistStoreError(f"the store's file {self.path} is a link; name the file itself") from e

    def _take(self, text):
        at = 0
        while at < len(text):
            size, length = self._record.unpack_from(text, at) if len(text) - at >= self._record.size else (-1, len(text))
            begin = at + self._record.size
            end = begin + length + max(0, size)
            if size < -1 or end > len(text):
                raise DistStoreError(f"{self.path} is damaged or no file of a store; use a new file for every run")
            key = text[begin: begin + length].decode(errors="replace")
            self._enter(key, None if size < 0 else text[begin + length: end])
            at = end

    def _enter(self, key, value):
        if value is None:
            self.here.data.pop(key, None)
        else:
            self.here.data[key] = value

    def _changed_by(self, method, key, *args):
        """Apply a method of Table to one key, and write the result to the file."""
        def change(rows):
            before = rows.get(key)
            found = getattr(self.here, method)(key, *args)
            after = rows.get(key)
            return ([] if before == after else [(key, after)]), found

        return self._locked(change)

    def put(self, key, value):
        self._changed_by("put", key, value)

    def add(self, key, amount):
        return self._changed_by("add", key, amount)

    def append(self, key, value):
        self._changed_by("append", key, value)

    def compare_set(self, key, expected, desired):
        return self._changed_by("compare_set", key, expected, desired)

    def delete(self, key):
        return self._changed_by("delete", key)

    def has(self, keys):
        return self._locked(lambda rows: ([], all(k in rows for k in keys)))

    def count(self):
        return self._locked(lambda rows: ([], len(rows)))

    def get(self, key, timeout):
        self.wait([key], timeout)
        return self._locked(lambda rows: ([], rows[key]))

    def wait(self, keys, timeout):
        deadline = time.monotonic() + timeout
        while not self.has(keys):
            if time.monotonic() > deadline:
                raise DistTimeoutError(f"waited {timeout:g} s for {keys} in the store at {self.path}; nobody has set it")
            time.sleep(_PAUSE)


class FileStore(Store):
    """Store in a file of this user that all processes reach. Use a new file for every run. `world_size` is kept for callers."""

    def __init__(self, file_name, world_size=-1, timeout=DEFAULT_TIMEOUT):
        super().__init__(timeout)
        self.path, self.world_size = os.fspath(file_name), world_size
        if not os.path.isdir(os.path.dirname(os.path.abspath(self.path))):
            raise DistStoreError(f"the folder of the store's file {self.path} does not exist")
        self.table = _FileTable(self.path)
