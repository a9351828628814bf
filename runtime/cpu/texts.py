"""The IR text of kernels that are described by a record, kept on disk: writing a large one takes Python longer than loading its
object. What is kept is bound to the very source of the code generator, so no change of it is ever missed.

    text = text_of(kernel)                     # kernel.text(), or what an earlier process wrote
    text = text_of(kernel, "weight_text")
"""

import functools
import hashlib
import zlib
from pathlib import Path

from . import cache

_ROOT = Path(__file__).parents[2]
_KIND = "txt"
_SMALL = 4096        # characters below which a text is written as fast as it is read


def text_of(kernel, method: str = "text") -> str:
    """The text that a kernel's method writes. The kernel is a dataclass whose fields say all that the text depends on."""
    said = repr(kernel)
    sources = _sources()
    if not sources or " at 0x" in said:          # a field that is known by its address alone
        return getattr(kernel, method)()
    key = hashlib.sha256(f"{sources}|{method}|{type(kernel).__module__}|{said}".encode()).hexdigest()
    text = _load(key)
    if text is None:
        text = getattr(kernel, method)()
        if len(text) > _SMALL:
            cache.store(key, zlib.compress(text.encode(), 1), kind=_KIND)
    return text


def _load(key):
    entry = cache.load(key, _KIND)
    try:
        return None if entry is None else zlib.decompress(entry[0]).decode()
    except (zlib.error, UnicodeDecodeError):
        return None


@functools.lru_cache(None)
def _sources() -> str:
    """A digest of every file that texts depend on; empty where they cannot be read."""
    digest, count = hashlib.sha256(), 0
    for path in [*sorted((_ROOT / "ir").rglob("*.py")), *sorted((_ROOT / "passes" / "codegen").rglob("*.py"))]:
        try:
            digest.update(str(path.relative_to(_ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
        except OSError:
            return ""
        count += 1
    return digest.hexdigest() if count else ""
