"""What the package is called in text that it shows: `ingot.float32`, or, where `as_torch` has made it PyTorch, `torch.float32`.

Programs compare such text, and cut it (`str(x.dtype) == "torch.bfloat16"`, `x.type() == "torch.FloatTensor"`).
"""


class Called:
    """The name, which `as_torch` sets."""

    package = "ingot"


def in_full(name: str) -> str:
    """A name of the package's, with the package's own in front."""
    return f"{Called.package}.{name}"
