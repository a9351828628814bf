"""Linear and bilinear maps."""

from ....ir.errors import ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import reduce as rd
from ....ir.ops.core.shape import expand, permute, reshape
from ....ir.ops.linalg import products
from ....ir.ops.linalg.products import matmul
from ...api.math import scaled_mm
from ...api.register.register import deliver, memoised
from ...api.register.type_promotion import rounds_once, unpromoted_in_autocast
from ...core.tensor import shape_of


def linear(input, weight, bias=None, *, out=None):
    """Return input @ weight.T + bias; the weight is (out_features, in_features), or (in_features,) for one output."""
    if out is not None:
        return deliver(linear(input, weight, bias), out, "linear")
    rows = shape_of(weight)
    if len(rows) == 1:
        result = products.linear.call(input, reshape(weight, shape=(1, *weight.shape)), None)
        result = reshape(result, shape=input.shape[:-1])
        return result if bias is None else result + bias
    if bias is not None and shape_of(bias) != rows[:1]:
        return products.linear.call(input, weight, None) + bias
    return products.linear.call(input, weight, bias)


@memoised
@unpromoted_in_autocast
@rounds_once
def bilinear(input1, input2, weight, bias=None):
    """Return the sum over i, j of input1[i] * weight[o, i, j] * input2[j], plus bias."""
    if weight.ndim != 3 or input1.shape[:-1] != input2.shape[:-1] or \
            (input1.shape[-1], input2.shape[-1]) != weight.shape[1:]:
        raise ShapeError(f"bilinear takes inputs [*, in1] and [*, in2] and a weight [out, in1, in2], got {input1.aval}, "
                         f"{input2.aval} and {weight.aval}")
    outs, first, second = weight.shape
    rows = products.rows_of(input1.shape)
    by_first = reshape(permute(weight, dims=(1, 0, 2)), shape=(first, outs * second))
    left = reshape(matmul(reshape(input1, shape=(rows, first)), by_first), shape=(rows, outs, second))
    right = expand(reshape(input2, shape=(rows, 1, second)), shape=(rows, outs, second))
    out = reshape(rd.sum_(ew.mul(left, right), dim=(2,), keepdim=False), shape=(*input1.shape[:-1], outs))
    return out if bias is None else out + bias


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """Multiply each group of rows of mat_a by its matrix of mat_b (groups, in, out); group g ends at row offs[g]."""
    return scaled_mm.grouped_mm(mat_a, mat_b, offs, bias, out_dtype)
