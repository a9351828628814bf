"""Every operator on a CUDA device gives what it gives on the CPU: over the table of samples, on a mock device where there is no
real one (kernels then run on numpy, with bounds and write races checked). `make test-gpu` runs the same on the real device.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot.ir import dtype as dt
from ingot.ir.opdef.op import OPS
from ingot.ir.ops.core.host_call import host_call
from ingot.runtime.core.tensor import Tensor, wrap
from ingot.runtime.cuda import backend
from ingot.runtime.cuda.graph import eager
from samples import (
    SAMPLES,
    rows,
    table,
)

REAL = ingot.cuda.is_available()
NAMES = sorted(n for n in SAMPLES if OPS[n] is not host_call and "place" not in OPS[n].traits)
FLOATS = ("float32", "float64", "float16", "bfloat16")
EVERY = {"float": FLOATS, "number": (*FLOATS, "int64", "int32"), "int": ("int64", "int32", "uint8"),
         "any": (*FLOATS, "int64", "bool"), "integral": ("int64", "int8", "bool")}
BRIEFLY = {"float": ("float32",), "number": ("float32", "int64"), "int": ("int64",), "any": ("float32", "bool"),
           "integral": ("int32",)}
TOLERANCE = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-11, np.dtype(np.float16): 4e-3, np.dtype(np.complex64): 2e-5}


ON_HOST = set(re.findall(r"`(\w+)`", (Path(ingot.__file__).parent / "docs/gpu.md").read_text().split("| family |")[1]))
OF_THE_CPU = re.compile(r"pack_|(.*_blocked$)|recurrent_packed|later|in_range")      # of graphs of the CPU alone
AS_WELL = {"conv", "eigh", "eigvalsh", "pinv", "svd", "svdvals"}      # some of them


def test_an_operator_is_listed_once():
    listed = [op.name for family in backend.FAMILIES for op in family.OPERATORS]
    assert len(listed) == len(set(listed))


@pytest.fixture
def on_host(monkeypatch):
    """The names of operators that the host computes, of anything."""
    found, compute = set(), eager.on_host

    def logged(op, inputs, params, device):
        if all(0 not in x.shape for x in inputs if hasattr(x, "shape")):
            found.add(op.name)
        return compute(op, inputs, params, device)

    monkeypatch.setattr(eager, "on_host", logged)
    return found


@pytest.fixture(scope="module", autouse=True)
def device():
    if REAL:
        yield
        return
    with mock_cuda.installed():
        yield


def tensors(args, where):
    def one(a):
        if isinstance(a, np.ndarray) and a.dtype != np.uint64:
            return wrap(a).to(where)
        return wrap(a) if isinstance(a, np.ndarray) else a

    return [one(a) for a in args]


def results(op, args, params):
    out = op(*args, **params)
    return [t.detach().cpu().numpy() for t in (out if isinstance(out, tuple) else (out,))]


def compare(name, sample, kind):
    op = OPS[name]
    args = sample.cast(dt.by_name(kind))
    if not any(isinstance(a, np.ndarray) for a in args):
        return
    want = results(op, tensors(args, "cpu"), sample.params)
    got = results(op, tensors(args, "cuda"), sample.params)
    assert len(want) == len(got)
    for w, g in zip(want, got):
        assert g.dtype == w.dtype and g.shape == w.shape, f"{name} {kind}: {g.dtype}{g.shape}, expected {w.dtype}{w.shape}"
        if w.dtype.kind in "biu":
            np.testing.assert_array_equal(g, w, err_msg=f"{name} {kind}")
            continue
        tolerance = TOLERANCE.get(w.dtype, 2e-2)
        wide = np.complex128 if w.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(g.astype(wide), w.astype(wide), rtol=tolerance, atol=tolerance, err_msg=f"{name} {kind}")


@pytest.mark.drawn
@pytest.mark.parametrize("name", NAMES)
def test_device_equals_cpu(name, on_host):
    """One or two dtypes each; the slow and the GPU run take all. What the host computes is what docs/gpu.md says."""
    for sample in rows(name):
        for kind in BRIEFLY.get(sample.dtypes, sample.dtypes):
            compare(name, sample, kind)
    on_host = {n for n in on_host if not OF_THE_CPU.match(n)}
    assert on_host <= ON_HOST, "a kernel, or a line in docs/gpu.md"
    assert (name in on_host) or name not in ON_HOST - AS_WELL, "docs/gpu.md says that the host computes it"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_device_equals_cpu_in_every_dtype(name):
    for sample in rows(name):
        for kind in EVERY.get(sample.dtypes, sample.dtypes):
            compare(name, sample, kind)


def test_the_table_is_not_empty():
    assert table is not None and len(NAMES) > 200 and issubclass(ingot.nn.Parameter, Tensor)
