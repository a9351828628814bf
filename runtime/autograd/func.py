"""Function transforms in the style of `torch.func`, made of reverse mode: grad, vjp, jvp, jacobians, hessian, vmap.

Functions must be pure: they differentiate with respect to arguments only, and transforms may be nested.
"""

from functools import wraps

import numpy as np

from ...ir.errors import ArgumentError, AutogradError, DTypeError, ShapeError
from ...ir.ops.shape import cat, reshape, select
from ..tensor import Tensor, wrap
from . import functional
from .backward import grad as _grad
from .grad_mode import enable_grad
from .node import Leaf, Output

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]


def _map(fn, tree):
    """`fn` over every tensor of nested dicts, lists and tuples."""
    if isinstance(tree, Tensor):
        return fn(tree)
    if isinstance(tree, dict):
        return type(tree)((k, _map(fn, v)) for k, v in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_map(fn, v) for v in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_map(fn, v) for v in tree)
    return tree


def _leaves(tree) -> list:
    found: list = []
    _map(found.append, tree)
    return found


def _refilled(tree, tensors):
    """The tree with its tensors replaced in order."""
    rest = iter(tensors)
    return _map(lambda _: next(rest), tree)


def _primal(x):
    """A tensor to differentiate by: inside an outer transform it stays connected to it."""
    return reshape(x, shape=x._a.shape) if x.requires_grad else x.detach().requires_grad_()


def _picked(args, argnums):
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ArgumentError(f"argnums={argnums} names argument {n}, but only {len(args)} positional arguments were given")
    return [n % len(args) for n in numbers]


class _Primals:
    """The arguments of one call with the chosen ones made differentiable."""

    def __init__(self, args, argnums):
        self.numbers = _picked(args, argnums)
        self.single = isinstance(argnums, int)
        self.args = list(args)
        self.nested = any(t.requires_grad for t in _leaves(args))
        for n in self.numbers:
            self.args[n] = _map(_primal, args[n])
        self.wanted = [t for n in self.numbers for t in _leaves(self.args[n])]

    def follow(self, outs):
        """Notes whether results also depend on tensors outside of the arguments that require grad."""
        mine = {t._node for t in self.wanted}
        self.nested = self.nested or any(leaf not in mine for leaf in _leaf_nodes(outs))

    def shaped(self, tensors):
        """One tensor for each differentiated leaf, in the structure of the chosen arguments."""
        trees = _refilled(tuple(self.args[n] for n in self.numbers), tensors)
        return trees[0] if self.single else trees

    def finished(self, tree):
        return tree if self.nested else _map(lambda t: t.detach(), tree)


def _leaf_nodes(tensors) -> set:
    """The ends of the histories of some tensors."""
    stack = [t._node for t in tensors if t._node is not None]
    seen = set(stack)
    while stack:
        node = stack.pop()
        for edge in () if type(node) is Leaf else (node.source,) if type(node) is Output else node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return {node for node in seen if type(node) is Leaf}


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient, value), with has_aux (gradient, (value, aux))."""

    @wraps(func)
    def differentiated(*args, **kwargs):
        with enable_grad():
            inputs = _Primals(args, argnums)
            result = func(*inputs.args, **kwargs)
            value, aux = result if has_aux else (result, None)
            if not isinstance(value, Tensor) or value._a.ndim:
                said = tuple(value._a.shape) if isinstance(value, Tensor) else type(value).__name__
                raise AutogradError(f"grad takes a function that returns a tensor without dimensions, got {said}")
            inputs.follow([value])
            if value.requires_grad:
                found = _grad(value, inputs.wanted, create_graph=True, allow_unused=True, materialize_grads=True)
            else:
                found = [wrap(np.zeros(t._a.shape, t._a.dtype)) for t in inputs.wanted]
        gradient = inputs.finished(inputs.shaped(found))
        value, aux = inputs.finished(value), inputs.finished(aux)
        return gradient, ((value, aux) if has_aux else value)

    return differentiated


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of func, with has_aux (gradient, aux)."""
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def differentiated(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated


def vjp(func, *primals, has_aux=False):
    """(func(*primals), the function that pulls cotangents back), with has_aux also the auxiliary result."""
    with enable_grad():
        inputs = _Primals(primals, tuple(range(len(primals))))
        result = func(*inputs.args)
    output, aux = result if has_aux else (result, None)
    outs = _leaves(output)
    inputs.follow(outs)

    def pull(*cotangents, retain_graph=True, create_graph=None):
        seeds = _leaves(cotangents)
        if len(seeds) != len(outs):
            raise ArgumentError(f"vjp: expected {len(outs)} cotangents, as the outputs are, got {len(seeds)}")
        create = inputs.nested or any(s.requires_grad for s in seeds) if create_graph is None else create_graph
        pairs = [(o, s) for o, s in zip(outs, seeds) if o.requires_grad]
        found = _grad([o for o, _ in pairs], inputs.wanted, [s for _, s in pairs], retain_graph, create, True,
                      materialize_grads=True)
        return inputs.shaped(found)

    made = (inputs.finished(output), pull)
    return (*made, inputs.finished(aux)) if has_aux else made


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), its directional derivative along tangents), with has_aux also the auxiliary result."""
    kept: list = []

    def plain(*args):
        result = func(*args)
        output, aux = result if has_aux else (result, None)
        kept[:] = [output, aux]
        return tuple(_leaves(output))

    nested = any(t.requires_grad for t in (*primals, *tangents))
    outs, found = functional.jvp(plain, tuple(primals), tuple(tangents), create_graph=nested, strict=strict)
    made = (_refilled(kept[0], outs), _refilled(kept[0], found))
    return (*made, kept[1]) if has_aux else made


def _jacobian(func, argnums, has_aux, strategy):
    @wraps(func)
    def differentiated(*args, **kwargs):
        inputs = _Primals(args, argnums)
        kept: list = []

        def plain(*xs):
            full = list(inputs.args)
            for n, tree in zip(inputs.numbers, _refilled(tuple(inputs.args[n] for n in inputs.numbers), xs)):
                full[n] = tree
            result = func(*full, **kwargs)
            output, aux = result if has_aux else (result, None)
            kept[:] = [output, aux]
            return tuple(_leaves(output))

        rows = functional.jacobian(plain, tuple(inputs.wanted), create_graph=inputs.nested, strategy=strategy)
        found = _refilled(kept[0], [inputs.shaped(row) for row in rows])
        return (found, kept[1]) if has_aux else found

    return differentiated


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    """A function that returns the Jacobian of func, row by row."""
    return _jacobian(func, argnums, has_aux, "reverse-mode")


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that returns the Jacobian of func, column by column."""
    return _jacobian(func, argnums, has_aux, "forward-mode")


def hessian(func, argnums=0):
    """A function that returns the second derivatives of func."""
    return jacrev(jacrev(func, argnums), argnums)


# vmap.


def _in_dims(args, in_dims):
    dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
    if len(dims) != len(args):
        raise ArgumentError(f"vmap: in_dims {in_dims} has {len(dims)} entries for {len(args)} arguments")
    return dims


def _batch_size(args, dims):
    sizes = {}
    for i, (arg, dim) in enumerate(zip(args, dims)):
        if dim is None:
            continue
        for t in _leaves(arg):
            if not -t._a.ndim <= dim < t._a.ndim:
                raise ShapeError(f"vmap: argument {i} of shape {tuple(t._a.shape)} has no dimension {dim}")
            sizes[i] = t._a.shape[dim]
    if len(set(sizes.values())) != 1:
        raise ShapeError(f"vmap: the mapped dimensions must be of one size, got {sizes or 'no mapped argument'}")
    return next(iter(sizes.values()))


def _at(arg, dim, index):
    if dim is None:
        return arg
    return _map(lambda t: select(t, dim=dim % t._a.ndim, index=index), arg)


def _gathered(results, out_dim):
    """One tensor from those of every element of the batch."""
    first = results[0]
    if not isinstance(first, Tensor):
        raise DTypeError(f"vmap: func must return tensors, got {type(first).__name__}")
    if out_dim is None:
        return first
    dim = out_dim % (first._a.ndim + 1)
    shape = first._a.shape
    return cat(*[reshape(r, shape=(*shape[:dim], 1, *shape[dim:])) for r in results], dim=dim)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that applies func to every element of a batch dimension and stacks the results.

    The elements are computed one after the other.
    """

    @wraps(func)
    def mapped(*args, **kwargs):
        dims = _in_dims(args, in_dims)
        size = _batch_size(args, dims)
        if not size:
            raise ShapeError("vmap: the mapped dimension is empty, so the shape of the result is not known")
        each = [func(*[_at(a, d, k) for a, d in zip(args, dims)], **kwargs) for k in range(size)]
        columns = list(zip(*(_leaves(r) for r in each)))
        out = out_dims if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(columns)
        return _refilled(each[0], [_gathered(c, d) for c, d in zip(columns, out)])

    return mapped
