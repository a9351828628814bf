"""How long the first calls of traced training steps take on a GPU where nothing was compiled before: until the host is free,
and until all is done. `python -m benchmarks.gpu_first [name ...]`

Without a GPU, on a driver that does nothing: what is left is compiling for an H100, and all that Python does. Each step has a
process of its own, with empty caches. The first call is recorded, the third is the first of a plan.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from contextlib import nullcontext

import ingot
from ingot.runtime.cuda.compiler import compile as compiler

from .gpu_launches import Unwatched
from .gpu_ledger import prepared, wanted
from .subprocesses import ROOT, command

CALLS = 4


class Late(Unwatched):
    """A driver that does nothing, for which kernels are compiled beside the program as for one that works."""

    in_order = False


def measured(name: str) -> dict:
    """Of a step in this process: [seconds until the host was free, until all was done] of each call, the processor's seconds of
    all, and how many kernels they had."""
    step, = [s for s in wanted([name]) if s.name == name]
    with nullcontext() if ingot.cuda.is_available() else Late(90, compiled=True):
        run, given = prepared(step)
        ingot.cuda.synchronize()
        calls, busy = [], time.process_time()
        for _ in range(CALLS):
            start = time.perf_counter()
            run(*given)
            free = time.perf_counter()
            ingot.cuda.synchronize()
            calls.append((free - start, time.perf_counter() - start))
        return {"calls": calls, "processor": time.process_time() - busy, "kernels": len(compiler.binaries())}


def in_new_process(name: str, compilers: int | None) -> dict:
    """The same in a process of its own that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"INGOT_CACHE_DIR": f"{folder}/ingot", "TRITON_CACHE_DIR": f"{folder}/triton"}
        if compilers is not None:
            env["INGOT_CUDA_COMPILERS"] = str(compilers)
        order = command("gpu_first", "--here", name)
        done = subprocess.run(order, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def table(name: str, measured: dict) -> str:
    """A line for each call of a step."""
    calls = [f"    call {n}: {free:6.2f} s until the host is free, {done:6.2f} until all is done"
             for n, (free, done) in enumerate(measured["calls"], 1)]
    return "\n".join([f"{name}: {measured['kernels']} kernels, {measured['processor']:.1f} s of processors", *calls])


def main(argv=None) -> int:
    """Prints a table for each step whose name begins as one of those given, or for all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_first", description=__doc__)
    parser.add_argument("names", nargs="*", help="how names of steps begin (default: all)")
    parser.add_argument("--compilers", type=int, help="INGOT_CUDA_COMPILERS (default: as it is)")
    parser.add_argument("--here", action="store_true", help="one step, in this process and with its caches; prints JSON")
    args = parser.parse_args(argv)
    if args.here:
        print(json.dumps(measured(*args.names)))
        return 0
    for step in wanted(args.names):
        print(table(step.name, in_new_process(step.name, args.compilers)), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
