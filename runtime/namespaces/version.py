"""`ingot.version`: the version, and None for toolkits. CUDA is used through its driver, so no toolkit is compiled in."""

from ...ir.version import VERSION

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

__version__ = VERSION
cuda = hip = xpu = git_version = None
debug = False
