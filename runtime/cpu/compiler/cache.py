"""The disk cache of compiled objects: private checksummed files, written atomically, bounded in size.

Folder: `INGOT_CACHE_DIR`, else `$XDG_CACHE_HOME/ingot`, else `~/.cache/ingot`. One file per key, `<k1k2>/<key>.<kind>`:

    magic "INGOTOBJ" | u32 format | u32 maker length | u64 payload length | digest | maker | payload

`maker` names the compiler of the payload; the digest is that of the file's name and all else. An entry that is short, altered,
renamed or of another format counts as absent. Folders and files that another user can change are not used
(`private_folder.py`). Writers put a temporary file in place by rename, so racing processes only ever see whole files. A hit
refreshes the file's time.

The file `usage` counts entries and bytes. Each store adds to it under a lock. When the total passes `INGOT_CACHE_SIZE` (MiB,
default 512) or there are very many entries, the least recently used go. Once an hour a storing process counts anew, and removes
temporary files of killed processes. Times in the future are those of a wrong clock: such entries count as the oldest. A folder
that cannot be used costs one warning per process, never an error.
"""

import contextlib
import hashlib
import os
import struct
import time
import warnings
from pathlib import Path

from ....ir import config
from ....ir.locks import new_rlock
from ....ir.tracebacks import user_level
from .private_folder import TEMPORARY, PrivateFolder, UntrustedError

try:
    import fcntl
except ImportError:         # Windows: processes may count past each other, and count anew within the hour
    fcntl = None            # type: ignore[assignment]

_MAGIC = b"INGOTOBJ"
_FORMAT = 2
_HEAD = struct.Struct("<8sIIQ")
_DIGEST = 32
_USAGE = "usage"
_COUNTS = struct.Struct("<QQd")         # entries, bytes, time of the last count
MOST_ENTRIES = 1 << 15          # each takes a disk block and time to count, however small it is
_HOUR = 3600
_CLOCK_SLACK = 60               # seconds by which clocks of several machines may differ


class _State:
    """State of this process."""

    lock = new_rlock()         # of the file of counts: locks of files are those of whole processes
    warned = False


def folder() -> Path:
    """Return the folder of the cache; it may not exist yet."""
    chosen = config.current().cache_dir
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ingot"


def load(key: str, kind: str = "o") -> tuple[bytes, str] | None:
    """Return (payload, maker) of an entry, or None if there is no sound one."""
    name = f"{key}.{kind}"
    try:
        with _root() as root, root.folder(key[:2]) as part:
            data, changed = part.read(name)
            if _is_long_ago(changed):
                part.touch(name)
    except UntrustedError as error:
        _warn(error)
        return None
    except (OSError, RuntimeError):
        return None
    return _unpack(name, data)


def store(key: str, payload: bytes, maker: str = "", kind: str = "o") -> bool:
    """Store an entry; return False (and warn once per process) if the disk does not take it."""
    name = f"{key}.{kind}"
    data = _pack(name, payload, maker)
    try:
        with _root(make=True) as root:
            with root.folder(key[:2], make=True) as part:
                part.write(name, data)
            with _counts_of(root) as counts:
                counts.add(len(data))
    except (OSError, RuntimeError) as error:
        _warn(error)
        return False
    return True


def info() -> dict:
    """Return folder, number of entries, bytes in use and the cap in bytes."""
    entries: list = []
    with contextlib.suppress(OSError, RuntimeError), _root() as root:
        entries = _entries(root)
    return {"folder": str(folder()), "entries": len(entries), "bytes": sum(size for _, size, *_ in entries), "cap": _cap()}


def problem() -> str | None:
    """Return why the folder is not trusted, and what to do; None if it is, or is not there yet."""
    try:
        with _root():
            return None
    except UntrustedError as error:
        return str(error)
    except (OSError, RuntimeError):
        return None


def clear() -> int:
    """Remove every entry; return how many there were."""
    entries: list = []
    with contextlib.suppress(OSError, RuntimeError), _root() as root, _counts_of(root) as counts:
        entries = counts.trim(0, 0)
    return len(entries)


def trim(cap: int | None = None):
    """Remove the least recently used entries, down to 80 % of a cap that their total or number passes."""
    with contextlib.suppress(OSError, RuntimeError), _root() as root, _counts_of(root) as counts:
        counts.trim(_cap() if cap is None else cap, MOST_ENTRIES)


class _Counts:
    """Numbers of entries and bytes of the cache, as its processes know them."""

    def __init__(self, root, known):
        self.root, (self.entries, self.bytes, self.counted) = root, known

    def add(self, size):
        """Count a new entry; where the cache is full, or was not counted for an hour, count anew and remove."""
        self.entries, self.bytes = self.entries + 1, self.bytes + size
        if self.entries > MOST_ENTRIES or self.bytes > _cap() or _is_long_ago(self.counted):
            self.trim(_cap(), MOST_ENTRIES)

    def trim(self, cap, most) -> list:
        """Count anew, and remove the least recently used entries if they pass a number of bytes or of entries."""
        found = sorted(_entries(self.root))
        total, count = sum(size for _, size, *_ in found), len(found)
        removed = []
        if total > cap or count > most:
            for entry in found:
                if total <= 0.8 * cap and count <= 0.8 * most:
                    break
                _, size, part, name = entry
                with contextlib.suppress(OSError), self.root.folder(part) as inside:
                    inside.remove(name)
                removed.append(entry)
                total, count = total - size, count - 1
        self.entries, self.bytes, self.counted = count, total, time.time()
        return removed


@contextlib.contextmanager
def _counts_of(root):
    """Hold the counts of the cache: no other thread or process changes them meanwhile."""
    with _State.lock:
        handle = root.open(_USAGE, os.O_RDWR | os.O_CREAT)
        try:
            if fcntl is not None:
                with contextlib.suppress(OSError):      # a network's disk may have no locks
                    fcntl.lockf(handle, fcntl.LOCK_EX)
            known = os.read(handle, _COUNTS.size)
            counts = _Counts(root, _COUNTS.unpack(known) if len(known) == _COUNTS.size else (0, 0, 0.0))
            yield counts
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, _COUNTS.pack(counts.entries, counts.bytes, counts.counted))
        finally:
            os.close(handle)


def _root(make=False) -> PrivateFolder:
    return PrivateFolder(os.path.abspath(folder()), make)


def _cap():
    return int(config.current().cache_size * 2**20)


def _is_long_ago(moment) -> bool:
    """Whether a time is more than an hour away, before or behind: a clock may have been wrong."""
    return not abs(time.time() - moment) <= _HOUR


def _pack(name, payload, maker):
    maker = maker.encode()
    head = _HEAD.pack(_MAGIC, _FORMAT, len(maker), len(payload))
    return head + _digest(name, head, maker + payload) + maker + payload


def _digest(name, head, body):
    return hashlib.sha256(b"%b\0%b%b" % (name.encode(), head, body)).digest()


def _unpack(name, data):
    start = _HEAD.size + _DIGEST
    if len(data) < start:
        return None
    head, digest, body = data[:_HEAD.size], data[_HEAD.size:start], data[start:]
    magic, version, maker_length, length = _HEAD.unpack(head)
    if magic != _MAGIC or version != _FORMAT or len(body) != maker_length + length:
        return None
    if _digest(name, head, body) != digest:
        return None
    return body[maker_length:], body[:maker_length].decode(errors="replace")


def _entries(root):
    """Return (time last used, size, folder, name) of each entry; remove temporary files left by killed processes."""
    found, latest = [], time.time() + _CLOCK_SLACK
    for part in [entry.name for entry in root.entries() if len(entry.name) == 2]:
        with contextlib.suppress(OSError), root.folder(part) as inside:
            for entry in inside.entries():
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if not entry.name.startswith(TEMPORARY):
                        found.append((status.st_mtime if status.st_mtime < latest else 0, status.st_size, part, entry.name))
                    elif _is_long_ago(status.st_mtime):
                        inside.remove(entry.name)
    return found


def _warn(error):
    with _State.lock:
        first, _State.warned = not _State.warned, True
    if not first:
        return
    if isinstance(error, UntrustedError):
        text = f"the kernel cache is not used: {error}. INGOT_CACHE_DIR chooses another folder"
    else:
        text = f"the kernel cache cannot be written ({error}). Set INGOT_CACHE_DIR to a folder that can be"
    warnings.warn(f"ingot: {text}. Kernels are compiled again in each process.", RuntimeWarning, stacklevel=user_level())
