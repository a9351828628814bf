"""The caches of this machine, as the system tells."""

import functools
from pathlib import Path

_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
_USUAL = 1 << 20                    # where the system does not tell


@functools.lru_cache(None)
def second_level() -> int:
    """Bytes of the second-level cache of a core."""
    for folder in sorted(_FOLDER.glob("index*")):
        try:
            level, size = ((folder / name).read_text().strip() for name in ("level", "size"))
            if level == "2":
                return int(size.rstrip("KMG")) * {"K": 1 << 10, "M": 1 << 20}[size[-1]]
        except (OSError, ValueError, KeyError):
            continue
    return _USUAL
