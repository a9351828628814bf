"""`ingot.utils.collect_env`: a description of the machine for bug reports."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

class SystemEnv(_t.NamedTuple):
    """The machine and its packages, under PyTorch's names; `torch_version` is ingot's."""
    torch_version: _b.str
    os: _b.str
    libc_version: _b.str
    python_version: _b.str
    python_platform: _b.str
    is_cuda_available: _b.str
    cuda_runtime_version: _b.str
    nvidia_gpu_models: _b.str
    pip_packages: _b.str
    cpu_info: _b.str

def get_env_info() -> SystemEnv:
    """Return the versions and devices of this machine."""
def get_pretty_env_info() -> _b.str:
    """Return the report on this machine."""
def main() -> None:
    """Print the report."""
def pretty_str(envinfo: SystemEnv) -> _b.str:
    """Return the text of a `get_env_info` result."""
