"""Samples of the operators that move data."""

from ingot.ir import dtype as dt

from . import Sample, samples


def _values(rng, *shape):
    return rng.standard_normal(shape)


@samples("reshape")
def _(rng):
    yield Sample((_values(rng, 2, 6),), {"shape": (3, 4)}, dtypes="any")
    yield Sample((_values(rng, 4, 3).T,), {"shape": (2, 6)})
    yield Sample((_values(rng),), {"shape": (1, 1)})
    yield Sample((_values(rng, 2, 0),), {"shape": (0, 5)})


@samples("permute")
def _(rng):
    yield Sample((_values(rng, 2, 3, 4),), {"dims": (2, 0, 1)}, dtypes="any")
    yield Sample((_values(rng, 3, 2),), {"dims": (1, 0)})
    yield Sample((_values(rng),), {"dims": ()})


@samples("expand")
def _(rng):
    yield Sample((_values(rng, 1, 3),), {"shape": (4, 2, 3)}, dtypes="any")
    yield Sample((_values(rng),), {"shape": (2, 2)})
    yield Sample((_values(rng, 3, 2)[::2, :1],), {"shape": (2, 5)})
    yield Sample((_values(rng, 1, 3),), {"shape": (0, 3)})


@samples("select")
def _(rng):
    yield Sample((_values(rng, 3, 4),), {"dim": 1, "index": 2}, dtypes="any")
    yield Sample((_values(rng, 5),), {"dim": 0, "index": 0})
    yield Sample((_values(rng, 2, 0, 3),), {"dim": 2, "index": 1})


@samples("slice")
def _(rng):
    yield Sample((_values(rng, 7, 2),), {"dim": 0, "start": 1, "stop": 7, "step": 2}, dtypes="any")
    yield Sample((_values(rng, 2, 5),), {"dim": 1, "start": 2, "stop": 5, "step": 1})
    yield Sample((_values(rng, 4),), {"dim": 0, "start": 3, "stop": 3, "step": 1})
    yield Sample((_values(rng, 6),), {"dim": 0, "start": 0, "stop": 5, "step": 3})


@samples("diagonal")
def _(rng):
    yield Sample((_values(rng, 3, 4),), {"offset": 0, "dim1": 0, "dim2": 1}, dtypes="any")
    yield Sample((_values(rng, 2, 4, 3),), {"offset": -1, "dim1": 2, "dim2": 1})
    yield Sample((_values(rng, 3, 3),), {"offset": 5, "dim1": 0, "dim2": 1})


@samples("diagonal_embed")
def _(rng):
    yield Sample((_values(rng, 3),), {"shape": (3, 4), "offset": 0, "dim1": 0, "dim2": 1}, dtypes="any")
    yield Sample((_values(rng, 2, 2),), {"shape": (3, 2, 3), "offset": -1, "dim1": 0, "dim2": 2})


@samples("unfold")
def _(rng):
    yield Sample((_values(rng, 7),), {"dim": 0, "size": 3, "step": 2}, dtypes="any")
    yield Sample((_values(rng, 2, 5, 2),), {"dim": 1, "size": 2, "step": 1})
    yield Sample((_values(rng, 5, 3).T,), {"dim": 1, "size": 4, "step": 1})


@samples("fold_windows")
def _(rng):
    yield Sample((_values(rng, 3, 3),), {"shape": (7,), "dim": 0, "step": 2})
    yield Sample((_values(rng, 2, 4, 2, 2),), {"shape": (2, 5, 2), "dim": 1, "step": 1})


@samples("as_strided")
def _(rng):
    yield Sample((_values(rng, 12),), {"shape": (2, 3), "strides": (2, 1), "offset": 1}, dtypes="any")
    yield Sample((_values(rng, 3, 4),), {"shape": (4, 3), "strides": (1, 4), "offset": 0})
    yield Sample((_values(rng, 4),), {"shape": (2, 3), "strides": (0, 1), "offset": 0})
    yield Sample((_values(rng, 4),), {"shape": (0, 3), "strides": (3, 1), "offset": 0})


@samples("strided_scatter")
def _(rng):
    yield Sample((_values(rng, 2, 3),), {"size": (12,), "strides": (2, 1), "offset": 1})
    yield Sample((_values(rng, 2, 3),), {"size": (2, 2), "strides": (0, 1), "offset": 1})


@samples("bitcast")
def _(rng):
    yield Sample((_values(rng, 2, 4),), {"dtype": dt.int64}, dtypes=("float64", "int64"))
    yield Sample((_values(rng, 2, 4),), {"dtype": dt.uint8}, dtypes=("float32", "float16", "bfloat16", "int8"))
    yield Sample((_values(rng, 2, 4),), {"dtype": dt.float32}, dtypes=("float16", "float64", "int32"))


@samples("later")
def _(rng):
    yield Sample((_values(rng, 2, 3), _values(rng, 4)), dtypes="any")


@samples("assign_view")
def _(rng):
    column = ("select", (("dim", 1), ("index", 0)))
    corner = (("slice", (("dim", 0), ("start", 1), ("step", 1), ("stop", 3))), ("permute", (("dims", (1, 0)),)))
    yield Sample((_values(rng, 3, 4), _values(rng, 3)), {"chain": (column,)}, dtypes="any")
    yield Sample((_values(rng, 3, 2), _values(rng, 2, 2)), {"chain": corner})
    yield Sample((_values(rng, 3, 2), _values(rng, 3, 2)), {"chain": ()})


@samples("cat")
def _(rng):
    yield Sample((_values(rng, 2, 3), _values(rng, 1, 3), _values(rng, 4, 3)), {"dim": 0}, dtypes="any")
    yield Sample((_values(rng, 2, 3), _values(rng, 2, 0)), {"dim": 1})
    yield Sample((_values(rng, 5),), {"dim": 0})


@samples("stack")
def _(rng):
    yield Sample((_values(rng, 2, 3), _values(rng, 2, 3)), {"dim": 0}, dtypes="any")
    yield Sample((_values(rng, 2, 3), _values(rng, 2, 3), _values(rng, 2, 3)), {"dim": 2})
    yield Sample((_values(rng, 0, 2), _values(rng, 0, 2)), {"dim": 1})
    yield Sample((_values(rng), _values(rng)), {"dim": 0})
    yield Sample((_values(rng, 5),), {"dim": 1})


@samples("pad")
def _(rng):
    yield Sample((_values(rng, 2, 3),), {"low": (1, 0), "high": (0, 2), "interior": (0, 0), "value": 0}, dtypes="any")
    yield Sample((_values(rng, 4),), {"low": (-1,), "high": (2,), "interior": (1,), "value": 1.5})
    yield Sample((_values(rng, 3, 3),), {"low": (-1, 1), "high": (-1, -2), "interior": (2, 0), "value": 0})
    yield Sample((_values(rng, 0, 2),), {"low": (1, 0), "high": (1, 0), "interior": (0, 0), "value": 0})


@samples("contiguous")
def _(rng):
    yield Sample((_values(rng, 3, 2).T,), dtypes="any")
    yield Sample((_values(rng),))


@samples("flip")
def _(rng):
    yield Sample((_values(rng, 3, 2),), {"dims": (0, 1)}, dtypes="any")
    yield Sample((_values(rng, 3, 2),), {"dims": (1,)})
    yield Sample((_values(rng),), {"dims": ()})


@samples("roll")
def _(rng):
    yield Sample((_values(rng, 3, 4),), {"shifts": (1, -2), "dims": (0, 1)}, dtypes="any")
    yield Sample((_values(rng, 3),), {"shifts": (7,), "dims": (0,)})
    yield Sample((_values(rng, 0, 2),), {"shifts": (1,), "dims": (0,)})


@samples("full")
def _(rng):
    yield Sample((_values(rng),), {"shape": (2, 3), "value": 1.5, "dtype": dt.float32}, dtypes=("float32",))
    yield Sample((_values(rng, 2),), {"shape": (), "value": -0.0, "dtype": dt.float64}, dtypes=("float32",))
    yield Sample((_values(rng),), {"shape": (0, 2), "value": True, "dtype": dt.bool_}, dtypes=("float32",))


@samples("triangle")
def _(rng):
    for rows, cols, offset in ((3, 4, 0), (4, 3, -1), (1, 5, 2), (3, 3, -7), (0, 2, 0)):
        yield Sample((_values(rng),), {"rows": rows, "cols": cols, "offset": offset}, dtypes=("float32",))


@samples("triangle_part")
def _(rng):
    for shape, offset in (((3, 4), 0), ((2, 4, 3), -1), ((1, 5), 2), ((3, 3), -7), ((0, 2), 0)):
        for lower in (True, False):
            yield Sample((_values(rng, *shape),), {"offset": offset, "lower": lower}, dtypes="any")


@samples("iota")
def _(rng):
    yield Sample((_values(rng),), {"shape": (4,), "dim": 0, "dtype": dt.int64}, dtypes=("float32",))
    yield Sample((_values(rng, 2),), {"shape": (2, 3), "dim": 1, "dtype": dt.float32}, dtypes=("float32",))
    yield Sample((_values(rng),), {"shape": (0,), "dim": 0, "dtype": dt.int32}, dtypes=("float32",))

