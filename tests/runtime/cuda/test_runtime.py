"""The CUDA runtime on a mock driver: what is missing without one, streams, events, copies, launches to the byte, graphs."""

import gc
import struct
import threading

import pytest

import ingot
import mock_cuda
from ingot.ir import config
from ingot.ir import dtype as dt
from ingot.ir.errors import DeviceError
from ingot.passes.codegen.triton.ir.source import NUMBER, POINTER, SIZE, Parameter, Source
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.compiler import launch
from ingot.runtime.cuda.driver import context, driver, streams

pytestmark = pytest.mark.source_alone

without_driver = pytest.mark.skipif(ingot.cuda.is_available(), reason="this machine has a CUDA device")


@pytest.fixture
def cuda():
    with mock_cuda.installed(devices=2) as mock:
        yield mock


# Without a driver.


@without_driver
def test_errors_without_a_driver_name_the_missing_part():
    assert not ingot.cuda.is_available() and ingot.cuda.device_count() == 0
    why = ingot.cuda.why_not_available()
    assert "driver" in why
    with pytest.raises(RuntimeError, match="not available here"):
        ingot.ones(2).cuda()
    with pytest.raises(RuntimeError, match="no cuda device"):
        ingot.cuda.init()
    with pytest.raises(RuntimeError):
        ingot.cuda.Stream()
    assert ingot.cuda.memory_allocated() == 0 and not ingot.ones(2).pin_memory().is_pinned()


def test_a_driver_without_devices_says_so():
    mock = mock_cuda.MockDriver(devices=0)

    class Loader:
        @staticmethod
        def CDLL(name):
            return mock

    before, driver.ctypes = driver.ctypes, type("ctypes", (), {**vars(driver.ctypes), "CDLL": Loader.CDLL})
    try:
        assert driver._load()[1].startswith("the driver finds no CUDA device")
    finally:
        driver.ctypes = before


def test_failures_of_the_driver_are_errors_with_its_words(cuda):
    context.context(0)
    cuda.failing["cuStreamSynchronize"] = 700
    with pytest.raises(DeviceError, match=r"cuStreamSynchronize failed: CUDA_ERROR_MOCK: mock error \(CUDA error 700\)"):
        ingot.cuda.current_stream().synchronize()


# Devices.


def test_devices_and_their_properties(cuda):
    assert ingot.cuda.device_count() == 2 and ingot.cuda.get_device_name(1) == "Mock H200"
    assert ingot.cuda.get_device_capability() == (9, 0) and ingot.cuda.get_arch_list() == ["sm_90"]
    found = ingot.cuda.get_device_properties(0)
    assert found.total_memory == 1 << 30 and found.multi_processor_count == 4 and found.shared_memory_per_block_optin == 232448
    with ingot.cuda.device(1):
        assert ingot.cuda.current_device() == 1 and ingot.ones(1, device="cuda").device == ingot.device("cuda:1")
    assert ingot.cuda.current_device() == 0
    with pytest.raises(RuntimeError, match="this machine has 2"):
        ingot.ones(1).to("cuda:2")
    assert ingot.cuda.can_device_access_peer(0, 1) and ingot.cuda.driver_version() == 13000


def test_threads_have_their_own_device(cuda):
    ingot.cuda.set_device(1)
    seen = []

    def work():
        seen.append((ingot.cuda.current_device(), ingot.ones(1, device="cuda").sum().item()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(0, 1.0)] and ingot.cuda.current_device() == 1


def test_between_devices(cuda):
    x = ingot.arange(6.0, device="cuda:0").reshape(2, 3)
    y = x.T.to("cuda:1")
    assert y.device == ingot.device("cuda:1") and y.tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(RuntimeError, match=r"add got tensors on cuda:0 and cuda:1"):
        x + x.to("cuda:1")
    assert y.to("cuda:0").device.index == 0 and y.to("cuda:1") is y


# Streams and events.


def test_work_runs_when_it_is_waited_for(cuda):
    x = ingot.ones(4, device="cuda")
    y = x + 1
    assert not ingot.cuda.current_stream().query()
    ingot.cuda.synchronize()
    assert ingot.cuda.current_stream().query() and y.tolist() == [2, 2, 2, 2]


def test_streams_are_concurrent_and_wait_for_events(cuda):
    one, two = ingot.cuda.Stream(), ingot.cuda.Stream(priority=-1)
    assert one != two and ingot.cuda.default_stream() == ingot.cuda.current_stream() != one
    with ingot.cuda.stream(one):
        assert ingot.cuda.current_stream() == one
        x = ingot.full((8,), 3.0, device="cuda")
        mark = one.record_event()
    two.wait_event(mark)
    with ingot.cuda.stream(two):
        y = x * 2
    assert not mark.query()
    two.synchronize()
    assert mark.query() and y.tolist() == [6] * 8
    with ingot.cuda.stream(None):
        assert ingot.cuda.current_stream() == ingot.cuda.default_stream()


def test_events_measure_time(cuda):
    start, end = ingot.cuda.Event(enable_timing=True), ingot.cuda.Event(enable_timing=True)
    assert start.query()
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    end.record()
    assert start.elapsed_time(end) == 1.0
    with pytest.raises(ValueError, match="enable_timing"):
        start.elapsed_time(ingot.cuda.Event())


def test_events_are_freed_and_streams_serve_again(cuda):
    for _ in range(5):
        stream, event = ingot.cuda.Stream(), ingot.cuda.Event()
        event.record(stream)
        assert len(cuda.streams) == 1 and len(cuda.events) == 1
        del stream, event
    ingot.cuda.Event().record()
    assert len(cuda.streams) == 1 and len(cuda.events) == 1


def test_memory_may_outlive_the_streams_that_used_it(cuda):
    x = ingot.arange(300.0, device="cuda")
    with ingot.cuda.stream(ingot.cuda.Stream()) as stream:
        stream.wait_stream(ingot.cuda.default_stream())
        y = x * 2
    del stream
    gc.collect()
    del x
    assert ingot.cuda.memory_stats()["allocated_bytes.all.current"] == 1536
    ingot.cuda.synchronize()
    assert y.tolist() == [2.0 * i for i in range(300)]


# Launches.


def kernel(kinds):
    """A kernel that only exists as machine code: its parameters are what is looked at."""
    made = {"*": POINTER, "n": NUMBER, "s": SIZE}
    parameters = tuple(Parameter(f"p{i}", made[k[0]], dt.by_name(k[1:]) if k[1:] else dt.int64) for i, k in enumerate(kinds))
    return Source("probe", "def probe(*args):\n    pass\n", parameters, ())


def test_a_launch_to_the_byte(cuda):
    variant = compiler.Variant(kernel(["*float32", "nint64", "s", "nfloat32", "*bfloat16", "s", "nfloat64"]), (), 8, 90)
    binary = mock_cuda.build(variant)
    assert binary.layout == "<Qqif" + "Qi4xd" + "QQ" and binary.offsets == (0, 8, 16, 20, 24, 32, 40, 48, 56)
    f = launch.Function(0, binary)
    f((3, 2, 1), 0, 0x1000, -5, 7, 1.5, 0x2000, -1, 2.5)
    raw = bytes(f._request.block)
    assert raw == struct.pack("<QqifQi4xdQQ", 0x1000, -5, 7, 1.5, 0x2000, -1, 2.5, 0, 0)
    recorded = cuda.launches[-1]
    assert (recorded["grid"], recorded["block"], recorded["shared"], recorded["stream"]) == ((3, 2, 1), (256, 1, 1), 0, 0)
    assert recorded["values"] == [0x1000, -5, 7, 1.5, 0x2000, -1, 2.5]


def test_clusters_and_scratch_memory(cuda):
    variant = compiler.Variant(kernel(["s"]), (), 4, 90)
    binary = mock_cuda.build(variant)
    several = compiler.Binary(**{**vars(binary), "clusters": 2, "scratch": 256, "shared": 100_000})
    f = launch.Function(0, several)
    assert cuda.calls["cuFuncSetAttribute"] == 1
    f((5, 1, 1), 0, 9)
    assert cuda.launches[-1]["grid"] == (10, 1, 1) and f._request.config.count == 2
    at = struct.unpack_from("<i4xQQ", bytes(f._request.block))[1]
    assert any(start <= at and at + 5 * 2 * 256 <= start + b.nbytes for start, (_, b) in cuda.blocks.items())


def test_layouts_come_from_the_ptx():
    ptx = """.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.param .u32 k_param_1,
	.param .u64 .ptr .global .align 1 k_param_2,
	.param .u64 .ptr .global .align 1 k_param_3
)
"""
    assert compiler.parameter_layout(ptx, ["*fp32", "i32"]) == ("<Qi4xQQ", (0, 8, 16, 24))
    with pytest.raises(DeviceError, match="4 parameters where 5"):
        compiler.parameter_layout(ptx, ["*fp32", "i32", "i32"])
    with pytest.raises(DeviceError, match="takes 4 bytes"):
        compiler.parameter_layout(ptx, ["*fp32", "i64"])


def test_binaries_are_cached_unchanged():
    binary = mock_cuda.build(compiler.Variant(kernel(["*float32", "s"]), (), 4, 90))
    assert compiler.Binary.unpack(binary.pack()) == binary


def test_the_disk_cache_needs_no_compiler(cuda, tmp_path, monkeypatch):
    monkeypatch.setenv("INGOT_CACHE_DIR", str(tmp_path))
    with config.override(cache_dir=str(tmp_path)):
        variant = compiler.Variant(kernel(["*float32"]), (), 4, 90)
        binary = mock_cuda.build(variant)
        mock_cuda.REAL_CACHE.store(variant.key(), binary.pack(), compiler._version(), "cubin")
        monkeypatch.setattr(compiler, "cache", mock_cuda.REAL_CACHE)
        monkeypatch.setattr(compiler, "_load", mock_cuda.REAL_LOAD)
        monkeypatch.setattr(compiler, "build", lambda variant: pytest.fail("compiled again"))
        assert compiler.compiled(variant) == binary


def test_variants_differ_by_alignment_and_constants():
    base = compiler.Variant(kernel(["*float32", "s"]), (), 4, 90)
    source = base.source
    others = [compiler.Variant(source, (), 8, 90), compiler.Variant(source, (), 4, 80),
              compiler.Variant(source, (), 4, 90, wide=True), compiler.Variant(source, (), 4, 90, False, frozenset({0})),
              compiler.Variant(source, (("COLS", 8),), 4, 90)]
    assert len({v.key() for v in (base, *others)}) == 6
    assert others[2].signature()["p1"] == "i64" and base.signature() == {"p0": "*fp32", "p1": "i32"}


# Graphs.


def test_a_graph_replays_on_new_values(cuda):
    x = ingot.ones(4, device="cuda")
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        y = (x + 1) * 3
        assert ingot.cuda.is_current_stream_capturing()
    assert not ingot.cuda.is_current_stream_capturing()
    for value in (1.0, 5.0):
        x.fill_(value)
        n = len(cuda.launches)
        g.replay()
        assert len(cuda.launches) == n and y.tolist() == [3 * (value + 1)] * 4


def test_memory_of_a_graph_is_its_own(cuda):
    x = ingot.ones(1000, device="cuda")
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        y = (x + 1) + x
    others = [ingot.full((1000,), 9.0, device="cuda") for _ in range(4)]
    g.replay()
    assert y.sum().item() == 3000 and all(o.sum().item() == 9000 for o in others)
    g.reset()
    with pytest.raises(RuntimeError, match="holds nothing"):
        g.replay()


def test_the_default_stream_cannot_be_captured(cuda):
    with pytest.raises(RuntimeError, match="default stream cannot be captured"):
        ingot.cuda.CUDAGraph().capture_begin()


def test_reading_in_a_capture_is_an_error(cuda):
    x = ingot.ones(4, device="cuda")
    with pytest.raises(RuntimeError, match="cannot be read while"), ingot.cuda.graph(ingot.cuda.CUDAGraph()):
        x.sum().item()
    assert (x + 1).tolist() == [2, 2, 2, 2]


def test_streams_compare_by_handle(cuda):
    assert streams.default(0) == streams.Stream(0, handle=0) and len({streams.default(0), streams.default(1)}) == 2
