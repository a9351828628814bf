"""`nn.modules.utils`: arguments that are one number or one for each dimension; names in state dicts."""

from collections.abc import Iterable

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n, name="parse"):
    """A function that repeats a number n times, and makes a tuple of anything else."""

    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """The values in reverse order, each n times."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """Sizes, with those of the last `defaults` where they are None."""
    if isinstance(out_size, int) or len(out_size) >= len(defaults) + 1:
        return out_size
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size):])]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes a prefix such as "module." off the names in a state dict, in place."""
    for name in [n for n in state_dict if n.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)
    metadata = getattr(state_dict, "_metadata", {})
    for name in [n for n in metadata if n and (n + ".").startswith(prefix)]:    # (that of the wrapped module has no dot)
        metadata[name[len(prefix):]] = metadata.pop(name)
