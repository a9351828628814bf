"""cuDNN is not used by ingot. `allow_tf32` says whether convolutions of float32, and steps of recurrent layers, take TF32 on a
GPU, as with PyTorch; the other switches can be set, and change nothing: results are deterministic without them."""

from contextlib import contextmanager

__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags", "is_acceptable", "is_available",
           "version"]

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN is used: it is not."""
    return False


def is_acceptable(tensor) -> bool:
    """Whether cuDNN takes this tensor: it takes none."""
    return False


def version():
    """The version of cuDNN: there is none."""
    return


@contextmanager
def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, **others):
    """Sets the switches inside."""
    wished = {"enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit, "deterministic": deterministic,
              "allow_tf32": allow_tf32}
    before = {name: globals()[name] for name in wished}
    globals().update(wished)
    try:
        yield
    finally:
        globals().update(before)
