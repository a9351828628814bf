"""Errors of ingot: each class can be made, whatever builtin class lays it out, and listeners are told of each new one."""

import pytest

import ingot
import ingot.distributed
import ingot.export
import ingot.jit
import ingot.multiprocessing
import private_names  # noqa: F401
from ingot.ir import errors


def _below(kind):
    return {kind, *[c for k in kind.__subclasses__() for c in _below(k)]}


@pytest.mark.parametrize("kind", sorted(_below(errors.IngotError), key=lambda c: (c.__name__, c.__module__)))
def test_each_error_can_be_made(kind, monkeypatch):
    told: list = []
    monkeypatch.setattr(errors, "NEW_ERRORS", [lambda: told.append(1)])
    assert type(kind.__new__(kind, "a")) is kind
    assert told == [1]


def test_errors_over_oserror_keep_their_message():
    error = ingot.distributed.DistTimeoutError("waited 3 s")
    assert isinstance(error, TimeoutError) and isinstance(error, errors.IngotError) and str(error) == "waited 3 s"
