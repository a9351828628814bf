"""The named tuples that functions with several results return."""

from typing import NamedTuple

from ..tensor import Tensor
from .register import deliver

max = NamedTuple("max", [("values", Tensor), ("indices", Tensor)])
min = NamedTuple("min", [("values", Tensor), ("indices", Tensor)])
median = NamedTuple("median", [("values", Tensor), ("indices", Tensor)])
nanmedian = NamedTuple("nanmedian", [("values", Tensor), ("indices", Tensor)])
mode = NamedTuple("mode", [("values", Tensor), ("indices", Tensor)])
kthvalue = NamedTuple("kthvalue", [("values", Tensor), ("indices", Tensor)])
sort = NamedTuple("sort", [("values", Tensor), ("indices", Tensor)])
topk = NamedTuple("topk", [("values", Tensor), ("indices", Tensor)])
cummax = NamedTuple("cummax", [("values", Tensor), ("indices", Tensor)])
cummin = NamedTuple("cummin", [("values", Tensor), ("indices", Tensor)])
aminmax = NamedTuple("aminmax", [("min", Tensor), ("max", Tensor)])
qr = NamedTuple("qr", [("Q", Tensor), ("R", Tensor)])
svd = NamedTuple("svd", [("U", Tensor), ("S", Tensor), ("Vh", Tensor)])
eigh = NamedTuple("eigh", [("eigenvalues", Tensor), ("eigenvectors", Tensor)])
slogdet = NamedTuple("slogdet", [("sign", Tensor), ("logabsdet", Tensor)])
lstsq = NamedTuple("lstsq", [("solution", Tensor), ("residuals", Tensor), ("rank", Tensor), ("singular_values", Tensor)])


def deliver_all(kind, results, out) -> tuple:
    """The results as a named tuple, in the tensors of `out` if it is given."""
    if out is not None:
        results = [deliver(r, o, kind.__name__) for r, o in zip(results, out)]
    return kind(*results)
