"""`python -m ingot.distributed.run --nproc-per-node=4 train.py ...`: one program as several processes with ranks.

Each process has RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and others in its environment, so
`init_process_group()` needs no arguments. If one fails, the others are ended, and all are restarted while restarts are left.
With a range, `--nproc-per-node=2:4`, processes that were killed are left out of the restart.
With `--nnodes=1:4 --rdzv-endpoint=host:port` each machine runs this command. A restart leaves out lost machines, and new
ones join the run.
With `--hosts=one,two` ranks run on several machines, and `mpiexec` starts them.
`python -m ingot.distributed.launch` also passes `--local-rank` to the program.
"""

import contextlib
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator

from ....ir.errors import ArgumentError
from ....ir.process_state import signal_handler
from ..stores.distributed_errors import DistBackendError, DistError, DistPortTakenError, DistStoreError
from ..stores.store import HashStore
from . import rank_processes
from .command_line import Plan, parse_args, plan_of
from .error_files import report_in
from .rounds import DONE, FAILED, READY, RUNNING, Member, Report, Round, Share

__all__ = ["main", "parse_args", "run"]


def _is_here(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
    except socket.gaierror:
        return False
    return any(_can_bind(family, kind, address) for family, kind, _, _, address in found)


def _can_bind(family, kind, address) -> bool:
    with contextlib.suppress(OSError), socket.socket(family, kind) as probe:
        probe.bind(address)
        return True
    return False


def _store(args, plan: Plan):
    """Return the store of the run, which this launcher serves if it shall, or if it can and no other one does."""
    if args.hosts:
        return HashStore()
    settings = plan.settings
    open_one = lambda is_master: plan.place.open(is_master, settings.keep_alive_timeout if is_master else settings.join_timeout,
                                                 secret=plan.secret.encode())
    if plan.serves is None and _is_here(plan.place.host):
        with contextlib.suppress(DistPortTakenError):
            return open_one(True)
    return open_one(plan.serves is True)


@contextlib.contextmanager
def _membership(args, plan: Plan) -> Iterator[Member]:
    """Join the launchers of the run for the time of a `with` block."""
    store, host = _store(args, plan), socket.gethostname()
    served = store.table if args.hosts else store.served
    with contextlib.ExitStack() as undo:
        patience = plan.settings.keep_alive_timeout     # with a launcher that serves the store and is silent
        if not args.hosts:
            undo.callback(store.close)
            store.table.timeout = store.table.patience = patience
        store.set_timeout(patience)
        member = Member(store, served, plan.settings, Report(host, plan.most, args.role, plan.node_rank))
        undo.callback(member.leave, DistBackendError(f"the launcher on {host}, which serves the run, was ended"))
        yield member


def _follows(folder: str, local: int) -> bool:
    """Return whether a rank of this machine failed since it could not communicate."""
    report = report_in(rank_processes.error_file(folder, local))
    return report is not None and report.follows


def _failure(args, plan: Plan, share: Share, failed: dict[int, tuple], folder: str) -> str:
    """Return how the process has failed that made others fail, from {local rank: (exit code, time of its end)}."""
    reports = {local: report_in(rank_processes.error_file(folder, local)) for local in failed}

    def order(local):
        (code, ended), report = failed[local], reports[local]
        return code > 0, report is not None and report.follows, ended if report is None else report.seconds

    local = min(failed, key=order)
    code, report = failed[local][0], reports[local]
    where = f"local rank {local}" + (f" on {socket.gethostname()}" if plan.settings.most_nodes > 1 else "")
    who = f"mpiexec on {args.hosts}" if args.hosts else f"rank {share.first_rank + local} ({where})"
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
    return f"{who} of {args.program} {how}" + (f" ({report.message})" if code > 0 and report is not None else "")


def _next_round(args, plan: Plan, member: Member) -> Round:
    """Wait for a round that this machine takes part in, or for the end of the run."""
    is_told = False
    while not (found := member.look()).is_last and (found.phase != RUNNING or not found.has(member.number)):
        if not is_told and found.phase == RUNNING and len(found.machines) == plan.settings.most_nodes:
            is_told = True
            _say(f"{len(found.machines)} machines run, and no more can; this one waits for the place of another")
        time.sleep(_pause(args, plan))
    return found


def _attempt(args, plan: Plan, member: Member, found: Round, share: Share) -> int:
    """Run the processes of a round until it ends; return how many were ended by a signal from outside."""
    is_over = lambda: member.look().number != found.number or member.round.is_last
    processes: list = []
    failed: dict = {}
    ends, folder = rank_processes.Ends(), tempfile.TemporaryDirectory(prefix="ingot-errors-")
    member.report(state=RUNNING)
    try:
        for command, variables in rank_processes.orders(args, plan, found, share, folder.name):
            processes.append(rank_processes.start(command, variables))
            ends.watch(len(processes) - 1, processes[-1])
        are_done = False
        while not is_over() and not any(p.poll() for p in processes):
            if not are_done and None not in [p.returncode for p in processes]:
                are_done = True
                member.report(state=DONE)
                continue
            time.sleep(_pause(args, plan))
        if any(p.poll() for p in processes):
            failed = ends.failed(lambda local: _follows(folder.name, local))
            member.report(state=FAILED, words=_failure(args, plan, share, failed, folder.name))
        rank_processes.end(processes, member.look)
        while not is_over():
            time.sleep(_pause(args, plan))
    finally:
        rank_processes.end(processes)
        folder.cleanup()
    return sum(code < 0 for code, _ in failed.values())


def _pause(args, plan: Plan) -> float:
    return min(args.monitor_interval, plan.settings.beat)


def run(args) -> int:
    """Run the command line; return the exit code: 0, or 1 if a process has failed."""
    plan = plan_of(args)
    with _membership(args, plan) as member:
        count, has_run = plan.most, False
        while not (found := _next_round(args, plan, member)).is_last:
            has_run = True
            killed = _attempt(args, plan, member, found, found.share(member.number))
            if not member.round.is_last:
                before, count = count, max(plan.least, count - killed)
                again = "all processes start" if count == before else f"{count} of {before} processes start"
                _say(f"{member.round.reason}; {again} again ({plan.settings.max_restarts - found.restarts} left)")
                member.report(state=READY, words="", processes=count)
        if member.round.phase == FAILED:
            _say(member.round.reason + ("; the others were ended" if has_run else ""))
        elif not has_run:
            _say("the run has ended before this machine was needed")
        return 0 if member.round.phase == DONE else 1


def _say(text: str):
    print(f"distributed.run: {text}", file=sys.stderr, flush=True)


def _raise_on_termination(number, frame):
    raise KeyboardInterrupt


def main(args=None, **defaults) -> int:
    """Run the command."""
    try:
        with signal_handler(signal.SIGTERM, _raise_on_termination):
            return run(parse_args(args, **defaults))
    except ArgumentError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    except DistStoreError as e:
        _say(f"{e}; the processes here were ended")
        return 1
    except DistError as e:
        _say(str(e))
        return 1
    except KeyboardInterrupt:
        return 130
