"""`torch._higher_order_ops`: scan, map and associative scan as functions.

They are Python loops, so closures, gradients of any order and vmap work, and a trace records each round. `associative_scan`
needs a number of rounds logarithmic in the length.
"""

import sys
from collections.abc import Callable
from typing import Any

from ..ir.errors import ArgumentError, ShapeError
from ..ir.opdef.aval import canonical_dim
from ..runtime.api.views.join_split import cat, stack
from ..runtime.autograd.grad_mode import no_grad
from ..runtime.core.tensor import Tensor
from ..runtime.func.control_flow import cond, while_loop
from ..runtime.func.vmap import vmap
from ..runtime.pytree.pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]


def scan(combine_fn: Callable, init, xs, *, dim: int = 0, reverse: bool = False, length: int | None = None) -> tuple[Any, Any]:
    """Compute carry, y = combine_fn(carry, x) for each slice x of `xs` along `dim`, from carry = init.

    Return the last carry and the ys, stacked along `dim`. Carry, x and y are tensors or trees of tensors. `reverse` starts with
    the last slice. Without tensors in `xs`, x is None, and `length` is the number of rounds.
    """
    leaves, spec = _leaves_of(xs, "scan: xs", dim)
    carried, carry_spec = tree_flatten(init)
    if not carried or not all(isinstance(t, Tensor) for t in carried):
        raise ArgumentError(f"scan: init is a tensor or a tree of tensors, got {init!r:.80}")
    dim = canonical_dim(dim, leaves[0].ndim) if leaves else 0
    rounds = leaves[0].shape[dim] if leaves else length
    if rounds is None:
        return init, []
    if length not in (None, rounds):
        raise ArgumentError(f"scan: length is {length}, but xs have {rounds} slices along dimension {dim}")
    slices: Any = list(zip(*[x.unbind(dim) for x in leaves], strict=True)) if leaves else [()] * rounds
    carry, ys = init, []
    for parts in reversed(slices) if reverse else slices:
        carry, y = _round(combine_fn, carry, tree_unflatten(parts, spec) if leaves else None, carried, carry_spec)
        ys.append(y)
    if not rounds:
        return init, _empty_results(combine_fn, init, leaves, spec, dim)
    return carry, _stack_trees(ys[::-1] if reverse else ys, dim, "scan")


def _round(combine_fn, carry, x, carried, spec):
    """Call combine_fn once and check that its carry is like the one before."""
    made = combine_fn(carry, x)
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise ArgumentError(f"scan: combine_fn returns a pair (carry, y), got {type(made).__name__}")
    found, found_spec = tree_flatten(made[0])
    if found_spec != spec:
        raise ArgumentError(f"scan: combine_fn returns a carry like init, {spec}, got {found_spec}")
    for i, (new, old) in enumerate(zip(found, carried, strict=True)):
        if not isinstance(new, Tensor) or new.shape != old.shape or new.dtype is not old.dtype:
            raise ShapeError(f"scan: the carry that combine_fn returns differs from init in leaf {i}: {_kind(new)} instead of "
                             f"{_kind(old)}")
    return made


def _kind(x):
    return str(x.aval) if isinstance(x, Tensor) else type(x).__name__


def _empty_results(combine_fn, init, leaves, spec, dim):
    """Return the ys of no round: those of a round on zeros, with size 0 along `dim`."""
    zeros = [x.new_zeros([n for i, n in enumerate(x.shape) if i != dim]) for x in leaves]
    with no_grad():
        _, y = combine_fn(init, tree_unflatten(zeros, spec) if leaves else None)
    return tree_map(lambda t: None if t is None else t[None][:0].movedim(0, _new_dim(t, dim)), y)


def _stack_trees(ys, dim, name):
    whole = [tree_flatten(y) for y in ys]
    spec = whole[0][1]
    other = next((s for _, s in whole if s != spec), None)
    if other is not None:
        raise ArgumentError(f"{name}: all rounds return the same tree, got {spec} and {other}")
    return tree_unflatten([None if parts[0] is None else stack(parts, _new_dim(parts[0], dim))
                           for parts in zip(*[leaves for leaves, _ in whole])], spec)


def _new_dim(t, dim):
    """Return the new dimension in a tensor of one round."""
    return dim if dim <= t.ndim else 0


def map(f: Callable, xs, *args) -> Any:
    """Stack f(x, *args) for each slice x of `xs` along the first dimension."""
    leaves, spec = _leaves_of(xs, "map: xs", 0)
    if not leaves or not leaves[0].shape[0]:
        raise ArgumentError("map: xs are tensors with at least one slice along the first dimension")
    return _stack_trees([f(tree_unflatten(parts, spec), *args) for parts in zip(*[x.unbind(0) for x in leaves])], 0, "map")


def associative_scan(combine_fn: Callable, xs, dim: int, reverse: bool = False, combine_mode: str = "pointwise") -> Any:
    """Combine all slices of `xs` along `dim` up to each one (from each one on, with `reverse`) by an associative function.

    `combine_fn(a, b)` takes and returns trees like `xs`, without dimension `dim`, and runs on many pairs at once. With
    combine_mode="pointwise" it consists of elementwise operations only, and is called on stacked pairs.
    """
    if not callable(combine_fn):
        raise ArgumentError(f"associative_scan: combine_fn is a function of two trees, got {combine_fn!r}")
    if combine_mode not in ("pointwise", "generic"):
        raise ArgumentError(f"associative_scan: combine_mode is 'pointwise' or 'generic', got {combine_mode!r}")
    leaves, spec = _leaves_of(xs, "associative_scan: xs", dim)
    if not leaves:
        raise ArgumentError("associative_scan: xs holds no tensor")
    combine = vmap(combine_fn) if combine_mode == "generic" else combine_fn

    def pairs(a, b):
        made, made_spec = tree_flatten(combine(tree_unflatten(a, spec), tree_unflatten(b, spec)))
        if made_spec != spec:
            raise ArgumentError(f"associative_scan: combine_fn returns a tree like xs, {spec}, got {made_spec}")
        for i, (new, old) in enumerate(zip(made, a, strict=True)):
            if new.shape != old.shape or new.dtype is not old.dtype:
                raise ShapeError(f"associative_scan: what combine_fn returns differs from what it takes in leaf {i}: "
                                 f"{_kind(new)} instead of {_kind(old)}")
        return made

    front = [x.movedim(dim, 0) for x in leaves]
    if reverse:
        front = [x.flip(0) for x in front]
    front = _prefixes(pairs, front)
    if reverse:
        front = [x.flip(0) for x in front]
    return tree_unflatten([x.movedim(0, canonical_dim(dim, x.ndim)) for x in front], spec)


def _prefixes(pairs, xs):
    """Return all prefixes along the first dimension; prefixes of even length are prefixes of combined neighbours."""
    n = xs[0].shape[0]
    if n < 2:
        return xs
    even = _prefixes(pairs, pairs([x[:n - 1:2] for x in xs], [x[1::2] for x in xs]))
    if n == 2:
        return [cat([x[:1], e]) for x, e in zip(xs, even)]
    odd = pairs([e[:(n - 1) // 2] for e in even], [x[2::2] for x in xs])
    odd = [cat([x[:1], o]) for x, o in zip(xs, odd)]
    woven = [stack([o[:n // 2], e], 1).flatten(0, 1) for o, e in zip(odd, even)]
    return woven if n % 2 == 0 else [cat([w, o[-1:]]) for w, o in zip(woven, odd)]


def _leaves_of(xs, what, dim):
    """Return the leaves and the structure of a tree; the leaves must have one size along `dim`."""
    leaves, spec = tree_flatten(xs)
    leaves = [] if xs is None else leaves
    if not all(isinstance(x, Tensor) for x in leaves):
        raise ArgumentError(f"{what} is a tensor or a tree of tensors, got {xs!r:.80}")
    sizes = [x.shape[canonical_dim(dim, x.ndim)] for x in leaves]
    if any(n != sizes[0] for n in sizes):
        raise ShapeError(f"{what} have the same size along dimension {dim}, got {', '.join(str(x.aval) for x in leaves)}")
    return leaves, spec


# `from torch._higher_order_ops.scan import scan` looks for a module, while `_higher_order_ops.scan` is the function.
_ROOT = __package__.partition(".")[0]
sys.modules.update({f"{_ROOT}._higher_order_ops.{name}": sys.modules[__name__] for name in __all__})
