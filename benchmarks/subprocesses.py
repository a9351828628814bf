"""Work that needs a process of its own: to be the first of its kind, to own its memory, to be held to a number of threads."""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

from .libraries import environment

ROOT = Path(__file__).parent.parent
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def command(module: str, *arguments: str) -> list[str]:
    """How to run a module of this package."""
    return [sys.executable, "-m", f"{__package__}.{module}", *arguments]


def variables(threads: int) -> dict[str, str]:
    """The environment of a process that is held to a number of threads."""
    return os.environ | environment(threads)


def started(program: str, plan, folder: str | None = None, **arguments) -> dict:
    """Run a program of `programs.py`, with the compile cache in `folder` if one is given, and return its report."""
    env = variables(plan.threads) | ({"INGOT_CACHE_DIR": folder} if folder else {})
    order = command("programs", program, json.dumps(arguments))
    done = subprocess.run(order, env=env, text=True, capture_output=True, stdin=subprocess.DEVNULL, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"{program}: " + "".join(done.stderr.strip().splitlines()[-1:]))
    return json.loads(done.stdout.splitlines()[-1])


def resident(field) -> int:
    """A figure of this process in bytes: VmRSS now, VmHWM at most."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def most_of(work) -> int:
    """Return the bytes that this process has at most while it works, beyond those before."""
    gc.collect()
    base = resident("VmRSS")
    CLEAR.write_text("5")
    work()
    return max(resident("VmHWM") - base, 0)
