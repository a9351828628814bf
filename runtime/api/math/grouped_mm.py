"""Products of groups, as layers of experts take them."""

from ....ir import dtype as dt
from ....ir.errors import ArgumentError
from ....ir.ops.index import indexing as ix
from ....ir.ops.linalg import products
from ...core.placement import beside
from ..register.register import api
from ..register.type_promotion import to_dtype
from ..views.conversions import to
from ..views.tensor_factories import counted
from .clamp import clamp
from .elementwise import add
from .matrix_products import matmul
from .sort import searchsorted


@api(method=False, name="_grouped_mm")
def grouped_mm(mat_a, mat_b, offs=None, bias=None, out_dtype=None):
    """A product for each group of rows. offs[g] says where group g ends: of a matrix and one mat_b[g] for each group; of
    one mat_a[g] for each group and the columns of a matrix; of two matrices, cut along the dimension that they share, one
    matrix for each group. What lies behind the last group is zero. Without offs both operands have a matrix for each group."""
    kind = None if out_dtype is None else dt.as_dtype(out_dtype)
    if kind is not None and kind.itemsize > mat_a.dtype.itemsize:
        mat_a, mat_b = to_dtype(mat_a, kind), to_dtype(mat_b, kind)
    if mat_a.ndim == mat_b.ndim == 3:
        if offs is not None:
            raise ArgumentError("grouped_mm of two operands with a matrix for each group takes no offs")
        made = matmul(mat_a, mat_b)
    elif offs is None:
        raise ArgumentError("grouped_mm takes offs, which say where each group ends, unless both operands have a matrix for "
                            "each")
    else:
        made = products.grouped_matmul(mat_a, mat_b, offs)
    if bias is not None:
        made = add(made, _for_each_row(bias, mat_a, mat_b, offs))
    return made if kind is None else to(made, kind)


def _for_each_row(bias, mat_a, mat_b, offs):
    """A bias of shape (groups, columns), the row of its group for each row of the result."""
    if not (mat_a.ndim == 2 and mat_b.ndim == 3 and bias.ndim == 2):
        raise ArgumentError("grouped_mm takes a bias of shape (groups, columns) beside a matrix and one for each group")
    group = searchsorted(offs, beside(counted(mat_a.shape[0], offs.dtype), offs), right=True)
    return ix.index(bias, clamp(group, max=bias.shape[0] - 1))
