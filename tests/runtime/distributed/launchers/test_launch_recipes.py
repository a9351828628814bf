"""One program under every launcher, with the same losses: each recipe of docs/distributed.md is run here, or marked there."""

import contextlib
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ingot
import mpi_seats
import slurm
import train_by_ranks
from ingot.runtime.distributed.stores import launch_variables

PAGE = Path(ingot.__file__).parent / "docs/distributed.md"
UNSET = {"INGOT_ENGINE", "INGOT_RUN_SECRET", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
         *[name for row in launch_variables._LAUNCHERS for name in row[1:3]]}
RANKS = 4


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def recipes() -> list:
    """Return the commands of the page that tests run."""
    block = re.search(r"^## Launching\n.*?^```\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line.partition("#") for line in block[1].splitlines()]
    return [command.strip() for command, _, note in lines if not re.search("no test|network namespaces", note)]


def needs_mpi_of(kind: str):
    """Skip the test unless mpi4py has this MPI."""
    found = "Open MPI" if len(mpi_seats.mpiexec()) > 1 else "MPICH"
    if found != kind:
        pytest.skip(f"this environment has {found}, and the recipe is for {kind}")


def words_of(recipe: str) -> list:
    """Return the words of a recipe, with this Python, this program, and the launcher beside this Python."""
    changed = {"python": [sys.executable], "program.py": [train_by_ranks.__file__], "mpiexec": None}
    return [w for word in shlex.split(recipe) for w in ([mpi_seats.mpiexec()[0], *mpi_seats.mpiexec()[2:]] if word == "mpiexec"
                                                        else changed.get(word, [word]))]


def losses(recipe: str, engine: str, **variables) -> list:
    """Return the losses of a run."""
    environment = {**{k: v for k, v in os.environ.items() if k not in UNSET}, "INGOT_NUM_THREADS": "1", **variables}
    if "RANK=0" in recipe:
        settings, recipe = recipe.split(" python ")
        given = {**dict(s.split("=") for s in settings.split()), "MASTER_PORT": str(free_port())}
        orders = [(words_of(f"python {recipe}"), {**environment, **given, "RANK": str(rank)}) for rank in range(RANKS)]
    elif "--rdzv-endpoint" in recipe:
        orders = [(words_of(recipe.replace("29500", str(free_port()))), environment)] * 2
    else:
        orders = [(words_of(recipe), environment)]
    processes = [subprocess.Popen(words, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                 for words, env in orders]
    said = "".join([p.communicate(timeout=200)[0] for p in processes])
    assert not any(p.returncode for p in processes), said
    assert train_by_ranks.engines(said) == {engine}, said
    return train_by_ranks.losses(said)


# (the engine that is chosen, the MPI that the recipe is for)
RUN = {"python -m ingot.distributed.run --nproc-per-node 4 program.py": ("local", ""),
       "RANK=0 WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 python program.py": ("local", ""),
       "python -m ingot.distributed.run --nnodes 1:2 --nproc-per-node 2 --rdzv-endpoint 127.0.0.1:29500 program.py":
           ("local", ""),
       "mpiexec -n 4 python program.py": ("mpi", "MPICH"),
       "mpiexec --oversubscribe -n 4 python program.py": ("mpi", "Open MPI"),
       "srun -n 4 python program.py": ("local", ""),
       "srun --mpi=pmi2 -n 4 python program.py": ("mpi", "MPICH"),
       "INGOT_ENGINE=mpi srun --mpi=pmix -n 4 python program.py": ("mpi", "Open MPI")}


def test_every_recipe_is_run_or_marked():
    assert sorted(recipes()) == sorted(RUN)


@pytest.fixture(scope="module")
def undisturbed():
    """Give the losses of four ranks on one machine."""
    return losses(next(iter(RUN)), "local")


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("recipe", RUN)
def test_a_program_has_the_same_losses_under_every_launcher(recipe, undisturbed):
    engine, kind = RUN[recipe]
    if kind:
        needs_mpi_of(kind)
    given = dict(re.findall(r"^(INGOT_\w+)=(\w+) ", recipe))
    with slurm.cluster() if "srun" in recipe else contextlib.nullcontext({}) as variables:
        if "--mpi=pmix" in recipe:
            slurm.needs_pmix(variables)
        found = losses(re.sub(r"^INGOT_\w+=\w+ ", "", recipe), engine, **variables, **given)
    assert len(found) == 8
    np.testing.assert_allclose(found, undisturbed, rtol=1e-5)
