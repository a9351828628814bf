"""Reductions, scans, sorting and elements by rank."""

import numpy as np
import torch

from ..families import distinct, rounded
from ..row import Leaf
from . import case, cases, formula, into_row, like_torch
from .elementwise import INF, NAN, as_dtype, complexes

TIES = np.array([[2.0, 1.0, 2.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]])
EXTREMES = np.array([[0.0, -0.0, 1.0, INF], [NAN, 2.0, -1.0, 3.0], [-INF, 5.0, 5.0, -INF], [2.0, NAN, NAN, -3.0]])
FORMS = (("rows", (3, 5), (1,), False), ("columns kept", (4, 3), (0,), True), ("two dims", (2, 3, 4), (0, 2), True),
         ("all", (2, 5), (0, 1), False))


def last(x, dim):
    """Return a tensor with the dims that are reduced as one last dim."""
    rest = [d for d in range(x.ndim) if d not in dim]
    return x.permute(*rest, *dim).reshape([x.shape[d] for d in rest] + [-1])


def back(y, x, dim, keepdim):
    """Return a reduction of `last` in the shape asked for."""
    return y.reshape([1 if d in dim else n for d, n in enumerate(x.shape)]) if keepdim else y


def over_last(function):
    """Turn a function over the last dim into one over several dims."""
    return lambda x, *, dim, keepdim: back(function(last(x, dim)), x, dim, keepdim)


formula("sum")(lambda x, *, dim, keepdim: torch.sum(x, dim, keepdim, dtype=x.dtype))
formula("int_sum")(lambda x, *, dim, keepdim: torch.sum(x, dim, keepdim, dtype=torch.int64))
formula("prod")(over_last(lambda x: torch.prod(x, -1, dtype=x.dtype)))
formula("argmax")(over_last(lambda x: torch.argmax(x, -1)))
formula("argmin")(over_last(lambda x: torch.argmin(x, -1)))
formula("vector_norm")(lambda x, *, ord, dim, keepdim: torch.linalg.vector_norm(x, ord, dim, keepdim))
like_torch("nansum", "amax", "amin", "mean", "var", "std", "logsumexp")
formula("any")(lambda x, *, dim, keepdim: torch.any(x, dim, keepdim).bool())
formula("all")(lambda x, *, dim, keepdim: torch.all(x, dim, keepdim).bool())

KINDS = {"sum": ("int64", "int32", "uint8"), "prod": ("int64", "int8"), "amax": ("int64", "uint8", "bool"),
         "amin": ("int64", "uint8", "bool"),
         "argmax": ("int64", "uint8"), "argmin": ("int64", "uint8"), "any": ("int64", "bool", "uint8"),
         "all": ("int64", "bool", "uint8"),
         "int_sum": ("bool", "int8", "uint8", "int64")}
WITHOUT_GRADIENT = ("argmax", "argmin", "any", "all", "int_sum")


@cases("sum", "nansum", "int_sum", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "mean", "logsumexp")
def reductions(name, rng):
    calls = [case("", rng.integers(0, 2 if dtype == "bool" else 7, (3, 4)).astype(dtype), dim=dim, keepdim=keep)
             for dtype, dim, keep in zip(KINDS.get(name, ()), ((1,), (0,), (0, 1), (1,)), (False, True, True, True))]
    if name == "int_sum":
        yield into_row("narrow", calls[:3])
        yield case("all", rng.integers(-9, 9, (2, 3, 4)), dim=(0, 1, 2), keepdim=False)
        return
    for label, shape, dim, keepdim in FORMS:
        x = distinct(rng, *shape) if name not in ("any", "all") else np.where(rng.random(shape) < 0.4, 0.0, 1.5)
        yield case(label, x if name in WITHOUT_GRADIENT else Leaf(x), dim=dim, keepdim=keepdim, options={"turned": [0]}
                   if label == "all" else {})
    calls += [case("", EXTREMES, dim=(1,), keepdim=False), case("", EXTREMES.astype(np.float32), dim=(0,), keepdim=True)]
    if name not in ("amax", "amin", "argmax", "argmin"):
        calls.append(case("", np.zeros((3, 0)), dim=(1,), keepdim=False))
    if name in ("sum", "amax", "mean", "prod"):
        calls.append(case("", rounded(rng, 3, 4).astype(as_dtype("bfloat16")), dim=(1,), keepdim=True))
    if name in ("any", "all"):
        calls.append(case("", np.array([[0, 1j], [0, 0], [2, 1]]), dim=(1,), keepdim=False))
    yield into_row("values", calls)
    if name in ("sum", "mean", "prod"):
        yield case("complex", Leaf(complexes(rng, 3, 4)), dim=(1,), keepdim=False)
    if name == "prod":
        x = distinct(rng, 3, 4)
        x[0, 1] = x[1, 0] = x[1, 3] = 0
        yield case("one and two zeros", Leaf(x), dim=(1,), keepdim=False)
        yield case("zeros among all", Leaf(x), dim=(0, 1), keepdim=True)
    if name in ("amax", "amin"):
        yield case("ties", Leaf(TIES), dim=(1,), keepdim=False)
        yield case("ties among all", Leaf(TIES[:, :3].copy()), dim=(0, 1), keepdim=True)
    if name == "logsumexp":
        yield case("large", Leaf(np.array([[1e3, 999.0, 998.5], [-1e3, -1001.0, -999.0]])), dim=(1,), keepdim=False)
    if name == "nansum":
        yield case("nan", Leaf(np.array([[NAN, 1.0, 2.0], [3.0, NAN, NAN]])), dim=(1,), keepdim=True)


@cases("var", "std")
def variances(name, rng):
    for (label, shape, dim, keepdim), correction in zip(FORMS, (0, 1, 1, 2)):
        yield case(label, Leaf(distinct(rng, *shape)), dim=dim, keepdim=keepdim, correction=correction)
    yield case("broken correction", Leaf(distinct(rng, 2, 5)), dim=(1,), keepdim=False, correction=1.5)
    yield into_row("values", [case("", distinct(rng, 3, 1), dim=(1,), keepdim=False, correction=1),
                              case("", EXTREMES, dim=(1,), keepdim=False,
                                                                                                       correction=0)])
    yield case("alike", Leaf(np.array([[1.5, 1.5, 1.5], [1.0, 2.0, 4.0]])), dim=(1,), keepdim=False, correction=1)


@cases("vector_norm")
def vector_norms(name, rng):
    for i, ord in enumerate((2.0, 1.0, INF, -INF, 3.0, 2.5, -1.0, 0.5, 0.0)):
        label, shape, dim, keepdim = FORMS[i % 4]
        x = distinct(rng, *shape)
        yield case(f"order {ord} of {label}", Leaf(x) if ord else x, ord=ord, dim=dim, keepdim=keepdim)
    zeros = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, -4.0]])
    for ord in (2.0, 1.0, 3.0):
        yield case(f"order {ord} at zero", Leaf(zeros), ord=ord, dim=(1,), keepdim=False)
    yield case("ties", Leaf(np.array([[2.0, -2.0, 1.0], [3.0, 3.0, -3.0]])), ord=INF, dim=(1,), keepdim=True)
    yield into_row("values", [case("", EXTREMES, ord=ord, dim=(1,), keepdim=False) for ord in (2.0, 1.0, INF, 0.0)])


formula("norms")(lambda *xs, ord: torch.stack([torch.linalg.vector_norm(x, ord) for x in xs]))
formula("all_finite")(lambda *xs: torch.stack([x.isfinite().all() for x in xs]).all())


@cases("norms")
def norms(name, rng):
    shapes = ((2, 3), (5,), (), (1, 2, 2), (4, 1))
    for i, ord in enumerate((2.0, 1.0, 3.0, INF, 0.0)):
        yield case(f"order {ord}", *[np.asarray(rounded(rng, *s)) for s in shapes[:2 + i % 4]], ord=ord)
    yield case("zeros", np.zeros((2, 3)), np.zeros(4), rounded(rng, 3), ord=2.0)


@cases("all_finite")
def all_finite(name, rng):
    some = rounded(rng, 2, 3)
    yield case("finite", some, rounded(rng, 4, 1, 2))
    yield into_row("wrong", [case("", rounded(rng, 3), np.array([[0.0, wrong], [1.0, 2.0]])) for wrong in (INF, -INF, NAN)])


# Scans.

formula("cumsum")(lambda x, *, dim: torch.cumsum(x, dim, dtype=x.dtype))
formula("cumprod")(lambda x, *, dim: torch.cumprod(x, dim, dtype=x.dtype))
formula("logcumsumexp")(lambda x, *, dim: torch.logcumsumexp(x, dim))
formula("cummax")(lambda x, *, dim: tuple(torch.cummax(x, dim)))
formula("cummin")(lambda x, *, dim: tuple(torch.cummin(x, dim)))


@formula("linear_scan")
def linear_scan(a, b, *, dim):
    """h[t] = a[t] h[t-1] + b[t]"""
    found = [torch.zeros_like(b.select(dim, 0))]
    for t in range(b.shape[dim]):
        found.append(a.select(dim, t) * found[-1] + b.select(dim, t))
    return torch.stack(found[1:], dim)


@formula("products_of_others")
def products_of_others(x, *, dim):
    """For each element the product of the others."""
    n = x.shape[dim]
    others = [x.index_select(dim, torch.tensor([j for j in range(n) if j != i])) for i in range(n)]
    return torch.stack([other.prod(dim) for other in others], dim)


@cases("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "products_of_others")
def scans(name, rng):
    yield case("vector", Leaf(distinct(rng, 7, step=0.25)), dim=0)
    yield case("rows", Leaf(distinct(rng, 3, 5)), dim=1)
    yield case("middle", Leaf(distinct(rng, 2, 4, 3)), dim=1)
    yield case("turned", Leaf(distinct(rng, 5, 2)), dim=1, options={"turned": [0]})
    calls = [case("", EXTREMES, dim=1)]
    if name in ("cumsum", "cumprod", "cummax", "cummin"):
        calls += [case("", rng.integers(-3, 4, (3, 4)).astype(dtype), dim=0) for dtype in ("int64", "int8")]
        calls.append(case("", rounded(rng, 3, 4).astype(as_dtype("bfloat16")), dim=1))
    yield into_row("values", calls)
    if name in ("cumprod", "products_of_others"):
        x = distinct(rng, 3, 5)
        x[1, 2] = x[2, 0] = x[2, 3] = 0
        yield case("zeros", Leaf(x), dim=1)
    if name in ("cummax", "cummin"):
        yield case("ties", Leaf(TIES), dim=1)
    if name == "logcumsumexp":
        yield case("nothing first", np.array([-INF, -INF, 1.0, -INF, 700.0, 2.0]), dim=0)
        yield case("nothing between", Leaf(np.array([1.0, -INF, 700.0, 2.0])), dim=0)
    if name in ("cumsum", "cumprod"):
        yield case("complex", Leaf(complexes(rng, 2, 4)), dim=1)


@cases("linear_scan")
def linear_scans(name, rng):
    for label, shape, dim in (("vector", (6,), 0), ("rows", (3, 5), 1), ("middle", (2, 4, 3), 1), ("many columns", (4, 12), 0)):
        yield case(label, Leaf(rounded(rng, *shape, low=-1, high=1)), Leaf(rounded(rng, *shape)), dim=dim)
    yield case("complex", Leaf(complexes(rng, 4)), Leaf(complexes(rng, 4)), dim=0)


# Sorting, searching, counting.

formula("argsort")(lambda x, *, dim, descending: torch.sort(x, dim=dim, descending=descending, stable=True).indices)
formula("arg_topk")(lambda x, *, k, dim, largest: torch.sort(x, dim=dim, descending=largest,
                                                             stable=True).indices.narrow(dim, 0, k))
formula("searchsorted")(lambda row, values, *, right: torch.searchsorted(row, values.contiguous(), right=right))


@cases("argsort")
def argsort(name, rng):
    for descending in (False, True):
        calls = [case("", distinct(rng, 7), dim=0, descending=descending),
                 case("", distinct(rng, 3, 5), dim=1, descending=descending),
                 case("", distinct(rng, 4, 3, 2), dim=1, descending=descending)]
        yield into_row(f"numbers {descending}", calls)
        yield into_row(f"ties {descending}", [case("", TIES, dim=1, descending=descending),
                                              case("", EXTREMES, dim=1, descending=descending),
                                              case("", TIES.astype(np.uint8), dim=0, descending=descending)])


@cases("arg_topk")
def arg_topk(name, rng):
    for largest in (False, True):
        calls = [case("", distinct(rng, *shape), k=k, dim=dim, largest=largest)
                 for shape, k, dim in (((20,), 3, 0), ((30, 2), 5, 0), ((3, 5), 5, 1), ((2, 4, 3), 2, 1))]
        yield into_row(f"numbers {largest}", calls)
        yield into_row(f"ties {largest}", [case("", np.tile(TIES, 4), k=4, dim=1, largest=largest),
                                           case("", EXTREMES, k=2, dim=1, largest=largest),
                                           case("", TIES.astype(np.int32), k=3, dim=1, largest=largest)])


@cases("searchsorted")
def searchsorted(name, rng):
    row = np.array([0.0, 1.0, 1.0, 3.0, 8.0])
    for right in (False, True):
        yield into_row(f"right {right}", [
            case("", row, np.array([[0.0, 1.0, 2.0], [8.0, 9.0, 3.0]]), right=right), case("", row, np.array(1.0), right=right),
            case("", np.sort(distinct(rng, 3, 6), axis=1), distinct(rng, 3, 4) + 0.01, right=right),
            case("", np.array([-INF, 0.0, INF]), np.array([0.0, -INF, INF, 5.0]), right=right),
            case("", np.array([1, 3, 3, 7]), np.array([[3, 8], [0, 1]]), right=right)])


@formula("bin_counts")
def bin_counts(x, *, bins, low, high):
    """A histogram of the numbers."""
    return torch.histc(x[x.isfinite()], bins, low, high).to(torch.int64)


@cases("bin_counts")
def bins(name, rng):
    edges = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, NAN, INF])
    yield into_row("float64", [case("", distinct(rng, 40), bins=5, low=-1.0, high=1.0),
                               case("", edges, bins=4, low=-1.0, high=1.0),
                               case("", edges, bins=1, low=-0.5, high=2.0)])
    yield case("float32", rounded(rng, 30, dtype="float32"), bins=7, low=-1.75, high=1.5)


# By rank.


def nan_counts(x, dim):
    return x.isnan().sum(dim, keepdim=True) if x.is_floating_point() else torch.zeros_like(x.sum(dim, keepdim=True),
                                                                                           dtype=torch.int64)


@formula("median_place")
def median_place(x, *, dim, skip_nan):
    """The lower middle of a stable order; nan, of which the first one counts, unless they are left out."""
    order, nans = torch.sort(x, dim=dim, stable=True).indices, nan_counts(x, dim)
    middle = (x.shape[dim] - 1 - (nans if skip_nan else 0 * nans)) // 2
    found = order.gather(dim, middle.clamp(min=0))
    return found if skip_nan else torch.where(nans > 0, x.isnan().to(torch.uint8).argmax(dim, keepdim=True), found)


@formula("mode_place")
def mode_place(x, *, dim):
    """The last place of PyTorch's mode."""
    hit = x == torch.mode(x, dim, keepdim=True).values
    numbers = torch.arange(1, x.shape[dim] + 1).reshape([-1 if d == dim else 1 for d in range(x.ndim)])
    return (hit * numbers).amax(dim, keepdim=True) - 1


@cases("median_place")
def medians(name, rng):
    for skip_nan in (False, True):
        yield into_row(f"numbers {skip_nan}", [case("", distinct(rng, 7), dim=0, skip_nan=skip_nan),
                                               case("", distinct(rng, 4, 6), dim=1,
                                                                                                        skip_nan=skip_nan),
                                               case("", distinct(rng, 5, 2, 3), dim=0, skip_nan=skip_nan)])
        yield into_row(f"ties {skip_nan}", [case("", TIES, dim=1, skip_nan=skip_nan),
                                            case("", EXTREMES, dim=1, skip_nan=skip_nan),
                                            case("", TIES.astype(np.int64), dim=0, skip_nan=skip_nan)])


@cases("mode_place")
def modes(name, rng):
    yield into_row("numbers", [case("", rng.integers(0, 3, (5, 8)).astype(float), dim=dim) for dim in (0, 1)])
    yield into_row("ties", [case("", TIES, dim=1), case("", rng.integers(0, 2, (3, 7)), dim=1),
                            case("", distinct(rng, 6), dim=0)])


class _Shared(torch.autograd.Function):
    """A value whose gradient goes to some elements."""

    @staticmethod
    def forward(ctx, x, value, hit):
        ctx.save_for_backward(hit)
        return value.clone()

    @staticmethod
    def backward(ctx, g):
        hit, = ctx.saved_tensors
        return hit * g / hit.sum(), None, None


formula("found_in")(lambda x, value: _Shared.apply(x, value, (x == value) | (x.isnan() & value.isnan())))


@cases("found_in")
def values_found_in(name, rng):
    for label, x, value in (("three", [2.0, 1.0, 2.0, 3.0, 2.0], 2.0), ("nan", [NAN, 1.0, NAN], NAN), ("one", [0.5, 1.5], 1.5)):
        yield case(label, Leaf(np.array(x)), np.array(value))


@formula("run_starts")
def run_starts(x):
    """Return a mask of entries that differ from the one before."""
    differs = (x[1:] != x[:-1]).flatten(1).any(1) if x.ndim > 1 else x[1:] != x[:-1]
    return torch.cat([torch.ones(min(len(x), 1), dtype=torch.bool), differs])


@cases("run_starts")
def runs(name, rng):
    yield into_row("vectors", [case("", rng.integers(0, 2, 9).astype(dtype)) for dtype in ("float64", "int32", "bool")])
    yield into_row("rows", [case("", rng.integers(0, 2, shape).astype(float)) for shape in ((6, 2), (1,), (5, 2, 1))])


@formula("quantile")
def quantile(x, q, *, dim, interpolation, skip_nan):
    """PyTorch's quantile."""
    return (torch.nanquantile if skip_nan else torch.quantile)(x, q, dim, interpolation=interpolation)


@cases("quantile")
def quantiles(name, rng):
    some = distinct(rng, 4, 6)
    some[0, 1] = some[2, 3] = some[2, 0] = NAN
    for i, interpolation in enumerate(("linear", "lower", "higher", "midpoint", "nearest")):
        shape, dim = (((7,), 0), ((4, 6), 1), ((5, 3, 2), 0))[i % 3]
        levels, params = np.array([0.3125, 0.765625]), {"dim": dim, "interpolation": interpolation, "skip_nan": False}
        yield case(interpolation, Leaf(distinct(rng, *shape)), levels if i else Leaf(levels), **params)
        yield case(f"{interpolation} without nan", Leaf(some), np.array([0.265625, 0.5, 0.90625]), dim=1,
                   interpolation=interpolation, skip_nan=True)
    yield into_row("ends", [case("", distinct(rng, 5), np.array([0.0, 1.0, 0.5]), dim=0, interpolation="linear",
                                 skip_nan=False),
                            case("", some, np.array([0.25]), dim=1, interpolation="linear", skip_nan=False)])
