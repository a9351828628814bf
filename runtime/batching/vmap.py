"""vmap itself: which arguments are mapped, and what becomes of the results."""

from functools import wraps

from ...ir.aval import canonical_dim
from ...ir.errors import ArgumentError, DTypeError, ShapeError
from ...ir.ops.shape import cat, permute, slice_
from ..pytree import broadcast_prefix, tree_flatten
from ..tensor import Tensor, shape_of
from .level import Level


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that applies func to every sample of a batch at once and puts the results together.

    in_dims and out_dims say which dimension is the batch, for all arguments (results) or as a tree like them; None is for what
    is one for all. With chunk_size, so many samples are worked on at a time.
    """
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ArgumentError(f"vmap: chunk_size should be None or a positive number, got {chunk_size!r}")

    @wraps(func)
    def mapped(*args, **kwargs):
        leaves, spec, dims = _mapped_leaves(args, in_dims)
        size = _batch_size(leaves, dims)
        if chunk_size is None or chunk_size >= size:
            found, result = _run(func, spec, leaves, dims, kwargs, size, randomness)
            placed = _in_front(result.unflatten(found), found, out_dims)
            return result.unflatten([_placed(t, d) for t, d in zip(found, placed)])
        parts = []
        for start in range(0, size, chunk_size):
            stop = min(start + chunk_size, size)
            some = [x if d is None else slice_(x, dim=d, start=start, stop=stop, step=1) for x, d in zip(leaves, dims)]
            parts.append(_run(func, spec, some, dims, kwargs, stop - start, randomness))
        result = parts[0][1]
        placed = _in_front(result.unflatten(parts[0][0]), parts[0][0], out_dims)
        joined = [cat(*column, dim=0) for column in zip(*[found for found, _ in parts])]
        return result.unflatten([_placed(t, d) for t, d in zip(joined, placed)])

    return mapped


def _is_dims(x) -> bool:
    return x is None or isinstance(x, int)


def _mapped_leaves(args, in_dims):
    """The leaves of all arguments, their structure, and which dimension of each is mapped."""
    leaves, spec = tree_flatten(args)
    if isinstance(in_dims, list):
        in_dims = tuple(in_dims)
    if not isinstance(in_dims, (int, tuple)):
        raise ArgumentError(f"vmap: in_dims must be an int or a tree like the arguments, got {in_dims!r}")
    if not args:
        raise ArgumentError("vmap: there are no arguments to map over")
    try:
        given = broadcast_prefix(in_dims, args, _is_dims)
    except (ArgumentError, TypeError):
        raise ArgumentError(f"vmap: in_dims {in_dims!r} is no tree like the {len(args)} arguments") from None
    dims: list[int | None] = []
    for x, dim in zip(leaves, given):
        if dim is None:
            dims.append(None)
            continue
        if not isinstance(x, Tensor):
            if isinstance(in_dims, int) and not isinstance(x, Tensor):
                dims.append(None)
                continue
            raise ArgumentError(f"vmap: in_dims says {dim} for an argument that is no tensor but {type(x).__name__}; say None")
        if not -x.ndim <= dim < x.ndim:
            raise ShapeError(f"vmap: an argument of shape {tuple(x.shape)} has no dimension {dim}")
        dims.append(canonical_dim(dim, x.ndim))
    return leaves, spec, dims


def _batch_size(leaves, dims) -> int:
    sizes: list = []        # no set: of a symbolic size that would ask for its value
    for x, d in zip(leaves, dims):
        if d is not None and shape_of(x)[d] not in sizes:
            sizes.append(shape_of(x)[d])
    if len(sizes) != 1:
        shapes = [tuple(x.shape) for x, d in zip(leaves, dims) if d is not None]
        if not sizes:
            raise ShapeError("vmap: no argument is mapped; at least one entry of in_dims must not be None")
        raise ShapeError(f"vmap: the mapped dimensions must be of one size, got {sorted(map(int, sizes))} in tensors of "
                         f"shapes {shapes}")
    size, = sizes
    if size == 0:
        raise ShapeError("vmap: the mapped dimension is empty, so the shape of the result is not known")
    return size


def _run(func, spec, leaves, dims, kwargs, size, randomness):
    """The results with the batch in front, and their structure."""
    full = [x if not d else permute(x, dims=(d, *[i for i in range(x.ndim) if i != d])) for x, d in zip(leaves, dims)]
    with Level(size, randomness) as level:
        samples = [x if d is None else level.sample(x) for x, d in zip(full, dims)]
        found, structure = tree_flatten(func(*spec.unflatten(samples), **kwargs))
    for x in found:
        if not isinstance(x, Tensor):
            raise DTypeError(f"vmap: func must return tensors, got {type(x).__name__}")
    return [level.full(x) for x in found], structure


def _in_front(result, found, out_dims):
    """The dimension of the batch in each result."""
    if isinstance(out_dims, list):
        out_dims = tuple(out_dims)
    if isinstance(out_dims, tuple) and len(out_dims) == 1 and len(found) == 1 and isinstance(result, Tensor):
        out_dims, = out_dims
    try:
        return broadcast_prefix(out_dims, result, _is_dims)
    except (ArgumentError, TypeError):
        raise ArgumentError(f"vmap: out_dims {out_dims!r} is no tree like the results") from None


def _placed(t, dim):
    if dim is None:
        return t[0]
    dim = canonical_dim(dim, t.ndim)
    if dim == 0:
        return t
    order = list(range(1, t.ndim))
    order.insert(dim, 0)
    return permute(t, dims=tuple(order))
