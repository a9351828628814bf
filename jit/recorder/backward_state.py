"""State that user code in a backward may change: objects of the call that hooks and the ctx of a Function lead to.

Backward runs this code at each call in eager code, and a replay runs none of it. So the recorded backward compares that state
before and after. Objects from before the call are left out: the tracker sees writes to them.
"""

import functools
import gc
import types
from collections import deque

import numpy as np

from ...ir.interrupts import raise_interrupt
from ...ir.process_state import without_warnings
from ...runtime.autograd.function import FunctionNode
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.user_code import attributes_of, entries_of, is_a, is_global, is_user_defined, module_of_class
from ..guards.exact_values import are_exact
from ..guards.held_content import held_by
from ..guards.snapshot import is_plain

_WITHOUT_STATE = (Tensor, Module, types.ModuleType, types.CodeType, types.FrameType)
_METHODS = (types.BuiltinMethodType, types.MethodWrapperType)       # bound to an object in C code
_PACKAGE = __name__.partition(".")[0]
_CONTAINERS = (list, tuple, set, frozenset, deque)


class BackwardState:
    """Contents of what hooks of a node, or its ctx, lead to, at one time; objects with ids in `outside` as they are."""

    def __init__(self, node, outside: frozenset):
        self._outside, self._seen = outside, {}
        held = [*[hook for which, hook in (node.pre_hooks or {}).values() if which != "retain"],
                *(node.post_hooks or {}).values()]
        if isinstance(node, FunctionNode):
            held += node.attributes().items()
        self._content = [self._of(x, type(x) is tuple) for x in held]

    def is_as(self, other) -> bool:
        return _is_same(self._content, other._content)

    def _of(self, x, fresh=False):
        """Return an object with the content below it. A `fresh` one was made to describe another, and has no identity."""
        if _is_number(x) or is_a(x, _WITHOUT_STATE) or is_global(x) or id(x) in self._outside:
            return x
        if id(x) in self._seen:
            return None if fresh else x
        self._seen[id(x)] = x       # (which keeps its id)
        return type(x) if fresh else x, [self._of(part, is_new) for part, is_new in _parts(x, fresh)]


def outside_ids(recorder) -> frozenset:
    """Return the ids of the objects that a call has reached so far and that were there before."""
    known = recorder.tracker.known
    return frozenset() if known is None else frozenset((*known.outside, *known.objects, *known.modules))


def _is_number(x) -> bool:
    """Return whether a value is a number or a text, or one of ingot's objects that stand for numbers."""
    return _is_own(type(x)) or (not is_a(x, (tuple, frozenset)) and is_plain(x))


def _is_own(kind) -> bool:
    """Return whether a class is ingot's: a number that stands for one of each call, a generator that the recorder knows."""
    return module_of_class(kind).partition(".")[0] == _PACKAGE


def _parts(x, fresh) -> list:
    """Return (part, whether it was made just now) of an object."""
    kind, found = type(x), []
    if is_a(x, types.FunctionType):
        found = [*map(_cell_content, x.__closure__ or ()), x.__defaults__, x.__kwdefaults__, x.__dict__]
    elif is_a(x, types.MethodType):
        return [(x.__func__, fresh), (x.__self__, fresh)]
    elif is_a(x, _METHODS):
        return [(x.__self__, fresh)]
    elif is_a(x, np.flatiter):
        return [(x.base, fresh), (x.index, True)]
    elif is_a(x, functools.partial):
        found = [x.func, x.args, x.keywords]
    elif is_a(x, types.GeneratorType):      # with what its loops have not finished
        return [(part, fresh) for part in (() if x.gi_frame is None else (x.gi_frame.f_lasti, *gc.get_referents(x)))]
    elif is_a(x, type):
        found = [v for name, v in vars(x).items() if name[:2] != "__"]
    elif is_a(x, np.ndarray):
        return [(x.tobytes(), True)] if not x.dtype.hasobject else [(v, fresh) for v in x.flat]
    elif is_user_defined(kind):
        found = [*attributes_of(x).items(), *_items(x)]
    elif is_a(x, _CONTAINERS) or is_a(x, (dict, types.MappingProxyType)):
        found = [*_items(x)]
    elif (holds := held_by(x)) is not None:
        return [(holds(), True)]
    else:
        return [(part, True) for part in _reduced(x)]
    return [(part, fresh or type(part) is tuple) for part in found]


def _items(x):
    """Return the items of a container, past methods of users."""
    base = next((b for b in (dict, *_CONTAINERS) if is_a(x, b)), None)
    return () if base is None else entries_of(x) if issubclass(base, dict) else base.__iter__(x)


def _cell_content(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _reduced(x) -> tuple:
    """Return what pickles of an object in C code hold: where an iterator or a generator of random numbers stands."""
    try:
        found = _pickled_parts(x)
    except Exception as error:
        raise_interrupt(error, _pickled_parts, x)
        return ()
    return found[1:] if type(found) is tuple else ()


def _pickled_parts(x):
    with without_warnings():        # itertools deprecate it
        return x.__reduce_ex__(2)


def _is_same(a, b) -> bool:
    if type(a) is list or (type(a) is tuple and len(a) == 2 and type(a[1]) is list):
        return type(b) is type(a) and len(a) == len(b) and all(map(_is_same, a, b))
    return a is b or (_is_number(a) and not _is_own(type(a)) and are_exact(a, b))
