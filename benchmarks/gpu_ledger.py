"""A list of the kernel launches of a training step, made without a GPU: `python -m benchmarks.gpu_ledger [name ...]`

For each kernel it gives the bytes, the operations, and the least time they take on an H100. --json writes the sums to the file
that `python -m benchmarks gpu` prints beside its measurements. --compile compiles the launched kernels into the cache: a
machine with that chip, the same Triton and that cache compiles nothing.
"""

import argparse
import json

import ingot
from ingot import jit
from ingot.runtime.cuda.offline.cost_model import Ledger

from .device import fitting, set_precision
from .gpu_steps import FLOORS, HOW, Step, every, floors
from .harness import Plan
from .libraries import Library

RUNS = 3          # the first records, the second finds the state of the optimizer there, the third is like all that follow
LIBRARY = Library("ingot", ingot, {})


def prepared(step: Step) -> tuple:
    """The traced function of a step on the device, and what it is called with."""
    how = {"low": False, "precision": "highest"} | HOW[step.kind]
    set_precision(LIBRARY, how["precision"])
    run = jit.trace(fitting(ingot, step.build(ingot).to("cuda"), how["low"]))
    return run, [ingot.tensor(a).to("cuda") for a in step.arrays()]


def wanted(names: list[str]) -> list[Step]:
    """The steps whose names begin as one of those given; all if none is."""
    return [s for s in every(Plan()) if not names or any(s.name.startswith(n) for n in names)]


def recorded(step: Step, ledger: Ledger):
    """Has a traced step run, and leaves in the ledger what one of its launches asks for."""
    run, given = prepared(step)
    for _ in range(RUNS):
        ledger.clear()
        run(*given)


def main(argv=None) -> int:
    """Prints a table for each step whose name begins as one of those given, or for all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_ledger", description=__doc__)
    parser.add_argument("names", nargs="*", help="how names of steps begin (default: all)")
    parser.add_argument("--rows", type=int, default=25, help="how many kinds of launches to show")
    parser.add_argument("--arch", type=int, default=90, help="the chip: 80 or 90")
    parser.add_argument("--json", action="store_true", help=f"write the sums to {FLOORS.name}")
    parser.add_argument("--compile", action="store_true", help="compile kernels, into the cache")
    args = parser.parse_args(argv)
    found = floors()
    with Ledger(args.arch, args.compile) as ledger:
        for step in wanted(args.names):
            recorded(step, ledger)
            found[step.name] = ledger.facts()
            print(f"\n{step.name}\n{ledger.table(most=args.rows)}", flush=True)
    if args.json:
        FLOORS.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
