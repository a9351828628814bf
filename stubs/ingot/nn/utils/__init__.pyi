"""`ingot.nn.utils`: clipping, pruning, parametrisations, fusion of batch norm, modules as functions."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor
from ingot import memory_format as _memory_format
from ingot.nn.utils import clip_grad as clip_grad
from ingot.nn.utils import convert_parameters as convert_parameters
from ingot.nn.utils import fusion as fusion
from ingot.nn.utils import memory_format as memory_format
from ingot.nn.utils import parametrizations as parametrizations
from ingot.nn.utils import parametrize as parametrize
from ingot.nn.utils import prune as prune
from ingot.nn.utils import rnn as rnn
from ingot.nn.utils import stateless as stateless

def clip_grad_norm_(parameters: _t.Any, max_norm: _b.float, norm_type: _b.float = 2.0,
                    error_if_nonfinite: _b.bool = False, foreach: _b.bool | None = None) -> _t.Any:
    """Scale gradients so that their total norm is at most max_norm, and return the norm before."""
def clip_grad_value_(parameters: _t.Any, clip_value: _t.Any, foreach: _b.bool | None = None) -> None:
    """Limit each element of the gradients to [-clip_value, clip_value]."""
def clip_grads_with_norm_(parameters: _t.Any, max_norm: _b.float, total_norm: _t.Any,
                          foreach: _b.bool | None = None) -> None:
    """Scale gradients so that a norm computed before becomes at most max_norm."""
def convert_conv2d_weight_memory_format(module: _t.Any, memory_format: _memory_format) -> _t.Any:
    """Change the memory format of the weights of 2d convolutions in a module."""
def convert_conv3d_weight_memory_format(module: _t.Any, memory_format: _memory_format) -> _t.Any:
    """Change the memory format of the weights of 3d convolutions in a module."""
def fuse_conv_bn_eval(conv: _t.Any, bn: _t.Any, transpose: _b.bool = False) -> _t.Any:
    """Return a copy of the convolution with the batch norm folded in; both must be in evaluation mode."""
def fuse_conv_bn_weights(conv_w: _t.Any, conv_b: _t.Any, bn_rm: _t.Any, bn_rv: _t.Any, bn_eps: _t.Any,
                         bn_w: _t.Any, bn_b: _t.Any, transpose: _b.bool = False) -> _t.Any:
    """Return (weight, bias) of the convolution with the batch norm folded in."""
def fuse_linear_bn_eval(linear: _t.Any, bn: _t.Any) -> _t.Any:
    """Return a copy of the linear layer with the batch norm folded in; both must be in evaluation mode."""
def fuse_linear_bn_weights(linear_w: _t.Any, linear_b: _t.Any, bn_rm: _t.Any, bn_rv: _t.Any, bn_eps: _t.Any,
                           bn_w: _t.Any, bn_b: _t.Any) -> _t.Any:
    """Return (weight, bias) of the linear layer with the batch norm folded in."""
def get_total_norm(tensors: _c.Sequence[_Tensor], norm_type: _b.float = 2.0,
                   error_if_nonfinite: _b.bool = False, foreach: _b.bool | None = None) -> _t.Any:
    """Return the norm of all tensors as if they were one."""
def parameters_to_vector(parameters: _t.Any) -> _t.Any:
    """Return all parameters, flattened and concatenated."""
def remove_spectral_norm(module: _t.Any, name: _b.str = 'weight') -> _t.Any:
    """Make the weight a plain parameter again."""
def remove_weight_norm(module: _t.Any, name: _b.str = 'weight') -> _t.Any:
    """Make the weight a plain parameter again."""
def skip_init(module_cls: _t.Any, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Return a module with uninitialised parameters, to load a state dict into."""
def spectral_norm(module: _t.Any, name: _b.str = 'weight', n_power_iterations: _t.Any = 1,
                  eps: _b.float = 1e-12, dim: _b.int | _c.Sequence[_b.int] | None = None) -> _t.Any:
    """Divide a weight by its largest singular value."""
def vector_to_parameters(vec: _Tensor, parameters: _t.Any) -> None:
    """Set the data of parameters to the parts of a vector."""
def weight_norm(module: _t.Any, name: _b.str = 'weight', dim: _b.int | _c.Sequence[_b.int] = 0) -> _t.Any:
    """Split a weight into weight_g (norm) and weight_v (direction)."""

clip_grad_norm = clip_grad_norm_
