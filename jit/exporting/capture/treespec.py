"""Structure of arguments and results as JSON: nested containers with numbered tensors.

A structure is {"tensor": 0}, {"list": [...]}, {"tuple": [...]}, {"dict": [[key, ...], ...]}, {"record": name, "fields": [...],
"items": [...]} for named tuples and dataclasses, {"float": "0x1p-1"} or {"value": ...} for other values.

A tensor is named after its path in the containers, `cache_0_key` for ``cache[0]["key"]``: an identifier, as C and ONNX need.
"""

import re
from collections import namedtuple
from dataclasses import fields, is_dataclass
from functools import lru_cache

import numpy as np

from ....ir.errors import DTypeError, FileError
from ....runtime.core.tensor import Tensor, wrap

_DEEPEST = 100


def is_tensor(x) -> bool:
    """Return whether a value counts as a tensor: a Tensor or a NumPy array."""
    return isinstance(x, (Tensor, np.ndarray, np.generic))


def describe(x, tensors: list, names: list, name: str = "") -> dict:
    """Return the structure of `x`; append its tensors to `tensors` and a name for each, from its path, to `names`."""
    if is_tensor(x):
        tensors.append(x)
        names.append(name or f"t{len(names)}")
        return {"tensor": len(tensors) - 1}
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return _record(type(x).__name__, x._fields, tuple(x), tensors, names, name)
    if isinstance(x, (list, tuple)):
        items = [describe(v, tensors, names, _within(name, i)) for i, v in enumerate(x)]
        return {"list" if isinstance(x, list) else "tuple": items}
    if isinstance(x, dict):
        if not all(isinstance(k, (str, int)) and not isinstance(k, bool) for k in x):
            raise DTypeError(f"keys of dicts in arguments and results of an exported model are strings or ints, got {list(x)}")
        return {"dict": [[k, describe(v, tensors, names, _within(name, k))] for k, v in x.items()]}
    if is_dataclass(x) and not isinstance(x, type):
        keys = [f.name for f in fields(x)]
        return _record(type(x).__name__, keys, [getattr(x, k) for k in keys], tensors, names, name)
    if type(x) is float:
        return {"float": x.hex()}
    if x is None or type(x) in (bool, int, str):
        return {"value": x}
    raise DTypeError(f"arguments and results of an exported model are tensors, numbers, strings, None and lists, tuples, dicts "
                     f"and records of them; {name or 'it'} is a {type(x).__name__}")


def _record(kind, keys, values, tensors, names, name):
    return {"record": kind, "fields": list(keys),
            "items": [describe(v, tensors, names, _within(name, k)) for k, v in zip(keys, values)]}


def _within(name, key):
    key = re.sub(r"\W", "_", str(key))
    return f"{name}_{key}" if name else key


def rebuild(structure: dict, tensors, depth: int = 0):
    """Rebuild the containers of a structure with the given tensors."""
    if "tensor" in structure:
        return tensors[structure["tensor"]]
    if "value" in structure:
        return structure["value"]
    if "float" in structure:
        return float.fromhex(structure["float"])
    if depth > _DEEPEST:
        raise FileError("the structure of results is nested too deeply")
    if "list" in structure:
        return [rebuild(s, tensors, depth + 1) for s in structure["list"]]
    if "tuple" in structure:
        return tuple([rebuild(s, tensors, depth + 1) for s in structure["tuple"]])
    if "dict" in structure:
        return {k: rebuild(s, tensors, depth + 1) for k, s in structure["dict"]}
    items = [rebuild(s, tensors, depth + 1) for s in structure["items"]]
    return _record_type(structure["record"], tuple(structure["fields"]))(*items)


@lru_cache(256)
def _record_type(name, keys):
    return namedtuple(name if name.isidentifier() else "Record", keys, rename=True)


def check(structure, tensors: int) -> None:
    """Raise unless a structure from a file is valid and its numbers are below `tensors`."""
    _check(structure, tensors, 0)


def _check(s, tensors, depth):
    if type(s) is not dict or depth > _DEEPEST:
        raise FileError("the structure of arguments or results is damaged")
    kind = next(iter(s), None)
    if kind == "tensor" and type(s[kind]) is int and 0 <= s[kind] < tensors:
        return
    if kind == "value" and (s[kind] is None or type(s[kind]) in (bool, int, str)):
        return
    if kind == "float" and type(s[kind]) is str:
        float.fromhex(s[kind])
        return
    if kind in ("list", "tuple") and type(s[kind]) is list:
        inner = s[kind]
    elif kind == "dict" and all(type(pair) is list and len(pair) == 2 and type(pair[0]) in (str, int) for pair in s[kind]):
        inner = [pair[1] for pair in s[kind]]
    elif (kind == "record" and type(s[kind]) is str and all(type(f) is str for f in s["fields"])
          and len(s["fields"]) == len(s["items"])):
        inner = s["items"]
    else:
        raise FileError("the structure of arguments or results is damaged")
    for part in inner:
        _check(part, tensors, depth + 1)


def as_tensor(x) -> Tensor:
    """Return a tensor over the memory of an array; a tensor unchanged."""
    return x if isinstance(x, Tensor) else wrap(np.asarray(x))
