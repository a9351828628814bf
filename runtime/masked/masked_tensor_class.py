"""Masked tensors: values, and a mask of the same shape that selects some of them.

Functions without a handler (`masked_functions.py`) raise: there is no array that a function could take by mistake.
"""

from typing import Any

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError, ShapeError, kind_of
from ..api.tensor_classes import subclasses
from ..api.tensor_classes.value_members import ValueMembers
from ..core.composite_tensors import PARTS
from ..core.tensor import Tensor
from ..state.messages import warn

_new = object.__new__
HANDLERS: dict = {}         # name of a function or method -> handler


class MaskedTensor(ValueMembers, Tensor):  # type: ignore[misc]    # members that differ
    """Values of which a mask selects some (True). The others influence neither results nor gradients."""

    _mask: Tensor

    def __new__(cls, data, mask, requires_grad=False):
        """Return a leaf with copies of both."""
        check(data, mask)
        if data.requires_grad:
            warn("a masked tensor is a leaf of copies: gradients do not reach the data that it is made of; see "
                 "as_masked_tensor()")
        return masked(data.detach().clone().requires_grad_(bool(requires_grad)), mask.clone())

    def _refuse(self):
        raise DTypeError("this function does not take masked tensors; give it t.to_tensor(value), or t.get_data() and "
                         "t.get_mask()")

    _a = _node = _shared = property(_refuse)        # functions without dispatch find no array

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = func.__name__
        handler = HANDLERS.get(name) or HANDLERS.get(getattr(func, "_asks_for", func).__name__)      # or an alias
        if handler is None:
            raise DTypeError(f"{name} does not take masked tensors; give it t.to_tensor(value), or t.get_data() and "
                             "t.get_mask()")
        return handler(func, *args, **(kwargs or {}))

    # Properties.

    shape = property(lambda self: self._values.shape)
    ndim = property(lambda self: self._values.ndim)
    layout = property(lambda self: self._values.layout)

    def _take(self, other):
        """Take over the values and mask of another masked tensor, for `t.data = other`."""
        if not isinstance(other, MaskedTensor):
            raise DTypeError(f"the data of a masked tensor are one, got {kind_of(other)}")
        self._values.data, self._mask = other._values, other._mask

    T = property(lambda self: self._transposed("T"))
    mT = property(lambda self: self._transposed("mT"))

    def _transposed(self, name):
        return masked(getattr(self._values, name), getattr(self._mask, name))

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Accumulate gradients in the leaves of the values."""
        if isinstance(gradient, MaskedTensor):
            gradient = gradient.to_tensor(0)
        self._values.backward(gradient, retain_graph, create_graph, inputs)

    # Parts.

    def get_data(self) -> Tensor:
        """Return the values; those not selected are arbitrary."""
        return self._values

    def get_mask(self) -> Tensor:
        """Return the mask."""
        return self._mask

    def to_tensor(self, value) -> Tensor:
        """Return a plain tensor, with a number in place of values that are not selected."""
        return self._values.where(self._mask, value)

    def to_dense(self) -> "MaskedTensor":
        """Return this tensor, whose values are dense."""
        return self

    def parts(self) -> tuple:
        """Return the parts, and the function that rebuilds the tensor."""
        return (self._mask, self._values), _with_mask

    def values_of(self, gradient) -> Any:
        return gradient._values if isinstance(gradient, MaskedTensor) else gradient

    def like(self, values: Tensor) -> "MaskedTensor":
        return masked(values, self._mask)

    # Single numbers.

    def item(self):
        """Return the number of a tensor with one element, which must be selected."""
        if not bool(self._mask):
            raise ArgumentError("item(): the element of this masked tensor does not count; to_tensor(value) puts a number "
                                "there")
        return self._values.item()

    def __bool__(self):
        return bool(self.item())

    def __int__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self):
        return iter([masked(*pair) for pair in zip(self._values, self._mask)])

    def __getitem__(self, key):
        return masked(self._values[key], self._mask[key])

    def __repr__(self):
        if not self.ndim:
            return f"MaskedTensor({_element_texts(self)[0]}, {bool(self._mask)})"
        return "MaskedTensor(\n" + _listed(_element_texts(self), self.shape, 2) + "\n)"

    __str__ = __repr__

    def __deepcopy__(self, memo):
        return masked(self._values.detach().clone().requires_grad_(self.requires_grad), self._mask.clone())

    def __reduce_ex__(self, protocol):
        return made_again, (self._values, self._mask)


def _element_texts(t) -> list[str]:
    values, mask = t._values.detach().flatten().tolist(), t._mask.flatten().tolist()
    width = ".4f" if t.dtype.is_floating_point else ""
    shown = [f"{v:{width}}" if width else str(v) for v in values]
    longest = max([8, *[len(s) for s, there in zip(shown, mask) if there]]) if t.dtype.is_floating_point else 8
    if not t.ndim:
        longest = 0
    return [(s if there else "--").rjust(longest) if width or not there else s for s, there in zip(shown, mask)]


def _listed(elements, shape, indent) -> str:
    space = " " * indent
    if len(shape) == 1:
        return f"{space}[{', '.join(elements)}]"
    step = len(elements) // shape[0] if shape[0] else 0
    rows = [_listed(elements[i * step:(i + 1) * step], shape[1:], indent + 2) for i in range(shape[0])]
    return f"{space}[\n" + ",\n".join(rows) + f"\n{space}]"


def check(data, mask):
    """Raise unless values and mask fit."""
    for name, x in (("data", data), ("mask", mask)):
        if not isinstance(x, Tensor) or isinstance(x, MaskedTensor):
            raise DTypeError(f"a masked tensor is made of two plain tensors, got {kind_of(x)} as {name}")
        if type(x) in PARTS:
            raise DTypeError(f"a masked tensor is made of dense tensors, got one of the layout {x.layout} as {name}")
    if mask.dtype is not dt.bool_:
        raise DTypeError(f"the mask of a masked tensor is of dtype bool, got {mask.dtype.name}")
    if tuple(data.shape) != tuple(mask.shape):
        raise ShapeError(f"data and mask of a masked tensor have one shape, got {list(data.shape)} and {list(mask.shape)}")
    if data.device != mask.device:
        raise ArgumentError(f"data and mask of a masked tensor are on one device, got {data.device} and {mask.device}")


_dispatches: list = []        # whether the class dispatches already


def masked(values: Tensor, mask: Tensor) -> MaskedTensor:
    """Return a masked tensor of fitting parts."""
    if not _dispatches:
        subclasses.ask_class(MaskedTensor)
        _dispatches.append(True)
    t = _new(MaskedTensor)
    t._values, t._mask = values, mask
    return t


def _with_mask(mask, values):
    return masked(values, mask)


def made_again(values, mask) -> MaskedTensor:
    """Return a masked tensor from a file or pickle, checked."""
    check(values, mask)
    return masked(values, mask)


PARTS[MaskedTensor] = MaskedTensor.parts
