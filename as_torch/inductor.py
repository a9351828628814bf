"""`ingot._inductor`: the switches of PyTorch's code generator."""

from . import compiler_config as config

__all__ = ["config"]
