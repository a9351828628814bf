"""The named tuples that functions with several results return."""

from collections import namedtuple

from .register import deliver

_PAIR = ("values", "indices")

max = namedtuple("max", _PAIR)
min = namedtuple("min", _PAIR)
median = namedtuple("median", _PAIR)
nanmedian = namedtuple("nanmedian", _PAIR)
mode = namedtuple("mode", _PAIR)
kthvalue = namedtuple("kthvalue", _PAIR)
sort = namedtuple("sort", _PAIR)
topk = namedtuple("topk", _PAIR)
cummax = namedtuple("cummax", _PAIR)
cummin = namedtuple("cummin", _PAIR)
aminmax = namedtuple("aminmax", ("min", "max"))
qr = namedtuple("qr", ("Q", "R"))
svd = namedtuple("svd", ("U", "S", "Vh"))
eigh = namedtuple("eigh", ("eigenvalues", "eigenvectors"))
slogdet = namedtuple("slogdet", ("sign", "logabsdet"))
lstsq = namedtuple("lstsq", ("solution", "residuals", "rank", "singular_values"))


def deliver_all(kind, results, out) -> tuple:
    """The results as a named tuple, in the tensors of `out` if it is given."""
    if out is not None:
        results = [deliver(r, o, kind.__name__) for r, o in zip(results, out)]
    return kind(*results)
