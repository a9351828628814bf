"""`nn.modules.utils`: arguments given as one number or one per dimension, and prefixes in state dicts."""

from collections.abc import Iterable

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n, name="parse"):
    """Return a function that repeats a number n times and converts anything else to a tuple."""

    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """Return sizes, with None replaced by the last entries of `defaults`."""
    if isinstance(out_size, int) or len(out_size) >= len(defaults) + 1:
        return out_size
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size):])]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Remove a prefix such as "module." from the names of a state dict, in place."""
    for name in [n for n in state_dict if n.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)
    metadata = getattr(state_dict, "_metadata", {})
    for name in [n for n in metadata if n and (n + ".").startswith(prefix)]:    # (the wrapped module has no dot)
        metadata[name[len(prefix):]] = metadata.pop(name)
