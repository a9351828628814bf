"""Processes of the ranks of one machine: their commands and environments, their start and end."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from ....ir import target
from ....ir.errors import ArgumentError
from ....ir.requirements import install_extra
from ..stores.handshake import SECRET
from ..stores.run_store import RUN_STORE
from . import die_with_launcher, error_files
from .command_line import Plan
from .rounds import Round, Share

_SETTLING = 3.0      # seconds in which a rank ends whose connections are closed; measured: up to 0.5, of 3 on 2 cores
_POLL, _GRACE = 0.05, 10.0      # seconds between looks at processes that are ended, and before those that do not end are killed
_OF_RANKS = ("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE",
             "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", SECRET, RUN_STORE)


def error_file(folder: str, local: int) -> str:
    """Return the file into which a rank of this machine writes its error."""
    return os.path.join(folder, f"{local}.json")


def environment(args, plan: Plan, found: Round, share: Share, local: int, folder: str = "") -> dict:
    """Return the environment of a rank of this machine, which writes its error into a folder."""
    place = plan.place
    variables = {"LOCAL_RANK": local, "RANK": share.first_rank + local, "GROUP_RANK": share.node,
                 "ROLE_RANK": share.first_role_rank + local, "ROLE_NAME": args.role, "LOCAL_WORLD_SIZE": share.processes,
                 "WORLD_SIZE": share.world_size, "GROUP_WORLD_SIZE": share.nodes, "ROLE_WORLD_SIZE": share.role_size,
                 "MASTER_ADDR": place.host, "MASTER_PORT": place.port, "TORCHELASTIC_RESTART_COUNT": found.restarts,
                 "TORCHELASTIC_MAX_RESTARTS": plan.settings.max_restarts, "TORCHELASTIC_RUN_ID": plan.settings.rdzv_id,
                 RUN_STORE: place.of_round(found.number), SECRET: plan.secret,
                 **({error_files.VARIABLE: error_file(folder, local)} if folder else {})}
    threads = max(1, target.usable_cpus() // share.processes)
    shared = {} if share.processes == 1 else {"INGOT_NUM_THREADS": threads, "OMP_NUM_THREADS": 1}
    return {**{name: str(value) for name, value in shared.items()}, **os.environ, **{n: str(v) for n, v in variables.items()}}


def _command(args, local: int) -> list:
    head = [] if args.no_python else [sys.executable, "-u", *["-m"] * args.module]
    return [*head, args.program, *([] if args.use_env else [f"--local-rank={local}"]), *args.arguments]


def _mpiexec() -> tuple[str, bool]:
    """Return the program `mpiexec` beside this Python, or else on the path, and whether it is Open MPI's."""
    found = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which("mpiexec")
    if found is None:
        raise ArgumentError("--hosts: there is no mpiexec, which starts processes on other machines: "
                            f"{install_extra('mpi')}")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return found, "Open MPI" in said or "OpenRTE" in said


def _on_hosts(args, plan: Plan, found: Round, share: Share) -> tuple:
    """Return the command and the environment by which `mpiexec` starts all processes. Ranks get their numbers from it."""
    hosts, (launcher, is_open_mpi) = args.hosts.split(","), _mpiexec()
    own = {name: value for name, value in environment(args, plan, found, share, 0).items()
           if os.environ.get(name) != value and name not in _OF_RANKS}
    if is_open_mpi:
        seats = ",".join(f"{host}:{share.processes}" for host in hosts)
        places = ["--host", seats, *[word for name in own for word in ("-x", name)]]
    else:
        places = ["-ppn", str(share.processes), "-hosts", args.hosts]
    kept = {name: value for name, value in os.environ.items() if name not in _OF_RANKS}
    return [launcher, "-n", str(share.processes * len(hosts)), *places, *_command(args, 0)], {**kept, **own}


def orders(args, plan: Plan, found: Round, share: Share, folder: str = "") -> list:
    """Return the command and the environment of each process to start."""
    if args.hosts:
        return [_on_hosts(args, plan, found, share)]
    return [(_command(args, local), environment(args, plan, found, share, local, folder)) for local in range(share.processes)]


class Ends:
    """The times at which processes end: a thread for each waits for it."""

    def __init__(self):
        self._ends: dict[int, tuple] = {}
        self._watched = 0

    def watch(self, number: int, process: subprocess.Popen):
        def wait():
            self._ends[number] = process.wait(), time.time()

        self._watched += 1
        threading.Thread(target=wait, daemon=True).start()

    def failed(self, follows: Callable[[int], bool]) -> dict[int, tuple]:
        """Return {number: (exit code, time)} of those that have failed. Wait a moment for one whose failure does not follow
        from that of another one: it closes its connections before it ends, so the others may end first."""
        limit = time.monotonic() + _SETTLING
        while True:
            ends = dict(self._ends)
            failed = {number: end for number, end in ends.items() if end[0]}
            if len(ends) == self._watched or time.monotonic() > limit or not all(map(follows, failed)):
                return failed
            time.sleep(_POLL)


def start(command: list, variables: dict) -> subprocess.Popen:
    """Start a process that dies with this one."""
    return subprocess.Popen([sys.executable, "-I", "-S", die_with_launcher.__file__, str(os.getpid()), *command], env=variables)


def end(processes: list, look: Callable[[], object] = lambda: None):
    """End processes, by force if needed. `look` is called all the time."""
    left = [p for p in processes if p.poll() is None]
    for p in left:
        p.terminate()
    limit = time.monotonic() + _GRACE
    while left := [p for p in left if p.poll() is None]:
        if time.monotonic() > limit:
            for p in left:
                p.kill()
                p.wait()
        look()
        time.sleep(_POLL)
