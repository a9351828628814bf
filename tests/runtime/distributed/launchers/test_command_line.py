"""Options of the launcher: the run that they describe, the environment of its ranks, and options that do not fit together."""

import shutil
import sys

import pytest

from ingot.ir.errors import ArgumentError
from ingot.ir.requirements import install_extra
from ingot.runtime.distributed.launchers import command_line, launcher, rank_processes
from ingot.runtime.distributed.launchers.rounds import RUNNING, Machine, Round, RunSettings


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("INGOT_RUN_SECRET", "right")


def plan_of(*words) -> command_line.Plan:
    return command_line.plan_of(launcher.parse_args([*words, "program.py"]))


TWO = {"least_nodes": 2, "most_nodes": 2}
DEFAULTS = RunSettings("none", 1, 1, 0, 600.0, 30.0, 10.0)
AT_HOST = ("--rdzv-endpoint", "host:123")

# options: (settings that differ, processes, number, (host, port, by a Unix socket), serves)
PLANS = {
    "--master-port 7": ({}, (1, 1), None, ("127.0.0.1", 7, True), True),
    "--nnodes 1:1 --nproc-per-node 2:4 --master-addr host --master-port 7": ({}, (2, 4), None, ("host", 7, True), True),
    "--nnodes 1 --node-rank 0 --rdzv-backend c10d --rdzv-endpoint localhost:7": ({}, (1, 1), 0, ("localhost", 7, True), True),
    "--nnodes 2 --node-rank 0 --master-addr host": (TWO, (1, 1), 0, ("host", 29500, False), True),
    "--nnodes 2 --node-rank 1 --rdzv-endpoint host:123 --nproc-per-node 1:3": (TWO, (1, 3), 1, ("host", 123, False), False),
    "--nnodes 2 --rdzv-backend static --node-rank 1": (TWO, (1, 1), 1, ("127.0.0.1", 29500, True), False),
    "--nnodes 2:2 --rdzv-endpoint host": (TWO, (1, 1), None, ("host", 29500, False), None),
    "--nnodes 1:4 --rdzv-endpoint [::1]:123 --max-restarts 3 --rdzv-id a": (
        {"most_nodes": 4, "max_restarts": 3, "rdzv_id": "a"}, (1, 1), None, ("::1", 123, True), None),
    "--nnodes 1:4 --rdzv-endpoint host:123 --master-addr host --node-rank 3": (
        {"most_nodes": 4}, (1, 1), 3, ("host", 123, False), False),
    "--nnodes 1:4 --rdzv-endpoint host --master-port 9 --node-rank 0": ({"most_nodes": 4}, (1, 1), 0, ("host", 9, False), True),
    "--nnodes 1:4 --rdzv-endpoint host:1 --rdzv-conf is_host=1,join_timeout=5": (
        {"most_nodes": 4, "join_timeout": 5.0}, (1, 1), None, ("host", 1, False), True),
    "--nnodes 1:4 --rdzv-endpoint localhost:1 --rdzv-conf is_host=False,last_call_timeout=0,keep_alive_timeout=2.5": (
        {"most_nodes": 4, "last_call_timeout": 0.0, "keep_alive_timeout": 2.5}, (1, 1), None, ("localhost", 1, True), False)}


@pytest.mark.parametrize(("words", "want"), PLANS.items())
def test_options_describe_a_run(words, want):
    found = plan_of(*words.split())
    settings, *others = want
    assert found.settings == DEFAULTS._replace(**settings)
    assert [(found.least, found.most), found.node_rank, tuple(found.place), found.serves] == others


ERRORS = {
    "--nproc-per-node 4:2": "the least number of processes comes first", "--nproc-per-node 0:2": "takes a number",
    "--nproc-per-node 2:": "takes a number", "--nproc-per-node none": "takes a number",
    "--nproc-per-node 1:2 --hosts one,two": "a fixed number of processes on --hosts",
    "--nnodes 4:2 --rdzv-endpoint host:1": "--nnodes takes a number of machines, or the least and the most, as 1:4, got '4:2'",
    "--nnodes 0": "--nnodes takes", "--nnodes 1:": "--nnodes takes", "--nnodes two": "--nnodes takes",
    "--nnodes 1:2:3": "--nnodes takes",
    "--nnodes 2": "each is told its number: --node-rank=0 to 1; or all meet at --rdzv-endpoint",
    "--nnodes 2 --node-rank 2": "2 machines have the numbers 0 to 1", "--node-rank 1": "have the numbers 0 to 0",
    "--nnodes 1:4 --rdzv-endpoint h --node-rank -1": "have the numbers 0 to 3",
    "--nnodes 1:4": "launchers meet at --rdzv-endpoint", "--nnodes 2 --rdzv-backend c10d": "launchers meet at --rdzv-endpoint",
    "--nnodes 1:4 --rdzv-backend static --rdzv-endpoint h": "a range is for --rdzv-backend=c10d",
    "--rdzv-backend etcd": "--rdzv-backend is static or c10d, got 'etcd'",
    "--rdzv-conf timeout=3": "--rdzv-conf takes is_host=1 or 0, and join_timeout",
    "--rdzv-conf join_timeout": "got 'join_timeout'",
    "--rdzv-conf join_timeout=soon": "got 'join_timeout=soon'", "--rdzv-conf is_host=2": "got 'is_host=2'",
    "--rdzv-conf keep_alive_timeout=0": "got 'keep_alive_timeout=0'", "--rdzv-conf join_timeout=-1": "got 'join_timeout=-1'",
    "--nnodes 1:2 --rdzv-endpoint host:port": "is not HOST:PORT", "--nnodes 1:2 --rdzv-endpoint host:0": "not at 0",
    "--nnodes 1:2 --rdzv-endpoint h:1 --master-addr i": "name another place",
    "--nnodes 1:2 --rdzv-endpoint h:1 --master-port 2": "name another place",
    "--standalone --nnodes 2": "--standalone: a run on this machine alone",
    "--standalone --rdzv-endpoint h:1": "--standalone: a run",
    "--standalone --node-rank 0": "--standalone: a run", "--hosts a,b --nnodes 2 --node-rank 0": "leave out --nnodes",
    "--hosts a,b --rdzv-conf is_host=1": "leave out --nnodes", "--hosts a,b --no-use-env": "leave out --nnodes"}


@pytest.mark.parametrize(("words", "text"), ERRORS.items())
def test_options_that_do_not_fit_are_errors(words, text, capsys):
    with pytest.raises(ArgumentError, match=text):
        plan_of(*words.split())
    assert launcher.main([*words.split(), "program.py"]) == 2 and "error: " in capsys.readouterr().err


def test_runs_have_a_secret(monkeypatch):
    assert plan_of().secret == plan_of("--nnodes", "1:2", *AT_HOST).secret == "right"
    monkeypatch.delenv("INGOT_RUN_SECRET")
    assert plan_of().secret != plan_of().secret and not plan_of("--nnodes", "1:2", "--rdzv-endpoint", "localhost:1").secret
    with pytest.raises(ArgumentError, match="Set INGOT_RUN_SECRET"):
        plan_of("--nnodes", "1:2", *AT_HOST)


NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_NAME", "ROLE_RANK",
         "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
         "TORCHELASTIC_RUN_ID", "INGOT_RUN_STORE")


def test_ranks_are_told_their_place():
    words = ["--nnodes", "1:4", *AT_HOST, "--max-restarts", "5", "--rdzv-id", "mine", "--role", "trainer", "program.py"]
    args = launcher.parse_args(words)
    machines = (Machine(0, "a", 3, "trainer"), Machine(2, "b", 1, "reader"), Machine(1, "c", 2, "trainer"))
    found = Round(7, RUNNING, 4, "", machines)
    variables = rank_processes.environment(args, command_line.plan_of(args), found, found.share(1), 1)
    assert [variables[name] for name in NAMES] == ["5", "1", "6", "2", "2", "3", "trainer", "4", "5", "host", "123", "4", "5",
                                                   "mine", "tcp://host:123/round7"]


# Programs that mpiexec starts.


@pytest.mark.parametrize(("is_open_mpi", "places"), [
    (False, ["-ppn", "3", "-hosts", "one,two"]), (True, ["--host", "one:3,two:3", "-x"])])
def test_mpiexec_starts_ranks_on_other_machines(is_open_mpi, places, monkeypatch):
    monkeypatch.setattr(rank_processes, "_mpiexec", lambda: ("/bin/mpiexec", is_open_mpi))
    monkeypatch.setenv("RANK", "7")             # of another launcher
    args = launcher.parse_args(["--hosts=one,two", "--nproc-per-node=3", "--max-restarts=2", "program.py", "--lr", "3"])
    found = Round(1, RUNNING, 1, "", (Machine(0, "here", 3, "default"),))
    (command, environment), = rank_processes.orders(args, command_line.plan_of(args), found, found.share(0))
    assert command[:3] == ["/bin/mpiexec", "-n", "6"] and command[3:3 + len(places)] == places
    assert command[-5:] == [sys.executable, "-u", "program.py", "--lr", "3"]
    assert environment["TORCHELASTIC_RESTART_COUNT"] == "1"
    assert not {"RANK", "WORLD_SIZE", "MASTER_ADDR", "INGOT_RUN_STORE"} & environment.keys()
    if is_open_mpi:         # which passes no variables by itself
        assert {"TORCHELASTIC_RESTART_COUNT", "INGOT_NUM_THREADS"} <= {*command}


def test_hosts_need_mpiexec(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert launcher.main(["--hosts=one,two", "program.py"]) == 2
    assert install_extra("mpi") in capsys.readouterr().err


def test_a_program_that_is_missing_is_named(capfd):
    assert launcher.main(["--no-python", "/no/such/program"]) == 1
    said = capfd.readouterr().err
    assert "cannot run /no/such/program: No such file" in said and "failed with exit code 127" in said
