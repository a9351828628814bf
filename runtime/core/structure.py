"""What modules consist of, and that it changes: the tables of their parameters, buffers, children and hooks; the hooks of
optimizers and of tensors."""

from collections import OrderedDict


class Structure:
    """Counts changes of what modules consist of (parameters, buffers, children, hooks, train or eval), of which parameters ask
    for gradients, and of the hooks of optimizers and leaves, in the whole process.

    A compiled trace that captured parameters compares this number first, and looks closer only when it has moved.
    """

    version = 0


def _counting(kind, name):
    plain = getattr(kind, name)

    def change(self, *args, **kwargs):
        Structure.version += 1
        return plain(self, *args, **kwargs)

    change.__name__, change.__doc__ = name, plain.__doc__
    return change


class Table(dict):
    """The parameters, buffers or children of a module by name; whatever is changed in it counts."""

    __slots__ = ()

    def __reduce__(self):
        return dict, (dict(self),)


class HookTable(OrderedDict):
    """Hooks by number, in the order in which they run; whatever is changed in it counts."""


for _kind, _names in ((Table, ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update")),
                      (HookTable, ("__setitem__", "__delitem__", "clear", "pop", "popitem", "move_to_end"))):
    for _name in _names:
        setattr(_kind, _name, _counting(_kind.__mro__[1], _name))


class RemovableHandle:
    """Removes a hook again; also a context manager."""

    _next = 0

    def __init__(self, hooks: dict, *marks: set, extra_dict=None):
        self.id = RemovableHandle._next
        RemovableHandle._next += 1
        self._hooks = hooks
        self._marks = marks
        self._others = extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict] * (extra_dict is not None)

    def remove(self):
        """Takes the hook out; a second call does nothing."""
        self._hooks.pop(self.id, None)
        for marks in self._marks:
            marks.discard(self.id)
        for other in self._others:
            other.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def add_hook(hooks: dict, hook, *, prepend: bool = False, marks=()) -> RemovableHandle:
    """Enters a hook (first with `prepend`) and notes its id in each set of `marks`."""
    handle = RemovableHandle(hooks, *marks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)       # type: ignore[attr-defined]
    for each in marks:
        each.add(handle.id)
    return handle
