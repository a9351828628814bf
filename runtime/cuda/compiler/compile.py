"""Triton source to machine code, without a GPU, with a disk cache: a second process needs no Triton.

Triton only compiles here; it never launches, and torch is never imported. No other file imports Triton. A `Binary` has all that
a launch needs: the code, its entry, and the layout of its parameters. Threads may compile in the background (`compile_async`),
because Triton's own work lets other threads run.
"""

import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import linecache
import os
import pickle
import re
import struct
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any

from ....ir import config
from ....ir import dtype as dt
from ....ir.errors import DeviceError, IngotError
from ....ir.locks import new_lock, new_rlock
from ....ir.requirements import install
from ....ir.symbols.substitute import PARSING
from ....passes.codegen.triton.ir.source import NUMBER, NUMBERS_AS, POINTER, Source
from ...cpu.compiler import cache
from ..driver.driver_state import DriverCache

FORMAT = 3
LANES_GO_LAST = 3, 7    # since this release of Triton, lanes go along the last dim of tiles with unknown strides
ALIGNED = 16           # bytes (or units) of which marked parameters are multiples
EVEN = 8, 4            # weaker multiples of sizes, used
LONG = 64              # from this size on: shorter rows load few vectors, and batches of any size should share code
_TYPES = {dt.bool_: "u8", dt.float16: "fp16", dt.bfloat16: "bf16", dt.float32: "fp32", dt.float64: "fp64", dt.int8: "i8",
          dt.int16: "i16", dt.int32: "i32", dt.int64: "i64", dt.uint8: "u8", dt.uint16: "u16", dt.uint32: "u32",
          dt.uint64: "u64", dt.float8_e4m3fn: "fp8e4nv", dt.float8_e5m2: "fp8e5"}
PARAMETER_CODES = {"i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u1": "B", "u8": "B", "u16": "H", "u32": "I",
                   "u64": "Q", "fp32": "f", "fp64": "d"}
_PTX_SIZES = {"u64": 8, "s64": 8, "b64": 8, "f64": 8, "u32": 4, "s32": 4, "b32": 4, "f32": 4, "u16": 2, "s16": 2,
              "b16": 2, "u8": 1, "s8": 1, "b8": 1}


@dataclass(frozen=True)
class Variant:
    """One way to compile a source: its constants, and facts about its parameters.

    wide       addresses and sizes are 64-bit integers
    aligned    numbers of the parameters (pointers, sizes) that are multiples of 16
    even       (number, 4 or 8) of sizes that are multiples of that only, which halves or quarters vectors
    """

    source: Source
    constants: tuple
    warps: int
    arch: int
    wide: bool = False
    aligned: frozenset = frozenset()
    stages: int = 3
    even: tuple = ()

    def signature(self) -> dict:
        size = "i64" if self.wide else "i32"
        found = {}
        for p in self.source.parameters:
            if p.kind == POINTER:
                found[p.name] = "*" + _TYPES[p.dtype]
            else:
                found[p.name] = _TYPES[NUMBERS_AS.get(p.dtype, p.dtype)] if p.kind == NUMBER else size
        return found | dict.fromkeys(self.source.constants, "constexpr")

    def key(self) -> str:
        fields = (FORMAT, self.source.text, self.source.name, sorted(self.signature().items()), sorted(self.constants),
                self.warps, self.stages, self.arch, self.wide, sorted(self.aligned), self.even, self.source.flush)
        return hashlib.sha256(repr(fields).encode()).hexdigest()


@dataclass(frozen=True)
class Binary:
    """Machine code for one GPU architecture.

    layout     struct format of the parameter block, with the two trailing scratch pointers
    offsets    byte of each parameter in it
    spills     bytes per thread that did not fit into registers
    """

    code: bytes
    name: str
    shared: int
    threads: int
    clusters: int
    scratch: int
    layout: str
    offsets: tuple
    registers: int = 0
    spills: int = 0
    maker: str = ""

    def pack(self) -> bytes:
        fields = {k: v for k, v in asdict(self).items() if k != "code"}
        head = json.dumps(fields).encode()
        return struct.pack("<I", len(head)) + head + self.code

    @classmethod
    def unpack(cls, data: bytes) -> "Binary":
        length = struct.unpack_from("<I", data)[0]
        fields = json.loads(data[4:4 + length])
        return cls(code=data[4 + length:], **(fields | {"offsets": tuple(fields["offsets"])}))


class Threads:
    """Pool of background threads, started on demand, that end when no work is left.

    After the end of the program `abandoned(*args)` is called instead of pending work.
    """

    def __init__(self, abandoned: Callable):
        self.abandoned = abandoned
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self):
        """Reset the pool: a forked process has none of its threads."""
        self.lock, self.jobs, self.count = new_lock(), deque(), 0

    def submit(self, most: int, work: Callable, *args):
        """Run `work(*args)` in one of at most `most` threads."""
        with self.lock:
            self.jobs.append((work, args))
            if self.count >= most:
                return
            self.count += 1
        threading.Thread(target=self._run, name="ingot: beside the program").start()

    def _run(self):
        while True:
            with self.lock:
                if not self.jobs:
                    self.count -= 1
                    return
                work, args = self.jobs.popleft()
            if not threading.main_thread().is_alive():
                work = self.abandoned
            work(*args)


_MOST_THREADS = 16
_TRIES = 4
_lock = new_rlock()
_coming: dict[Variant, Future] = {}    # variants being compiled
_threads = Threads(lambda variant, future: _finish(variant, future, DeviceError("the program has ended")))  # compiling threads
_stand_in: Any = None                  # function that replaces compilation where nothing runs
_binaries = DriverCache()                  # machine code of this process, by variant
_ready: dict[str, Binary] = {}         # by key: what files brought along


def compiled(variant: Variant) -> Binary:
    """Return the machine code of a variant: from memory, from disk, or compiled now."""
    found = _binaries.get(variant) or _lookup(variant, _now)
    return found if isinstance(found, Binary) else found.result()


def compile_async(variant: Variant) -> Binary | Future:
    """Return the machine code of a variant, or a future of it that a thread compiles."""
    return _binaries.get(variant) or _lookup(variant, _later if _version() and compilers() else _now)


def compilers() -> int:
    """Return the number of background compiler threads."""
    wanted = config.current().cuda_compilers
    return min(_MOST_THREADS, os.cpu_count() or 1) if wanted < 0 else wanted


def _lookup(variant, work):
    with _lock:
        found = _binaries.get(variant) or _coming.get(variant)
        if found is not None:
            return found
        found = _coming[variant] = Future()
    try:
        there = _stand_in(variant) if _stand_in else _ready.get(variant.key()) or _load(variant)
    except BaseException as error:
        _finish(variant, found, error)
        raise
    if there is not None:
        _finish(variant, found, there)
    else:
        work(variant, found)
    return found if not found.done() else found.result()


def _later(variant, future):
    _threads.submit(compilers(), _now, variant, future)


def _now(variant, future):
    try:
        binary = _make(variant)
    except BaseException as error:
        _finish(variant, future, error)
    else:
        _finish(variant, future, binary)


def _finish(variant, future, result):
    """Store a result or an error; a failed variant is tried again at the next request."""
    with _lock:
        if isinstance(result, Binary):
            _binaries[variant] = result
        _coming.pop(variant, None)
    if isinstance(result, Binary):
        future.set_result(result)
    else:
        future.set_exception(result)


def _in_child():
    _coming.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def stand_in(maker):
    """Replace compilation by `maker(variant)`, without the disk, for processes that only inspect launches."""
    global _stand_in
    _stand_in = maker


def binaries() -> dict:
    """Return the machine code of this process, by variant."""
    return dict(_binaries)


def use_binaries(binaries: dict):
    """Use ready machine code, by the keys of variants; the caller trusts it."""
    with _lock:
        _ready.update(binaries)


def is_there(variant: Variant) -> bool:
    """Return whether a variant's machine code is in memory or on disk."""
    return variant in _binaries or variant.key() in _ready or _load(variant) is not None


def build_all(stream) -> int:
    """Compile pickled variants from a stream of a parent process, into the cache."""
    for variant in pickle.load(stream):
        try:
            compiled(variant)
        except DeviceError:
            continue          # (the parent process meets the error itself, if it needs the variant)
    return 0


def _load(variant):
    entry = cache.load(variant.key(), "cubin")
    if entry is None or (_version() and entry[1] != _version()):
        return None
    return Binary.unpack(entry[0])


def _make(variant):
    binary = build(variant)
    cache.store(variant.key(), binary.pack(), _version(), "cubin")
    return binary


@functools.lru_cache(None)
def _version() -> str:
    """Return Triton's version without importing it; "" if there is none."""
    if importlib.util.find_spec("triton") is None:
        return ""
    try:
        return "triton " + importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return "triton"


def build(variant: Variant) -> Binary:
    """Compile a variant with Triton."""
    if not _version():
        raise DeviceError(f"kernel {variant.source.name} must be compiled for sm_{variant.arch}, which needs Triton: "
                          f"{install('triton')}, or bring the compile cache of a machine that has it")
    try:
        compiled_kernel = _run_triton(variant)
    except IngotError:
        raise
    except Exception as e:
        raise DeviceError(f"Triton could not compile kernel {variant.source.name} for sm_{variant.arch}: {e}\n"
                          f"{variant.source.text}") from e
    return _binary(variant, compiled_kernel)


_PASSES_FAILED = "PassManager::run failed"


def _run_triton(variant) -> Any:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget

    constants = dict(variant.constants)
    if "INDEX" in variant.source.constants:
        constants["INDEX"] = tl.int64 if variant.wide else tl.int32
    if "LAST" in variant.source.constants:
        constants["LAST"] = int(_release(triton.__version__) >= LANES_GO_LAST)
    units = dict.fromkeys(sorted(variant.aligned), ALIGNED) | dict(variant.even)
    attributes = {(i,): [["tt.divisibility", unit]] for i, unit in units.items()}
    options = {"num_warps": variant.warps, "num_stages": variant.stages, "enable_fp_fusion": False,
               "enable_reflect_ftz": variant.source.flush}

    def compiled(attributes):
        source = _read_in_turn()(fn=_function(variant.source), signature=variant.signature(), constexprs=constants,
                                 attrs=attributes)
        for _ in range(_TRIES - 1):
            try:
                return triton.compile(source, target=GPUTarget("cuda", variant.arch, 32), options=options)
            except SystemError:         # another thread parsed something at the same time
                continue
        return triton.compile(source, target=GPUTarget("cuda", variant.arch, 32), options=options)

    try:
        return compiled(attributes)
    except RuntimeError as error:
        # Triton 3.6 fails on some kernels that load vectors of several widths: without alignment it loads single elements.
        if not attributes or _PASSES_FAILED not in str(error):
            raise
        return compiled({})


def parts_of_drivers() -> SimpleNamespace:
    """Return the parts of Triton that a driver replaces or needs (`triton_driver.py`)."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase
    from triton.runtime import driver
    from triton.testing import do_bench

    return SimpleNamespace(Driver=DriverBase, Target=GPUTarget, in_use=driver, measure=do_bench)


@functools.lru_cache(None)
def _read_in_turn():
    """Return Triton's source class, parsing in one thread at a time (`PARSING`)."""
    from triton.compiler import ASTSource

    class Source(ASTSource):
        def hash(self):
            with PARSING:
                return super().hash()

        def make_ir(self, *args, **options):
            with PARSING:
                return super().make_ir(*args, **options)

    return Source


def _release(version: str) -> tuple:
    return tuple([int(n) for n in re.findall(r"\d+", version)[:2]])


@functools.lru_cache(None)
def _function(source: Source):
    """Return the kernel's function, with its text registered for Python's line lookup."""
    file = f"<ingot {source.name} {hashlib.sha256(source.text.encode()).hexdigest()[:12]}>"
    linecache.cache[file] = (len(source.text), None, source.text.splitlines(True), file)
    space: dict = {"__name__": f"{__name__.partition('.')[0]}.kernels.{source.name}"}       # part of this package for who looks
    exec(compile(source.text, file, "exec"), space)
    return space[source.name]


def _binary(variant, compiled_kernel) -> Binary:
    meta = compiled_kernel.metadata
    kinds = [t for n, t in variant.signature().items() if t != "constexpr"]
    layout, offsets = parameter_layout(compiled_kernel.asm["ptx"], kinds)
    code = compiled_kernel.asm["cubin"]
    registers, spills = resources(code)
    scratch = getattr(meta, "global_scratch_size", 0) or 0
    return Binary(code, meta.name, meta.shared, 32 * meta.num_warps, meta.num_ctas, scratch, layout, offsets, registers,
                  spills, _version())


def parameter_layout(ptx: str, kinds) -> tuple[str, tuple]:
    """Return (struct format, offsets) of a kernel's parameters in its PTX; raise if they differ from the given types."""
    declared = re.search(r"\.visible \.entry \w+\((.*?)\)", ptx, re.S)
    found = re.findall(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)(?:\s+\.ptr[^,\n]*?)?\s+\w+_param_\d+(?:\[(\d+)\])?",
                       declared.group(1) if declared else "")
    given = [*kinds, "*i8", "*i8"]
    if len(found) != len(given):
        raise DeviceError(f"this version of Triton gives kernels {len(found)} parameters where {len(given)} were expected")
    layout, offsets, at = "<", [], 0
    for (align, kind, count), ours in zip(found, given):
        size = _PTX_SIZES[kind] * int(count or 1)
        code = "Q" if ours[0] == "*" else PARAMETER_CODES[ours]
        if struct.calcsize("<" + code) != size:
            raise DeviceError(f"a parameter of type {ours} takes {size} bytes in this version of Triton")
        gap = -at % (int(align) if align else _PTX_SIZES[kind])
        layout += f"{gap}x{code}" if gap else code
        offsets.append(at + gap)
        at += gap + size
    return layout, tuple(offsets)


def resources(code: bytes) -> tuple[int, int]:
    """Return (registers, spilled bytes) per thread, read from the sections of a cubin."""
    found = {_REGISTERS: 0, _FRAME_SIZE: 0}
    for name, info, content in _sections(code):
        if name.startswith(".text.") and info >> 24:
            found[_REGISTERS] = max(found[_REGISTERS], info >> 24)
        if name.startswith(".nv.info"):
            for attribute, value in _attributes(content):
                if attribute in found:
                    found[attribute] = max(found[attribute], value)
    return found[_REGISTERS], found[_FRAME_SIZE]


def _sections(code):
    """Yield (name, info, content) of each section of a 64-bit ELF file."""
    if code[:4] != b"\x7fELF" or len(code) < 64:
        return
    start, = struct.unpack_from("<Q", code, 40)
    size, count, names_at = struct.unpack_from("<HHH", code, 58)
    heads = [struct.unpack_from("<IIQQQQII", code, start + i * size) for i in range(count)]
    names = heads[names_at]
    for head in heads:
        low = names[4] + head[0]
        name = code[low:code.index(b"\0", low)].decode(errors="replace")
        yield name, head[7], b"" if head[1] == _NO_BITS else code[head[4]:head[4] + head[5]]


# .nv.info is a list of attributes; those of form 4 carry (symbol, value) for a function. NOBITS sections have no content.
_FRAME_SIZE, _REGISTERS, _FORM_WORDS, _NO_BITS = 0x11, 0x2F, 4, 8


def _attributes(content):
    """Yield (attribute, value) of each pair in a section of attributes."""
    at = 0
    while at + 4 <= len(content):
        form, attribute, size = struct.unpack_from("<BBH", content, at)
        at += 4
        if form == _FORM_WORDS:
            if size >= 8:
                yield attribute, struct.unpack_from("<I", content, at + 4)[0]
            at += size
