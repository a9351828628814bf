"""Kernels that users write in Triton: compiled by it for a chip, launched by ingot on the mock driver, their PTX on
numpy."""

import json
import sys

import numpy as np
import pytest

import ingot
import mock_cuda
from cuda_header import number_in_header
from ingot import cuda, jit, library

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
triton_compiler = pytest.importorskip("triton.compiler")
from ingot.runtime.cuda.compiler import launch, triton_driver  # noqa: E402


@triton.jit
def scaled_sum(x, y, out, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside)
    if y is not None:
        a += tl.load(y + at, mask=inside)
    tl.store(out + at, a * scale, mask=inside)


@triton.jit
def all_kinds(out, pair, flag, low, big, half: tl.float16, brain: tl.bfloat16):
    tl.store(out, pair[0] + pair[1])
    tl.store(out + 1, flag.to(tl.float32))
    tl.store(out + 2, low)
    tl.store(out + 3, (big >> 40).to(tl.float32))
    tl.store(out + 4, half.to(tl.float32))
    tl.store(out + 5, brain.to(tl.float32))


@pytest.fixture(params=[80, 90])
def gpu(request, monkeypatch):
    """A mock driver that loads what Triton compiled: the JSON of its PTX in place of its machine code."""
    loading: list = []
    real_handles, real_load = triton_compiler.CompiledKernel._init_handles, triton_driver.Code.load_binary

    def init_handles(kernel):
        loading.append(kernel)
        try:
            return real_handles(kernel)
        finally:
            loading.pop()

    def load_binary(code, name, binary, shared, device):
        kernel = loading[-1]
        assert binary == kernel.asm["cubin"] and binary[:4] == b"\x7fELF"
        kinds = [*map(_word, triton_driver.flat(tuple(kernel.src.signature.values()))), "*u8", "*u8"]
        fields = {"name": name, "text": "", "kinds": kinds, "constants": {}, "wide": False, "units": {},
                  "ptx": kernel.asm["ptx"], "threads": 32 * kernel.metadata.num_warps, "shared": shared,
                  "layout": "@" + "".join(map(_letter, kinds))}
        return real_load(code, name, b"\x7fELF" + json.dumps(fields).encode(), shared, device)

    monkeypatch.setattr(triton_compiler.CompiledKernel, "_init_handles", init_handles)
    monkeypatch.setattr(triton_driver.Code, "load_binary", load_binary)
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    with mock_cuda.installed(arch=request.param) as mock:
        for kernel in (scaled_sum, all_kinds):
            kernel.device_caches.clear()
        yield mock


def _word(kind):
    return {"i1": "u8", "u1": "u8", "fp16": "u16", "bf16": "u16"}.get(kind, kind)


def _letter(kind):
    """How numbers of a kind are packed, each where its size puts it."""
    return {"u8": "B", "u16": "H", "i32": "i", "i64": "q", "fp32": "f"}.get(kind, "Q")


def numbers(n, seed=0):
    return np.random.default_rng(seed).standard_normal(n).astype(np.float32)


def added(x, y, out, scale=1.0):
    n = out.numel()
    scaled_sum[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, scale, BLOCK=64)
    return out


def test_kernels_read_and_write_tensors(gpu):
    a, b = numbers(200), numbers(200, 1)
    x, y = ingot.tensor(a).cuda(), ingot.tensor(b).cuda()
    assert isinstance(triton_driver.TRITON.in_use.active, triton_driver.IngotDriver)
    out = added(x * 1, y, ingot.empty_like(x), 2.5)
    np.testing.assert_array_equal((out + 0).cpu().numpy(), (a + b) * np.float32(2.5))
    np.testing.assert_array_equal(added(x, None, ingot.empty_like(x)).cpu().numpy(), a)
    part = added(x[3:100], y[50:147], out[7:104])
    np.testing.assert_array_equal(part.cpu().numpy(), a[3:100] + b[50:147])
    launched = len(gpu.launched)
    scaled_sum[(0,)](x, y, out, 0, 1.0, BLOCK=64)
    assert len(gpu.launched) == launched


def test_parameters_of_every_kind(gpu):
    out = ingot.empty(6).cuda()
    all_kinds[(1,)](out, (1.5, 2.25), True, -7, 5 << 40, 0.333251953125, 0.1)
    assert out.tolist() == [3.75, 1, -7, 5, 0.333251953125, 0.099609375]


def test_launches_go_into_the_current_stream(gpu):
    x, stream = ingot.ones(64).cuda(), cuda.Stream()
    with cuda.stream(stream):
        out = added(x, x, ingot.empty_like(x))
    assert gpu.launched[-1]["stream"] == stream.cuda_stream
    stream.synchronize()
    assert out.tolist() == [2] * 64


def test_launches_are_captured(gpu):
    x, out = ingot.ones(64).cuda(), ingot.zeros(64).cuda()
    added(x, x, out)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        added(x, None, out, 3.0)
    x.fill_(5)
    graph.replay()
    assert out.tolist() == [15] * 64


def test_operators_of_kernels(gpu):
    @library.triton_op("user_kernels::twice", mutates_args=())
    def twice(x: ingot.Tensor) -> ingot.Tensor:
        out = ingot.empty_like(x)
        library.wrap_triton(scaled_sum)[(triton.cdiv(x.numel(), 64),)](x, x, out, x.numel(), 1.0, BLOCK=64)
        return out

    twice.register_autograd(lambda ctx, g: 2 * g)
    x = ingot.tensor(numbers(100)).cuda().requires_grad_()
    for function in (twice, jit.trace(lambda x: twice(x * 3) + 1)):
        for _ in range(3):
            x.grad = None
            y = function(x)
            y.sum().backward()
            scale = 2 if function is twice else 6
            np.testing.assert_allclose(y.detach().cpu().numpy(), scale * numbers(100) + (function is not twice), rtol=1e-6)
            assert x.grad.tolist() == [scale] * 100


def test_host_functions_get_tensors_where_they_are():
    seen = []

    @jit.host
    def doubled(x):
        seen.append(x.device.type)
        return x * 2

    run = jit.trace(lambda x: doubled(x + 1) * 3)
    with mock_cuda.installed():
        for i in range(4):
            y = run(ingot.arange(5.0).cuda() * i)
            assert y.device.type == "cuda" and y.tolist() == [(i * n + 1) * 6 for n in range(5)]
        assert run.stats()["graphs"] == 1 and run.stats()["checks"] == 0
    assert set(seen) == {"cuda"} and len(seen) >= 4


CONSTANTS = {
    "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK": triton_driver._MAX_THREADS,
    "CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES": triton_driver._LOCAL_BYTES, "CU_FUNC_ATTRIBUTE_NUM_REGS": triton_driver._REGISTERS,
    "CU_LAUNCH_ATTRIBUTE_COOPERATIVE": triton_driver._COOPERATIVE,
    "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION": launch._CLUSTER,
    "CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE": launch._CLUSTER_POLICY,
    "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION": triton_driver._SERIALIZED,
    "CU_CLUSTER_SCHEDULING_POLICY_SPREAD": launch._SPREAD,
    "CU_POINTER_ATTRIBUTE_DEVICE_POINTER": triton_driver._POINTER_ON_DEVICE}


@pytest.mark.parametrize("name", CONSTANTS)
def test_numbers_are_those_of_the_header(name):
    assert number_in_header(name) == CONSTANTS[name]


def test_autotuning_measures_with_our_events(gpu):
    configs = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((32, 1), (64, 2))]
    tuned = triton.autotune(configs=configs, key=["n"], do_bench=lambda call, quantiles: [call() or 1.0] * 3)(scaled_sum)
    x = ingot.ones(100).cuda()
    out = ingot.zeros(100).cuda()
    tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, x, out, 100, 1.0)
    assert out.tolist() == [2] * 100
    interface = triton_driver.TRITON.in_use.active.get_device_interface()
    start, end = (interface.Event(enable_timing=True) for _ in range(2))
    start.record()
    triton_driver.TRITON.in_use.active.clear_cache(triton_driver.TRITON.in_use.active.get_empty_cache_for_benchmark())
    end.record()
    interface.synchronize()
    assert start.elapsed_time(end) >= 0


def test_refused_arguments(gpu):
    x = ingot.ones(64).cuda()
    with pytest.raises(RuntimeError, match="scaled_sum was given a tensor in the memory of the host"):
        added(x, ingot.ones(64), ingot.empty_like(x))
    with pytest.raises(TypeError, match=r"wrap_triton takes what @triton\.jit"):
        library.wrap_triton(len)
    with pytest.raises(RuntimeError, match="address of a tensor"):
        jit.trace(lambda x: added(x, x, ingot.empty_like(x)))(x)


def test_triton_keeps_its_driver_if_pytorch_is_imported(gpu, monkeypatch):
    monkeypatch.setattr(triton_driver.TRITON.in_use, "_active", None)
    monkeypatch.setitem(sys.modules, "torch", json)         # any other module
    library.wrap_triton(scaled_sum)
    assert triton_driver.TRITON.in_use._active is None
