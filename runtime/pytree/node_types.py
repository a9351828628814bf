"""Node types of pytrees: how objects of each class are flattened and unflattened, and the keys of their children."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ...ir.errors import ArgumentError
from ...ir.registry import Registry


class Kind(NamedTuple):
    """Functions for objects of one class: flatten(object) -> (children, context), unflatten(children, context) -> object, and
    keys(object), one for each child."""

    flatten: Callable
    unflatten: Callable
    keys: Callable | None = None

    def flatten_with_keys(self, x) -> tuple:
        """Return (pairs of key and child, context)."""
        children, context = self.flatten(x)
        return list(zip(self.keys(x), children)), context   # type: ignore[misc]

    @property
    def flatten_with_keys_fn(self) -> Callable | None:
        """The name of `flatten_with_keys` in libraries that walk trees themselves; None if keys are unknown."""
        return None if self.keys is None else self.flatten_with_keys

    @property
    def flatten_fn(self) -> Callable:
        return self.flatten

    @property
    def unflatten_fn(self) -> Callable:
        return self.unflatten


@dataclass(frozen=True)
class SequenceKey:
    """Key of a child in a sequence."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, parent):
        return parent[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """Key of a child in a dict."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, parent):
        return parent[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """Key of a child that is an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, parent):
        return getattr(parent, self.name)


def numbered(x) -> list:
    """Return the keys of a sequence's children."""
    return [SequenceKey(i) for i in range(len(x))]


def _keyed(x):
    return [MappingKey(k) for k in x]


def _dict_flatten(d):
    """Return (values, keys). Libraries that register their own dictionaries use this function by name."""
    return list(d.values()), list(d)


def _dict(kind):
    return Kind(_dict_flatten, lambda values, keys: kind(zip(keys, values)), _keyed)


NODES: dict[type, Kind] = {
    tuple: Kind(lambda x: (list(x), None), lambda xs, _: tuple(xs), numbered),
    list: Kind(lambda x: (list(x), None), lambda xs, _: list(xs), numbered),
    dict: _dict(dict),
    OrderedDict: _dict(OrderedDict),
    defaultdict: Kind(lambda d: (list(d.values()), [d.default_factory, list(d)]),
                      lambda values, c: defaultdict(c[0], zip(c[1], values)), _keyed),
    deque: Kind(lambda d: (list(d), d.maxlen), deque, numbered),
}


REGISTERED: dict[type, Kind] = Registry()     # those that the user entered
NAMED = Kind(lambda x: (list(x), type(x)), lambda xs, kind: kind(*xs), lambda x: [GetAttrKey(n) for n in x._fields])
NODES[namedtuple] = NAMED      # type: ignore[index]  # stands for all of them


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                         from_dumpable_context=None, flatten_with_keys_fn=None):
    """Register a class as nodes: flatten_fn(object) -> (children, context), unflatten_fn(children, context) -> object."""
    if cls in NODES:
        raise ArgumentError(f"{cls.__name__} is registered as a node already")
    keys = None
    if flatten_with_keys_fn is not None:
        def keys(x):
            return [k for k, _ in flatten_with_keys_fn(x)[0]]
    REGISTERED[cls] = NODES[cls] = Kind(flatten_fn, unflatten_fn, keys)


def deregister_pytree_node(cls):
    """Make objects of a registered class leaves again."""
    del REGISTERED[cls], NODES[cls]


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Register a dataclass as nodes whose children are its fields. `serialized_type_name` is ignored: structures are not
    written to files."""
    dropped = frozenset(drop_field_names or ())
    names = [f.name for f in fields(cls) if f.init and f.name not in dropped] if field_names is None else list(field_names)
    register_pytree_node(cls, lambda x: ([getattr(x, n) for n in names], None),
                         lambda children, _: cls(**dict(zip(names, children))),
                         flatten_with_keys_fn=lambda x: ([(GetAttrKey(n), getattr(x, n)) for n in names], None))


def register_constant(cls):
    """Register a class as nodes without children: part of the structure, compared by ==."""
    register_pytree_node(cls, lambda x: ([], x), lambda children, constant: constant, flatten_with_keys_fn=lambda x: ([], x))


def is_namedtuple_class(cls) -> bool:
    """Return whether a class was made by `namedtuple` or `NamedTuple`, or is derived from one."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple_instance(x) -> bool:
    """Return whether an object is a named tuple."""
    return is_namedtuple_class(type(x))


def is_namedtuple(x) -> bool:
    """Return whether something is a named tuple or a class of such."""
    return is_namedtuple_class(x) or is_namedtuple_instance(x)


def kind_of(x) -> Kind | None:
    """Return the node type of an object; None for a leaf."""
    found = NODES.get(type(x))
    return NAMED if found is None and is_namedtuple_instance(x) else found
