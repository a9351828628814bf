"""References of guards and side effects to objects: a traced module holds its recordings, so these do not hold it."""

import weakref


class Reference:
    """A weak reference to a traced module, which holds its own guards."""

    __slots__ = ("number", "of")

    def __init__(self, module):
        self.of, self.number = weakref.ref(module), id(module)

    def __call__(self):
        return self.of()


def is_traced(x) -> bool:
    """Return whether an object is a traced module."""
    return hasattr(type(x), "_plain_module")


def plain_module(x):
    """Return the module with the same attributes as a traced module; other objects as they are."""
    return x._plain_module() if is_traced(x) else x


def reference_to(x):
    """Return a function that returns an object; it does not keep a traced module alive."""
    return Reference(x) if is_traced(x) else lambda: x


class _Place:
    """A tuple that begins with a reference in place of a traced module."""

    __slots__ = ("first", "others")

    def __init__(self, first, *others):
        self.first, self.others = Reference(first), others

    def __call__(self):
        return self.first(), *self.others


class Held:
    """Attribute of a guard with an object that it names, or a tuple with one first: a traced module is not kept alive."""

    def __init__(self, name):
        self._name = name

    def __get__(self, guard, kind=None):
        if guard is None:
            return self
        held = guard.__dict__[self._name]
        return held() if type(held) in (Reference, _Place) else held

    def __set__(self, guard, x):
        is_place = type(x) is tuple and bool(x) and is_traced(x[0])
        guard.__dict__[self._name] = Reference(x) if is_traced(x) else _Place(*x) if is_place else x
