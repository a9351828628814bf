"""The operators on the samples that PyTorch publishes for its own tests, in every family of dtypes.

A result must be torch's within the dtype's tolerance, or, element for element where it is not, as near to what float64 gives
as torch's is, or as near as a neighbour in the dtype.
"""

import importlib

import numpy as np
import pytest

import ingot

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")      # torch's module of samples imports it
pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore::UserWarning"),        # torch's, of its own functions
              pytest.mark.filterwarnings("ignore:.*is the old name:DeprecationWarning")]

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool")
TOLERANCES = {"float32": 2e-4, "float64": 1e-7, "float16": 2e-2, "bfloat16": 2e-2}
LAST_BITS = 1e-6                    # of float32, which functions of integers give
SAMPLES = 12

# Results that are random or memory as it was found; kinds of tensors and families that are covered elsewhere.
RANDOM = {"bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "uniform", "rand_like",
          "randn_like", "randint_like", "randn", "randint", "empty", "empty_like", "new_empty", "new_empty_strided",
          "empty_strided", "empty_permuted", "nn.functional.rrelu", "nn.functional.embedding"}
RANDOM_PARTS = ("dropout", "fractional", "multi_head_attention", "scaled_dot_product")
FAMILIES = ("fft.", "masked.", "signal.", "torch.", "sparse.", "_", "jiterator")
# The samples call these by wrappers of torch's own, or there is more than one answer: orders and signs, which triangle counts,
# what a driver leaves out; and torch's own values of Bessel functions are good to 1e-6 for large arguments.
CASTS = {"H", "T", "as_strided", "bfloat16", "bool", "byte", "cdouble", "cfloat", "chalf", "double", "einsum", "float",
         "half", "int", "linalg.eig", "linalg.eigh", "linalg.eigvalsh", "linalg.lstsq", "linalg.pinv", "linalg.vander",
         "long", "mH", "mT", "pca_lowrank", "polygamma", "sgn", "short", "slice", "special.bessel_j0", "special.bessel_y1",
         "special.polygamma", "svd_lowrank", "to_sparse", "where", "zero_"}

# The library chooses which of equal values an index names: values are compared, not indices.
TIES = {"topk", "kthvalue", "sort", "argsort", "mode"}


def operators():
    """(operator's record, our function, dtype) for every operator that both libraries have and each dtype that torch takes."""
    records = importlib.import_module("torch.testing._internal.common_methods_invocations").op_db
    for record in records:
        if record.name in RANDOM | CASTS or record.name.startswith(FAMILIES) or any(p in record.name for p in RANDOM_PARTS):
            continue
        ours = ingot
        for part in record.name.split("."):
            ours = getattr(ours, part, None)
        ours = ours or getattr(ingot.Tensor, record.name, None)
        for dtype in DTYPES if ours is not None else ():
            if getattr(torch, dtype) in record.dtypes:
                name = "-".join(filter(None, (record.name, record.variant_test_name, dtype)))
                yield pytest.param(record, ours, dtype, id=name)


def converted(value, leaf):
    """A sample's value with `leaf` applied to its tensors and dtypes, however deep they lie."""
    if isinstance(value, (torch.Tensor, torch.dtype)):
        return leaf(value)
    if isinstance(value, (list, tuple)):
        return type(value)(converted(v, leaf) for v in value) if type(value) in (list, tuple) else tuple(value)
    return {k: converted(v, leaf) for k, v in value.items()} if isinstance(value, dict) else value


def of_ingot(value):
    """torch's tensor or dtype as ours."""
    if isinstance(value, torch.dtype):
        return getattr(ingot, str(value).split(".")[1])
    plain = value.detach().resolve_conj()
    return (ingot.tensor(plain.float().numpy()).to(ingot.bfloat16) if value.dtype is torch.bfloat16
            else ingot.tensor(plain.numpy().copy()))


def widened(value):
    """A torch tensor in float64, if it holds real numbers."""
    real = isinstance(value, torch.Tensor) and not value.is_complex() and value.dtype is not torch.bool
    return value.double() if real else value


def called(function, sample, leaf=lambda value: value):
    """The function's results on a sample, as a flat list."""
    out = function(*(converted(v, leaf) for v in (sample.input, *sample.args)), **converted(sample.kwargs, leaf))

    def flat(x):
        return [z for y in x for z in flat(y)] if isinstance(x, (tuple, list)) else [x]

    return flat(out)


def numbers(result):
    """A result of either library in numpy."""
    if isinstance(result, torch.Tensor):
        plain = result.detach().resolve_conj()
        return plain.float().numpy() if result.dtype is torch.bfloat16 else plain.numpy()
    if isinstance(result, ingot.Tensor):
        return (result.detach().float() if result.dtype is ingot.bfloat16 else result.detach()).numpy()
    return np.asarray(result)


def check(record, sample, want, got, tolerance):
    """Every result as torch's, or nearer to float64's where it differs."""
    assert len(want) == len(got)
    exact = None
    for place, (theirs, ours) in enumerate(zip(want, got)):
        left, right = numbers(theirs), numbers(ours)
        assert left.shape == right.shape
        if isinstance(theirs, torch.Tensor):
            assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        near = np.isclose(right, left, rtol=tolerance, atol=tolerance, equal_nan=True)
        differ = ~near if right.dtype.kind in "fc" else right != left
        if not differ.any() or (record.name in TIES and theirs.dtype is torch.int64 and (place or record.name == "argsort")):
            continue
        exact = exact or called(record, sample, widened)
        true = numbers(exact[place])
        with np.errstate(invalid="ignore"):          # of what is endless
            step = np.spacing(abs(right[differ])) if right.dtype.kind in "fc" else 0.5 + 1e-3
        wide = np.complex128 if right.dtype.kind == "c" else np.float64
        theirs_off, ours_off = abs(left.astype(wide) - true)[differ], abs(right.astype(wide) - true)[differ]
        theirs_off = np.where(np.isnan(theirs_off), np.inf, theirs_off)     # it overflowed on the way
        assert (ours_off <= np.fmax(theirs_off, step)).all(), (sample.args, sample.kwargs, left[differ], right[differ])


@pytest.mark.parametrize("record, ours, dtype", [*operators()])
def test_samples_give_what_torch_gives_or_what_is_nearer_to_float64(record, ours, dtype):
    try:
        samples = list(record.sample_inputs("cpu", getattr(torch, dtype)))[:SAMPLES]
    except Exception as error:      # whatever a generator of samples may raise for a dtype
        pytest.skip(f"no samples: {error}")
    for sample in samples:
        try:
            want = called(record, sample)
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            continue                # torch itself refuses its sample
        if any(isinstance(t, torch.Tensor) and t.dtype is torch.complex32 for t in want):
            continue                # which only torch has
        check(record, sample, want, called(ours, sample, of_ingot), TOLERANCES.get(dtype, LAST_BITS))
