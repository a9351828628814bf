"""Named tuples that functions with several results return."""
# ruff: noqa: UP014  a table

from typing import Any, NamedTuple

from ....ir.errors import ArgumentError
from ....ir.package_name import in_full
from ...core.tensor import Tensor
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
histogram = NamedTuple("histogram", [("hist", Tensor), ("bin_edges", Tensor)])
eig = NamedTuple("eig", [("eigenvalues", Tensor), ("eigenvectors", Tensor)])
polar = NamedTuple("polar", [("U", Tensor), ("H", Tensor)])
lu = NamedTuple("lu", [("P", Tensor), ("L", Tensor), ("U", Tensor)])
lu_unpack = NamedTuple("lu_unpack", [("P", Tensor), ("L", Tensor), ("U", Tensor)])
lu_factor = NamedTuple("lu_factor", [("LU", Tensor), ("pivots", Tensor)])
lu_factor_ex = NamedTuple("lu_factor_ex", [("LU", Tensor), ("pivots", Tensor), ("info", Tensor)])
ldl_factor = NamedTuple("ldl_factor", [("LD", Tensor), ("pivots", Tensor)])
ldl_factor_ex = NamedTuple("ldl_factor_ex", [("LD", Tensor), ("pivots", Tensor), ("info", Tensor)])
cholesky_ex = NamedTuple("cholesky_ex", [("L", Tensor), ("info", Tensor)])
inv_ex = NamedTuple("inv_ex", [("inverse", Tensor), ("info", Tensor)])
solve_ex = NamedTuple("solve_ex", [("result", Tensor), ("info", Tensor)])
geqrf = NamedTuple("geqrf", [("a", Tensor), ("tau", Tensor)])
triangular_solve = NamedTuple("triangular_solve", [("solution", Tensor), ("cloned_coefficient", Tensor)])
frexp = NamedTuple("frexp", [("mantissa", Tensor), ("exponent", Tensor)])
histogramdd = NamedTuple("histogramdd", [("hist", Tensor), ("bin_edges", tuple[Tensor, ...])])


class svd_uv(NamedTuple):
    """The result of `ingot.svd()`, which returns V; `linalg.svd` returns its transpose."""

    U: Tensor
    S: Tensor
    V: Tensor


def deliver_all(kind, results, out) -> Any:
    """Return the results as a named tuple, written into the tensors of `out` if it is given."""
    if out is not None:
        starts = [t._a.ctypes.data for t in out if t.is_cpu and t.numel()]
        if len(set(starts)) < len(starts):
            raise ArgumentError(f"{kind.__name__}: the tensors of out= share memory; give it one for each result")
        results = [deliver(r, o, kind.__name__) for r, o in zip(results, out)]
    return kind(*results)


def in_lines(self) -> str:
    """Return the text of a result: a line for each field."""
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
    return in_full(f"return_types.{type(self).__name__}(\n{fields})")


for _kind in [x for x in globals().values() if isinstance(x, type) and issubclass(x, tuple)]:
    type.__setattr__(_kind, "__repr__", in_lines)
    if _kind is not svd_uv:
        _kind.__doc__ = f"The result of {_kind.__name__}()."
