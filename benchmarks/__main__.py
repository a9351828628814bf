"""`python -m benchmarks [names] [--json FILE]`: measures and prints; peers that are not installed are left out and named."""

import argparse
import importlib.util
import json
import platform
import sys
from datetime import date

from . import small
from .harness import table

GROUPS = {"small": small.WORKLOADS}
PEERS = ("torch", "jax", "onnxruntime", "openvino")


def chosen(names):
    """(group, workload) pairs that the given names select: a group, a workload, or everything."""
    every = [(g, w) for g, workloads in GROUPS.items() for w in workloads]
    unknown = [n for n in names if n not in GROUPS and not any(n == w for _, w in every)]
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(unknown)}; there are " + ", ".join([*GROUPS, *(w for _, w in every)]))
    return [(g, w) for g, w in every if not names or g in names or w in names]


def main(argv=None):
    """Runs the chosen workloads."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="groups or workloads (default: all)")
    parser.add_argument("--json", help="write the results here as well")
    args = parser.parse_args(argv)
    missing = [p for p in PEERS if importlib.util.find_spec(p) is None]
    if missing:
        print(f"left out, not installed: {', '.join(missing)} (pip install 'ingot[bench]')\n")
    results = []
    for group, name in chosen(args.names):
        print(f"... {group}/{name}", file=sys.stderr, flush=True)
        results.append(GROUPS[group][name]())
    print(table(results))
    if args.json:
        about = {"date": str(date.today()), "machine": platform.processor() or platform.machine(),
                 "python": platform.python_version()}
        with open(args.json, "w") as f:
            json.dump({"about": about, "results": [vars(r) | {"ratio": r.ratio} for r in results]}, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
