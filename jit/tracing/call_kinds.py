"""Differences between the kinds of two calls, in words: why a call needs a recording of its own.

A kind is the key of a call (`Call.key`); sizes and numbers, which may become symbolic, are compared by `Family.why`.
"""

from types import BuiltinFunctionType, FunctionType

from ..guards.arg_pytree import NUMBER, OBJECT, TENSOR
from ..guards.exact_values import ByIdentity
from ..proxies.set_layout import SetContent
from .labels import Labels, argument_names, parts_of

_LONGEST = 60       # characters of a value in a message
_MODES = ("numerics", "grad mode", "autocast", "the default dtype, device or inference mode")
_FEW = "texts, flags and the like count by value: pass few of them, or numbers and tensors instead"
_KINDS = "every such kind is a recording, so keep them few"
_GRADIENTS = {None: "a tensor that requires no grad", True: "a leaf that requires grad", False: "a tensor with a history"}
_SINGLE = (None, Ellipsis, NotImplemented)
_APART = (None, None, ())       # tensors on the host without shared memory
_HOOKED = "a leaf with hooks of its own"
_KEEP = "keep it as it is between calls, or trace a function for each case"


def why_another_kind(parameters, before, now, labels: Labels) -> str:
    """Return in words the first difference between the keys of two calls; empty if only sizes and numbers differ. `labels` are
    those of the second call."""
    (spec, numerics, kinds), sharing, *modes, tensors, _ = now
    (old_spec, old_numerics, old_kinds), old_sharing, *old_modes, old_tensors, _ = before
    names = argument_names(parameters, spec)
    for name, part in names:
        old = dict(argument_names(parameters, old_spec)).get(name)
        found = f"{name} is given, and was not before; {_KEEP}" if old is None else _difference(name, old, part)
        if found:
            return found
    if len(names) < len(argument_names(parameters, old_spec)):
        return f"an argument is not given that was before; {_KEEP}"
    if kinds != old_kinds:
        changed = [i for i, (a, b) in enumerate(zip(kinds or (), old_kinds or ())) if a != b]
        name = labels.of_location(changed[0]) if changed and len(kinds) == len(old_kinds) else "a value that the function reads"
        return f"{name} has another type; {_KEEP}"
    for name, a, b in zip(_MODES, (old_numerics, *old_modes), (numerics, *modes)):
        if a != b:
            return f"{name} is another one; {_KEEP}"
    if sharing != old_sharing:
        return f"{_difference_of_sharing(labels, len(tensors), old_sharing, sharing)}; pass copies, or always the same views"
    return _difference_of_tensors(labels, old_tensors, tensors)


def _difference(name: str, old, new) -> str:
    """Return in words the first difference between two specs of one argument, or nothing."""
    if old == new:
        return ""
    if _is_container(old) and _is_container(new) and _class_of(old) == _class_of(new):
        parts, olds = list(parts_of(*new)), list(parts_of(*old))
        if [text for _, text in parts] == [text for _, text in olds]:
            return next(filter(None, [_difference(name + text, a, b) for (a, _), (b, text) in zip(olds, parts)]), "")
        if len(parts) != len(olds):
            return f"{name} has {len(parts)} parts, and had {len(olds)}; keep their number, or put them into one tensor (pad)"
        return f"{name} has other keys or fields; keep the keys, and let only their values change"
    if _is_container(new):
        return f"{name} is of another class, {getattr(_class_of(new), '__qualname__', new[0])}; {_KEEP}"
    if _is_number_or_tensor(new) or _is_number_or_tensor(old):
        return f"{name} is {_text(new)}, and was {_text(old)}; {_KINDS}"
    if _is_one_object(new):
        value = _value(new)
        if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            kind = "class" if isinstance(value, type) else "function"
            return (f"{name} is another {kind}, {value.__qualname__}, which counts by identity; pass the same one, or few of "
                    "them")
        return (f"{name} is another object, of class {type(value).__qualname__}, which counts by identity; pass the same one, "
                "make it a dataclass, or pass the tensors and numbers in it")
    if isinstance(_value(new), (SetContent, frozenset)) and _text(new) == _text(old):
        return f"{name} is {_text(new)} after other changes, which goes on in another order; make it in the same way each time"
    return f"{name} is {_text(new)}, and was {_text(old)}; {_FEW}"


def _class_of(spec):
    return spec[1][0] if spec[0] is OBJECT else spec[0]


def _value(spec):
    found = spec if isinstance(spec, ByIdentity) else spec[1]
    return found.value if isinstance(found, ByIdentity) else found


def _is_number_or_tensor(spec) -> bool:
    """Return whether a spec stands for a tensor, or a number that counts by its type."""
    return spec == TENSOR or (type(spec) is tuple and spec[0] is NUMBER)


def _is_one_object(spec) -> bool:
    """Return whether a spec stands for an object that nothing else equals."""
    return type(spec) is ByIdentity or (type(_value(spec)).__eq__ is object.__eq__ and _value(spec) not in _SINGLE)


def _is_container(spec) -> bool:
    return type(spec) is tuple and spec != TENSOR and spec[0] is not NUMBER and bool(list(parts_of(*spec)))


def _text(spec) -> str:
    """Return an argument in words."""
    if spec == TENSOR:
        return "a tensor"
    if not isinstance(spec, ByIdentity) and spec[0] is NUMBER:
        return f"a number of type {spec[1].__name__}"
    if _is_container(spec):
        return f"a {getattr(spec[0], '__name__', spec[0])}"
    text = repr(_value(spec))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _difference_of_sharing(labels: Labels, count: int, old, new) -> str:
    """Return in words how the tensors of two calls share memory in other ways, or are on other devices."""
    (old_devices, old_rows, old_pairs), (devices, rows, pairs) = old or _APART, new or _APART
    name = labels.of_tensor
    for i in range(count):
        if (devices and devices[i]) != (old_devices and old_devices[i]):
            return f"{name(i)} is on another device"
        apart = (i, i, i, i, None, None)
        a, b = old_rows[i] if old_rows else apart, rows[i] if rows else apart
        if a[0] != b[0]:
            return (f"{name(i)} shares memory with {name(b[0])}, and did not" if b[0] != i else
                    f"{name(i)} no longer shares memory with {name(a[0])}")
        if a[2] != b[2]:
            return f"{name(i)} is {name(b[2])}, too" if b[2] != i else f"{name(i)} is no longer {name(a[2])}"
        if old_rows and rows and a != b:
            return f"{name(i)} is another view of the memory that it shares with {name(b[0])}"
    changed = sorted({*pairs} ^ {*old_pairs})
    i, j = changed[0] if changed else (0, 0)
    return f"{name(i)} and {name(j)} {'overlap in memory, and did not' if (i, j) in pairs else 'no longer overlap in memory'}"


def _difference_of_tensors(labels: Labels, old, new) -> str:
    """Return in words how the tensors of two calls differ besides their sizes."""
    for i, (a, b) in enumerate(zip(old, new)):
        for what, x, y in zip(("number of dims", "dtype", "gradient", "order in memory", "class"), (len(a[0]), *a[1:]),
                              (len(b[0]), *b[1:])):
            if x != y:
                if what == "gradient":
                    found = f"is {_GRADIENTS.get(y, _HOOKED)}, and was {_GRADIENTS.get(x, _HOOKED)}"
                else:
                    found = f"has another {what}" + f" ({y}, and was {x})" * (what in ("number of dims", "dtype"))
                return f"{labels.of_tensor(i)} {found}; {_KINDS}"
    return ""
