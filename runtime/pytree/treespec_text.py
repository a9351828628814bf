"""Structures of trees as JSON, and back."""

import json
import sys
from collections import OrderedDict, defaultdict, deque
from typing import Any

from ...ir.errors import ArgumentError
from .node_types import is_namedtuple_class
from .treespec import LeafSpec, TreeSpec

_PROTOCOL = 1
_BY_NAME: dict[str, Any] = {k.__name__: k for k in (list, tuple, dict, OrderedDict, defaultdict, deque)}
_FACTORIES: dict[str, Any] = {k.__name__: k for k in (int, float, list, dict, set, tuple, str, bool)}



def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a structure as JSON: of lists, tuples, named tuples, dicts, OrderedDicts, defaultdicts, deques and leaves, with
    keys that JSON has. Loading it executes nothing."""
    return json.dumps([protocol or _PROTOCOL, _as_json(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """Return the structure of a text by treespec_dumps. Classes of named tuples must be imported already."""
    protocol, found = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ArgumentError(f"a structure of protocol {protocol} cannot be read, only of {_PROTOCOL}")
    return _of_json(found)


def _key_to_json(key):
    if key is None or type(key) in (str, int, float, bool):
        return key
    raise ArgumentError(f"treespec_dumps takes keys that are text, numbers, bools or None, got {key!r}")


def _as_json(spec):
    if spec.is_leaf():
        return None
    children = [_as_json(c) for c in spec.children()]
    kind, context = spec.type, spec.context
    if is_namedtuple_class(kind):
        return ["namedtuple", f"{kind.__module__}:{kind.__qualname__}", children]
    if kind.__name__ not in _BY_NAME or _BY_NAME[kind.__name__] is not kind:
        raise ArgumentError(f"treespec_dumps does not write nodes of the class {kind.__name__}")
    if kind is defaultdict:
        factory, keys = context
        name = getattr(factory, "__name__", "")
        if factory is not None and _FACTORIES.get(name) is not factory:
            raise ArgumentError(f"treespec_dumps writes a defaultdict of a builtin type, not of {factory!r}")
        context = [name or None, [_key_to_json(k) for k in keys]]
    elif issubclass(kind, dict):
        context = [_key_to_json(k) for k in context]
    return [kind.__name__, context, children]


def _of_json(node):
    if node is None:
        return LeafSpec()
    name, context, children = node
    specs = [_of_json(c) for c in children]
    if name == "namedtuple":
        kind = _imported(context)
        return TreeSpec(kind, kind, specs)
    kind = _BY_NAME[name]
    if kind is defaultdict:
        return TreeSpec(kind, [None if context[0] is None else _FACTORIES[context[0]], context[1]], specs)
    return TreeSpec(kind, context, specs)


def _imported(path: str):
    """Return the class of named tuples at a path, in a module that the program has imported."""
    module, _, name = path.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not is_namedtuple_class(found):
        raise ArgumentError(f"the structure has a named tuple {path!r}, which no module that is imported has")
    return found
