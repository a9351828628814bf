"""`ingot.backends.mha`: the switch of `nn.TransformerEncoder` that writes zeros for padding in inference."""

from ..core.state import Defaults, tls

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]


def get_fastpath_enabled() -> bool:
    """Return whether `nn.TransformerEncoder` writes zeros for padding."""
    if tls.m.recorder is not None:
        tls.m.recorder.attribute(Defaults, "clear_padding", False)
    return Defaults.clear_padding


def set_fastpath_enabled(value: bool) -> None:
    """Set whether `nn.TransformerEncoder` writes zeros for padding."""
    Defaults.clear_padding = bool(value)
