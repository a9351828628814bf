"""Every INGOT_* switch, in one table: a field of `Settings` is a switch, its environment variable is INGOT_<NAME>.

config.current().debug with config.override(debug=3, fuel=17): ...

The environment is read once, at the first access. An override holds inside the `with` in the same thread; other threads keep
their settings.
"""

import os
import threading
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from typing import Any

from .blocks import block
from .errors import ArgumentError

_PREFIX = "INGOT_"


def switch(default, doc: str, choices: tuple = ()):
    """Return one row of the table."""
    return field(default=default, metadata={"doc": doc, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """The value of every switch."""

    debug: int = switch(0, "How much is printed: 1 what is compiled and why, 2 times, 3 graphs, 4 graphs after each pass, "
                           "5 kernels, 6 generated code; from 1 on LLVM verifies what it compiles")
    print: str = switch("", "Names of passes, separated by commas, after which a changed graph is printed; 'all' for every one")
    verify: bool = switch(True, "Check the rules of a graph after every pass that changed it")
    fuel: int = switch(-1, "How many changes by optional passes are done in this process; bisects a wrong pass (-1: all)")
    dump: str = switch("", "A folder that receives every graph after each pass that changed it, and generated code")
    jit: bool = switch(True, "0 runs traced functions eagerly")
    numerics: str = switch("default", "How exact kernels are: 'strict' takes the most exact algorithm, 'fast' allows "
                                      "reordering and contraction", ("default", "strict", "fast"))
    cache_dir: str = switch("", "The folder of the compile cache (default: $XDG_CACHE_HOME/ingot or ~/.cache/ingot)")
    cache_size: float = switch(512.0, "How many MiB the compile cache may take; the least recently used entries go")
    read_limit: float = switch(256.0, "How many MiB the content of a file may take when it is read, besides 16 times its size")
    traceback: str = switch("users", "'full' keeps ingot's own frames in tracebacks", ("users", "full"))
    num_threads: int = switch(0, "Threads of CPU kernels (0: what the affinity mask and the cgroup quota allow)")
    cuda_graphs: bool = switch(True, "0 launches the kernels of traced functions one by one instead of as CUDA graphs")
    cuda_tune: bool = switch(False, "1 tries configurations of GPU kernels on the device, and keeps the quickest on disk")
    cuda_compilers: int = switch(-1, "Threads that compile GPU kernels beside the program, whose launches wait for them (-1: "
                                     "one for each processor, 16 at most; 0: kernels are compiled where they are launched)")
    cpu_level: str = switch("", "Plans and compiles for exactly this CPU level, if the machine has it: 'x86-64', "
                                "'x86-64-v3' or 'x86-64-v4'")


def _from_text(name: str, kind: type, text: str, choices=()):
    try:
        if kind is bool:
            value = {"1": True, "true": True, "on": True, "yes": True,
                     "0": False, "false": False, "off": False, "no": False}[text.strip().lower()]
        else:
            value = kind(text.strip())
    except (KeyError, ValueError):
        raise ArgumentError(f"{_PREFIX}{name.upper()}={text!r} is not a {kind.__name__}") from None
    return _checked(name, value, choices)


def _checked(name, value, choices):
    if choices and value not in choices:
        raise ArgumentError(f"{_PREFIX}{name.upper()} is one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def from_environment(environ) -> Settings:
    """Return the settings that an environment asks for; empty variables count as not set."""
    found = {}
    for f in fields(Settings):
        text = environ.get(_PREFIX + f.name.upper(), "")
        if text.strip():
            found[f.name] = _from_text(f.name, type(f.default), text, f.metadata["choices"])
    return Settings(**found)


@lru_cache(maxsize=1)
def process_settings() -> Settings:
    """Return the settings from the environment of this process."""
    return from_environment(os.environ)


class _Overridden(threading.local):
    """Overrides of a thread, not of a context: kernels run in their own context and must see their caller's settings."""

    settings: Settings | None = None


overridden = _Overridden()


def current() -> Settings:
    """Return the settings of this thread."""
    return overridden.settings or process_settings()


@block
def override(**changes) -> Any:
    """Change switches for the code inside the `with`."""
    table = {f.name: f for f in fields(Settings)}
    for name, value in changes.items():
        if name not in table:
            raise ArgumentError(f"there is no switch {name!r}; the switches are {', '.join(table)}")
        kind = type(table[name].default)
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise ArgumentError(f"switch {name!r} is a {kind.__name__}, got {value!r}")
        _checked(name, value, table[name].metadata["choices"])
    changed = replace(current(), **changes)
    before = overridden.settings

    def begin():
        overridden.settings = changed
        return changed

    return begin, partial(setattr, overridden, "settings", before)


def describe() -> str:
    """Return the table as text: one switch a line, with its value here and its meaning."""
    now = current()
    rows = [(f"{_PREFIX}{f.name.upper()}={getattr(now, f.name)}", f.metadata["doc"]) for f in fields(Settings)]
    width = max(len(left) for left, _ in rows)
    return "\n".join(f"{left:<{width}}  {doc}" for left, doc in rows)


def hold(**changes) -> Settings | None:
    """Change switches for this thread from now on; return the former ones, to put back into `overridden.settings`."""
    before, changed = overridden.settings, replace(current(), **changes)
    overridden.settings = None if changed == process_settings() else changed
    return before
