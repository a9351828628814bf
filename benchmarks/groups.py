"""The groups of workloads by name, and which of them names select. A group is a module with WORKLOADS and MEAN_BAR."""

from . import (
    distributed,
    gpu,
    inference,
    kernels,
    layers,
    loading,
    memory,
    operators,
    precision,
    recording,
    research,
    small,
    small_functions,
    small_ops,
    traced,
    training,
)

GROUPS = {"small": small, "small_ops": small_ops, "small_functions": small_functions, "traced": traced,
          "recording": recording, "kernels": kernels, "layers": layers,
          "operators": operators, "inference": inference, "training": training, "research": research,
          "precision": precision, "memory": memory,
          "loading": loading, "distributed": distributed, "gpu": gpu}
MEAN_BARS = {name: group.MEAN_BAR for name, group in GROUPS.items() if group.MEAN_BAR}


def chosen(names) -> list[tuple[str, str]]:
    """(group, workload) pairs that names of groups and of workloads select; all if there are none."""
    every = [(g, w) for g, group in GROUPS.items() for w in group.WORKLOADS]
    known = {*GROUPS, *(w for _, w in every)}
    unknown = [n for n in names if n not in known]
    if unknown:
        raise ValueError(f"no such benchmark: {', '.join(unknown)}\n\n{listing()}")
    return [(g, w) for g, w in every if not names or g in names or w in names]


def listing() -> str:
    """The groups and their workloads as text."""
    lines = []
    for name, group in GROUPS.items():
        lines.append(f"{name}: {group.__doc__.splitlines()[0]}")
        lines += [f"    {w:<16} {(work.__doc__ or '').splitlines()[0]}" for w, work in group.WORKLOADS.items()]
    return "\n".join(lines)
