"""Readers meet damaged files with errors of ingot, soon and in little memory: seeded mutations of small honest files."""

import random

import pytest

import hostile_files
import reader_seeds
from ingot.ir.errors import FileError

FILES = {"models": 150, "checkpoints": 200, "checkpoints of pieces": 200, "checkpoints of PyTorch": 200}     # others: 600


@pytest.mark.parametrize("change", [reader_seeds.mutated, reader_seeds.inside_mutated], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", reader_seeds.READERS)
def test_damaged_files_raise_errors_of_ingot(name, change):
    if name == "ONNX":
        pytest.importorskip("onnx")
    reader, make = reader_seeds.READERS[name]
    honest, draw = make(), random.Random(f"{name} {change.__name__}")
    reader(honest)
    for _ in range(FILES.get(name, 600)):
        reader_seeds.read(name, change(honest, draw))


@pytest.mark.parametrize("make", [hostile_files.wide_array, hostile_files.deflated_zeros, hostile_files.one_array_often])
def test_small_files_of_arrays_that_stand_for_much(make):
    with pytest.raises(FileError):
        reader_seeds.load_arrays(make())
    reader_seeds.read(".npz", make())
