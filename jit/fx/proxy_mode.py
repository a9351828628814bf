"""`ingot.fx.experimental.proxy_tensor`: what libraries ask PyTorch's compiler about, to leave values unread while it looks.
Recordings run on real tensors, and reading a value is a guard."""

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """None: nothing runs on stand-ins that do not know their values."""
