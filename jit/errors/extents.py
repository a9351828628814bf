"""Sizes that follow from a named one: a multiple of it and a number more, as in ``2*length+1``."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from ...ir.errors import ArgumentError
from ...ir.symbols.scope import RESERVED

_FORM = re.compile(r"(?:(\d{1,9})\s*\*)?\s*([^\W\d]\w*)\s*(?:\*\s*(\d{1,9}))?\s*(?:([+-])\s*(\d{1,15}))?", re.DOTALL)


@dataclass(frozen=True)
class Extent:
    """`times` the size of this name, and `plus`."""

    name: str
    times: int = 1
    plus: int = 0

    @property
    def text(self) -> str:
        """As IR text has it."""
        return f"{self.times}*" * (self.times != 1) + self.name + f"{self.plus:+d}" * (self.plus != 0)

    def of(self, n):
        """The size where the named one is n."""
        return self.times * n + self.plus

    def named(self, size: int) -> int | None:
        """What the named size is where this one is `size`; None if it is none."""
        n, rest = divmod(size - self.plus, self.times)
        return None if rest or n < 0 else n


@lru_cache(1024)
def parsed(text: str) -> Extent | None:
    """The extent that a text says; None if it says none."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    before, name, behind, sign, plus = found.groups()
    times = int(before or 1) * int(behind or 1)
    is_name = name.isidentifier() and name not in RESERVED and unicodedata.normalize("NFKC", name) == name
    return Extent(name, times, int(f"{sign}{plus}") if plus else 0) if is_name and times else None


def extent_of(text: str) -> Extent:
    """The extent that a text says; raises if it says none."""
    found = parsed(text)
    if found is None:
        raise ArgumentError(f"{text!r} is no size: it is an identifier such as 'batch', or a multiple of one and a number "
                            "more, such as '2*batch+1'")
    return found
