"""Arguments and results as a spec and leaves: nested containers taken apart into tensors and plain values, and rebuilt.

A spec is hashable and part of the key of a trace: containers by type and length, dicts by their keys in order, tensors as a
mark (composite ones as the function that makes them). Everything else counts by value, as `exact` compares it.
"""

from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from copy import copy
from dataclasses import is_dataclass
from enum import Enum
from functools import cache, cached_property
from types import FunctionType, MemberDescriptorType

import numpy as np

from ...ir.symbols.substitute import has_symbols
from ...ir.symbols.symbolic import SymFloat, SymInt, is_python_class
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.optim.optimizer import State
from ...runtime.pytree.node_types import REGISTERED
from ..bytecode.user_code import dict_of, entries_of, has_dict, is_a
from ..errors.errors import UnrepeatableError
from ..proxies.lazy_scalars import LazyScalar, forced
from ..proxies.new_objects import BUFFERS, NewObjects, attributes_in, set_attributes, value_base
from ..proxies.numpy_scalars import KINDS, SymScalar, fixed, with_kind
from ..proxies.set_layout import SetContent, content_of_set, give_content, knows_layouts, layout_of, set_of
from .array_views import bounds, copy_of, memory_of, view_over, window_of
from .exact_values import PLAIN_OF, ByContent, ByIdentity, exact

TENSOR, NUMBER, READ, OBJECT, NODE, MADE, DEFAULTS = "tensor", "number", "read", "object", "node", "made", "defaults"
WITH_ATTRIBUTES = "with attributes"     # an OrderedDict that has some, as state dicts do
BOUNDED = "bounded"     # a deque
DERIVED = "derived"     # a list, dict, deque or tuple of a user class
SCALAR = "scalar"                   # one of numpy's, as (its kind, a number)
AGAIN, GIVEN = "again", "given"     # a container of the same structure, or of the arguments, by its number
VIEW = "view"           # an array over the memory of another one, as (that one, its `Window`)
ELEMENTS = "elements"   # a set or frozenset of objects that are made again
VALUE = "value"         # a number, text or buffer of a user class, with attributes of its own
SAME = "same"                       # a value of the same structure that `_is_shared`, by its number among these
_COPIED = (set, np.ndarray, *BUFFERS)
_CHANGEABLE = (SetContent, np.ndarray, *BUFFERS)       # classes of values of which replays give copies


_STANDARD = frozenset((list, dict, deque, tuple, OrderedDict, defaultdict, Counter, State))


def _array_of(t):
    return t.__dict__["_lies_over"] if "_lies_over" in t.__dict__ else t.numpy()


_READS: dict = {float: Tensor.item, int: Tensor.item, list: Tensor.tolist, tuple: lambda t: tuple(t.tolist()),
                np.ndarray: _array_of}


class ArrayArgument:
    """Array argument with the tensor over its memory, or list or tuple of ints with a tensor of them; its `sizes_are_read` by
    Python."""

    __slots__ = ("sizes_are_read", "tensor")

    def __init__(self, array, sizes_are_read=False):
        self.tensor, self.sizes_are_read = wrap(np.asarray(array)), sizes_are_read
        self.tensor._storage.lend()
        self.tensor.__dict__["_lies_over"] = array

    @property
    def array(self) -> np.ndarray | list | tuple:
        return self.tensor.__dict__["_lies_over"]


class ContainerTable:
    """Containers and objects that structures hold: each is taken apart once, and rebuilt as one object. `containers` keeps
    their order.

    known    {id of a container from before: the spec that stands for it}
    were     {id of a container: its earlier content, which is taken apart instead; of a dataclass object its earlier fields}
    held     containers and objects from before that were met, and stand for themselves
    objects  decision which objects among arguments are taken apart (`ObjectArguments`), or None
    """

    __slots__ = ("_shared", "_specs", "_whole_specs", "containers", "has_proxy_keys", "held", "objects", "were", "wholes")

    def __init__(self, known=(), were=(), objects=None):
        self.objects = objects
        self.containers: list = []
        self.wholes: list = []          # sets, arrays and objects of dataclasses that are not taken apart, in their order
        self._whole_specs: dict = {}    # {id of one of these: the spec of its other places}
        self._shared = 0                # how many of them have a spec with `_is_shared`
        self.held: list = []
        self.has_proxy_keys = False     # whether proxies for numbers are keys of a dictionary
        self._specs, self.were = dict(known), dict(were)

    def before(self, x):
        """Return the spec of a container that was met, else None. A container that contains itself is refused."""
        spec = self._specs.get(id(x))
        if spec == ():
            raise UnrepeatableError(f"or takes a {type(x).__name__} that contains itself", "pass or return its parts")
        if type(spec) is ByIdentity:
            self.held.append(x)
        return spec

    def enter(self, x, may_recur: bool) -> int:
        """Start to take a container apart; return its number. If it `may_recur`, it can be among its own parts."""
        self.containers.append(x)       # (kept, so that its id is its own)
        number = len(self.containers) - 1
        self._specs[id(x)] = (AGAIN, number) if may_recur else ()
        return number

    def leave(self, number: int):
        self._specs[id(self.containers[number])] = (AGAIN, number)

    def whole(self, x):
        """Return the spec of a value that is not taken apart."""
        found = self._whole_specs.get(id(x))
        if found is None:
            found = self._whole_specs[id(x)] = _as_a_whole(x)
            self.wholes.append(x)
            if _is_shared(found):
                self._whole_specs[id(x)] = (SAME, self._shared)
                self._shared += 1
        return found


def fields_of(x) -> tuple:
    """Return the names of a dataclass object's fields, as far as it has them, and other attributes, or of a named tuple's
    fields."""
    kind = type(x)
    fields = getattr(kind, "__dataclass_fields__", None)
    if fields is None:
        return getattr(kind, "_fields", ())
    own = dict_of(x) if has_dict(x) else fields
    if own.keys() == fields.keys():
        return tuple(fields)
    slots = [name for name in fields if type(getattr(kind, name, None)) is MemberDescriptorType]
    return tuple([name for name in {**fields, **own} if name in own or name in slots])


def fields_besides_caches(x, before: tuple) -> tuple:
    """Return the field names of an object whose fields were `before`, without those of cached properties that were filled."""
    return tuple([name for name in fields_of(x) if name in before or type(getattr(type(x), name, None)) is not cached_property])


def is_structure(x) -> bool:
    """Return whether an object of a dataclass is taken apart: it is compared by its fields, or holds tensors. One whose class
    has a `__getattribute__` of its own is not: that would run to read the fields."""
    kind = type(x)
    if not hasattr(kind, "__dataclass_fields__") or type(kind.__getattribute__) is FunctionType or not hasattr(x, "__dict__"):
        return False
    held = [getattr(x, name, None) for name in fields_of(x)]
    return type(x).__hash__ is None or any(isinstance(v, (Tensor, tuple, list, dict)) or is_structure(v) for v in held)


def is_derived(x) -> bool:
    """Return whether a value is a list, dict, deque or tuple of a user class, which may have attributes of its own."""
    kind = type(x)
    if kind in _STANDARD or not issubclass(kind, (list, dict, deque, tuple)) or not is_python_class(kind):
        return False
    return not issubclass(kind, tuple) or bool(dict_of(x))


def flatten(x, leaves: list, numbers: list | None = None, made: NewObjects | None = None, read=None,
            met: ContainerTable | None = None):
    """Return the spec of a structure, and append its tensors to `leaves`.

    numbers      list that takes ints and floats, of which only the types stay in the spec
    made         decision which objects in results are taken apart (`NewObjects`); None for arguments
    read         function that returns (type, tensor) of a value that was read out of a tensor, or None
    met          `ContainerTable`, with which a container in several places is one object
    """
    kind = type(x)
    if kind is Tensor or (issubclass(kind, Tensor) and kind not in PARTS):
        leaves.append(x)
        return TENSOR
    if kind is ArrayArgument:
        leaves.append(x.tensor)
        return (READ, type(x.array))
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
        return (float, x.hex()) if x == x else ByContent(x, exact(x))
    return _flatten_other(x, Flattener(leaves, numbers, made, read, met))


def _flatten_other(x, take: "Flattener"):
    """Return the spec of a container or object."""
    kind, met = type(x), take.met
    made = take.how[1]
    if kind not in _STANDARD and (is_derived(x) or (made is not None and is_a(x, set) and is_python_class(kind))):
        return take.once(x)
    if issubclass(kind, tuple):
        return (kind, take.each(tuple.__iter__(x)))
    if kind is slice:
        return (kind, take.each((x.start, x.stop, x.step)))
    if issubclass(kind, (list, dict)) or kind in PARTS or kind in REGISTERED or (made is None and is_structure(x)):
        return take.once(x)
    if made is None and met is not None and met.objects is not None and kind in met.objects.names:
        return take.once(x, met.objects.attributes(x))
    if kind is deque and made is not None:        # (among arguments it is what it is)
        return take.once(x)
    if made is not None:
        known = None if met is None else met.before(x)
        if known is None and kind in (set, frozenset) and not made.existed(x) and _is_made_again(x, made):
            return take.once(x)
        own = made.attributes(x) if known is None and kind is not np.ndarray else None
        if known is not None or own is not None:
            return known or take.once(x, own)
    if kind in _COPIED and made is not None and made.is_from_outside(x):
        if met is not None:
            met.held.append(x)
        return ByIdentity(x)
    if kind is np.ndarray and made is not None and met is not None:
        return take.array(x)
    if met is not None and (kind is set or kind is deque or kind in BUFFERS or (kind is np.ndarray and not x.dtype.hasobject)
                            or hasattr(kind, "__dataclass_fields__")):
        return met.whole(x)
    return _as_a_whole(x)


def flatten_call(args: tuple, kwargs: dict, leaves: list, numbers: list, objects) -> tuple:
    """Return (the spec of a call's arguments, the containers among them, what is not taken apart), as `flatten` does.
    Most calls pass tensors alone, which all have one spec."""
    if not kwargs and all([type(x) is Tensor for x in args]):       # noqa: C419  (quicker than a generator)
        leaves += args
        return _spec_of_tensors(len(args)), [kwargs], []
    met = ContainerTable(objects=objects)
    spec = flatten((args, kwargs), leaves, numbers, met=met)
    return spec, met.containers, met.wholes


@cache
def _spec_of_tensors(count: int) -> tuple:
    return (tuple, ((tuple, (TENSOR,) * count), (dict, ())))


class Flattener:
    """Arguments of `flatten`, for the parts of a container."""

    __slots__ = ("how", "leaves", "met")

    def __init__(self, leaves, numbers, made, read, met):
        self.leaves, self.how, self.met = leaves, (numbers, made, read, met), met

    def each(self, items) -> tuple:
        leaves, how = self.leaves, self.how
        return tuple([flatten(v, leaves, *how) for v in items])

    def named(self, items) -> tuple:
        leaves, how = self.leaves, self.how
        return tuple([(k if type(k) is str else _key(self._plain_key(k)), flatten(v, leaves, *how)) for k, v in items])

    def _plain_key(self, key):
        plain = fixed(forced(key))
        if plain is not key and self.met is not None:
            self.met.has_proxy_keys = True
        return plain

    def items(self, content) -> tuple:
        """Return the specs of the items of a dictionary by key."""
        made = self.how[1]
        for k in dict.keys(content) if made is not None else ():
            made.check_key(fixed(forced(k)))
        return self.named(entries_of(content))

    def array(self, x):
        """Return the spec of an array that the function has made: a view of memory that is there, or of its own."""
        if x.dtype == object and memory_of(x) is None:
            return self.once(x)
        memory = memory_of(x)
        if memory is None:
            return self.how[3].whole(x)
        if isinstance(memory, np.ndarray) and not self.how[1].existed(memory):
            memory = self._known_over(memory, x)
        return (VIEW, (flatten(memory, self.leaves, *self.how), window_of(x, memory)))

    def _known_over(self, memory, x):
        """Return an array from before that lies in some memory around another array, or else that memory."""
        low, high = bounds(x)
        for a in self.how[1].arrays():
            if a is not x and memory_of(a) is memory and bounds(a)[0] <= low and high <= bounds(a)[1]:
                return a
        return memory

    def once(self, x, own=None):
        """Return the spec of a container, or of an object with its `own` attributes, unless it was met before."""
        met = self.met
        if met is None:
            return self._parts_of(x, x, own)
        spec = met.before(x)
        if spec is None and own is None and self.how[1] is not None and self.how[1].existed(x):
            met.held.append(x)
            return ByIdentity(x)
        if spec is None:
            number = met.enter(x, own is not None)
            spec = self._parts_of(x, met.were.get(id(x), x), own)
            met.leave(number)
        return spec

    def _parts_of(self, x, content, own):
        kind = type(x)
        if own is not None:
            base = value_base(kind)
            if base is not None:
                return (VALUE, (kind, _content_of_value(base, x), self.named(own.items())))
            return (OBJECT, (kind, self.named(own.items())))
        if kind is set or kind is frozenset:
            return (ELEMENTS, (kind, self.each(x)))
        if kind is np.ndarray:
            return (VIEW, (None, (x.shape, x.flags.f_contiguous and not x.flags.c_contiguous, self.each(x.flat))))
        if kind in PARTS:
            parts, make = PARTS[kind](x)
            return (MADE, (make, self.each(parts)))
        if kind not in _STANDARD and (is_derived(x) or issubclass(kind, set)):
            attributes = self.named(dict_of(x).items())
            content = (_set_spec(x) if issubclass(kind, set) else self.items(x) if issubclass(kind, dict)
                       else self.each(_base_of(kind).__iter__(x)))
            more = (deque.maxlen.__get__(x) if issubclass(kind, deque) else  # type: ignore[attr-defined]
                    vars(defaultdict)["default_factory"].__get__(x) if issubclass(kind, defaultdict) else None)
            return (DERIVED, (kind, more, attributes, content))
        if kind is defaultdict:
            return (DEFAULTS, (x.default_factory, self.items(content)))
        if kind is OrderedDict and vars(x) and self.how[1] is not None:
            return (WITH_ATTRIBUTES, (self.named(vars(x).items()), self.items(content)))
        if isinstance(x, dict):
            return (kind, self.items(content))
        if isinstance(x, list):
            return (kind, self.each(content))
        if kind is deque:
            return (BOUNDED, (x.maxlen, self.each(content)))
        if kind in REGISTERED:
            children, context = REGISTERED[kind].flatten(x)
            return (NODE, (kind, *self.each((context,)), self.each(children)))
        return (kind, self.named([(name, getattr(x, name)) for name in (fields_of(x) if content is x else content)]))


def _key(k):
    """Return a key of a dictionary for a spec; symbols stay, so that they are found."""
    return k if type(k) in (int, bytes, type(None)) or has_symbols(k) else ByContent(k, exact(k))


def _plain_key(k):
    return k.value if type(k) is ByContent else k


def _as_a_whole(x):
    kind = type(x)
    if kind is np.ndarray and not x.dtype.hasobject:
        return ByContent(copy_of(x), (x.shape, x.dtype.str, x.strides, x.flags.writeable, x.tobytes()))
    if kind in BUFFERS:
        return ByContent(copy(x), (kind, getattr(x, "typecode", ""), bytes(x)))
    content = exact(x)
    if kind is set:
        return _set_spec(x)
    if content[1] is x:
        return content
    return content[1] if type(content[1]) is ByIdentity else ByContent(x, content)


def _set_spec(x):
    """Return the spec of a set, which may be of a user class."""
    if not knows_layouts():
        raise UnrepeatableError("or takes a set, whose order this Python does not tell", "pass or return a list or tuple")
    elements, layout = content = content_of_set(x)
    return ByContent(content, (set, tuple(map(exact, elements)), layout))


def _is_made_again(x, made: NewObjects) -> bool:
    """Return whether a set that the function has made is made again of its elements: one of new objects, whose order is
    arbitrary, or a frozenset of objects that keeps its order then."""
    if any(map(made.leads_to_new, x)):
        return True
    return type(x) is frozenset and not all(map(_is_value, x)) and layout_of(frozenset(list(x))) == layout_of(x)


def _is_value(x) -> bool:
    return is_a(x, (str, bytes, int, float, complex, type(None), Enum)) or (
        type(x) in (tuple, frozenset) and all(map(_is_value, x)))


def _is_shared(spec) -> bool:
    """Return whether a spec compares an object by value whose identity counts as well: one in two places is not two equal
    ones."""
    return type(spec) is ByContent and (type(spec.value) in _CHANGEABLE or hasattr(type(spec.value), "__dataclass_fields__"))


class _Built(list):
    """Containers that were rebuilt, and values with `_is_shared`, by their numbers, as `ContainerTable` counts them.
    `originals` are those from which objects take the attributes that their spec does not tell."""

    def __init__(self, originals=()):
        super().__init__()
        self.shared: list = []
        self.originals = originals

    def value_of(self, spec: ByIdentity):
        """Return the value of a spec, a copy where replays must not share it."""
        if not _is_shared(spec):
            return spec.value
        value = spec.value
        if type(value) is SetContent:
            value = set_of(value)
        elif type(value) in _CHANGEABLE:
            value = copy_of(value) if type(value) is np.ndarray else copy(value)
        self.shared.append(value)
        return value


def unflatten_arguments(spec, leaves, numbers, originals):
    """Return arguments with other numbers; `originals` are their containers, as `ContainerTable` counts them."""
    return unflatten(spec, leaves, numbers, built=_Built(originals))


def unflatten(spec, leaves, numbers=None, containers=(), built=None):
    """Return the structure of a spec over iterators of leaves and numbers; `containers` are those of the arguments."""
    if spec is TENSOR or spec == TENSOR:
        return next(leaves)
    built = _Built() if built is None else built
    if isinstance(spec, ByIdentity):
        return built.value_of(spec)
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
        return containers[inner]
    if kind is AGAIN:
        return built[inner]
    if kind is SAME:
        return built.shared[inner]

    return _unflatten_parts(kind, inner, lambda specs: [unflatten(s, leaves, numbers, containers, built) for s in specs], built)


def _unflatten_parts(kind, inner, each, built):
    """Return the container or object of a spec (kind, inner); `each` returns the values of the specs in it."""
    if isinstance(kind, type) and issubclass(kind, tuple):
        items = each(inner)
        return tuple.__new__(kind, items) if is_python_class(kind) else kind(items)
    if kind is slice:
        return slice(*each(inner))
    if kind is VIEW and inner[0] is not None:
        memory, window = inner
        return view_over(each((memory,))[0], window)
    if _is_whole(kind, inner):
        return inner
    number = len(built)
    built.append(None)
    if kind is OBJECT or kind is VALUE:         # it may be among its own attributes
        made, *content, attributes = inner
        built[number] = found = _new_value(made, *content) if content else made.__new__(made)
        if built.originals:
            set_attributes(found, attributes_in(built.originals[number]))
        set_attributes(found, dict(zip([name for name, _ in attributes], each([s for _, s in attributes]))))
    else:
        built[number] = _built(kind, inner, each)
    return built[number]


def _is_whole(kind, inner) -> bool:
    """Return whether a spec is that of an object that is not taken apart."""
    if kind in (OBJECT, VALUE, VIEW, ELEMENTS, MADE, NODE, DEFAULTS, WITH_ATTRIBUTES, BOUNDED, DERIVED):
        return False
    return not (isinstance(kind, type) and (issubclass(kind, (list, dict)) or (is_dataclass(kind) and type(inner) is tuple)))


def _built(kind, inner, each):
    if kind is MADE:
        make, parts = inner
        return make(*each(parts))
    if kind is ELEMENTS:
        return inner[0](each(inner[1]))
    if kind is VIEW:        # of objects
        _, (shape, is_by_columns, items) = inner
        made = np.empty(shape, object, order="F" if is_by_columns else "C")
        for i, item in enumerate(each(items)):
            made.flat[i] = item
        return made
    if kind is NODE:
        registered, context, children = inner
        context, = each((context,))
        return REGISTERED[registered].unflatten(each(children), context)
    if isinstance(kind, type) and issubclass(kind, list):
        return kind(each(inner))
    if kind is DERIVED:
        return _derived(inner, each)
    if kind is BOUNDED:
        return deque(each(inner[1]), inner[0])
    if kind is WITH_ATTRIBUTES:
        attributes, named = inner
        found = each([s for _, s in (*attributes, *named)])
        made = OrderedDict(zip([_plain_key(k) for k, _ in named], found[len(attributes):]))
        vars(made).update(zip([k for k, _ in attributes], found))
        return made
    of, named = (kind, inner) if isinstance(kind, type) else inner
    values = dict(zip([_plain_key(name) for name, _ in named], each([s for _, s in named])))
    if kind is DEFAULTS:
        return defaultdict(of, values)
    if not issubclass(kind, dict):
        made = kind.__new__(kind)
        set_attributes(made, values)
        return made
    return values if kind is dict else kind(values)


def _base_of(kind):
    """Return the class of Python from which a class of containers is derived."""
    return next(base for base in (OrderedDict, defaultdict, dict, list, deque, tuple, set) if issubclass(kind, base))


def _derived(inner, each):
    """Return a container of a user class: its constructor may take other arguments, and does not run."""
    kind, more, attributes, content = inner
    base, values = _base_of(kind), each([s for _, s in attributes])
    items = () if base is set else each([s for _, s in content] if issubclass(base, dict) else content)
    made = tuple.__new__(kind, items) if base is tuple else base.__new__(kind)
    if base is defaultdict:
        defaultdict.__init__(made, more)
    elif base is set:
        give_content(made, *content.value)
    if issubclass(base, dict):
        for (key, _), item in zip(content, items):
            base.__setitem__(made, _plain_key(key), item)
    elif base is list:
        list.extend(made, items)
    elif base is deque:
        deque.__init__(made, items, more)
    getattr(made, "__dict__", {}).update(zip([name for name, _ in attributes], values))
    return made


def _content_of_value(base, x) -> ByContent:
    """Return the content of a number, text or buffer of a user class, without its attributes."""
    content = (x.typecode, x.tobytes()) if base is array else (bytes(x),) if base is bytearray else (PLAIN_OF[base](x),)
    return ByContent(content, exact(content))


def _new_value(kind, content: ByContent):
    """Return an object of such a class with some content; its constructor may take other arguments, and does not run."""
    base, parts = value_base(kind), content.value
    if base is not bytearray:
        return base.__new__(kind, *parts)
    made = bytearray.__new__(kind)
    bytearray.__init__(made, *parts)
    return made


def held_by(spec) -> set:
    """Return the ids of the objects that a spec holds as they are."""
    if isinstance(spec, ByIdentity):
        return set() if isinstance(spec, ByContent) else {id(spec.value)}
    if not isinstance(spec, tuple):
        return set()
    if len(spec) == 2 and isinstance(spec[0], type) and not isinstance(spec[1], tuple):
        return {id(spec[1])}
    return {at for part in spec for at in held_by(part)}


def has_reads(spec) -> bool:
    """Return whether a structure holds values that are read out of tensors."""
    return isinstance(spec, tuple) and (spec[:1] == (READ,) or any(map(has_reads, spec)))
