"""Containers and numpy's arrays that a host function is given: it gets copies, with the tensors and numbers of the call in
them, and what it changes in these would be lost."""

import numpy as np

from ..guards.arg_pytree import fields_of, flatten, is_structure
from ..guards.frames import is_user

_MOST = 10_000      # objects that are looked at


def containers_in(values, most=_MOST) -> list:
    """The containers and arrays among values, and in these, that a function could change."""
    found: dict = {}
    stack = [*values]
    while stack and len(found) < most:
        x = stack.pop()
        if id(x) in found or not (isinstance(x, (list, dict, tuple, np.ndarray)) or is_structure(x)):
            continue
        found[id(x)] = x
        if type(x) is not np.ndarray:
            stack += x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else [
                getattr(x, name, None) for name in fields_of(x)]
    return [x for x in found.values() if not isinstance(x, tuple)]


def are_held(containers, frame, outside) -> bool:
    """Whether running code, up to the code `outside`, has variables in which some containers are."""
    wanted = {*map(id, containers)}
    while wanted and frame is not None and frame.f_code is not outside:
        if is_user(frame) and any(id(c) in wanted for c in containers_in(frame.f_locals.values())):
            return True
        frame = frame.f_back
    return False


class Given:
    """What a host function is given, as it is before."""

    def __init__(self, args, kwargs):
        self.args, self.kwargs = args, kwargs
        self._tensors: list = []
        self._spec = flatten((args, kwargs), self._tensors)

    def has_changed(self) -> bool:
        """Whether it has changed something in that."""
        found: list = []
        spec = flatten((self.args, self.kwargs), found)
        return spec != self._spec or any(a is not b for a, b in zip(found, self._tensors))


def put_back(given, copy, tensors: dict):
    """Leaves in what was given what was changed in its copy, and gives that; of what is no container, what stands for it.
    `tensors` are the given ones, by the ids of those in the copy."""
    if type(given) is not type(copy):
        return tensors.get(id(copy), copy)
    if type(given) is list:
        given[:] = [put_back(a, b, tensors) for a, b in zip(given, copy)] + [tensors.get(id(b), b) for b in copy[len(given):]]
    elif isinstance(given, dict):
        items = {k: put_back(given[k], v, tensors) if k in given else tensors.get(id(v), v) for k, v in copy.items()}
        given.clear()
        given.update(items)
    elif type(given) is np.ndarray:
        given[...] = copy
    elif isinstance(given, tuple):
        for a, b in zip(given, copy):
            put_back(a, b, tensors)
    elif is_structure(given):
        for name in fields_of(given):
            object.__setattr__(given, name, put_back(getattr(given, name), getattr(copy, name), tensors))
    else:
        return tensors.get(id(copy), copy)
    return given
