"""`ingot._inductor`: the switches of PyTorch's code generator."""

from . import accepted_switches as config

__all__ = ["config"]
