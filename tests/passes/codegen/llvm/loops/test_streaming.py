"""Elementwise kernels with streaming stores: the same values for any alignment, and only for large results."""

from dataclasses import replace

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir import dtype as dt
from ingot.ir.kernel.kernel_builder import KernelBuilder
from ingot.passes.codegen.llvm.loops import streaming
from ingot.passes.codegen.llvm.loops.strategies import STREAMING, suited
from ingot.runtime.cpu.graph import plan_runner
from ingot.runtime.cpu.loops import kernels


def expression(dtype):
    """Return the kernel of x * y + exp(x) and x < y."""
    def build(k, x, y):
        return x * y + k.fn.exp(x), k.fn.lt(x, y)

    return kernels.elementwise(f"stream_{dtype.name}", (dtype, dtype), (dtype, dt.bool_), build)


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16], ids=str)
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 100, 8191, 8192, 8193, 50_000])
def test_values_and_alignment(dtype, n):
    rng = np.random.default_rng(n)
    for skip in (0, 1, 5):
        x, y = (rng.standard_normal(n + skip).astype(dtype.np)[skip:] for _ in range(2))
        add = kernels.function("add", dtype, dtype)
        far, near, room = add.streaming_adapters, add.adapters, np.zeros(n + 2 * skip, dtype.np)
        far[1](x, y, room[skip:skip + n])
        want = np.empty(n, dtype.np)
        near[1](x, y, want)
        assert room[skip:skip + n].tobytes() == want.tobytes(), f"{dtype} of {n} from {skip}, seed {n}"
        assert not room[:skip].any() and not room[skip + n:].any(), "stored outside the result"


def test_several_results_and_strides(monkeypatch):
    monkeypatch.setattr(streaming, "WORTH", 1)
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((70, 333)).astype(np.float32), rng.standard_normal(333).astype(np.float32)
    total, less = expression(dt.float32)(x, y)
    monkeypatch.undo()
    want, want_less = kernels.elementwise("near", (dt.float32,) * 2, (dt.float32, dt.bool_), expression(dt.float32).build)(x, y)
    assert total.tobytes() == want.tobytes() and np.array_equal(less, want_less)


def kernel_of(role="out", stride=1):
    k = KernelBuilder("k")
    k.parallel("i", "n")
    k.input("x", dt.float32, (1,))
    k.output("y", dt.float32, (stride,))
    with k.point():
        k.store(k.load("x"), "y")
    kernel = k.build()
    return replace(kernel, buffers=(kernel.buffers[0], replace(kernel.buffers[1], role=role)))


def test_only_large_write_only_results_are_streamed():
    threshold = streaming.WORTH // 4
    assert suited(kernel_of(), [threshold]) is STREAMING
    assert suited(kernel_of(), [threshold - 1]) is None
    assert suited(kernel_of("inout"), [threshold]) is None
    assert suited(kernel_of(stride="s"), [threshold]) is None


def test_traced_results_are_streamed_and_updates_are_not(monkeypatch):
    monkeypatch.setattr(streaming, "WORTH", 1 << 16)
    used = []
    real = plan_runner.kernel_call
    monkeypatch.setattr(plan_runner, "kernel_call", lambda lowered: used.append(lowered.strategy) or real(lowered))
    x = ingot.tensor(np.random.default_rng(4).standard_normal(70_000).astype(np.float32))
    fresh = jit.trace(lambda x: x * 2 + ingot.exp(x))
    want = fresh(x).numpy()
    assert fresh(x).numpy().tobytes() == want.tobytes() and used[-1] is STREAMING

    @jit.trace
    def update(x):
        x.mul_(3.0)

    y = x.clone()
    update(y)
    update(y)
    assert used[-1] is None, "a kernel that writes where it reads stores in the cache"
    assert np.array_equal(y.numpy(), x.numpy() * np.float32(3) * np.float32(3))
