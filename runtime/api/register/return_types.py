"""The named tuples that functions with several results return."""

from typing import Any, NamedTuple

from ....ir.errors import ArgumentError
from ....ir.package_name import in_full
from ...core.tensor import Tensor
from .register import deliver


class Found(NamedTuple):
    """Values, and the indices where they were."""

    values: Tensor
    indices: Tensor


class max(Found):
    """The result of max()."""


class min(Found):
    """The result of min()."""


class median(Found):
    """The result of median()."""


class nanmedian(Found):
    """The result of nanmedian()."""


class mode(Found):
    """The result of mode()."""


class kthvalue(Found):
    """The result of kthvalue()."""


class sort(Found):
    """The result of sort()."""


class topk(Found):
    """The result of topk()."""


class cummax(Found):
    """The result of cummax()."""


class cummin(Found):
    """The result of cummin()."""


class aminmax(NamedTuple):
    """The result of aminmax()."""

    min: Tensor
    max: Tensor


class qr(NamedTuple):
    """The result of qr()."""

    Q: Tensor
    R: Tensor


class svd(NamedTuple):
    """The result of svd()."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class svd_uv(NamedTuple):
    """The result of `ingot.svd()`, which gives V where `linalg.svd` gives its transpose."""

    U: Tensor
    S: Tensor
    V: Tensor


class eigh(NamedTuple):
    """The result of eigh()."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class slogdet(NamedTuple):
    """The result of slogdet()."""

    sign: Tensor
    logabsdet: Tensor


class lstsq(NamedTuple):
    """The result of lstsq()."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def deliver_all(kind, results, out) -> Any:
    """The results as a named tuple, in the tensors of `out` if it is given."""
    if out is not None:
        starts = [t._a.ctypes.data for t in out if t.is_cpu and t.numel()]
        if len(set(starts)) < len(starts):
            raise ArgumentError(f"{kind.__name__}: the tensors of out= share memory; give it one for each result")
        results = [deliver(r, o, kind.__name__) for r, o in zip(results, out)]
    return kind(*results)


class histogram(NamedTuple):
    """The result of histogram()."""

    hist: Tensor
    bin_edges: Tensor


class eig(NamedTuple):
    """The result of eig()."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class polar(NamedTuple):
    """The result of polar()."""

    U: Tensor
    H: Tensor


class lu(NamedTuple):
    """The result of lu()."""

    P: Tensor
    L: Tensor
    U: Tensor


class lu_unpack(NamedTuple):
    """The result of lu_unpack()."""

    P: Tensor
    L: Tensor
    U: Tensor


class lu_factor(NamedTuple):
    """The result of lu_factor()."""

    LU: Tensor
    pivots: Tensor


class lu_factor_ex(NamedTuple):
    """The result of lu_factor_ex()."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class ldl_factor(NamedTuple):
    """The result of ldl_factor()."""

    LD: Tensor
    pivots: Tensor


class ldl_factor_ex(NamedTuple):
    """The result of ldl_factor_ex()."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


class cholesky_ex(NamedTuple):
    """The result of cholesky_ex()."""

    L: Tensor
    info: Tensor


class inv_ex(NamedTuple):
    """The result of inv_ex()."""

    inverse: Tensor
    info: Tensor


class solve_ex(NamedTuple):
    """The result of solve_ex()."""

    result: Tensor
    info: Tensor


class geqrf(NamedTuple):
    """The result of geqrf()."""

    a: Tensor
    tau: Tensor


class triangular_solve(NamedTuple):
    """The result of triangular_solve()."""

    solution: Tensor
    cloned_coefficient: Tensor


class frexp(NamedTuple):
    """The result of frexp()."""

    mantissa: Tensor
    exponent: Tensor


class histogramdd(NamedTuple):
    """The result of histogramdd()."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


def in_lines(self) -> str:
    """What a result is as text: a line for each field."""
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
    return in_full(f"return_types.{type(self).__name__}(\n{fields})")


for _kind in [x for x in globals().values() if isinstance(x, type) and issubclass(x, tuple)]:
    type.__setattr__(_kind, "__repr__", in_lines)
