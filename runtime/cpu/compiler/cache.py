"""The disk cache of compiled objects: checksummed files, written atomically, bounded in size.

Folder: `INGOT_CACHE_DIR`, else `$XDG_CACHE_HOME/ingot`, else `~/.cache/ingot`. One file per key, `<k1k2>/<key>.<kind>`:

    magic "INGOTOBJ" | u32 format | u32 maker length | u64 payload length | sha256(maker + payload) | maker | payload

`maker` names the compiler of the payload. An entry that is short, altered, of another format or owned by another user counts as
absent. Writers put a temporary file in place by rename, so racing processes only ever see whole files. A hit refreshes the
file's time. When the total passes `INGOT_CACHE_SIZE` (MiB, default 512) or there are very many entries, the least recently used
go. A storing process checks this once an hour, or after it stored a lot. A folder that cannot be written costs one warning per
process, never an error.
"""

import contextlib
import hashlib
import os
import struct
import tempfile
import threading
import time
import warnings
from pathlib import Path

from ....ir import config

_MAGIC = b"INGOTOBJ"
_FORMAT = 1
_HEAD = struct.Struct("<8sIIQ32s")
_REFRESH_SECONDS = 3600
_SWEEP_SECONDS = 3600
_SWEPT = "swept"                # the file whose time is that of the last check
MOST_ENTRIES = 1 << 15          # each takes a disk block and time to check, however small it is
_STALE_TEMPORARY_SECONDS = 3600


class _State:
    """State of this process: whether it warned, and how many entries and bytes it may store before it checks again."""

    lock = threading.Lock()
    warned = False
    allowance: tuple[float, float] | None = None        # None before its first store


def folder() -> Path:
    """Return the folder of the cache; it may not exist yet."""
    chosen = config.current().cache_dir
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ingot"


def load(key: str, kind: str = "o") -> tuple[bytes, str] | None:
    """Return (payload, maker) of an entry, or None if there is no sound one."""
    try:
        path = _path(key, kind)
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not _trusted(status):
                return None
            data = file.read()
        if time.time() - status.st_mtime > _REFRESH_SECONDS:
            os.utime(path)
    except (OSError, RuntimeError):
        return None
    return _unpack(data)


def store(key: str, payload: bytes, maker: str = "", kind: str = "o") -> bool:
    """Store an entry; return False (and warn once per process) if the disk does not take it."""
    try:
        path = _path(key, kind)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, _pack(payload, maker))
    except (OSError, RuntimeError) as error:
        _warn(error)
        return False
    if _is_due(len(payload)):
        trim()
    return True


def _is_due(size):
    """Whether the folder must be checked after a store of so many bytes."""
    with _State.lock:
        if _State.allowance is None:
            _State.allowance = _allowed(MOST_ENTRIES, _cap())       # the folder was not checked
            return _was_swept_long_ago()
        entries, total = _State.allowance
        _State.allowance = entries - 1, total - size
        return entries < 1 or total < size


def _allowed(entries, total):
    """Return how many entries and bytes may be stored unchecked, beside so many that exist."""
    return max(MOST_ENTRIES / 16, (MOST_ENTRIES - entries) / 4), max(_cap() / 16, (_cap() - total) / 4)


def info() -> dict:
    """Return folder, number of entries, bytes in use and the cap in bytes."""
    entries = _entries()
    return {"folder": str(folder()), "entries": len(entries), "bytes": sum(size for _, size, _ in entries), "cap": _cap()}


def clear() -> int:
    """Remove every entry; return how many there were."""
    entries = _entries()
    for _, _, path in entries:
        _remove(path)
    return len(entries)


def trim(cap: int | None = None):
    """Remove the least recently used entries, down to 80 % of a cap that their total or number passes."""
    with contextlib.suppress(OSError):
        (folder() / _SWEPT).touch(mode=0o600)
    cap = _cap() if cap is None else cap
    entries = sorted(_entries())
    total, count = sum(size for _, size, _ in entries), len(entries)
    if total > cap or count > MOST_ENTRIES:
        for _, size, path in entries:
            if total <= 0.8 * cap and count <= 0.8 * MOST_ENTRIES:
                break
            _remove(path)
            total, count = total - size, count - 1
    with _State.lock:
        _State.allowance = _allowed(count, total)


def _was_swept_long_ago():
    try:
        return time.time() - (folder() / _SWEPT).stat().st_mtime > _SWEEP_SECONDS
    except OSError:
        return True


def _path(key, kind):
    return folder() / key[:2] / f"{key}.{kind}"


def _cap():
    return int(config.current().cache_size * 2**20)


def _trusted(status):
    """Whether a file belongs to this user or root: machine code is run as found."""
    return not hasattr(os, "getuid") or status.st_uid in (os.getuid(), 0)


def _pack(payload, maker):
    maker = maker.encode()
    digest = hashlib.sha256(maker + payload).digest()
    return _HEAD.pack(_MAGIC, _FORMAT, len(maker), len(payload), digest) + maker + payload


def _unpack(data):
    if len(data) < _HEAD.size:
        return None
    magic, version, maker_length, length, digest = _HEAD.unpack_from(data)
    body = data[_HEAD.size:]
    if magic != _MAGIC or version != _FORMAT or len(body) != maker_length + length:
        return None
    if hashlib.sha256(body).digest() != digest:
        return None
    return body[maker_length:], body[:maker_length].decode(errors="replace")


def _write(path, data):
    handle, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise


def _entries():
    """Return (time last used, size, path) of each entry; remove temporary files left by a killed process."""
    found = []
    for entry in _files():
        try:
            status = entry.stat()
        except OSError:
            continue
        if entry.name.startswith(".new-"):
            if time.time() - status.st_mtime > _STALE_TEMPORARY_SECONDS:
                _remove(entry.path)
        elif "." in entry.name:
            found.append((status.st_mtime, status.st_size, entry.path))
    return found


def _files():
    with contextlib.suppress(OSError), os.scandir(folder()) as parts:
        for part in parts:
            if len(part.name) == 2:
                with contextlib.suppress(OSError), os.scandir(part.path) as files:
                    yield from files


def _remove(path):
    with contextlib.suppress(OSError):
        os.unlink(path)


def _warn(error):
    with _State.lock:
        first, _State.warned = not _State.warned, True
    if first:
        warnings.warn(f"ingot: the kernel cache {folder()} cannot be written ({error}); kernels are compiled again in each "
                      "process. Set INGOT_CACHE_DIR to a folder that can be.", RuntimeWarning, stacklevel=3)


def _after_fork():
    _State.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
