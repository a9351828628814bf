"""Command line of `ingot.distributed.run`: its options, and the run that they describe."""

import argparse
import os
import re
import secrets
import socket
import uuid
from typing import NamedTuple

from ....ir import target
from ....ir.errors import ArgumentError
from ...core.device import DRIVERS, available
from ..stores.handshake import ADVICE, SECRET
from ..stores.run_store import StorePlace
from ..stores.socket_messages import is_loopback
from .rounds import RunSettings

_POLL = 0.05            # seconds between looks at the processes
_PORT = 29500


def parse_args(args=None, **defaults) -> argparse.Namespace:
    """Parse the command line."""
    p = argparse.ArgumentParser("ingot.distributed.run", description="Starts a program as several processes of one run.")
    add = p.add_argument
    add("--hosts", default="", help="names of the machines, with commas between: mpiexec starts the processes there")
    add("--nnodes", default="1",
        help="machines of the run, where each runs this command (default: 1); or the least and the most, as 1:4, and they may "
             "come and leave while the run goes on")
    add("--nproc-per-node", "--nproc_per_node", default="1",
        help="processes on each: a number, 'cpu', 'gpu' or 'auto'; or the least and the most, as 2:4, of which the most start "
             "first, and a restart leaves out those that were ended by a signal")
    add("--node-rank", "--node_rank", type=int, default=None, help="the number of this machine among several")
    add("--master-addr", "--master_addr", default=None, help="machine 0, where all meet (default: 127.0.0.1)")
    add("--master-port", "--master_port", type=int, default=None, help=f"its port (default: a free one, or {_PORT})")
    add("--rdzv-endpoint", "--rdzv_endpoint", default="", help="address and port where all meet in one")
    add("--rdzv-id", "--rdzv_id", default=None, help="a name for the run, the same on all machines")
    add("--rdzv-backend", "--rdzv_backend", default=None,
        help="static: machines are numbered by --node-rank; c10d: as they come to --rdzv-endpoint (default: static, but c10d "
             "for a range, or with an endpoint and no --node-rank)")
    add("--rdzv-conf", "--rdzv_conf", default="",
        help="join_timeout=600,last_call_timeout=30,keep_alive_timeout=10 in seconds: for the least number of machines to "
             "come, for more of them after that, and for a silent one to be left out; is_host=1 for the machine where all meet")
    add("--standalone", action="store_true", help="a run on this machine alone, at a free port")
    add("--max-restarts", "--max_restarts", type=int, default=0, help="how often all start again after a failure")
    add("--monitor-interval", "--monitor_interval", type=float, default=_POLL, help="seconds between looks at the processes")
    add("--role", default="default", help="a name for the processes of this machine: ROLE_NAME, and ROLE_RANK among its equals")
    add("-m", "--module", action="store_true", help="the program is a module, as for python -m")
    add("--no-python", "--no_python", action="store_true", help="the program is run by itself, not by Python")
    add("--use-env", "--use_env", action=argparse.BooleanOptionalAction, default=defaults.get("use_env", True),
        help="the rank is in the environment alone, not among the program's arguments")
    add("program", help="what is run")
    add("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return p.parse_args(args)


class Plan(NamedTuple):
    """Run that the options describe, and the part of this launcher."""

    settings: RunSettings
    least: int                  # processes on this machine
    most: int
    node_rank: int | None
    place: StorePlace
    serves: bool | None         # None: if the place is on this machine, and nobody serves it yet
    secret: str


def plan_of(args) -> Plan:
    """Return the run that the options describe; raise an error where they do not fit together."""
    _check_alone(args)
    least, most = _machines(args)
    _check_meeting(args, least, most)
    if args.node_rank is not None and not 0 <= args.node_rank < most:
        raise ArgumentError(f"--node-rank={args.node_rank}: {most} machines have the numbers 0 to {most - 1}")
    conf, place = _conf(args), _place(args, most)
    serves = conf.pop("is_host", None if args.node_rank is None else args.node_rank == 0)
    rdzv_id = args.rdzv_id or (str(uuid.uuid4()) if args.standalone else "none")
    return Plan(RunSettings(rdzv_id, least, most, args.max_restarts, **conf), *_processes(args), args.node_rank, place,
                True if most == 1 else serves, _secret(place, most))


def _check_alone(args):
    """Raise an error if options speak of other machines beside one that excludes them."""
    meeting = args.node_rank is not None or any((args.rdzv_endpoint, args.rdzv_backend, args.rdzv_conf, args.master_addr,
                                                 args.master_port))
    if args.hosts and (args.nnodes != "1" or args.standalone or meeting or not args.use_env):
        raise ArgumentError("--hosts: mpiexec numbers the processes and lets them meet; leave out --nnodes, --standalone, "
                            "--rdzv-endpoint and the like, and --no-use-env")
    if args.standalone and (args.nnodes not in ("1", "1:1") or meeting):
        raise ArgumentError("--standalone: a run on this machine alone; leave out --nnodes, --node-rank, --rdzv-endpoint and "
                            "the like")


def _machines(args) -> tuple[int, int]:
    """Return the least and the most machines."""
    low, is_range, high = args.nnodes.partition(":")
    bounds = [int(n) if n.isdecimal() else 0 for n in (low, high if is_range else low)]
    if not 1 <= bounds[0] <= bounds[1]:
        raise ArgumentError(f"--nnodes takes a number of machines, or the least and the most, as 1:4, got {args.nnodes!r}")
    return bounds[0], bounds[1]


def _check_meeting(args, least: int, most: int):
    """Raise an error unless several machines are numbered, or are told where to meet and get their numbers there."""
    if args.rdzv_backend not in (None, "static", "c10d"):
        raise ArgumentError(f"--rdzv-backend is static or c10d, got {args.rdzv_backend!r}")
    if most == 1:
        return
    is_range = least != most
    if args.rdzv_backend == "static" and is_range:
        raise ArgumentError(f"--nnodes={args.nnodes} --rdzv-backend=static: a range is for --rdzv-backend=c10d")
    if args.rdzv_backend == "c10d" or is_range:
        if not (args.rdzv_endpoint or args.master_addr):
            raise ArgumentError(f"--nnodes={args.nnodes}: launchers meet at --rdzv-endpoint=HOST:PORT, the same for all of "
                                "them")
    elif args.node_rank is None and (args.rdzv_backend or not args.rdzv_endpoint):
        raise ArgumentError(f"with {most} machines each is told its number: --node-rank=0 to {most - 1}; or all meet at "
                            "--rdzv-endpoint=HOST:PORT, and are numbered as they come")


_TIMES = {"join_timeout": 600.0, "last_call_timeout": 30.0, "keep_alive_timeout": 10.0}


def _conf(args) -> dict:
    """Return the settings of --rdzv-conf."""
    found: dict = dict(_TIMES)
    for part in filter(None, args.rdzv_conf.split(",")):
        name, _, value = (word.strip() for word in part.partition("="))
        given = _IS_HOST.get(value.lower()) if name == "is_host" else _seconds(value) if name in _TIMES else None
        if given is None or (name == "keep_alive_timeout" and not given):
            raise ArgumentError(f"--rdzv-conf takes is_host=1 or 0, and {', '.join(_TIMES)} with seconds, got {part!r}")
        found[name] = given
    return found


_IS_HOST = {"1": True, "true": True, "0": False, "false": False}


def _seconds(text: str) -> float | None:
    """Return a time, or None for another text."""
    return float(text) if re.fullmatch(r"\d+(\.\d*)?", text) else None


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


def _processes(args) -> tuple[int, int]:
    """Return the least and the most processes of this machine."""
    low, is_range, high = args.nproc_per_node.partition(":")
    least = _count(low)
    most = _count(high) if is_range else least
    if least > most:
        raise ArgumentError(f"--nproc-per-node={args.nproc_per_node}: the least number of processes comes first")
    if is_range and args.hosts:
        raise ArgumentError(f"--nproc-per-node={args.nproc_per_node}: mpiexec starts a fixed number of processes on --hosts")
    return least, most


def _place(args, most: int) -> StorePlace:
    """Return where launchers and ranks meet."""
    host, port = args.master_addr, args.master_port
    if args.rdzv_endpoint:
        found = re.fullmatch(r"(?:\[([^\[\]/]+)\]|([^\[\]/:]+))(?::(\d+))?", args.rdzv_endpoint)
        given = None if found is None else (found[1] or found[2], found[3] and int(found[3]))
        if given is None or host not in (None, given[0]) or (None not in (port, given[1]) and port != given[1]):
            raise ArgumentError(f"--rdzv-endpoint={args.rdzv_endpoint} is not HOST:PORT, or --master-addr or --master-port "
                                "name another place")
        host, port = given[0], port if given[1] is None else given[1]
    host = host or "127.0.0.1"
    if most == 1:
        return StorePlace(host, port or _free_port(), True)
    if port == 0:
        raise ArgumentError("several machines meet at a port that all know, not at 0")
    return StorePlace(host, port or _PORT, is_loopback(host))


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _secret(place: StorePlace, most: int) -> str:
    """Return the secret of the run: from the environment, or a new one if all processes are started here."""
    given = os.environ.get(SECRET, "")
    if not given and not place.is_local:
        raise ArgumentError(f"a run of {most} machines needs a secret. {ADVICE}")
    return given or (secrets.token_hex() if most == 1 else "")
