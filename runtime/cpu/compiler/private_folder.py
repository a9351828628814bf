"""Folders and files that only this user can change: opened without following links, checked, made with mode 0700 and 0600.

Machine code is run as it is found, so its place must be beyond the reach of other users. Every folder and file is opened once,
and its owner and mode are those of the open descriptor: nothing can be exchanged between the check and the use. Root may own
them, too. Systems without user numbers (Windows) check nothing.
"""

import contextlib
import os
import secrets
import stat

TEMPORARY = ".new-"
_HAS_OWNERS = hasattr(os, "getuid") and os.open in os.supports_dir_fd
_NOFOLLOW = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NONBLOCK"))    # (a pipe may block)
_FOLDER = _NOFOLLOW | getattr(os, "O_DIRECTORY", 0)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UntrustedError(PermissionError):
    """A folder or file that another user can change. The text says what to do."""


def open_private_file(path, flags, folder: int | None = None) -> int:
    """Open a file that only this user can change; return its descriptor. A new one has mode 0600. `folder` is the descriptor
    of the path's folder, if that is open."""
    name = path if folder is None else os.path.basename(path)
    handle = os.open(name, flags | _NOFOLLOW, 0o600, dir_fd=folder)
    try:
        _check(os.fstat(handle), path, "file")
    except UntrustedError:
        os.close(handle)
        raise
    return handle


class PrivateFolder:
    """An open folder; `with` closes it. Names are those of files in it, never paths."""

    def __init__(self, path, make=False, parent: "PrivateFolder | None" = None):
        """Open a folder at a path or, in a parent, of a name; make it, and all that is missing above it."""
        self.path, self._descriptor = path if parent is None else os.path.join(parent.path, path), None
        if make and parent is None:
            _make_with_parents(path)
        elif make and parent is not None:
            with contextlib.suppress(FileExistsError):
                os.mkdir(parent._at(path), 0o700, dir_fd=parent._descriptor)
        if not _HAS_OWNERS:
            os.stat(self.path)
            return
        if parent is None:
            self._descriptor = os.open(_without_own_link(path), _FOLDER)
        else:
            self._descriptor = os.open(path, _FOLDER, dir_fd=parent._descriptor)
        try:
            _check(os.fstat(self._descriptor), self.path, "folder")
        except UntrustedError:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Close the folder."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _at(self, name) -> str:
        return name if self._descriptor is not None else os.path.join(self.path, name)

    def folder(self, name, make=False) -> "PrivateFolder":
        """Open a folder in this one."""
        return PrivateFolder(name, make, self)

    def open(self, name, flags) -> int:
        """Open a file; return its descriptor. A new one has mode 0600."""
        return open_private_file(os.path.join(self.path, name), flags, self._descriptor)

    def read(self, name) -> tuple[bytes, float]:
        """Return the content of a file and the time of its last change."""
        with os.fdopen(self.open(name, os.O_RDONLY), "rb") as file:
            return file.read(), os.fstat(file.fileno()).st_mtime

    def write(self, name, data):
        """Write a file as a whole: others see it, or the file from before."""
        temporary = f"{TEMPORARY}{secrets.token_hex(8)}"
        try:
            with os.fdopen(self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                file.write(data)
            os.replace(self._at(temporary), self._at(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            self.remove(temporary)
            raise

    def touch(self, name):
        """Set the time of a file to now."""
        os.utime(self._at(name), dir_fd=self._descriptor)

    def remove(self, name):
        """Remove a file, if it is there and can be removed."""
        with contextlib.suppress(OSError):
            os.unlink(self._at(name), dir_fd=self._descriptor)

    def entries(self) -> list[os.DirEntry]:
        """Return what is in the folder."""
        with os.scandir(self.path if self._descriptor is None else self._descriptor) as found:
            return list(found)


def _make_with_parents(path):
    """Make a folder and its parents with mode 0700, whatever the umask: `os.makedirs` gives it to the last one only."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)


def _without_own_link(path) -> str:
    """Return the folder that a link of this user, or of root, leads to."""
    found = os.lstat(path)
    if not stat.S_ISLNK(found.st_mode):
        return path
    if not _is_own(found):
        raise UntrustedError(f"the link {path} belongs to user {found.st_uid}; name another folder")
    return os.path.realpath(path)


def _is_own(found) -> bool:
    return found.st_uid in (os.getuid(), 0)


def _check(found, path, kind):
    """Refuse a folder or file that another user can change."""
    if not _HAS_OWNERS:
        return
    if not (stat.S_ISDIR if kind == "folder" else stat.S_ISREG)(found.st_mode):
        raise UntrustedError(f"{path} is not a {kind}; remove it")
    if not _is_own(found):
        raise UntrustedError(f"the {kind} {path} belongs to user {found.st_uid}; remove it, or name a folder of your own")
    if found.st_mode & _OTHERS_WRITE:
        raise UntrustedError(f"other users may write to the {kind} {path} (mode {stat.S_IMODE(found.st_mode):04o}); "
                             f"if nobody did, run `chmod go-w {path}`, else remove it")
