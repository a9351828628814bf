"""Files that are opened to be read: regular ones alone.

A pipe or a device by the name of a file would let a reader wait for ever, or read without an end. A folder of a stranger may
hold one.
"""

import os
import stat

from ...ir.errors import FileError

_AT_ONCE = getattr(os, "O_NONBLOCK", 0)         # opening a pipe waits for a writer otherwise; Windows has no such files


def open_regular(path):
    """Open a file to read bytes; raise FileError for a pipe, a device or a socket."""
    return open(path, "rb", opener=_open)


def _open(path, flags) -> int:
    found = os.open(path, flags | _AT_ONCE)
    mode = os.fstat(found).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):       # (of a folder Python's error is clear)
        os.close(found)
        raise FileError(f"{os.fsdecode(path)!r} is a {'pipe' if stat.S_ISFIFO(mode) else 'device'}, not a file")
    return found
