"""`ingot.backends.mha`: the switch of `nn.TransformerEncoder` that writes zeros for padding in inference."""

from ..state.switches import Switch

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_clears_padding = Switch("whether TransformerEncoder writes zeros for padding", True)


def get_fastpath_enabled() -> bool:
    """Return whether `nn.TransformerEncoder` writes zeros for padding."""
    return _clears_padding.get()


def set_fastpath_enabled(value: bool) -> None:
    """Set whether `nn.TransformerEncoder` writes zeros for padding."""
    _clears_padding.set(bool(value))
