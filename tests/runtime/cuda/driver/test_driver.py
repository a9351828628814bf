"""Calls of the CUDA driver, compared with the driver's header, and reactions to errors of the driver."""

import ctypes
import gc
import re
import subprocess
import sys
import threading
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

import pytest

import ingot
import mock_cuda
from cuda_header import header, number_in_header
from ingot.ir import dtype as dt
from ingot.ir.errors import DeviceError
from ingot.passes.codegen.triton.ir.source import POINTER, Parameter, Source
from ingot.runtime.cuda import backend
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.compiler import launch
from ingot.runtime.cuda.driver import context, driver, streams
from ingot.runtime.cuda.memory import pinned, pools, transfer
from ingot.runtime.cuda.offline import ready
from ingot.runtime.cuda.replay import graphs

pytestmark = pytest.mark.source_alone


@pytest.fixture
def cuda():
    with mock_cuda.installed(devices=2) as mock:
        yield mock


# The header.


def kinds_of(parameters: str) -> list:
    """Return the ctypes type of each parameter of a prototype."""
    plain = {"size_t": c_size_t, "CUdeviceptr": c_uint64, "cuuint64_t": c_uint64, "unsigned long long": c_uint64, "int": c_int,
             "unsigned int": c_uint, "unsigned char": c_int, "CUdevice": c_int, "CUresult": c_int}
    opaque = re.findall(r"typedef struct \w+ \*(CU\w+);", header())
    numbers = re.findall(r"}\s*(CU\w+);", header())
    found = []
    for one in parameters.split(","):
        kind = re.sub(r"\s*\b\w+$", "", re.sub(r"\bconst\b", "", one).strip()).strip()
        if kind in plain:
            found.append({plain[kind]})
        elif one.strip() != "void":
            pointed = "*" in one or kind in opaque
            assert pointed or kind in numbers, one
            found.append({c_void_p, c_char_p} if pointed else {c_int})
    return found


@pytest.mark.parametrize("name", [n for n in driver.FUNCTIONS if not n.startswith("cuProfiler")])
def test_functions_are_called_as_the_header_declares_them(name):
    """The header may declare what a driver exports by another name, which a macro makes that of the driver."""
    other = re.search(rf"#\s*define (cu\w+)\s+{name}$", header(), re.M)
    declared = re.search(rf"CUresult CUDAAPI ({name}|{other.group(1) if other else name})\(([^)]*)\);", header()).group(2)
    wanted, given = kinds_of(declared), driver.FUNCTIONS[name]
    assert len(wanted) == len(given) and all(g in w for w, g in zip(wanted, given)), declared


NUMBERS = {
    "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK": context._MAX_SHARED, "CU_DEVICE_ATTRIBUTE_WARP_SIZE": context._WARP,
    "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": context._PROCESSORS, "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE": context._L2,
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": context._MAJOR, "CU_DEVICE_ATTRIBUTE_PCI_BUS_ID": context._PCI_BUS,
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR": context._MINOR, "CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID": context._PCI_DEVICE,
    "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": context._SHARED_OPTIN,
    "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK": context._MAX_THREADS, "CU_DEVICE_ATTRIBUTE_INTEGRATED": context._INTEGRATED,
    "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR": context._THREADS_PER_SM,
    "CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR": context._REGISTERS_PER_SM,
    "CU_DEVICE_ATTRIBUTE_CLOCK_RATE": context._CLOCK, "CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE": context._MEMORY_CLOCK,
    "CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH": context._BUS_WIDTH,
    "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL": backend._DEVICE_ORDINAL,
    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": launch.MOST_SHARED_ATTRIBUTE,
    "CU_FUNC_ATTRIBUTE_NUM_REGS": launch._REGISTERS, "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION": launch._CLUSTER,
    "CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE": launch._CLUSTER_POLICY,
    "CU_CLUSTER_SCHEDULING_POLICY_SPREAD": launch._SPREAD,
    "CU_STREAM_NON_BLOCKING": streams._NON_BLOCKING, "CU_EVENT_BLOCKING_SYNC": streams._BLOCKING_SYNC,
    "CU_EVENT_DISABLE_TIMING": streams._NO_TIMING, "CU_STREAM_CAPTURE_STATUS_ACTIVE": streams._ACTIVE,
    "CU_MEMHOSTALLOC_PORTABLE": pinned._PORTABLE, "CU_STREAM_CAPTURE_MODE_RELAXED": pools._RELAXED,
    "CU_STREAM_CAPTURE_MODE_GLOBAL": graphs._MODES["global"],
    "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL": graphs._MODES["thread_local"],
    "CUDA_ERROR_OUT_OF_MEMORY": driver.OUT_OF_MEMORY, "CUDA_ERROR_NOT_READY": driver.NOT_READY,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_those_of_the_header(name):
    assert number_in_header(name) == NUMBERS[name]


def test_errors_after_which_nothing_goes_are_those_of_the_header():
    """The header says of each that the process must be started anew. Some have to do with what ingot never uses."""
    codes = header()[header().index("enum cudaError_enum"):header().index("} CUresult;")]
    declared = {int(n) for text, n in re.findall(r"/\*\*(.*?)\*/\s*\w+\s*=\s*(\d+)", codes, re.S) if "terminated" in text}
    servers, others = 810, 911
    assert driver._FATAL - {710} <= declared | {721} and declared - {servers, others} <= driver._FATAL


STRUCTURES = {"CUlaunchConfig_st": launch.Config, "CUlaunchAttribute_st": launch.Attribute}


@pytest.mark.parametrize("theirs", STRUCTURES)
def test_structures_have_the_layout_of_the_header(theirs):
    """Fields in the header's order, each as C aligns it; values of attributes take 64 bytes and begin on 8."""
    body = re.search(rf"struct {theirs} {{(.*?)}}", header(), re.S).group(1)
    fields = re.findall(r"^\s*([\w ]+?[\s*]+)(\w+)(?:\[[^\]]*\])?;", re.sub(r"/\*.*?\*/", "", body, flags=re.S), re.M)
    sizes = {"unsigned int": 4, "CUlaunchAttributeID": 4, "char": 4, "CUlaunchAttributeValue": 64}
    at, positions = 0, []
    for kind, _ in fields:
        size = sizes.get(kind.strip(), 8)
        at += -at % min(size, 8)
        positions.append(at)
        at += size
    ours, flat = STRUCTURES[theirs], []
    for name, kind, *_ in ours._fields_:
        start, count = getattr(ours, name).offset, getattr(kind, "_length_", 1)
        length = count if name in ("grid", "block") else 1
        flat += [start + i * ctypes.sizeof(kind) // count for i in range(length)]
    assert flat == positions and ctypes.sizeof(ours) == at + -at % 8


# Calls that a driver refuses.


def probe(**changed):
    """A kernel that only exists as machine code."""
    source = Source("probe", "def probe(*args):\n    pass\n", (Parameter("x", POINTER, dt.float32),), ())
    binary = mock_cuda.build(compiler.Variant(source, (), 4, 90))
    return compiler.Binary(**{**vars(binary), **changed})


def test_more_shared_memory_than_a_chip_has_is_an_error_that_says_so(cuda):
    launch.Function(0, probe(shared=232448))((1, 1, 1), 0, 0)
    with pytest.raises(DeviceError, match=r"probe asks for 232449 bytes .* block of cuda:0 may have 232448"):
        launch.Function(0, probe(shared=232449))


@pytest.mark.parametrize(("changed", "grid"), [({"threads": 2048}, (1, 1, 1)), ({}, (1, 65536, 1)), ({}, (0, 1, 1)),
                                               ({"clusters": 16}, (1, 1, 1))])
def test_launches_that_no_chip_takes(changed, grid, cuda):
    with pytest.raises(DeviceError, match="the launch of probe failed"):
        launch.Function(0, probe(**changed))(grid, 0, 0)


def test_large_shared_memory_needs_an_attribute(cuda, monkeypatch):
    monkeypatch.setattr(launch, "FREE_SHARED", 1 << 20)
    with pytest.raises(DeviceError, match="the launch of probe failed"):
        launch.Function(0, probe(shared=100_000))((1, 1, 1), 0, 0)


def test_grids_of_files_are_such_as_drivers_take():
    assert ready._is_grid([2 ** 31 - 1, 65535, 65535])
    assert not any(map(ready._is_grid, ([2 ** 31, 1, 1], [1, 65536, 1], [1, 1, 65536], [0, 1, 1], [1, 1])))


def test_loading_code_frees_cached_memory_if_there_is_none(cuda):
    x = ingot.ones(1 << 20, device="cuda")
    del x
    assert ingot.cuda.memory_reserved() > 0
    cuda.failing_once |= {"cuModuleLoadData": 2}
    launch.Function(0, probe())
    assert ingot.cuda.memory_reserved() == 0 and cuda.calls["cuModuleLoadData"] == 2
    g = ingot.cuda.CUDAGraph()
    y = ingot.ones(1 << 20, device="cuda")
    with ingot.cuda.graph(g):
        z = y + 1
        cuda.failing_once |= {"cuGraphInstantiateWithFlags": 2}
    g.replay()
    assert z.sum().item() == 2 << 20


def test_the_queue_thread_frees_no_cached_memory(cuda, monkeypatch):
    x = ingot.ones(1 << 20, device="cuda")
    del x
    held = ingot.cuda.memory_reserved()
    cuda.failing_once |= {"cuModuleLoadData": 2}
    monkeypatch.setattr(pools.thread, "runs", True)
    with pytest.raises(ingot.OutOfMemoryError):
        launch.Function(0, probe())
    monkeypatch.undo()
    assert held and ingot.cuda.memory_reserved() == held


def test_after_a_kernel_has_failed_errors_say_that_nothing_goes_any_more(cuda):
    context.context(0)
    for code, declared in ((700, True), (716, True), (719, True), (1, False), (999, False)):
        cuda.failing["cuStreamSynchronize"] = code
        with pytest.raises(DeviceError) as e:
            ingot.cuda.current_stream().synchronize()
        assert ("can use its devices no more" in str(e.value)) == declared


# Order that a driver does not promise.


class Other:
    """A tensor as another library's."""

    def __init__(self, x):
        self.__dlpack__, self.__dlpack_device__ = x.__dlpack__, x.__dlpack_device__


def test_ordinary_memory_is_not_the_drivers_to_read_later(cuda):
    """The mock driver refuses to go on while a copy of such memory is not waited for."""
    x = ingot.arange(1000.0)
    y = x.to("cuda", non_blocking=True)
    x.fill_(0)
    assert y.sum().item() == 999 * 500
    assert ingot.ones(3, 4).T.to("cuda", non_blocking=True).tolist() == [[1] * 3] * 4
    driver = context.context(0).driver
    driver.cuMemcpyHtoDAsync_v2(y.data_ptr(), x.data_ptr(), 4000, 0)
    with pytest.raises(mock_cuda.Violation, match="ordinary memory"):
        driver.cuMemsetD8Async(y.data_ptr(), 0, 4000, 0)
    ingot.cuda.synchronize()


def test_a_large_copy_of_ordinary_memory_waits(cuda, monkeypatch):
    monkeypatch.setattr(transfer, "_STAGED", 1000)
    before = ingot.cuda.host_memory_stats()["reserved_bytes.current"]
    assert ingot.arange(1000.0).to("cuda", non_blocking=True).sum().item() == 999 * 500
    assert ingot.cuda.host_memory_stats()["reserved_bytes.current"] == before


def test_no_copy_is_under_way_where_waiting_is_an_error(cuda):
    x = ingot.ones(4, device="cuda")
    ingot.cuda.set_sync_debug_mode("error")
    try:
        for wrong in (x.cpu, lambda: ingot.ones(4).cuda()):
            with pytest.raises(DeviceError, match="waits for the device"):
                wrong()
    finally:
        ingot.cuda.set_sync_debug_mode(0)
    assert (x + 1).tolist() == [2] * 4


def is_in_use(address) -> bool:
    blocks = [b for segment in pools.allocator(0).snapshot() for b in segment["blocks"]]
    return (address, "active_allocated") in [(b["address"], b["state"]) for b in blocks]


def test_foreign_memory_that_a_captured_stream_used_outlives_the_capture(cuda):
    owned = ingot.ones(100, device="cuda")
    stream = ingot.cuda.Stream()
    stream.wait_stream(ingot.cuda.current_stream())
    with ingot.cuda.stream(stream):
        foreign = ingot.from_dlpack(Other(owned))
        used = foreign + 1
    address = owned.data_ptr()
    del owned
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g, stream=stream):
        result = used * 2
        del foreign
        gc.collect()
        assert is_in_use(address) and len(pools._foreign) == 1
    pools.allocator(0).settle()
    assert not is_in_use(address) and not pools._foreign
    g.replay()
    assert result.sum().item() == 400


def test_a_thread_that_waits_for_the_device_waits_for_captures_of_others(cuda):
    done: list = []
    waiting = threading.Thread(target=lambda: done.append(ingot.cuda.synchronize()))
    g, x = ingot.cuda.CUDAGraph(), ingot.ones(4, device="cuda")
    with ingot.cuda.graph(g):
        waiting.start()
        waiting.join(0.05)
        y = x + 1
        assert not done
    waiting.join()
    g.replay()
    assert done and y.tolist() == [2] * 4 and not any(graphs._under_way.values())


def test_the_device_cannot_be_waited_for_while_any_thread_captures(cuda):
    with pytest.raises(DeviceError), ingot.cuda.graph(ingot.cuda.CUDAGraph(), capture_error_mode="relaxed"):
        ingot.cuda.synchronize()
    assert ingot.ones(3, device="cuda").sum().item() == 3


def test_machine_code_may_be_loaded_lazily(cuda):
    with ingot.cuda.graph(ingot.cuda.CUDAGraph()):
        launch.Function(0, probe())


@pytest.mark.slow
def test_objects_that_outlive_the_module_are_finalised_silently():
    """At the end of a process modules lose their names one after the other; what others still hold goes last."""
    script = """
import builtins, sys
sys.path[:0] = [sys.argv[1]]
import this_checkout
this_checkout.make_importable()
import ingot, mock_cuda
from types import SimpleNamespace
from ingot.runtime.cuda.compiler import compile as compiler; from ingot.runtime.cuda.driver import driver
driver.replace(mock_cuda.MockDriver())
compiler.build, compiler.cache, compiler._load = mock_cuda.build, mock_cuda._NoCache, lambda variant: None
x = ingot.ones(4, device="cuda")
stream, event, g = ingot.cuda.Stream(), ingot.cuda.Event(), ingot.cuda.CUDAGraph()
event.record(stream)
with ingot.cuda.graph(g):
    y = x + 1
g.replay()
foreign = ingot.from_dlpack(SimpleNamespace(__dlpack__=x.__dlpack__, __dlpack_device__=x.__dlpack_device__))
foreign + 1
ingot.cuda.synchronize()            # (a driver in Python loses its names, too)
builtins.kept = [x, y, stream, event, g, foreign, ingot.ones(4).pin_memory()]
"""
    done = subprocess.run([sys.executable, "-c", script, str(Path(mock_cuda.__file__).parent)], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
