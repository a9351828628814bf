"""The GGUF format: metadata, and named tensors in the blocks of weight formats.

`read` gives the tensors by name, over the mapped file: plain tensors for plain types, a `StoredWeight` for every other. Nothing
of a file is used before it is checked: counts and lengths against the bytes that are left, tensors against the file's end and
each other.
"""

import struct
from typing import Any, NamedTuple

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError, FileError, MissingKeyError, ShapeError, kind_of
from ...ir.lazy import lazy
from ...ir.package_name import found_in
from ...ir.reference.weight_formats import FORMATS
from ..core.placement import move_to
from ..core.tensor import Tensor, wrap
from .archive import fill
from .file_buffers import Block, contiguous_bytes, dense_strides
from .read_budget import ReadBudget, count_of, shown

weights = lazy(__package__, "..stored_weights")

MAGIC = b"GGUF"
_VERSION, _READ_VERSIONS = 3, (2, 3)
_ALIGNMENT = "general.alignment"
_DEFAULT_ALIGNMENT, _MOST_ALIGNMENT = 32, 1 << 20
_MAX_DIMS = 4
_MAX_NAME = 63              # bytes of a tensor's name, for other readers
_LEAST_ENTRY = 8 + 4 + 1    # bytes of a key of no characters, a type and a value of one byte
_LEAST_TENSOR = 8 + 4 + 4 + 8

_STRING, _ARRAY = 8, 9
_SCALARS = {0: "uint8", 1: "int8", 2: "uint16", 3: "int16", 4: "uint32", 5: "int32", 6: "float32", 7: "bool", 10: "uint64",
            11: "int64", 12: "float64"}
_NP = {number: np.dtype(name).newbyteorder("<") for number, name in _SCALARS.items()}
_NUMBERS = {name: number for number, name in _SCALARS.items()} | {"string": _STRING}

_PLAIN = {0: dt.float32, 1: dt.float16, 24: dt.int8, 25: dt.int16, 26: dt.int32, 27: dt.int64, 28: dt.float64, 30: dt.bfloat16}
_STORED = {2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K",
           20: "IQ4_NL", 23: "IQ4_XS"}
_UNREAD = {9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 21: "IQ3_S", 22: "IQ2_S",
           29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4"}
_OF_DTYPE = {d: number for number, d in _PLAIN.items()}
_OF_FORMAT = {name: number for number, name in _STORED.items()} | {"F16": 1, "BF16": 30}


class Metadata(dict[str, Any]):
    """Metadata of a file: numbers, bools and texts, lists of texts, and one-dimensional arrays of numbers.

    `types` names the type of each key in the file, such as "uint32", "string" or "array of string". Keys without one get a type
    when they are written: the smallest of uint32, int32, uint64 and int64 that holds an int, and float32 for a float.
    """

    def __init__(self, values=(), types=None):
        super().__init__(values)
        self.types: dict[str, str] = dict(types or {})

    def __reduce__(self):
        return Metadata, (dict(self), self.types)


class Tokenizer(NamedTuple):
    """Tokenizer fields of a file, checked against each other. A field that the file lacks is None."""

    model: str | None                   # "llama", "gpt2", "bert", ...
    pre: str | None                     # name of the split into words before
    tokens: list[str]
    scores: np.ndarray | None           # float32, one for each token
    token_types: np.ndarray | None      # int32, one for each token: 1 normal, 2 unknown, 3 control, 4 user's, 5 unused, 6 byte
    merges: list[str] | None
    special_ids: dict[str, int]         # "bos", "eos", "unknown", "padding", ... -> index of a token
    flags: dict[str, bool]              # "add_bos_token", "add_eos_token", "add_space_prefix", ...


_IDS, _FLAG = "_token_id", "tokenizer.ggml."


class GGUFWeights(dict[str, Any]):
    """Tensors of a GGUF file by name, with the file's metadata."""

    def __init__(self, tensors=(), metadata=None):
        super().__init__(tensors)
        self.metadata = metadata if isinstance(metadata, Metadata) else Metadata(metadata or {})

    def __reduce__(self):
        return GGUFWeights, (dict(self), self.metadata)

    @property
    def architecture(self) -> str | None:
        """Name of the network, such as "llama"; the prefix of its own keys in the metadata."""
        return self._text("general.architecture")

    @property
    def chat_template(self) -> str | None:
        """The Jinja template that makes a prompt of messages."""
        return self._text("tokenizer.chat_template")

    @property
    def chat_templates(self) -> dict[str, str]:
        """Further templates by name."""
        prefix = "tokenizer.chat_template."
        return {key.removeprefix(prefix): self._text(key) or "" for key in self.metadata if key.startswith(prefix)}

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer's fields, or None for a file without tokens."""
        tokens = self._texts("tokenizer.ggml.tokens")
        if tokens is None:
            return None
        ids, flags = {}, {}
        for key, value in self.metadata.items():
            name = key.removeprefix(_FLAG)
            if name != key and type(value) is bool:
                flags[name] = value
            elif name != key and name.endswith(_IDS):
                if type(value) is not int or not 0 <= value < len(tokens):
                    raise FileError(f"{key} is {shown(value)}, and the tokenizer has {len(tokens)} tokens")
                ids[name.removesuffix(_IDS)] = value
        return Tokenizer(self._text("tokenizer.ggml.model"), self._text("tokenizer.ggml.pre"), tokens,
                         self._each("tokenizer.ggml.scores", len(tokens), np.float32),
                         self._each("tokenizer.ggml.token_type", len(tokens), np.int32),
                         self._texts("tokenizer.ggml.merges"), ids, flags)

    def _text(self, key) -> str | None:
        value = self.metadata.get(key)
        if value is not None and type(value) is not str:
            raise FileError(f"{key} is {shown(value)}, where a text belongs")
        return value

    def _texts(self, key) -> list[str] | None:
        value = self.metadata.get(key)
        if value is not None and not (type(value) is list and all(type(v) is str for v in value)):
            raise FileError(f"{key} is {shown(value)}, where a list of texts belongs")
        return value

    def _each(self, key, count, dtype) -> np.ndarray | None:
        value = self.metadata.get(key)
        if value is None:
            return None
        if not isinstance(value, np.ndarray) or value.dtype != dtype or len(value) != count:
            raise FileError(f"{key} is {shown(value)}, and the {count} tokens need an array of as many {np.dtype(dtype).name}")
        return value


found_in(GGUFWeights, "utils.gguf")
found_in(Metadata, "utils.gguf")
found_in(Tokenizer, "utils.gguf")


# Reading.


class _Cursor:
    """Position in the header of a file. Each read is checked against the bytes that are left."""

    def __init__(self, memory: np.ndarray, name: str):
        self.view, self.name, self.at = memoryview(memory), name, 0

    def refuse(self, text: str) -> FileError:
        return FileError(f"{self.name}: {text}; the file is damaged")

    def skip(self, size: int, what: str) -> int:
        """Return the position of the next `size` bytes, and pass them."""
        start = self.at
        if size > len(self.view) - start:
            raise self.refuse(f"{what} of {size} bytes at byte {start} runs beyond the file's end at {len(self.view)}")
        self.at = start + size
        return start

    def uint32(self, what: str) -> int:
        return struct.unpack_from("<I", self.view, self.skip(4, what))[0]

    def uint64(self, what: str) -> int:
        return struct.unpack_from("<Q", self.view, self.skip(8, what))[0]

    def text(self, what: str) -> str:
        size = self.uint64(f"the length of {what}")
        start = self.skip(size, what)
        try:
            return str(self.view[start:start + size], "utf-8")
        except UnicodeDecodeError:
            raise self.refuse(f"{what} at byte {start} is not UTF-8") from None

    def count(self, what: str, least: int) -> int:
        """Return a number of items that take at least so many bytes each."""
        count = self.uint64(f"the number of {what}")
        left = len(self.view) - self.at
        if count * least > left:
            raise self.refuse(f"there are {count} {what} of at least {least} bytes in the header, and {left} bytes are left")
        return count

    def numbers(self, kind: int, count: int, what: str) -> np.ndarray:
        """Return a copy of an array of numbers."""
        dtype = _NP[kind]
        start = self.skip(count * dtype.itemsize, what)
        if dtype.kind == "b":
            largest = max(self.view[start:self.at], default=0)
            if largest > 1:
                raise self.refuse(f"{what} is a bool of the value {largest}")
        return np.frombuffer(self.view, dtype, count, start).astype(dtype.newbyteorder("="))

    def value(self, what: str) -> tuple[Any, str]:
        """Return a value of the metadata, and the name of its type."""
        kind = self.uint32(f"the type of {what}")
        if kind == _STRING:
            return self.text(what), "string"
        if kind in _SCALARS:
            return self.numbers(kind, 1, what)[0].item(), _SCALARS[kind]
        if kind != _ARRAY:
            raise self.refuse(f"{what} has the unknown type {kind}")
        item = self.uint32(f"the type of the elements of {what}")
        if item == _STRING:
            return [self.text(what) for _ in range(self.count(f"texts in {what}", 8))], "array of string"
        if item not in _SCALARS:
            raise self.refuse(f"{what} is an array of elements of the type {item}")
        return self.numbers(item, self.count(f"numbers in {what}", _NP[item].itemsize), what), f"array of {_SCALARS[item]}"


class _Entry(NamedTuple):
    """Description of a tensor: its shape in row-major order, and the bytes that it takes in the file."""

    shape: tuple[int, ...]
    type: int
    start: int
    nbytes: int


def read(file, size: int, name: str, mapped=None, where=lambda location: None) -> GGUFWeights:
    """Return the tensors of a file, over the mapped file or over its bytes in memory."""
    memory = mapped
    if memory is None:
        memory = np.empty(size, np.uint8)
        file.seek(0)
        if fill(file, memory) != size:
            raise FileError(f"{name} is cut off")
    memory = np.asarray(memory)
    cursor = _Cursor(memory, name)
    metadata, entries = _header(cursor)
    _check_apart(entries, cursor)
    budget, device = ReadBudget(name, size), where("cpu")
    tensors = {key: _tensor(memory, entry, f"{name}: {key}", budget) for key, entry in entries.items()}
    return GGUFWeights(tensors if device is None else {key: _moved(t, device) for key, t in tensors.items()}, metadata)


def _moved(t, device):
    return t.to(device) if isinstance(t, weights.StoredWeight) else move_to(t, device)


def _header(cursor: _Cursor) -> tuple[Metadata, dict[str, _Entry]]:
    if bytes(cursor.view[:4]) != MAGIC:
        raise FileError(f"{cursor.name} is not a GGUF file")
    cursor.skip(4, "the magic")
    version = cursor.uint32("the version")
    if version not in _READ_VERSIONS:
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big") in _READ_VERSIONS
        raise FileError(f"{cursor.name} is a GGUF file of " + (
            "big-endian numbers, and ingot reads little-endian ones" if swapped else
            f"version {version}, and ingot reads {' and '.join(map(str, _READ_VERSIONS))}"))
    tensors, keys = cursor.count("tensors", _LEAST_TENSOR), cursor.count("keys", _LEAST_ENTRY)
    metadata = Metadata()
    for _ in range(keys):
        key = cursor.text("a key")
        if not key:             # as zeros are read, behind the last key
            raise cursor.refuse("there is an empty key")
        if key in metadata:
            raise cursor.refuse(f"the key {shown(key)} appears twice")
        metadata[key], metadata.types[key] = cursor.value(shown(key))
    alignment = metadata.get(_ALIGNMENT, _DEFAULT_ALIGNMENT)
    if type(alignment) is not int or not 0 < alignment <= _MOST_ALIGNMENT or alignment & (alignment - 1):
        raise cursor.refuse(f"{_ALIGNMENT} is {shown(alignment)}, and no power of two up to {_MOST_ALIGNMENT}")
    described: dict[str, tuple] = {}
    for _ in range(tensors):
        key = cursor.text("the name of a tensor")
        if key in described:
            raise cursor.refuse(f"the tensor {shown(key)} appears twice")
        described[key] = _described(cursor, shown(key))
    start = -(-cursor.at // alignment) * alignment
    return metadata, {key: _entry(cursor, shown(key), start, alignment, *d) for key, d in described.items()}


def _described(cursor, what) -> tuple:
    """Return the shape, type and offset of a tensor as they stand in the file, the shape turned to row-major order."""
    ndim = cursor.uint32(f"the number of dims of {what}")
    if ndim > _MAX_DIMS:
        raise cursor.refuse(f"{what} has {ndim} dims, and {_MAX_DIMS} are the most")
    shape = tuple([cursor.uint64(f"the shape of {what}") for _ in range(ndim)][::-1])
    return shape, cursor.uint32(f"the type of {what}"), cursor.uint64(f"the offset of {what}")


def _entry(cursor, what, start, alignment, shape, kind, offset) -> _Entry:
    count = count_of(shape, f"{cursor.name}: {what}")
    if kind in _PLAIN:
        nbytes = count * _PLAIN[kind].itemsize
    elif kind in _STORED:
        form = FORMATS[_STORED[kind]]
        if not shape or shape[-1] % form.block:
            raise cursor.refuse(f"{what} of the shape {list(shape)} has rows that are no whole blocks of {form.block} numbers, "
                                f"as {form.name} needs")
        nbytes = count // form.block * form.nbytes
    else:
        raise FileError(f"{cursor.name}: {what} has the type {_UNREAD.get(kind, kind)}, which ingot does not read; it reads "
                        f"{', '.join([d.name for d in _PLAIN.values()] + list(_STORED.values()))}")
    if offset % alignment:
        raise cursor.refuse(f"{what} begins at byte {offset} of the data, no multiple of the alignment {alignment}")
    if start + offset + nbytes > len(cursor.view):
        raise cursor.refuse(f"{what} takes bytes {start + offset} to {start + offset + nbytes}, and the file has "
                            f"{len(cursor.view)}")
    return _Entry(shape, kind, start + offset, nbytes)


def _check_apart(entries, cursor):
    """Raise if two tensors overlap."""
    end = 0
    for start, nbytes, key in sorted((e.start, e.nbytes, key) for key, e in entries.items() if e.nbytes):
        if start < end:
            raise cursor.refuse(f"{shown(key)} begins at byte {start}, inside the tensor before it")
        end = start + nbytes


def _tensor(memory, entry: _Entry, what, budget):
    data = Block(memory[entry.start:entry.start + entry.nbytes], what, budget)
    if entry.type in _PLAIN:
        dtype = _PLAIN[entry.type]
        return wrap(data.array(dtype, entry.shape, dense_strides(entry.shape, dtype.itemsize), 0))
    form, numbers = FORMATS[_STORED[entry.type]], entry.shape[-1]
    shape = (*entry.shape[:-1], form.bytes_of_row(numbers))
    rows = data.array(dt.uint8, shape, dense_strides(shape, 1), 0)
    return weights.StoredWeight(wrap(rows), form.name, numbers)


# Writing.


def write(tensors, file, metadata=None) -> None:
    """Write a dict of tensors to an open binary file."""
    if not isinstance(tensors, dict) or not all(isinstance(k, str) and isinstance(t, Tensor) for k, t in tensors.items()):
        raise DTypeError("a .gguf file holds a flat dict from names to tensors; save other data under another suffix")
    if metadata is None:
        metadata = tensors.metadata if isinstance(tensors, GGUFWeights) else {}
    if not isinstance(metadata, dict) or not all(isinstance(key, str) for key in metadata):
        raise DTypeError(f"the metadata of a .gguf file is a dict with texts as keys, got {kind_of(metadata)}")
    alignment = metadata.get(_ALIGNMENT, _DEFAULT_ALIGNMENT)
    if type(alignment) is not int or not 0 < alignment <= _MOST_ALIGNMENT or alignment & (alignment - 1):
        raise ArgumentError(f"{_ALIGNMENT} must be a power of two up to {_MOST_ALIGNMENT}, got {alignment!r}")
    types = metadata.types if isinstance(metadata, Metadata) else {}
    head = [MAGIC, struct.pack("<IQQ", _VERSION, len(tensors), len(metadata))]
    for key, value in metadata.items():
        head += [_text(key), _value(key, value, types.get(key))]
    data: list[memoryview] = []
    position = 0
    for name, t in tensors.items():
        kind, shape, array = _array_of(name, t)
        head += [_text(name), struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], kind, position)]
        data.append(contiguous_bytes(array))
        position += -(-array.nbytes // alignment) * alignment
    header = b"".join(head)
    file.write(header + b"\0" * (-len(header) % alignment))
    for block in data:
        file.write(block)
        file.write(b"\0" * (-len(block) % alignment))


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _array_of(name, t) -> tuple[int, tuple, np.ndarray]:
    """Return a tensor's type in files, its shape, and a contiguous array of its bytes."""
    if not 0 < len(name.encode()) <= _MAX_NAME or t.ndim > _MAX_DIMS:
        raise ArgumentError(f"a .gguf file holds names of 1 to {_MAX_NAME} bytes and tensors of at most {_MAX_DIMS} dims, got "
                            f"{shown(name)} of the shape {list(t.shape)}")
    if isinstance(t, weights.StoredWeight):
        kind = _OF_FORMAT.get(t.format)
        if kind is None:
            raise DTypeError(f"{name} is stored as {t.format}, and .gguf files have the formats {', '.join(_OF_FORMAT)}")
        if t.numbers % FORMATS[t.format].block:
            raise ShapeError(f"{name} has rows of {t.numbers} numbers, which are no whole blocks of {t.format}")
        return kind, tuple(t.shape), np.ascontiguousarray(t.rows.cpu()._to_copy())
    if t.dtype not in _OF_DTYPE:
        raise DTypeError(f".gguf files have no type for {name}, which is {t.dtype.name}")
    return _OF_DTYPE[t.dtype], tuple(t.shape), np.ascontiguousarray(t.detach().cpu()._to_copy())


def _value(key, value, named: str | None) -> bytes:
    """Return the type and the bytes of a value of the metadata."""
    is_array = isinstance(value, (list, tuple, np.ndarray))
    item = named.removeprefix("array of ") if named else _type_name(key, value)
    if item not in _NUMBERS or (named is not None and named.startswith("array of ") is not is_array):
        raise ArgumentError(f"metadata {key!r}: a value of the type {named} cannot be {shown(value)}")
    if isinstance(value, np.ndarray) and value.ndim != 1:
        raise ShapeError(f"metadata {key!r}: an array has one dim, got the shape {list(value.shape)}")
    values = list(value) if is_array and item == "string" else value if is_array else [value]
    data = _strings(key, values) if item == "string" else _packed(key, values, _NUMBERS[item])
    if is_array:
        return struct.pack("<IIQ", _ARRAY, _NUMBERS[item], len(values)) + data
    return struct.pack("<I", _NUMBERS[item]) + data


def _strings(key, values) -> bytes:
    if not all(isinstance(v, str) for v in values):
        raise DTypeError(f"metadata {key!r}: an array of texts holds nothing else")
    return b"".join([_text(v) for v in values])


def _packed(key, values, kind) -> bytes:
    """Return numbers in one type; raise for a number that the type does not hold."""
    dtype = _NP[kind]
    if any(isinstance(v, (str, bytes)) or v is None for v in values):
        raise DTypeError(f"metadata {key!r}: {shown(values)} are no numbers of the type {dtype.name}")
    try:
        array = np.array(values, dtype)
    except (OverflowError, TypeError, ValueError):
        raise ArgumentError(f"metadata {key!r}: {shown(values)} does not fit the type {dtype.name}") from None
    if dtype.kind in "iub" and not np.array_equal(array, np.asarray(values)):
        raise ArgumentError(f"metadata {key!r}: {shown(values)} does not fit the type {dtype.name}")
    return array.tobytes()


def _type_name(key, value) -> str:
    """Return the type for a value whose key has none yet."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.name not in _NUMBERS:
            raise DTypeError(f"metadata {key!r}: .gguf files have no numbers of the type {value.dtype.name}")
        return value.dtype.name
    values = value if isinstance(value, (list, tuple)) else [value]
    if not len(values):
        raise MissingKeyError(f"metadata {key!r}: an empty list has a type only by Metadata.types[{key!r}]")
    for name, cls in (("bool", bool), ("string", str)):
        if all(isinstance(v, cls) for v in values):
            return name
    if any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in values):
        raise DTypeError(f"metadata {key!r}: .gguf files hold bools, numbers, texts and lists of one of these, got "
                         f"{shown(value)}")
    if any(isinstance(v, float) for v in values):
        return "float32"
    for name in ("uint32", "int32", "uint64", "int64"):
        bounds = np.iinfo(name)
        if all(bounds.min <= v <= bounds.max for v in values):
            return name
    raise ArgumentError(f"metadata {key!r}: {shown(value)} is beyond 64 bits")
