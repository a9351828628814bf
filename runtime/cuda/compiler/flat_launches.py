"""Launches over the elements of an array, one after the other, and checks of elements."""

from ....ir import dtype as dt
from ....passes.codegen.triton.index import value_checks
from ..memory import status_words
from .kernels import launch

BLOCK = 512


def flat_blocks(n: int, block: int = BLOCK, word: str | None = None) -> tuple:
    """Return (constants, warps, grid) of a kernel over n elements; `word` names an operator whose status word it sets."""
    words = () if word is None else (("SLOT", status_words.slot(word)),)
    return (("BLOCK", block), *words), 4, (-(-n // block), 1, 1)


def check_values(x, rule: str, name: str):
    """Set an operator's status word if an element of a contiguous array is invalid by a rule of `value_checks.py`."""
    source, how = value_checks.check_values(dt.from_numpy(x.dtype), rule), flat_blocks(x.size, word=name)
    launch(x.device, source, (x, status_words.words(x.device)), {"TOTAL": x.size}, how)
