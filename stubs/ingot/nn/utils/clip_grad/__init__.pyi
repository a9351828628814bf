"""Clipping of gradients by norm or value."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn.utils import clip_grad_norm_ as clip_grad_norm_
from ingot.nn.utils import clip_grad_value_ as clip_grad_value_
from ingot.nn.utils import clip_grads_with_norm_ as clip_grads_with_norm_
from ingot.nn.utils import get_total_norm as get_total_norm
