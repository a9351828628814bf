"""What users call: arguments as PyTorch has them, turned into calls of operator records."""

from . import elementwise, operators, reduce

__all__ = ["elementwise", "operators", "reduce"]
