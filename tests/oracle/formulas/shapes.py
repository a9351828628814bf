"""Operators that move elements: views, joins, borders, reading and writing at indices, values from nothing."""

import numpy as np
import torch

from ..families import rounded
from ..row import Leaf, Name
from . import case, cases, formula, into_row, like_torch, pulled
from .elementwise import INF, NAN, as_dtype, complexes

formula("reshape")(lambda x, *, shape: x.reshape(shape))
formula("permute")(lambda x, *, dims: x.permute(dims))
formula("expand")(lambda x, *, shape: x.expand(shape))
formula("select")(lambda x, *, dim, index: x.select(dim, index))
formula("slice")(lambda x, *, dim, start, stop, step: torch.ops.aten.slice(x, dim, start, stop, step))
formula("diagonal")(lambda x, *, offset, dim1, dim2: x.diagonal(offset, dim1, dim2))
formula("diagonal_embed")(lambda g, *, shape, offset, dim1, dim2:
                          torch.diagonal_scatter(g.new_zeros(shape), g, offset, dim1, dim2))
formula("unfold")(lambda x, *, dim, size, step: x.unfold(dim, size, step))
formula("fold_windows")(lambda g, *, shape, dim, step:
                        pulled(lambda x: x.unfold(dim, g.shape[-1], step), [g.new_zeros(shape)], g)[0])
formula("as_strided")(lambda x, *, shape, strides, offset: x.contiguous().as_strided(shape, strides, offset))
formula("strided_scatter")(lambda g, *, size, strides, offset:
                           pulled(lambda x: x.as_strided(g.shape, strides, offset), [g.new_zeros(size)], g)[0])
formula("cat")(lambda *xs, dim: torch.cat(xs, dim))
formula("stack")(lambda *xs, dim: torch.stack(xs, dim))
like_torch("flip", "roll")
formula("full")(lambda like, *, shape, value, dtype: torch.full(shape, value, dtype=dtype))
formula("constant")(lambda like, *, values, shape, dtype: torch.tensor(values, dtype=dtype).reshape(shape))
formula("iota")(lambda like, *, shape, dim, dtype:
                torch.arange(shape[dim], dtype=dtype).reshape([-1 if d == dim else 1 for d in range(len(shape))]).expand(shape))
formula("triangle")(lambda like, *, rows, cols, offset: torch.ones(rows, cols, dtype=torch.bool).tril(offset))
formula("triangle_part")(lambda x, *, offset, lower: x.tril(offset) if lower else x.triu(offset + 1))
formula("choose")(lambda pred, x, y: torch.where(pred, x, y))
KINDS = ("int32", "bool", "bfloat16", "complex64")


def of_kinds(rng, *shape, **params):
    """Return calls of a function of one argument with two other dtypes."""
    return [case("", rng.integers(0, 2 if kind == "bool" else 9, shape).astype(as_dtype(kind)), **params)
            for kind in rng.permutation(KINDS)[:2]]


VIEWS = {   # shape of the argument and parameters, twice or more
    "reshape": [((2, 6), {"shape": (3, 4)}), ((5, 2, 3), {"shape": (6, 5)}), ((1,), {"shape": (1, 1, 1)})],
    "permute": [((2, 3, 4), {"dims": (2, 0, 1)}), ((3, 2), {"dims": (1, 0)})],
    "expand": [((1, 3), {"shape": (4, 2, 3)}), ((3, 1), {"shape": (3, 5)}), ((2, 1, 4), {"shape": (2, 3, 4)})],
    "select": [((3, 4), {"dim": 1, "index": 2}), ((2, 5, 3), {"dim": 0, "index": 1})],
    "slice": [((7, 2), {"dim": 0, "start": 1, "stop": 7, "step": 2}), ((2, 5), {"dim": 1, "start": 2, "stop": 5, "step": 1}),
              ((3, 6), {"dim": 1, "start": 0, "stop": 5, "step": 3})],
    "diagonal": [((3, 4), {"offset": 0, "dim1": 0, "dim2": 1}), ((2, 4, 3), {"offset": -1, "dim1": 2, "dim2": 1}),
                 ((4, 2, 5), {"offset": 2, "dim1": 0, "dim2": 2})],
    "diagonal_embed": [((3,), {"shape": (3, 4), "offset": 0, "dim1": 0, "dim2": 1}),
                       ((2, 2), {"shape": (3, 2, 3), "offset": -1, "dim1": 0, "dim2": 2}),
                       ((3, 2), {"shape": (3, 4, 5), "offset": 3, "dim1": 1, "dim2": 2})],
    "unfold": [((7,), {"dim": 0, "size": 3, "step": 2}), ((2, 5, 2), {"dim": 1, "size": 2, "step": 1})],
    "fold_windows": [((3, 3), {"shape": (7,), "dim": 0, "step": 2}), ((2, 4, 2, 2), {"shape": (2, 5, 2), "dim": 1, "step": 1})],
    "as_strided": [((12,), {"shape": (2, 3), "strides": (2, 1), "offset": 1}),
                   ((3, 4), {"shape": (4, 3), "strides": (1, 4), "offset": 0}),
                   ((5,), {"shape": (2, 3), "strides": (0, 1), "offset": 2})],
    "strided_scatter": [((2, 3), {"size": (12,), "strides": (2, 1), "offset": 1}),
                        ((2, 3), {"size": (2, 2), "strides": (0, 1), "offset": 1}),
                        ((3, 2), {"size": (4, 5), "strides": (5, 2), "offset": 3})],
    "flip": [((3, 2), {"dims": (0, 1)}), ((3, 4, 2), {"dims": (1,)})],
    "roll": [((3, 4), {"shifts": (1, -2), "dims": (0, 1)}), ((5,), {"shifts": (7,), "dims": (0,)})],
    "triangle_part": [((3, 4), {"offset": 0, "lower": True}), ((2, 4, 3), {"offset": -1, "lower": False}),
                      ((3, 5), {"offset": 2, "lower": False}),
                      ((2, 4), {"offset": 1, "lower": True})],
}


@cases(*VIEWS)
def views(name, rng):
    for i, (shape, params) in enumerate(VIEWS[name]):
        x, transposed = rounded(rng, *shape), i == 1 and len(shape) > 1 and name not in ("as_strided",)
        yield case(f"shape {i + 1}", Leaf(x.transpose().copy() if transposed else x), **params, options={"turned": [0]}
                   if transposed else {})
    shape, params = VIEWS[name][0]
    if name not in ("fold_windows", "strided_scatter"):
        yield into_row("dtypes", of_kinds(rng, *shape, **params))
    if name == "reshape":
        yield case("no dims", Leaf(np.array(1.5)), shape=(1, 1))
    if name == "slice":
        yield case("nothing", Leaf(rounded(rng, 4)), dim=0, start=3, stop=3, step=1)


@cases("cat", "stack")
def joins(name, rng):
    shapes = [((2, 3), (1, 3), (4, 3)), ((2, 3), (2, 1))] if name == "cat" else [((2, 3), (2, 3)), ((4, 2), (4, 2), (4, 2))]
    for dim, some in enumerate(shapes):
        yield case(f"dim {dim}", *[Leaf(rounded(rng, *s)) for s in some], dim=dim)
    yield into_row("dtypes", [case("", *[rng.integers(0, 2, (2, 3)).astype(as_dtype(kind)) for _ in range(2)], dim=1)
                              for kind in KINDS[::2]])


@formula("pad")
def pad(x, *, low, high, interior, value=0):
    """Values between elements, then borders, which cut where they are negative."""
    spread = torch.full([n + max(n - 1, 0) * gap for n, gap in zip(x.shape, interior)], value, dtype=x.dtype)
    at = tuple(slice(None, None, gap + 1) for gap in interior)
    numbers = torch.arange(spread.numel()).reshape(spread.shape)[at]
    spread = spread.flatten().index_put((numbers.flatten(),), x.flatten()).reshape(spread.shape)
    return torch.nn.functional.pad(spread, [n for pair in list(zip(low, high))[::-1] for n in pair], value=value)


@cases("pad")
def pads(name, rng):
    yield case("borders", Leaf(rounded(rng, 2, 3)), low=(1, 0), high=(0, 2), interior=(0, 0), value=0)
    yield case("between", Leaf(rounded(rng, 4)), low=(-1,), high=(2,), interior=(1,), value=1.5)
    yield case("cuts", Leaf(rounded(rng, 3, 4)), low=(-1, 1), high=(-1, -2), interior=(2, 0), value=-0.25)
    yield into_row("dtypes", of_kinds(rng, 2, 3, low=(1, 0), high=(0, 2), interior=(1, 0), value=1))



@cases("full", "constant", "iota", "triangle")
def from_nothing(name, rng):
    like = rounded(rng, 2)
    rows = {"full": [{"shape": (2, 3), "value": 1.5, "dtype": Name("float32")},
                     {"shape": (), "value": -2.25, "dtype": Name("float64")},
                     {"shape": (4,), "value": True, "dtype": Name("bool")},
                     {"shape": (1, 5), "value": 7, "dtype": Name("int8")},
                     {"shape": (3,), "value": INF, "dtype": Name("bfloat16")}],
            "constant": [{"values": (1.0, -2.5, INF), "shape": (3,), "dtype": Name("float32")},
                         {"values": (1, 2, 3, 4, 5, 6), "shape": (2, 3), "dtype": Name("int64")},
                         {"values": (0.1,), "shape": (), "dtype": Name("bfloat16")},
                         {"values": (True, False), "shape": (2, 1), "dtype": Name("bool")}],
            "iota": [{"shape": (4,), "dim": 0, "dtype": Name("int64")}, {"shape": (2, 3), "dim": 1, "dtype": Name("float32")},
                     {"shape": (3, 2, 2), "dim": 0, "dtype": Name("int32")},
                     {"shape": (2, 5, 2), "dim": 1, "dtype": Name("uint8")}],
            "triangle": [{"rows": 3, "cols": 4, "offset": 0}, {"rows": 4, "cols": 3, "offset": -1},
                         {"rows": 1, "cols": 5, "offset": 2},
                         {"rows": 3, "cols": 3, "offset": -7}]}[name]
    yield into_row("some", [case("", like, **params) for params in rows[::2]])
    yield into_row("others", [case("", rounded(rng, 3, 1), **params) for params in rows[1::2]])


@cases("choose")
def choose(name, rng):
    for i, shape in enumerate(((3, 4), (5,), ())):
        yield case(f"shape {i + 1}", np.array(i != 1), Leaf(np.asarray(rounded(rng, *shape))),
                   Leaf(np.asarray(rounded(rng, *shape))))
    yield case("nan beside", np.array(True), Leaf(np.array([1.0, 2.0])), Leaf(np.array([NAN, INF])))


@formula("assign_view")
def assign_view(base, value, *, chain):
    """A copy of the base, written through views."""
    out = base.clone()
    part = out
    for name, items in chain:
        p = dict(items)
        part = (part.select(p["dim"], p["index"]) if name == "select" else part.permute(p["dims"]) if name == "permute"
                else torch.ops.aten.slice(part, p["dim"], p["start"], p["stop"], p["step"]))
    part.copy_(value)
    return out


@cases("assign_view")
def assignments(name, rng):
    column = ("select", (("dim", 1), ("index", 0)))
    corner = (("slice", (("dim", 0), ("start", 1), ("step", 1), ("stop", 3))), ("permute", (("dims", (1, 0)),)))
    yield case("column", Leaf(rounded(rng, 3, 4)), Leaf(rounded(rng, 3)), chain=(column,))
    yield case("corner", Leaf(rounded(rng, 4, 2)), Leaf(rounded(rng, 2, 2)), chain=corner)
    yield case("whole", Leaf(rounded(rng, 5)), Leaf(rounded(rng, 5)), chain=())


# At indices.

def key(indices):
    return tuple([slice(None) if i is None else i.long() for i in indices])


def reached(src, index):
    """Return the part of a source that an index reaches."""
    return src[tuple(map(slice, index.shape))]


formula("index")(lambda x, *indices: x[key(indices)])
formula("gather")(lambda x, index, *, dim: x.gather(dim, index.long()))
formula("scatter")(lambda x, index, src, *, dim, mode:
                   (x.scatter if mode == "set" else x.scatter_add)(dim, index.long(), reached(src, index)))
formula("scatter_reduce")(lambda x, index, src, *, dim, mode:
                          x.scatter_reduce(dim, index.long(), reached(src, index), {"mul": "prod"}.get(mode, mode)))
formula("in_range")(lambda index, *, low, high: index.clone())
formula("nonzero")(lambda x, *, count: x.nonzero(as_tuple=True))
formula("repeat_index")(lambda repeats, *, total: torch.repeat_interleave(repeats.long()))


@formula("index_put")
def index_put(x, value, *indices, accumulate):
    """Write or add a value at index tensors."""
    return torch.ops.aten.index_put(x, [None if i is None else i.long() for i in indices], value, accumulate)


def whole(*values):
    return np.array(values, np.int64)


@cases("index")
def indices(name, rng):
    yield case("rows", Leaf(rounded(rng, 4, 3)), whole(0, 3, 3, -1))
    yield case("second dim", Leaf(rounded(rng, 2, 5)), None, whole([0, 4], [1, 1]))
    yield case("broadcast", Leaf(rounded(rng, 4, 3)), np.array([0, 2], np.int32), whole([1], [0]))
    yield case("apart", Leaf(rounded(rng, 2, 3, 4)), whole(0, 1, 1), None, whole(3, 3, 0))
    yield case("adjacent", Leaf(rounded(rng, 2, 3, 4)), None, whole(0, 2), whole(1))
    yield into_row("dtypes", [case("", c.args[0], whole(1, 0, 1)) for c in of_kinds(rng, 3, 2)])


@cases("index_put")
def index_puts(name, rng):
    yield case("set", Leaf(rounded(rng, 4, 3)), Leaf(rounded(rng, 2, 3)), whole(0, 3), accumulate=False)
    yield case("add", Leaf(rounded(rng, 4, 3)), Leaf(rounded(rng, 3, 3)), whole(1, 1, -3), accumulate=True)
    yield case("second dim", Leaf(rounded(rng, 3, 4)), Leaf(rounded(rng, 3, 2, 2)), None, whole([0, 2], [0, 0]),
               accumulate=True)
    yield case("apart", Leaf(rounded(rng, 2, 3, 4)), Leaf(rounded(rng, 2, 3)), whole(0, 0), None, whole(3, 3), accumulate=True)
    yield case("vector", Leaf(rounded(rng, 6)), Leaf(rounded(rng, 4)), whole(4, 4, 0, 5), accumulate=True)
    yield case("set second dim", Leaf(rounded(rng, 2, 5)), Leaf(rounded(rng, 2, 2)), None, whole(4, 1), accumulate=False)
    yield into_row("dtypes", [case("", c.args[0], c.args[0][:2].copy(), whole(2, 0), accumulate=a)
                              for c, a in zip(of_kinds(rng, 3, 2), (True, False))])


@cases("in_range")
def ranges(name, rng):
    yield case("from below zero", whole(0, 3, -4), low=-4, high=4)
    yield case("32 bits", np.array([[2, 1], [0, 0]], np.int32), low=0, high=3)


@cases("gather")
def gathers(name, rng):
    yield case("rows", Leaf(rounded(rng, 4, 3)), whole([0, 3, 3], [1, 1, 0]), dim=0)
    yield case("columns", Leaf(rounded(rng, 3, 4)), whole([3, 0], [2, 2]), dim=1)
    yield case("vector", Leaf(rounded(rng, 5)), np.array([4, 4, 0], np.int32), dim=0)
    yield case("middle", Leaf(rounded(rng, 2, 4, 3)), rng.integers(0, 4, (2, 2, 3)), dim=1)
    yield into_row("dtypes", [case("", c.args[0], whole([1, 0], [2, 2]), dim=0) for c in of_kinds(rng, 3, 2)])


@cases("scatter")
def scatters(name, rng):
    yield case("set rows", Leaf(rounded(rng, 4, 3)), whole([0, 3, 2], [1, 1, 0]), Leaf(rounded(rng, 2, 3)), dim=0, mode="set")
    yield case("set columns", Leaf(rounded(rng, 3, 4)), whole([3, 0], [2, 1]), Leaf(rounded(rng, 3, 5)), dim=1, mode="set")
    yield case("add rows", Leaf(rounded(rng, 4, 3)), whole([0, 0, 2], [0, 0, 2]), Leaf(rounded(rng, 2, 3)), dim=0, mode="add")
    yield case("add columns", Leaf(rounded(rng, 2, 4)), whole([3, 3, 0], [2, 2, 2]), Leaf(rounded(rng, 2, 3)), dim=1,
               mode="add")
    yield into_row("dtypes", [case("", c.args[0], whole([2, 0], [2, 1]), c.args[0][:2].copy(), dim=0, mode=m)
                              for c, m in zip(of_kinds(rng, 3, 2), ("add", "set"))])


@cases("scatter_reduce")
def scatter_reduces(name, rng):
    index = whole([0, 0, 2], [0, 3, 2], [3, 3, 2])
    for mode in ("mul", "amax", "amin"):
        yield case(f"{mode} rows", Leaf(rounded(rng, 4, 3)), index, Leaf(rounded(rng, 3, 3)), dim=0, mode=mode)
        yield case(f"{mode} columns", Leaf(rounded(rng, 3, 4)), whole([3, 0], [2, 2]), Leaf(rounded(rng, 3, 5)), dim=1,
                   mode=mode)
    for mode in ("amax", "amin"):
        src = np.array([[1.0, 2.0, -1.0], [1.0, 2.0, -1.0], [2.0, 2.0, 0.5]])
        yield case(f"{mode} ties", Leaf(np.array([[1.0, 3.0, 0.0], [1.0, 2.0, 3.0], [0.0, 0.0, -1.0], [2.0, 2.0, 0.0]])), index,
                   Leaf(src), dim=0, mode=mode)
    one = np.array([[0.0, 2.0, 3.0], [4.0, 5.0, 0.0], [0.0, 1.5, 2.0]])
    two = np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    x = rounded(rng, 4, 3, low=0.5)
    yield case("one zero", Leaf(x), index, Leaf(one), dim=0, mode="mul")
    yield case("several zeros", Leaf(x), index, Leaf(two), dim=0, mode="mul")
    x = x.copy()
    x[0, 0] = x[3, 1] = x[1, 2] = 0
    yield case("zeros in both", Leaf(x), index, Leaf(one), dim=0, mode="mul")
    yield into_row("whole", [case("", rng.integers(-4, 5, (4, 3)), index, rng.integers(-4, 5, (3, 3)), dim=0, mode=mode)
                             for mode in ("mul", "amax", "amin")])


@cases("nonzero")
def nonzeros(name, rng):
    yield case("matrix", np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]), count=3)
    yield case("bools", np.array([True, False, True, True, False]), count=3)
    yield case("whole", np.array([[[1, 0], [0, 0]], [[0, -2], [3, 4]], [[0, 0], [5, 0]]]), count=5)
    yield case("nan", np.array([0.0, NAN, -0.0, 1e-300]), count=2)


@cases("repeat_index")
def repeats(name, rng):
    yield case("three", whole(2, 0, 3), total=5)
    yield case("32 bits", np.array([1, 4, 0, 2], np.int32), total=7)


# Rows of tables.


@formula("embedding")
def embedding(weight, index, *, padding_idx, by_frequency):
    """PyTorch's lookup."""
    return torch.nn.functional.embedding(index.long(), weight, padding_idx, scale_grad_by_freq=by_frequency)


@cases("embedding")
def embeddings(name, rng):
    yield case("plain", Leaf(rounded(rng, 5, 3)), whole(4, 0, 2, 2), padding_idx=None, by_frequency=False)
    yield case("padding", Leaf(rounded(rng, 6, 2)), whole([1, 5, 1], [0, 1, 3]), padding_idx=1, by_frequency=False)
    yield case("by frequency", Leaf(rounded(rng, 4, 3)), whole([3, 3, 0], [3, 1, 1]), padding_idx=None, by_frequency=True)
    yield case("both", Leaf(rounded(rng, 4, 5)), np.array([2, 3, 2, 3, 0], np.int32), padding_idx=2, by_frequency=True)
    yield case("one", Leaf(rounded(rng, 3, 4)), np.array(2), padding_idx=None, by_frequency=False)


formula("row_sums")(lambda values, index, *, rows:
                    values.new_zeros(rows, values.shape[-1]).index_add(0, index.long().flatten(),
                                                                       values.reshape(-1, values.shape[-1])))
formula("row_scale")(lambda like, index: 1 / index.flatten().bincount()[index].to(like.dtype))
formula("bag_of")(lambda offsets, *, size: (torch.searchsorted(offsets, torch.arange(size, dtype=offsets.dtype),
                                                               right=True) - 1).to(offsets.dtype))
formula("bag_sums")(lambda weight, index, offsets: torch.nn.functional.embedding_bag(index, weight, offsets, mode="sum"))
formula("scaled_bag_sums")(lambda weight, index, offsets, scales:
                           torch.nn.functional.embedding_bag(index, weight, offsets, mode="sum", per_sample_weights=scales))


@cases("row_sums")
def row_sums(name, rng):
    yield case("vector", Leaf(rounded(rng, 6, 3)), whole(4, 0, 4, 2, 0, 4), rows=5)
    yield case("matrix", Leaf(rounded(rng, 2, 3, 2)), whole([1, 1, 0], [2, 1, 3]), rows=4)
    yield case("32 bits", Leaf(rounded(rng, 3, 7)), np.array([1, 1, 0], np.int32), rows=2)


@cases("row_scale")
def row_scales(name, rng):
    yield case("matrix", rounded(rng, 3), whole([1, 1, 0], [2, 1, 0]))
    yield case("vector", rounded(rng, 2, 2, dtype="float32"), whole(4, 4, 4, 1, 0))


@cases("bag_of")
def bags_of_rows(name, rng):
    yield case("one empty", whole(0, 2, 2, 5), size=7)
    yield case("32 bits", np.array([0, 1, 4], np.int32), size=5)


@cases("bag_sums", "scaled_bag_sums")
def bag_sums(name, rng):
    for label, width, index, offsets in (("several", 3, (4, 0, 4, 2, 1, 1, 3), (0, 2, 2, 5)), ("one", 2, (1, 1, 0, 4), (0,)),
                                         ("wide", 20, (3, 3, 0, 1, 2), (0, 3))):
        scales = [Leaf(rounded(rng, len(index)))] if name == "scaled_bag_sums" else []
        yield case(label, Leaf(rounded(rng, 5, width)), whole(*index), whole(*offsets), *scales)


# Flat places of planes.

formula("plane_take")(lambda x, indices: x.flatten(2).gather(2, indices.flatten(2)).reshape(indices.shape))


@formula("plane_put")
def plane_put(x, indices, *, size, accumulate):
    """Values at flat places of planes of zeros."""
    zeros = x.new_zeros(*x.shape[:2], int(np.prod(size)))
    put = zeros.scatter_add if accumulate else zeros.scatter
    return put(2, indices.flatten(2), x.flatten(2)).reshape(*x.shape[:2], *size)


formula("max_pool_grad")(lambda g, indices, *, size, kernel, stride, padding, dilation:
                         plane_put(g, indices, size=size, accumulate=True))


@cases("plane_take")
def plane_takes(name, rng):
    yield case("planes", Leaf(rounded(rng, 2, 3, 4, 5)), rng.integers(0, 20, (2, 3, 2, 2)))
    yield case("lines", Leaf(rounded(rng, 1, 2, 6)), rng.integers(0, 6, (1, 2, 9)))


@cases("plane_put")
def plane_puts(name, rng):
    yield case("adds", Leaf(rounded(rng, 2, 3, 2, 4)), rng.integers(0, 20, (2, 3, 2, 4)), size=(4, 5), accumulate=True)
    indices = np.stack([rng.permutation(12)[:6] for _ in range(4)]).reshape(2, 2, 6)
    yield case("puts", Leaf(rounded(rng, 2, 2, 6)), indices, size=(12,), accumulate=False)


@formula("taps_take")
def taps_take(x, indices, weights):
    """The weighted sum of elements at places; -1 counts as 0."""
    found = torch.stack([plane_at(x, indices[:, k]) * (1 if weights is None else weights[:, k].unsqueeze(1))
                         for k in range(indices.shape[1])])
    return found.sum(0)


def plane_at(x, place):
    """The elements of all channels at places (N, *points)."""
    at = place.long().clamp(min=0).unsqueeze(1).expand(-1, x.shape[1], *place.shape[1:])
    found = x.flatten(2).gather(2, at.flatten(2)).reshape(at.shape)
    return torch.where(place.unsqueeze(1) < 0, 0.0, found)


formula("taps_put")(lambda y, indices, weights, *, size:
                    pulled(lambda x: taps_take(x, indices, weights), [y.new_zeros(*y.shape[:2], *size)], y)[0])
formula("taps_dots")(lambda x, y, indices: torch.stack([(plane_at(x, i) * y).sum(1) for i in indices.unbind(1)], 1))
TAPS = (("planes", 2, (4, 5), (3, 2), 4), ("lines", 1, (7,), (6,), 1), ("many channels", 5, (3, 2), (2, 3), 2))


@cases("taps_take", "taps_put", "taps_dots")
def weighted_elements(name, rng):
    for i, (label, channels, size, points, count) in enumerate(TAPS):
        indices = rng.integers(-1, int(np.prod(size)), (2, count, *points)).astype(np.int32 if i < 2 else np.int64)
        weights = None if i == 1 else Leaf(rounded(rng, *indices.shape))
        x, y = Leaf(rounded(rng, 2, channels, *size)), Leaf(rounded(rng, 2, channels, *points))
        if name == "taps_dots":
            yield case(label, x, y, indices)
        elif name == "taps_take":
            yield case(label, x, indices, weights)
        else:
            yield case(label, y, indices, weights, size=size)


# Transforms.

formula("fft")(lambda x, *, dim, inverse, norm: (torch.fft.ifftn if inverse else torch.fft.fftn)(x, dim=dim, norm=norm))
formula("rfft")(lambda x, *, dim, norm: torch.fft.rfft(x, dim=dim, norm=norm))
formula("irfft")(lambda x, *, dim, n, norm: torch.fft.irfft(x, n, dim, norm))


@cases("fft", "rfft", "irfft")
def transforms(name, rng):
    norms = ("backward", "ortho", "forward")
    if name == "fft":
        for i, (shape, dim, inverse) in enumerate((((3, 4), (1,), False), ((2, 3, 5), (0, 2), True), ((4, 3, 2), (2, 1), True),
                                                   ((6,), (0,), False))):
            yield case(f"{norms[i % 3]} {i}", Leaf(complexes(rng, *shape)), dim=dim, inverse=inverse, norm=norms[i % 3])
        yield case("single", Leaf(complexes(rng, 5, dtype="complex64")), dim=(0,), inverse=False, norm="backward")
    elif name == "rfft":
        for norm, shape, dim in zip(norms, ((3, 4), (5, 2), (2, 3, 7)), (1, 0, 2)):
            yield case(norm, Leaf(rounded(rng, *shape)), dim=dim, norm=norm)
    else:
        for norm, shape, dim, n in zip(norms, ((3, 4), (3, 2), (2, 5)), (1, 0, 1), (6, 5, 8)):
            yield case(norm, Leaf(complexes(rng, *shape)), dim=dim, n=n, norm=norm)
