"""`ingot.backends.mha`: PyTorch's fast path of encoders in inference, of which is seen that it leaves zeros for padding."""

from ..core.state import Defaults

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]


def get_fastpath_enabled() -> bool:
    """Whether `nn.TransformerEncoder` leaves zeros there."""
    return Defaults.fast_path


def set_fastpath_enabled(value: bool) -> None:
    """Sets whether `nn.TransformerEncoder` leaves zeros there."""
    Defaults.fast_path = bool(value)
