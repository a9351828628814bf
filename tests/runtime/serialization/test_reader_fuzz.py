"""Readers meet damaged files with errors of ingot, soon and in little memory: seeded mutations of small honest files."""

import random
import subprocess
import sys

import pytest

import fuzzed_readers
import hostile_files
import reader_seeds
from ingot.ir.errors import FileError

FILES = {"models": 150, "checkpoints": 200, "checkpoints of pieces": 200, "checkpoints of PyTorch": 200}     # others: 600


@pytest.fixture
def name(request):
    if request.param.startswith("ONNX"):
        pytest.importorskip("onnx")
    return request.param


@pytest.mark.drawn
@pytest.mark.parametrize("change", [reader_seeds.mutated, reader_seeds.inside_mutated], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", reader_seeds.READERS, indirect=True)
def test_damaged_files_raise_errors_of_ingot(name, change):
    reader, _ = reader_seeds.READERS[name]
    files, draw = reader_seeds.honest_files(name), random.Random(f"{name} {change.__name__}")
    for data in files:
        reader(data)
    for _ in range(FILES.get(name, 600)):
        reader_seeds.read(name, change(draw.choice(files), draw))


@pytest.mark.parametrize("make", [hostile_files.wide_array, hostile_files.deflated_zeros, hostile_files.one_array_often])
def test_small_files_of_arrays_that_stand_for_much(make):
    with pytest.raises(FileError):
        reader_seeds.load_arrays(make())
    reader_seeds.read(".npz", make())


@pytest.mark.parametrize("name", reader_seeds.READERS, indirect=True)
def test_inputs_that_reach_much_code(name):
    reader, make = reader_seeds.READERS[name]
    reader(make())          # loads the modules, which takes seconds once
    for data in fuzzed_readers.corpus_of(name).values():
        reader_seeds.read(name, data)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", reader_seeds.READERS, indirect=True)
def test_inputs_that_coverage_leads_to(name, request, tmp_path):
    pytest.importorskip("atheris")
    seconds = max(1, round(60 * request.config.getoption("minutes") / len(reader_seeds.READERS)))
    done = subprocess.run([sys.executable, fuzzed_readers.__file__, name, str(seconds), str(tmp_path)], capture_output=True,
                          text=True, errors="replace")
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("reader", [lambda data: bytearray(64 << 20), lambda data: data.lines], ids=["memory", "errors"])
def test_a_reader_without_bounds_is_found(reader, monkeypatch):
    monkeypatch.setitem(reader_seeds.READERS, "careless", (reader, bytes))
    with pytest.raises((AssertionError, AttributeError)):
        reader_seeds.read("careless", b"")
