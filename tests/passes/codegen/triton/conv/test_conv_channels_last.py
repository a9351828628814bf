"""Convolutions on GPUs that make few channels of many: the last layers of decoders, gradients of pictures. Values beside the
CPU, and which kernels ran.
"""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.nn import functional as F
from ingot.passes.codegen.triton.conv import conv_channels_last as text
from ingot.runtime.backends import cudnn

FORWARD = {"plain": ((2, 64, 7, 6), (3, 64, 3, 3), {"padding": 1}), "strided": ((2, 64, 9, 7), (21, 64, 3, 3), {"stride": 2}),
           "many": ((1, 64, 5, 4), (70, 64, 2, 2), {}), "a line": ((2, 64, 30), (1, 64, 5), {"padding": 2})}
BACK = {"plain": ((2, 3, 7, 6), (64, 3, 3, 3), {"padding": 1}),
        "strided": ((2, 3, 9, 8), (64, 3, 5, 5), {"padding": 2, "stride": 2}),
        "skipping": ((1, 3, 8, 8), (64, 3, 2, 1), {"stride": 3}), "a line": ((2, 5, 33), (64, 5, 4), {"stride": 2}),
        "far apart": ((1, 2, 9, 9), (64, 2, 3, 3), {"padding": 2, "dilation": 2})}
ROOM = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-3}


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Small images are turned, too."""
    monkeypatch.setattr(text, "LEAST", 0)
    monkeypatch.setattr(cudnn, "allow_tf32", True)


def of(case, dtype, rows=0):
    """(the function, arrays of a case and `rows` numbers)."""
    x, w, params = case
    random = np.random.default_rng(21)
    arrays = [ingot.tensor(random.standard_normal(s) / n).to(getattr(ingot, dtype)) for s, n in ((x, 1), (w, 20), ((rows,), 1))]
    return {3: F.conv1d, 4: F.conv2d}[len(x)], params, arrays


def near(got, want, dtype):
    got, want = (t.detach().cpu().double().numpy() for t in (got, want))
    np.testing.assert_allclose(got, want, rtol=ROOM[dtype], atol=ROOM[dtype] * np.abs(want).max())


@pytest.mark.parametrize("dtype", ROOM)
@pytest.mark.parametrize("case", FORWARD)
def test_forward_and_epilogues(case, dtype):
    f, params, (x, w, b) = of(FORWARD[case], dtype, FORWARD[case][1][0])

    def work(x, w, b):
        return F.relu(f(x, w, b, **params) * 2)

    want = work(x, w, b)
    with mock_cuda.installed() as cuda:
        given = [t.cuda() for t in (x, w, b)]
        near(work(*given), want, dtype)
        traced = jit.trace(work)
        for _ in range(2):
            near(traced(*given), want, dtype)
        names = {one["name"] for one in cuda.launches}
    assert any(n.startswith("conv_last_bias") for n in names) and any("epilogue" in n for n in names), names


@pytest.mark.parametrize("dtype", ROOM)
@pytest.mark.parametrize("case", BACK)
def test_gradients_of_images(case, dtype):
    f, params, (x, w, _) = of(BACK[case], dtype)
    want, = ingot.autograd.grad(f(x.requires_grad_(), w, **params).square().sum(), x)
    with mock_cuda.installed() as cuda:
        y = x.detach().cuda().requires_grad_()
        got, = ingot.autograd.grad(f(y, w.cuda(), **params).square().sum(), y)
        near(got, want, dtype)
        names = {one["name"] for one in cuda.launches}
    mark = "conv_rows_back_turned" if "stride" in params else "conv_last_back"
    assert any(n.startswith(mark) for n in names) and not any("phase_grad" in n or "input_grad" in n for n in names), names
