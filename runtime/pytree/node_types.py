"""What is a node of a tree and what a leaf (`pytree.py`), how nodes of each class are taken apart and put together, and the
keys that lead to their children."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ...ir.errors import ArgumentError


class Kind(NamedTuple):
    """How objects of one class are taken apart: flatten(object) -> (children, context), unflatten(children, context) -> object,
    and keys(object), one for each child."""

    flatten: Callable
    unflatten: Callable
    keys: Callable | None = None

    def flatten_with_keys(self, x) -> tuple:
        """(pairs of key and child, context)"""
        children, context = self.flatten(x)
        return list(zip(self.keys(x), children)), context   # type: ignore[misc]

    @property
    def flatten_with_keys_fn(self) -> Callable | None:
        """`flatten_with_keys`, as libraries that walk trees themselves know it; None where keys are not known."""
        return None if self.keys is None else self.flatten_with_keys

    @property
    def flatten_fn(self) -> Callable:
        """`flatten`, as libraries that walk trees themselves know it."""
        return self.flatten

    @property
    def unflatten_fn(self) -> Callable:
        """`unflatten`, as they know it."""
        return self.unflatten


@dataclass(frozen=True)
class SequenceKey:
    """The place of a child in a sequence."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, parent):
        """The child of a parent."""
        return parent[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The place of a child in a dict."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, parent):
        """The child of a parent."""
        return parent[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The place of a child that is an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, parent):
        """The child of a parent."""
        return getattr(parent, self.name)


def numbered(x) -> list:
    """The keys of a sequence's children."""
    return [SequenceKey(i) for i in range(len(x))]


def _keyed(x):
    return [MappingKey(k) for k in x]


def _dict_flatten(d):
    """(values, keys): this and the two below are asked for by libraries that register dictionaries of their own."""
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


REGISTERED: dict[type, Kind] = {}     # those that the user entered
NAMED = Kind(lambda x: (list(x), type(x)), lambda xs, kind: kind(*xs), lambda x: [GetAttrKey(n) for n in x._fields])
NODES[namedtuple] = NAMED      # type: ignore[index]  # stands for all of them


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                         from_dumpable_context=None, flatten_with_keys_fn=None):
    """Makes objects of a class nodes: flatten_fn(object) -> (children, context), unflatten_fn(children, context) -> object."""
    if cls in NODES:
        raise ArgumentError(f"{cls.__name__} is registered as a node already")
    keys = None
    if flatten_with_keys_fn is not None:
        def keys(x):
            return [k for k, _ in flatten_with_keys_fn(x)[0]]
    REGISTERED[cls] = NODES[cls] = Kind(flatten_fn, unflatten_fn, keys)


def deregister_pytree_node(cls):
    """Objects of a class that was registered are leaves again."""
    del REGISTERED[cls], NODES[cls]


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes objects of a dataclass nodes, whose children are its fields."""
    dropped = frozenset(drop_field_names or ())
    names = [f.name for f in fields(cls) if f.init and f.name not in dropped] if field_names is None else list(field_names)
    register_pytree_node(cls, lambda x: ([getattr(x, n) for n in names], None),
                         lambda children, _: cls(**dict(zip(names, children))),
                         flatten_with_keys_fn=lambda x: ([(GetAttrKey(n), getattr(x, n)) for n in names], None))


def register_constant(cls):
    """Makes objects of a class nodes without children: part of the structure, compared by ==."""
    register_pytree_node(cls, lambda x: ([], x), lambda children, constant: constant, flatten_with_keys_fn=lambda x: ([], x))


def is_namedtuple_class(cls) -> bool:
    """Whether a class was made by `namedtuple` or `NamedTuple`, or is derived from one."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple_instance(x) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(x))


def is_namedtuple(x) -> bool:
    """Whether something is a named tuple or a class of such."""
    return is_namedtuple_class(x) or is_namedtuple_instance(x)


def kind_of(x) -> Kind | None:
    """How an object is taken apart; None for a leaf."""
    found = NODES.get(type(x))
    return NAMED if found is None and is_namedtuple_instance(x) else found
