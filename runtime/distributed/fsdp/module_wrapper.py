"""Base of modules that wrap another one."""

from ...nn.base.module import Module


class Around(Module):
    """A module around another one, whose attributes, items and state it has; that one is the child named `_inside`."""

    _inside: str

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            inner = self.__dict__.get("_modules", {}).get(self._inside)
            if inner is None:
                raise
            return getattr(inner, name)

    def __getitem__(self, key):
        return self._modules[self._inside][key]

    def _children_in_state(self, prefix):
        return [(prefix, self._modules[self._inside])]
