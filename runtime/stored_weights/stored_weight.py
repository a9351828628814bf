"""The class of stored weights: one tensor of bytes, and the facts that say which numbers they are.

Functions without a handler (`stored_functions.py`) raise: there is no array that a function could take by mistake.
"""

from typing import Any

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, AutogradError, DTypeError, ShapeError, kind_of
from ...ir.ops.quantized.stored_weights import check_rows, unpack_weight
from ...ir.package_name import found_in, in_full
from ...ir.reference.weight_formats import LARGEST_ROW, format_named
from ..api.tensor_classes import subclasses
from ..api.tensor_classes.value_members import ValueMembers
from ..core.composite_tensors import PARTS
from ..core.tensor import Size, Tensor, wrap

_new = object.__new__
HANDLERS: dict = {}         # name of a function or method -> handler
_INSTEAD = "give it t.dequantize(), or t.rows for the bytes"
DTYPES = (dt.float32, dt.float16, dt.bfloat16)


class StoredWeight(ValueMembers, Tensor):  # type: ignore[misc]    # members that differ
    """Floats stored in the blocks of a weight format.

    rows     the bytes, uint8[..., bytes of a row]; shared with the argument
    format   a name such as `Q4_K` or `int4_group128` (`ir/reference/weight_formats.py`)
    numbers  length of a row: the last size of this tensor
    dtype    dtype of the numbers to others: float32, float16 or bfloat16
    """

    format: str
    numbers: int
    _dtype: dt.DType

    def __new__(cls, rows, format, numbers, dtype=dt.float32):
        if not isinstance(rows, Tensor) or type(rows) in PARTS:
            raise DTypeError(f"a stored weight is made of a tensor of bytes, got {kind_of(rows)}")
        if dtype not in DTYPES:
            raise DTypeError(f"a stored weight has the dtype float32, float16 or bfloat16, got {dtype!r}")
        check_rows(rows.aval, format, numbers, "StoredWeight")
        return stored(rows.detach(), format, numbers, dtype)

    def _refuse(self):
        raise DTypeError(f"this function does not take weights stored as {self.format}; {_INSTEAD}")

    _a = _node = _shared = property(_refuse)        # functions without dispatch find no array

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = func.__name__
        handler = HANDLERS.get(name) or HANDLERS.get(getattr(func, "_asks_for", func).__name__)      # or an alias
        if handler is None:
            raise DTypeError(f"{name} does not take stored weights; {_INSTEAD}")
        return handler(func, *args, **(kwargs or {}))

    # Properties.

    shape = property(lambda self: Size((*self._values.shape[:-1], self.numbers)))
    ndim = property(lambda self: self._values.ndim)
    dtype = property(lambda self: self._dtype)
    rows = property(lambda self: self._values)
    nbytes = property(lambda self: self._values.nbytes)
    is_cpu = property(lambda self: self._values.is_cpu)
    is_cuda = property(lambda self: self._values.is_cuda)
    is_meta = property(lambda self: self._values.is_meta)
    layout = property(lambda self: self._values.layout)
    requires_grad = property(lambda self: False, lambda self, value: self.requires_grad_(value))

    def numel(self) -> int:
        """Return the number of stored numbers."""
        return self.shape.numel()

    def requires_grad_(self, requires_grad=True):
        """Raise for True: bytes have no gradient."""
        if requires_grad:
            raise AutogradError("a stored weight has no gradient; wrap it as Parameter(weight, requires_grad=False), and train "
                                "weight.dequantize()")
        return self

    def dequantize(self) -> Tensor:
        """Return the numbers as a plain tensor of this tensor's dtype."""
        floats = unpack_weight(self._values, format=self.format, numbers=self.numbers)
        return floats if self._dtype is dt.float32 else floats.to(self._dtype)

    def _take(self, other):
        """Take over the bytes of another stored weight, for `t.data = other`."""
        if not isinstance(other, StoredWeight):
            raise DTypeError(f"the data of a stored weight are one, got {kind_of(other)}")
        self._values, self.format, self.numbers, self._dtype = other._values, other.format, other.numbers, other._dtype

    # Parts.

    def parts(self) -> tuple:
        """Return the parts, and the function that rebuilds the tensor."""
        return (self._values,), Rebuild(self.format, self.numbers, self._dtype)

    def values_of(self, gradient) -> Any:
        """Raise: no gradient reaches the bytes."""
        return self.requires_grad_(gradient is not None)

    def like(self, values: Tensor) -> "StoredWeight":
        return stored(values, self.format, self.numbers, self._dtype)

    # Conversions to Python.

    def __len__(self) -> int:
        if not self.ndim:
            raise DTypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def numpy(self, *, force=False):
        """Raise: NumPy has no such elements. `force` is ignored."""
        raise DTypeError(f"a weight stored as {self.format} cannot become a numpy array; call dequantize().numpy()")

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __repr__(self):
        device = "" if self.is_cpu else f", device='{self.device}'"
        dtype = "" if self._dtype is dt.float32 else f", dtype={in_full(self._dtype.name)}"
        return f"StoredWeight(size={tuple(self.shape)}, format={self.format!r}, nbytes={self.nbytes}{dtype}{device})"

    def __str__(self):
        return repr(self)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = self.like(self._values.clone())
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return stored_again, (self._values, self.format, self.numbers, self._dtype)


class Rebuild:
    """Function that makes a stored weight of its rows. Two with the same facts are equal, as guards of traces need."""

    def __init__(self, *facts):
        self.facts = facts

    def __call__(self, rows):
        return stored(rows, *self.facts)

    def __eq__(self, other):
        return isinstance(other, Rebuild) and self.facts == other.facts

    def __hash__(self):
        return hash(self.facts)


_dispatches: list = []        # whether the class dispatches already


def stored(rows: Tensor, format: str, numbers: int, dtype) -> StoredWeight:
    """Return a stored weight of fitting parts."""
    if not _dispatches:
        subclasses.ask_class(StoredWeight)
        _dispatches.append(True)
    t = _new(StoredWeight)
    t._values, t.format, t.numbers, t._dtype = rows, format, numbers, dtype
    return t


def store(weight: Tensor, format: str) -> StoredWeight:
    """Return a float tensor in a weight format: each number is rounded to the nearest of its group."""
    if not isinstance(weight, Tensor) or type(weight) in PARTS or weight.dtype not in (*DTYPES, dt.float64):
        raise DTypeError(f"store takes a plain tensor of floats, got {kind_of(weight)}")
    if not weight.ndim:
        raise ShapeError("store takes a tensor with rows, got one number")
    rows = wrap(format_named(format).pack(weight.detach().cpu().to(dt.float32).numpy())).to(weight.device)
    return stored(rows, format, weight.shape[-1], weight.dtype if weight.dtype in DTYPES else dt.float32)


def stored_again(rows, format, numbers, dtype) -> StoredWeight:
    """Return a stored weight from a file or pickle, checked."""
    if type(numbers) is not int or not 0 <= numbers <= LARGEST_ROW:
        raise ArgumentError(f"a stored weight of rows of {numbers!r} numbers")
    return StoredWeight(rows, format, numbers, dtype)


PARTS[StoredWeight] = StoredWeight.parts
found_in(StoredWeight, "ao.quantization")
