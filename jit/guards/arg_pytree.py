"""Argument and result structures: nested containers taken apart into tensors and plain Python values, and put together again.

A structure is described by a hashable spec, which is part of the key of a trace: containers by type and length, dicts by
their keys in order, tensors as a mark (sparse ones as what makes them of such), everything else by value.
"""

from collections import OrderedDict, defaultdict, deque
from dataclasses import is_dataclass

import numpy as np

from ...ir.symbols.symbolic import SymFloat, SymInt
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.pytree.node_types import REGISTERED
from ..errors.errors import TraceError
from ..proxies.lazy_scalars import LazyScalar
from ..proxies.made_objects import made_again
from ..proxies.numpy_scalars import KINDS, SymScalar, with_kind

TENSOR, NUMBER, READ, OBJECT, NODE, MADE, DEFAULTS = "tensor", "number", "read", "object", "node", "made", "defaults"
WITH_ATTRIBUTES = "with attributes"     # an OrderedDict that has some, as state dicts do
BOUNDED = "bounded"     # a deque
SCALAR = "scalar"                   # one of numpy's, as (its kind, a number)
AGAIN, GIVEN = "again", "given"     # a container of the same structure, or of the arguments, by its number


def _array_of(t):
    """The array that an argument is, or one over the memory of a result."""
    return t.__dict__["_lies_over"] if "_lies_over" in t.__dict__ else t.numpy()


_READS = {float: Tensor.item, int: Tensor.item, list: Tensor.tolist, np.ndarray: _array_of}


class ByIdentity:
    """A Python object that is compared by identity in a spec (it cannot be hashed by value)."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, ByIdentity) and self.value is other.value

    def __hash__(self):
        return id(self.value)

    def __repr__(self):
        return f"<{type(self.value).__name__}>"


class ByContent(ByIdentity):
    """A numpy array, which is compared by what it held when the spec was made."""

    __slots__ = ("content",)

    def __init__(self, value):
        super().__init__(value.copy())
        self.content = value.shape, value.dtype.str, value.tobytes()

    def __eq__(self, other):
        return isinstance(other, ByContent) and self.content == other.content

    def __hash__(self):
        return hash(self.content)


class BySet(ByIdentity):
    """A set, which is compared by what it held when the spec was made, in order."""

    __slots__ = ("content",)

    def __init__(self, value):
        super().__init__(value)
        self.content = type(value), tuple([(type(v), v) for v in value])

    def __eq__(self, other):
        return isinstance(other, BySet) and self.content == other.content

    def __hash__(self):
        return hash(self.content)


class GivenArray:
    """An argument that is an array, and the tensor over its memory by which it is known; `sizes_are_read` by Python."""

    __slots__ = ("sizes_are_read", "tensor")

    def __init__(self, array, sizes_are_read=False):
        self.tensor, self.sizes_are_read = wrap(array), sizes_are_read
        self.tensor._storage.lend()
        self.tensor.__dict__["_lies_over"] = array

    @property
    def array(self) -> np.ndarray:
        """The array itself."""
        return self.tensor.__dict__["_lies_over"]


class ContainerTable:
    """The containers (and objects) that structures are found to hold, so that each is taken apart once, and is one object
    again: `containers` in the order in which they come.

    known    {id of a container that there was before: the spec that stands for it}
    were     {id of a container: what it held}, where it is to be taken apart as it was
    """

    __slots__ = ("_specs", "containers", "were")

    def __init__(self, known=(), were=()):
        self.containers: list = []
        self._specs, self.were = dict(known), dict(were)

    def before(self, x):
        """The spec of a container that was met before, else None. One that is being taken apart contains itself."""
        spec = self._specs.get(id(x))
        if spec == ():
            raise TraceError(f"a traced function takes and returns no {type(x).__name__} that contains itself")
        return spec

    def enter(self, x) -> int:
        """Meets a container; it is being taken apart until it is `left`."""
        self.containers.append(x)       # (kept, so that its id is its own)
        self._specs[id(x)] = ()
        return len(self.containers) - 1

    def leave(self, number: int):
        """It has been taken apart."""
        self._specs[id(self.containers[number])] = (AGAIN, number)


def fields_of(x) -> tuple:
    """The names of the fields of a dataclass's object or of a named tuple."""
    return tuple(getattr(x, "__dataclass_fields__", ())) or getattr(x, "_fields", ())


def is_structure(x) -> bool:
    """Whether an object of a dataclass counts as its fields: such as are compared by them, or hold tensors."""
    if not is_dataclass(x) or isinstance(x, type) or not hasattr(x, "__dict__"):
        return False
    held = [getattr(x, name, None) for name in fields_of(x)]
    return type(x).__hash__ is None or any(isinstance(v, (Tensor, tuple, list, dict)) or is_structure(v) for v in held)


def flatten(x, leaves: list, numbers: list | None = None, attributes=None, read=None, met: ContainerTable | None = None):
    """The spec of a structure; its tensors are appended to `leaves` in order. With `numbers`, its ints and floats go there,
    and only their types stay in the spec. `attributes` says of an object what it consists of, or None if it stays as it is,
    `read` of a value that is read out of a tensor its type and the tensor. With `met`, what a structure holds in several places
    is one object, else it counts by what is in it."""
    kind = type(x)
    if kind is Tensor or (isinstance(x, Tensor) and kind not in PARTS):
        leaves.append(x)
        return TENSOR
    if kind is GivenArray:
        leaves.append(x.tensor)
        return (READ, np.ndarray)
    part = None if read is None else read(x)
    if part is not None:
        leaves.append(part[1])
        return (READ, part[0])
    if numbers is not None and (kind is float or kind is int):
        numbers.append(x)
        return (NUMBER, kind)
    if numbers is not None and kind in KINDS:
        numbers.append(x.item())
        return (NUMBER, kind)
    if kind is SymInt or kind is SymFloat:
        return (kind, x)
    if kind is SymScalar:
        return (SCALAR, (x.kind, x.number))
    if kind is LazyScalar:
        leaves.append(x.tensor)
        return (READ, x.kind)
    if kind in (int, bool, str, type(None), bytes):
        return (kind, x)
    if kind is float:
        return (float, x.hex())
    take = Flattener(leaves, numbers, attributes, read, met)
    if isinstance(x, tuple):
        return (kind, take.each(x))
    if kind is slice:
        return (kind, take.each((x.start, x.stop, x.step)))
    if isinstance(x, (list, dict)) or kind in PARTS or kind in REGISTERED or is_structure(x):
        return take.once(x)
    if kind is deque and attributes is not None:        # (among arguments it is what it is)
        return take.once(x)
    own = None if attributes is None or kind is np.ndarray else attributes(x)
    return _as_a_whole(x) if own is None else take.once(x, own)


class Flattener:
    """The taking apart of a container, with what `flatten` was given."""

    __slots__ = ("how", "leaves", "met")

    def __init__(self, leaves, numbers, attributes, read, met):
        self.leaves, self.how, self.met = leaves, (numbers, attributes, read, met), met

    def each(self, items) -> tuple:
        """The specs of some values."""
        leaves, how = self.leaves, self.how
        return tuple([flatten(v, leaves, *how) for v in items])

    def named(self, items) -> tuple:
        """The same for pairs of a name and a value."""
        leaves, how = self.leaves, self.how
        return tuple([(k, flatten(v, leaves, *how)) for k, v in items])

    def once(self, x, own=None):
        """The spec of a container, or of an object with attributes of its `own`, if that has not been met before."""
        met = self.met
        if met is None:
            return self._parts_of(x, x, own)
        spec = met.before(x)
        if spec is None:
            number = met.enter(x)
            spec = self._parts_of(x, met.were.get(id(x), x), own)
            met.leave(number)
        return spec

    def _parts_of(self, x, content, own):
        kind = type(x)
        if own is not None:
            return (OBJECT, (kind, self.named(own.items())))
        if kind in PARTS:
            parts, make = PARTS[kind](x)
            return (MADE, (make, self.each(parts)))
        if kind is defaultdict:
            return (DEFAULTS, (x.default_factory, self.named(content.items())))
        if kind is OrderedDict and vars(x) and self.how[1] is not None:
            return (WITH_ATTRIBUTES, (self.named(vars(x).items()), self.named(content.items())))
        if isinstance(x, dict):
            return (kind, self.named(content.items()))
        if isinstance(x, list):
            return (kind, self.each(content))
        if kind is deque:
            return (BOUNDED, (x.maxlen, self.each(content)))
        if kind in REGISTERED:
            children, context = REGISTERED[kind].flatten(x)
            return (NODE, (kind, *self.each((context,)), self.each(children)))
        return (kind, self.named([(name, getattr(x, name)) for name in fields_of(x)]))


def _as_a_whole(x):
    """The spec of an object that stays as it is."""
    kind = type(x)
    if kind is np.ndarray and not x.dtype.hasobject:
        return ByContent(x)
    if kind is set or kind is frozenset:        # in their order: the function may go through them
        return BySet(x)
    try:
        hash(x)
    except TypeError:
        return ByIdentity(x)
    return (kind, x)


def unflatten(spec, leaves, numbers=None, given=(), made=None):
    """The structure of a spec over an iterator of leaves, and one of numbers if the spec was made without them. `given` are the
    containers of the arguments that it may be about."""
    if spec is TENSOR or spec == TENSOR:
        return next(leaves)
    if isinstance(spec, ByIdentity):
        return spec.value.copy() if isinstance(spec, (ByContent, BySet)) else spec.value
    kind, inner = spec
    if kind is NUMBER:
        return with_kind(inner, next(numbers))
    if kind is SCALAR:
        return with_kind(*inner)
    if kind is READ:
        return _READS[inner](next(leaves))
    if kind is float:
        return float.fromhex(inner)
    if kind is GIVEN:
        return given[inner]
    made = [] if made is None else made     # by their numbers, as `ContainerTable` counts them
    if kind is AGAIN:
        return made[inner]

    def each(specs):
        return [unflatten(s, leaves, numbers, given, made) for s in specs]

    if isinstance(kind, type) and issubclass(kind, tuple):
        return kind(*each(inner)) if hasattr(kind, "_fields") else kind(each(inner))
    if kind is slice:
        return slice(*each(inner))
    if _is_whole(kind, inner):
        return inner
    made.append(None)
    number = len(made) - 1
    made[number] = _made_of(kind, inner, each)
    return made[number]


def _is_whole(kind, inner) -> bool:
    """Whether a spec is that of an object that stays as it is."""
    if kind in (OBJECT, MADE, NODE, DEFAULTS, WITH_ATTRIBUTES, BOUNDED):
        return False
    return not (isinstance(kind, type) and (issubclass(kind, (list, dict)) or (is_dataclass(kind) and type(inner) is tuple)))


def _made_of(kind, inner, each):
    """A container, or an object, of the specs of its parts."""
    if kind is MADE:
        make, parts = inner
        return make(*each(parts))
    if kind is NODE:
        registered, context, children = inner
        context, = each((context,))
        return REGISTERED[registered].unflatten(each(children), context)
    if isinstance(kind, type) and issubclass(kind, list):
        return kind(each(inner))
    if kind is BOUNDED:
        return deque(each(inner[1]), inner[0])
    if kind is WITH_ATTRIBUTES:
        attributes, named = inner
        found = each([s for _, s in (*attributes, *named)])
        made = OrderedDict(zip([k for k, _ in named], found[len(attributes):]))
        vars(made).update(zip([k for k, _ in attributes], found))
        return made
    of, named = (kind, inner) if isinstance(kind, type) else inner
    values = dict(zip([name for name, _ in named], each([s for _, s in named])))
    if kind is DEFAULTS:
        return defaultdict(of, values)
    if kind is OBJECT or not issubclass(kind, dict):
        return made_again(of, values)
    return values if kind is dict else kind(values)


def has_reads(spec) -> bool:
    """Whether a structure holds values that are read out of tensors."""
    return isinstance(spec, tuple) and (spec[:1] == (READ,) or any(map(has_reads, spec)))
