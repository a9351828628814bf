"""Gradients of parameters for each sample of a batch, which an ordinary backward leaves in `grad_sample`."""

import functools

from ..ir.errors import ArgumentError, AutogradError, ShapeError, kind_of
from ..runtime.api.register.register import FUNCTIONS
from ..runtime.autograd.function import Function
from ..runtime.core.state import tls
from ..runtime.core.tensor import Tensor
from ..runtime.func.vmap import vmap
from ..runtime.pytree.pytree import tree_leaves, tree_map
from ..runtime.nn.base.module import Module
from ..runtime.nn.utils.stateless import functional_call

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(module, *, batch_size=None, loss_reduction="sum", batch_first=True):
    """The forward of a module, whose backward puts the gradients of each sample into `p.grad_sample` of the parameters, and
    leaves `p.grad` as it is.

    Samples go through the module one by one, as batches of one, by `vmap`. A loss that is a mean divides each one's gradient by
    the size of the batch: `loss_reduction="mean"` undoes that. Tensors among the arguments that have another size than
    `batch_size`, where that is given, are the same for all samples.
    """
    if loss_reduction not in ("sum", "mean"):
        raise ArgumentError(f"call_for_per_sample_grads: loss_reduction is 'sum' or 'mean', got {loss_reduction!r}")
    if not isinstance(module, Module):
        raise ArgumentError(f"call_for_per_sample_grads takes a module, got {kind_of(module)}")
    if batch_size is not None and (type(batch_size) is not int or batch_size < 1):
        raise ArgumentError(f"call_for_per_sample_grads: batch_size is a positive number or None, got {batch_size!r}")
    for name, p in module.named_parameters():
        if _kept(p) is not None:
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


def _size_of(given, dim) -> int:
    sizes = {x.shape[dim] for x in tree_leaves(given) if isinstance(x, Tensor)}
    if len(sizes) != 1:
        raise ShapeError("call_for_per_sample_grads: the arguments hold "
                         + ("no tensor" if not sizes else f"batches of {' and '.join(map(str, sorted(sizes)))}")
                         + "; say batch_size=")
    return sizes.pop()


def _of_one(module, dim, dims, parameters, args, kwargs):
    """What a module gives for one sample, without the batch; `dims` says which arguments are samples."""
    args, kwargs = tree_map(lambda x, at: x if at is None else FUNCTIONS["unsqueeze"](x, dim), (args, kwargs), dims)
    return tree_map(lambda x: x.squeeze(dim) if isinstance(x, Tensor) else x, functional_call(module, parameters, args, kwargs))


class Expanded(Function):
    """A parameter, once for each sample, whose gradient stays apart."""

    @staticmethod
    def forward(ctx, p, size, scale):
        """The parameter as often as there are samples."""
        ctx.parameter, ctx.scale = p, scale
        return p.detach().expand(size, *p.shape)

    @staticmethod
    def backward(ctx, g):
        """Adds to what the parameter keeps for each sample, and gives it no gradient."""
        p, g = ctx.parameter, g * ctx.scale if ctx.scale != 1 else g
        before = _kept(p)
        if tls.m.recorder is not None:
            tls.m.recorder.attribute(p, "grad_sample", True)
        p.grad_sample = g if before is None else before + g
        return None, None, None


def _kept(p) -> Tensor | None:
    """The gradients that a parameter keeps."""
    if tls.m.recorder is not None:
        tls.m.recorder.attribute(p, "grad_sample", False)
    return getattr(p, "grad_sample", None)
