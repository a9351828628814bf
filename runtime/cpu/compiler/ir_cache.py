"""The IR text of kernels that a record describes, written only when needed.

Writing a large text takes Python longer than loading its object. So the disk cache has the digest of the text, by which
compiled code is found; the text itself is written when LLVM or a person needs it. A digest is bound to the source of the code
generator, so no change of it is ever missed.

    text = text_of(kernel)                     # stands for kernel.text(): str(text)
    text = text_of(kernel, "weight_text")
    text = text_by(reorder_text, target, "float", "plain")
"""

import functools
import hashlib
from pathlib import Path

from ....ir.cached_property import cached_property
from . import cache

_ROOT = Path(__file__).parents[3]
_KIND = "sum"
_SMALL = 4096        # characters below which a text is written as fast as its digest is read


class Text:
    """The result of `write()`, not written yet; `key` has all that it depends on."""

    def __init__(self, write, key: str):
        self._write, self._key = write, key

    @cached_property
    def _text(self) -> str:
        return self._write()

    @cached_property
    def digest(self) -> str:
        """The digest of the text, perhaps from an earlier process."""
        entry = cache.load(self._key, _KIND)
        if entry is not None:
            return entry[0].decode()
        found = digest_of(self._text)
        if len(self._text) > _SMALL:
            cache.store(self._key, found.encode(), kind=_KIND)
        return found

    def unwritten(self) -> "Text":
        """Return the same text without the memory of the written one."""
        return Text(self._write, self._key)

    def __str__(self):
        return self._text


def text_of(kernel, method: str = "text") -> "str | Text":
    """Return the text that a kernel's method writes. The kernel is a dataclass of all that the text depends on."""
    return _unwritten(getattr(kernel, method), f"{method}|{type(kernel).__module__}|{kernel!r}")


def text_by(function, *arguments) -> "str | Text":
    """Return the text that a function of the code generator writes for arguments that are all that it depends on."""
    return _unwritten(functools.partial(function, *arguments), f"{function.__qualname__}|{function.__module__}|{arguments!r}")


def _unwritten(write, description):
    sources = _sources()
    if not sources or " at 0x" in description:          # a field whose repr is an address
        return write()
    return Text(write, hashlib.sha256(f"{sources}|{description}".encode()).hexdigest())


def digest_of(text: "str | Text") -> str:
    """Return the digest of a text."""
    return text.digest if isinstance(text, Text) else hashlib.sha256(text.encode()).hexdigest()


@functools.lru_cache(None)
def _sources() -> str:
    """Return a digest of every file that texts depend on; empty if they cannot be read."""
    digest, count = hashlib.sha256(), 0
    for path in [*sorted((_ROOT / "ir").rglob("*.py")), *sorted((_ROOT / "passes" / "codegen").rglob("*.py"))]:
        try:
            digest.update(str(path.relative_to(_ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
        except OSError:
            return ""
        count += 1
    return digest.hexdigest() if count else ""
