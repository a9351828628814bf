"""backward() and grad(): argument checks, then one backward walk."""


from ...ir.errors import ArgumentError, AutogradError, DTypeError
from ...ir.ops.core.elementwise import cast
from ...ir.ops.core.shape import cat, full, reshape
from ..core.composite_tensors import PARTS, composed_like, values_in
from ..core.device_array import is_sample, ones_on_device_of, place_of, zeros_on_device_of
from ..core.dispatch import call
from ..core.node import Leaf, Output, settle_view
from ..core.placement import on_device_of
from ..core.tensor import Tensor, numel_of, shape_of, wrap
from ..state.mode import tls
from .engine import Backward, accumulate, run_leaf_prehooks, run_post_accumulate
from .gradient_buffers import copied, own
from .graph_edges import GradientEdge, is_known, nothing_known, tensor_at
from .piecewise_linear import tied


def _listed(x, what="tensor", unknown=False):
    """Return tensors as a list, with edges replaced by tensors. With `unknown`, edges without a known shape stay as they
    are."""
    if isinstance(x, Tensor):
        return [x]
    listed = [x] if isinstance(x, GradientEdge) else list(x)
    for i, t in enumerate(listed):
        if isinstance(t, GradientEdge):
            listed[i] = t if unknown and not is_known(t) else tensor_at(t)
        elif not isinstance(t, Tensor):
            raise DTypeError(f"{what} {i} must be a tensor, got {type(t).__name__}")
    return listed


def _of_values(tensors, gradients):
    """Return roots and their gradients; sparse ones as their values."""
    for t in tensors:
        if type(t) in PARTS:
            break
    else:
        return tensors, gradients
    given = [gradients] if isinstance(gradients, Tensor) else gradients
    if given is not None:
        given = [t.values_of(g) if type(t) in PARTS and g is not None else g for t, g in zip(tensors, given, strict=True)]
    return [values_in(t) for t in tensors], given


def _constant_like(t, value):
    """Return a tensor of zeros or ones like another, made so that a recorder sees it."""
    if isinstance(t, GradientEdge):
        raise nothing_known(t)
    if tls.m.recorder is not None:
        shared = is_sample(t._a)        # one value for all samples, as the arrays below
        like = t.detach() if place_of(t._a) and not shared else None
        made = call(full, (like,), {"shape": shape_of(t), "value": value, "dtype": t.dtype})
        return on_device_of(made, t) if shared else made
    return wrap(ones_on_device_of(t._a) if value else zeros_on_device_of(t._a))


def _seeds(tensors, gradients):
    """Return a checked gradient for each root; the default is 1 for a scalar."""
    if gradients is None or isinstance(gradients, Tensor):
        gradients = [gradients] * len(tensors)
    else:
        gradients = list(gradients)
    if len(gradients) != len(tensors):
        raise AutogradError(f"got {len(tensors)} tensors and {len(gradients)} gradients; give one each")
    seeds, recorder = [], tls.m.recorder
    for t, g in zip(tensors, gradients):
        if g is None and recorder is None and t._a.size == 1 and t._a.dtype.kind == "f":
            seeds.append(wrap(ones_on_device_of(t._a)))
            continue
        if g is None:
            if numel_of(t) != 1:
                raise AutogradError(f"backward of {t.aval} needs the gradient of each of its {numel_of(t)} elements: reduce it "
                                    "to one number first, with sum() or mean(), or pass gradient=")
            if not t.dtype.is_floating_point:
                raise AutogradError(f"a gradient is only implied for a real floating point tensor, this one is {t.dtype.name}")
            g = _constant_like(t, 1)
        elif not isinstance(g, Tensor):
            raise DTypeError(f"a gradient must be a tensor or None, got {type(g).__name__}")
        elif shape_of(g) != shape_of(t):
            raise AutogradError(f"the gradient has shape {list(g._a.shape)}, its tensor {list(t._a.shape)}; they must agree")
        seeds.append(g if g._a.dtype is t._a.dtype or g.dtype is t.dtype else cast(g, dtype=t.dtype))
    return seeds


def _roots(tensors):
    roots = []
    for i, t in enumerate(tensors):
        if t._node is None:
            raise AutogradError(f"tensor {i} ({t.aval}) does not require grad and has no history, so there is nothing to "
                                "differentiate; was it made under no_grad(), detached, or of tensors without requires_grad?")
        roots.append(t._node)
    return roots


def _key(t):
    if isinstance(t, GradientEdge):
        return t.node if t.node.outs is None else (t.node, t.output_nr)
    settle_view(t)
    return (t._node.source, t._node.index) if type(t._node) is Output else t._node


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None) -> None:
    """Add the gradients of `tensors` to the `.grad` of their leaves, or of `inputs` alone."""
    tensors, grad_tensors = _of_values(_listed(tensors), grad_tensors)
    seeds = _seeds(tensors, grad_tensors)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        Backward(retain=retain, create_graph=create_graph).start(_roots(tensors), seeds)
        return
    inputs = list({id(t): t for t in _listed(inputs, "input", unknown=True)}.values())      # each once
    if not inputs:
        raise AutogradError("backward: inputs cannot be empty; leave it out to reach every leaf")
    for t in inputs:
        if not isinstance(t, GradientEdge) and t._node is not None:
            t.retain_grad()             # does nothing for a leaf
    found = grad(tensors, inputs, seeds, retain_graph=retain, create_graph=create_graph, allow_unused=True)
    for t, g in zip(inputs, found):
        if g is not None and not isinstance(t, GradientEdge) and type(t._node) is Leaf:
            g = run_leaf_prehooks(t._node, g)
            accumulate(t._node, copied(g) if create_graph or tls.m.recorder is not None else own(g), create_graph)
            run_post_accumulate(t._node)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """Return the gradients of `outputs` with respect to `inputs`, as a tuple. Nothing is accumulated, so `only_inputs` is
    True."""
    if not only_inputs:
        raise AutogradError("grad never accumulates into other leaves: only_inputs must be True; call backward() instead")
    if materialize_grads and allow_unused is False:
        raise ArgumentError("materialize_grads=True gives zeros for inputs that were not used, so allow_unused must be True or "
                            "left out, got False")
    outputs, inputs = _listed(outputs, "output"), _listed(inputs, "input", unknown=True)
    if not inputs:
        raise AutogradError("grad: inputs cannot be empty; name the tensors whose gradients are asked for")
    if any(type(t) in PARTS for t in (*outputs, *inputs)):
        outputs, grad_outputs = _of_values(outputs, grad_outputs)
        found = grad(outputs, [values_in(t) for t in inputs], grad_outputs, retain_graph, create_graph, True, allow_unused,
                     is_grads_batched, materialize_grads)
        return tuple(map(composed_like, inputs, found))
    retain = create_graph if retain_graph is None else retain_graph
    for i, t in enumerate(inputs):
        if not isinstance(t, GradientEdge) and t._node is None:
            raise AutogradError(f"input {i} ({t.aval}) does not require grad")
    if is_grads_batched:
        return _batched(outputs, inputs, grad_outputs, create_graph, allow_unused, materialize_grads)
    found = _captured(outputs, inputs, _seeds(outputs, grad_outputs), retain=retain, create_graph=create_graph)
    return tuple(_checked_gradient(i, t, g, allow_unused, materialize_grads) for i, (t, g) in enumerate(zip(inputs, found)))


def pulled_without_hooks(outputs, inputs, seeds, create_graph=True, along=False) -> tuple:
    """Return gradients, or None, for derivatives that stand for forward mode: hooks do not see them. `along`: only the
    derivatives of these gradients by the seeds are used."""
    outputs, seeds = _of_values(outputs, seeds)
    found = _captured(outputs, [values_in(t) for t in inputs], _seeds(outputs, seeds), retain=True, create_graph=create_graph,
                      hooked=False, along=along)
    return tuple(map(composed_like, inputs, found))


def _captured(outputs, inputs, seeds, **wishes) -> list:
    """Return the gradients of the inputs from one walk, None for those it does not reach."""
    wanted, roots = {_key(t): None for t in inputs}, _roots(outputs)
    Backward(targets=wanted, **wishes).start(roots, seeds)
    if any(g is None for g in wanted.values()):
        reached = tied(roots)
        for t in inputs:
            if wanted[_key(t)] is None and _key(t) in reached:
                wanted[_key(t)] = _constant_like(t, 0)
    return [wanted[_key(t)] for t in inputs]


def _checked_gradient(i, t, g, allow_unused, materialize):
    if g is not None:
        return g
    if materialize:
        return _constant_like(t, 0)
    if not allow_unused:
        what = f"{t.node.label}, {t.output_nr}" if isinstance(t, GradientEdge) else t.aval
        raise AutogradError(f"input {i} ({what}) was not used to compute the outputs; pass allow_unused=True to get None "
                            "for it")
    return None


def _batched(outputs, inputs, grad_outputs, create_graph, allow_unused, materialize):
    """Run one walk for each entry of the leading dimension of the given gradients."""
    seeds = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs or ())
    if not seeds or any(g is None for g in seeds):
        raise AutogradError("is_grads_batched takes a gradient with a leading batch dimension for each output")
    sizes = {len(g._a) if g._a.ndim else 0 for g in seeds}
    if len(sizes) != 1 or 0 in sizes:
        raise AutogradError(f"is_grads_batched takes gradients of one leading batch size above zero, got {sorted(sizes)}")
    rows = [list(g) for g in seeds]
    each = [grad(outputs, inputs, list(row), True, create_graph, allow_unused=allow_unused, materialize_grads=materialize)
            for row in zip(*rows)]
    return tuple(None if gs[0] is None else _stack(gs) for gs in zip(*each))


def _stack(tensors):
    """Stack tensors of one shape along a new leading dimension."""
    return cat(*[reshape(t, shape=(1, *shape_of(t))) for t in tensors], dim=0)


def _backward_method(self, gradient=None, retain_graph=None, create_graph=False, inputs=None) -> None:
    """Add the gradients of this tensor to the `.grad` of its leaves."""
    backward(self, gradient, retain_graph, create_graph, inputs)


_backward_method.__name__ = "backward"
Tensor.backward = _backward_method
