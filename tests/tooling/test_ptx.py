"""The PTX machine on numpy: its instructions against numpy, divergent threads, the faults that it must report, and kernels that
Triton compiled against results of the CPU. `pytest --ptx 90` runs all tests of the mock driver on it.
"""

import importlib.util
import runpy
import struct
import sys

import numpy as np
import pytest

import ingot
import mock_cuda
import mock_cuda_chip
from covering import thinned
from ingot.benchmarks import gpu_counts
from ingot.nn import functional as F
from ingot.tools import ptx

THREADS = 64
HEAD = """
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 shared_memory[];
.visible .entry probe(.param .u64 .ptr .global .align 1 probe_param_0, .param .u64 probe_param_1)
.reqntid 64
{
    .reg .pred %p<9>;
    .reg .b16 %rs<9>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<30>;
    ld.param.b64 %rd1, [probe_param_0];
    ld.param.b64 %rd2, [probe_param_1];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.s32 %r3, %r2, 64, %r1;
    mul.wide.u32 %rd3, %r3, 8;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    mov.b32 %r9, shared_memory;
"""


def run(body, given, programs=1, kind=np.uint64):
    """Runs lines for each of 64 threads of some programs: %rd4 is the address of its 8 bytes in `given`, %rd5 that of its 8
    bytes of the result."""
    arrays = [np.zeros(THREADS * programs, np.uint64) for _ in range(2)]
    arrays[0][:] = np.ascontiguousarray(given).view(np.uint64).reshape(-1)
    addresses = [a.ctypes.data for a in arrays]
    ptx.launch(HEAD + body + "    ret;\n}\n", (programs, 1, 1), THREADS, 4096, struct.pack("<QQ", *addresses),
               {at: a.view(np.uint8) for at, a in zip(addresses, arrays)})
    return arrays[1].view(kind)


RNG = np.random.default_rng(7)
PAIRS = RNG.integers(0, 1 << 32, (THREADS, 2), np.uint32)
FLOATS = np.concatenate([RNG.standard_normal((THREADS - 4, 2)), [[0.0, -0.0], [np.nan, 1.0], [np.inf, -np.inf], [-0.0, 0.0]]]) \
    .astype(np.float32)


def signed(a):
    return a.astype(np.int32).astype(np.int64)


# Each: an instruction of %r4 (and %r5), what goes in, and what numpy makes of the columns.
TABLE = {
    "add.s32 %r6, %r4, %r5": (PAIRS, lambda a, b: a + b),
    "mul.hi.u32 %r6, %r4, %r5": (PAIRS, lambda a, b: (a.astype(np.uint64) * b >> np.uint64(32)).astype(np.uint32)),
    "mul.hi.s32 %r6, %r4, %r5": (PAIRS, lambda a, b: (signed(a) * signed(b) >> 32).astype(np.uint32)),
    "div.s32 %r6, %r4, %r5": (PAIRS, lambda a, b: np.trunc(signed(a) / signed(b)).astype(np.int32).view(np.uint32)),
    "rem.s32 %r6, %r4, %r5": (PAIRS, lambda a, b: np.fmod(signed(a), signed(b)).astype(np.int32).view(np.uint32)),
    "shr.s32 %r6, %r4, 5": (PAIRS, lambda a, b: (a.view(np.int32) >> 5).view(np.uint32)),
    "shl.b32 %r6, %r4, 40": (PAIRS, lambda a, b: a * 0),
    "shf.l.wrap.b32 %r6, %r4, %r5, 9": (PAIRS, lambda a, b: b << np.uint32(9) | a >> np.uint32(23)),
    "bfe.u32 %r6, %r4, 7, 11": (PAIRS, lambda a, b: a >> np.uint32(7) & np.uint32(2047)),
    "bfe.s32 %r6, %r4, 7, 11": (PAIRS, lambda a, b: (signed(a << np.uint32(14)).astype(np.int32) >> 21).view(np.uint32)),
    "prmt.b32 %r6, %r4, %r5, 0x6540": (PAIRS, lambda a, b: a & np.uint32(255) | (b & np.uint32(0xFFFFFF)) << np.uint32(8)),
    "lop3.b32 %r6, %r4, %r5, %r4, 0x3c": (PAIRS, lambda a, b: a ^ b),
    "popc.b32 %r6, %r4": (PAIRS, lambda a, b: np.bitwise_count(a).astype(np.uint32)),
    "add.rn.f32 %r6, %r4, %r5": (FLOATS, lambda a, b: a + b),
    "div.rn.f32 %r6, %r4, %r5": (FLOATS, lambda a, b: a / b),
    "min.NaN.f32 %r6, %r4, %r5": (FLOATS, lambda a, b: np.where((a == 0) & (b == 0), np.float32(-0.0), np.minimum(a, b))),
    "max.f32 %r6, %r4, %r5": (FLOATS, lambda a, b: np.where((a == 0) & (b == 0), np.float32(0.0), np.fmax(a, b))),
    "copysign.f32 %r6, %r4, %r5": (FLOATS, lambda a, b: np.copysign(b, a)),
    "fma.rn.f32 %r6, %r4, %r5, %r4": (FLOATS, lambda a, b: (a.astype(np.float64) * b + a).astype(np.float32)),
    "cvt.rmi.f32.f32 %r6, %r4": (FLOATS, lambda a, b: np.floor(a)),
    "cvt.rn.bf16x2.f32 %r6, %r4, %r5": (FLOATS, lambda a, b: upper(a) << np.uint32(16) | upper(b)),
}


def upper(a):
    """The bits of floats that are rounded to bfloat16."""
    return ingot.tensor(a).to(ingot.bfloat16).view(ingot.int16).numpy().view(np.uint16).astype(np.uint32)


@pytest.mark.parametrize("line", TABLE)
def test_instructions(line):
    given, numpy = TABLE[line]
    body = f"    ld.global.v2.b32 {{%r4, %r5}}, [%rd4];\n    {line};\n    st.global.b32 [%rd5], %r6;\n"
    got = run(body, given, kind=np.uint32)
    with np.errstate(all="ignore"):
        want = np.asarray(numpy(*given.T.copy()))
    np.testing.assert_array_equal(got[::2].view(want.dtype), want)


def test_threads_part_and_meet():
    """A loop of as many rounds as a thread's number says, half of the threads left out."""
    body = """
    setp.lt.u32 %p1, %r1, 32;
    mov.b32 %r6, 0;
    @%p1 bra $L__done;
    mov.b32 %r7, 0;
$L__again:
    add.s32 %r6, %r6, 3;
    add.s32 %r7, %r7, 1;
    setp.lt.u32 %p2, %r7, %r1;
    @%p2 bra $L__again;
$L__done:
    bar.sync 0;
    st.global.b32 [%rd5], %r6;
"""
    got = run(body, np.zeros(2 * THREADS, np.uint64), 2, np.uint32)[::2]
    np.testing.assert_array_equal(got, np.tile(np.where(np.arange(THREADS) < 32, 0, 3 * np.arange(THREADS)), 2))


def test_warp_operations_wait_for_lanes_of_later_branches():
    """Compilers put code of few threads behind the rest, and it jumps back from there."""
    body = """
    setp.lt.u32 %p1, %r1, 5;
    mov.b32 %r6, %r1;
    @%p1 bra $L__rare;
$L__back:
    shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1;
    st.global.b32 [%rd5], %r7;
    bra $L__end;
$L__rare:
    add.s32 %r6, %r6, 100;
    bra $L__back;
$L__end:
"""
    got = run(body, np.zeros(2 * THREADS, np.uint64), 2, np.uint32)[::2]
    lanes = np.arange(THREADS)
    np.testing.assert_array_equal(got, np.tile(np.where(lanes < 5, lanes + 100, lanes)[lanes ^ 1], 2))


EXCHANGE = """
    shl.b32 %r4, %r1, 2;
    add.s32 %r4, %r9, %r4;
    st.shared.b32 [%r4], %r1;
    {barrier}
    xor.b32 %r5, %r1, 32;
    shl.b32 %r5, %r5, 2;
    add.s32 %r5, %r9, %r5;
    ld.shared.b32 %r6, [%r5];
    st.global.b32 [%rd5], %r6;
"""


def test_a_barrier_orders_warps():
    got = run(EXCHANGE.format(barrier="bar.sync 0;"), np.zeros(THREADS, np.uint64), kind=np.uint32)[::2]
    np.testing.assert_array_equal(got, np.arange(THREADS) ^ 32)


FAULTS = {
    "no barrier": (EXCHANGE.format(barrier=""), "reads byte"),
    "two programs write one address": ("    st.global.b32 [%rd2], %r2;\n", "different values"),
    "two lanes write one address": ("    st.shared.b32 [%r9], %r1;\n", "different values"),
    "a program reads what another one writes": (
        "    st.global.b32 [%rd5], %r1;\n    ld.global.b32 %r4, [%rd2+512];\n", "reads byte"),
    "out of bounds": ("    ld.global.b32 %r4, [%rd4+1024];\n", "no device memory"),
    "not aligned": ("    ld.global.v2.b64 {%rd6, %rd7}, [%rd4];\n", "no multiple of 16"),
    "beyond shared memory": ("    ld.shared.b32 %r4, [%r9+4096];\n", "shared memory"),
    "part of a warp": (
        "    setp.lt.u32 %p1, %r1, 16;\n    @%p1 shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\n", "part of a warp"),
    "what it does not know": ("    tensormap.replace.b32 %r4;\n", "does not know"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_faults(what):
    body, said = FAULTS[what]
    with pytest.raises(ptx.Fault, match=said):
        run(body, np.zeros(2 * THREADS, np.uint64), 2)


def test_copies_arrive_when_they_are_waited_for():
    body = """
    shl.b32 %r4, %r1, 3;
    add.s32 %r4, %r9, %r4;
    st.shared.b64 [%r4], %rd3;
    bar.sync 0;
    cp.async.ca.shared.global [%r4], [%rd4], 8;
    cp.async.commit_group;
    {wait}
    ld.shared.b64 %rd6, [%r4];
    st.global.b64 [%rd5], %rd6;
"""
    given = np.arange(THREADS, dtype=np.uint64) + 1000
    np.testing.assert_array_equal(run(body.format(wait="cp.async.wait_group 0;"), given), given)
    np.testing.assert_array_equal(run(body.format(wait=""), given), 8 * np.arange(THREADS))


def test_counts():
    """Columns 64 bytes apart in shared memory wait for each other; lanes 8 bytes apart share sectors."""
    body = """
    shl.b32 %r4, %r1, {step};
    and.b32 %r4, %r4, 4095;
    add.s32 %r4, %r9, %r4;
    ld.shared.b32 %r5, [%r4];
    st.global.b32 [%rd5], %r5;
"""
    waves = {}
    for step in (2, 6):
        text = HEAD + body.format(step=step) + "    ret;\n}\n"
        counts = ptx.counted(text, (10, 1, 1), THREADS, 4096, struct.pack("<QQ", 1 << 20, 1 << 30), 2)
        assert counts.programs == 10 and counts.instructions["shared"] == 20 and counts.sectors == 160 and counts.needed == 80
        waves[step] = counts.waves
    assert waves == {2: 20, 6: 20 * 16}


# Kernels as they are compiled.


ARCHS = (80, 90)


@pytest.fixture(params=ARCHS)
def compiled(request, monkeypatch, tmp_path):
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    monkeypatch.setattr(mock_cuda_chip, "compiled_for", request.param)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    with mock_cuda.installed() as cuda:
        yield cuda


def drawn(*shape, dtype="float32"):
    return ingot.tensor(np.random.default_rng(list(shape)).standard_normal(shape)).to(getattr(ingot, dtype))


PROGRAMS = {
    "elementwise": (lambda x: (x * 2.0 - 1.0).sin(), [drawn(7, 130)], 0.0),
    "special units": (lambda x: F.gelu(x * 2.0 - 1.0) + (x * 50.0).exp() + x.sigmoid(), [drawn(7, 130)], 3e-7),
    "in low precision": (lambda x: F.silu(x) + x, [drawn(7, 130, dtype="bfloat16")], 0.0),
    "orders that cross": (lambda x: x.permute(0, 2, 1).contiguous(), [drawn(3, 90, 77)], 0.0),
    "orders that cross, in bytes": (lambda x: (x > 0).t().contiguous().float(), [drawn(64, 160)], 0.0),
    "orders that cross, fused": (lambda x, y: (x.t() + y).tanh(), [drawn(64, 96, dtype="float16"), drawn(96, 64)], 1e-6),
    "rows": (lambda x: x.softmax(-1), [drawn(9, 70)], 1e-6),
    "columns": (lambda x: x.sum(0), [drawn(300, 40)], 1e-5),
    "sums so far": (lambda x: x.cumsum(-1), [drawn(5, 300)], 1e-5),
    "largest so far": (lambda x: x.cummax(-1)[0], [drawn(5, 1300)], 0.0),
    "where it was": (lambda x: x.cummax(-1)[1], [drawn(5, 1300)], 0.0),
    "largest of a long row so far": (lambda x: x.cummax(-1)[1], [drawn(70001)], 0.0),
    "log of sums so far": (lambda x: x.logcumsumexp(-1), [drawn(5, 300)], 1e-5),
    "rows joined in order": (lambda x, i: ingot.zeros(50, 3).to(x.device).index_put((i,), x, accumulate=True),
                             [drawn(2100, 3), ingot.tensor(np.arange(2100) * 7 % 50)], 0.0),
    "sorted": (lambda x: x.sort(-1)[0], [drawn(3, 200)], 0.0),
    "exact product": (lambda x, y: x @ y.T, [drawn(40, 50), drawn(33, 50)], 1e-5),
    "product": (lambda x, y: x @ y, [drawn(70, 72, dtype="bfloat16"), drawn(72, 136, dtype="bfloat16")], 2e-2),
    "product of rows": (lambda x, y: x.T @ y.T, [drawn(64, 70, dtype="float16"), drawn(80, 64, dtype="float16")], 2e-3),
    "convolution": (lambda x, w: F.conv2d(x, w, padding=1), [drawn(2, 16, 9, 9), drawn(8, 16, 3, 3)], 1e-5),
    "attention": (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
                  [drawn(1, 2, 70, 32, dtype="bfloat16")], 2e-2),
    "a number for all lanes": (lambda x: ingot.tensor(1.5).to(x.device) ** ingot.complex(x, x), [drawn(9)], 1e-6),
}


@pytest.mark.parametrize("name, compiled", thinned(PROGRAMS, ARCHS, strength=1), indirect=["compiled"])
def test_kernels_as_they_are_compiled(name, compiled):
    f, given, tolerance = PROGRAMS[name]
    want, got = f(*given), f(*[t.cuda() for t in given]).cpu()
    parts = (ingot.view_as_real(t) if t.is_complex() else t for t in (want, got))
    want, got = (t.double().numpy() for t in parts)
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(1.0, np.abs(want[np.isfinite(want)]).max(initial=0)))


def test_the_smaller_zero_is_the_negative_one(compiled):
    """The order in which lanes exchange zeros does not matter."""
    x = ingot.tensor([[0.0, -0.0] * 40, [-0.0, 0.0] * 40, [0.0] * 79 + [-0.0]])
    for dtype in (ingot.float32, ingot.float64):
        y = x.to(dtype).cuda()
        assert (1.0 / y.amin(-1)).cpu().tolist() == [-np.inf] * 3 and (1.0 / y.amax(-1)).cpu().tolist() == [np.inf] * 3


@pytest.mark.parametrize("call, least", [("channels last", 0.99), ("channels last, bfloat16", 0.99), ("matrix turned", 0.8)])
def test_sectors_needed_of_those_touched(call, least, tmp_path, monkeypatch):
    """Kernels that read in one order and write in another."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    mock_cuda.drop_caches()
    try:
        with gpu_counts.Launches(90) as launches:
            made = gpu_counts.calls()[call]
            launches.launched_by_name.clear()
            made()
            counts = [gpu_counts.counted(*launched) for name, launched in launches.launched_by_name.items()
                      if "fill" not in name]
        assert sum(c.needed for c in counts) > least * sum(c.sectors for c in counts) > 0
    finally:
        mock_cuda.drop_caches()


def test_the_benchmark_of_what_kernels_ask_for(capsys, monkeypatch, tmp_path):
    """A matrix that is read once, whole sectors of it, and next to nothing of shared memory; names that nothing has."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    mock_cuda.drop_caches()
    try:
        assert gpu_counts.main(["product with a vector"]) == 0
        line = next(x for x in capsys.readouterr().out.splitlines() if "vectors_f32[8192x1x1]" in x)
        issue, _, cache, shared, tensor = map(float, line.partition("|")[0].split())
        assert 1 < issue < 10 and 8 < cache < 12 and shared < 1 and tensor == 0 and "| 1.00 " in line
        with pytest.raises(SystemExit):
            gpu_counts.main(["nothing of this name"])
    finally:
        mock_cuda.drop_caches()
    assert "LSTM + Adam; " in capsys.readouterr().err


@pytest.mark.slow
def test_a_step_is_traced_in_a_module_run_by_python(capsys, monkeypatch, tmp_path):
    """A module run by `python -m` is user code."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(ptx, "counted", lambda *given: ptx.Counts(1, {"other": 1.0}))
    monkeypatch.delitem(sys.modules, gpu_counts.__name__)
    monkeypatch.setattr(sys, "argv", ["gpu_counts", "LSTM + Adam", "--rows", "300"])
    mock_cuda.drop_caches()
    try:
        with pytest.raises(SystemExit):
            runpy.run_module("ingot.benchmarks.gpu_counts", run_name="__main__")
    finally:
        mock_cuda.drop_caches()
    assert capsys.readouterr().out.count(" x ") < 40
