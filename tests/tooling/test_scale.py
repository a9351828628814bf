"""Costs of runs by the number of ranks: schedules against the messages that engines send, and tables of the documentation."""

import itertools
from pathlib import Path

import pytest

import ingot
import ranks
from ingot import distributed as dist
from ingot.benchmarks.distributed import scale
from ingot.runtime.distributed.engines import mpi_channel
from ingot.runtime.distributed.engines.tcp_engine import TCPEngine

PAGE = Path(ingot.__file__).parent / "docs/distributed.md"
SIZES = [8, 32 << 10, 33_024, 240 << 10]       # the larger ones are shared evenly by 2, 3 and 4 ranks


def _count(rank, n, engine, path):
    if engine == "tcp":
        dist.destroy_process_group()
        dist.init_process_group("tcp", store=dist.FileStore(path), rank=rank, world_size=n, timeout=30)
    sent: list = []
    here = dist.group.WORLD.engine
    assert here.name == engine
    send, lend = here.send, getattr(here, "lend", None)

    def counted(targets, channel, note, memory):
        sent.extend([memory.size] * len(targets))
        send(targets, channel, note, memory)

    def lent(targets, channel, note, block, size):
        sent.extend([size / n] * len(targets))         # what others read
        lend(targets, channel, note, block, size)

    here.send, here.lend = counted, lent
    for size in SIZES:
        sent.clear()
        dist.all_reduce(ingot.ones(size // 8, dtype=ingot.float64))
        want = list(scale.COSTS[engine].schedule(n, size))
        assert len(sent) == sum(r.messages for r in want)
        assert sum(sent) == pytest.approx(sum(r.bytes for r in want))


@pytest.mark.parametrize("engine", ["local", "tcp"])
@pytest.mark.parametrize("n", [pytest.param(2, marks=pytest.mark.slow), 3, pytest.param(4, marks=pytest.mark.slow)])
def test_schedules_are_those_of_the_engines(n, engine, tmp_path):
    ranks.run(n, _count, n, engine, str(tmp_path / "store"), by_mpi=False)


@pytest.mark.parametrize("n", [2, 4, 8, 64])
def test_small_values_of_mpi_go_with_the_messages_that_compare(n):
    most = min(mpi_channel._DOUBLED_BYTES * n, mpi_channel._MOST_DOUBLED)
    rounds = len(mpi_channel._partners(n, 0))
    assert [r.bytes for r in scale.by_doubling(n, most)] == [most] * rounds
    assert [r.bytes for r in scale.by_doubling(n, most + 1)][:rounds] == [0] * rounds


def test_the_page_has_the_computed_tables():
    page = PAGE.read_text()
    for text in scale.computed():
        assert text.replace(" --- ", "---") in page, "run python -m benchmarks.distributed.scale"


def test_costs_grow_as_their_schedules_say():
    tcp, mpi = scale.COSTS["tcp"], scale.COSTS["mpi"]
    assert TCPEngine.name in scale.COSTS and tcp.connections(1000) == 999 and mpi.connections(1000) == 10
    assert tcp.start_up(2000) / tcp.start_up(1000) == pytest.approx(4, rel=0.05)        # requests are answered one by one
    assert mpi.all_reduce(1024, 8) == pytest.approx(2 * mpi.all_reduce(32, 8))
    assert mpi.all_reduce(10_000, 8) == pytest.approx(3 * mpi.all_reduce(32, 8))        # 13 rounds, and one before and after
    machine = scale.Machine()
    for model in scale.MODELS:
        steps = [scale.step_of(model, 2 ** i, machine) for i in range(1, 14)]
        assert all(a.efficiency > b.efficiency for a, b in itertools.pairwise(steps))
        assert all(s.seconds >= s.compute and s.exposed <= s.communication * 1.0001 for s in steps)
    small = scale.Model("x", 1e6, 1, 1, 1, 1 << 30, False)      # one bucket: all of its average follows backward
    step = scale.step_of(small, 8, machine)
    assert step.exposed == pytest.approx(step.communication) == machine.all_reduce(8, 4e6)
