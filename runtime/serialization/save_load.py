"""`save` and `load`: nested plain data and tensors, in a format that cannot carry code."""

import io
import os
import pickle
import stat
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...ir.errors import ArgumentError, DTypeError, EmptyFileError, FileError, IngotError
from ...ir.interrupts import raise_interrupt
from ...ir.lazy import lazy
from ..core.device import CPU, DRIVERS, Device, available, require
from ..core.placement import move_to
from ..core.tensor import wrap
from ..state.mode import tls
from . import archive as container
from . import gguf_format, safetensors, torch_files
from .regular_file import open_regular

python_objects = lazy(__package__, ".python_objects")

PART = ".part"      # suffix of an incomplete file


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True) -> None:
    """Write nested dicts, lists, tuples, sets, numbers, strings and tensors to a path or an open binary file.

    Tensors that share memory share it in the file. requires_grad and users' attributes are saved, histories are not. A path is
    written completely or not at all. The suffixes .safetensors and .gguf select these formats (a flat dict of tensors), any
    other ingot's own.

    Other objects, such as whole modules, are pickled by Python's own `pickle`; to load them, their classes must exist and be
    allowed. `pickle_protocol` is ignored: the format fixes it.
    """
    _require_own_pickle("save", pickle_module)
    if tls.m.recorder is not None:
        tls.m.recorder.refuse("it saves a file", "do so in a function that is marked with jit.host, or outside of the function")
    if hasattr(f, "write"):
        _write(obj, f)
        return
    path = _path(f)
    with replacing(path) as file:
        if path.endswith(".safetensors"):
            safetensors.write(obj, file)
        elif path.endswith(".gguf"):
            gguf_format.write(obj, file)
        else:
            _write(obj, file)


def _write(obj, file):
    """Write plain data in the safe form, other objects as a pickle; raise before a byte is written if neither works."""
    try:
        container.write(obj, file)
    except DTypeError as refused:
        try:
            python_objects.write(obj, file)
        except (pickle.PicklingError, AttributeError, TypeError) as e:
            raise refused from e


def _path(f) -> str:
    try:
        return os.fsdecode(os.fspath(f))
    except TypeError:
        raise DTypeError(f"expected a path or an open binary file, got {type(f).__name__}") from None


@contextmanager
def replacing(path: str):
    """Return a file that replaces `path` once complete. System errors name that path."""
    try:
        with _replacing(os.path.realpath(path)) as file:
            yield file
    except OSError as e:
        if e.errno is not None and (e.filename is None or str(e.filename).endswith(PART)):
            raise OSError(e.errno, e.strerror, path) from e
        raise


@contextmanager
def _replacing(path):
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "wb") as file:
            yield file
        return
    part = f"{path}.{os.getpid()}.{os.urandom(4).hex()}{PART}"
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(part, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, **pickle_load_args) -> Any:
    """Read a file of `save`, a .safetensors or .gguf file, or a file of torch.save (without PyTorch).

    `f` is a path or an open, seekable binary file. `mmap=True` maps the file into memory instead of reading it. That is quick
    and skips checksums; writes to tensors do not reach the file, which must keep its length while they live. A .gguf file is
    mapped unless `mmap` is False.

    No code in a file is run. From PyTorch's files plain data and tensors are read; from ingot's also its own modules, and what
    `serialization.add_safe_globals` allows. `weights_only` is ignored: there is no other way to read. Of `pickle_load_args`
    only `encoding` is accepted: strings of Python 2 are read as latin-1.

    Tensors go to the device that they were saved from, or to the CPU if there is no such device. `map_location` names a device
    for all, or is a dict {"cuda:0": "cpu"}. It may also be a function of a tensor without elements and the location, which
    returns the tensor on the right device (`lambda t, location: t.cuda(1)`), or None.
    """
    where = _locations(map_location)
    _require_own_pickle("load", pickle_module)
    if pickle_load_args.keys() - {"encoding"} or pickle_load_args.get("encoding") == "bytes":
        raise ArgumentError("load reads pickles without Python's unpickler, so it takes none of its options but an encoding, "
                            f"got {pickle_load_args}")
    if tls.m.recorder is not None:
        tls.m.recorder.refuse("it loads a file", "load it outside of the function")
    if hasattr(f, "read"):
        if mmap:
            raise ArgumentError("load: mmap=True needs a path, not an open file")
        return _guarded(_seekable(f), getattr(f, "name", type(f).__name__), None, where)
    path = _path(f)
    with open_regular(path) as file:
        wants_map = mmap or (mmap is None and file.read(len(gguf_format.MAGIC)) == gguf_format.MAGIC)
        file.seek(0)
        mapped = np.memmap(path, np.uint8, mode="c") if wants_map and os.path.getsize(path) else None
        return _guarded(file, os.path.basename(path), mapped, where)


def _require_own_pickle(name, pickle_module):
    """Raise for a module other than `pickle`, which would write or read other bytes."""
    if pickle_module is not None and getattr(pickle_module, "__name__", None) != "pickle":
        raise ArgumentError(f"{name}: pickle_module must be Python's pickle or None, got {pickle_module!r}; call that module "
                            "itself for objects that only it knows")


def _locations(map_location):
    """Return a function from the location of saved tensors to their device, None for the CPU."""
    def there(device):
        return None if device.type == "cpu" else device

    def as_saved(location):
        device = Device(location) if location.partition(":")[0] in ("cpu", *DRIVERS) else CPU
        known = device.type == "cpu" or (available(device.type) and (device.index or 0) < DRIVERS[device.type].count())
        return there(device) if known else None

    if map_location is None:
        return as_saved
    if isinstance(map_location, (str, Device)):
        return lambda location, device=require(map_location): there(device)
    if isinstance(map_location, dict):
        named = {str(k): require(v) for k, v in map_location.items()}
        return lambda location: there(named[location]) if location in named else as_saved(location)

    def located(location):
        found = map_location(wrap(np.empty(0, np.uint8)), location)
        return as_saved(location) if found is None else there(found.device)

    return located


def _seekable(f):
    return f if hasattr(f, "seek") and (not hasattr(f, "seekable") or f.seekable()) else io.BytesIO(f.read())


def _guarded(file, name, mapped, where):
    """Read a file, and turn any fault of its content into one FileError."""
    start = file.tell()
    try:
        return _read(file, str(name), mapped, where)
    except FileError:
        raise
    except IngotError as e:
        raise FileError(f"{name}: {e}") from e
    except OSError as e:
        if e.errno is not None:
            raise
        raise_interrupt(e, _read_again, file, start, str(name), mapped, where)
        raise FileError(f"{name} cannot be read: {e}") from e
    except Exception as e:
        raise_interrupt(e, _read_again, file, start, str(name), mapped, where)
        raise FileError(f"{name} is damaged or of an unknown format ({type(e).__name__}: {e})") from e


def _read_again(file, start, *how):
    file.seek(start)
    return _read(file, *how)


def _read(file, name, mapped, where):
    start = file.tell()
    head = file.read(32)
    file.seek(0, io.SEEK_END)
    size = file.tell()
    file.seek(start)
    if head[:4] == b"PK\x03\x04":
        archive = container.Archive(file, name, mapped)
        if container.OBJECTS in archive.entries:
            return python_objects.read(archive, where)
        if container.INDEX in archive.entries:
            return container.read(archive, where)
        return torch_files.read_zip(archive, where)
    if head.startswith(torch_files.LEGACY_HEAD):
        return torch_files.read_legacy(file, size, name, where)
    if safetensors.header_length(head, size) is not None:
        found, device = safetensors.read(file, size, name, mapped), where("cpu")
        return found if device is None else {k: move_to(t, device) for k, t in found.items()}
    if head[:4] == gguf_format.MAGIC:
        return gguf_format.read(file, size, name, mapped, where)
    if not size:
        raise EmptyFileError(f"{name} is empty")
    raise FileError(f"{name} is not a file that ingot reads (its own, .safetensors, .gguf, or of torch.save)")
