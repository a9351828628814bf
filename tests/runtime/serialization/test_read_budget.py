"""Files cost their readers memory and time in proportion to their size."""

import io
import time
import tracemalloc

import numpy as np
import pytest

import hostile_files
import ingot
from ingot.ir import config
from ingot.ir.errors import FileError
from ingot.runtime.serialization.read_budget import ReadBudget, shown

LIMIT = 8           # MiB that small files may take in these tests


def measured(read, data) -> tuple:
    """(error or None, seconds, peak of memory) of reading bytes."""
    tracemalloc.start()
    began = time.process_time()
    try:
        with config.override(read_limit=LIMIT):
            read(data)
        error = None
    except FileError as e:
        error = e
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return error, time.process_time() - began, peak


@pytest.mark.parametrize("name", hostile_files.FILES)
def test_small_files_that_stand_for_much(name):
    data = hostile_files.FILES[name]()
    error, seconds, peak = measured(lambda data: ingot.load(io.BytesIO(data)), data)
    assert error is not None and len(str(error)) < 600
    assert seconds < 2 + 4e-6 * len(data) and peak < (2 * LIMIT << 20) + 300 * len(data), (seconds, peak, len(data))


@pytest.mark.parametrize("data", [hostile_files.many_names()])
def test_names_in_small_files(data):
    error, seconds, peak = measured(lambda data: ingot.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)), data)
    assert "a list of names" in str(error) and seconds < 2 and peak < 64 << 20


def test_the_limit_is_a_setting():
    data = hostile_files.lazily(1 << 19, neg=True)
    words = r"2097152 bytes, out of proportion to the file's \d+ bytes.*INGOT_READ_LIMIT to more than 1 "
    with pytest.raises(FileError, match=words), config.override(read_limit=1):
        ingot.load(io.BytesIO(data))
    with config.override(read_limit=2):
        assert ingot.load(io.BytesIO(data)).shape == (1 << 19,)


def test_honest_files_are_far_from_the_limit(tmp_path, monkeypatch):
    """A state dict, an optimizer's state, keys of all kinds and repeated data take less than a tenth of what they may."""
    net = ingot.nn.Sequential(*[ingot.nn.Linear(16, 16) for _ in range(40)])
    opt = ingot.optim.AdamW(net.parameters())
    net(ingot.randn(2, 16)).sum().backward()
    opt.step()
    row = ingot.zeros(1).expand(1000)
    data = {"net": net.state_dict(), "opt": opt.state_dict(), "steps": list(range(10000)),
            (1, 2.5): {2.0 ** k: k for k in range(300)}, "wide": [row] * 50, "set": {("a", i) for i in range(2000)}}
    budgets = []
    made = ReadBudget.__init__

    def noted(self, *args):
        made(self, *args)
        budgets.append((self, self.steps_left))

    monkeypatch.setattr(ReadBudget, "__init__", noted)
    ingot.save(data, tmp_path / "x.pt")
    with config.override(read_limit=0):
        found = ingot.load(tmp_path / "x.pt")
    (budget, steps), = budgets
    assert budget.steps_left > 0.9 * steps and found["set"] == data["set"] and found[1, 2.5] == data[1, 2.5]


def test_keys_of_equal_hash_are_counted_for_each_container():
    budget = ReadBudget("x", 0)
    one, other = {}, {}
    before = budget.steps_left
    for i in range(300):
        budget.take_keys([i * hostile_files.HASH_MODULUS + (1 << 61)], one if i % 2 else other)
    assert before - budget.steps_left == 2 * sum(range(150))


@pytest.mark.parametrize("x, text", [
    (3, "3"), (1 << 5000, "an int of 5001 bits"), ("a" * 500, "'" + "a" * 60 + "'"), ((1, 2), "(1, 2)"), ([[]], "a list of 1"),
    (None, "None"), (np.zeros(3), "a ndarray"), (b"\0" * 99, repr(b"\0" * 60)[:76] + "...")], ids=repr)
def test_data_in_messages(x, text):
    assert shown(x) == text
