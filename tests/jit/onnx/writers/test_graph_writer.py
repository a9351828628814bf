"""`to_onnx` operator by operator: over the table of samples, ONNX Runtime and `from_onnx` give what eager gives.

Every operator either has a model that agrees in all its samples, or is in the list of those without a counterpart, and then is
refused by name with the user's line.
"""

import os

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx package")

import ingot
from ingot import nn
from ingot.ir import dtype as dt
from ingot.ir.errors import ArgumentError
from ingot.ir.opdef.op import OPS
from ingot.jit import ExportError, from_onnx, to_onnx
from ingot.runtime.core.tensor import wrap
from samples import (
    SAMPLES,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)

# Operators without ONNX equivalent (versions 17 to 22) or a body of others: linear algebra, special functions, gradients of
# templates, positions found in data, complex arguments and results, layouts, packed weights and devices that only compiled
# programs use, stored weights.
NO_COUNTERPART = frozenset((
    "airy_ai", "attention_grad", "avg_pool_blocked", "avg_pool_grad_blocked", "batch_norm_grad_blocked",
    "batch_norm_train_blocked", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "binomial", "bitcast", "cholesky",
    "cholesky_ex", "cholesky_solve", "cofactor", "cofactor_slope", "complex", "conj", "conv_blocked", "conv_chain_blocked",
    "conv_input_grad_blocked",
    "conv_last", "conv_last_input_grad", "conv_last_weight_grad",
    "conv_weight_grad_blocked", "ctc_loss", "ctc_loss_grad", "digamma",
    "eig", "eigh", "eigvals", "eigvalsh", "erfinv",
    "fft", "fractional_max_pool", "frexp", "from_blocked", "gamma_slope", "gammainc", "gammaincc", "gcd", "geqrf",
    "host_call", "i0", "i0e", "i1", "i1e", "imag", "in_range", "inv",
    "inv_ex", "irfft", "later", "lcm", "ldl_factor", "ldl_solve",
    "lgamma", "linear_stored",
    "lstsq", "lu_factor", "matrix_sqrth", "max_pool_blocked", "max_pool_grad_blocked", "max_pool_places_blocked",
    "modified_bessel_k0",
    "modified_bessel_k1", "modulus", "nextafter", "nonzero", "of_pairs", "pack_filters", "pack_recurrent", "pack_turned",
    "permutation",
    "packed_image", "pairs", "pinv", "pinv_above", "place", "polar", "polygamma", "polynomial", "qr", "real", "recurrent_int8",
    "recurrent_packed", "repeat_index", "rfft",
    "row_scale", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "slogdet", "solve", "solve_ex",
    "solve_triangular", "spherical_bessel_j0", "svd", "svdvals", "sylvester", "to_blocked", "trigamma", "unpack_weight",
    "zeta"))
# Composites, with the operator of their bodies for which they are refused.
BODIES = {"cholesky_solve": "solve_triangular", "of_pairs": "operator complex"}
EXPORTED = sorted(n for n in SAMPLES if n not in NO_COUNTERPART and "random" not in OPS[n].traits)
DTYPES = {"float": "float32", "any": "float32", "number": "float32", "int": "int64", "integral": "int64"}
RUNTIME_LIMITS = {"max_pool"}       # ONNX Runtime loses nan in one-dimensional maximum pools
HERE = os.path.basename(__file__)


def dtype_of(sample):
    """The dtype in which a sample is exported."""
    if isinstance(sample.dtypes, str):
        return dt.by_name(DTYPES.get(sample.dtypes, sample.dtypes))
    return dt.by_name("float32" if "float32" in sample.dtypes else sample.dtypes[0])


class Once:
    """A function of tensors that calls one operator."""

    def __init__(self, op, args, params):
        self.op, self.args, self.params = op, args, params

    def __call__(self, *xs):
        if not any(isinstance(a, np.ndarray) for a in self.args):
            return self.op(xs[0], *self.args[1:], **self.params)
        given = iter(xs)
        return self.op(*[next(given) if isinstance(a, np.ndarray) else a for a in self.args], **self.params)


def prepared(op, sample):
    """(a function of tensors that calls the operator once, the tensors)"""
    args = sample.cast(dtype_of(sample))
    tensors = [wrap(np.array(a)) for a in args if isinstance(a, np.ndarray)]
    return Once(op, args, sample.params), tensors or [wrap(np.zeros(1, np.float32))]


def listed(x):
    return [t.numpy() for t in (x if isinstance(x, tuple) else (x,))]


def assert_close(got, want, message):
    assert (got.dtype, got.shape) == (want.dtype, want.shape), message
    a, b = [v.astype(np.float64) for v in (got, want)]
    scale = max(1e-3, float(np.abs(b[np.isfinite(b)]).max(initial=0)))
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5 * scale, err_msg=message)


def session(data):
    ort = pytest.importorskip("onnxruntime")
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def exported(name, opset):
    """(what a sample is called, model, tensors, what eager gives) of each sample that the operator set can say."""
    for i, sample in enumerate(rows(name)):
        if isinstance(sample.dtypes, tuple) and dtype_of(sample).is_complex:
            continue
        call, tensors = prepared(OPS[name], sample)
        opset = max(opset, 19) if any(t.dtype in dt.FLOAT8 for t in tensors) else opset
        try:
            data = to_onnx(call, tuple(tensors), opset=opset, verify=False)
        except ExportError as e:
            assert f"operator {name} at " in str(e) and HERE in str(e), e
            continue
        yield f"sample {i} of {name}, version {opset}", data, tensors, listed(call(*tensors))


@pytest.mark.drawn
@pytest.mark.parametrize("name", EXPORTED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_written_models_read_back_with_equal_results(name):
    count = 0
    for message, data, tensors, wanted in exported(name, 18):
        for got, want in zip(listed(from_onnx(data).compute(*tensors)), wanted, strict=True):
            assert_close(got, want, message)
        count += 1
    assert count, f"no sample of {name} could be exported"


@pytest.mark.peer
@pytest.mark.parametrize("name", EXPORTED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_onnx_runtime_gives_what_eager_gives(name):
    """Samples without elements stay out (ONNX Runtime ends the process for some), and bfloat16 and float8, which it does not
    hand out."""
    for message, data, tensors, wanted in exported(name, (18, 17, 20, 22)[len(name) % 4]):
        every = *[t.numpy() for t in tensors], *wanted
        empty = any(0 in a.shape for a in every)
        low = any(a.dtype.name.startswith(("bfloat", "float8")) for a in every)
        if empty or low or (name in RUNTIME_LIMITS and any(np.isnan(a).any() for a in wanted)):
            continue
        s = session(data)
        got = s.run(None, {i.name: t.numpy() for i, t in zip(s.get_inputs(), tensors)})
        for g, want in zip(got, wanted, strict=True):
            assert_close(g, want, message)


@pytest.mark.parametrize("name", sorted(NO_COUNTERPART & set(SAMPLES)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operators_without_counterpart_are_refused_by_name(name):
    refused = 0
    for sample in rows(name):
        call, tensors = prepared(OPS[name], sample)
        try:
            call(*tensors)
        except Exception:
            continue
        try:
            to_onnx(call, tuple(tensors), verify=False)
        except ExportError as e:
            refused += 1
            assert name in str(e) or BODIES.get(name, "host function") in str(e), e
            assert HERE in str(e), e
    assert refused or name == "bitcast"


# Programs that a file cannot express are errors with the user's line.


def reads(x):
    return x * 2 if x.sum() > 0 else x


def draws(x):
    return x + ingot.randn_like(x)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", ingot.zeros(()))

    def forward(self, x):
        self.seen += 1
        return x + self.seen


def loops(x):
    return sum(x[i] for i in range(x.shape[0]))


def fixes(x):
    return x.reshape(6) * 2


@pytest.mark.parametrize("opset", [17, 18, 19, 22])
@pytest.mark.parametrize("kind", dt.FLOAT8)
@pytest.mark.parametrize("which", ["made", "given", "passed"])
def test_float8_needs_an_operator_set_that_has_it(which, kind, opset):
    fn, x = {"made": (lambda x: x.to(kind).float() + 1, ingot.ones(3)), "given": (lambda x: x.float(), ingot.ones(3).to(kind)),
             "passed": (lambda x: x, ingot.ones(3).to(kind))}[which]
    if opset >= 19:
        got = from_onnx(to_onnx(fn, x, opset=opset, verify=False)).compute(x)
        assert got.dtype is fn(x).dtype and got.float().tolist() == fn(x).float().tolist()
    else:
        with pytest.raises(ExportError, match=rf"has {kind.name},.*version 19") as e:
            to_onnx(fn, x, opset=opset)
        assert which == "passed" or HERE in str(e.value)


@pytest.mark.peer
def test_groups_follow_their_ends_and_numbers_of_rows():
    w = ingot.rand(3, 4, 2)

    def experts(x, ends):
        return nn.functional.grouped_mm(x, w, offs=ends).relu()

    data = to_onnx(experts, (ingot.rand(6, 4), ingot.tensor([2, 3, 5], dtype=ingot.int32)), dynamic={"x": {0: "tokens"}})
    s = session(data)
    for rows_, ends in ((6, [1, 1, 6]), (9, [0, 4, 7]), (5, [0, 0, 0])):
        x, ends = ingot.rand(rows_, 4), ingot.tensor(ends, dtype=ingot.int32)
        got = s.run(None, dict(zip([i.name for i in s.get_inputs()], (x.numpy(), ends.numpy()))))[0]
        assert_close(got, experts(x, ends).numpy(), "experts")


@pytest.mark.parametrize("fn, dynamic, words", [
    (reads, None, "reads a value"), (draws, None, "random"), (Counts(), None, "writes to"),
    (loops, {"x": {0: "n"}}, "the code uses its value 2"), (fixes, {"x": {0: "n"}}, "fixed by the code")])
def test_refused_with_the_users_line(fn, dynamic, words):
    with pytest.raises(ExportError, match=words) as e:
        to_onnx(fn, ingot.ones(2, 3), dynamic=dynamic)
    assert HERE in str(e.value)


def test_a_model_that_differs_is_an_error(monkeypatch):
    """The comparison with eager is real: a wrong writer does not get through."""
    from dataclasses import replace

    from ingot.ir.ops.core import elementwise as ew
    from ingot.jit.onnx.writers.graph_writer import EMITTERS

    wrong = replace(EMITTERS[ew.add], write=lambda w, item, x, y: w.node("Sub", w.name(x), w.name(y)))
    monkeypatch.setitem(EMITTERS, ew.add, wrong)
    with pytest.raises(ExportError, match="does not give what eager gives"):
        to_onnx(lambda x, y: x + y, (ingot.ones(3), ingot.ones(3)))


@pytest.mark.parametrize("options", [
    {"opset": 12}, {"dynamic": {"y": {0: "n"}}}, {"dynamic": {"x": {5: "n"}}}, {"input_names": ["a", "b"]},
    {"external_data": True}])
def test_wrong_arguments(options):
    with pytest.raises(ArgumentError):
        to_onnx(lambda x: x + 1, ingot.ones(2), **options)
