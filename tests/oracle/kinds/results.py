"""Python functions that make results comparable: what does not depend on signs, orders or kinds of objects."""

from ..row import function

LIMITS = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")


@function("rebuilt from eigenvectors")
def _from_eigenvectors(library):
    return lambda out, _: library.linalg.solve(out[1], out[1] * out[0][..., None, :], left=False)


@function("rebuilt from singular vectors")
def _from_singular_vectors(library):
    return lambda out, _: [(out[0][..., :len(out[1])] * out[1]) @ out[2][:len(out[1])], out[1]]


@function("rebuilt from singular vectors as columns")
def _from_singular_columns(library):
    return lambda out, _: [(out[0][..., :len(out[1])] * out[1]) @ out[2][..., :len(out[1])].mH, out[1]]


@function("in order")
def _in_order(library):
    return lambda out, _: out[library.argsort(out.real + out.imag / 64)]


@function("first result")
def _first(library):
    return lambda out, _: out[0]


@function("list")
def _list(library):
    return lambda out, _: list(out)


@function("limits")
def _limits(library):
    return lambda out, _: {name: getattr(out, name) for name in LIMITS if hasattr(out, name)}


@function("value and layout")
def _value_and_layout(library):
    return lambda out, _: [out, out.dtype, list(out.stride()), out.storage_offset(), out.is_contiguous()]


@function("dense")
def _dense(library):
    return lambda out, _: out.to_dense()


@function("plus a quarter")
def _plus_a_quarter(library):
    return lambda x: x + 0.25


@function("difference doubled")
def _difference_doubled(library):
    return lambda x, y: 2 * (x - y)


@function("mean of two")
def _mean_of_two(library):
    return lambda x, y: (x + y) / 2


@function("product less one")
def _product_less_one(library):
    return lambda x, y, z: x * y * z - 1


@function("square")
def _square(library):
    return lambda x: x * x


@function("sum of three")
def _sum_of_three(library):
    return lambda x, y, z: x + 2 * y - 3 * z


@function("second result")
def _second(library):
    return lambda out, _: out[1]
