"""Tags of user operators for compilers. Tags are kept and change nothing: a trace calls each operator as eager code does."""

from enum import Enum

from ...ir.errors import DTypeError


class Tag(Enum):
    """A property of an operator, by PyTorch's names and numbers."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19


def as_tags(name, given) -> list[Tag]:
    """Return tags, or one of them, as a list."""
    found = [given] if isinstance(given, Tag) else () if given is None else given
    if not isinstance(found, (list, tuple, set)) or not all(isinstance(tag, Tag) for tag in found):
        raise DTypeError(f"{name} takes tags of ingot.Tag, got {given!r}")
    return list(found)
