"""Costs: of `import ingot`, of a call in Python frames, and of small operators."""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from .checkout import ROOT, environment

RUNS = 15
IMPORT = """
import sys, time
start = time.perf_counter()
import ingot
seconds = time.perf_counter() - start
import json, resource
ours = sum(name.partition(".")[0] == "ingot" for name in sys.modules)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([seconds, peak / (1 << (20 if sys.platform == "darwin" else 10)), ours, len(sys.modules)]))
"""


def of_import() -> dict:
    """Return the median cost of `import ingot` in a fresh process that finds bytecode."""
    runs = [json.loads(subprocess.run([sys.executable, "-c", IMPORT], cwd=tempfile.gettempdir(), env=environment(), check=True,
                                      capture_output=True, text=True).stdout) for _ in range(RUNS + 1)][1:]
    seconds, peak, ours, everything = map(statistics.median, zip(*runs))
    return {"seconds": round(seconds, 4), "peak MiB": round(peak, 2), "modules of ingot": int(ours), "modules": int(everything)}


def of_calls() -> dict:
    """Return `{what is called: [Python calls, how deep they nest]}` once everything is warm."""
    import ingot
    from ingot import jit

    small, large = ingot.ones(4), ingot.ones(1 << 16)
    leaf, matrix, layer = ingot.ones(4, requires_grad=True), ingot.ones(8, 8), ingot.nn.Linear(8, 8)
    chain = jit.trace(lambda x, y: (x * y + 1).tanh().sum())
    forward, training = jit.trace(layer), jit.trace(lambda x: layer(x).square().mean())
    optimizer = ingot.optim.SGD(layer.parameters(), 0.1)

    def step(x):
        optimizer.zero_grad()
        training(x).backward()
        optimizer.step()

    whole = jit.trace(lambda x: step(x))
    calls = {"x + y": lambda: small + small, "x + y, compiled": lambda: large + large, "x + 1": lambda: small + 1,
             "x + y, with a history": lambda: leaf + leaf, "x @ y": lambda: matrix @ matrix,
             "ingot.add(x, y)": lambda: ingot.add(small, small),
             "x.relu()": lambda: small.relu(), "x.sum()": lambda: small.sum(), "x.view(2, 2)": lambda: small.view(2, 2),
             "x[1]": lambda: small[1], "x.add_(y)": lambda: small.add_(small), "Linear": lambda: layer(matrix),
             "traced chain": lambda: chain(small, small), "traced chain, large": lambda: chain(large, large),
             "traced Linear": lambda: forward(matrix), "traced step": lambda: whole(matrix), "step": lambda: step(matrix)}
    return {name: frames(call) for name, call in calls.items()}


def frames(call) -> list[int]:
    """Return how many Python functions a warm call enters below its own, and how deep."""
    for _ in range(50):
        call()
    count = depth = deepest = 0

    def note(frame, event, argument):
        nonlocal count, depth, deepest
        if event == "call":
            count, depth = count + 1, depth + 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [count - 1, deepest - 1]


def of_small_ops() -> dict:
    """Return the seconds of each small operator of ingot's on one thread, as the benchmark measures them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small_ops.json"
        order = [sys.executable, "-m", "benchmarks", "small_ops", "--threads", "1", "--peers", "", "--json", str(file)]
        done = subprocess.run(order, cwd=ROOT, env=environment(), capture_output=True, text=True)
        if not file.exists():
            return {"failed": done.stderr[-2000:]}
        return measured(json.loads(file.read_text()))


def measured(report: dict) -> dict:
    """Return `{row: seconds}` of ingot's in a report of the benchmarks."""
    return {row["name"]: seconds for row in report["results"] for lib, seconds in row["seconds"].items() if "ingot" in lib}
