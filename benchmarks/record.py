"""Results in a file: written whenever there are more of them, and gone on with by a later run."""

import json
import os
import sys
from dataclasses import dataclass, field, fields
from datetime import date
from functools import cache
from importlib import metadata
from pathlib import Path

import ingot
from ingot.ir import config
from ingot.ir.target import host

from .libraries import PACKAGES, installed
from .result import Result

_FIELDS = tuple([f.name for f in fields(Result)])


@dataclass
class Record:
    """Results, and the (group, workload, threads) that are done; `path` is the JSON file that holds them, or None."""

    path: Path | None
    results: list = field(default_factory=list)
    done: list = field(default_factory=list)

    @classmethod
    def resumed(cls, path: Path) -> "Record":
        """Read the record of an earlier run, if there is a file."""
        if not path.exists():
            return cls(path)
        held = json.loads(path.read_text())
        results = [Result(**{k: r[k] for k in _FIELDS if k in r}) for r in held["results"]]
        return cls(path, results, [tuple(d) for d in held.get("done", [])])

    def left(self, work, threads: int) -> list:
        """The (group, workload) pairs that are not done."""
        return [w for w in work if (*w, threads) not in self.done]

    def with_more(self, results, done=(), threads: int = 0) -> "Record":
        """The record with further results: who has the place of one that is there replaces it."""
        held = {(r.group, r.name, r.threads): r for r in (*self.results, *results)}
        return Record(self.path, list(held.values()), list(dict.fromkeys([*self.done, *[(*d, threads) for d in done]])))

    def write(self, facts: dict):
        """Puts everything into the file, which is whole at any time."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = {"about": facts, "done": self.done, "results": [r.as_json() for r in self.results]}
        temporary = self.path.with_name(self.path.name + ".new")
        temporary.write_text(json.dumps(content, indent=1) + "\n")
        temporary.replace(self.path)


def about(args, seconds) -> dict:
    """Describe the command, the machine and the versions."""
    return {"date": str(date.today()), "command": " ".join(["python -m benchmarks", *args.arguments]), "cpu": cpu_name(),
            "target": str(host()), "cores": os.cpu_count(), "python": sys.version.split()[0], "versions": versions(),
            "device": device(), "tuned": config.current().cuda_tune, "quick": args.quick,
            "peers": [p for p in args.peers if installed(p)], "seconds": round(seconds)}


def cpu_name() -> str:
    """Return the processor's own name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), host().level)


@cache
def versions() -> dict[str, str]:
    """Versions of the packages that take part, where they are installed."""
    found = {}
    for name in ("ingot", *dict.fromkeys(PACKAGES.values()), "triton", "llvmlite"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def device() -> str:
    """The GPU and its driver's CUDA version; empty where there is none."""
    if not ingot.cuda.is_available():
        return ""
    version = ingot.cuda.driver_version()
    return f"{ingot.cuda.get_device_name()}, CUDA {version // 1000}.{version % 1000 // 10}"
