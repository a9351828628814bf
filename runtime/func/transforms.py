"""Transforms in the style of `torch.func`: grad, vjp, jvp, linearize, and Jacobians.

Functions must be pure: derivatives are with respect to arguments only. Transforms nest. All are reverse mode: a directional
derivative is the gradient of a Jacobian product with respect to its cotangent.
"""

from functools import wraps

from ...ir.errors import ArgumentError, AutogradError, DTypeError
from ...ir.ops.core.elementwise import copy
from ...ir.ops.core.shape import cat, reshape, slice_
from ...ir.suggestions import unknown_choice
from ..api.views.tensor_factories import eye
from ..autograd import functional
from ..autograd.backward import grad as _grad
from ..autograd.engine import reach
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from ..autograd.graph_edges import ends_of
from ..core.node import Leaf, Node, source_of
from ..core.tensor import Tensor, numel_of, shape_of, wrap
from ..pytree.pytree import tree_leaves, tree_map, tree_structure, tree_unflatten
from ..state.mode import tls
from .vmap_level import has_outer_history, is_batched, over_batch


def _map(fn, tree):
    return tree_map(lambda x: fn(x) if isinstance(x, Tensor) else x, tree)


def _leaves(tree) -> list:
    return [x for x in tree_leaves(tree) if isinstance(x, Tensor)]


def _replace_tensors(tree, tensors):
    rest = iter(tensors)
    return _map(lambda _: next(rest), tree)


def _without_history(t):
    """Return a tensor without its history at this level; the batch behind a sample keeps its own."""
    if not is_batched(t):
        return t.detach()
    bare = wrap(t._a)
    bare._shared = t._storage
    return bare


def _primal(x, written):
    """Return a tensor to differentiate by, connected to an outer transform. With `written`, the function may write to it, which
    changes x. A tensor with history is not a view of x: a write would bypass views of the base."""
    if type(x._node) is Leaf:
        return reshape(x, shape=shape_of(x))
    if x._node is not None or (written and x.dtype.is_inexact):
        begun = _without_history(x)
        begun._node = Node(copy, {}, (x._node,), (None, begun.aval), ())
        return begun
    leaf = _without_history(x).requires_grad_()
    if tls.m.batched is not None:
        tls.m.batched.begins(leaf._node)
    return leaf


def _beginning(t):
    """Return the same value with the same history, which stays when the tensor is written."""
    if type(t._node) is Leaf:
        return t
    same = _without_history(t)
    same._node = t._node
    return same


def _picked(args, argnums):
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, (tuple, list)) or not numbers or not all(isinstance(n, int) for n in numbers):
        raise ArgumentError(f"argnums is the number of an argument, or a tuple of such, got {argnums!r}")
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ArgumentError(f"argnums={argnums} names argument {n}, but only {len(args)} positional arguments were given")
    found = [n % len(args) for n in numbers]
    if len(set(found)) != len(found):
        raise ArgumentError(f"argnums={argnums} names an argument twice")
    return found


class _Primals:
    """The arguments of one call, the chosen ones made differentiable; `wanted` holds them before the function writes."""

    def __init__(self, args, argnums, written=False):
        self.numbers = _picked(args, argnums)
        self.single = isinstance(argnums, int)
        self.args = list(args)
        self.nested = any(t.requires_grad for t in _leaves(args))
        for n in self.numbers:
            self.args[n] = _map(lambda x: _primal(x, written), args[n])
        self.sources = [_beginning(t) for n in self.numbers for t in _leaves(self.args[n])]

    def follow(self, outs):
        """Record whether results depend on other tensors that require grad, beside those of finished inner transforms."""
        mine = {t._node for t in self.sources}
        self.nested = self.nested or any(leaf not in mine and not leaf.done for leaf in ends_of(outs))
        self.create_graph = self.nested or any(has_outer_history(t) for t in (*outs, *self.sources))
        for node in mine:
            if type(node) is Leaf:
                node.done = True

    def shaped(self, tensors):
        """Return one tensor per differentiated leaf, in the structure of the chosen arguments."""
        trees = _replace_tensors(tuple(self.args[n] for n in self.numbers), tensors)
        return trees[0] if self.single else trees

    def finished(self, tree):
        return tree if self.nested and is_grad_enabled() else _map(_without_history, tree)


def grad_and_value(func, argnums=0, has_aux=False):
    """Return a function that returns (gradient, value), or (gradient, (value, aux)) with has_aux."""

    @wraps(func)
    def differentiated(*args, **kwargs):
        with enable_grad():
            inputs = _Primals(args, argnums)
            result = func(*inputs.args, **kwargs)
            value, aux = result if has_aux else (result, None)
            if not isinstance(value, Tensor) or value._a.ndim:
                shape_text = tuple(value._a.shape) if isinstance(value, Tensor) else type(value).__name__
                raise AutogradError(f"grad takes a function that returns a tensor without dimensions, got {shape_text}")
            inputs.follow([value])
            if value.requires_grad:
                found = _grad(value, inputs.sources, create_graph=inputs.create_graph, allow_unused=True,
                              materialize_grads=True)
            else:
                found = [functional.constant_like(t) for t in inputs.sources]
        gradient = inputs.finished(inputs.shaped(found))
        value, aux = inputs.finished(value), inputs.finished(aux)
        return gradient, ((value, aux) if has_aux else value)

    return differentiated


def grad(func, argnums=0, has_aux=False):
    """Return a function that returns the gradient of func, or (gradient, aux) with has_aux."""
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def differentiated(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated


def vjp(func, *primals, has_aux=False):
    """Return (func(*primals), function of cotangents), and the auxiliary result with has_aux."""
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
        outer = is_grad_enabled() and (inputs.create_graph or any(s.requires_grad or has_outer_history(s) for s in seeds))
        create = outer if create_graph is None else create_graph
        pairs = [(o, s) for o, s in zip(outs, seeds) if o.requires_grad]
        found = _grad([o for o, _ in pairs], inputs.sources, [s for _, s in pairs], retain_graph, create, True,
                      materialize_grads=True)
        return inputs.shaped(found)

    made = (inputs.finished(output), pull)
    return (*made, inputs.finished(aux)) if has_aux else made


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """Return (func(*primals), directional derivative along tangents), and the auxiliary result with has_aux. With `strict`,
    results that depend on no primal are an error; otherwise their derivative is zero."""
    results: list = []

    def plain(*args):
        result = func(*args)
        output, aux = result if has_aux else (result, None)
        results[:] = [output, aux]
        return tuple(_leaves(output))

    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or len(primals) != len(tangents):
        raise ArgumentError("jvp takes a tuple of primals and a tuple of as many tangents")
    with enable_grad():
        inputs = _Primals(primals, tuple(range(len(primals))), written=True)
        given = _leaves(tangents)
        _check_like(given, inputs.sources, "jvp", "tangent", "primal")
        outs = plain(*inputs.args)
        if strict:
            _check_dependent(outs, inputs.sources)
        inputs.follow(outs)
        create = inputs.create_graph or any(t.requires_grad for t in given)
        found = functional._transposed(outs, inputs.sources, given, create, False, "jvp", along=True)
    value = inputs.finished(results[0])
    aux = (inputs.finished(results[1]),) if has_aux else ()
    inputs.nested = inputs.nested or create         # tangents with a history give one to what they move alone
    return value, inputs.finished(_replace_tensors(results[0], found)), *aux


def _check_dependent(outs, sources):
    nodes = {source_of(t._node)[0] for t in sources}
    for i, o in enumerate(outs):
        root = None if o._node is None else source_of(o._node)[0]
        if root is None or (root not in nodes and not reach([root], nodes)):
            raise AutogradError(f"jvp with strict=True: result {i} does not depend on the primals")


def linearize(func, *primals):
    """Return (func(*primals), function of tangents), computed once for any number of tangents."""
    results: list = []

    def plain(*args):
        results[:] = [func(*args)]
        return tuple(_leaves(results[0]))

    with enable_grad():
        inputs = _Primals(primals, tuple(range(len(primals))), written=True)
        outs = plain(*inputs.args)
        inputs.follow(outs)
        holders = [functional.holder_like(o) for o in outs]
        pulled = functional._grads(outs, inputs.sources, holders, True, along=True)

    def push(*tangents):
        given = _leaves(tangents)
        _check_like(given, inputs.sources, "linearize", "tangent", "primal")
        create = is_grad_enabled() and (inputs.create_graph or any(t.requires_grad or has_outer_history(t) for t in given))
        with enable_grad():
            found = functional._grads(pulled, holders, given, create)
        return _replace_tensors(results[0], found)

    return inputs.finished(results[0]), push


def _check_like(values, like, name, what, of):
    if len(values) != len(like):
        raise ArgumentError(f"{name}: expected {len(like)} {what}s, one for each {of}, got {len(values)}")
    for i, (one, t) in enumerate(zip(values, like)):
        if shape_of(one) != shape_of(t):
            raise ArgumentError(f"{name}: {what} {i} has shape {list(one.shape)}, its {of} {list(t.shape)}")


# Jacobians: the identity is a batch of cotangents (or tangents).


def _unit_batch(t, start, stop):
    """Return rows `start` to `stop` of the identity, each in the shape of a tensor."""
    n = numel_of(t)
    units = eye(n, dtype=t.dtype, device=t.device)      # by operators: a NumPy array would be a captured input of a trace
    if stop - start < n:
        units = slice_(units, dim=0, start=start, stop=stop, step=1)
    return reshape(units, shape=(stop - start, *shape_of(t)))


def _in_chunks(t, chunk_size, work):
    """Apply `work` (units -> results, batch first) to the identity of a tensor's elements, one chunk at a time."""
    n = numel_of(t)
    if chunk_size is None or n <= chunk_size:       # (range() would read a symbolic number)
        return list(work(_unit_batch(t, 0, n)))
    parts = [work(_unit_batch(t, at, min(at + chunk_size, n))) for at in range(0, n, chunk_size)]
    return [cat(*column, dim=0) for column in zip(*parts)]


def _check_real(tensors, what):
    """Raise for complex numbers, which have two derivatives: along the real and the imaginary part."""
    for i, t in enumerate(tensors):
        if t.dtype.is_complex:
            raise DTypeError(f"Jacobians are those of real numbers, but {what} {i} is {t.dtype.name}; write the function in "
                             "terms of real and imaginary parts (view_as_real)")


class _Rows:
    """Common part of jacrev and jacfwd: the results of the function, and the structure of the Jacobian."""

    def __init__(self, func, args, kwargs, argnums, has_aux, written=False):
        self.inputs = _Primals(args, argnums, written)
        _check_real(self.inputs.sources, "argument")
        result = func(*self.inputs.args, **kwargs)
        output, aux = result if has_aux else (result, None)
        self.output, self.outs = output, _leaves(output)
        if len(self.outs) != len(tree_leaves(output)):
            raise AutogradError("the function of a Jacobian must return tensors, or containers of tensors")
        _check_real(self.outs, "result")
        self.inputs.follow(self.outs)
        self.aux = self.inputs.finished(aux)

    def shaped(self, table, has_aux):
        """Return the Jacobians table[output][input], in the structure of the results and of the arguments."""
        spec = tree_structure(self.output)
        found = tree_unflatten([self.inputs.shaped(row) for row in table], spec)
        found = self.inputs.finished(found)
        return (found, self.aux) if has_aux else found


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """Return a function that returns the Jacobian of func, all rows (or chunk_size rows) by one backward."""
    if chunk_size is not None and chunk_size < 1:
        raise ArgumentError(f"jacrev: chunk_size should be None or a positive number, got {chunk_size}")
    return _jacrev(func, argnums, has_aux, chunk_size, True)


def _jacrev(func, argnums, has_aux, chunk_size, hooked):
    """Compute jacrev with or without hooks."""
    @wraps(func)
    def differentiated(*args, **kwargs):
        with enable_grad():
            rows = _Rows(func, args, kwargs, argnums, has_aux)
            sources, create = rows.inputs.sources, rows.inputs.create_graph
            table = []
            for out in rows.outs:
                found = _in_chunks(out, chunk_size, lambda units, out=out: over_batch(
                    lambda seeds: functional._grads((out,), sources, seeds, create, hooked=hooked), [units]))
                table.append([reshape(f, shape=(*shape_of(out), *shape_of(x))) for f, x in zip(found, sources)])
        return rows.shaped(table, has_aux)

    return differentiated


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """Return a function that returns the Jacobian of func, all columns (or chunk_size columns) at once. func runs once, so all
    columns belong to the same random numbers, and `randomness="different"` is refused."""
    if randomness not in ("error", "same"):
        raise ArgumentError("jacfwd runs func once, with the same random numbers for all columns; pass randomness='same', got "
                            f"{randomness!r}")

    @wraps(func)
    def differentiated(*args, **kwargs):
        with enable_grad():
            rows = _Rows(func, args, kwargs, argnums, has_aux, written=True)
            sources, outs, create = rows.inputs.sources, rows.outs, rows.inputs.create_graph
            holders = [functional.holder_like(o) for o in outs]
            pulled = functional._grads(outs, sources, holders, True, along=True)
            table = [[] for _ in outs]
            for i, x in enumerate(sources):
                found = _in_chunks(x, chunk_size, lambda units, i=i: over_batch(
                    lambda tangents: functional._grads(pulled[i:i + 1], holders, tangents, create), [units]))
                for row, f, out in zip(table, found, outs):
                    permuted = f.movedim(0, -1)
                    row.append(reshape(permuted, shape=(*shape_of(out), *shape_of(x))))
        return rows.shaped(table, has_aux)

    return differentiated


def hessian(func, argnums=0):
    """Return a function that returns the second derivatives of func; the outer ones are in forward mode in PyTorch."""
    return _jacrev(jacrev(func, argnums), argnums, False, None, False)


def functionalize(func, *, remove="mutations"):
    """Return the function: vmap, grad and tracing accept writes in place."""
    if remove not in ("mutations", "mutations_and_views"):
        raise unknown_choice("functionalize: remove", remove, ("mutations", "mutations_and_views"))

    @wraps(func)
    def same(*args, **kwargs):
        return func(*args, **kwargs)

    return same


def debug_unwrap(tensor, *, recurse=True):
    """Return the tensor of all samples behind a sample of vmap; other tensors are returned unchanged."""
    while is_batched(tensor):
        tensor = tensor._a.memory.full
        if not recurse:
            break
    return tensor
