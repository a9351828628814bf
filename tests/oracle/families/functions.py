"""Functions: PyTorch's published samples, those that differ most in their arguments, small tensors first."""

import importlib
import json
import random

import numpy as np

from ..row import Leaf, Name, Row, prepare
from ..tensors import to_array

# Random or uninitialised results; samples that call wrappers of PyTorch's own tests; several right answers (signs of vectors, orders).
LEFT_OUT = {"bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "uniform", "rand_like", "randn_like", "randint_like", "randn", "randint", "empty", "empty_like", "new_empty", "new_empty_strided", "empty_strided", "empty_permuted", "nn.functional.rrelu", "nn.functional.embedding", "bfloat16", "bool", "byte", "cdouble", "cfloat", "chalf", "double", "einsum", "float", "half", "int", "long", "short", "H", "T", "mH", "mT", "as_strided", "linalg.eig", "linalg.eigh", "linalg.eigvals", "linalg.lstsq", "linalg.vander", "meshgrid", "pca_lowrank", "svd_lowrank", "slice", "to_sparse", "where", "zero_", "svd", "linalg.svd", "polygamma", "special.polygamma", "geqrf", "ormqr", "linalg.householder_product", "histogramdd", "jiterator_unary", "hash_tensor", "nn.functional.ctc_loss", "nn.functional.max_unpool1d", "nn.functional.max_unpool2d", "nn.functional.max_unpool3d"}
PARTS = ("dropout", "fractional", "multi_head_attention", "scaled_dot_product", "embedding_bag")
WRAPPED = {("linalg.pinv", "hermitian")}       # its samples are made Hermitian on the way
PREFIXES = ("masked.", "torch.", "sparse.", "_", "jiterator", "ops.")
TOLERANCES = {
    "nn.functional.hardsigmoid": (1e-7, "PyTorch's sixth is a float32"),
    "digamma": (4e-9, "PyTorch's trigamma is good to 1e-9"), "mvlgamma": (4e-9, "PyTorch's trigamma is good to 1e-9"),
    "special.airy_ai": (1e-8, "PyTorch's polynomials are good to 1e-8"),
    **{f"special.bessel_{k}": (1e-5, "PyTorch's polynomials are good to 1e-5 near zeros") for k in ("j0", "j1", "y0", "y1")},
    "logcumsumexp float32": (5e-3, "PyTorch's gradient subtracts exponentials"),
    "cov": (1e-6, "weights of single precision"),
}
LARGEST = 400           # elements of an argument
ROWS = {"float64": 6, "float32": 1, "int64": 2, "bool": 1, "complex128": 1}


def of(family: str):
    """Return a function that tells whether an operator's name belongs to a family."""
    prefixes = {"fft": "fft.", "linalg": "linalg.", "special": "special.", "functional": "nn.functional.", "windows": "signal."}
    if family in prefixes:
        return lambda name: name.startswith(prefixes[family])
    return lambda name: not name.startswith(tuple(prefixes.values()))


def path_of(name: str, torch) -> str | None:
    """Return the public path of an operator's function, or of the method of that name."""
    found = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not None:
        return name
    return f"Tensor.{name}" if hasattr(torch.Tensor, name) else None


class NotPlain(Exception):
    """A sample holds something that is no plain data, or a large tensor."""


def plain(value, torch, is_differentiable: bool):
    """Return a sample's value as what a row holds."""
    if isinstance(value, torch.Tensor):
        if value.numel() > LARGEST or value.layout != torch.strided or value.is_quantized:
            raise NotPlain
        array = to_array(torch, value)
        if array.dtype.kind in "fc":
            array = rounded_to_bits(array)
        return Leaf(array) if is_differentiable and value.requires_grad else array
    if isinstance(value, torch.dtype):
        return Name(str(value).split(".")[1])
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)([plain(v, torch, is_differentiable) for v in value])
    if isinstance(value, dict):
        return {k: plain(v, torch, is_differentiable) for k, v in value.items()}
    if value is None or value is Ellipsis or type(value) in (bool, int, float, str, complex):
        return value
    if isinstance(value, slice):
        return value
    raise NotPlain


def rounded_to_bits(array: np.ndarray) -> np.ndarray:
    """Return numbers with ten significant bits, so that files compress; zeros and infinities stay."""
    def short(a):
        mantissa, exponent = np.frexp(a)
        return np.asarray(np.ldexp(np.round(mantissa * 1024) / 1024, exponent))

    with np.errstate(all="ignore"):
        if array.dtype.kind == "c":
            return np.asarray(short(array.real) + 1j * short(array.imag)).astype(array.dtype)
        return short(array).astype(array.dtype)


def shape_of(value):
    """Return what tells samples apart: shapes of tensors, and everything else as it is."""
    if isinstance(value, (Leaf, np.ndarray)):
        return [list((value.array if isinstance(value, Leaf) else value).shape)]
    if isinstance(value, (list, tuple)) and not isinstance(value, Name):
        return [shape_of(v) for v in value]
    return {k: shape_of(v) for k, v in value.items()} if isinstance(value, dict) else str(value)


def spread(candidates: list, count: int) -> list:
    """Choose samples that differ most: greedily, each the one with the most arguments that no chosen one has, shapes last."""
    seen: set = set()
    chosen: list = []

    def marks(c):
        args, kwargs = c
        return {(f"{k}={json.dumps(shape_of(v))}", isinstance(v, (Leaf, np.ndarray))) for k, v in [*enumerate(args), *kwargs.items()]}

    def gain(some):
        return sum(1 if is_shape else 8 for _, is_shape in some - seen)

    rest = [(marks(c), c) for c in candidates]
    while rest and len(chosen) < count:
        best = max(range(len(rest)), key=lambda i: (gain(rest[i][0]), -i))
        got, sample = rest.pop(best)
        if chosen and not gain(got):
            break
        seen |= got
        chosen.append(sample)
    return chosen


def samples_of(record, name: str, dtype: str, torch) -> list:
    """Return plain (args, kwargs) of a record's samples in a dtype."""
    kind = getattr(torch, dtype)
    if kind not in record.dtypes:
        return []
    differentiable = record.supports_autograd and (kind.is_floating_point or kind.is_complex)
    found = []
    try:
        samples = list(record.sample_inputs("cpu", kind, requires_grad=differentiable))
    except Exception:       # a generator of samples may fail for a dtype in any way
        return []
    for sample in samples:
        try:
            made = plain(((sample.input, *sample.args), dict(sample.kwargs)), torch, differentiable)
        except NotPlain:
            continue
        arrays = [a.tobytes() for a, _ in prepare(torch, made)[1] if a.size > 3]
        if len(arrays) == len(set(arrays)):
            found.append(made)
    return found


def seed_samples(torch):
    """Seed the three generators that samples draw from."""
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)


def rows_of(family: str, torch):
    """Yield the rows of a family, in the order of PyTorch's table."""
    from ..kinds.functions import run
    records = importlib.import_module("torch.testing._internal.common_methods_invocations").op_db
    belongs, seen = of(family), set()
    for record in records:
        name = record.name
        if (name, record.variant_test_name) in WRAPPED or name in LEFT_OUT or name.startswith(PREFIXES) or any(p in name for p in PARTS) or not belongs(name):
            continue
        path = path_of(name, torch)
        if path is None:
            continue
        for dtype, count in ROWS.items():
            seed_samples(torch)
            candidates = spread(samples_of(record, name, dtype, torch), 3 * count)
            taken = 0
            for args, kwargs in candidates:
                number = 0
                while (label := f"{path}/{record.variant_test_name} {dtype} {number}") in seen:
                    number += 1
                tolerance, reason = TOLERANCES.get(path if dtype in ("float64", "complex128") else f"{path} {dtype}", (None, ""))
                row = Row(label, "function", path, args, kwargs, tolerance=tolerance, reason=reason)
                try:
                    found = run(torch, row, lambda body, **_: body)
                except Exception:       # PyTorch itself refuses its sample when it is called by this path
                    continue
                if not found or any(isinstance(v, torch.Tensor) and (v.dtype is torch.complex32 or v.numel() > 2 * LARGEST) for v in found.values()):
                    continue
                seen.add(label)
                taken += 1
                yield row
                if taken == count:
                    break


def rows(torch, rng):
    """Yield rows of functions in the namespace of torch, and of methods."""
    yield from rows_of("functions", torch)
