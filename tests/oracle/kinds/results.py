"""Python functions that make results comparable: what does not depend on signs, orders or kinds of objects."""

from ..row import function

LIMITS = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")


@function("rebuilt from eigenvectors")
def _from_eigenvectors(library):
    return lambda found, _: library.linalg.solve(found[1], found[1] * found[0][..., None, :], left=False)


@function("rebuilt from singular vectors")
def _from_singular_vectors(library):
    return lambda found, _: [(found[0][..., :len(found[1])] * found[1]) @ found[2][:len(found[1])], found[1]]


@function("rebuilt from singular vectors as columns")
def _from_singular_columns(library):
    return lambda found, _: [(found[0][..., :len(found[1])] * found[1]) @ found[2][..., :len(found[1])].mH, found[1]]


@function("in order")
def _in_order(library):
    return lambda found, _: found[library.argsort(found.real + found.imag / 64)]


@function("first result")
def _first(library):
    return lambda found, _: found[0]


@function("list")
def _list(library):
    return lambda found, _: list(found)


@function("limits")
def _limits(library):
    return lambda found, _: {name: getattr(found, name) for name in LIMITS if hasattr(found, name)}


@function("value and layout")
def _value_and_layout(library):
    return lambda found, _: [found, found.dtype, list(found.stride()), found.storage_offset(), found.is_contiguous()]


@function("dense")
def _dense(library):
    return lambda found, _: found.to_dense()


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
    return lambda found, _: found[1]
