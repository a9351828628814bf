"""A cluster of Slurm on this machine: its daemons with a configuration of their own, for the time of a `with` block."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

_PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")
_PATIENCE = 40.0
_CONFIGURATION = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def _free_ports(count: int) -> list:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("", 0))) for _ in range(count)]
        return [s.getsockname()[1] for s in sockets]


def _found(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


@contextlib.contextmanager
def cluster():
    """Run a cluster of one node with 8 CPUs; give the variables under which `srun` finds it."""
    missing = [name for name in _PROGRAMS if _found(name) is None]
    if missing:
        pytest.skip(f"Slurm is not installed: there is no {missing[0]} (packages slurmd, slurmctld, slurm-client, munge)")
    if os.geteuid():
        pytest.skip("the daemons of Slurm are started by root")
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as undo:
        folder = Path(name)
        for part in ("state", "spool"):
            (folder / part).mkdir()
        (folder / "key").write_bytes(os.urandom(128))
        (folder / "key").chmod(0o600)
        path = folder / "slurm.conf"
        path.write_text(_CONFIGURATION.format(host=socket.gethostname().partition(".")[0], user="root", folder=folder,
                                              ports=_free_ports(2)))
        variables = {"SLURM_CONF": str(path)}

        def start(program, *options):
            with open(folder / f"{program}.out", "w") as output:
                process = subprocess.Popen([_found(program), *options], stdout=output, stderr=subprocess.STDOUT,
                                           env={**os.environ, **variables})
            undo.callback(process.wait)
            undo.callback(process.terminate)

        start("munged", "--foreground", "--force", f"--key-file={folder}/key", f"--socket={folder}/munge.socket",
              f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed")
        _until(lambda: (folder / "munge.socket").exists(), folder)
        start("slurmctld", "-D", "-f", str(path))
        start("slurmd", "-D", "-f", str(path))
        _until(lambda: "idle" in _said("sinfo", "--noheader", "--format=%t", env=variables), folder)
        yield variables


def needs_pmix(variables: dict):
    """Skip the test unless the cluster's `srun` can start programs by PMIx."""
    said = subprocess.run(["srun", "--mpi=pmix", "-n", "1", "true"], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, **variables}).stderr
    if "can not load PMIx library" in said:
        pytest.skip("Slurm does not find its PMIx library (package libpmix-dev)")


def _said(program, *options, env) -> str:
    return subprocess.run([_found(program), *options], capture_output=True, text=True, check=False,
                          env={**os.environ, **env}).stdout


def _until(is_true, folder: Path):
    deadline = time.monotonic() + _PATIENCE
    while not is_true():
        if time.monotonic() > deadline:
            logs = "\n".join(f"{p.name}: {p.read_text()[-1500:]}" for p in [*folder.glob("*.log"), *folder.glob("*.out")])
            pytest.skip(f"Slurm does not start here: {logs}")
        time.sleep(0.2)
