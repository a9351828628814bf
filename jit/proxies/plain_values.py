"""Plain numbers in place of proxies, in all that a call leaves behind which is not recorded: an error, what it had written."""

import functools
import types
from collections import deque
from functools import partial
from typing import Any

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.user_code import attributes_of, dict_of, entries_of, is_a, is_user_defined
from .numpy_scalars import now
from .set_layout import give_content, layout_of

_WHOLE = (Module, Tensor, types.ModuleType)     # settled elsewhere


def leave_plain(values: list, known):
    """Replace proxies in a list and in all objects behind it, except for `known` ones (by id)."""
    stack, seen, copies = [values], dict(known), {}
    while stack:
        x: Any = stack.pop()
        if id(x) in seen or is_a(x, _WHOLE):
            continue
        seen[id(x)] = x
        for value, put in _parts(x):
            _, plain = copies.setdefault(id(value), (value, plain_value(value)))
            if plain is not value and put is not None:
                put(plain)
            stack.append(plain)


def plain_value(x: Any):
    """Return the number for which a proxy stands, or an immutable container with numbers in place of proxies."""
    if is_a(x, (tuple, frozenset)):
        inside = list(tuple.__iter__(x)) if is_a(x, tuple) else list(x)
        items = list(map(plain_value, inside))
        if all(a is b for a, b in zip(items, inside)):
            return x
        return x._make(items) if hasattr(x, "_make") else type(x)(items)        # type: ignore[attr-defined]
    if type(x) is slice:
        return slice(plain_value(x.start), plain_value(x.stop), plain_value(x.step))
    return now(x)


def put_plain(x, give, visited=frozenset()):
    """Return a value with what `give` makes of the numbers in it; lists and dictionaries get them in place."""
    if type(x) is tuple:
        found = tuple([put_plain(v, give, visited) for v in x])
        return found if any(a is not b for a, b in zip(x, found)) else x
    if type(x) not in (list, dict):
        return give(x)
    if id(x) not in visited:
        around = visited | {id(x)}
        for key, value in x.items() if type(x) is dict else enumerate(x):
            found = put_plain(value, give, around)
            if found is not value:
                x[key] = found
    return x


def _parts(x: Any) -> list:
    """Return (value, function that replaces it, if there is one) for all that an object holds."""
    if is_a(x, (list, deque)):
        return [(v, partial(x.__setitem__, i)) for i, v in enumerate(x)]
    if is_a(x, dict):
        return [(tuple(entries_of(x)), partial(_set_entries, x))]
    if is_a(x, set):
        return [(tuple(x), partial(_set_items, x))]
    if is_a(x, (tuple, frozenset)):
        return [(v, None) for v in x]
    if is_a(x, functools.partial):
        return [(x.__reduce__()[2], x.__setstate__)]       # type: ignore[index,attr-defined]
    if is_a(x, types.FunctionType):
        return [(cell, None) for cell in x.__closure__ or ()]
    if is_a(x, types.CellType):
        return [(x.cell_contents, partial(setattr, x, "cell_contents"))] if _is_filled(x) else []
    if is_a(x, types.MethodType):
        return [(x.__self__, None)]
    if is_a(x, type):
        return [(v, partial(type.__setattr__, x, k)) for k, v in vars(x).items() if is_user_defined(x) and k[:2] != "__"]
    table = dict_of(x)
    found: list = [(v, partial(table.__setitem__ if k in table else partial(object.__setattr__, x), k))
             for k, v in attributes_of(x).items()] if type(table) is dict else []
    if is_a(x, BaseException):
        found += [(x.args, partial(setattr, x, "args")), (x.__cause__, None), (x.__context__, None)]
    return found


def _is_filled(cell) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _set_entries(table, entries):
    dict.clear(table)
    dict.update(table, entries)


def _set_items(items, plain):
    give_content(items, plain, layout_of(items))
