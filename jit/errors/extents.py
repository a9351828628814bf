"""Sizes as affine formulas of a named size, such as ``2*length+1``."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from ...ir.errors import ArgumentError
from ...ir.symbols.scope import RESERVED

_FORM = re.compile(r"(?:(\d{1,9})\s*\*)?\s*([^\W\d]\w*)\s*(?:\*\s*(\d{1,9}))?\s*(?:([+-])\s*(\d{1,15}))?", re.DOTALL)


@dataclass(frozen=True)
class Extent:
    """Size of `times` the named size, and `plus`."""

    name: str
    times: int = 1
    plus: int = 0

    @property
    def text(self) -> str:
        """Return the spelling in IR text."""
        return f"{self.times}*" * (self.times != 1) + self.name + f"{self.plus:+d}" * (self.plus != 0)

    def of(self, n):
        return self.times * n + self.plus

    def named(self, size: int) -> int | None:
        """Return the value of the named size for which this one is `size`, or None."""
        n, rest = divmod(size - self.plus, self.times)
        return None if rest or n < 0 else n


@lru_cache(1024)
def parsed(text: str) -> Extent | None:
    """Parse an extent, or return None."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    before, name, behind, sign, plus = found.groups()
    times = int(before or 1) * int(behind or 1)
    is_name = name.isidentifier() and name not in RESERVED and unicodedata.normalize("NFKC", name) == name
    return Extent(name, times, int(f"{sign}{plus}") if plus else 0) if is_name and times else None


def extent_of(text: str) -> Extent:
    """Parse an extent, or raise."""
    found = parsed(text)
    if found is None:
        raise ArgumentError(f"{text!r} is no size: it is an identifier such as 'batch', or a multiple of one and a number "
                            "more, such as '2*batch+1'")
    return found
