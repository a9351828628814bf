"""Structures of trees, without the leaves."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ...ir.errors import ArgumentError
from .node_types import NAMED, NODES, kind_of


class TreeSpec:
    """The structure of a tree."""

    __slots__ = ("_children", "_context", "_leaves", "_type")

    def __init__(self, type, context, children):
        self._type, self._context, self._children = type, context, list(children)
        self._leaves = sum(c._leaves for c in self._children)

    type = property(lambda self: self._type)
    context = property(lambda self: self._context)
    num_leaves = property(lambda self: self._leaves)
    num_children = property(lambda self: len(self._children))
    num_nodes = property(lambda self: 1 + sum(c.num_nodes for c in self._children))

    def children(self) -> list:
        return list(self._children)

    def child(self, index) -> "TreeSpec":
        return self._children[index]

    def is_leaf(self) -> bool:
        """Return whether this is the structure of a leaf."""
        return self._type is None

    def unflatten(self, leaves: Iterable) -> Any:
        """Return the tree with these leaves."""
        leaves = list(leaves)
        if len(leaves) != self._leaves:
            raise ArgumentError(f"a tree of {self._leaves} leaves cannot be made of {len(leaves)}: {self!r}")
        return self._filled(iter(leaves))

    def _filled(self, leaves):
        return self._node([c._filled(leaves) for c in self._children])

    def _node(self, children):
        kind = NODES.get(self._type, NAMED)
        return kind.unflatten(children, self._context)

    def flatten_up_to(self, tree) -> list:
        """Return the subtrees of a tree at the places of this structure's leaves."""
        found: list = []
        self._match(tree, found)
        return found

    def _match(self, tree, leaves):
        kind = kind_of(tree)
        if kind is None or type(tree) is not self._type:
            raise ArgumentError(f"expected a {self._type.__name__} in this place of the tree, got {type(tree).__name__}")
        children, context = kind.flatten(tree)
        children = list(children)
        if isinstance(tree, dict) and list(tree) != list(self._keys()) and set(tree) == set(self._keys()):
            children = [tree[k] for k in self._keys()]
        elif context != self._context:
            raise ArgumentError(f"nodes of a tree differ: {context!r} instead of {self._context!r}")
        if len(children) != len(self._children):
            raise ArgumentError(f"a {self._type.__name__} of the tree has {len(children)} items, not {len(self._children)}")
        for child, spec in zip(children, self._children):
            spec._match(child, leaves)

    def _keys(self):
        return self._context[1] if self._type is defaultdict else self._context

    def __eq__(self, other):
        return isinstance(other, TreeSpec) and (self._type, self._context, self._children) == (
            other._type, other._context, other._children)

    def __hash__(self):
        return hash((self._type, repr(self._context), tuple(self._children)))

    def __repr__(self):
        return f"TreeSpec({self._type.__name__}, {self._context}, {self._children})"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, ())
        self._leaves = 1

    def _filled(self, leaves):
        return next(leaves)

    def _match(self, tree, leaves):
        leaves.append(tree)

    def __repr__(self):
        return "*"
