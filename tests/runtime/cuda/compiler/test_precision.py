"""How float32 is multiplied on a device: switches as PyTorch has them, for products and for convolutions, also of graphs."""

import subprocess
import sys

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.backends import cudnn
from ingot.runtime.cuda.compiler import precision

F = ingot.nn.functional
CONVOLUTIONS = {
    "3x3": lambda x, w: F.conv2d(x, w, padding=1),
    "strided": lambda x, w: F.conv2d(x, w, stride=2, padding=1),
    "a pixel": lambda x, w: F.conv2d(x, w[:, :, :1, :1]),
    "transposed": lambda x, w: F.conv_transpose2d(x, w),
}


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed() as mock:
        yield mock


CUT = 2.0 ** -9         # the share of a product that is lost where both factors are cut to ten bits after the first


@pytest.fixture
def queried(monkeypatch):
    """The switches that were looked at: what decides how kernels multiply."""
    found = []
    for name in ("of_products", "of_convolutions", "of_recurrent"):
        def logged(name=name, of=getattr(precision, name)):
            found.append((name, of()))
            return of()

        monkeypatch.setattr(precision, name, logged)
    return found


def image_and_filters():
    rng = np.random.default_rng(5)
    return [ingot.tensor(rng.standard_normal(s).astype("f")).cuda().requires_grad_() for s in ((2, 8, 6, 6), (8, 8, 3, 3))]


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_ask_their_own_switch(name, allowed, queried):
    """Forward and backward; that of products says the opposite."""
    ingot.backends.cuda.matmul.allow_tf32 = not allowed
    try:
        with cudnn.flags(allow_tf32=allowed):
            x, w = image_and_filters()
            CONVOLUTIONS[name](x, w).square().sum().backward()
    finally:
        ingot.backends.cuda.matmul.allow_tf32 = False
    ways = {way for what, way in queried if what == "of_convolutions"}
    assert ways == {"tf32" if allowed else "ieee"} and not [what for what, _ in queried if what == "of_products"]
    want = [t.detach().cpu().requires_grad_() for t in image_and_filters()]
    CONVOLUTIONS[name](*want).square().sum().backward()
    for t, u in zip((x, w), want):
        room = (2 * CUT if allowed else 1e-6) * u.grad.abs().max().item()          # a convolution of what one has made
        np.testing.assert_allclose(t.grad.cpu().numpy(), u.grad.numpy(), rtol=0, atol=room)


@pytest.mark.parametrize("allowed", [False, True])
def test_products_ask_theirs(allowed, queried):
    before = ingot.get_float32_matmul_precision()
    ingot.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        x = ingot.randn(16, 16, device="cuda")
        x @ x
    finally:
        ingot.set_float32_matmul_precision(before)
    assert set(queried) == {("of_products", "tf32" if allowed else "ieee")}


def test_a_graph_is_taken_anew_when_a_switch_changes(cuda):
    x, w = (t.detach() for t in image_and_filters())
    f = jit.trace(lambda x, w: F.relu(F.conv2d(x, w)).sum(0))

    def spent():
        before = len(cuda.launches), cuda.calls.get("cuGraphLaunch", 0)
        got = f(x, w)
        return len(cuda.launches) - before[0], cuda.calls.get("cuGraphLaunch", 0) - before[1], got.sum().item()

    _, _, want = [spent() for _ in range(5)][-1]
    assert spent()[1] == 1
    with cudnn.flags(allow_tf32=True):
        runs = [spent() for _ in range(5)]
    assert runs[0][1] == 0 and runs[-1][1] == 1, "the graph of before ran"
    room = CUT * F.conv2d(x.abs(), w.abs()).sum().item()
    assert all(abs(value - want) < room for *_, value in runs)


def test_convolutions_take_tf32_by_default():
    code = "import ingot; print(ingot.backends.cudnn.allow_tf32, ingot.backends.cuda.matmul.allow_tf32)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["True", "False"]
