"""Interrupts while a loader starts its workers: no process stays, and warnings are filtered as before."""

import gc
import multiprocessing
import random
import time
import warnings

import pytest

import ingot
from ingot.utils.data import DataLoader, Dataset
from interrupts import BARE, KINDS, async_at, is_from_outside, points_of, raised_at

MODULE = "ingot.runtime.data.worker_pool"


class Numbers(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return ingot.full((2,), float(index))


def _start():
    return iter(DataLoader(Numbers(), batch_size=2, num_workers=2))


def _ends() -> bool:
    """Return whether all workers end within some seconds."""
    gc.collect()
    deadline = time.monotonic() + 20
    while multiprocessing.active_children():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("way", ["thread", "point"])
def test_an_interrupted_start_leaves_no_worker(way, seed):
    count, rng, held = points_of(_start, MODULE), random.Random(f"{way} {seed}"), []
    assert _ends() and count > 20
    for number in rng.sample(range(count), 5):
        before = warnings.filters, list(warnings.filters)
        if way == "thread":
            kind = rng.choice(BARE)
            found, error, reached = async_at(number, _start, kind, MODULE)
            assert (type(error) is kind) is reached, (number, kind, error)
        else:
            found, error, reached = raised_at(number, _start, rng.choice(KINDS), MODULE)
            assert is_from_outside(error) is reached, (number, error)
        held.append(error)              # with the frames that it passed
        assert warnings.filters is before[0] and list(warnings.filters) == before[1], number
        del found
        assert _ends(), number
