"""Convolutions, pools and batch norm in native calls give the bits of their eager kernels; kernel digests on disk."""

import os
import subprocess
import sys

import numpy as np
import pytest

from ingot.ir import config
from ingot.ir import dtype as dt
from ingot.ir.errors import ShapeError
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import OPS
from ingot.ir.target import host
from ingot.passes.codegen.llvm.conv.batch_norm import TRAIN, BatchNormKernel
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.compiler import ir_cache
from ingot.runtime.cpu.conv import blocked, conv, conv_gradients
from ingot.runtime.cpu.graph.program import CompiledGraph

PLAIN = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1}
STRIDED = {"stride": (2, 1), "padding": ((1, 0), (2, 1)), "dilation": (1, 2), "groups": 1}
POOL = {"kernel": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1)), "dilation": (1, 1)}
NORM = {"eps": 1e-5}
CASES = [
    ("conv", [(2, 5, 9, 8), (32, 5, 3, 3), (32,)], PLAIN),
    ("conv", [(2, 5, 9, 8), (7, 5, 3, 3), None], PLAIN),
    ("conv", [(2, 32, 12, 12), (48, 32, 3, 3), None], PLAIN),                       # Winograd
    ("conv", [(1, 20, 9, 9), (20, 1, 3, 3), None], PLAIN | {"groups": 20}),         # depthwise
    ("conv", [(2, 6, 9, 8), (32, 3, 3, 3), None], STRIDED | {"groups": 2}),
    ("conv", [(1, 3, 9, 8), (32, 3, 3, 3), (32,)], STRIDED),                        # planes read in place
    ("conv_input_grad", [(2, 7, 9, 8), (7, 5, 3, 3)], PLAIN | {"size": (9, 8)}),
    ("conv_weight_grad", [(2, 5, 9, 8), (2, 7, 9, 8)], PLAIN | {"size": (3, 3)}),
    ("max_pool", [(2, 3, 9, 8)], POOL),
    ("batch_norm", [(3, 4, 5, 6), (4,), (4,), (4,), (4,)], NORM),
    ("batch_norm_train", [(3, 4, 5, 6), (4,), (4,)], NORM),
    ("batch_norm_train", [(3, 4, 5, 6), None, None], NORM),
    ("batch_norm_relu_train", [(3, 4, 5, 6), (4,), None], NORM),
    ("batch_norm_grad", [(3, 4, 5, 6), (4,), (4,), (3, 4, 5, 6), (4,), (4,), (4,)], NORM),
    ("batch_norm_relu_grad", [(3, 4, 5, 6), (3, 4, 5, 6), (4,), (4,), (3, 4, 5, 6), None, (4,), (4,)], NORM),
]


def graph_of(name, avals, params):
    b = Builder("g")
    values = [None if a is None else b.input(f"x{i}", a) for i, a in enumerate(avals)]
    found = b.call(OPS[name], *values, **params)
    return b.finish(found if type(found) is tuple else [found])


@pytest.mark.parametrize("kind", [dt.float32, dt.float64], ids=str)
@pytest.mark.parametrize("name, shapes, params", CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_prepared_steps_give_the_bits_of_eager_kernels(name, shapes, params, kind):
    rng = np.random.default_rng(8)
    arrays = [None if s is None else rng.uniform(0.1, 1, s).astype(kind.np) for s in shapes]
    want = kernel_of(OPS[name])(*arrays, **params)
    compiled = CompiledGraph(graph_of(name, [None if s is None else Aval(s, kind) for s in shapes], params), kernel_of)
    assert compiled.is_native
    got = compiled.run([a for a in arrays if a is not None])
    for a, b in zip(want if type(want) is tuple else (want,), got, strict=True):
        assert a.dtype == b.dtype and (a == b).all(), f"{name} {shapes} {kind}: off by {np.abs(a - b).max()}"


def test_wrong_indices_are_an_error_in_native_calls():
    avals = [Aval((2, 3, 4), dt.float32), Aval((2, 3, 4), dt.int64)]
    compiled = CompiledGraph(graph_of("plane_put", avals, {"size": (6,), "accumulate": True}), kernel_of)
    x, places = np.ones((2, 3, 4), np.float32), np.zeros((2, 3, 4), np.int64)
    assert compiled.is_native
    assert compiled.run([x, places])[0].sum() == 24
    places[1, 2, 3] = 6
    with pytest.raises(ShapeError, match="outside of a plane"):
        compiled.run([x, places])


def test_digests_of_texts_are_cached_on_disk(tmp_path):
    kernel = BatchNormKernel(host(), TRAIN, "float", True)
    written = []

    class Counted(BatchNormKernel):
        def text(self):
            written.append(1)
            return super().text()

    with config.override(cache_dir=str(tmp_path)):
        counted = Counted(host(), TRAIN, "float", True)
        digest = ir_cache.digest_of(kernel.text())
        assert [ir_cache.text_of(counted).digest for _ in range(3)] == [digest] * 3
        assert len(written) == 1
        assert str(ir_cache.text_of(counted)) == kernel.text()
        assert len(written) == 2
        files = list(tmp_path.rglob("*.sum"))
        assert len(files) == 1
        files[0].write_bytes(files[0].read_bytes()[:-7])          # a damaged file counts as none
        assert ir_cache.text_of(counted).digest == digest
        assert len(written) == 3
        assert ir_cache.text_of(Counted(host(), TRAIN, "double", True)).digest != digest


def test_digests_are_shared_between_processes():
    kernel = "BatchNormKernel(cpu('x86-64-v4', ['avx512bf16', 'avx512vnni', 'amx-tile', 'fma4']), TRAIN, 'float', True)"
    code = ("from ingot.ir.target import cpu; from ingot.runtime.cpu.compiler import ir_cache as texts; "
            "from ingot.passes.codegen.llvm.conv.batch_norm import BatchNormKernel, TRAIN; "
            f"print(texts.text_of({kernel})._key)")
    keys = {subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, stdout=subprocess.PIPE,
                           check=True).stdout for seed in "1234"}
    assert len(keys) == 1


@pytest.mark.parametrize("w, window", [((7, 5, 3, 3), PLAIN), ((32, 3, 3, 3), STRIDED | {"groups": 2}), ((48, 32, 1, 1), PLAIN),
                                       ((20, 1, 3, 3), PLAIN | {"groups": 20}), ((6, 4, 2, 5), STRIDED)])
def test_weights_of_input_gradients_are_packed_alike_for_images_of_any_size(w, window):
    asked = Aval(w, dt.float32)
    plans = {blocked.flipped_plan(asked, {**window, "size": size, "kernel": ("direct",)})
             for size in ((5, 4), (9, 8), (64, 51))}
    assert len(plans) == 1
    (convolution, algorithm), made = plans.pop(), []
    weight = np.random.default_rng(0).standard_normal(w).astype(np.float32)
    for size in (convolution[1], (9, 8)):
        flipped = conv_gradients.flipped_weight((w, size, *convolution[2:]), 1)
        made.append(np.zeros(flipped.size // 4, np.float32))
        conv_gradients.pack_plan((w, size, *convolution[2:]), algorithm, 1)(weight, weight, made[-1])
    assert np.array_equal(*made)


def test_empty_stride_phases_change_the_packed_weight():
    asked = Aval((6, 4, 2, 5), dt.float32)
    params = {**STRIDED, "kernel": ("direct",)}
    assert blocked.flipped_plan(asked, params | {"size": (1, 8)}) != blocked.flipped_plan(asked, params | {"size": (9, 8)})


def test_plans_of_windows_of_one_pixel_share_their_products():
    window = ((1, 1), ((0, 0), (0, 0)), (1, 1), 1, np.dtype(np.float32), conv.state())
    small, large = (conv.forward_plan((1, 16, n, n), (8, 16, 1, 1), *window) for n in (16, 20))
    assert type(small) is conv.Pointwise and small.product is large.product and small.plain is large.plain


OTHER_SIZES = {                 # operators that read or write a packed weight, by kernels with this machine's lanes
    "pack_filters": lambda rng, kernel: (
        (rng.standard_normal((16, 8, 3, 3)),), {"kernel": kernel, "size": 16 * 8 * 9 + 1}),
    "pack_turned": lambda rng, kernel: (
        (rng.standard_normal((16, 8, 3, 3)),), {**PLAIN, "kernel": kernel, "size": (6, 5), "elements": 16 * 8 * 9 + 1}),
    "conv_blocked": lambda rng, kernel: (
        (rng.standard_normal((2, 1, 6, 5, kernel[3])), rng.standard_normal(16 * kernel[3] * 9 + 1)),
        {**PLAIN, "filters": (16, kernel[3], 3, 3), "lanes": kernel[3], "in_blocks": True, "kernel": kernel, "epilogue": ()}),
    "conv_input_grad_blocked": lambda rng, kernel: (
        (rng.standard_normal((2, 1, 6, 5, kernel[3])), rng.standard_normal(kernel[3] * 8 * 9 + 1)),
        {**PLAIN, "filters": (kernel[3], 8, 3, 3), "size": (6, 5), "lanes": kernel[3], "kernel": kernel, "epilogue": ()}),
}


@pytest.mark.parametrize("kind", [dt.float32, dt.float64], ids=str)
@pytest.mark.parametrize("name", OTHER_SIZES)
def test_packed_weights_of_another_size_are_those_of_the_reference(name, kind):
    lanes = host().lanes(kind.itemsize)
    arrays, params = OTHER_SIZES[name](np.random.default_rng(3), ("direct", 1, True, lanes))
    arrays = [a.astype(kind.np) for a in arrays]
    want = OPS[name].ref(*arrays, **params)
    np.testing.assert_allclose(kernel_of(OPS[name])(*arrays, **params), want, rtol=1e-4)
    compiled = CompiledGraph(graph_of(name, [Aval(a.shape, kind) for a in arrays], params), kernel_of)
    assert not compiled.is_native
    np.testing.assert_allclose(compiled.run(arrays)[0], want, rtol=1e-4)
