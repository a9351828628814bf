"""Scans along rows on GPUs, executed on numpy through the mock driver."""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot.runtime.cuda.graph import eager
from ingot.runtime.cuda.ops.index import scans


@pytest.fixture
def on_device(monkeypatch):
    """Operators must not run on the host here."""
    monkeypatch.setattr(eager, "on_host", lambda op, *rest: pytest.fail(f"{op.name} ran on the host"))


SCANS = [(name, dtype) for name in ("cummax", "cummin", "logcumsumexp") for dtype in ("float32", "float64", "bfloat16")]
SCANS += [(name, dtype) for name in ("cummax", "cummin") for dtype in ("int64", "int8", "uint8", "bool")]


@pytest.mark.parametrize("parts", [False, True], ids=["rows", "parts"])
@pytest.mark.parametrize("name, dtype", SCANS)
def test_scans_along_rows(name, dtype, parts, on_device, monkeypatch):
    """Rows of any length, at once or in parts, with ties, infinities from the start on, and what is no number."""
    for what, n in (("PART", 16), ("LONG", 40), ("FEW", 5), ("_TILE", 8), ("_MOST_PARTS", 4)) if parts else ():
        monkeypatch.setattr(scans, what, n)
    for shape in ((1,), (100,), (3, 41), (2, 2, 64), (6, 50), (2, 1100)):
        random = np.random.default_rng([13, *shape])
        values = random.integers(-3, 4, shape).astype(np.float64)
        if "float" in dtype:
            values.reshape(-1)[:shape[-1] // 3] = np.inf if name == "cummin" else -np.inf
            values.reshape(-1)[-shape[-1] // 5:-1:7] = np.nan if name[0] == "c" else -0.0
        x = ingot.tensor(np.abs(values) if dtype in ("uint8", "bool") else values).to(getattr(ingot, dtype))
        with mock_cuda.installed() as cuda:
            got = getattr(x.cuda(), name)(-1)
            got = tuple([t.cpu() for t in (got if name[0] == "c" else (got,))])
            names = [one["name"].rpartition("_")[2] for one in cuda.launches]
        assert names == (["ends", "parts"] if parts and shape in ((100,), (3, 41), (2, 2, 64), (2, 1100)) else ["rows"])
        if name[0] == "c":
            for a, b in zip(got, getattr(x, name)(-1)):
                np.testing.assert_array_equal(a.double().numpy(), b.double().numpy(), f"{shape}")
        else:
            want, room = np.logaddexp.accumulate(x.double().numpy(), -1), {"bfloat16": 4e-3, "float64": 1e-13}.get(dtype, 1e-6)
            np.testing.assert_allclose(got[0].double().numpy(), want, rtol=room, atol=room, err_msg=f"{shape}")


def test_the_linear_recurrence_goes_down_columns(on_device, monkeypatch):
    """Rows that are many are turned, so that lanes beside each other read neighbours."""
    scanned, dims = scans._scanned, []
    monkeypatch.setattr(scans, "_scanned", lambda *arguments: (dims.append(arguments[-1]), scanned(*arguments)))
    for shape, dim in (((40, 17), 0), ((5, 17), 1), ((64, 1), 1), ((4, 9, 8), 0)):
        x = ingot.tensor(np.random.default_rng(5).standard_normal(shape)).requires_grad_()
        with mock_cuda.installed():
            y = x.detach().cuda().requires_grad_()
            dims.clear()
            y.cumprod(-1).sum().backward()
            got = y.grad.cpu()
        x.cumprod(-1).sum().backward()
        np.testing.assert_allclose(got.numpy(), x.grad.numpy(), rtol=1e-13, atol=1e-13)
        assert dims == [dim]


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "bfloat16", "complex64"])
def test_nonzero_goes_row_by_row_in_any_layout(dtype):
    x = (ingot.arange(35).reshape(5, 7) % 3).to(getattr(ingot, dtype))
    with mock_cuda.installed():
        for turn in (lambda t: t, lambda t: t.T.clone(), lambda t: t.T, lambda t: t[:, ::2]):
            assert ingot.nonzero(turn(x.cuda())).tolist() == np.argwhere(turn(x).bool().numpy()).tolist()
