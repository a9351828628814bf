"""`ingot.utils.collect_env`: a description of the machine for bug reports.

    python -m ingot.utils.collect_env
"""

import os
import platform
import sys
from typing import NamedTuple

from . import doctor
from .ir.version import VERSION
from .runtime.cuda import api as cuda

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "pretty_str"]


class SystemEnv(NamedTuple):
    """The machine and its packages, under PyTorch's names; `torch_version` is ingot's."""

    torch_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cuda_runtime_version: str
    nvidia_gpu_models: str
    pip_packages: str
    cpu_info: str


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = f"{platform.system()} {platform.release()}"
    return f"{name} ({platform.machine()})"


def get_env_info() -> SystemEnv:
    """Return the versions and devices of this machine."""
    there = cuda.is_available()
    packages = {name: doctor.version_of(name) for name in (*doctor.REQUIRED, *doctor.EXTRAS)}
    return SystemEnv(
        torch_version=VERSION, os=_system(), libc_version="-".join(filter(None, platform.libc_ver())) or "N/A",
        python_version=f"{sys.version.replace(chr(10), ' ')} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=platform.platform(), is_cuda_available=str(there),
        cuda_runtime_version="{}.{}".format(*divmod(cuda.driver_version() // 10, 100)) if there else "N/A",
        nvidia_gpu_models="\n".join(f.what for f in doctor.look_at_gpu()),
        pip_packages="\n".join(f"[pip3] {name}=={version}" for name, version in sorted(packages.items()) if version),
        cpu_info="\n".join([*(f"{f.topic}: {f.what}" for f in doctor.look_at_cpu()), *_settings()]))


def _settings():
    """Return the environment switches that are set."""
    return [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("INGOT_")]


def pretty_str(envinfo: SystemEnv) -> str:
    """Return the text of a `get_env_info` result."""
    e = envinfo
    return "\n".join([
        f"ingot version: {e.torch_version}", "", f"OS: {e.os}", f"Libc version: {e.libc_version}", "",
        f"Python version: {e.python_version}", f"Python platform: {e.python_platform}",
        f"Is CUDA available: {e.is_cuda_available}", f"CUDA version of the driver: {e.cuda_runtime_version}",
        f"GPU models and configuration: {e.nvidia_gpu_models}", "", "CPU:", e.cpu_info, "",
        "Versions of relevant libraries:", e.pip_packages])


def get_pretty_env_info() -> str:
    """Return the report on this machine."""
    return pretty_str(get_env_info())


def main():
    """Print the report."""
    print(get_pretty_env_info())
