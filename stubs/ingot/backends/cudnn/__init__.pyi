"""`ingot.backends.cudnn`: switches under cuDNN's name, which ingot does not use."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

allow_tf32: _b.bool
benchmark: _b.bool
benchmark_limit: _b.int
conv: _Operation
deterministic: _b.bool
enabled: _b.bool
fp32_precision: _b.str
rnn: _Operation
def flags(enabled: _b.bool = False, benchmark: _b.bool = False, benchmark_limit: _t.Any = 10,
          deterministic: _b.bool = False, allow_tf32: _b.bool = True, fp32_precision: _b.str = 'none',
          **others: _t.Any) -> _t.Any:
    """Set the switches inside. fp32_precision overrides allow_tf32."""
def is_acceptable(tensor: _t.Any) -> _b.bool:
    """Return False: cuDNN is not used."""
def is_available() -> _b.bool:
    """Return False: cuDNN is not used."""
def version() -> None:
    """Return None: cuDNN is not used."""

class _Operation:
    """The entry of one operation of a backend: `backends.cudnn.conv.fp32_precision`."""
    backend: _b.str
    op: _b.str
    def __init__(self, backend: _b.str, op: _b.str) -> None: ...
    @_b.property
    def fp32_precision(self) -> _b.str:
        """"ieee", "tf32", "none", and "bf16" where the backend knows it."""
    @fp32_precision.setter
    def fp32_precision(self, value: _t.Any) -> None: ...
