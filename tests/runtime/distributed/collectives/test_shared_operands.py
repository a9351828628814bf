"""Collectives whose results lie in the memory of their operands."""

import pytest

import nccl_ranks
import ranks
import shared_operands


def _search(rank, *args):
    shared_operands.search(*args)


def _on_devices(rank, nccl, seed, count):
    shared_operands.search(seed, count, 700, lambda t: t.cuda())


@pytest.mark.parametrize(("size", "seed"), [(2, 0), (3, 1), (4, 2), (8, 3)])
def test_results_may_lie_in_operands(size, seed):
    ranks.run(size, _search, seed, 120)


@pytest.mark.parametrize(("size", "seed"), [(2, 4), (3, 5)])
def test_results_may_lie_in_operands_on_devices(size, seed):
    nccl_ranks.run(size, _on_devices, seed, 64)
