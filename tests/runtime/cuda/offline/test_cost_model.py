"""Costs of GPU work, without a GPU: bytes, operations and launches of every step."""

from math import prod

import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.benchmarks import gpu_first, gpu_steps, gpu_times
from ingot.benchmarks.gpu_ledger import recorded
from ingot.benchmarks.harness import Plan
from ingot.ir import config
from ingot.ir.opdef.op import OPS
from ingot.nn import functional as F
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.offline.cost_model import H100, Ledger

BIG = 1 << 14


@pytest.fixture
def ledger():
    mock_cuda.drop_caches()
    precision = ingot.get_float32_matmul_precision()
    ingot.set_float32_matmul_precision("highest")
    with Ledger() as found:
        yield found
    ingot.set_float32_matmul_precision(precision)
    mock_cuda.drop_caches()
    assert not compiler.binaries()


def rows_of(ledger, f, *shapes, dtype=None, runs=2):
    """Return the rows of the last of some calls of a traced function."""
    given = [ingot.empty(s, device="cuda", dtype=dtype or ingot.float32) for s in shapes]
    traced = jit.trace(f)
    for _ in range(runs):
        ledger.clear()
        traced(*given)
    return ledger.rows


def test_a_fused_kernel_reads_and_writes_once(ledger):
    row, = rows_of(ledger, lambda x, b: (x * 2 + b).relu(), (BIG, BIG), (BIG,))
    assert (row.read, row.written) == (4 * BIG * BIG + 4 * BIG, 4 * BIG * BIG) and row.kind == "fused" and not row.flops
    assert row.programs > 132 and row.floor(H100) == (row.read + row.written) / H100.copies


def test_products_count_their_operations(ledger):
    row, = rows_of(ledger, lambda x, y: F.relu(x @ y), (4096, 4096), (4096, 4096), dtype=ingot.bfloat16)
    assert row.flops == 2 * 4096 ** 3 and row.dtype == "bfloat16" and row.read == 2 * 2 * 4096 ** 2 == 2 * row.written
    assert row.floor(H100) == row.flops / H100.rates["bfloat16"]


def test_convolutions_and_attention_count_their_operations(ledger):
    row, = rows_of(ledger, lambda x, w: F.conv2d(x, w, padding=1), (8, 64, 56, 56), (32, 64, 3, 3))
    assert row.flops == 2 * 8 * 32 * 56 ** 2 * 64 * 9 and row.dtype == "float32"
    row, = rows_of(ledger, lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (2, 4, 256, 64))
    assert row.flops == 2 * 2 * 4 * 256 * 256 * 64
    row, = rows_of(ledger, lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.1), (2, 4, 256, 64),
                   dtype=ingot.float16)
    assert row.flops == 4 * 2 * 4 * 256 * 256 * 64 and row.dtype == "float16", "keys of draws are no factors"

    def gradients(q):
        q = q.detach().requires_grad_()
        return ingot.autograd.grad(F.scaled_dot_product_attention(q, q * 2, q * 3).square().sum(), q)

    rows = rows_of(ledger, gradients, (2, 4, 256, 64), dtype=ingot.bfloat16)
    assert [r.dtype for r in rows if r.flops] == ["bfloat16"] * 2, "nor are statistics of rows, which are float32"


@pytest.mark.parametrize("channels, images, length, times", [
    (64, 4, 256, 1),            # all of it stays near
    (64, 64, 3600, 2),          # parts of rows, a launch for each sweep: it is gone when the next one begins
    # A row a program, but those that run at once hold more than what stays near: that much of it is, from the end.
    (4096, 64, 1200, 2 - (24 << 20) / (2 * 132 * 8 * 64 * 1200 * 2)),
    (4096, 4, 2400, 1),         # (less)
    (4096, 1, 4096, 1),         # whole rows
])
def test_repeated_sweeps_count_memory_again(ledger, channels, images, length, times):
    row, = rows_of(ledger, lambda x: x - x.amax((0, 2), keepdim=True), (images, channels, length), dtype=ingot.float16)
    assert row.read == round(times * images * channels * length * 2) and row.written == images * channels * length * 2


def test_transposed_images_and_partial_sums_count(ledger):
    n, c, d = 64, 64, 56
    x, w, g = n * c * d * d * 2, c * c * 9 * 2, n * c * d * d * 2
    row, = rows_of(ledger, lambda x, w: F.conv2d(x, w, padding=1), (n, c, d, d), (c, c, 3, 3), dtype=ingot.bfloat16)
    assert (row.read, row.written) == (2 * (x + w), x + w + g) and len(row.kernels) == 3

    def weight_gradient(x, w, g):
        w = w.clone().requires_grad_()
        return ingot.autograd.grad(F.conv2d(x, w, padding=1), w, g)

    rows = rows_of(ledger, weight_gradient, (n, c, d, d), (c, c, 3, 3), (n, c, d, d), dtype=ingot.bfloat16)
    row = next(r for r in rows if r.kind == "conv_weight_grad")
    parts = row.kernels[-1][1][2]
    assert parts > 1 and (row.read, row.written) == (2 * (x + g), x + g + parts * c * c * 9 * 4)


def test_sums_and_words(ledger):
    rows_of(ledger, lambda x, y: (x @ y).softmax(-1), (64, 32), (32, 48))
    assert ledger.facts()["launches"] == 2 and ledger.facts()["floor"] == 2 * H100.launch
    assert "matmul 64x32 x 32x48" in ledger.table() and "2 launches" in ledger.table()


def test_sums_of_few_parts_have_whole_tiles(ledger):
    """The length of a sum down columns says how many columns a program has."""
    for parts, columns in ((2, 512), (16, 64), (32, 32)):
        row, = rows_of(ledger, lambda x: x.sum(0), (parts, 1 << 16))
        assert row.programs == (1 << 16) // columns


@pytest.mark.parametrize("channels, side, kernel", [(64, 56, 3), (128, 28, 3), (256, 14, 3), (512, 7, 3), (512, 28, 1)])
def test_gradients_of_filters_have_several_programs_for_each_multiprocessor(ledger, channels, side, kernel):
    def gradient(x, g):
        return OPS["conv_last_weight_grad"](x, g, size=(kernel,) * 2, stride=(1, 1), padding=((kernel // 2,) * 2,) * 2,
                                            dilation=(1, 1))

    rows = rows_of(ledger, gradient, *[(64, side, side, channels)] * 2, dtype=ingot.bfloat16)
    grid, = [grid for row in rows for name, grid in row.kernels if "weight_grad" in name]
    assert 2.8 * 132 < prod(grid) < 5.7 * 132


def test_a_step_of_adam_uploads_a_few_numbers(ledger):
    net = ingot.nn.Linear(2048, 2048).to("cuda")
    opt = ingot.optim.Adam(net.parameters())

    def step(x):
        opt.zero_grad()
        net(x).sum().backward()
        opt.step()

    rows_of(ledger, step, (8, 2048), runs=3)
    assert sum(ledger.uploads) <= 256
    update = max((r for r in ledger.rows if r.kind == "fused"), key=lambda r: r.written)
    assert update.written <= 4 * 4 * 2048 ** 2 + 65536, "the weight, two states and the gradient"


def test_copies_alongside_a_kernel_count_with_it(ledger):
    """A factor of which strides do not say where its matrices lie is copied; the sum behind a join is a step of its own."""
    n = 64
    row, = [r for r in rows_of(ledger, lambda x, y: x.permute(1, 0, 2, 3) @ y, (n, 2, n, n), (2, n, n, n)) if r.flops]
    assert len(row.kernels) == 2 and row.read == 3 * 4 * 2 * n ** 3 and row.written == 2 * 4 * 2 * n ** 3


def test_a_step_of_copies_counts_their_bytes(ledger):
    row, = rows_of(ledger, lambda x: x.roll(1, 0), (256, 256))
    assert row.kind == "roll" and row.read == row.written == 4 * 256 * 256


def test_times_of_a_step_name_the_launches_of_the_ledger(monkeypatch):
    """On the mock driver whatever a queue does takes a millisecond, uploads between launches, too."""
    monkeypatch.setattr(gpu_times, "AHEAD", 1 << 10)
    monkeypatch.setenv("INGOT_CUDA_GRAPHS", "0")
    config.process_settings.cache_clear()
    step = next(gpu_steps.small(Plan(tiny=True)))
    with mock_cuda.installed(), gpu_times.Times() as times:
        found = gpu_times.timed(step, times)
    with Ledger() as ledger:
        recorded(step, ledger)
    config.process_settings.cache_clear()
    assert [row for row, _ in found] == ledger.rows
    assert all(len(each) == len(row.kernels) and all(0.5e-3 < t < 4e-3 for t in each) for row, each in found)
    assert gpu_times.table(found, 3).count("\n") > 5


@pytest.mark.slow
@pytest.mark.skipif(not compiler._version(), reason="kernels are compiled where Triton is installed")
@pytest.mark.parametrize("compilers", [0, None])
def test_first_calls_compile_everything_and_later_ones_nothing(compilers):
    name = "MLP batch 32 + Adam"
    found = gpu_first.in_new_process(name, compilers)
    (free, done), *_, (_, last) = found["calls"]
    assert found["kernels"] >= 5 and found["processor"] > 0.1 and last < done / 5
    assert (free > 0.9 * done) == (compilers == 0)
    assert gpu_first.table(name, found).count("\n") == gpu_first.CALLS
