"""Costs of a traced function before it is fast: the calls until all is compiled, and the memory of its calls.

Each workload runs in processes of its own, with an empty disk cache and with a full one.
"""

import tempfile
from dataclasses import replace

from .harness import Plan
from .subprocesses import started

GROUPS = ("kernels", "layers", "inference", "training", "precision")        # whose workloads trace what they time


def starts_of(group: str, workload: str, plan: Plan) -> dict[str, dict[str, float]]:
    """Seconds `cold` and `warm` and bytes of `memory` for each case of a workload, by the case's name."""
    with tempfile.TemporaryDirectory() as folder:
        order = {"group": group, "workload": workload, "threads": plan.threads, "quick": plan.quick, "tiny": plan.tiny}
        cold, warm = (started("starts", plan, folder, **order) for _ in range(2))
    return {name: {"cold": cold[name]["seconds"], "warm": found["seconds"], "memory": found["bytes"]}
            for name, found in warm.items()}


def with_starts(results, work, plan: Plan, say) -> list:
    """The results of a run, with what the starts of their cases cost."""
    found = {}
    for group, workload in work:
        if group in GROUPS:
            try:
                found |= {(group, name): starts for name, starts in starts_of(group, workload, plan).items()}
            except RuntimeError as error:           # the figures of the workload are there all the same
                say(f"first calls of {group}/{workload}: {error}")
    return [replace(r, starts=found.get((r.group, r.name), r.starts)) if r.threads == plan.threads else r for r in results]
