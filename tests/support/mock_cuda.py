"""A CUDA driver in Python for machines without one: device memory is host memory, streams are queues that run as late as they
may, kernels run on numpy through `mock_cuda_triton`.

    with mock_cuda.installed() as cuda: ...

Work is put off until something waits for it (or `cuda.run_some(random)` is called), so code that does not wait where it must
shows. Every address that is read or written must lie in memory that was allocated and not freed. A "cubin" is the JSON of
what a kernel was compiled from; `installed()` puts a compiler in place that writes such. With `pytest --ptx 90` it is what
Triton made of that for that chip.
"""

import contextlib
import json
from dataclasses import replace

import pytest

import ingot
import mock_cuda_chip
import mock_cuda_triton
from ingot import jit
from ingot.ir.errors import DeviceError
from ingot.runtime.api.nn import distances
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.driver import driver, launch_queue
from ingot.runtime.cuda.driver.driver_state import drop_caches
from ingot.runtime.cuda.graph import eager
from ingot.runtime.cuda.memory.allocator import Allocator
from mock_cuda_driver import MockDriver, Violation

_built: dict = {}       # what was compiled, by variant
_SCRATCH = "*u8", "*u8"     # the last parameters of machine code: memory that it asked for, and memory of profilers

REAL_CACHE, REAL_LOAD = compiler.cache, compiler._load


def build(variant) -> compiler.Binary:
    """Return the mock of a variant's machine code."""
    return _with_ptx(variant) if mock_cuda_chip.compiled_for else _stand_in(variant)


def _with_ptx(variant) -> compiler.Binary:
    """Compile a variant by Triton; its PTX runs on numpy."""
    made = _built.get(variant)
    if made is None:
        compiled = compiler._run_triton(variant)
        real, like = compiler._binary(variant, compiled), _stand_in(variant)
        said = json.loads(like.code[4:])
        said |= {"ptx": compiled.asm["ptx"], "threads": real.threads, "shared": real.shared, "layout": real.layout,
                 "registers": real.registers, "kinds": [*said["kinds"], *_SCRATCH]}
        made = _built[variant] = replace(real, code=b"\x7fELF" + json.dumps(said).encode(), name=like.name)
    return made


def _stand_in(variant) -> compiler.Binary:
    """The JSON of a variant, with the parameter layout that Triton gives."""
    kinds = [t for t in variant.signature().values() if t != "constexpr"]
    code = b"\x7fELF" + json.dumps({"name": variant.source.name, "text": variant.source.text, "kinds": kinds,
                                    "constants": dict(variant.constants), "wide": variant.wide,
                                    "units": dict.fromkeys(variant.aligned, 16) | dict(variant.even)}).encode()
    ptx = [f".param .{_ptx(k)} k_param_{i}" for i, k in enumerate([*kinds, *_SCRATCH])]
    layout, offsets = compiler.parameter_layout(f".visible .entry k(\n{','.join(ptx)}\n)", kinds)
    return compiler.Binary(code, variant.source.name, 0, 32 * variant.warps, 1, 0, layout, offsets)


def _ptx(kind):
    return "u64" if kind[0] == "*" else {"fp32": "f32", "fp64": "f64"}.get(kind, kind.replace("i", "s"))


@contextlib.contextmanager
def installed(devices=1, memory=1 << 30, seed=0, arch=0, alone=False):
    """The runtime on a mock driver; `alone`: operators that the host would compute are failures."""
    mock = MockDriver(devices, memory, seed, arch or mock_cuda_chip.compiled_for or 90)
    _drop_caches()
    before, made = driver.replace(mock), compiler.build
    load, compiler._load = compiler._load, lambda variant: None
    allocate, Allocator.allocate = Allocator.allocate, _spoiling(mock, Allocator.allocate)
    store, compiler.cache = compiler.cache, _NoCache
    compiler.build = build
    compute = eager.on_host
    if alone:
        eager.on_host = _refused
    try:
        yield mock
    finally:
        with contextlib.suppress(DeviceError):      # which whoever waited has met
            launch_queue.drain()
        _drop_caches()
        compiler.build, compiler._load, compiler.cache, eager.on_host = made, load, store, compute
        Allocator.allocate = allocate
        driver.restore(before)


def _drop_caches():
    """Drop all that belongs to a driver, tables on devices among it that functions of `api` keep."""
    drop_caches()
    distances._cached_above_diagonal.cache_clear()


def _refused(op, *rest):
    pytest.fail(f"{op.name} ran on the host")


def _spoiling(mock, allocate):
    """`allocate`, whose blocks hold what no kernel may rely on: nan, and -1, whatever was there before."""

    def spoiled(self, size, stream, pool=0, memory=None):
        block = allocate(self, size, stream, pool, memory)
        hand_out(block.pointer, max(size, 1), stream, block.size)
        return block

    def hand_out(pointer, count, stream, size):
        """Once all that came before has been asked of the driver: it may be for what lay here."""
        if not (launch_queue.waiting and launch_queue.defer(driver.get(), hand_out, (pointer, count, stream, size))):
            mock.hand_out(pointer, count)
            mock.spoil(stream, pointer, size)

    return spoiled


def launches_as_eager(cuda, f, *args, why=""):
    """Holds a traced function to eager's results, bit for bit; the names of the kernels that its second call launches."""
    want, traced = f(*args), jit.trace(f)
    traced(*args)
    before = len(cuda.launches)
    got = traced(*args)
    names = [launch["name"] for launch in cuda.launches[before:]]
    results = zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]
    for number, (w, g) in enumerate(results):
        assert g.dtype is w.dtype and ingot.equal(g.cpu(), w.cpu()), f"result {number} {why}"
    return names


class _NoCache:
    @staticmethod
    def store(*args):
        return False


mock_cuda_triton.as_library(globals())
__all__ = ["MockDriver", "Violation", "installed", "launches_as_eager"]
