"""Training between two machines, namespaces of this one, whose network is slow and loses packets."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import mpi_seats
import slow_network
import train_by_ranks
from ingot.ir.requirements import install_extra
from ingot.runtime.distributed.stores import launch_variables
from train_by_ranks import engines, losses

PROGRAM = train_by_ranks.__file__
UNSET = {"INGOT_ENGINE", "INGOT_RUN_SECRET", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_WORLD_SIZE",
         *[name for row in launch_variables._LAUNCHERS for name in row[1:3]]}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def network():
    """Give a network with 20 ms in each direction, where one packet of 100 is lost, and 20 Mbit/s."""
    with slow_network.SlowNetwork(delay=0.02, loss=0.01, rate=2.5e6) as found:
        yield found


def finished(commands, **variables) -> list:
    """Run commands side by side; return (exit status, output) of each."""
    environment = {**{k: v for k, v in os.environ.items() if k not in UNSET}, "INGOT_NUM_THREADS": "1", **variables}
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
                 for words in commands]
    try:
        return [(p.wait(), said) for p in processes for said in [p.communicate(timeout=180)[0]]]
    finally:
        for p in processes:
            p.kill()
            p.wait()


@pytest.fixture
def undisturbed():
    """Give the losses of a run on one machine."""
    (code, said), = finished([[sys.executable, "-m", "ingot.distributed.run", "--nproc-per-node", "2", PROGRAM]])
    assert code == 0 and len(losses(said)) == 8 and engines(said) == {"local"}, said
    return losses(said)


def ranks_of(network) -> list:
    """Return the commands of two ranks, one in each namespace, with the variables of torchrun."""
    place = [f"MASTER_ADDR={slow_network.ADDRESSES[0]}", "MASTER_PORT=29511", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=1"]
    return [network.inside(rank, "env", *place, f"RANK={rank}", sys.executable, PROGRAM) for rank in range(2)]


def test_ranks_train_by_connections_of_ingot(network, undisturbed):
    done = finished(ranks_of(network), INGOT_ENGINE="tcp", INGOT_RUN_SECRET="of this run")
    assert [code for code, _ in done] == [0, 0] and engines(done[0][1]) == {"tcp"}, done
    np.testing.assert_allclose(losses(done[0][1]), undisturbed, rtol=1e-5)


def test_launchers_meet_and_their_ranks_train(network, undisturbed):
    """The launcher of the second machine starts first, so that both know from the address alone which one serves the store."""
    order = [sys.executable, "-m", "ingot.distributed.run", "--nnodes", "1:2", "--rdzv-endpoint",
             f"{slow_network.ADDRESSES[0]}:29511", "--rdzv-conf", "last_call_timeout=60", PROGRAM]
    commands = [network.inside(1, *order), network.inside(0, "sh", "-c", 'sleep 1; exec "$@"', "sh", *order)]
    done = finished(commands, INGOT_ENGINE="tcp", INGOT_RUN_SECRET="of this run")
    assert [code for code, _ in done] == [0, 0] and engines(done[1][1]) == {"tcp"}, done
    np.testing.assert_allclose(losses(done[1][1]), undisturbed, rtol=1e-5)


def test_ranks_train_by_mpi(network, undisturbed, tmp_path):
    if len(mpi_seats.mpiexec()) > 1:
        pytest.skip("the variables for remote machines are those of MPICH")
    order = [sys.executable, "-m", "ingot.distributed.run", "--hosts", ",".join(slow_network.ADDRESSES), PROGRAM]
    (code, said), = finished([network.inside(0, *order)], HYDRA_LAUNCHER="ssh", HYDRA_IFACE=slow_network.DEVICE,
                             HYDRA_LAUNCHER_EXEC=str(slow_network.remote_shell(tmp_path, network)))
    assert code == 0 and engines(said) == {"mpi"}, said
    np.testing.assert_allclose(losses(said), undisturbed, rtol=1e-5)


@pytest.mark.parametrize(("secret", "text"), [("", "needs a secret"), ("of this run", "no engine connects")])
def test_ranks_without_an_engine_end_at_once(secret, text, network):
    for code, said in finished(ranks_of(network), INGOT_RUN_SECRET=secret):
        after, words = re.search(r"after (\S+) s: (.*)", said).groups()
        assert code == 1 and text in words and install_extra("mpi") in words and float(after) < 5, said
