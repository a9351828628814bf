"""Loads and runs mutated graphs from files, in forked processes with limits on time and memory."""

import faulthandler
import json
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from fuzzed_graphs.mutate import LARGE, Case, case_of, damage
from graph_interpreter import interpret
from guard_pages import fenced
from ingot import jit
from ingot.ir.errors import IngotError
from ingot.ir.graph.graph import Value
from ingot.ir.symbols.symbolic import SymInt
from ingot.jit.exporting.file import archive
from ingot.jit.exporting.file.writer import agree, weight_bytes
from ingot.passes.schedule.specialize_shapes import bind_graph

SECONDS = 5                     # of a processor, for one file
WAIT = 60                       # seconds on the clock: a program that sleeps uses no processor
SPARE = 768 << 20               # bytes that a process may take besides 8 times those of its values
BATCH = 40                      # files for one process
# Operators whose results only have their types compared: vectors of any sign, places in rows that are not sorted.
NOT_UNIQUE = frozenset(("eig", "eigh", "svd", "ldl_factor", "lu_factor", "searchsorted"))


class Fault(NamedTuple):
    name: str
    seed: int
    kind: str
    text: str
    graph: str

    def __str__(self):
        lines = [line.strip() for line in self.graph.splitlines()]
        return f"{self.name} seed {self.seed}: {self.kind}: {self.text}   | {' ; '.join(lines)}"


# Files.


def write(case: Case, path):
    """Write a case as a file whose checksums are right."""
    specs = {"inputs": [_spec(f"i{i}", a) for i, a in enumerate(case.inputs)],
             "outputs": [_spec(f"o{i}", a) for i, a in enumerate(case.outputs)]}
    tensors = [{"tensor": i} for i in range(len(case.inputs))]
    dims = sorted({"s"} & {n for s in specs["inputs"] for n in s["shape"]}) if case.inputs else []
    signature = {**specs, "arguments": {"tuple": [{"tuple": tensors}, {"dict": []}]},
                 "results": {"tuple": [{"tensor": i} for i in range(len(case.outputs))]}, "dims": dims,
                 "parameters": [s["name"] for s in specs["inputs"]], "state": []}
    manifest = {"ingot": "0", "name": "fuzz", "signature": signature, "weights": [], "pairs": [], "kinds": {}, "constants": {},
                "targets": [], "graphs": [{"member": "graph.txt", "fixed": {}, "conditions": [], "weights": []}]}
    if case.damaged:
        damage(manifest, random.Random(case.seed))
    members = {"graph.txt": (case.text + "\n").encode(), "source.json": json.dumps({}).encode(),
               "weights.safetensors": weight_bytes({})[1]}
    archive.write(str(path), manifest, members)


def _spec(name, aval) -> dict:
    return {"name": name, "dtype": aval.dtype.name, "shape": [n if type(n) is int else n.text for n in aval.shape]}


# Running.


@dataclass
class _Child:
    """Reports of a forked process: lines of JSON, through a pipe."""

    pipe: int

    def say(self, **report):
        os.write(self.pipe, (json.dumps(report) + "\n").encode())


def faults(pairs: Iterable, counts: Counter | None = None) -> Iterator[Fault]:
    """Run cases, given as (seed, name of an operator); return their faults. `counts` receives the number of each outcome."""
    counts = Counter() if counts is None else counts
    pairs = list(pairs)
    with tempfile.TemporaryDirectory(prefix="ingot-fuzz-") as folder:
        while pairs:
            batch = pairs[:BATCH]
            done, died = _run_batch(batch, folder)
            if len(done) < len(batch):
                done.append(_deadly(batch[:len(done) + 1], died, folder))
            for report in done:
                counts[report["kind"]] += 1
                counts["all"] += 1
                if report["kind"] not in _ALLOWED:
                    yield Fault(report["name"], report["seed"], report["kind"], report["text"],
                                case_of(report["seed"], report["name"]).text)
            pairs = pairs[len(done):]


def _deadly(batch, died, folder) -> dict:
    """Return the report of the file that ended a process: the last one alone, or with those before it that damaged memory."""
    for first in range(len(batch) - 1, -1, -1):
        done, again = _run_batch(batch[first:], folder)
        if len(done) < len(batch) - first:
            seed, name = batch[first]
            return {"kind": "died", "text": again + " later" * (first < len(batch) - 1), "name": name, "seed": seed}
    seed, name = batch[-1]
    return {"kind": "died", "text": f"{died}, and not again", "name": name, "seed": seed}


_ALLOWED = frozenset(("refused", "same", "large"))


def _run_batch(batch, folder) -> tuple:
    """Return (reports, how the process ended)."""
    read, pipe = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        try:
            os.close(read)
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            os.dup2(null, 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            faulthandler.disable()
            for number, (seed, name) in enumerate(batch):
                _report(_Child(pipe), seed, name, os.path.join(folder, f"{number}.ingot"))
        finally:
            os._exit(0)
    os.close(pipe)
    with os.fdopen(read) as lines:
        done = [json.loads(line) for line in lines]
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return done, f"more than {SECONDS} s" if name in ("SIGPROF", "SIGALRM") else name
    return done, f"the process ended with {status}"


def _report(child, seed, name, path):
    case = case_of(seed, name)
    write(case, path)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WAIT)
    try:
        kind, text = outcome(case, path)
    except BaseException as e:
        kind, text = "harness", "".join(traceback.format_exception(e))
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.unlink(path)
    child.say(name=name, seed=seed, kind=kind, text=text)


def outcome(case: Case, path) -> tuple:
    """Return (kind, text) of a file: "refused", "same", "large", or a fault."""
    size = _bytes_of(case)
    with open("/proc/self/statm") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + SPARE + 8 * min(size, LARGE), resource.RLIM_INFINITY))
    try:
        model = jit.load(path, objects=False)
    except IngotError as e:
        return "refused", str(e)
    except Exception as e:
        return "exception while reading", _first_line(e)
    if size > LARGE:
        return "large", ""
    found = [_call(case, model, arrays) for arrays in case.calls]
    return min(found, key=lambda f: ("refused", "same").index(f[0]) if f[0] in _ALLOWED else -1)


def _call(case, model, arrays):
    noise = zlib.crc32(f"{case.seed}".encode())
    given = [fenced(a, bool(noise >> i & 1)) for i, a in enumerate(arrays)]
    try:
        results = model(*given)
    except IngotError as e:
        return "refused", str(e)
    except Exception as e:
        return "exception", _first_line(e)
    for a, g in zip(arrays, given):
        if a.tobytes() != g.tobytes():
            return "arguments overwritten", ""
    if case.graph is None:
        return "accepted", "a graph that the shape rule refuses, or whose declared types are others"
    if case.damaged:        # the structure of results may be another one
        return "same", ""
    results = results if type(results) is tuple else (results,)
    results = [np.asarray(r._a if hasattr(r, "_a") else r) for r in results]
    if not results:         # what nothing reads is not computed
        return "same", ""
    pairs = [pair for v, a in zip(case.inputs, arrays) for pair in zip(v.shape, a.shape)]
    size = next((m for n, m in pairs if type(n) is SymInt), None)
    try:
        graph = bind_graph(case.graph, {"s": size}) if case.graph.symbols else case.graph
        want = interpret(graph, [a.copy() for a in arrays]).outputs
    except Exception as e:
        return "the reference refuses", _first_line(e)
    return _compare(case, graph, results, want)


def _compare(case, graph, results, want):
    types = [(r.shape, r.dtype) for r in results], [(w.shape, w.dtype) for w in want]
    if types[0] != types[1]:
        return "another type", f"{types[0]}, the reference gives {types[1]}"
    if case.name in NOT_UNIQUE or _is_undefined(case.name, graph, want) or not case.compared:
        return "same", ""
    narrowest = min([v.dtype.itemsize // (2 if v.dtype.np.kind == "c" else 1) for v in graph.values() if v.dtype.is_inexact],
                    default=8)
    for r, w in _first_steps(graph, zip(results, want)):
        with np.errstate(all="ignore"):
            if r.size and not agree(*map(_plain, (w, r)), narrowest):
                return "another result", f"{_shown(r)}, the reference gives {_shown(w)}"
    return "same", ""


def _first_steps(graph, pairs) -> list:
    """Return what has one value: of recurrent layers in bytes the first step. The last digit of its state may be another one,
    and move a byte of the next."""
    found = [node for node in graph.nodes if node.op.name == "recurrent_int8"]
    if not found:
        return list(pairs)
    at = -1 if found[0].params["reverse"] else 0
    return [(r[at], w[at]) for r, w in list(pairs)[:1] if w.shape[:1] != (0,)]


def _is_undefined(name, graph, want) -> bool:
    """Return whether processors or their libraries may give different results: a number that an unsigned dtype cannot hold, and
    inverses of singular values that are rounding errors."""
    limits, rounding = [n.params["rcond"] for n in graph.nodes if "rcond" in n.params], float(np.finfo(np.float32).eps)
    return (name == "cast" and any(w.dtype.kind == "u" for w in want)) or min(limits, default=1) < rounding


def _plain(a):
    return a if a.dtype.kind in "biufc" else a.astype(np.float32)


def _shown(a):
    return str(a.reshape(-1)[:8].tolist())


def _bytes_of(case) -> int:
    values = case.graph.values() if case.graph is not None else [Value(a) for a in (*case.inputs, *case.outputs)]
    total = 0
    for v in values:
        sizes = [n if type(n) is int else 2 * n.hint for n in v.shape if type(n) in (int, SymInt)]
        total += v.dtype.itemsize * prod([abs(n) for n in sizes if n] or [1])
    return total


def _first_line(e) -> str:
    frame = traceback.extract_tb(e.__traceback__)[-1]
    return f"{type(e).__name__}: {(str(e).splitlines() or [''])[0]} ({os.path.basename(frame.filename)}:{frame.lineno})"
