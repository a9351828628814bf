"""Damaged and tampered `.ingot` files: each gives one clear error, or the right answer."""

import importlib
import json
import pkgutil
import random
import re
import zipfile

import numpy as np
import pytest

import ingot
from exported_models import quiet, small_file
from ingot import jit
from ingot.ir.errors import FileError
from ingot.ir.opdef.op import Op
from ingot.ir.ops import nn, packed
from ingot.jit.exporting.file import archive, model

MUTATIONS = 60


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """(path, module, example) of a small model with a free batch."""
    return small_file(tmp_path_factory.mktemp("model"))


def rewritten(path, target, change):
    """A copy of a file with changed members, whose zip structure is sound."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as out:
        for entry in source.infolist():
            data = change(entry.filename, source.read(entry))
            if data is not None:
                out.writestr(entry.filename, data)
    return target


def with_manifest(path, target, change):
    """A copy of a file with a changed manifest."""
    def edit(name, data):
        if name != archive.MANIFEST:
            return data
        manifest = json.loads(data)
        change(manifest)
        return json.dumps(manifest).encode()

    return rewritten(path, target, edit)


@pytest.mark.parametrize("change, words", [
    (lambda m: m.update(format=99), "newer"), (lambda m: m.update(kind="cake"), "not an ingot model"),
    (lambda m: m.update(byteorder="big"), "big-endian"), (lambda m: m["members"].pop("graph.txt"), "members"),
    (lambda m: m["members"]["graph.txt"].update(checksum="0" * 64), "checksum of graph.txt"),
    (lambda m: m["members"]["graph.txt"].update(size=3), "graph.txt"), (lambda m: m.pop("signature"), "damaged"),
    (lambda m: m["signature"]["inputs"][0].update(dtype="float13"), "float13"),
    (lambda m: m["signature"]["inputs"][0].update(shape=["batch", 7]), "manifest says|takes"),
    (lambda m: m["weights"].pop(), "weights are not"),
    (lambda m: m["graphs"][0]["conditions"].append(["__import__('os')", ""]), "condition"),
])
def test_tampered_manifests(exported, change, words, tmp_path):
    with pytest.raises(FileError, match=words):
        jit.load(with_manifest(exported[0], tmp_path / "m.ingot", change), objects=False)


@pytest.mark.parametrize("member", ["graph.txt", "weights.safetensors", "source.json"])
def test_tampered_members(exported, member, tmp_path):
    def edit(name, data):
        return bytes([data[0] ^ 1]) + data[1:] if name == member else data

    path = rewritten(exported[0], tmp_path / "m.ingot", edit)
    with pytest.raises(FileError, match=f"checksum of {member}"):
        model = jit.load(path, objects=False)
        assert model.source


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04", b"hello" * 100, b"PK\x03\x04" + bytes(1000)])
def test_other_files(content, tmp_path):
    path = tmp_path / "m.ingot"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"m\.ingot"):
        jit.load(path)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError):
        jit.load(tmp_path / "nothing.ingot")
    with pytest.raises(OSError):
        jit.load(tmp_path)


def with_graph(path, target, change):
    """A copy of a file with a changed graph, whose checksum is right."""
    with zipfile.ZipFile(path) as source:
        text = change(source.read("graph.txt").decode()).encode()

    def edit(name, data):
        if name == "graph.txt":
            return text
        if name != archive.MANIFEST:
            return data
        manifest = json.loads(data)
        manifest["members"]["graph.txt"] = {"size": len(text), "checksum": archive.checksum(text)}
        return json.dumps(manifest).encode()

    return rewritten(path, target, edit)


WORDS = re.compile(r"\d+|%\w[\w.]*|\b[a-z_]+(?=\()|True|False|None")


def other_graph(text: str, generator) -> str:
    """The text of a graph with a number, a value or an operator exchanged."""
    found = generator.choice(list(WORDS.finditer(text)))
    word, words = found.group(), WORDS.findall(text)
    if word.isdigit():
        new = generator.choice((0, 1, 2, 7, int(word) + 1, max(0, int(word) - 1), 10**6, 2**40))
    else:
        new = generator.choice([w for w in words if (w[0] == "%") == (word[0] == "%") and not w.isdigit()])
    return f"{text[:found.start()]}{new}{text[found.end():]}"


@pytest.mark.parametrize("first", [0, pytest.param(1000, marks=pytest.mark.slow)])
def test_tampered_graphs(exported, first, tmp_path):
    """With its checksum put right, a changed graph is refused, or is another program; nothing crashes."""
    path, _, x = exported
    refused = 0
    for seed in range(first, first + (400 if first else 40)):
        generator = random.Random(seed)
        try:
            jit.load(with_graph(path, tmp_path / "m.ingot", lambda text: other_graph(text, generator)), objects=False)(x)
        except ingot.IngotError:
            refused += 1
        except MemoryError:
            refused += 1
    assert refused


def test_parameters_that_no_recording_writes(tmp_path):
    x, i = ingot.randn(3, 4), ingot.zeros(3, 2, dtype=ingot.int64)
    jit.export(lambda x, i: x.gather(1, i), (x, i), tmp_path / "m.ingot", targets=())
    path = with_graph(tmp_path / "m.ingot", tmp_path / "n.ingot", lambda text: text.replace("dim=1", "dim=1.5"))
    with pytest.raises(FileError, match=r"n\.ingot"):
        jit.load(path, objects=False)(x, i)


@pytest.mark.parametrize("line", [
    "%x: f32[batch,6] = place(%input, device='cpu', source='cpu', wait=True)",
    "%x: f32[96] = pack_filters(%0.weight, kernel=('direct', 1, False), size=96)",
])
def test_operators_that_files_may_not_hold(exported, line, tmp_path):
    def change(text):
        name = re.search(r"%\w*0.weight", text).group()
        return text.replace("{\n", "{\n  " + line.replace("%0.weight", name) + "\n", 1)

    with pytest.raises(FileError, match=r"belongs in no file|does not take"):
        jit.load(with_graph(exported[0], tmp_path / "m.ingot", change), objects=False)


def test_no_operator_that_passes_alone_make_may_be_in_files():
    def operators_in(room):
        files = [importlib.import_module(f"{room.__name__}.{m.name}") for m in pkgutil.iter_modules(room.__path__)]
        return {x for file in files for x in vars(file).values() if isinstance(x, Op)}

    assert model.made_by_passes() == operators_in(packed) - operators_in(nn)


def mutated(data: bytes, generator) -> bytes:
    """A file with some bytes changed, removed, doubled or cut off."""
    data, kind = bytearray(data), generator.randrange(5)
    at = generator.randrange(len(data))
    if kind == 0:
        return bytes(data[:at])
    if kind == 1:
        del data[at:at + generator.randrange(1, 64)]
    elif kind == 2:
        data[at:at] = data[at:at + generator.randrange(1, 64)]
    else:
        for _ in range(generator.choice((1, 1, 8))):
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    return bytes(data)


def check_mutations(exported, tmp_path, count, first):
    """Each damaged file gives an error of ours, or the right answer."""
    path, fn, x = exported
    data, want, errors = path.read_bytes(), quiet(fn, x).numpy(), 0
    for seed in range(first, first + count):
        broken = tmp_path / f"{seed}.ingot"
        broken.write_bytes(mutated(data, random.Random(seed)))
        try:
            got = jit.load(broken)(x).numpy()
        except (FileError, OSError):
            errors += 1
        else:
            np.testing.assert_array_equal(got, want, err_msg=f"seed {seed}")
        broken.unlink()
    assert errors > count // 2


def test_mutations_give_an_error_or_the_right_answer(exported, tmp_path):
    check_mutations(exported, tmp_path, MUTATIONS, 0)


@pytest.mark.slow
def test_a_thousand_mutations(exported, tmp_path):
    check_mutations(exported, tmp_path, 1000, 1000)
