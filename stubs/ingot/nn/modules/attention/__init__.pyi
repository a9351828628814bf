"""Multi-head attention as a module, and the choice of attention kernels."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import MultiheadAttention as MultiheadAttention
from ingot.nn.attention import SDPBackend as SDPBackend
from ingot.nn.attention import causal_mask as causal_mask
from ingot.nn.attention import sdpa_kernel as sdpa_kernel
