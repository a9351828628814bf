"""vmap: which arguments are mapped, and how results are joined."""

from functools import wraps

from ...ir.errors import ArgumentError, ShapeError
from ...ir.opdef.aval import canonical_dim
from ...ir.ops.core.shape import cat, permute
from ..core.random import get_rng_state, set_rng_state
from ..core.tensor import Tensor, shape_of
from ..pytree.pytree import _broadcast_to_and_flatten, broadcast_prefix, tree_flatten, tree_unflatten
from .vmap_level import Level

__all__ = ["Tensor", "_add_batch_dim", "_broadcast_to_and_flatten", "_create_batched_inputs", "_get_name",
           "_maybe_remove_batch_dim", "_process_batched_inputs", "_remove_batch_dim", "_unwrap_batched", "tree_flatten",
           "tree_unflatten", "vmap"]


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """Return a function that applies func to every sample of a batch at once and joins the results.

    in_dims and out_dims name the batch dimension, for all arguments (results) or as a tree; None means one value for all
    samples. With chunk_size, that many samples run at a time.
    """
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ArgumentError(f"vmap: chunk_size should be None or a positive number, got {chunk_size!r}")

    @wraps(func)
    def mapped(*args, **kwargs):
        size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
        if chunk_size is None or chunk_size >= size:
            return _run_batched(func, size, dims, leaves, spec, kwargs, out_dims, randomness)
        start = get_rng_state() if randomness == "same" else None
        columns = [[x] * -(-size // chunk_size) if d is None else x.split(chunk_size, d) for x, d in zip(leaves, dims)]
        results = []
        for i, part in enumerate(zip(*columns)):
            if start is not None:
                set_rng_state(start)        # random values shared by all samples are shared by all chunks
            count = min(chunk_size, size - i * chunk_size)
            results.append(_run_batched(func, count, dims, part, spec, kwargs, out_dims, randomness))
        return _join_chunks(results, out_dims)

    return mapped


def _run_batched(func, size, dims, leaves, spec, kwargs, out_dims, randomness):
    """Return the results of all samples, with the batch at `out_dims`."""
    with Level(size, randomness) as level:
        result = func(*_create_batched_inputs(dims, leaves, level, spec), **kwargs)
        return _unwrap_batched(result, out_dims, level, size, func)


def _join_chunks(parts, out_dims):
    found = [tree_flatten(part)[0] for part in parts]
    dims = _out_dims_of(parts[0], found[0], out_dims)
    whole = [column[0] if d is None else cat(*column, dim=canonical_dim(d, column[0].ndim)) for d, *column in zip(dims, *found)]
    return tree_flatten(parts[0])[1].unflatten(whole)


# The steps under PyTorch's names (`_functorch.vmap`). Libraries with containers of their own (tensordict) replace them.
# `vmap_level` is the level itself, not a number.


def _process_batched_inputs(in_dims, args, func):
    leaves, spec, dims = _mapped_leaves(args, in_dims)
    return _batch_size(leaves, dims), dims, leaves, spec


def _create_batched_inputs(flat_in_dims, flat_args, vmap_level, args_spec):
    return args_spec.unflatten([x if d is None else _add_batch_dim(x, d, vmap_level) for x, d in zip(flat_args, flat_in_dims)])


def _unwrap_batched(batched_outputs, out_dims, vmap_level, batch_size, func):
    found, structure = tree_flatten(batched_outputs)
    dims, name = _out_dims_of(batched_outputs, found, out_dims), _get_name(func)
    return structure.unflatten([_maybe_remove_batch_dim(name, x, vmap_level, batch_size, d) for x, d in zip(found, dims)])


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    """Return one result of all samples; `name` is the function's."""
    if out_dim is None:
        if vmap_level.holds(batched_output):
            raise ArgumentError(f"vmap: each sample has its own result of {name}, so its out_dim cannot be None")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ArgumentError(f"vmap: {name} must return tensors, got {type(batched_output).__name__}")
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _get_name(func) -> str:
    return getattr(func, "__name__", None) or repr(func)


def _is_dims(x) -> bool:
    return x is None or isinstance(x, int)


def _mapped_leaves(args, in_dims):
    """Return the leaves of all arguments, their structure, and the mapped dimension of each leaf."""
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
            raise ShapeError(f"vmap: in_dims says {dim} for an argument of shape {list(x.shape)}, which has no such dimension")
        dims.append(canonical_dim(dim, x.ndim))
    return leaves, spec, dims


def _batch_size(leaves, dims) -> int:
    sizes: list = []        # no set: it would read a symbolic size
    for x, d in zip(leaves, dims):
        if d is not None and shape_of(x)[d] not in sizes:
            sizes.append(shape_of(x)[d])
    if len(sizes) != 1:
        if not sizes:
            raise ShapeError("vmap: no argument is mapped; at least one entry of in_dims must not be None")
        mapped = [f"{int(shape_of(x)[d])} (dim {d} of {x.aval})" for x, d in zip(leaves, dims) if d is not None]
        raise ShapeError(f"vmap: the dimensions that in_dims maps must be of one size, got {', '.join(mapped)}")
    size, = sizes
    if size == 0:
        raise ShapeError("vmap: the mapped dimension is empty, so the shape of the result is not known")
    return size


def _out_dims_of(result, levels, out_dims):
    if isinstance(out_dims, list):
        out_dims = tuple(out_dims)
    if isinstance(out_dims, tuple) and len(out_dims) == 1 and len(levels) == 1 and isinstance(result, Tensor):
        out_dims, = out_dims
    try:
        dims = broadcast_prefix(out_dims, result, _is_dims)
        if all(map(_is_dims, dims)):
            return dims
        raise ArgumentError("a dim is an int or None")
    except (ArgumentError, TypeError):
        raise ArgumentError(f"vmap: out_dims {out_dims!r} is no tree like the results") from None


def _add_batch_dim(tensor, in_dim, vmap_level):
    """Return the sample of a tensor with a batch dimension."""
    order = (in_dim, *[i for i in range(tensor.ndim) if i != in_dim])
    return vmap_level.sample(vmap_level.run_outer(_permuted, tensor, order) if in_dim else tensor)


def _permuted(t, order):
    return permute(t, dims=order)


def _remove_batch_dim(tensor, vmap_level, batch_size, out_dim):
    """Return the tensor of all samples, with the batch at a dimension."""
    return vmap_level.run_outer(_with_batch_at, vmap_level.full(tensor), out_dim)


def _with_batch_at(t, dim):
    dim = canonical_dim(dim, t.ndim)
    if dim == 0:
        return t
    order = list(range(1, t.ndim))
    order.insert(dim, 0)
    return permute(t, dims=tuple(order))
