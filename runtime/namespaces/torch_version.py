"""`ingot.torch_version`: versions that compare with text, tuples of numbers, and one another."""

import re

__all__ = ["TorchVersion"]

_FORM = re.compile(r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)[-_.]?(?:(alpha|beta|preview|pre|rc|a|b|c)[-_.]?(\d*))?"
                   r"(?:[-_.]?(post|rev|r)[-_.]?(\d*)|-(\d+))?(?:[-_.]?(dev)[-_.]?(\d*))?"
                   r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?", re.I)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_BEFORE, _FINAL = -1, 3                 # a development release precedes all stages; the release follows them


def _key(version) -> tuple | None:
    """Return a sort key in the order of PEP 440, or None for text that is no version."""
    if not isinstance(version, str):
        version = ".".join(map(str, version)) if isinstance(version, (tuple, list)) else str(version)
    found = _FORM.fullmatch(version.strip())
    if found is None:
        return None
    epoch, release, stage, nth, post, post_nth, dash_nth, dev, dev_nth, local = found.groups()
    numbers = [int(n) for n in release.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    is_post = bool(post or dash_nth)
    rank = (_STAGES[stage.lower()], int(nth or 0)) if stage else (_BEFORE if dev and not is_post else _FINAL, 0)
    after = int(post_nth or dash_nth or 0) if is_post else -1
    ready = (0, int(dev_nth or 0)) if dev else (1, 0)
    parts = [(1, int(p), "") if p.isdigit() else (0, 0, p.lower()) for p in re.split(r"[-_.]", local)] if local else []
    return int(epoch or 0), tuple(numbers), rank, after, ready, tuple(parts)


class TorchVersion(str):
    """Text that compares as a version: `TorchVersion("2.10") > "2.9"`, `> (2, 9)`. Other text compares as text."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        mine, theirs = _key(self), _key(other)
        return mine == theirs if mine is not None and theirs is not None else str.__eq__(self, other)

    def __lt__(self, other):
        mine, theirs = _key(self), _key(other)
        return mine < theirs if mine is not None and theirs is not None else str.__lt__(self, other)

    def __ne__(self, other):
        return not self == other

    def __le__(self, other):
        return self == other or self < other

    def __gt__(self, other):
        return not self <= other

    def __ge__(self, other):
        return not self < other
