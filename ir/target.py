"""Target: the machine that code is generated for, as plain data; and `host()`, the machine this process runs on.

A CPU target names one of a few *levels*, so that object code made on one machine is found in the cache of another of the
same level. A level fixes the instruction set and the vector width; what goes beyond it (dot instructions) is a feature.

    level        vectors   adds
    x86-64        16 B     SSE2, what every 64-bit x86 has
    x86-64-v3     32 B     AVX2, FMA, F16C, BMI
    x86-64-v4     64 B     AVX-512 F, BW, CD, DQ, VL
    aarch64       16 B     NEON
"""

import functools
import math
import os
import platform
import sys
from dataclasses import dataclass, replace

from . import config

_V3_FLAGS = frozenset({"avx2", "fma", "f16c", "bmi1", "bmi2", "movbe", "abm"})
_V4_FLAGS = _V3_FLAGS | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
LEVELS = {"x86-64": ("x86_64", 16, 16), "x86-64-v3": ("x86_64", 32, 16),
           "x86-64-v4": ("x86_64", 64, 32), "aarch64": ("aarch64", 16, 32)}
# Kernel's name of an optional instruction set -> LLVM's, and the level that it needs.
_EXTRAS = {"avx512_bf16": ("avx512bf16", "x86-64-v4"), "avx512_vnni": ("avx512vnni", "x86-64-v4"),
           "avx_vnni": ("avxvnni", "x86-64-v3"),
           "amx_tile": ("amx-tile", "x86-64-v4"), "amx_bf16": ("amx-bf16", "x86-64-v4"),
           "asimdhp": ("fullfp16", "aarch64"), "asimddp": ("dotprod", "aarch64"), "bf16": ("bf16", "aarch64")}


@dataclass(frozen=True)
class Target:
    """A device kind and the facts its code generator needs. Equal targets share object code."""

    kind: str = "cpu"
    arch: str = "x86_64"
    level: str = "x86-64"
    features: frozenset = frozenset()
    vector_bytes: int = 16
    vector_registers: int = 16
    system: str = "linux"

    def lanes(self, element_bytes: int) -> int:
        """Return how many elements of that size one vector register holds."""
        return self.vector_bytes // element_bytes

    def has(self, feature: str) -> bool:
        """Return whether the instruction set `feature` (LLVM's name) may be used beyond the level's own."""
        return feature in self.features

    @property
    def fma(self) -> bool:
        """Return whether a fused multiply-add is one instruction."""
        return self.level != "x86-64"

    @property
    def half_conversions(self) -> bool:
        """Return whether float16 <-> float32 is an instruction rather than a call into a compiler's library."""
        return self.level != "x86-64"

    @property
    def llvm_cpu(self) -> str:
        return "generic" if self.arch == "aarch64" else self.level

    @property
    def llvm_features(self) -> str:
        return ",".join("+" + name for name in sorted(self.features))

    @property
    def llvm_triple(self) -> str:
        """Return LLVM's triple; code is an ELF object on all systems but macOS on ARM and Windows."""
        if self.system == "darwin" and self.arch == "aarch64":
            return "arm64-apple-macosx11.0"
        return f"{self.arch}-pc-windows-msvc" if self.system == "win32" else f"{self.arch}-unknown-linux-gnu"

    def __str__(self):
        return "+".join([f"{self.kind}:{self.level}", *sorted(self.features)])

    def __repr__(self):
        """Return the same text in every process, whatever the order of a set of strings is there."""
        return f"<{self} {self.arch} {self.system} {self.vector_registers} x {self.vector_bytes} bytes>"


def cpu(level: str, features=(), system: str = "linux") -> Target:
    """Return the CPU target of a named level, for tests and for emitting code for other machines."""
    if level not in LEVELS:
        raise ValueError(f"no CPU level {level!r}: one of {', '.join(LEVELS)}")
    arch, vector_bytes, registers = LEVELS[level]
    return Target("cpu", arch, level, frozenset(features), vector_bytes, registers, system)


_assumed: list = []


@functools.lru_cache(None)
def host() -> Target:
    """Return the target of this machine, found once without importing LLVM.

    `INGOT_CPU_LEVEL` makes it exactly that level (a higher one than the machine's is ignored).
    """
    if _assumed:
        return _assumed[0]
    arch = machine_arch()
    flags = cpu_flags()
    level = _level_of(arch, flags)
    wanted = config.current().cpu_level
    if wanted in LEVELS and LEVELS[wanted][0] == arch and LEVELS[wanted][1] <= LEVELS[level][1]:
        return replace(cpu(wanted), system=sys.platform)
    extras = {name for flag, (name, needs) in _EXTRAS.items() if flag in flags and needs == level}
    return replace(cpu(level, extras), system=sys.platform)


def assume(target: Target):
    """Plan for another machine in this process from now on. Call it before the first `host()`."""
    _assumed[:] = [target]
    host.cache_clear()


def supports(target: Target) -> bool:
    """Return whether code for `target` runs on this machine (never an illegal instruction)."""
    mine = host()
    if target.kind != "cpu" or target.arch != mine.arch:
        return False
    return target.vector_bytes <= mine.vector_bytes and target.features <= mine.features | _offered(mine)


def _offered(target: Target) -> set:
    """Return this processor's extra features that lower levels use, in place of those of its own."""
    flags = frozenset() if _assumed else cpu_flags()
    return {name for flag, (name, needs) in _EXTRAS.items()
            if flag in flags and LEVELS[needs][0] == target.arch and LEVELS[needs][1] < target.vector_bytes}


def machine_arch() -> str:
    """Return this machine's processor architecture: x86_64, aarch64, ..."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(name, name)


def _level_of(arch, flags):
    if arch == "aarch64":
        return "aarch64"
    if flags >= _V4_FLAGS:
        return "x86-64-v4"
    return "x86-64-v3" if flags >= _V3_FLAGS else "x86-64"


@functools.lru_cache(None)
def cpu_flags() -> frozenset:
    """Return the instruction sets that processor and kernel both offer, by Linux's names."""
    if sys.platform == "darwin":
        return _darwin_flags()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return frozenset(value.split())
    except OSError:
        pass
    return frozenset()


def _darwin_flags():
    import subprocess  # here, since it takes a while to import and is needed on macOS alone

    names = ("machdep.cpu.features", "machdep.cpu.leaf7_features")
    try:
        text = subprocess.run(["sysctl", "-n", *names], capture_output=True, text=True, timeout=5, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    flags = frozenset(text.lower().split())
    return flags | {"abm"} if "bmi2" in flags else flags


@functools.lru_cache(None)
def usable_cpus() -> int:
    """Return the number of processors this process may use: the smaller of affinity and cgroup quota, at least 1."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:
        count = os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, count if quota is None else min(count, math.ceil(quota)))


def _cgroup_quota():
    """Return the CPU quota of the innermost limited cgroup (v2 or v1) as a number of processors, or None."""
    quotas = [_read_quota_v2(path) for path in _cgroup_v2_folders()]
    quotas.append(_read_quota_v1("/sys/fs/cgroup/cpu"))
    quotas = [quota for quota in quotas if quota]
    return min(quotas) if quotas else None


def _cgroup_v2_folders():
    folders = ["/sys/fs/cgroup"]
    for line in _read_text("/proc/self/cgroup").splitlines():
        if line.startswith("0::/"):
            path = "/sys/fs/cgroup"
            for part in filter(None, line[3:].split("/")):
                path += "/" + part
                folders.append(path)
    return folders


def _read_quota_v2(folder):
    words = _read_text(folder + "/cpu.max").split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() and int(words[1]) else None


def _read_quota_v1(folder):
    quota, period = _read_text(folder + "/cpu.cfs_quota_us").strip(), _read_text(folder + "/cpu.cfs_period_us").strip()
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(quota) and int(period) else None


def _read_text(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
