"""The named tuples that functions with several results return."""

from typing import Any, NamedTuple

from ..tensor import Tensor
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
        results = [deliver(r, o, kind.__name__) for r, o in zip(results, out)]
    return kind(*results)


class histogram(NamedTuple):
    """The result of histogram()."""

    hist: Tensor
    bin_edges: Tensor
