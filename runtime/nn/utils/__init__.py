"""`ingot.nn.utils`: clipping, pruning, parametrisations, fusion of batch norm, modules as functions.

Way in: `clip_grad_norm_`, `parametrize.register_parametrization`, `prune`, `stateless.functional_call`. Tools change the tables
of modules only through `Module`, so traces see each change of structure.
"""

import importlib as _importlib

from ..base import packed_sequence as rnn
from . import parametrizations, parametrize, stateless
from .batch_norm_fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .conv_memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .skip_init import skip_init
from .weight_norm import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

clip_grad_norm = clip_grad_norm_

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
           "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval",
           "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm", "parameters_to_vector",
           "parametrizations", "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init",
           "spectral_norm", "stateless", "vector_to_parameters", "weight_norm"]


def __getattr__(name):
    if name == "prune":
        return _importlib.import_module(".prune", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
