"""backward() and grad(): checking what was asked, then one backward walk."""

import numpy as np

from ...ir.errors import AutogradError
from ..state import tls
from ..tensor import Tensor, wrap
from .engine import Backward
from .node import Output


def _listed(x):
    return [x] if isinstance(x, Tensor) else list(x)


def _seeds(tensors, gradients):
    """A gradient for each root: ones for a scalar, else what was given, checked."""
    gradients = [gradients] * len(tensors) if gradients is None or isinstance(gradients, Tensor) else list(gradients)
    if len(gradients) != len(tensors):
        raise AutogradError(f"got {len(tensors)} tensors and {len(gradients)} gradients; give one each")
    seeds = []
    for t, g in zip(tensors, gradients):
        if g is None:
            if t._a.size != 1:
                raise AutogradError(f"a gradient must be given for a tensor of {t._a.size} elements (shape {tuple(t._a.shape)}); "
                                    "only for one element is it implied")
            g = wrap(np.ones(t._a.shape, t._a.dtype))
        elif g._a.shape != t._a.shape:
            raise AutogradError(f"the gradient has shape {tuple(g._a.shape)}, its tensor {tuple(t._a.shape)}; they must agree")
        seeds.append(g)
    return seeds


def _roots(tensors):
    for i, t in enumerate(tensors):
        if t._node is None:
            raise AutogradError(f"tensor {i} ({t.aval}) does not require grad and has no history, so there is nothing to "
                                "differentiate; was it made under no_grad(), detached, or of tensors without requires_grad?")
    return [t._node for t in tensors]


def _key(t):
    return (t._node.source, t._node.index) if type(t._node) is Output else t._node


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradients of `tensors` to the `.grad` of the leaves they came from (or of `inputs` alone)."""
    tensors = _listed(tensors)
    seeds = _seeds(tensors, grad_tensors)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        Backward(retain=retain, create_graph=create_graph).start(_roots(tensors), seeds)
        return
    inputs = _listed(inputs)
    found = grad(tensors, inputs, seeds, retain_graph=retain, create_graph=create_graph, allow_unused=True)
    for t, g in zip(inputs, found):
        if g is not None:
            t.grad = g if t.grad is None else t.grad + g


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradients of `outputs` with respect to `inputs`, as a tuple; nothing is accumulated."""
    outputs, inputs = _listed(outputs), _listed(inputs)
    retain = create_graph if retain_graph is None else retain_graph
    for i, t in enumerate(inputs):
        if t._node is None:
            raise AutogradError(f"input {i} ({t.aval}) does not require grad")
    if is_grads_batched:
        return _batched(outputs, inputs, grad_outputs, create_graph, allow_unused, materialize_grads)
    seeds = _seeds(outputs, grad_outputs)
    wanted = {_key(t): None for t in inputs}
    Backward(retain=retain, create_graph=create_graph, targets=wanted).start(_roots(outputs), seeds)
    return tuple(_found(i, t, wanted[_key(t)], allow_unused, materialize_grads) for i, t in enumerate(inputs))


def _found(i, t, g, allow_unused, materialize):
    if g is not None:
        return g
    if materialize:
        return wrap(np.zeros(t._a.shape, t._a.dtype))
    if not allow_unused:
        raise AutogradError(f"input {i} ({t.aval}) was not used to compute the outputs; pass allow_unused=True to get None for it")
    return None


def _batched(outputs, inputs, grad_outputs, create_graph, allow_unused, materialize):
    """One walk for each entry of the leading dimension of the given gradients."""
    rows = [list(g) for g in _listed(grad_outputs)]
    each = [grad(outputs, inputs, list(seeds), True, create_graph, allow_unused, materialize_grads=materialize)
            for seeds in zip(*rows)]
    if create_graph or tls.m.recorder is not None:
        raise AutogradError("is_grads_batched cannot be combined with create_graph")
    return tuple(None if gs[0] is None else wrap(np.stack([g._a for g in gs])) for gs in zip(*each))


def _backward_method(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradients of this tensor to the `.grad` of the leaves it came from."""
    backward(self, gradient, retain_graph, create_graph, inputs)


Tensor.backward = _backward_method
