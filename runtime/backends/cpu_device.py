"""`ingot.cpu`: functions that exist for every kind of device, for the CPU."""

import functools
from collections.abc import Mapping
from types import MappingProxyType

from ...ir.target import cpu_flags, machine_arch

__all__ = ["Stream", "StreamContext", "current_device", "current_stream", "device_count", "get_capabilities", "is_available",
           "is_initialized", "set_device", "stream", "synchronize"]

# Instruction sets under PyTorch's names, with Linux's names where they differ.
_X86 = {**{name: name for name in (
    "sse", "sse2", "ssse3", "sse4_1", "sse4_2", "sse4a", "avx", "avx2", "avx_vnni", "avx512_vbmi2", "avx512_bitalg",
    "avx512_vpopcntdq", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx512_vp2intersect", "avx512_4vnniw", "avx512_4fmaps",
    "avx_vnni_int8", "avx_vnni_int16", "avx_ne_convert", "amx_bf16", "amx_tile", "amx_int8", "amx_fp16", "fma4", "f16c", "bmi2",
    "popcnt", "aes", "clflush", "clflushopt", "clwb")},
    **{f"avx512_{part}": f"avx512{part}" for part in ("f", "cd", "dq", "bw", "vl", "ifma", "vbmi")},
    "sse3": "pni", "fma3": "fma", "bmi": "bmi1", "lzcnt": "abm", "sha": "sha_ni"}
_ARM = {**{name: name for name in (
    "bf16", "i8mm", "sve", "sve2", "sme", "sme2", "atomics", "crc32", "aes", "sha1", "sha2", "pmull")},
    "neon": "asimd", "fp16_arith": "asimdhp", "dot": "asimddp", "sve_bf16": "svebf16", "fhm": "asimdfhm", "rdm": "asimdrdm"}


class Stream:
    """A stand-in for a stream: the CPU has finished when a call returns. `priority` is ignored: there is one queue."""

    def __init__(self, priority: int = -1):
        pass

    def synchronize(self) -> None:
        """Do nothing: there is nothing to wait for."""

    def wait_stream(self, stream) -> None:
        """Do nothing: there is nothing to wait for."""


_STREAM = Stream()


def is_available() -> bool:
    """Return True."""
    return True


is_initialized = is_available


@functools.cache
def get_capabilities() -> Mapping:
    """Return the instruction sets of the CPU ("avx2": True), and its "architecture"."""
    arch, flags = machine_arch(), cpu_flags()
    names = {"x86_64": _X86, "aarch64": _ARM}.get(arch, {})
    return MappingProxyType({**{name: flag in flags for name, flag in names.items()}, "architecture": arch})


def device_count() -> int:
    """Return 1."""
    return 1


def current_device() -> str:
    """Return 'cpu'."""
    return "cpu"


def set_device(device) -> None:
    """Do nothing: there is one device."""


def synchronize(device=None) -> None:
    """Do nothing: the CPU has finished when a call returns."""


def current_stream(device=None) -> Stream:
    """Return the only stream. `device` is ignored: there is one CPU."""
    return _STREAM


class StreamContext:
    """A context without effect."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return self.stream

    def __exit__(self, *exc):
        pass


def stream(stream):
    """Return a context without effect."""
    return StreamContext(stream)
