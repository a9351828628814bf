"""Costs of a run as functions of its ranks: measured at 2 to 8 on this machine, computed to 10,000 from the engines' schedules.

`python -m benchmarks.distributed.scale` prints the computed tables, which docs/distributed.md has, too. `--measure`
starts ranks, and prints the measured one. Tests hold the schedules of `local` and `tcp` to the messages that these send.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..harness import Plan
from .workloads import by_environment, engines

KIB, MIB, GB = 1 << 10, 1 << 20, 1e9
RANKS = (8, 64, 1024, 10_000)


# Schedules: what one rank sends in each round of an all-reduce.


@dataclass(frozen=True)
class Round:
    """Messages that a rank sends before it waits for others, and the bytes of all of them."""

    messages: int
    bytes: float


def by_messages(n: int, size: int, whole: int = 32 * KIB) -> Iterator[Round]:
    """Yield the rounds of `Channel.all_reduce`: the whole value to all, or the shares of the others and then the own one."""
    if size <= whole:
        yield Round(n - 1, (n - 1) * size)
        return
    for _ in range(2):
        yield Round(n - 1, (n - 1) * size / n)


def by_shared_memory(n: int, size: int) -> Iterator[Round]:
    """Yield the rounds of `LocalChannel.all_reduce`: a loan to all, then a word that the own share is done."""
    if size <= 16 * KIB:
        yield from by_messages(n, size)
        return
    yield Round(n - 1, size * (n - 1) / n)
    yield Round(n - 1, 0)


def by_doubling(n: int, size: int) -> Iterator[Round]:
    """Yield the rounds of `MPIChannel.all_reduce`. Ranks compare by recursive doubling, and these messages carry a small value.
    A larger one follows by halving and doubling, as MPI does it."""
    steps = int(math.log2(n))
    is_small = size <= min(32 * KIB * n, 128 * KIB)
    for _ in range(steps if n == 1 << steps else steps + 2):        # two for the ranks beyond a power of two
        yield Round(1, size if is_small else 0)
    if not is_small:
        halves = [size / 2 ** (i + 1) for i in range(math.ceil(math.log2(n)))]
        for part in [*halves, *halves[::-1]]:
            yield Round(1, part)


@dataclass(frozen=True)
class Costs:
    """Constants of an engine. Memory and requests were measured; the times are assumed, those of an idle machine or network."""

    schedule: Callable[[int, int], Iterator[Round]]
    latency: float              # seconds of a round
    message: float              # seconds of a rank for a message
    bandwidth: float            # bytes per second of a rank
    own: float                  # bytes of memory, whatever the number of ranks
    peer: float                 # and for each connection
    requests: tuple             # of the store: by each rank that joins, and more for each other rank
    joining: float              # seconds for each connection

    def connections(self, n: int) -> int:
        """Return the connections of a rank. MPI connects the ranks that exchange messages."""
        return math.ceil(math.log2(n)) if self.schedule is by_doubling else n - 1

    def memory(self, n: int) -> float:
        """Return the bytes of a rank, which is not rank 0."""
        return self.own + self.connections(n) * self.peer

    def memory_of_rank_0(self, n: int) -> float:
        """Return the bytes of rank 0, which has a thread for each client of its store."""
        return self.memory(n) + (n * CLIENT if self.requests[0] else 0)

    def all_reduce(self, n: int, size: int) -> float:
        """Return the seconds of an all-reduce: the sum over its rounds."""
        return sum(self.latency + r.messages * self.message + r.bytes / self.bandwidth for r in self.schedule(n, size))

    def start_up(self, n: int) -> float:
        """Return the seconds in which ranks meet and connect, once Python runs. Rank 0 answers requests one after the other."""
        asked = self.requests[0] + self.requests[1] * (n - 1)
        return n * asked * REQUEST + self.connections(n) * self.joining


REQUEST = 0.1e-3                # seconds of rank 0 for a request of the store
CLIENT = 26 * KIB               # bytes of rank 0 for a client of its store
COSTS = {
    "local": Costs(by_shared_memory, 20e-6, 10e-6, 5 * GB, 0.1 * MIB, 2.3 * KIB, (16, 0), 0.1e-3),
    "tcp": Costs(by_messages, 50e-6, 20e-6, 1 * GB, 0.1 * MIB, 15 * KIB, (3, 0.5), 0.5e-3),
    "mpi": Costs(by_doubling, 2e-6, 1e-6, 10 * GB, 20 * MIB, 0.25 * MIB, (0, 0), 50e-3),
}


def engine_rows() -> list:
    """Return the computed costs of a rank for each engine and number of ranks."""
    rows = []
    for name, costs in COSTS.items():
        for n in RANKS[:2] if name == "local" else RANKS:       # (those of one machine)
            small, large = (sum(r.messages for r in costs.schedule(n, size)) for size in (8, 64 * MIB))
            rows.append([name, f"{n:,}", in_bytes(costs.memory(n)), in_bytes(costs.memory_of_rank_0(n)),
                         f"{costs.connections(n):,}", in_seconds(costs.start_up(n)), f"{small:,}",
                         in_seconds(costs.all_reduce(n, 8)), f"{large:,}", in_seconds(costs.all_reduce(n, 64 * MIB))])
    return rows


# Training on GPUs, by NCCL.


@dataclass(frozen=True)
class Machine:
    """GPUs and networks. Bandwidths are those of a GPU's traffic in a collective."""

    flops: float = 989e12 * 0.4         # of an H100 in bfloat16, 40 % of which a training step reaches
    memory: float = 80 * GB
    node: int = 8
    inside: float = 360 * GB            # NVLink
    between: float = 320 * GB           # eight cards of 400 Gbit/s in each node, 80 % of which a collective reaches
    hop: float = 3e-6                   # seconds of a step of a ring
    level: float = 20e-6                # seconds of a level of a tree, up and down

    def bandwidth(self, n: int) -> float:
        """Return the bandwidth of a collective of n GPUs."""
        return self.inside if n <= self.node else self.between

    def all_reduce(self, n: int, size: float) -> float:
        """Return the seconds of an all-reduce: by a ring or by a tree, whichever is faster."""
        ring, tree = 2 * (n - 1) * self.hop, 2 * self.node * self.hop + self.level * math.log2(max(1, n / self.node))
        return 2 * size * (n - 1) / n / self.bandwidth(n) + min(ring, tree)

    def gather(self, n: int, size: float) -> float:
        """Return the seconds of an all-gather or reduce-scatter, by a ring. `size` is that of the whole value."""
        return size * (n - 1) / n / self.bandwidth(n) + (n - 1) * self.hop


@dataclass(frozen=True)
class Model:
    """A model and its batch, which all GPUs share."""

    name: str
    parameters: float
    layers: int
    width: int
    sequence: int
    tokens: int
    sharded: bool

    def compute(self, n: int, machine: Machine) -> float:
        """Return the seconds that a GPU computes in a step: six operations for each parameter and token, and attention."""
        each = 6 * self.parameters + 12 * self.layers * self.width * self.sequence
        return each * self.tokens / n / machine.flops


MODELS = (Model("GPT-2", 124.4e6, 12, 768, 1024, 512 * 1024, False), Model("70B", 70e9, 80, 8192, 4096, 1024 * 4096, True))
BUCKET = 25 * MIB


@dataclass(frozen=True)
class Step:
    """A training step: seconds of computing, of communication, of the part that is not hidden, and bytes that a GPU sends."""

    compute: float
    communication: float
    exposed: float
    bytes: float

    @property
    def seconds(self) -> float:
        return self.compute + self.exposed

    @property
    def efficiency(self) -> float:
        return self.compute / self.seconds


def step_of(model: Model, n: int, machine: Machine) -> Step:
    """Simulate a step."""
    return sharded(model, n, machine) if model.sharded else replicated(model, n, machine)


def replicated(model: Model, n: int, machine: Machine) -> Step:
    """Simulate `DistributedDataParallel`: float32 gradients in buckets, which follow each other while backward goes on."""
    size, compute = 4 * model.parameters, model.compute(n, machine)
    count = math.ceil(size / BUCKET)
    each = machine.all_reduce(n, size / count)
    end = 0.0
    for i in range(count):
        ready = compute / 3 + compute * 2 / 3 * (i + 1) / count
        end = max(end, ready) + each
    return Step(compute, count * each, end - compute, 2 * size * (n - 1) / n)


def sharded(model: Model, n: int, machine: Machine) -> Step:
    """Simulate `fully_shard` of each layer in bfloat16. Its parameters are gathered when they are needed, which hides nothing;
    its gradients are scattered before the next layer is gathered, since a group has one stream."""
    size, compute = 2 * model.parameters / model.layers, model.compute(n, machine)
    each = machine.gather(n, size)
    now = model.layers * (each + compute / 3 / model.layers)
    scattered = 0.0
    for _ in range(model.layers):
        now = max(now, scattered) + each                # the group's stream is busy with the scatter of the layer before
        now += compute * 2 / 3 / model.layers
        scattered = now + each
    return Step(compute, 3 * model.layers * each, scattered - compute, 3 * 2 * model.parameters * (n - 1) / n)


def memory_of(model: Model, n: int) -> float:
    """Return the bytes of parameters, gradients and AdamW's moments on a GPU, in float32, and of two whole layers."""
    kept = 16 * model.parameters / (n if model.sharded else 1)
    return kept + (2 * 2 * model.parameters / model.layers if model.sharded else 0)


def training_rows(machine: Machine) -> list:
    """Return the computed steps of each model."""
    rows = []
    for model in MODELS:
        for n in (8, 64, 1024):
            step = step_of(model, n, machine)
            fits = memory_of(model, n) <= machine.memory
            hidden = 1 - step.exposed / step.communication
            rows.append([model.name, f"{n:,}", in_bytes(memory_of(model, n)) + ("" if fits else ", too much"),
                         in_bytes(step.bytes), in_seconds(step.communication), f"{max(0.0, hidden):.0%}",
                         in_seconds(step.seconds), f"{step.efficiency:.0%}"])
    return rows


def stops_at(model: Model, machine: Machine, efficiency: float = 0.5) -> int:
    """Return the first number of GPUs, a power of two, on which a step computes for less than so much of its time."""
    return next(n for n in (2 ** i for i in range(1, 24)) if step_of(model, n, machine).efficiency < efficiency)


# Tables.


def in_bytes(size: float) -> str:
    """Return bytes in words."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} B"


def in_seconds(time: float) -> str:
    """Return seconds in words."""
    for unit, most, name in ((60, 5, "min"), (1, 1, "s"), (1e-3, 1, "ms")):
        if time >= most * unit:
            return f"{time / unit:.3g} {name}"
    return f"{time * 1e6:.3g} µs"


def table(head: list, rows: list) -> str:
    """Return a table of Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def computed() -> list:
    """Return the computed tables."""
    machine = Machine()
    return [table(["engine", "ranks", "memory", "of rank 0", "connections", "start-up", "messages, 8 B", "time, 8 B",
                   "messages, 64 MiB", "time, 64 MiB"], engine_rows()),
            table(["model", "GPUs", "memory of a GPU", "sent by a GPU", "communication", "hidden", "step", "computes"],
                  training_rows(machine)),
            table(["model", "computes less than half of the time from"],
                  [[model.name, f"{stops_at(model, machine):,} GPUs"] for model in MODELS])]


def measured(plan: Plan) -> str:
    """Start ranks, and return the table of what they have measured."""
    rows = []
    for engine, starter in (*[(name, starter) for name, starter, _ in engines(plan)], ("tcp", by_environment)):
        for n in (2, 4, 8):
            found = starter(plan, n, engine, library="ingot", program="membership")
            rows.append([engine, f"{n}", in_bytes(found["memory"]), f"{found['connections']}", f"{found['threads']}",
                         in_seconds(found["seconds"]), f"{found['requests']}", in_seconds(found["times"][0]),
                         in_seconds(found["times"][1])])
    return table(["engine", "ranks", "memory", "connections", "threads", "start-up", "requests of the store", "time, 8 B",
                  "time, 4 MiB"], rows)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed.scale", description=__doc__)
    parser.add_argument("--measure", action="store_true", help="start ranks, and measure them")
    args = parser.parse_args()
    for text in computed():
        print(text, end="\n\n")
    if args.measure:
        print(measured(Plan(threads=1)))


if __name__ == "__main__":
    main()
