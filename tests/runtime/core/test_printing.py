"""Printed tensors."""

import numpy as np
import pytest

import ingot

X = ingot.arange(6.0).reshape(2, 3)

EXPECTED = [
    (lambda: ingot.tensor(3), "tensor(3)"),
    (lambda: ingot.tensor(2.5), "tensor(2.5000)"),
    (lambda: X, "tensor([[0., 1., 2.],\n        [3., 4., 5.]])"),
    (lambda: X.double(), "tensor([[0., 1., 2.],\n        [3., 4., 5.]], dtype=ingot.float64)"),
    (lambda: ingot.tensor([1.5, float("nan"), float("-inf")]), "tensor([1.5000,    nan,   -inf])"),
    (lambda: ingot.tensor([1e-4 + 1e-4j, 1e-4]), "tensor([1.0000e-04+1.0000e-04j, 1.0000e-04+0.0000e+00j])"),
    (lambda: ingot.tensor([1e-8, 1.0, 1e8]), "tensor([1.0000e-08, 1.0000e+00, 1.0000e+08])"),
    (lambda: ingot.tensor([True, False]), "tensor([ True, False])"),
    (lambda: ingot.tensor([1, -20], dtype=ingot.int8), "tensor([  1, -20], dtype=ingot.int8)"),
    (lambda: ingot.zeros(0), "tensor([])"),
    (lambda: ingot.zeros(2, 0, dtype=ingot.int64), "tensor([], size=(2, 0), dtype=ingot.int64)"),
    (lambda: ingot.tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
    (lambda: ingot.tensor([1.0], requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward0>)"),
    (lambda: ingot.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (lambda: ingot.tensor([1.5, 2], dtype=ingot.bfloat16), "tensor([1.5000, 2.0000], dtype=ingot.bfloat16)"),
    (lambda: ingot.tensor([1 + 2j, -1j]), "tensor([1.+2.j, -0.-1.j])"),
]


@pytest.mark.parametrize("make, text", EXPECTED, ids=[text[:40] for _, text in EXPECTED])
def test_text(make, text):
    assert repr(make()) == str(make()) == text


def test_long_lines_break_and_large_tensors_are_summarised():
    lines = repr(ingot.arange(30) * 1.5).splitlines()
    assert len(lines) == 4 and max(map(len, lines)) <= 80 and lines[1].startswith("        12.0000")
    assert repr(ingot.zeros(40, 30, 2)).count("...,") == 7
    wide = repr(ingot.ones(8, requires_grad=True).double() * 1.25)
    assert wide.splitlines()[-1].strip() == "dtype=ingot.float64, grad_fn=<MulBackward0>)"


def test_format():
    assert f"{ingot.tensor(2.5):.1f}" == "2.5" and f"{ingot.tensor([1])}" == "tensor([1])"


def test_several_results_have_a_line_each():
    assert repr(ingot.arange(3.0).topk(2)) == (
        "ingot.return_types.topk(\nvalues=tensor([2., 1.]),\nindices=tensor([2, 1]))")
    assert type(ingot.eye(2).max(0)) is ingot.return_types.max
    pair = ingot.linalg.eigh(ingot.eye(2))
    assert repr(pair).startswith("ingot.return_types.eigh(\neigenvalues=tensor([1., 1.]),\neigenvectors=tensor([")


@pytest.fixture
def options():
    yield ingot.set_printoptions
    ingot.set_printoptions(profile="default")


def test_options(options):
    options(precision=2)
    assert repr(ingot.tensor(1.234)) == "tensor(1.23)"
    options(sci_mode=True)
    assert repr(ingot.tensor([1.5])) == "tensor([1.50e+00])"
    options(profile="short", threshold=4)
    assert repr(ingot.arange(10)) == "tensor([0, 1,  ..., 8, 9])"
    with pytest.raises(ValueError, match="profile"):
        options(profile="wide")


@pytest.mark.peer
def test_random_tensors_print_as_the_peers(options):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    for i in range(300):
        shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(0, 4)))
        a = rng.standard_normal(shape) * 10.0 ** rng.integers(-7, 9)
        a = [a, np.round(a), np.where(rng.random(shape) < 0.3, np.nan, a), np.clip(a, -1e9, 1e9).astype(np.int64)][i % 4]
        a = np.asarray(a, np.float32 if i % 3 and a.dtype.kind == "f" else None)
        assert repr(ingot.tensor(a)) == repr(torch.tensor(a)).replace("torch.", "ingot."), f"case {i}"
