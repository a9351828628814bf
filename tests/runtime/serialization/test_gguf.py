"""GGUF files: what is written comes back, weights stay in the file, and each damaged field is one clear error.

Drawn damage prints its seed in the name of the test.
"""

import io
import pickle
import random
import re
import struct

import numpy as np
import pytest

import ingot
import reader_seeds
from ingot.ir.errors import ArgumentError, DTypeError, FileError, IngotError, ShapeError
from ingot.ir.reference.weight_formats import FORMATS
from ingot.runtime.serialization.gguf_format import _STORED
from ingot.runtime.stored_weights import StoredWeight, store
from ingot.utils import gguf

PLAIN = (ingot.float32, ingot.float16, ingot.bfloat16, ingot.float64, ingot.int8, ingot.int16, ingot.int32, ingot.int64)
METADATA = {
    "general.architecture": "llama", "general.name": "tiny é", "llama.block_count": 2, "llama.rope.freq_base": 10000.0,
    "negative": -5, "large": 1 << 40, "least": -(1 << 40), "flag": True, "empty text": "",
    "ints": [1, 2, 3], "floats": [0.5, -1.0], "flags": [True, False], "texts": ["a", "", "日本"],
    "bytes": np.arange(5, dtype=np.uint8), "doubles": np.array([1e300]), "short": np.int16(-3),
    "tokenizer.ggml.model": "llama", "tokenizer.ggml.pre": "default", "tokenizer.ggml.tokens": ["<s>", "</s>", "x", "é"],
    "tokenizer.ggml.scores": np.zeros(4, np.float32), "tokenizer.ggml.token_type": np.array([3, 3, 1, 1], np.int32),
    "tokenizer.ggml.merges": ["x é"], "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 1,
    "tokenizer.ggml.add_bos_token": True, "tokenizer.chat_template": "{{ messages }}",
    "tokenizer.chat_template.tool": "{{ x }}",
}


def tensors():
    rng = np.random.default_rng(0)
    w = ingot.tensor(rng.standard_normal((3, 512)).astype(np.float32))
    made = {f"blk.0.{name}": store(w, name) for name in _STORED.values()}
    made |= {f"plain.{d.name}": (w * 10).to(d) for d in PLAIN}
    return made | {"experts": store(ingot.tensor(rng.standard_normal((2, 3, 32)).astype(np.float32)), "Q8_0"),
                   "vector": ingot.arange(3.0), "row": store(w[0], "Q4_K"), "number": ingot.tensor(2.0),
                   "nothing": ingot.zeros(0, 4), "transposed": w.T}


def data_of(values, metadata=None) -> bytes:
    out = io.BytesIO()
    gguf.save(values, out, metadata)
    return out.getvalue()


def loaded(data):
    return ingot.load(io.BytesIO(data))


def equal_values(a, b):
    return np.array_equal(a, b) and (not isinstance(b, np.ndarray) or a.dtype == b.dtype)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    p = tmp_path_factory.mktemp("gguf") / "model.gguf"
    gguf.save(tensors(), p, METADATA)
    return p


@pytest.mark.parametrize("mmap", [None, True, False])
def test_round_trip(path, mmap):
    read, want = ingot.load(path, mmap=mmap), tensors()
    assert list(read) == list(want)
    for name, t in want.items():
        assert type(read[name]) is type(t) and read[name].dtype is t.dtype and ingot.equal(read[name], t), name
    assert read.metadata.keys() == METADATA.keys()
    assert all(equal_values(read.metadata[key], value) for key, value in METADATA.items())
    assert read.metadata.types["llama.block_count"] == "uint32" and read.metadata.types["least"] == "int64"
    assert read.metadata.types["texts"] == "array of string" and read.metadata.types["short"] == "int16"


def test_what_is_read_is_written_byte_for_byte(path, tmp_path):
    ingot.save(ingot.load(path), tmp_path / "copy.gguf")
    assert (tmp_path / "copy.gguf").read_bytes() == path.read_bytes()
    again = pickle.loads(pickle.dumps(ingot.load(path)))
    assert data_of(again) == path.read_bytes()


def test_tensors_stay_in_the_mapped_file(path):
    read = gguf.load(path)
    for name, t in read.items():
        a = (t.rows if isinstance(t, StoredWeight) else t)._a
        while isinstance(a.base, np.ndarray) and not isinstance(a, np.memmap):
            a = a.base
        assert isinstance(a, np.memmap) or not t.numel(), name
    before = path.read_bytes()
    read["vector"].zero_()
    assert path.read_bytes() == before          # writes are private


def test_tokenizer_and_templates(path):
    read = gguf.load(path)
    tokenizer = read.tokenizer
    assert tokenizer.model == "llama" and tokenizer.tokens == ["<s>", "</s>", "x", "é"] and tokenizer.merges == ["x é"]
    assert tokenizer.special_ids == {"bos": 0, "eos": 1} and tokenizer.flags == {"add_bos_token": True}
    assert tokenizer.scores.tolist() == [0] * 4 and tokenizer.token_types.tolist() == [3, 3, 1, 1]
    assert (read.architecture, read.chat_template, read.chat_templates) == ("llama", "{{ messages }}", {"tool": "{{ x }}"})
    assert loaded(data_of({})).tokenizer is loaded(data_of({})).chat_template is None


@pytest.mark.parametrize("key, value", [
    ("tokenizer.ggml.tokens", "a"), ("tokenizer.ggml.tokens", [1]), ("tokenizer.ggml.scores", np.zeros(3, np.float32)),
    ("tokenizer.ggml.scores", [1, 2, 3, 4]), ("tokenizer.ggml.token_type", "x"), ("tokenizer.ggml.bos_token_id", 4),
    ("tokenizer.ggml.bos_token_id", -1), ("tokenizer.ggml.eos_token_id", "x"), ("tokenizer.ggml.merges", 3),
    ("tokenizer.ggml.model", 3)], ids=str)
def test_wrong_fields_of_a_tokenizer(key, value):
    read = loaded(data_of({}, METADATA | {key: value}))
    with pytest.raises(FileError, match=re.escape(key)):
        read.tokenizer  # noqa: B018  (a property)
    with pytest.raises(FileError, match="chat_template"):
        loaded(data_of({}, {"tokenizer.chat_template": 1})).chat_template  # noqa: B018


@pytest.mark.parametrize("alignment", [1, 8, 32, 256])
def test_alignment(alignment, path, tmp_path):
    values = tensors() | {"byte": ingot.ones(3, dtype=ingot.int8)}
    gguf.save(values, tmp_path / "a.gguf", {"general.alignment": alignment})
    read = ingot.load(tmp_path / "a.gguf")
    assert all(ingot.equal(read[k], t) for k, t in values.items()) and read.metadata["general.alignment"] == alignment


def test_what_cannot_be_written():
    w = ingot.ones(2, 32)
    for values, metadata, error, words in (
            ([w], None, DTypeError, "flat dict"), ({"a": 1}, None, DTypeError, "flat dict"),
            ({"a": w > 0}, None, DTypeError, "no type for a"),
            ({"a": store(w, "int4_group32")}, None, DTypeError, "int4_group32"),
            ({"a": store(w, "Q4_K")}, None, ShapeError, "no whole blocks"), ({"x" * 64: w}, None, ArgumentError, "63 bytes"),
            ({"a": ingot.ones(1, 1, 1, 1, 1)}, None, ArgumentError, "4 dims"), ({}, {"a": None}, DTypeError, "'a'"),
            ({}, {"a": {}}, DTypeError, "'a'"), ({}, {"a": []}, ArgumentError, "empty list"),
            ({}, {"a": [1, "x"]}, DTypeError, "'a'"), ({}, {"a": 1 << 64}, ArgumentError, "64 bits"),
            ({}, {"a": np.zeros((2, 2))}, ShapeError, "one dim"), ({}, {"a": np.zeros(2, complex)}, DTypeError, "complex128"),
            ({}, {3: 1}, DTypeError, "texts as keys"), ({}, {"general.alignment": 24}, ArgumentError, "power of two"),
            ({}, gguf.Metadata({"a": 300}, {"a": "uint8"}), ArgumentError, "uint8"),
            ({}, gguf.Metadata({"a": 1.5}, {"a": "int32"}), ArgumentError, "int32"),
            ({}, gguf.Metadata({"a": "x"}, {"a": "int32"}), DTypeError, "int32"),
            ({}, gguf.Metadata({"a": 1}, {"a": "array of int32"}), ArgumentError, "array of int32"),
            ({}, gguf.Metadata({"a": [1]}, {"a": "array of string"}), DTypeError, "texts")):
        with pytest.raises(error, match=words):
            data_of(values, metadata)


def test_a_failed_save_leaves_the_file(path, tmp_path):
    target = tmp_path / "m.gguf"
    target.write_bytes(b"before")
    with pytest.raises(DTypeError):
        ingot.save({"a": ingot.ones(2) > 0}, target)
    assert target.read_bytes() == b"before"


# Damaged files.


def text(s):
    return struct.pack("<Q", len(s)) + s


def file_of(keys=b"", infos=b"", data=b"", counts=(0, 0), version=3, magic=b"GGUF") -> bytes:
    head = magic + struct.pack("<IQQ", version, counts[1], counts[0]) + keys + infos
    return head + b"\0" * (-len(head) % 32) + data


def key(value, name=b"k"):
    return file_of(text(name) + value, counts=(1, 0))


def info(shape=(32, 2), kind=8, offset=0, name=b"t", ndim=None, data=bytes(68), keys=b"", count=1) -> bytes:
    described = text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape) if ndim is None else ndim, *shape, kind, offset)
    return file_of(keys, described * count, data, (1 if keys else 0, count))


LARGE = 1 << 62
DAMAGED = {
    "magic": (file_of(magic=b"GGUX"), "not a file that ingot reads"),
    "version 1": (file_of(version=1), "version 1"),
    "version 4": (file_of(version=4), "version 4"),
    "big-endian": (file_of(version=3 << 24), "big-endian"),
    "cut in the magic": (b"GGUF", "runs beyond"),
    "cut in the counts": (file_of()[:20], "runs beyond"),
    "number of tensors": (file_of(counts=(0, LARGE)), f"{LARGE} tensors"),
    "number of keys": (file_of(counts=(LARGE, 0)), f"{LARGE} keys"),
    "one key too many": (file_of(text(b"a") + struct.pack("<I?", 7, 1), counts=(2, 0)), "an empty key"),
    "length of a key": (file_of(struct.pack("<Q", LARGE) + bytes(40), counts=(1, 0)), "a key of"),
    "key that is not UTF-8": (key(struct.pack("<I?", 7, 1), b"\xff"), "not UTF-8"),
    "key twice": (file_of((text(b"a") + struct.pack("<I?", 7, 1)) * 2, counts=(2, 0)), "'a' appears twice"),
    "type of a value": (key(struct.pack("<IQ", 13, 1)), "unknown type 13"),
    "bool of 2": (key(struct.pack("<IB", 7, 2)), "a bool of the value 2"),
    "text's length": (key(struct.pack("<IQ", 8, LARGE)), "'k' of"),
    "text that is not UTF-8": (key(struct.pack("<I", 8) + text(b"\xc0")), "not UTF-8"),
    "array of arrays": (key(struct.pack("<IIQ", 9, 9, 0)), "elements of the type 9"),
    "array of unknown elements": (key(struct.pack("<IIQ", 9, 99, 0)), "elements of the type 99"),
    "array's length": (key(struct.pack("<IIQ", 9, 5, LARGE)), f"{LARGE} numbers in 'k'"),
    "array of texts' length": (key(struct.pack("<IIQ", 9, 8, LARGE)), f"{LARGE} texts in 'k'"),
    "array with a bool of 7": (key(struct.pack("<IIQ2B", 9, 7, 2, 1, 7)), "a bool of the value 7"),
    "alignment 0": (key(struct.pack("<II", 4, 0), b"general.alignment"), "power of two"),
    "alignment 24": (key(struct.pack("<II", 4, 24), b"general.alignment"), "power of two"),
    "alignment of 2 GiB": (key(struct.pack("<II", 4, 1 << 31), b"general.alignment"), "power of two"),
    "alignment that is a text": (key(struct.pack("<I", 8) + text(b"32"), b"general.alignment"), "power of two"),
    "tensor's name": (file_of(infos=struct.pack("<Q", LARGE) + bytes(40), counts=(0, 1)), "the name of a tensor of"),
    "tensor twice": (info(count=2), "'t' appears twice"),
    "5 dims": (info((1, 1, 1, 1, 32)), "5 dims"),
    "dims that run out": (info(ndim=1 << 31), "dims"),
    "size of a dim": (info((32, 1 << 63)), "no shape of a tensor"),
    "shape of too many numbers": (info((1 << 40, 1 << 40)), "and the file has"),
    "row of a part of a block": (info((31, 2)), "no whole blocks of 32"),
    "number in blocks": (info(()), "no whole blocks"),
    "unread type": (info(kind=16), "IQ2_XXS, which ingot does not read"),
    "removed type": (info(kind=4), "type 4, which ingot does not read"),
    "unknown type": (info(kind=1000), "type 1000"),
    "offset off the alignment": (info(offset=8, data=bytes(100)), "no multiple of the alignment"),
    "offset beyond the file": (info(offset=LARGE), "and the file has"),
    "data cut off": (info(data=bytes(67)), "and the file has"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_each_damaged_field_is_one_clear_error(name, tmp_path):
    data, words = DAMAGED[name]
    with pytest.raises(FileError, match=words):
        loaded(data)
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(FileError, match=words):
        ingot.load(tmp_path / "m.gguf")
    with reader_seeds.bounded(len(data)):
        loaded(data)


def test_tensors_that_overlap():
    one = text(b"a") + struct.pack("<I2QIQ", 2, 32, 2, 8, 0)
    other = text(b"b") + struct.pack("<I2QIQ", 2, 32, 2, 8, 32)
    with pytest.raises(FileError, match=r"'b' begins at byte \d+, inside the tensor before"):
        loaded(file_of(infos=one + other, data=bytes(200), counts=(0, 2)))


def small() -> bytes:
    return reader_seeds.gguf_file()


def test_every_truncation_is_an_error():
    data = small()
    assert loaded(data)
    for size in range(len(data) - 32):          # (the last block may end in padding)
        with pytest.raises(FileError):
            loaded(data[:size])


@pytest.mark.parametrize("seed", range(4))
def test_every_byte_of_the_header_mutated(seed):
    """Each byte gets drawn values: files that still load give tensors and tokenizers, others an error of ingot."""
    data, draw = small(), random.Random(seed)
    header = data.index(b"Data begins")
    for at in range(header):
        for value in (data[at] ^ 1 << draw.randrange(8), draw.randrange(256), draw.choice((0, 255, 127, 128))):
            broken = data[:at] + bytes([value]) + data[at + 1:]
            with reader_seeds.bounded(len(broken)):
                use(loaded(broken))


def use(read):
    """Touch all that a file says."""
    for t in read.values():
        if isinstance(t, StoredWeight):
            t.dequantize()
    for part in ("tokenizer", "chat_template", "chat_templates", "architecture"):
        try:
            getattr(read, part)
        except IngotError as e:
            assert isinstance(e, FileError), e


# Another library.


@pytest.mark.peer
def test_the_peer_reads_what_is_written(path):
    peer = pytest.importorskip("gguf")
    want, reader = tensors(), peer.GGUFReader(path)
    assert {t.name for t in reader.tensors} == {*want} and len(reader.fields) == len(METADATA) + 3
    for t in reader.tensors:
        mine = want[t.name]
        assert tuple(t.shape[::-1]) == tuple(mine.shape)
        if isinstance(mine, StoredWeight):
            assert t.tensor_type.name == mine.format
            assert np.array_equal(peer.quants.dequantize(t.data, t.tensor_type), mine.dequantize().numpy())
    for name, value in METADATA.items():
        assert np.array_equal(reader.fields[name].contents(), value), name


@pytest.mark.peer
def test_what_the_peer_writes_is_read(tmp_path):
    peer = pytest.importorskip("gguf")
    writer = peer.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_block_count(2)
    writer.add_token_list(["a", "b"])
    writer.add_token_scores([0.0, -1.0])
    writer.add_token_types([1, 3])
    writer.add_bos_token_id(1)
    writer.add_chat_template("{{ x }}")
    w = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    writer.add_tensor("plain", w)
    writer.add_tensor("half", w.astype(np.float16))
    for kind in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "BF16"):
        number = peer.GGMLQuantizationType[kind]
        writer.add_tensor(kind, peer.quants.quantize(w, number), raw_dtype=number)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    read = ingot.load(tmp_path / "m.gguf")
    assert read.architecture == "llama" and read.chat_template == "{{ x }}" and read.metadata["llama.block_count"] == 2
    assert read.tokenizer.tokens == ["a", "b"] and read.tokenizer.special_ids == {"bos": 1}
    assert np.array_equal(read["plain"].numpy(), w)
    for kind in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"):
        number = peer.GGMLQuantizationType[kind]
        assert np.array_equal(read[kind].dequantize().numpy(), peer.quants.dequantize(peer.quants.quantize(w, number), number))
        assert FORMATS[kind].bytes_of_row(64) == read[kind].rows.shape[-1]
