"""Readers meet damaged files with errors of ingot, soon: seeded mutations of small honest files."""

import random
import time

import pytest

import reader_seeds


@pytest.mark.parametrize("change", [reader_seeds.mutated, reader_seeds.members_mutated], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", reader_seeds.READERS)
def test_damaged_files_raise_errors_of_ingot(name, change):
    if name == "ONNX":
        pytest.importorskip("onnx")
    reader, make = reader_seeds.READERS[name]
    honest, draw = make(), random.Random(f"{name} {change.__name__}")
    reader(honest)
    for number in range(150 if name == "models" else 600):
        data = change(honest, draw)
        began = time.process_time()
        reader_seeds.read(name, data)
        assert time.process_time() - began < 5, number
