"""Random programs of collectives: each result is that of NumPy."""

import pytest

import nccl_ranks
import random_collectives
import ranks


def _program(rank, seed, count):
    random_collectives.run(seed, count)


def _on_devices(rank, nccl, seed, count):
    shapes, kinds = ((), (1,), (7,), (3, 5), (2, 3, 4), (0, 4)), ("f4", "f8", "i8", "i4", "u1")
    random_collectives.run(seed, count, lambda t: t.cuda(), shapes, kinds, random_collectives.ON_BITS, averages_round=True)


@pytest.mark.parametrize(("size", "seed"), [(2, 0), (3, 1), (4, 2)])
def test_random_programs(size, seed):
    ranks.run(size, _program, seed, 150)


@pytest.mark.parametrize(("size", "seed"), [(2, 3), (3, 4)])
def test_random_programs_on_devices(size, seed):
    nccl_ranks.run(size, _on_devices, seed, 60)
