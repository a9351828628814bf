"""Exceptions from outside while a file is written: they reach the caller as they are, and the next save works."""

import io
import random

import pytest

import ingot
from interrupts import is_from_outside, points_of, raised_at

X = ingot.ones(300)
SAVES = {"file": lambda path: ingot.save({"x": X, "n": 3}, path), "memory": lambda path: ingot.save({"x": X}, io.BytesIO())}


@pytest.mark.parametrize("name", SAVES)
def test_an_exception_while_a_file_is_written_reaches_the_caller(name, tmp_path, pytestconfig):
    def save():
        SAVES[name](str(tmp_path / "file"))

    save()
    count = points_of(save, "zipfile")
    assert count > 20
    draws = random.Random(f"{pytestconfig.option.seed} {name}")
    for number in draws.sample(range(count), 8):
        kind = draws.choice((SystemExit, KeyboardInterrupt, RuntimeError))     # (zipfile drops an OSError)
        _, error, reached = raised_at(number, save, kind, "zipfile")
        assert reached and is_from_outside(error) and type(error) is kind, (number, error)
    save()
