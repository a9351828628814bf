"""`python -m ingot.distributed.run --nproc-per-node=4 train.py ...`: one program as several processes with ranks.

Each process has RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and others in its environment, so
`init_process_group()` needs no arguments. If one fails, the others are ended, and all are restarted while restarts are left.
With a range, `--nproc-per-node=2:4`, processes that were killed are left out of the restart.
With `--hosts=one,two` ranks run on several machines, and `mpiexec` starts them.
`python -m ingot.distributed.launch` also passes `--local-rank` to the program.
"""

import argparse
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

from ....ir import target
from ....ir.errors import ArgumentError
from ...core.device import DRIVERS, available
from ..stores.handshake import ADVICE, SECRET

__all__ = ["main", "parse_args", "run"]

_POLL, _GRACE = 0.05, 10.0      # seconds between polls of the processes, and before those that do not end are killed


def parse_args(args=None, **defaults) -> argparse.Namespace:
    """Parse the command line."""
    p = argparse.ArgumentParser("ingot.distributed.run", description="Starts a program as several processes of one run.")
    add = p.add_argument
    add("--hosts", default="", help="names of the machines, with commas between: mpiexec starts the processes there")
    add("--nnodes", default="1", help="machines of the run, where each runs this command (default: 1)")
    add("--nproc-per-node", "--nproc_per_node", default="1",
        help="processes on each: a number, 'cpu', 'gpu' or 'auto'; or the least and the most, as 2:4, of which the most start "
             "first, and a restart leaves out those that were ended by a signal")
    add("--node-rank", "--node_rank", type=int, default=None, help="the number of this machine among several")
    add("--master-addr", "--master_addr", default="127.0.0.1", help="where rank 0 is")
    add("--master-port", "--master_port", type=int, default=None, help="its port (default: a free one, or 29500)")
    add("--rdzv-endpoint", "--rdzv_endpoint", default="", help="address and port of rank 0 in one")
    add("--rdzv-id", "--rdzv_id", default="none", help="a name for the run")
    add("--rdzv-backend", "--rdzv_backend", default="static", help="accepted; ranks always come from --node-rank")
    add("--rdzv-conf", "--rdzv_conf", default="", help=argparse.SUPPRESS)
    add("--standalone", action="store_true", help="a run on this machine alone, at a free port")
    add("--max-restarts", "--max_restarts", type=int, default=0, help="how often all start again after a failure")
    add("--monitor-interval", "--monitor_interval", type=float, default=_POLL, help="seconds between looks at the processes")
    add("--role", default="default", help=argparse.SUPPRESS)
    add("-m", "--module", action="store_true", help="the program is a module, as for python -m")
    add("--no-python", "--no_python", action="store_true", help="the program is run by itself, not by Python")
    add("--use-env", "--use_env", action=argparse.BooleanOptionalAction, default=defaults.get("use_env", True),
        help="the rank is in the environment alone, not among the program's arguments")
    add("program", help="what is run")
    add("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return p.parse_args(args)


def _count(text: str) -> int:
    """Return the number of processes per machine."""
    if text == "gpu" or (text == "auto" and available("cuda")):
        if not available("cuda"):
            raise ArgumentError("--nproc-per-node=gpu: there is no GPU here")
        return DRIVERS["cuda"].count()
    if text in ("cpu", "auto"):
        return target.usable_cpus()
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentError(f"--nproc-per-node takes a number, 'cpu', 'gpu' or 'auto', or a range such as 2:4, got {text!r}")
    return int(text)


def _counts(args) -> tuple[int, int]:
    """Return the least and the most processes per machine."""
    low, is_range, high = args.nproc_per_node.partition(":")
    least = most = _count(low)
    if not is_range:
        return least, most
    most = _count(high)
    if least > most:
        raise ArgumentError(f"--nproc-per-node={args.nproc_per_node}: the least number of processes comes first")
    if args.hosts or _nodes(args)[0] > 1:
        raise ArgumentError(f"--nproc-per-node={args.nproc_per_node}: a range is for processes on one machine, since others "
                            "cannot know how many are left here")
    return least, most


def _nodes(args) -> tuple[int, int]:
    """Return (number of machines, index of this one)."""
    low, _, high = args.nnodes.partition(":")
    if args.standalone or (high or low) == "1":
        return 1, 0
    if high and high != low:
        raise ArgumentError(f"--nnodes={args.nnodes}: a run has a fixed number of machines; --nproc-per-node takes a range for "
                            "the processes of one")
    if args.node_rank is None or not 0 <= args.node_rank < int(low):
        raise ArgumentError(f"with {low} machines each is told its number: --node-rank=0 to {int(low) - 1}")
    return int(low), args.node_rank


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _place(args, nodes) -> tuple[str, int]:
    """Return the address on which rank 0 listens."""
    if args.rdzv_endpoint and not args.standalone:
        address, _, port = args.rdzv_endpoint.rpartition(":")
        if not address:
            address, port = port, ""
        return address, int(port or 29500) or _free_port()
    port = None if args.standalone else args.master_port
    return args.master_addr, port or (_free_port() if nodes == 1 else 29500)


def _secret(nodes) -> str:
    """Return the secret of the run: from the environment, or a new one if all processes run here."""
    given = os.environ.get(SECRET, "")
    if not given and nodes > 1:
        raise ArgumentError(f"a run of {nodes} machines needs a secret. {ADVICE}")
    return given or secrets.token_hex()


def _environment(args, place, nodes, node, count, local, restart, secret) -> dict:
    rank, world = node * count + local, nodes * count
    variables = {"LOCAL_RANK": local, "RANK": rank, "GROUP_RANK": node, "ROLE_RANK": rank, "ROLE_NAME": args.role,
            "LOCAL_WORLD_SIZE": count, "WORLD_SIZE": world, "GROUP_WORLD_SIZE": nodes, "ROLE_WORLD_SIZE": world,
            "MASTER_ADDR": place[0], "MASTER_PORT": place[1], "TORCHELASTIC_RESTART_COUNT": restart,
            "TORCHELASTIC_MAX_RESTARTS": args.max_restarts, "TORCHELASTIC_RUN_ID": args.rdzv_id, SECRET: secret}
    shared = {} if count == 1 else {"INGOT_NUM_THREADS": max(1, target.usable_cpus() // count), "OMP_NUM_THREADS": 1}
    return {**{name: str(value) for name, value in shared.items()}, **os.environ, **{n: str(v) for n, v in variables.items()}}


def _command(args, local) -> list:
    head = [] if args.no_python else [sys.executable, "-u", *["-m"] * args.module]
    return [*head, args.program, *([] if args.use_env else [f"--local-rank={local}"]), *args.arguments]


def _end(processes):
    """End processes, by force if needed."""
    for p in processes:
        if p.poll() is None:
            p.terminate()
    limit = time.monotonic() + _GRACE
    for p in processes:
        try:
            p.wait(max(0.0, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()


def _mpiexec() -> tuple[str, bool]:
    """Return the program `mpiexec` beside this Python, or else on the path, and whether it is Open MPI's."""
    found = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which("mpiexec")
    if found is None:
        raise ArgumentError("--hosts: there is no mpiexec, which starts processes on other machines: pip install 'ingot[mpi]'")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return found, "Open MPI" in said or "OpenRTE" in said


def _on_hosts(args, count, restart) -> tuple:
    """Return the command and the environment by which `mpiexec` starts all processes. Ranks get their numbers from it."""
    if args.nnodes != "1" or args.standalone or args.rdzv_endpoint or not args.use_env:
        raise ArgumentError("--hosts: mpiexec numbers the processes and lets them meet; leave out --nnodes, --standalone, "
                            "--rdzv-endpoint and --no-use-env")
    hosts, (launcher, is_open_mpi) = args.hosts.split(","), _mpiexec()
    own = {name: value for name, value in _environment(args, ("", 0), 1, 0, count, 0, restart, "").items()
           if os.environ.get(name) != value and name not in _OF_RANKS}
    if is_open_mpi:
        places = ["--host", ",".join(f"{host}:{count}" for host in hosts), *[word for name in own for word in ("-x", name)]]
    else:
        places = ["-ppn", str(count), "-hosts", args.hosts]
    environment = {name: value for name, value in os.environ.items() if name not in _OF_RANKS}
    return [launcher, "-n", str(count * len(hosts)), *places, *_command(args, 0)], {**environment, **own}


_OF_RANKS = ("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE",
             "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", SECRET)


def _orders(args, nodes, node, count, restart) -> list:
    """Return the command and the environment of each process to start."""
    if args.hosts:
        return [_on_hosts(args, count, restart)]
    place, secret = _place(args, nodes), _secret(nodes)
    return [(_command(args, local), _environment(args, place, nodes, node, count, local, restart, secret))
            for local in range(count)]


def _attempt(args, nodes, node, count, restart) -> dict[int, int]:
    """Run all processes once; return {local rank: exit code} of those that failed before the others were ended."""
    processes = []
    try:
        for command, environment in _orders(args, nodes, node, count, restart):
            processes.append(subprocess.Popen(command, env=environment))
        while True:
            codes = [p.poll() for p in processes]
            failed = {i: code for i, code in enumerate(codes) if code}
            if failed or None not in codes:
                return failed
            time.sleep(args.monitor_interval)
    finally:
        _end(processes)


def run(args) -> int:
    """Run the command line; return the exit code: 0, or 1 if a process has failed."""
    nodes, node = _nodes(args)
    least, count = _counts(args)
    if args.standalone and args.rdzv_id == "none":
        args.rdzv_id = str(uuid.uuid4())
    for restart in range(args.max_restarts + 1):
        failed = _attempt(args, nodes, node, count, restart)
        if not failed:
            return 0
        killed = [local for local, code in failed.items() if code < 0]      # the others often failed because of it
        local = (killed or list(failed))[0]
        code = failed[local]
        who = f"mpiexec on {args.hosts}" if args.hosts else f"rank {node * count + local} (local rank {local})"
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
        left = args.max_restarts - restart
        before, count = count, max(least, count - len(killed))
        again = "all processes start" if count == before else f"{count} of {before} processes start"
        print(f"distributed.run: {who} of {args.program} {how}; "
              + (f"{again} again ({left} left)" if left else "the others were ended"), file=sys.stderr, flush=True)
    return 1


def _raise_on_termination(number, frame):
    raise KeyboardInterrupt


def main(args=None, **defaults) -> int:
    """Run the command."""
    before = signal.signal(signal.SIGTERM, _raise_on_termination)
    try:
        return run(parse_args(args, **defaults))
    except ArgumentError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
