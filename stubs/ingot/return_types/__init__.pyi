"""Named tuples that functions with several results return."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor

class aminmax(_t.NamedTuple):
    """The result of aminmax()."""
    min: _Tensor
    max: _Tensor

class cholesky_ex(_t.NamedTuple):
    """The result of cholesky_ex()."""
    L: _Tensor
    info: _Tensor

class cummax(_t.NamedTuple):
    """The result of cummax()."""
    values: _Tensor
    indices: _Tensor

class cummin(_t.NamedTuple):
    """The result of cummin()."""
    values: _Tensor
    indices: _Tensor

def deliver_all(kind: _t.Any, results: _t.Any, out: _Tensor | _c.Sequence[_Tensor]) -> _t.Any:
    """Return the results as a named tuple, written into the tensors of `out` if it is given."""

class eig(_t.NamedTuple):
    """The result of eig()."""
    eigenvalues: _Tensor
    eigenvectors: _Tensor

class eigh(_t.NamedTuple):
    """The result of eigh()."""
    eigenvalues: _Tensor
    eigenvectors: _Tensor

class frexp(_t.NamedTuple):
    """The result of frexp()."""
    mantissa: _Tensor
    exponent: _Tensor

class geqrf(_t.NamedTuple):
    """The result of geqrf()."""
    a: _Tensor
    tau: _Tensor

class histogram(_t.NamedTuple):
    """The result of histogram()."""
    hist: _Tensor
    bin_edges: _Tensor

class histogramdd(_t.NamedTuple):
    """The result of histogramdd()."""
    hist: _Tensor
    bin_edges: _b.tuple[_Tensor, ...]

def in_lines(self: _Tensor) -> _b.str:
    """Return the text of a result: a line for each field."""

class inv_ex(_t.NamedTuple):
    """The result of inv_ex()."""
    inverse: _Tensor
    info: _Tensor

class kthvalue(_t.NamedTuple):
    """The result of kthvalue()."""
    values: _Tensor
    indices: _Tensor

class ldl_factor(_t.NamedTuple):
    """The result of ldl_factor()."""
    LD: _Tensor
    pivots: _Tensor

class ldl_factor_ex(_t.NamedTuple):
    """The result of ldl_factor_ex()."""
    LD: _Tensor
    pivots: _Tensor
    info: _Tensor

class lstsq(_t.NamedTuple):
    """The result of lstsq()."""
    solution: _Tensor
    residuals: _Tensor
    rank: _Tensor
    singular_values: _Tensor

class lu(_t.NamedTuple):
    """The result of lu()."""
    P: _Tensor
    L: _Tensor
    U: _Tensor

class lu_factor(_t.NamedTuple):
    """The result of lu_factor()."""
    LU: _Tensor
    pivots: _Tensor

class lu_factor_ex(_t.NamedTuple):
    """The result of lu_factor_ex()."""
    LU: _Tensor
    pivots: _Tensor
    info: _Tensor

class lu_unpack(_t.NamedTuple):
    """The result of lu_unpack()."""
    P: _Tensor
    L: _Tensor
    U: _Tensor

class max(_t.NamedTuple):
    """The result of max()."""
    values: _Tensor
    indices: _Tensor

class median(_t.NamedTuple):
    """The result of median()."""
    values: _Tensor
    indices: _Tensor

class min(_t.NamedTuple):
    """The result of min()."""
    values: _Tensor
    indices: _Tensor

class mode(_t.NamedTuple):
    """The result of mode()."""
    values: _Tensor
    indices: _Tensor

class nanmedian(_t.NamedTuple):
    """The result of nanmedian()."""
    values: _Tensor
    indices: _Tensor

class polar(_t.NamedTuple):
    """The result of polar()."""
    U: _Tensor
    H: _Tensor

class qr(_t.NamedTuple):
    """The result of qr()."""
    Q: _Tensor
    R: _Tensor

class slogdet(_t.NamedTuple):
    """The result of slogdet()."""
    sign: _Tensor
    logabsdet: _Tensor

class solve_ex(_t.NamedTuple):
    """The result of solve_ex()."""
    result: _Tensor
    info: _Tensor

class sort(_t.NamedTuple):
    """The result of sort()."""
    values: _Tensor
    indices: _Tensor

class svd(_t.NamedTuple):
    """The result of svd()."""
    U: _Tensor
    S: _Tensor
    Vh: _Tensor

class svd_uv(_t.NamedTuple):
    """The result of `ingot.svd()`, which returns V; `linalg.svd` returns its transpose."""
    U: _Tensor
    S: _Tensor
    V: _Tensor

class topk(_t.NamedTuple):
    """The result of topk()."""
    values: _Tensor
    indices: _Tensor

class triangular_solve(_t.NamedTuple):
    """The result of triangular_solve()."""
    solution: _Tensor
    cloned_coefficient: _Tensor
