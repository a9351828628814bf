"""`ingot.fx.experimental.proxy_tensor` and `ingot._subclasses.fake_tensor`: what libraries ask PyTorch's compiler about, to
leave values unread while it looks. Neither kind of tensor is there: recordings run on real tensors, and reading a value is a
guard."""

__all__ = ["get_proxy_mode", "is_fake"]


def get_proxy_mode() -> None:
    """None: nothing runs on stand-ins that do not know their values."""


def is_fake(x: object) -> bool:
    """False: tensors without data are those of the device "meta"."""
    return False


def active_fake_mode() -> None:
    """None: what stands for values without having them is on the device meta, whatever runs."""
