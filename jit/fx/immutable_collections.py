"""Immutable lists and dictionaries for arguments of nodes, whose users are counted."""

from typing import Any, NoReturn

from ...runtime.pytree.node_types import NODES, Kind

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self, *args, **kwargs) -> NoReturn:
    raise TypeError(f"{type(self).__name__} does not take writes: arguments of a node are replaced as a whole, by "
                    f"node.args = ..., node.update_arg(i, value) or node.update_kwarg(name, value)")


def _without(base: type, writers) -> dict[str, Any]:
    return {name: _refuse for name in writers if hasattr(base, name)}


class immutable_list(list):
    """A list that refuses writes."""

    def __hash__(self):         # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self):
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dictionary that refuses writes."""

    def __hash__(self):         # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return immutable_dict, (dict(self),)


_WRITERS = ("__delitem__", "__iadd__", "__imul__", "__ior__", "__setitem__", "append", "clear", "extend", "insert", "pop",
            "popitem", "remove", "reverse", "setdefault", "sort", "update")
for _kind in (immutable_list, immutable_dict):
    for _name, _value in _without(_kind, _WRITERS).items():
        setattr(_kind, _name, _value)

for _kind, _plain in ((immutable_list, NODES[list]), (immutable_dict, NODES[dict])):
    NODES[_kind] = Kind(_plain.flatten, lambda xs, context, kind=_kind, plain=_plain: kind(plain.unflatten(xs, context)),
                        _plain.keys)
