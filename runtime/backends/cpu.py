"""`ingot.backends.cpu`: the instruction set of the CPU."""

from ...ir.target import host

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """Return the vector instructions of compiled kernels: DEFAULT, AVX2, AVX512 or NEON."""
    target = host()
    if target.arch.startswith(("aarch64", "arm")):
        return "NEON"
    return {32: "AVX2", 64: "AVX512"}.get(target.vector_bytes, "DEFAULT")
