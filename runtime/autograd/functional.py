"""Derivatives of functions of tensors: vjp, jvp, jacobian, hessian, and products with the Hessian."""

import numpy as np

from ...ir.errors import ArgumentError, AutogradError, DTypeError, ShapeError
from ...ir.ops.core.shape import cat, full, reshape
from ...ir.suggestions import unknown_choice
from ..core.device_array import zeros_on_device_of
from ..core.placement import on_device_of
from ..core.tensor import Tensor, numel_of, shape_of, wrap
from .backward import grad, pulled_without_hooks
from .grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tensors(x, what, where):
    """Return whether several tensors were given, and all of them as a tuple."""
    several = isinstance(x, tuple)
    listed = x if several else (x,)
    for i, t in enumerate(listed):
        if not isinstance(t, Tensor):
            raise DTypeError(f"{where} takes a tensor or a tuple of tensors as {what}, but element {i} is {type(t).__name__}")
    return several, tuple(listed)


def _fresh_inputs(inputs, create_graph):
    """Return the inputs for the function: part of the caller's graph if results must be differentiable, else new leaves."""
    fresh = []
    for x in inputs:
        if create_graph and x.requires_grad:
            fresh.append(reshape(x, shape=shape_of(x)))
        else:
            fresh.append(x.detach().requires_grad_())
    return tuple(fresh)


def _finished(x, create_graph):
    """Return results, detached unless `create_graph`."""
    if create_graph or x is None:
        return x
    if isinstance(x, tuple):
        return tuple(_finished(y, create_graph) for y in x)
    return x.detach()


def _one_or_all(xs, several):
    return tuple(xs) if several else xs[0]


def _strict(strict, condition, message):
    if strict and condition:
        raise AutogradError(message + " (strict mode does not allow that)")


def _run(func, inputs, where, strict):
    """Return the checked outputs of func."""
    several, outs = _tensors(func(*inputs), "outputs of func", where)
    for i, o in enumerate(outs):
        _strict(strict, not o.requires_grad, f"{where}: output {i} is independent of the inputs")
    return several, outs


def constant_like(t, value=0):
    """Return a tensor of one value with the shape and dtype of another, made by an operator, so that recorders see it."""
    return on_device_of(full.call(None, shape=shape_of(t), value=value, dtype=t.dtype), t)


def holder_like(out):
    """Return a placeholder for the gradient of a result, so that functions of it are differentiable."""
    held = constant_like(out).requires_grad_()
    held._node.done = True
    return held


def _directions(v, like, what, where):
    """Return the checked vector for a product."""
    if v is None:
        if len(like) != 1 or numel_of(like[0]) != 1:
            raise ArgumentError(f"{where}: v may only be left out when there is a single {what} of one element")
        return tuple(constant_like(t, 1) for t in like)
    _, vs = _tensors(v, "v", where)
    if len(vs) != len(like):
        raise ArgumentError(f"{where}: v has {len(vs)} tensors, the {what}s are {len(like)}")
    for i, (one, t) in enumerate(zip(vs, like)):
        if shape_of(one) != shape_of(t):
            raise ShapeError(f"{where}: v[{i}] has shape {list(one._a.shape)}, the {what} {list(t._a.shape)}")
    return vs


def _grads(outs, inputs, seeds, create_graph, strict=False, where="", *, hooked=True, along=False):
    """Return gradients, with zeros where nothing depends. `hooked`: whether hooks run. `along`: whether this is the first half
    of a derivative along a direction, whose values nothing reads."""
    pairs = [(o, s) for o, s in zip(outs, seeds) if o.requires_grad and s is not None]
    if not pairs:
        return tuple(constant_like(x) for x in inputs)
    roots, given = [o for o, _ in pairs], [s for _, s in pairs]
    if hooked and not along:
        found = grad(roots, inputs, given, retain_graph=True, create_graph=create_graph, allow_unused=True)
    else:
        found = pulled_without_hooks(roots, inputs, given, create_graph, along)
    for i, g in enumerate(found):
        _strict(strict, g is None, f"{where}: the outputs are independent of input {i}")
        _strict(strict and create_graph, g is not None and not g.requires_grad,
                f"{where}: the derivative by input {i} is independent of the inputs")
    return tuple(constant_like(x) if g is None else g for g, x in zip(found, inputs))


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """Return (func(*inputs), v times the Jacobian)."""
    with enable_grad():
        several, listed = _tensors(inputs, "inputs", "vjp")
        xs = _fresh_inputs(listed, create_graph)
        several_outs, outs = _run(func, xs, "vjp", strict)
        vs = _directions(v, outs, "output", "vjp")
        found = _grads(outs, xs, vs, create_graph, strict, "vjp")
    return (_one_or_all(_finished(outs, create_graph), several_outs), _one_or_all(_finished(found, create_graph), several))


def _transposed(outs, xs, vs, create_graph, strict, where, along=False):
    """Return the Jacobian times vs, as the gradient (in a placeholder) of the vector-Jacobian product."""
    holders = tuple(holder_like(o) for o in outs)
    pulled = _grads(outs, xs, holders, True, strict, where, along=along)
    return _grads(pulled, holders, vs, create_graph, strict, where)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return (func(*inputs), the Jacobian times v), by two reverse passes."""
    with enable_grad():
        _, listed = _tensors(inputs, "inputs", "jvp")
        xs = _fresh_inputs(listed, create_graph)
        vs = _directions(v, xs, "input", "jvp")
        several_outs, outs = _run(func, xs, "jvp", strict)
        found = _transposed(outs, xs, vs, create_graph, strict, "jvp")
    return (_one_or_all(_finished(outs, create_graph), several_outs), _one_or_all(_finished(found, create_graph), several_outs))


def _units(t):
    """Yield a unit tensor for each element."""
    for k in range(numel_of(t)):
        unit = np.zeros(numel_of(t), t._a.dtype)
        unit[k] = 1
        yield on_device_of(wrap(unit.reshape(shape_of(t))), t)


def _rows(out, xs, create_graph, strict, where):
    """Return one gradient of every input for each element of an output."""
    return [_grads((out,), xs, (unit,), create_graph, strict, where) for unit in _units(out)]


def _stacked(rows, shape, like):
    """Stack tensors of one shape along new leading dimensions, in all of shape `shape`; `like` gives the dtype."""
    if not rows:
        return wrap(zeros_on_device_of(like._a, shape))
    return reshape(cat(*[reshape(r, shape=(1, *shape_of(r))) for r in rows], dim=0), shape=shape)


def _jacobian_of(out, xs, create_graph, strict, where):
    rows = _rows(out, xs, create_graph, strict, where)
    return tuple(_stacked([r[i] for r in rows], (*shape_of(out), *shape_of(x)), x) for i, x in enumerate(xs))


def _forward_jacobian(func, xs, create_graph):
    """Return the Jacobian column by column: one product for each element of each input."""
    several_outs, outs = _run(func, xs, "jacobian", False)
    columns = [[[] for _ in xs] for _ in outs]
    for i, x in enumerate(xs):
        for unit in _units(x):
            vs = [constant_like(y) for y in xs]
            vs[i] = unit
            for j, column in enumerate(_transposed(outs, xs, vs, create_graph, False, "jacobian", along=True)):
                columns[j][i].append(reshape(column, shape=(numel_of(column), 1)))
    found = tuple(tuple(_columns(columns[j][i], o, x) for i, x in enumerate(xs)) for j, o in enumerate(outs))
    return several_outs, found


def _columns(columns, out, x):
    shape = (*shape_of(out), *shape_of(x))
    return reshape(cat(*columns, dim=1), shape=shape) if columns else wrap(zeros_on_device_of(out._a, shape))


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """Return the Jacobian of func: for each output and input a tensor of shape output.shape + input.shape. `vectorize` is
    ignored: the rows are always computed together."""
    if strategy not in ("reverse-mode", "forward-mode"):
        raise unknown_choice("jacobian: strategy", strategy, ("reverse-mode", "forward-mode"))
    with enable_grad():
        several, listed = _tensors(inputs, "inputs", "jacobian")
        xs = _fresh_inputs(listed, create_graph)
        if strategy == "forward-mode":
            several_outs, found = _forward_jacobian(func, xs, create_graph)
        else:
            several_outs, outs = _run(func, xs, "jacobian", strict)
            found = tuple(_jacobian_of(o, xs, create_graph, strict, "jacobian") for o in outs)
    found = _finished(found, create_graph)
    return _one_or_all([_one_or_all(row, several) for row in found], several_outs)


def _scalar(func, xs, where, strict):
    """Return the one output of a function that must give a single number."""
    several, outs = _run(func, xs, where, strict)
    if several or numel_of(outs[0]) != 1:
        shapes = ', '.join(str(o.aval) for o in outs)
        raise AutogradError(f"{where}: func must return a single tensor of one element, got {shapes}")
    return outs[0]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """Return the second derivatives of a function with one number as result: a tuple of tuples for a tuple of inputs.
    `vectorize` is ignored: the rows are always computed together."""
    several, _ = _tensors(inputs, "inputs", "hessian")

    def first(*xs):
        out = _scalar(func, xs, "hessian", strict)
        out = reshape(out, shape=())
        return _grads((out,), xs, (constant_like(out, 1),), True, strict, "hessian")

    found = jacobian(first, inputs if several else (inputs,), create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if several else found[0][0]


def _second(func, inputs, v, create_graph, strict, where, product):
    with enable_grad():
        several, listed = _tensors(inputs, "inputs", where)
        xs = _fresh_inputs(listed, create_graph)
        vs = _directions(v, xs, "input", where)
        out = _scalar(func, xs, where, strict)
        first = _grads((out,), xs, (constant_like(out, 1),), True, strict, where)
        found = product(first, xs, vs)
    return _finished(out, create_graph), _one_or_all(_finished(found, create_graph), several)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """Return (func(*inputs), v times the Hessian)."""
    return _second(func, inputs, v, create_graph, strict, "vhp",
                   lambda first, xs, vs: _grads(first, xs, vs, create_graph, strict, "vhp"))


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return (func(*inputs), the Hessian times v)."""
    return _second(func, inputs, v, create_graph, strict, "hvp",
                   lambda first, xs, vs: _transposed(first, xs, vs, create_graph, strict, "hvp"))
