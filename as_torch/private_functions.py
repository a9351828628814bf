"""`ingot._tensor_str`: the parts of printing that libraries take for tensors of classes of their own."""

from ..runtime.core.printing import Options as PRINT_OPTS
from ..runtime.core.printing import array_text, closed
from ..runtime.core.tensor import Tensor

__all__ = ["PRINT_OPTS", "_add_suffixes", "_tensor_str"]


def _tensor_str(self: Tensor, indent: int) -> str:
    """The values, whose rows after the first are indented."""
    return array_text(self.detach().resolve_conj().resolve_neg().cpu().numpy(), indent)


def _add_suffixes(tensor_str: str, suffixes: list, indent: int, force_newline: bool) -> str:
    """The values and what is said of them, in the lines of the printing width."""
    return closed(tensor_str, suffixes, indent, force_newline)
