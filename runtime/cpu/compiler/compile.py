"""LLVM IR text to callable addresses: from memory, then the disk cache, then LLVM.

`compile_module` is the way in. A module found in the disk cache is mapped by `elf.load` and never imports llvmlite; LLVM is
imported here only, and only to compile what no cache has. Threads that need the same module compile it once.

    addresses = compile_module(module.text(), ["gemm"])        # {"gemm": 140213...}
    stats()                                                    # {"compiles": 1, "disk_hits": 0, "memory_hits": 0, ...}
"""

import contextlib
import ctypes
import functools
import hashlib
import importlib
import importlib.util
import itertools
import mmap
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ....ir import config
from ....ir.errors import DeviceError, FileError, GraphError, is_lack_of_memory, out_of_memory
from ....ir.locks import new_rlock
from ....ir.requirements import install
from ....ir.target import Target, host, supports, usable_cpus
from . import cache, elf, module_parts
from .ir_cache import Text, digest_of, text_by

# Part of every key: raised when the meaning of a cached object changes other than through its IR text.
_OBJECT_FORMAT = 1
# Address space that a compilation takes, measured with LLVM 22 and glibc 2.36.
_BYTES_OF_WORKER = 72 << 20         # of a second thread: 74 MB, for its stack and heap; of the first compilation: 23 MB
_BYTES_PER_CHARACTER = 80           # of a module's text: 78 at most
_DEFINED = re.compile(r"^define (?!internal)[^@]*@([\w.]+)\(|^@([\w.]+) = (?!internal|external)", re.M)


class _State:
    lock = new_rlock()                 # guards the tables
    llvm_lock = new_rlock()            # LLVM's target machines serve one thread at a time
    held_at_fork: Any = None           # the lock of llvmlite, while a process is forked
    modules: dict = {}                 # key -> addresses of all global symbols
    objects: dict = {}                 # key -> the object that was loaded
    texts: dict = {}                   # key -> its text, unwritten if it can be written again
    origins: dict = {}                 # address -> (key, symbol)
    pending: dict = {}                 # key -> lock held by the thread that makes it
    providers: dict = {}               # outside name -> function that gives its address
    machines: dict = {}                # (target, level, worker) -> LLVM target machine
    ready: dict = {}                   # short key -> object that a loaded model brought along
    collected: dict | None = None           # short key -> object of each module loaded since `collect`
    plan_only = False                  # whether modules are compiled and not loaded
    checked = False                    # whether LLVM verifies modules, as it does where INGOT_DEBUG is set
    stand_ins = itertools.count(1 << 40, 16)
    jit_keep: list = []                # LLVM's own loader and its trackers, where elf.load does not apply
    counts = {"compiles": 0, "disk_hits": 0, "memory_hits": 0, "compile_seconds": 0.0}


def compile_module(ir_text: str | Text, symbols, target: Target | None = None, passes: str | None = None) -> dict[str, int]:
    """Return {symbol: address} of the named functions of a module, compiled for `target` (default: this machine). `passes=None`
    runs code generation alone, which is right for IR that is vectorised already; `passes="O3"` runs LLVM's optimiser first, for
    scalar IR."""
    target = target or host()
    key = module_key(ir_text, target, passes)
    found = _State.modules.get(key)
    if found is None:
        found = _make_once(key, ir_text, target, passes)
    else:
        _State.counts["memory_hits"] += 1
    missing = [name for name in symbols if name not in found]
    if missing:
        raise GraphError(f"compiled module defines no {', '.join(missing)}; it has {', '.join(sorted(found))}")
    return {name: found[name] for name in symbols}


@functools.lru_cache(1024)
def task_of(kernel, symbol: str = "", *arguments) -> int:
    """Return the address of a compiled function of a kernel (default: its `symbol`), whose text is `kernel.text(*arguments)`.
    It is cached by the record, since sizes that come for the first time ask for it."""
    symbol = symbol or kernel.symbol
    return compile_module(text_by(type(kernel).text, kernel, *arguments), [symbol])[symbol]


def emit_object(ir_text: str | Text, target: Target | None = None, passes: str | None = None) -> bytes:
    """Return the relocatable object of a module for any target, from the cache or LLVM, without loading it."""
    target = target or host()
    return _object(module_key(ir_text, target, passes), ir_text, target, passes)


def module_key(ir_text: str | Text, target: Target, passes: str | None = None) -> str:
    """Return the cache key of a module's object: its text, the CPU features that it needs, the passes."""
    words = f"{_OBJECT_FORMAT}|{target.llvm_triple}|{target.llvm_cpu}|{target.llvm_features}|{passes}|"
    return hashlib.sha256((words + digest_of(ir_text)).encode()).hexdigest()


def provide(name: str, address):
    """Let modules call the outside symbol `name`; `address` is a function that returns its address when first needed."""
    _State.providers[name] = address


def short_key(ir_text: str | Text, target: Target, passes: str | None = None) -> str:
    """Return the key of a module's object inside a model file: its text and the required target, without the machine's other
    features."""
    words = f"{_OBJECT_FORMAT}|{target.llvm_triple}|{target.llvm_cpu}|{passes}|"
    return hashlib.sha256((words + str(ir_text)).encode()).hexdigest()[:32]


def use_objects(objects: dict):
    """Register trusted, compiled objects by short key: modules among them are not compiled."""
    with _State.lock:
        _State.ready = {**_State.ready, **objects}


def load_object(name: str, data) -> dict[str, int]:
    """Return {symbol: address} of a trusted object, without its text; it is loaded once, under a name made of its content."""
    key = f"object {name}"
    found = _State.modules.get(key)
    if found is None:
        with _State.lock:
            mine = _State.pending.setdefault(key, new_rlock())
        with mine:
            found = _State.modules.get(key)
            if found is None:
                found = _State.modules[key] = elf.load(bytes(data), _resolve)
        with _State.lock:
            _State.pending.pop(key, None)
    return found


def plan_only():
    """Compile modules from now on without loading them: addresses only tell functions apart. For plans of another machine."""
    _State.plan_only = True


def _stand_ins(data, target):
    """Return a meaningless, unique address for each global symbol of an object."""
    symbols = elf.Object(data, elf.MACHINES[target.arch]).symbols
    return {s.name: next(_State.stand_ins) for s in symbols if s.binding == 1 and s.section}


def collect() -> dict:
    """Start to log the object of every module that this process loads: {short key: object}."""
    with _State.lock:
        _State.collected = {} if _State.collected is None else _State.collected
        return _State.collected


def stats() -> dict:
    """Return counters since the process started: compiles (by LLVM), disk_hits, memory_hits, compile_seconds, modules."""
    return {**_State.counts, "modules": len(_State.modules)}


def _make_once(key, ir_text, target, passes):
    with _State.lock:
        mine = _State.pending.setdefault(key, new_rlock())
    with mine:
        found = _State.modules.get(key)
        if found is None:
            if not supports(target):
                raise DeviceError(f"code for {target} does not run on this machine ({host()})")
            found = _load(key, ir_text, target, passes)
            _State.origins.update({address: (key, name) for name, address in found.items()})
            _State.modules[key] = found
        else:
            _State.counts["memory_hits"] += 1
    with _State.lock:
        _State.pending.pop(key, None)
    return found


def origin(address: int) -> tuple[str, str]:
    """Return (key of the module, symbol) of a compiled function."""
    found = _State.origins.get(address)
    if found is None:
        raise GraphError(f"no compiled function lies at {address:#x}")
    return found


def text_at(address: int) -> str:
    """Return the text of the module of a compiled function."""
    return str(_State.texts[origin(address)[0]])


def object_of(key: str) -> bytes:
    """Return the relocatable object of a module that this process has loaded."""
    return _State.objects[key]


def _load(key, ir_text, target, passes):
    """Return addresses from an object; one that turns out damaged is compiled again."""
    data = _State.objects[key] = _object(key, ir_text, target, passes)
    _State.texts[key] = ir_text.unwritten() if isinstance(ir_text, Text) else ir_text
    if _State.collected is not None:
        _State.collected[short_key(ir_text, target, passes)] = data
    if _State.plan_only:
        return _stand_ins(data, target)
    if not _maps_elf(target):
        return _load_with_llvm(key, str(ir_text), data)
    try:
        return elf.load(data, _resolve)
    except FileError:
        data = _State.objects[key] = _compile(key, ir_text, target, passes)
    try:
        return elf.load(data, _resolve)
    except FileError:
        return _load_with_llvm(key, str(ir_text), data)


def maps_objects() -> bool:
    """Whether this machine's objects are loaded without LLVM."""
    return _maps_elf(host())


def _maps_elf(target):
    return sys.platform != "win32" if target.arch == "x86_64" else target.arch in elf.MACHINES and sys.platform == "linux"


def _object(key, ir_text, target, passes):
    if _State.ready:
        data = _State.ready.get(short_key(ir_text, target, passes))
        if data is not None:
            _State.counts["disk_hits"] += 1
            return bytes(data)
    entry = cache.load(key)
    if entry is not None and (entry[1] == _llvm_version() or not _llvm_version()):
        _State.counts["disk_hits"] += 1
        return entry[0]
    return _compile(key, ir_text, target, passes)


def _compile(key, ir_text, target, passes):
    start = time.perf_counter()
    with _State.llvm_lock:
        data = _run_llvm(str(ir_text), target, passes)
    _State.counts["compiles"] += 1
    _State.counts["compile_seconds"] += time.perf_counter() - start
    cache.store(key, data, _llvm_version())
    return data


def _resolve(name):
    """Return the address of an outside symbol of a module."""
    provider = _State.providers.get(name)
    if provider is not None:
        return provider()
    for library in (ctypes.pythonapi, ctypes.CDLL(None)):
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
    raise DeviceError(f"compiled code calls {name!r}, which this system's libraries do not have")


# --- LLVM, imported here only ---
def _binding() -> Any:
    try:
        return importlib.import_module("llvmlite.binding")
    except (ImportError, OSError, MemoryError) as error:
        if is_lack_of_memory(error):
            raise out_of_memory("no memory is left to load LLVM, which compiles a kernel") from error
        if isinstance(error, ImportError):
            raise DeviceError(f"compiling a kernel needs llvmlite, which is not installed: {install('llvmlite')}") from error
        raise DeviceError(f"compiling a kernel needs llvmlite, which cannot be loaded: {error.__context__ or error}") from error


@functools.lru_cache(None)
def _llvm_version():
    """Return the version of the installed llvmlite without importing it; empty if there is none."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or not spec.origin:
        return ""
    names = sorted(path.name for path in Path(spec.origin).parent.parent.glob("llvmlite-*.dist-info"))
    return names[-1].removesuffix(".dist-info") if names else "llvmlite"


def _machine(target, level, worker=0):
    binding = _binding()
    found = _State.machines.get((target, level, worker))
    if found is None:
        if not _State.machines:
            binding.initialize_all_targets()
            binding.initialize_all_asmprinters()
        found = binding.Target.from_triple(target.llvm_triple).create_target_machine(
            cpu=target.llvm_cpu, features=target.llvm_features, opt=level, reloc="pic", codemodel="small")
        _State.machines[target, level, worker] = found
    return found


def _parsed(ir_text, target, machine, context=None):
    """Return LLVM's module of a text. In tests and debugging it is also verified: LLVM finds uses before definitions and the
    like."""
    try:
        module = _binding().parse_assembly(ir_text, context)
        if _State.checked or config.current().debug >= 1:
            module.verify()
    except RuntimeError as error:
        raise GraphError(f"generated LLVM IR for {target} is not valid: {error}") from error
    module.triple, module.data_layout = target.llvm_triple, str(machine.target_data)
    return module


def _require_memory(ir_text, workers: int):
    """Raise if the system has no memory for a compilation: LLVM ends the process where an allocation fails."""
    size = workers * _BYTES_OF_WORKER + len(ir_text) * _BYTES_PER_CHARACTER
    try:
        mmap.mmap(-1, size).close()
    except (OSError, ValueError, MemoryError) as error:
        raise out_of_memory(f"no memory to compile a kernel, which may take {size >> 20} MiB") from error


def _run_llvm(ir_text, target, passes):
    threads = config.current().num_threads or usable_cpus()
    if passes is None and threads > 1 and target.llvm_triple.endswith("linux-gnu"):
        parts = module_parts.split(ir_text, threads)
        if len(parts) > 1:
            _require_memory(ir_text, len(parts))
            return module_parts.join(_at_once(parts, target))
    _require_memory(ir_text, 1)
    binding, machine = _binding(), _machine(target, 3 if passes else 2)
    module = _parsed(ir_text, target, machine)
    if passes:
        options = binding.create_pipeline_tuning_options(speed_level=int(passes.removeprefix("O")))
        options.loop_vectorization = options.slp_vectorization = True
        builder = binding.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def _at_once(ir_texts, target) -> list:
    """Return the objects of modules, each made by a thread of its own."""
    binding = _binding()
    machines, objects, problems = [_machine(target, 2, worker) for worker in range(len(ir_texts))], {}, []

    def work(i):
        try:
            objects[i] = _emitted(machines[i], _parsed(ir_texts[i], target, machines[i], binding.create_context()))
        except Exception as error:
            problems.append(error)

    threads, mine = [], [0]
    for i in range(1, len(ir_texts)):
        thread = threading.Thread(target=work, args=(i,))
        try:
            thread.start()
            threads.append(thread)
        except RuntimeError:            # the system starts no more threads
            mine.append(i)
    for i in mine:
        work(i)
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    return [objects[i] for i in range(len(ir_texts))]


def _emitted(machine, module) -> bytes:
    """Return the object of a module without llvmlite's global lock. LLVM only requires that threads have contexts and target
    machines of their own."""
    ffi: Any = importlib.import_module("llvmlite.binding.ffi")
    emit = getattr(ffi.lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", ffi.lib.LLVMPY_TargetMachineEmitToMemory)
    with ffi.OutputString() as problem:
        memory = emit(machine, module, 1, problem)
        if not memory:
            raise GraphError(f"LLVM made no object: {problem}")
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(memory), ffi.lib.LLVMPY_GetBufferSize(memory))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(memory)


def assembly(ir_text: str | Text, target: Target | None = None, passes: str | None = None) -> str:
    """Return the assembly text that LLVM makes of a module, for people."""
    target = target or host()
    with _State.llvm_lock:
        module = _binding().parse_assembly(str(ir_text))
        machine = _machine(target, 3 if passes else 2)
        module.triple, module.data_layout = target.llvm_triple, str(machine.target_data)
        return machine.emit_assembly(module)


def _load_with_llvm(key, ir_text, data):
    """Load by LLVM's own loader, on systems whose objects `elf.load` does not read."""
    binding = _binding()
    names = [function or variable for function, variable in _DEFINED.findall(ir_text)]
    outside = {name: provider() for name, provider in list(_State.providers.items())
               if f"@{name}" in ir_text and name not in names}
    with _State.llvm_lock:
        machine = _machine(host(), 2)
        if not _State.jit_keep:
            _State.jit_keep.append(binding.create_lljit_compiler(machine, use_jit_link=True))
        builder = binding.JITLibraryBuilder().add_object_img(data).add_current_process()
        for name, address in outside.items():
            builder.import_symbol(name, address)
        for name in names:
            builder.export_symbol(name)
        tracker = builder.link(_State.jit_keep[0], key)
        _State.jit_keep.append(tracker)
        return {name: tracker[name] for name in names}


def _before_fork():
    """Wait until no thread is inside of LLVM: a forked process could not use what a thread left halfway."""
    _State.llvm_lock.acquire()
    _State.held_at_fork = _llvm_library_lock()
    _State.held_at_fork.__enter__()


def _after_fork():
    _State.held_at_fork.__exit__(None, None, None)
    _State.llvm_lock.release()


def _after_fork_in_child():
    """Open the library's lock; ingot's own are open (`ir/locks.py`)."""
    _State.held_at_fork.__exit__(None, None, None)
    _State.pending = {}


def _llvm_library_lock():
    """Return the lock that llvmlite holds during each call, if it is loaded."""
    ffi = sys.modules.get("llvmlite.binding.ffi")
    return contextlib.nullcontext() if ffi is None else ffi.lib._lock


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
