"""`torch.nn.utils._per_sample_grad`: gradients of parameters for each sample, which backward leaves in `grad_sample`."""

import functools

from ..ir.errors import ArgumentError, AutogradError, ShapeError, kind_of
from ..runtime.api.register.register import FUNCTIONS
from ..runtime.autograd.function import Function
from ..runtime.core.tensor import Tensor
from ..runtime.func.vmap import vmap
from ..runtime.nn.base.module import Module
from ..runtime.nn.utils.stateless import functional_call
from ..runtime.pytree.pytree import tree_leaves, tree_map
from ..runtime.state.mode import tls

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(module, *, batch_size=None, loss_reduction="sum", batch_first=True):
    """Return the forward of a module whose backward writes `p.grad_sample` of each parameter, and leaves `p.grad` alone.

    `vmap` runs the module on each sample as a batch of one. `loss_reduction="mean"` undoes the division by the batch size of a
    mean loss. With `batch_size`, tensors of another size are shared by all samples.
    """
    if loss_reduction not in ("sum", "mean"):
        raise ArgumentError(f"call_for_per_sample_grads: loss_reduction is 'sum' or 'mean', got {loss_reduction!r}")
    if not isinstance(module, Module):
        raise ArgumentError(f"call_for_per_sample_grads takes a module, got {kind_of(module)}")
    if batch_size is not None and (type(batch_size) is not int or batch_size < 1):
        raise ArgumentError(f"call_for_per_sample_grads: batch_size is a positive number or None, got {batch_size!r}")
    for name, p in module.named_parameters():
        if _grad_sample(p) is not None:
            raise AutogradError(f"call_for_per_sample_grads: {name} has a grad_sample already, to which further ones would be "
                                "added; set it to None")
    dim = 0 if batch_first else 1

    @functools.wraps(module.forward)
    def wrapper(*args, **kwargs):
        size = _size_of((args, kwargs), dim) if batch_size is None else batch_size
        scale = size if loss_reduction == "mean" else 1
        parameters = {name: Expanded.apply(p, size, scale) for name, p in module.named_parameters() if p.requires_grad}
        dims = tree_map(lambda x: dim if _is_mapped(x, dim, size) else None, (args, kwargs))
        return vmap(functools.partial(_of_one, module, dim, dims), (0, *dims), dim, "different")(parameters, args, kwargs)

    return wrapper


def _is_mapped(x, dim, size) -> bool:
    return isinstance(x, Tensor) and x.dim() > dim and x.shape[dim] == size


def _size_of(arguments, dim) -> int:
    sizes = {x.shape[dim] for x in tree_leaves(arguments) if isinstance(x, Tensor)}
    if len(sizes) != 1:
        raise ShapeError("call_for_per_sample_grads: the arguments hold "
                         + ("no tensor" if not sizes else f"batches of {' and '.join(map(str, sorted(sizes)))}")
                         + "; say batch_size=")
    return sizes.pop()


def _of_one(module, dim, dims, parameters, args, kwargs):
    """Call a module on one sample; `dims` has the batch dimension of each argument, or None."""
    args, kwargs = tree_map(lambda x, at: x if at is None else FUNCTIONS["unsqueeze"](x, dim), (args, kwargs), dims)
    return tree_map(lambda x: x.squeeze(dim) if isinstance(x, Tensor) else x, functional_call(module, parameters, args, kwargs))


class Expanded(Function):
    """A parameter expanded to all samples, with a gradient for each."""

    @staticmethod
    def forward(ctx, p, size, scale):
        """Expand the parameter to the number of samples."""
        ctx.parameter, ctx.scale = p, scale
        return p.detach().expand(size, *p.shape)

    @staticmethod
    def backward(ctx, g):
        """Add to `grad_sample` and return no gradient."""
        p, g = ctx.parameter, g * ctx.scale if ctx.scale != 1 else g
        before = _grad_sample(p)
        if tls.m.recorder is not None:
            tls.m.recorder.attribute(p, "grad_sample", True)
        p.grad_sample = g if before is None else before + g
        return None, None, None


def _grad_sample(p) -> Tensor | None:
    if tls.m.recorder is not None:
        tls.m.recorder.attribute(p, "grad_sample", False)
    return getattr(p, "grad_sample", None)
