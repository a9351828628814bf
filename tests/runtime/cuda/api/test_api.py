"""`ingot.cuda` under PyTorch's names: streams and events, memory, graphs captured by hand, old tensor types."""

import gc
import warnings

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import nn


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed(devices=2, memory=64 << 20) as mock:
        yield mock


# Devices.


def test_device_properties():
    p = ingot.cuda.get_device_properties(0)
    assert p.total_memory == 64 << 20 and p.max_threads_per_block and p.clock_rate
    assert ingot.cuda.is_tf32_supported() and ingot.cuda.is_bf16_supported()
    assert ingot.cuda.get_arch_list() == [f"sm_{p.major}{p.minor}"]
    x = ingot.ones(2, device="cuda:1")
    with ingot.cuda.device_of(x):
        assert ingot.cuda.current_device() == 1
    for there in (ingot.cuda.device(1), ingot.accelerator.device_index(1)):
        with there, ingot.cuda.device(0), there, there:
            assert ingot.cuda.current_device() == 1
        assert ingot.cuda.current_device() == 0
    for other in (ingot.ones(2), None, 3):
        with ingot.cuda.device_of(other):
            assert ingot.cuda.current_device() == 0
    assert ingot.accelerator.get_memory_info() == ingot.cuda.mem_get_info()
    assert ingot.accelerator.get_device_capability() == (p.major, p.minor) and len(ingot.cuda.default_generators) == 2
    assert ingot.cuda.can_device_access_peer(0, 1) and ingot.cuda.initial_seed() == ingot.initial_seed()


def test_absent_names_say_why():
    for name, why in (("utilization", "nvidia-smi"), ("jiterator", "jit.trace"), ("cudart", "driver"), ("nccl", "NCCL"),
                      ("current_blas_handle", "cuBLAS"), ("MemPool", "graph_pool_handle")):
        with pytest.raises(AttributeError, match=why):
            getattr(ingot.cuda, name)
    assert not hasattr(ingot.cuda, "nothing_like_it")


def test_scripts_may_mark_ranges_and_profile(cuda):
    assert ingot.cuda.nvtx.range_push("a") == 0 and ingot.cuda.nvtx.range_push("b") == 1 and ingot.cuda.nvtx.range_pop() == 1
    ingot.cuda.nvtx.range_pop()
    ingot.cuda.nvtx.range_end(ingot.cuda.nvtx.range_start("c"))
    ingot.cuda.nvtx.mark("d")

    @ingot.cuda.nvtx.range("e")
    def f():
        return 3

    with ingot.cuda.profiler.profile():
        assert f() == 3
    assert cuda.calls["cuProfilerStart"] == cuda.calls["cuProfilerStop"] == 1


# Streams and events.


def test_streams_say_where_they_are():
    s = ingot.cuda.Stream("cuda:1", priority=-1)
    assert s.device == ingot.device("cuda:1") and s.device_index == 1 and s.priority == -1 and s.query()
    assert ingot.cuda.Stream.priority_range() == (0, -5) and not s.is_capturing()
    again = ingot.cuda.ExternalStream(s.cuda_stream, device=1)
    assert again == s == ingot.cuda.get_stream_from_external(s.cuda_stream, 1)
    e = ingot.cuda.Event()
    assert e.device is None and e.query()
    e.record(s)
    assert e.device == s.device
    before = ingot.cuda.current_stream(1)
    with ingot.cuda.stream(again):
        assert ingot.cuda.current_stream() == s
    assert ingot.cuda.current_stream(1) == before


def test_external_streams_are_not_reused():
    s = ingot.cuda.Stream()
    handle = s.cuda_stream
    ingot.cuda.ExternalStream(handle)
    gc.collect()
    assert ingot.cuda.Stream().cuda_stream != handle


def test_elapsed_time_waits_for_both_events():
    one, two = ingot.cuda.Stream(), ingot.cuda.Stream()
    start, end = ingot.cuda.Event(enable_timing=True), ingot.cuda.Event(enable_timing=True)
    with ingot.cuda.stream(one):
        x = ingot.ones(100, device="cuda") * 2
        start.record()
    end.record(two)
    assert isinstance(start.elapsed_time(end), float) and start.query() and x[0].item() == 2


def test_sync_debug_mode_reports_waiting_copies():
    x = ingot.ones(3, device="cuda")
    ingot.cuda.set_sync_debug_mode("warn")
    try:
        with pytest.warns(UserWarning, match="waits for the device") as seen:
            x.sum().item()
        assert seen[0].filename == __file__
        ingot.cuda.set_sync_debug_mode(2)
        assert ingot.cuda.get_sync_debug_mode() == 2
        with pytest.raises(RuntimeError, match="waits for the device"):
            x.cpu()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ingot.zeros(3, device="cuda") + ingot.ones(3).pin_memory().to("cuda", non_blocking=True)
            ingot.nn.functional.dropout(x)
    finally:
        ingot.cuda.set_sync_debug_mode(0)
    assert x.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="set_sync_debug_mode takes"):
        ingot.cuda.set_sync_debug_mode("loud")


# Memory.


def test_all_forms_of_memory_statistics():
    x, y = ingot.zeros(1000, device="cuda"), ingot.zeros(1 << 20, device="cuda")
    assert ingot.cuda.memory.memory_allocated() == ingot.cuda.memory_allocated() == 4096 + (4 << 20)
    nested = ingot.cuda.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["current"] == ingot.cuda.memory_allocated()
    table = ingot.cuda.memory_summary()
    assert "Allocated memory" in table and "4.00 MiB" in table and len(set(map(len, table.splitlines()[:-1]))) == 1
    small, large = sorted(ingot.cuda.memory_snapshot(), key=lambda s: s["total_size"])
    assert (small["segment_type"], small["allocated_size"], large["allocated_size"]) == ("small", 4096, 4 << 20)
    assert [b["state"] for b in small["blocks"]] == ["active_allocated", "inactive"]
    assert all(sum(b["size"] for b in s["blocks"]) == s["total_size"] for s in (small, large))
    other = ingot.cuda.Stream()
    other.wait_stream(ingot.cuda.current_stream())
    y.record_stream(other)
    with other:
        z = y + 1
    del y
    states = [b["state"] for s in ingot.cuda.memory_snapshot() for b in s["blocks"]]
    other.synchronize()
    assert "active_pending_free" in states and z.sum().item() == 1 << 20
    free, total = ingot.cuda.mem_get_info()
    assert ingot.cuda.device_memory_used() == total - free >= ingot.cuda.memory_reserved()
    assert "this process holds" in ingot.cuda.list_gpu_processes() and x.sum().item() == 0


def test_totals_start_anew():
    x = ingot.zeros(1000, device="cuda")
    assert ingot.cuda.memory_stats()["allocated_bytes.all.allocated"] == 4096
    ingot.accelerator.reset_accumulated_memory_stats()
    assert ingot.cuda.memory_stats()["allocated_bytes.all.allocated"] == 0 and x.sum().item() == 0


def test_peaks_start_anew_and_a_part_of_memory_may_be_set_aside():
    ingot.zeros(1 << 20, device="cuda")
    assert ingot.cuda.max_memory_allocated() == 4 << 20
    ingot.cuda.reset_peak_memory_stats()
    assert ingot.cuda.max_memory_allocated() == 0 and ingot.cuda.get_per_process_memory_fraction() == 1.0
    ingot.cuda.set_per_process_memory_fraction(0.25)
    assert ingot.cuda.get_per_process_memory_fraction() == 0.25
    ingot.cuda.empty_cache()
    with pytest.raises(ingot.cuda.OutOfMemoryError, match="limited to 16"):
        ingot.zeros(5 << 20, device="cuda")


def test_memory_without_a_tensor():
    address = ingot.cuda.caching_allocator_alloc(10000)
    assert ingot.cuda.memory_allocated() == 10240
    ingot.cuda.caching_allocator_delete(address)
    assert ingot.cuda.memory_allocated() == 0
    with pytest.raises(ValueError, match="no address that caching_allocator_alloc gave"):
        ingot.cuda.caching_allocator_delete(address)


def test_page_locked_memory_is_counted():
    x = ingot.zeros(3000).pin_memory()
    stats = ingot.cuda.host_memory_stats()
    assert stats["allocated_bytes.current"] == stats["reserved_bytes.current"] == 16384 and stats["segment.current"] == 1
    del x
    gc.collect()
    assert ingot.cuda.host_memory_stats()["allocated_bytes.current"] == 0
    ingot.cuda.empty_cache()
    assert ingot.cuda.host_memory_stats()["reserved_bytes.current"] == 0


# Tensors.


@pytest.mark.parametrize("make", [
    lambda: ingot.zeros(3, pin_memory=True), lambda: ingot.empty((2, 2), pin_memory=True),
    lambda: ingot.tensor([1, 2], pin_memory=True), lambda: ingot.full((2,), 3.0, pin_memory=True),
    lambda: ingot.randn(4, pin_memory=True), lambda: ingot.arange(5, pin_memory=True),
    lambda: ingot.zeros_like(ingot.ones(3), pin_memory=True), lambda: ingot.ones(2).new_zeros(3, pin_memory=True)])
def test_pin_memory_of_new_tensors(make):
    assert make().is_pinned()


def test_old_types():
    x = ingot.cuda.FloatTensor(2, 3)
    assert x.is_cuda and x.shape == (2, 3) and x.type() == "ingot.cuda.FloatTensor" == ingot.typename(x)
    assert isinstance(x, ingot.cuda.FloatTensor) and not isinstance(x, ingot.FloatTensor)
    assert not isinstance(ingot.ones(2), ingot.cuda.FloatTensor) and isinstance(ingot.ones(2), ingot.FloatTensor)
    y = ingot.cuda.LongTensor([3, 4])
    assert y.is_cuda and y.tolist() == [3, 4] and ingot.cuda.ByteTensor().shape == (0,)
    assert ingot.ones(2).type(ingot.cuda.HalfTensor).dtype is ingot.float16
    assert ingot.ones(2).type("torch.cuda.DoubleTensor").is_cuda and x.type("torch.FloatTensor").is_cpu
    assert ingot.arange(3).type_as(x).device == x.device and ingot.arange(3).type_as(x).dtype is ingot.float32
    ingot.set_default_tensor_type(ingot.cuda.FloatTensor)
    try:
        assert ingot.ones(2).is_cuda
    finally:
        ingot.set_default_tensor_type(ingot.FloatTensor)
    assert ingot.ones(2).is_cpu


class CudaArray:
    """Another library's array on a device."""

    def __init__(self, t, **more):
        self.t, self.__cuda_array_interface__ = t, {**t.__cuda_array_interface__, **more}


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_memory_is_shared_by_the_cuda_array_interface(device):
    x = ingot.arange(12.0, device=device).reshape(3, 4)
    interface = x.__cuda_array_interface__
    assert (interface["shape"], interface["typestr"], interface["strides"], interface["stream"]) == ((3, 4), "<f4", None, 1)
    assert interface["data"] == (x.data_ptr(), False) and x.T.__cuda_array_interface__["strides"] == (4, 16)
    y = ingot.as_tensor(CudaArray(x.T))
    assert y.device == x.device and y.stride() == (1, 4)
    y.mul_(2)
    assert x.tolist() == [[2.0 * (4 * i + j) for j in range(4)] for i in range(3)]
    other = ingot.cuda.Stream(device)
    with other:
        z = ingot.full((50000,), 3.0, device=device)
    late = ingot.as_tensor(CudaArray(z, stream=other.cuda_stream), dtype=ingot.float64)
    assert late.dtype is ingot.float64 and late.sum().item() == 150000, "the stream that it was made in is waited for"
    for none in (ingot.ones(2), x.bfloat16()):
        assert not hasattr(none, "__cuda_array_interface__")
    with pytest.raises(RuntimeError, match="requires grad"):
        assert x.clone().requires_grad_().__cuda_array_interface__
    with pytest.raises(TypeError, match="mask"):
        ingot.as_tensor(CudaArray(x, mask=x))


def test_copying_in_place_need_not_wait(cuda):
    x, source = ingot.zeros(4, 3, device="cuda"), ingot.arange(12.0).reshape(4, 3).pin_memory()
    waited = cuda.calls.get("cuStreamSynchronize", 0)
    x.copy_(source, non_blocking=True)
    assert cuda.calls.get("cuStreamSynchronize", 0) == waited and ingot.equal(x.cpu(), source)
    host = ingot.zeros(4, 3)
    host.copy_(x, non_blocking=True)
    assert ingot.equal(host, source), "what lies on the host is there when the call is over"


# Graphs.


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x, mask=None):
        x = self.one(x).tanh()
        return self.two(x if mask is None else x * mask)


def steps(net, opt, batches, mask):
    """The losses of a few steps, and the gradients for the inputs."""
    found = []
    for x in batches:
        x = x.clone().requires_grad_()
        opt.zero_grad()
        loss = (net(x, mask) ** 2).mean()
        loss.backward()
        opt.step()
        found.append((loss.item(), x.grad.cpu().numpy()))
    return found


def test_graphed_modules_train_as_plain_ones(cuda):
    batches = [ingot.randn(5, 6) for _ in range(4)]
    mask = (ingot.arange(8.0) > 2).float()

    def run(device, graphed):
        ingot.manual_seed(0)
        net = Net().to(device)
        there = [b.to(device) for b in batches]
        if graphed:
            given = net
            sample = there[0].clone().requires_grad_(), mask.to(device)
            net = ingot.cuda.make_graphed_callables(net, sample)
            assert net is given
        return steps(net, ingot.optim.SGD(net.parameters(), 0.3), there, mask.to(device))

    want, got = run("cpu", False), run("cuda", True)
    assert cuda.calls["cuGraphLaunch"] == 8, "a graph of results and one of gradients for each step"
    for (a, ga), (b, gb) in zip(want, got):
        assert abs(a - b) < 1e-5
        np.testing.assert_allclose(ga, gb, atol=1e-6)


def test_graphed_functions_share_a_pool_and_check_arguments():
    a, b = ingot.ones(4, 4, device="cuda"), ingot.full((4, 4), 2.0, device="cuda")
    f, g = ingot.cuda.make_graphed_callables((lambda x: {"y": x.exp()}, lambda x, y: x @ y), ((a,), (a, b)))
    assert ingot.allclose(f(b)["y"].cpu(), ingot.full((4, 4), 2.0).exp())
    assert g(f(a * 0)["y"], b).sum().item() == 128
    for wrong, why in (((a[:2],), "made for an argument"), ((a, b), "order and structure"), ((a.half(),), "made for")):
        with pytest.raises(ValueError, match=why):
            f(*wrong)
    with pytest.raises(ValueError, match="sample arguments are tensors on a CUDA device"):
        ingot.cuda.make_graphed_callables(lambda x: x, (ingot.ones(2),))


def test_modules_run_plainly_in_another_mode():
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).cuda()
    x = ingot.ones(2, 4, device="cuda")
    net = ingot.cuda.make_graphed_callables(net, (x,))
    assert not ingot.equal(net(x).cpu(), net(x).cpu()), "each replay draws anew"
    net.eval()
    assert ingot.allclose(net(x).cpu(), net[0](x).cpu())


def test_captured_graphs_can_be_inspected(tmp_path):
    x = ingot.ones(3, device="cuda")
    g = ingot.cuda.CUDAGraph(keep_graph=True)
    with ingot.cuda.graph(g):
        x.mul_(2)
    with pytest.raises(RuntimeError, match="not instantiated"):
        g.raw_cuda_graph_exec()
    g.replay()
    assert x.tolist() == [2, 2, 2] and g.raw_cuda_graph() and g.raw_cuda_graph_exec()
    g.debug_dump(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")
    other = ingot.cuda.graphs.CUDAGraph()
    with ingot.cuda.graph(other, pool=g.pool()):
        x.add_(1)
    with pytest.raises(RuntimeError, match="keep_graph=True"):
        other.raw_cuda_graph()
    with pytest.raises(RuntimeError, match="captured before"), ingot.cuda.stream(ingot.cuda.Stream()):
        other.capture_begin()
    other.replay()
    other.reset()
    with pytest.raises(RuntimeError, match="holds nothing yet"):
        other.replay()
    with ingot.cuda.graph(other):
        x.add_(1)
    other.replay()
    assert x.tolist() == [4, 4, 4]
    with pytest.raises(ValueError, match=r"capture_error_mode must be one of .*, got 'strict'"):
        ingot.cuda.CUDAGraph().capture_begin(capture_error_mode="strict")
