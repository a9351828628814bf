"""`ingot.backends.mkldnn`: switches without effect; oneDNN is not used, and CPUs multiply float32 in float32."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.backends.cudnn import _Operation as _Operation

allow_tf32: _t.Any
conv: _Operation
deterministic: _b.bool
enabled: _b.bool
fp32_precision: _b.str
matmul: _Operation
rnn: _Operation
def flags(enabled: _b.bool = False, deterministic: _b.bool = False, allow_tf32: _b.bool = True,
          fp32_precision: _b.str = 'none') -> _t.Any:
    """Set the switches inside."""
def is_available() -> _b.bool:
    """Return False: oneDNN is not used."""
