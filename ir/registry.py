"""Tables that rooms fill when they load, maybe late and while other threads read."""

_GONE = object()


class Registry(dict):
    """A table of records. Iteration goes over a list, which one call in C makes, so entries may come meanwhile."""

    def __iter__(self):
        return iter(self.keys())

    def keys(self):
        """Return the keys by now."""
        return list(dict.keys(self))

    def values(self):
        """Return the records by now."""
        return list(dict.values(self))

    def items(self):
        """Return (key, record) pairs by now."""
        return [(key, record) for key in self.keys() if (record := self.get(key, _GONE)) is not _GONE]
