"""Trees of Python containers: flatten, unflatten and map, as `torch.utils._pytree` does.

Nodes are lists, tuples, named tuples, dicts, OrderedDicts, defaultdicts, deques, and classes that `register_pytree_node` was
given (`node_types.py`). Everything else, None too, is a leaf. `jit/guards/arg_pytree.py` uses the registered classes, so their
objects can be arguments and results of traced functions.
"""

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

from ...ir.errors import ArgumentError
from .node_types import (
    NAMED,
    NODES,
    GetAttrKey,
    Kind,
    MappingKey,
    SequenceKey,
    deregister_pytree_node,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    kind_of,
    numbered,
    register_constant,
    register_dataclass,
    register_pytree_node,
)
from .treespec import LeafSpec, TreeSpec
from .treespec_text import treespec_dumps, treespec_loads

__all__ = ["GetAttrKey", "LeafSpec", "MappingKey", "PyTreeSpec", "SequenceKey", "TreeSpec", "arg_tree_leaves",
           "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "key_get", "keystr", "register_constant",
           "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only",
           "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path",
           "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten",
           "treespec_dumps", "treespec_loads"]


# Names by which libraries that register containers of their own know nodes.

SUPPORTED_NODES = NODES
BUILTIN_TYPES, STANDARD_DICT_TYPES = frozenset(NODES), frozenset((dict, OrderedDict, defaultdict))
NodeDef, PyTree, Context = Kind, Any, Any
KeyEntry, KeyPath = Any, tuple
for _kind, _alias in ((tuple, "tuple"), (list, "list"), (dict, "dict"), (OrderedDict, "ordereddict"), (OrderedDict, "odict"),
                        (defaultdict, "defaultdict"), (deque, "deque"), (namedtuple, "namedtuple")):
    # Libraries that register containers of their own take what is done for these by name: `_list_flatten`, `_dict_unflatten`.
    _entry = NODES[_kind]       # type: ignore[index]
    globals().update({f"_{_alias}_flatten": _entry.flatten, f"_{_alias}_unflatten": _entry.unflatten,
                      f"_{_alias}_flatten_with_keys": _entry.flatten_with_keys})
_private_register_pytree_node, _deregister_pytree_node = register_pytree_node, deregister_pytree_node


def _register_pytree_node(cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, **options):
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _get_node_type(tree):
    """Return the key in SUPPORTED_NODES of a node."""
    return namedtuple if kind_of(tree) is NAMED else type(tree)


def is_structseq_class(cls) -> bool:
    """Return whether a class is a named tuple of C, such as `time.struct_time`; ingot's functions return Python's."""
    return isinstance(cls, type) and cls.__bases__ == (tuple,) and isinstance(getattr(cls, "n_sequence_fields", None), int)


def is_structseq_instance(obj) -> bool:
    """Return whether an object is a named tuple of C."""
    return is_structseq_class(type(obj))


PyTreeSpec = TreeSpec


def tree_is_leaf(tree, is_leaf=None) -> bool:
    """Return whether something is a leaf."""
    return (is_leaf is not None and bool(is_leaf(tree))) or kind_of(tree) is None


def _flatten(tree, leaves, is_leaf):
    kind = None if is_leaf is not None and is_leaf(tree) else kind_of(tree)
    if kind is None:
        leaves.append(tree)
        return LeafSpec()
    children, context = kind.flatten(tree)
    return TreeSpec(type(tree), context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_flatten(tree, is_leaf=None) -> tuple[list, TreeSpec]:
    """Return (the leaves in order, the structure)."""
    leaves: list = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec) -> Any:
    """Return the tree of a structure and its leaves."""
    if not isinstance(treespec, TreeSpec):
        raise ArgumentError(f"tree_unflatten takes leaves and a TreeSpec, got {type(treespec).__name__}")
    return treespec.unflatten(leaves)


def tree_leaves(tree, is_leaf=None) -> list:
    """Return the leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


def arg_tree_leaves(*args, **kwargs) -> list:
    """Return the leaves of a call's arguments."""
    return tree_leaves((args, kwargs))


def tree_iter(tree, is_leaf=None):
    """Iterate over the leaves in order."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree, is_leaf=None) -> TreeSpec:
    """Return the structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None) -> Any:
    """Return a tree of the results of func on each leaf, and on what `rests` have in its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(r) for r in rests]))


def tree_map_(func, tree, *rests, is_leaf=None) -> Any:
    """Call func on each leaf; return the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for each in zip(leaves, *[spec.flatten_up_to(r) for r in rests]):
        func(*each)
    return tree


def _only(types, func):
    chosen = types if isinstance(types, (type, tuple)) or not callable(types) else None
    return lambda x: func(x) if (isinstance(x, chosen) if chosen is not None else types(x)) else x


def tree_map_only(type_or_types, func, tree, is_leaf=None) -> Any:
    """Map leaves of one or several types (or those that a function selects); others stay as they are."""
    return tree_map(_only(type_or_types, func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types, func, tree, is_leaf=None) -> Any:
    """Call func on leaves of one or several types; return the tree itself."""
    return tree_map_(_only(type_or_types, func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None) -> bool:
    """Return whether pred holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None) -> bool:
    """Return whether pred holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, pred, tree, is_leaf=None) -> bool:
    """Return whether pred holds for every leaf of some types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, pred, tree, is_leaf=None) -> bool:
    """Return whether pred holds for some leaf of some types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _with_paths(tree, path, is_leaf):
    kind = None if is_leaf is not None and is_leaf(tree) else kind_of(tree)
    if kind is None:
        yield path, tree
        return
    children = list(kind.flatten(tree)[0])
    keys = kind.keys(tree) if kind.keys is not None else numbered(children)
    for key, child in zip(keys, children):
        yield from _with_paths(child, (*path, key), is_leaf)


def tree_leaves_with_path(tree, is_leaf=None) -> list:
    """Return (path, leaf) of every leaf."""
    return list(_with_paths(tree, (), is_leaf))


def tree_flatten_with_path(tree, is_leaf=None) -> tuple[list, TreeSpec]:
    """Return ((path, leaf) of every leaf, the structure)."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None) -> Any:
    """Map a function of the path and the leaf."""
    spec = tree_structure(tree, is_leaf)
    pairs = tree_leaves_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten(func(path, x, *more) for (path, x), *more in zip(pairs, *others))


def key_get(obj, path) -> Any:
    """Return the object at a path of keys."""
    for key in path:
        obj = key.get(obj)
    return obj


def keystr(path) -> str:
    """Return a path in Python's spelling."""
    return "".join(map(str, path))


def broadcast_prefix(prefix, tree, is_leaf=None) -> list:
    """Return one value for each leaf of a tree, from a tree with the same beginning: each value for all leaves below its place.
    """
    kind = kind_of(tree)
    if kind_of(prefix) is None or (is_leaf is not None and is_leaf(prefix)):
        return [prefix] * len(tree_leaves(tree))
    if kind is None or len(prefix) != len(kind.flatten(tree)[0]) or isinstance(prefix, dict) != isinstance(tree, dict):
        raise ArgumentError(f"{prefix!r} does not fit a tree like {tree_structure(tree)!r}")
    if isinstance(prefix, dict) and set(prefix) != set(tree):
        raise ArgumentError(f"the keys {list(prefix)} are not those of the tree, {list(tree)}")
    parts = [prefix[k] for k in tree] if isinstance(prefix, dict) else prefix
    return [v for p, c in zip(parts, kind.flatten(tree)[0]) for v in broadcast_prefix(p, c, is_leaf)]


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None) -> list | None:
    """Return one leaf for each leaf of a structure, from a tree with the same beginning; None if it has another one."""
    try:
        return broadcast_prefix(tree, treespec.unflatten([0] * treespec.num_leaves), is_leaf)
    except ArgumentError:
        return None


def map_only(type_or_types_or_pred, /) -> Callable:
    """Return a decorator for functions of objects of some types, or those that a function selects; others stay as they are."""
    def mark(func):
        return _only(type_or_types_or_pred, func)

    return mark


def treespec_leaf() -> TreeSpec:
    """Return the structure of a leaf."""
    return LeafSpec()


def treespec_tuple(iterable=(), /) -> TreeSpec:
    """Return the structure of a tuple of trees."""
    return TreeSpec(tuple, None, iterable)


def treespec_dict(mapping=(), /, **kwargs) -> TreeSpec:
    """Return the structure of a dict of trees."""
    found = dict(mapping, **kwargs)
    return TreeSpec(dict, list(found), found.values())


def treespec_pprint(treespec) -> str:
    """Return the text of a tree with a star for each leaf."""
    return repr(treespec.unflatten([_STAR] * treespec.num_leaves))


class _Star:
    """The text of a leaf."""

    def __repr__(self):
        return "*"


_STAR = _Star()
_is_leaf, _is_namedtuple_instance = tree_is_leaf, is_namedtuple_instance
