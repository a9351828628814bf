"""Benchmarks of several ranks: what they read and judge, and ranks that fail."""

import json

import pytest

import ingot
from ingot import distributed as dist
from ingot.benchmarks.distributed import ranks
from ingot.benchmarks.distributed import workloads as distributed
from ingot.benchmarks.harness import Plan

TINY = Plan(threads=1, quick=True, tiny=True, peers=())
TABLE = """
# Benchmarking Allreduce
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         0.61         0.70         0.65
        65536          640        21.00        25.00        23.50
        65536          640        20.00        24.00        22.50

# All processes entering MPI_Finalize
"""


def test_the_table_of_imb():
    assert distributed.imb_means(TABLE) == {8: [pytest.approx(0.65e-6)], 65536: pytest.approx([23.5e-6, 22.5e-6])}


def test_sizes_that_imb_leaves_out_are_named(monkeypatch):
    monkeypatch.setattr(distributed, "mpiexec", lambda: ["bin/mpiexec"])
    monkeypatch.setattr(distributed, "start", lambda order, env: None)
    monkeypatch.setattr(distributed, "finished", lambda processes: [TABLE])
    assert {*distributed.imb(TINY, 2, "all_gather", [16, 131072])} == {16, 131072}
    with pytest.raises(RuntimeError, match="measured messages of 8388608 B"):
        distributed.imb(TINY, 2, "all_reduce", [8, 8388608])


def test_libraries_take_turns_and_one_that_fails_is_named():
    order = []

    def run(name, seconds):
        def call():
            order.append(name)
            if name == "broken":
                raise RuntimeError("no ranks")
            return {name: {"8": seconds}}
        return call

    found, failed = distributed.gathered({"ingot": run("ingot", [1.0, 3.0]), "broken": run("broken", []),
                                          "torch": run("torch", [2.0])}, rounds=2)
    assert order == ["ingot", "broken", "torch", "torch", "ingot"]
    assert found["ingot"] == {8: [1.0, 3.0, 1.0, 3.0]} and found["torch"] == {8: [2.0, 2.0]}
    assert failed == {"broken": "no ranks"}


@pytest.mark.parametrize(("size", "peer", "bar"), [(8, "torch", 1.0), (1 << 20, "torch", 2.0), (8, "IMB", None),
                                                   (1 << 16, "IMB", 1 / 1.3)])
def test_medians_tails_and_bars(size, peer, bar):
    times = [*range(1, 100), 1000]
    found = distributed.row("x", size, peer, {"ingot": {size: times}, peer: {size: [2.0]}}, {})
    assert found.seconds == {"ingot": 50.5, peer: 2.0} and found.tails["ingot"] == 1000
    assert found.bars == ({peer: bar} if bar else {})
    assert found.note == "p99 of few calls: 100 of ingot" + (", 1 of torch" if peer == "torch" else "")
    assert distributed.row("x", size, peer, {"ingot": {size: [*times, 1]}}, {}).note == ""


@pytest.mark.parametrize(("size", "words"), [(8, "8 B"), (8 << 10, "8 KiB"), (256 << 20, "256 MiB")])
def test_sizes_in_words(size, words):
    assert distributed.shown(size) == words


def test_a_rank_that_fails_is_said():
    with pytest.raises(RuntimeError, match="KeyError: 'gossip'"):
        distributed.by_environment(TINY, 2, "local", library="ingot", program="collectives", collective="gossip", sizes=[8])


@pytest.mark.parametrize(("most", "budget", "counts"), [
    (3, 9.0, [5]), (6, 9.0, [5, 6]), (1000, 0.0, [5]), (1000, 1.5, [5, 10]), (1000, 6.0, [5, 10, 20, 40])])
def test_the_slowest_rank_ends_the_calls_of_a_size(most, budget, counts, monkeypatch):
    seen = []

    class Lib:
        """A library of this rank and another one, which takes twice as long."""

        class distributed:
            ReduceOp = dist.ReduceOp

            @staticmethod
            def all_reduce(spent, op):
                assert op is dist.ReduceOp.MAX
                seen.append(round(spent.item() / 0.1))
                spent.mul_(2)

        tensor = staticmethod(ingot.tensor)

    monkeypatch.setattr(ranks, "times_of", lambda call, count: [0.1] * count)
    times = ranks.times_within(Lib, None, most, budget)
    assert len(times) == counts[-1] and seen == (counts if most > counts[-1] else counts[:-1])


def test_ranks_answer_in_json():
    assert set(ranks.PROGRAMS) == {"collectives", "data_parallel", "sharded", "membership"}
    found = distributed.by_environment(TINY, 2, "local", library="ingot", program="collectives", collective="all_reduce",
                                       sizes=[8, 4096], most=6)
    assert {size: len(times) for size, times in found["ingot"].items()} == {"8": 6, "4096": 6}
    json.dumps(found)
