"""Workloads of several ranks: what starts their processes, and what is expected of them.

Each figure is from processes of its own, which the engines start in turns. The engine `mpi` needs mpi4py and MPICH.
`IMB-MPI1` is a program of the package impi-rt; where it is on the PATH, it runs with the same MPI as the engine. Install
impi-rt in an environment of its own: its libraries have the names of MPICH's.
"""

import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from ..libraries import present
from ..result import Result
from ..subprocesses import ROOT, command, variables

KIB, MIB = 1 << 10, 1 << 20
BYTES_IN_ALL = 1 << 28          # of the buffers of one size in a round, which bounds how often it is timed
MOST = 1000                     # calls of one size in a round
BUDGET = 0.5                    # seconds of one size in all rounds, before a batch of calls that may take as long again
PATIENCE = 600.0
FEW = 100                       # calls: the p99 of so many, or fewer, is the longest one
SAMPLES = 5                     # of IMB for a size in a round, each a mean
BY_TURNS = 50                   # calls of IMB of one size in all rounds, where ranks share cores and wait for their turns
MPI_FACTOR = 1.3        # of IMB's time, from 64 KiB on
EFFICIENCY = 0.9        # of the time that a step computes and IMB's all-reduce of its gradients takes
IMB_NAMES = {"all_reduce": "Allreduce", "all_gather": "Allgather", "reduce_scatter": "Reduce_scatter"}


def mpiexec() -> list[str]:
    """Return the command that starts ranks by MPI; nothing where it is missing."""
    found = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which("mpiexec")
    if found is None:
        return []
    version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    return [found, *(["--oversubscribe", "--allow-run-as-root"] if "Open MPI" in version or "OpenRTE" in version else [])]


def free_port() -> str:
    """Return a port of the loopback address that nobody uses now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return str(sock.getsockname()[1])


def finished(processes) -> list[str]:
    """Return what processes print; raise with the words of one that fails."""
    try:
        said = [p.communicate(timeout=PATIENCE) for p in processes]
    finally:
        for p in processes:
            p.kill()
            p.wait()
    for p, (_, errors) in zip(processes, said):
        if p.returncode:
            raise RuntimeError("".join(errors.strip().splitlines()[-1:]) or f"status {p.returncode}")
    return [out for out, _ in said]


def start(order, env) -> subprocess.Popen:
    return subprocess.Popen(order, env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            cwd=ROOT)


def by_environment(plan, ranks: int, engine: str, **order) -> dict:
    """Run ranks that find each other by the variables of torchrun; return what rank 0 says."""
    env = variables(plan.threads) | {"INGOT_ENGINE": engine, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(),
                                     "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
    line = command("distributed.ranks", json.dumps({**order, "threads": plan.threads}))
    said = finished([start(line, {**env, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(ranks)])
    return json.loads(said[0].splitlines()[-1])


def by_mpi(plan, ranks: int, engine: str, **order) -> dict:
    """Run ranks that `mpiexec` starts; return what rank 0 says."""
    line = command("distributed.ranks", json.dumps({**order, "threads": plan.threads}))
    env = variables(plan.threads) | {"INGOT_ENGINE": engine}
    said = finished([start([*mpiexec(), "-n", str(ranks), *line], env)])
    return json.loads(next(text for text in said[0].splitlines() if text.startswith("{")))


def imb(plan, ranks: int, collective: str, sizes: list[int], rounds: int = 1) -> dict:
    """Return {size: seconds} of IMB's samples, each the mean over ranks and calls. Several threads may call MPI, as in the
    engine: MPICH has other algorithms for one. Calls are counted, since IMB's own limit of time leaves out sizes."""
    launcher = mpiexec()
    calls = (MOST if ranks <= len(os.sched_getaffinity(0)) else BY_TURNS) // SAMPLES // rounds
    library = Path(launcher[0]).resolve().parents[1] / "lib"
    part = ranks if collective == "all_gather" else 1           # IMB tells what each rank gives
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lengths:
        lengths.write("".join(f"{size // part}\n" for size in sizes) * SAMPLES)
        lengths.flush()
        env = variables(plan.threads) | {"LD_LIBRARY_PATH": f"{library}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        chosen = [IMB_NAMES[collective], "-npmin", str(ranks), "-msglen", lengths.name, "-mem", "4",
                  "-msglog", f"0:{max(sizes).bit_length()}", "-iter", f"{calls},{BYTES_IN_ALL // MIB // SAMPLES}",
                  "-thread_level", "multiple"]
        said = finished([start([*launcher, "-n", str(ranks), shutil.which("IMB-MPI1"), *chosen], env)])
    means = imb_means(said[0])
    missing = [size for size in sizes if size // part not in means]
    if missing:
        raise RuntimeError(f"IMB has not measured messages of {', '.join(map(str, missing))} B")
    return {size: means[size // part] for size in sizes}


def imb_means(text: str) -> dict[int, list[float]]:
    """Return {size: mean seconds of each sample} of a table of IMB: bytes, repetitions, the least, the most and the mean
    microseconds."""
    found = defaultdict(list)
    for size, microseconds in re.findall(r"^\s+(\d+)\s+\d+\s+[\d.]+\s+[\d.]+\s+([\d.]+)", text, re.MULTILINE):
        found[int(size)].append(float(microseconds) * 1e-6)
    return found


def gathered(runs: dict[str, Callable], rounds: int) -> tuple[dict, dict]:
    """Run programs in turns, which return {library: {size: seconds}}. Return the same of all rounds, and why others failed."""
    found: dict = defaultdict(lambda: defaultdict(list))
    failed: dict = {}
    for turn in range(rounds):
        for name in list(runs)[::-1 if turn % 2 else 1]:
            if name in failed:
                continue
            try:
                for library, by_size in runs[name]().items():
                    for size, times in by_size.items():
                        found[library][int(size)] += times
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:     # a finding of the benchmark, not its end
                failed[name] = f"{error}"[:200]
    return found, failed


def engines(plan) -> list[tuple]:
    """(engine, what starts its ranks, the peer that it is compared with) for those that are here."""
    with_mpi = bool(mpiexec()) and subprocess.run([sys.executable, "-c", "import mpi4py"], capture_output=True).returncode == 0
    return [("local", by_environment, "torch"), *([("mpi", by_mpi, "IMB")] if with_mpi else [])]


def collective_of(name: str):
    """Make the workload of a collective."""
    def workload(plan):
        sizes = plan.pick([8, *[16 << (2 * i) for i in range(13)]], [8, 64 * KIB, MIB], [64 * KIB])
        rounds = plan.pick(3, 1, 1)
        order = {"program": "collectives", "collective": name, "sizes": sizes, "budget": BUDGET / rounds,
                 **({"most": 5} if plan.tiny else {})}
        for ranks in plan.pick((2, 4, 8), (2,), (2,)):
            for engine, starter, peer in engines(plan):
                have_cores = ranks <= len(os.sched_getaffinity(0))      # (without them MPI's reduce-scatter takes minutes)
                mine = {**order, "library": "ingot", "with_mpi": peer == "IMB" and (have_cores or name != "reduce_scatter")}
                runs = {"ingot": lambda s=starter, e=engine, n=ranks, mine=mine: s(plan, n, e, **mine)}
                if peer == "torch" and "torch" in present(plan):
                    runs["torch"] = lambda n=ranks: by_environment(plan, n, "local", library="torch", **order)
                if peer == "IMB" and "IMB" in present(plan):
                    runs["IMB"] = lambda n=ranks: {"IMB": imb(plan, n, name, sizes, rounds)}
                found, failed = gathered(runs, rounds)
                for size in sizes:
                    yield row(f"{name} {shown(size)}, {ranks} ranks, {engine}", size, peer, found, failed)
    workload.__doc__ = f"`{name}` of buffers from 8 B to 256 MiB; the largest buffer counts."
    return workload


def row(title: str, size: int, peer: str, found: dict, failed: dict) -> Result:
    """Return the result of one size: medians, with the time that 99 of 100 calls keep."""
    times = {name: sorted(by_size[size]) for name, by_size in found.items() if by_size.get(size)}
    bars = {"torch": 2.0 if size >= MIB else 1.0} if peer == "torch" else {"IMB": 1 / MPI_FACTOR} if size >= 64 * KIB else {}
    calls = {name: t for name, t in times.items() if name != "IMB"}
    few = [f"{len(t)} of {name}" for name, t in calls.items() if len(t) <= FEW]
    return Result(title, {name: statistics.median(t) for name, t in times.items()}, bars=bars, failed=failed,
                  note=f"p99 of few calls: {', '.join(few)}" if few else "",
                  tails={name: t[int(0.99 * len(t))] for name, t in calls.items()})


def shown(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB" if size >= KIB else f"{size} B"


def data_parallel(plan):
    """A step of two ranks with `DistributedDataParallel`, each on a batch of its own, beside a step of one."""
    for task in plan.pick(("gpt_adamw", "resnet_momentum"), ("gpt_adamw",), ("gpt_adamw",)):
        order = {"program": "data_parallel", "task": task, "quick": True, "tiny": plan.tiny, "steps": plan.pick(15, 5, 2)}
        ways = {"ingot": "ingot", "ingot eager": "ingot", **({"torch": "torch"} if "torch" in present(plan) else {})}
        times: dict = {1: defaultdict(list), 2: defaultdict(list)}
        size = 0
        for turn in range(plan.pick(3, 1, 1)):
            for way in list(ways)[::-1 if turn % 2 else 1]:
                for ranks in (1, 2):
                    found = by_environment(plan, ranks, "local", library=ways[way], way=way, **order)
                    times[ranks][way].append(found["seconds"])
                    size = found["bytes"]
        alone, together = ({way: statistics.median(t) for way, t in times[ranks].items()} for ranks in (1, 2))
        bars = {"torch": 1.0} if "torch" in ways else {}
        if "IMB" in present(plan) and mpiexec():
            averages = statistics.median(imb(plan, 2, "all_reduce", [size])[size])
            bars["most"] = (alone["ingot"] + averages) / EFFICIENCY
        yield Result(f"data parallel {task}, 2 ranks", together, bars=bars,
                     note="T(1)/T(2): " + ", ".join(f"{way} {alone[way] / together[way]:.2f}" for way in ways))


def sharded_memory(plan):
    """The memory that a rank takes in steps of `fully_shard`, beside what the algorithm needs."""
    layers, width, batch = plan.pick((16, 2048, 8), (8, 2048, 8), (2, 1024, 8))
    for ranks in plan.pick((2, 4), (2,), (2,)):
        order = {"program": "sharded", "layers": layers, "width": width, "batch": batch}
        found = {way: by_environment(plan, ranks, "local", library="ingot", way=way, **order)
                 for way in ("ingot", "ingot eager")}
        layer = found["ingot"]["layer"]
        kept = 16 * layer * layers // 4 // ranks        # parameters, gradients, two moments of AdamW, of this rank
        needed = kept + 3 * layer                       # and whole: the layer, the next one, a gradient
        yield Result(f"sharded memory, {layers} layers of {width}, {ranks} ranks",
                     {way: float(f["bytes"]) for way, f in found.items()}, unit="B", bars={"most": 1.1 * needed},
                     note=f"needs {needed / 1e6:.3g} MB")


WORKLOADS = {**{name: collective_of(name) for name in IMB_NAMES}, "data_parallel": data_parallel,
             "sharded_memory": sharded_memory}
