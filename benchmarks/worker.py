"""One measuring process: runs workloads at one number of threads and reports each result as a line of JSON.

`python -m benchmarks.worker '{"threads": 2, "quick": true, "peers": [...], "work": [["kernels", "gemm"], ...]}'`
"""

import json
import os
import sys
import threading
import time
import warnings
from dataclasses import replace

from ingot.runtime.cpu.calls import peaks

from .groups import GROUPS
from .harness import Case, Plan, measure
from .libraries import set_threads
from .result import Result


def results_of(group: str, name: str, plan: Plan):
    """The results of a workload, one after the other. What breaks is a result, too."""
    try:
        for item in GROUPS[group].WORKLOADS[name](plan):
            result = measure(item, plan) if isinstance(item, Case) else item
            yield replace(result, group=group, threads=plan.threads)
    except Exception as error:                  # the others can still be measured
        yield Result(name, {}, group, plan.threads, failed={"ingot": f"{type(error).__name__}: {error}"[:200]})


def main(order: dict, report):
    """Runs what is ordered, and says before each workload which it is. The machine's peaks are measured before and after."""
    plan = Plan(order["threads"], order["quick"], order.get("tiny", False), tuple(order["peers"]))
    set_threads(plan)
    report({"peaks": peaks.measured(plan.threads)})
    for group, name in order["work"]:
        report({"begins": [group, name]})
        start = time.perf_counter()
        for result in results_of(group, name, plan):
            report({"result": vars(result)})
        report({"ends": [group, name], "seconds": time.perf_counter() - start})
    report({"peaks": peaks.measured(plan.threads)})


def end_with_parent():
    """Ends this process when the one that ordered it is gone: then its end of our input is closed."""
    while os.read(0, 4096):     # not by sys.stdin, whose lock a forked process would find taken
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, daemon=True).start()
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)                               # what libraries print goes beside the report
    warnings.simplefilter("ignore")
    main(json.loads(sys.argv[1]), lambda event: print(json.dumps(event), file=lines))
