"""`python -m ingot doctor`: abilities of this machine, and missing parts."""

import importlib.metadata as metadata
import os
import platform
import sys
import tempfile
from dataclasses import dataclass

from .ir import requirements, target
from .runtime.cpu.compiler import amx, cache
from .runtime.cuda import api as cuda

GOOD, NOTE, BAD = "ok", "note", "missing"
EXTRAS = {      # package: what is missing without it
    "triton": "GPU kernels cannot be compiled",
    "jinja2": "no chat templates of language models",
    "onnx": "no to_onnx and from_onnx",
    "torch": "left out of benchmarks",
    "onnxruntime": "left out of benchmarks",
}
REQUIRED = tuple(map(requirements.package_of, requirements.NEEDED))


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    topic: str
    what: str
    state: str = GOOD
    advice: str = ""


def version_of(package: str) -> str | None:
    """Return the installed version of a package, without importing it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def look_at_python():
    """Report the interpreter and ingot."""
    yield Finding("python", f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}")
    yield Finding("ingot", version_of("ingot") or "running from a folder that is not installed")


def look_at_cpu():
    """Report the processor and the compilation target."""
    host = target.host()
    yield Finding("processor", f"{host.arch}, code for {host.level}, vectors of {host.vector_bytes * 8} bits"
                  + (f", with {', '.join(sorted(host.features))}" if host.features else ""))
    if amx.is_offered() and not amx.is_allowed():
        yield Finding("matrix tiles", "the system does not let this process use them (AMX)", NOTE,
                      "products of bfloat16 are slower than this processor can")
    yield from look_at_threads()


def look_at_threads():
    """Report the number of kernel threads, and the reason."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    chosen = target.usable_cpus()
    reason = f"{allowed} of {os.cpu_count()} processors allowed to this process"
    if chosen < allowed:
        reason += ", a container quota below that"
    yield Finding("threads", f"{chosen} ({reason})")


def look_at_cache():
    """Check the folder of compiled kernels."""
    info = cache.info()
    folder = info["folder"]
    where = f"{folder}, {info['entries']} entries, {info['bytes'] / 2**20:.1f} of {info['cap'] / 2**20:.0f} MB"
    untrusted, problem = cache.problem(), why_not_writable(folder)
    if untrusted is not None:
        yield Finding("kernel cache", where, NOTE, f"not used: {untrusted}. Until then every process compiles anew")
    elif problem is None:
        yield Finding("kernel cache", where)
    else:
        yield Finding("kernel cache", where, NOTE,
                      f"not writable ({problem}): every process compiles anew; set INGOT_CACHE_DIR to a folder that is")


def why_not_writable(folder: str) -> str | None:
    """Write a file in a folder, or in the nearest parent that exists, and return the error, or None. Permissions alone do not
    tell: disks may be full, and file systems read-only."""
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(2**16))
    except OSError as e:
        return e.strerror or str(e)
    return None


def look_at_packages():
    """Report required and optional packages."""
    for name in REQUIRED:
        v = version_of(name)
        yield Finding(name, v or "not installed", GOOD if v else BAD, "" if v else requirements.install(name))
    for name, loss in EXTRAS.items():
        v = version_of(name)
        yield Finding(name, v or "not installed", GOOD if v else NOTE, "" if v else f"{loss}; {requirements.install(name)}")


def look_at_gpu():
    """Report the GPUs, or why none can be used."""
    if not cuda.is_available():
        yield Finding("gpu", f"none that can be used ({cuda.why_not_available()})", NOTE, "everything runs on the CPU")
    for i in range(cuda.device_count()):
        memory, (major, minor) = cuda.get_device_properties(i).total_memory, cuda.get_device_capability(i)
        yield Finding("gpu", f"{i}: {cuda.get_device_name(i)}, {memory / 2**30:.0f} GiB, compute capability {major}.{minor}")


def examine() -> list[Finding]:
    """Run all checks, in order."""
    return [*look_at_python(), *look_at_cpu(), *look_at_cache(), *look_at_packages(), *look_at_gpu()]


def report(findings, write=print) -> int:
    """Print the findings; return exit code 1 if something required is missing."""
    width = max(len(f.topic) for f in findings)
    for f in findings:
        mark = {GOOD: " ", NOTE: "-", BAD: "!"}[f.state]
        write(f"{mark} {f.topic:<{width}}  {f.what}")
        if f.advice:
            write(f"  {'':<{width}}  {f.advice}")
    broken = [f for f in findings if f.state == BAD]
    write("")
    write("All that ingot needs is here." if not broken else f"{len(broken)} needed package(s) missing.")
    return 1 if broken else 0
