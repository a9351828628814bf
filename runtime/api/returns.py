"""The named tuples that functions with several results return."""

from typing import Any, NamedTuple

from ..tensor import Tensor
from .register import deliver


def in_lines(self) -> str:
    """A named tuple with a line for each field."""
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
    return f"ingot.return_types.{type(self).__name__}(\n{fields})"


class Found(NamedTuple):
    """Values, and the indices where they were."""

    values: Tensor
    indices: Tensor

    __repr__ = in_lines


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

    __repr__ = in_lines


class qr(NamedTuple):
    """The result of qr()."""

    Q: Tensor
    R: Tensor

    __repr__ = in_lines


class svd(NamedTuple):
    """The result of svd()."""

    U: Tensor
    S: Tensor
    Vh: Tensor

    __repr__ = in_lines


class svd_uv(NamedTuple):
    """The result of `ingot.svd()`, which gives V where `linalg.svd` gives its transpose."""

    U: Tensor
    S: Tensor
    V: Tensor

    __repr__ = in_lines


class eigh(NamedTuple):
    """The result of eigh()."""

    eigenvalues: Tensor
    eigenvectors: Tensor

    __repr__ = in_lines


class slogdet(NamedTuple):
    """The result of slogdet()."""

    sign: Tensor
    logabsdet: Tensor

    __repr__ = in_lines


class lstsq(NamedTuple):
    """The result of lstsq()."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

    __repr__ = in_lines


def deliver_all(kind, results, out) -> Any:
    """The results as a named tuple, in the tensors of `out` if it is given."""
    if out is not None:
        results = [deliver(r, o, kind.__name__) for r, o in zip(results, out)]
    return kind(*results)


class histogram(NamedTuple):
    """The result of histogram()."""

    hist: Tensor
    bin_edges: Tensor

    __repr__ = in_lines


class eig(NamedTuple):
    """The result of eig()."""

    eigenvalues: Tensor
    eigenvectors: Tensor

    __repr__ = in_lines


class polar(NamedTuple):
    """The result of polar()."""

    U: Tensor
    H: Tensor

    __repr__ = in_lines


class lu(NamedTuple):
    """The result of lu()."""

    P: Tensor
    L: Tensor
    U: Tensor

    __repr__ = in_lines


class lu_unpack(NamedTuple):
    """The result of lu_unpack()."""

    P: Tensor
    L: Tensor
    U: Tensor

    __repr__ = in_lines


class lu_factor(NamedTuple):
    """The result of lu_factor()."""

    LU: Tensor
    pivots: Tensor

    __repr__ = in_lines


class lu_factor_ex(NamedTuple):
    """The result of lu_factor_ex()."""

    LU: Tensor
    pivots: Tensor
    info: Tensor

    __repr__ = in_lines


class ldl_factor(NamedTuple):
    """The result of ldl_factor()."""

    LD: Tensor
    pivots: Tensor

    __repr__ = in_lines


class ldl_factor_ex(NamedTuple):
    """The result of ldl_factor_ex()."""

    LD: Tensor
    pivots: Tensor
    info: Tensor

    __repr__ = in_lines


class cholesky_ex(NamedTuple):
    """The result of cholesky_ex()."""

    L: Tensor
    info: Tensor

    __repr__ = in_lines


class inv_ex(NamedTuple):
    """The result of inv_ex()."""

    inverse: Tensor
    info: Tensor

    __repr__ = in_lines


class solve_ex(NamedTuple):
    """The result of solve_ex()."""

    result: Tensor
    info: Tensor

    __repr__ = in_lines


class geqrf(NamedTuple):
    """The result of geqrf()."""

    a: Tensor
    tau: Tensor

    __repr__ = in_lines


class triangular_solve(NamedTuple):
    """The result of triangular_solve()."""

    solution: Tensor
    cloned_coefficient: Tensor

    __repr__ = in_lines


class frexp(NamedTuple):
    """The result of frexp()."""

    mantissa: Tensor
    exponent: Tensor

    __repr__ = in_lines


class histogramdd(NamedTuple):
    """The result of histogramdd()."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]

    __repr__ = in_lines
