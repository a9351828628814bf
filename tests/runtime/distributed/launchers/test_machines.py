"""Launchers of several machines, which are processes of this one: joins, losses, newcomers, failures, and their end."""

import contextlib
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import train_with_checkpoints
from ingot.runtime.distributed.launchers import launcher

# Ranks tell that they run, and do as a file says.
RANK = """
import os, signal, sys, time
from pathlib import Path
folder, round = Path(sys.argv[1]), os.environ["INGOT_RUN_STORE"].rpartition("round")[2]
name = f"{round}-{os.environ['RANK']}"
own = folder / f"rank-{name}"
own.with_suffix(".new").write_text(f"{os.getpid()} {os.environ['WORLD_SIZE']} {os.environ['GROUP_RANK']}")
own.with_suffix(".new").rename(own)
while True:
    for order in (folder / f"order-{name}", folder / f"order-{round}-all"):
        if order.exists():
            exec(order.read_text())
    time.sleep(0.01)
"""
END, PATIENCE = "sys.exit(0)", 60


class Machines:
    """Launchers on this machine, each a process that was forked from this one, and the ranks that they start."""

    def __init__(self, folder: Path, *options: str):
        self.folder, self.options, self.started = folder, options, []
        (folder / "program.py").write_text(RANK)

    def start(self, *own: str, secret="of the run"):
        """Start a launcher with options of its own."""
        words = [*self.options, *own, str(self.folder / "program.py"), str(self.folder)]
        process = multiprocessing.get_context("fork").Process(target=self._run, args=(len(self.started), words, secret))
        self.started.append(process)
        process.start()

    def _run(self, number, words, secret):
        os.environ["INGOT_RUN_SECRET"] = secret
        with open(self.folder / f"said-{number}", "w", buffering=1) as file:
            os.dup2(file.fileno(), 2)
            sys.stderr = file
            os._exit(launcher.main(words))

    def said(self, number) -> str:
        """Return what a launcher has written."""
        path = self.folder / f"said-{number}"
        return path.read_text() if path.exists() else ""

    def order(self, text: str, round: int, rank="all"):
        """Let ranks of a round do something."""
        path = self.folder / "order.new"
        path.write_text(text)
        path.rename(self.folder / f"order-{round}-{rank}")

    def ranks(self, round: int) -> dict:
        """Return {rank: (process, world size, machine)} of the ranks of a round."""
        found = self.folder.glob(f"rank-{round}-*[0-9]")
        return {int(p.name.rpartition("-")[2]): tuple(map(int, p.read_text().split())) for p in found}

    def wait_for(self, round: int, counts: list):
        """Return the processes of a round, which runs so many ranks on each machine."""
        nodes = [node for node, count in enumerate(counts) for _ in range(count)]
        want = {rank: [len(nodes), node] for rank, node in enumerate(nodes)}
        deadline = time.monotonic() + PATIENCE
        while {rank: place for rank, (_, *place) in self.ranks(round).items()} != want:
            assert time.monotonic() < deadline, (self.ranks(round), [self.said(i) for i in range(len(self.started))])
            time.sleep(0.01)
        return [pid for pid, *_ in self.ranks(round).values()]

    def signal(self, number, what):
        os.kill(self.started[number].pid, what)

    def codes(self, *numbers) -> list:
        """Return the exit codes of launchers, all by default, once they have ended."""
        for number in numbers or range(len(self.started)):
            self.started[number].join(PATIENCE)
        return [self.started[number].exitcode for number in numbers or range(len(self.started))]


def is_alive(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def all_dead(pids, patience=20) -> bool:
    """Return whether processes end within a time."""
    deadline = time.monotonic() + patience
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(is_alive, pids))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.fixture
def machines(tmp_path):
    """Give a function that makes the launchers of one run; ends them after the test."""
    made: list = []

    def make(nodes, *options, host="127.0.0.1", conf="last_call_timeout=60,keep_alive_timeout=30"):
        made.append(Machines(tmp_path, "--nnodes", nodes, "--rdzv-endpoint", f"{host}:{free_port()}", "--rdzv-conf", conf,
                             "--monitor-interval", "0.02", *options))
        return made[-1]

    yield make
    for run in made:
        for process in run.started:
            if process.is_alive():
                os.kill(process.pid, signal.SIGCONT)
                process.kill()
            process.join()


def started(machines, nodes, counts, *options, **others) -> Machines:
    """Return a run whose launchers start so many processes each; the first one serves the store."""
    run = machines(nodes, *options, **others)
    for i, count in enumerate(counts):
        run.start("--nproc-per-node", str(count))
        while not i and not _is_served(run):
            time.sleep(0.01)
    return run


def _is_served(run) -> bool:
    """Return whether a launcher serves the store of a run."""
    port = run.options[3].rpartition(":")[2]
    return any(f"/{port}" in line and "ingot-stores" in line for line in Path("/proc/net/unix").read_text().splitlines())


def test_a_rank_that_fails_starts_all_again(machines):
    run = started(machines, "2", [1, "1:2"], "--max-restarts", "2")
    ranks = run.wait_for(0, [1, 2])
    for round, order, after in ((0, "sys.exit(3)", [1, 2]), (1, "os.kill(os.getpid(), signal.SIGKILL)", [1, 1])):
        run.order(order, round, 2)
        before, ranks = ranks, run.wait_for(round + 1, after)
        assert all_dead(before)
    run.order("sys.exit(4)", 2, 0)
    assert run.codes() == [1, 1] and "failed with exit code 4; the others were ended" in run.said(0)
    who = f"rank 2 (local rank 1 on {socket.gethostname()}) of {run.folder / 'program.py'}"
    assert f"{who} failed with exit code 3; all processes start again (2 left)" in run.said(0)
    assert "was ended by SIGKILL; 1 of 2 processes start again (1 left)" in run.said(1)


def test_a_newcomer_takes_part_in_a_new_round_and_one_too_many_waits(machines):
    run = started(machines, "1:2", [1], conf="last_call_timeout=0,keep_alive_timeout=30")
    before = run.wait_for(0, [1])
    run.start("--nproc-per-node", "2")
    run.wait_for(1, [1, 2])
    assert all_dead(before) and "has come; all processes start again (0 left)" in run.said(0)
    run.start()
    while "2 machines run, and no more can; this one waits" not in run.said(2):
        assert run.started[2].is_alive()
        time.sleep(0.01)
    run.order(END, 1)
    assert run.codes() == [0, 0, 0] and "before this machine was needed" in run.said(2)


def test_the_ranks_of_a_killed_launcher_die_and_another_one_takes_its_place(machines):
    run = started(machines, "2", [1, 2], "--max-restarts", "1", conf="keep_alive_timeout=2")
    before = run.wait_for(0, [1, 2])
    run.signal(1, signal.SIGKILL)
    assert all_dead(before[1:])
    run.start()
    run.wait_for(1, [1, 1])
    assert all_dead(before) and "has been silent for 2 s; all processes start again (1 left)" in run.said(0)
    run.order(END, 1)
    assert run.codes() == [0, -signal.SIGKILL, 0]


@pytest.mark.parametrize(("number", "what", "codes", "words"), [
    (0, signal.SIGKILL, [-9, 1], "has gone"), (0, signal.SIGTERM, [130, 1], "which serves the run, was ended"),
    (1, signal.SIGTERM, [1, 130], "was ended")])
def test_the_end_of_a_launcher_that_is_needed_ends_all(number, what, codes, words, machines):
    run = started(machines, "2", [1, 1])
    ranks = run.wait_for(0, [1, 1])
    begin = time.monotonic()
    run.signal(number, what)
    assert run.codes() == codes and all_dead(ranks) and time.monotonic() - begin < 5
    assert words in run.said(1 - number) and "ended" in run.said(1 - number)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_a_launcher_that_stands_still(number, machines):
    """One that serves the run ends it. Another one is left out, and takes part again when it goes on."""
    run = started(machines, "1:2", [1, 1], "--max-restarts", "2", conf="last_call_timeout=1,keep_alive_timeout=2")
    before = run.wait_for(0, [1, 1])
    run.signal(number, signal.SIGSTOP)
    if number == 0:
        assert run.codes(1) == [1] and "has gone" in run.said(1) and not is_alive(before[1])
        return
    run.wait_for(1, [1])
    run.signal(number, signal.SIGCONT)
    run.wait_for(2, [1, 1])
    assert all_dead(before) and "has come" in run.said(0)
    run.order(END, 2)
    assert run.codes() == [0, 0]


def test_machines_with_numbers_need_no_endpoint_of_their_own(machines):
    run = machines("2", "--rdzv-backend", "static", "--master-addr", "127.0.0.1")
    for node, count in ((1, 1), (0, 2)):
        run.start("--node-rank", str(node), "--nproc-per-node", str(count))
    run.wait_for(0, [2, 1])
    run.order(END, 0)
    assert run.codes() == [0, 0]


def test_launchers_that_do_not_belong_to_the_run_are_turned_away(machines):
    run = started(machines, "2:3", [1])
    run.start(secret="of another run")
    run.start("--rdzv-id", "other")
    run.start("--nnodes", "2:4")
    assert run.codes(1, 2, 3) == [1, 2, 2]
    for number, words in enumerate(("it has another secret", "rdzv-id is 'other' here, and 'none'", "most-nodes is 4 here"), 1):
        assert words in run.said(number)
    assert run.started[0].is_alive()


def test_too_few_machines_are_named(machines):
    run = started(machines, "2:3", [1], conf="join_timeout=0.2")
    assert run.codes() == [1] and "1 of at least 2 machines joined within 0.2 s; 1 missing" in run.said(0)


def launched(*command) -> subprocess.Popen:
    environment = {k: v for k, v in os.environ.items() if k != "INGOT_ENGINE"}
    return subprocess.Popen([sys.executable, "-m", "ingot.distributed.run", *command], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, env={**environment, "INGOT_RUN_SECRET": "of the run"})


def trained(folder: Path, commands, hold=0, events=lambda launchers, folder: None) -> tuple:
    """Run the training by launchers side by side; return the losses by step, the exit codes, and the output."""
    folder.mkdir()
    (folder / "hold").write_text(str(hold))
    launchers = [launched(*command, train_with_checkpoints.__file__, str(folder)) for command in commands]
    try:
        events(launchers, folder)
        said = [p.communicate(timeout=100)[0] for p in launchers]
    finally:
        for p in launchers:
            p.kill()
            p.communicate()
    found = {int(step): float(loss) for text in said for step, loss in re.findall(r"step (\d+) loss (\S+)", text)}
    return [found.get(step) for step in range(8)], [p.returncode for p in launchers], "".join(said)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    losses, codes, said = trained(tmp_path_factory.mktemp("training") / "alone", [["--nproc-per-node", "3"]])
    assert codes == [0] and None not in losses, said
    return losses


def held(folder, round, count):
    """Wait until all ranks of a round stand before their last steps; the next round goes on from the last checkpoint."""
    deadline = time.monotonic() + PATIENCE
    while len(list(folder.glob(f"held-{round}-*"))) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def kill(launchers, folder):
    held(folder, 0, 3)
    launchers[1].kill()


def stop(launchers, folder):
    held(folder, 0, 3)
    launchers[1].send_signal(signal.SIGSTOP)
    held(folder, 1, 2)
    launchers[1].send_signal(signal.SIGCONT)


def fail(launchers, folder):
    held(folder, 0, 3)
    (folder / "fail-0-2").touch()


def come(launchers, folder):
    held(folder, 0, 2)
    launchers.append(launched(*[word.replace("is_host=1", "is_host=0") for word in launchers[0].args[3:]]))


def nothing(launchers, folder):
    held(folder, 0, 3)
    (folder / "go-0").touch()


# name: (host, processes of each launcher, what happens, rounds in which ranks are held, codes); 0.0.0.0 is this machine by TCP
TRAININGS = {
    "nothing": ("127.0.0.1", [2, 1], nothing, 1, [0, 0]), "nothing, by TCP": ("0.0.0.0", [1, 2], nothing, 1, [0, 0]),
    "killed": ("127.0.0.1", [2, 1], kill, 1, [0, -9]), "stopped for a while": ("0.0.0.0", [2, 1], stop, 2, [0, 0]),
    "a rank fails": ("127.0.0.1", [1, 2], fail, 1, [0, 0]), "one comes": ("0.0.0.0", [2], come, 1, [0, 0])}


@pytest.mark.slow
@pytest.mark.parametrize(("host", "counts", "events", "rounds", "want"), TRAININGS.values(), ids=[*TRAININGS])
def test_training_goes_on_from_its_checkpoint(host, counts, events, rounds, want, undisturbed, tmp_path):
    options = ["--nnodes", "1:2", "--rdzv-endpoint", f"{host}:{free_port()}", "--max-restarts", "3", "--rdzv-conf"]
    commands = [[*options, f"last_call_timeout=8,keep_alive_timeout=4,is_host={int(not i)}", "--nproc-per-node", str(count)]
                for i, count in enumerate(counts)]
    losses, codes, said = trained(tmp_path / "run", commands, rounds, events)
    assert codes == want, said
    np.testing.assert_allclose(losses, undisturbed, rtol=1e-5)
