"""Forks of a process that may have none are refused, with the way out."""

import pytest

import ingot
from ingot.runtime.state import forks


@pytest.mark.parametrize(("start", "way_out"), [
    (lambda: list(ingot.utils.data.DataLoader(range(4), num_workers=1)), "multiprocessing_context='forkserver'"),
    (lambda: list(ingot.utils.data.DataLoader(range(4), num_workers=1, multiprocessing_context="fork")), "='forkserver'"),
    (lambda: ingot.multiprocessing.start_processes(print, nprocs=1, start_method="fork"), "start_method='spawn'")])
def test_forks_are_refused_with_the_reason(start, way_out, monkeypatch):
    monkeypatch.setattr(forks, "reason", "a library here breaks in forked processes")
    with pytest.raises(RuntimeError, match=f"by 'fork' here: a library here breaks in forked processes.*{way_out}"):
        start()


def test_other_ways_to_start_stay(monkeypatch):
    monkeypatch.setattr(forks, "reason", "a library here breaks in forked processes")
    loader = ingot.utils.data.DataLoader(list(range(4)), num_workers=1, multiprocessing_context="forkserver")
    assert [int(x) for x in loader] == [0, 1, 2, 3]
