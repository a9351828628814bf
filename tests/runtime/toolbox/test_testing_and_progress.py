"""Progress bars, summaries, comparison of tensors, random tensors."""

import io
import sys

import numpy as np
import pytest

import ingot
from ingot import nn, testing
from ingot.utils import progress

# Progress.


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_quiet_without_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar = progress([1, 2, 3], "epoch")
    assert list(bar) == [1, 2, 3] and len(bar) == 3 and sys.stderr.getvalue() == ""
    bar.update(loss=ingot.tensor(0.12345))
    assert bar.text() == "loss 0.1235"


def test_progress_shows_count_and_numbers(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    bar = progress(ingot.utils.data.DataLoader(range(6), batch_size=2), "epoch 1", refresh=0.0)
    for i, _ in enumerate(bar):
        bar.update(loss=1.0 / (i + 1), seen=i)
    shown = sys.stderr.getvalue()
    for part in ("epoch 1", "3/3", "loss 0.3333", "seen 2"):
        assert part in shown, shown
    assert list(progress(iter("ab"), total=2, disable=True)) == ["a", "b"]


# Summaries.


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(8 * 16, 10))
        self.unused = nn.Linear(2, 2)

    def forward(self, x, scale=1.0):
        return self.head(self.norm(self.conv(x)).relu() * scale)


def test_summary_counts_parameters_and_operations():
    net = Net()
    net.norm.weight.requires_grad_(False)
    s = nn.summary(net, ingot.randn(2, 3, 4, 4))
    rows = {r.name or "net": r for r in s.rows}
    assert rows["conv"].output == "[2, 8, 4, 4]" and rows["conv"].flops == 2 * (2 * 8 * 16) * 27
    assert rows["2"].flops == 2 * 2 * 10 * 128 and rows["2"].params == 1290 and rows["head"].params == 0
    assert s.params == 224 + 16 + 1290 + 6 and s.trainable == s.params - 8 and s.buffers == 17
    assert s.flops >= rows["conv"].flops + rows["2"].flops and rows["unused"].calls == 0
    text = str(s)
    assert "conv: Conv2d" in text and "not called" in text and "1,536 (1,528 trainable" in text


def test_summary_of_a_model_that_reads_values():
    class Halving(nn.Module):
        def forward(self, x):
            while x.abs().max().item() > 1.0 and bool(x.isfinite().all()):
                x = x / 2
            return x[: int(x.shape[0])].tolist()[0][0] * x

    assert "Halving" in str(nn.summary(Halving(), ingot.full((2, 3), 5.0)))


def test_summary_leaves_no_trace():
    net, x = Net(), ingot.randn(2, 3, 4, 4)
    net.head.eval()
    ingot.manual_seed(4)
    before = ingot.get_rng_state(), net.norm.running_mean.clone()
    nn.summary(net, (x,), scale=2.0, train=True)
    assert ingot.equal(ingot.get_rng_state(), before[0]) and net.training and not net.head.training
    nn.summary(net, x)
    assert not net._hooks and not ingot.jit.trace(lambda v: v + 1)(x).requires_grad
    with pytest.raises(RuntimeError, match=r"channels|takes"):
        nn.summary(net, ingot.randn(2, 1, 4, 4))
    assert (ingot.ones(2) + 1).tolist() == [2, 2] and net.training


def test_summary_levels_and_recurrence():
    s = nn.summary(Net(), ingot.randn(1, 3, 4, 4), depth=1)
    assert [r.name for r in s.rows] == ["", "conv", "norm", "head", "unused"]
    assert {r.name: r.params for r in s.rows}["head"] == 1290 and sum(r.params for r in s.rows) == s.params
    lstm = nn.summary(nn.LSTM(8, 16, num_layers=2), ingot.randn(5, 2, 8))
    assert lstm.rows[0].output == "[5, 2, 16], [2, 2, 16], [2, 2, 16]"
    products = 2 * 5 * 2 * 64 * (8 + 16 + 16 + 16)
    assert products <= lstm.flops < products * 1.2
    shared = nn.Linear(3, 3)
    twice = nn.summary(nn.Sequential(shared, shared), ingot.randn(1, 3))
    assert twice.params == 12 and twice.rows[1].calls == 2


# Comparing and making tensors.


def test_assert_close_accepts_close_values():
    t = ingot.tensor([1.0, 2.0])
    testing.assert_close(t, t + 1e-7)
    testing.assert_close(ingot.tensor([np.inf, -np.inf]), ingot.tensor([np.inf, -np.inf]))
    testing.assert_close(1, 1.0)
    testing.assert_close({"a": [t, (1, 2)], "b": None}, {"a": [t, (1, 2)], "b": None})
    testing.assert_close(t.bfloat16(), (t * 1.003).bfloat16())
    testing.assert_close(ingot.tensor(np.nan), ingot.tensor(np.nan), equal_nan=True)
    testing.assert_close(t, t.double(), check_dtype=False)
    testing.assert_close(ingot.tensor([2 ** 60]), ingot.tensor([2 ** 60]))


@pytest.mark.parametrize("a, b, options, message", [
    ([1.0, 2.0], [1.0, 2.5], {}, r"Mismatched elements: 1 / 2 \(50.0%\)[\s\S]*0.5 at index \(1,\)"),
    ([1.0], [[1.0]], {}, "'shape' do not match"),
    ([1], [1.0], {}, "'dtype' do not match"),
    ([1, 2 ** 53 + 1], [1, 2 ** 53], {}, "not equal"),
    ([np.nan], [np.nan], {}, "not close"),
    (1.0, 1.1, {}, "Expected 1.1 but got 1.0"),
    ([np.inf], [1.0], {}, "not close"),
    ([1.0], [1.5], {"msg": "my words"}, "^my words$"),
    ([1.0], [1.5], {"msg": lambda m: "prefix " + m}, "^prefix Tensor-likes"),
])
def test_assert_close_describes_differences(a, b, options, message):
    a, b = (ingot.tensor(v) if isinstance(v, list) else v for v in (a, b))
    with pytest.raises(AssertionError, match=message):
        testing.assert_close(a, b, **options)


def test_assert_close_names_the_place():
    with pytest.raises(AssertionError, match=r"for item \['x'\]\[1\]"):
        testing.assert_close({"x": [1, 2]}, {"x": [1, 3]})
    with pytest.raises(AssertionError, match="length"):
        testing.assert_close([1], [1, 2])
    with pytest.raises(AssertionError, match="keys"):
        testing.assert_close({"a": 1}, {"b": 1})
    with pytest.raises(ValueError, match="both"):
        testing.assert_close(1, 1, rtol=1)
    with pytest.raises(TypeError, match="compares tensors"):
        testing.assert_close(object(), 1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8", "bool", "complex64"])
def test_make_tensor(dtype):
    ingot.manual_seed(0)
    t = testing.make_tensor(30, 4, dtype=getattr(ingot, dtype))
    assert t.shape == (30, 4) and t.dtype is getattr(ingot, dtype)
    if dtype in ("float32", "int64"):
        t = testing.make_tensor((200,), dtype=t.dtype, low=2, high=5)
        assert t.min() >= 2 and t.max() < 5
    rows = testing.make_tensor((3, 4), dtype=t.dtype, noncontiguous=True)
    assert rows.shape == (3, 4) and not rows.is_contiguous()
    assert (testing.make_tensor((100,), dtype=t.dtype, exclude_zero=True) != 0).all()
    with pytest.raises(ValueError, match="low < high"):
        testing.make_tensor(1, dtype=ingot.float32, low=1, high=1)
    assert testing.make_tensor(2, dtype=ingot.float32, requires_grad=True).requires_grad


def test_dlpack_names():
    from ingot.utils.dlpack import from_dlpack, to_dlpack
    t = ingot.ones(3)
    back = from_dlpack(to_dlpack(t))
    back[0] = 5
    assert t.tolist() == [5, 1, 1]
