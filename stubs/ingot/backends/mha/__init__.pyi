"""`ingot.backends.mha`: the switch of `nn.TransformerEncoder` that writes zeros for padding in inference."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b

def get_fastpath_enabled() -> _b.bool:
    """Return whether `nn.TransformerEncoder` writes zeros for padding."""
def set_fastpath_enabled(value: _b.bool) -> None:
    """Set whether `nn.TransformerEncoder` writes zeros for padding."""
