"""`ingot.sparse`: functions of sparse tensors, the switch of invariant checks, and types under older names."""

from typing import Any

from ...ir import dtype as dt
from ...ir.blocks import Block
from ..api.register.register import FUNCTIONS
from ..api.sparse import (
    CooTensor,
    SparseTensor,
    addmm,
    checks_claims,
    log_softmax,
    mm,
    sampled_addmm,
    softmax,
    sparse_coo_tensor,
    spdiags,
)
from ..api.tensor_classes.legacy_types import LEGACY_DTYPES
from ..api.views.tensor_factories import empty
from ..core.tensor import Size, Tensor

__all__ = ["BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
           "ShortTensor", "SparseTensor", "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm",
           "sampled_addmm", "softmax", "spdiags", "sum"]


def sum(input, dim=None, dtype=None) -> Tensor:
    """Sum all entries, or over dims; the result is sparse while sparse dimensions remain."""
    return FUNCTIONS["sum"](input, dtype=dtype) if dim is None else FUNCTIONS["sum"](input, dim, dtype=dtype)


class check_sparse_tensor_invariants(Block):
    """The switch of invariant checks in constructors that memory safety does not need: whether a COO tensor is coalesced. It is
    a context manager, a decorator, and a switch for the process (`enable`, `disable`)."""

    def __init__(self, enable=True):
        self.state = bool(enable)
        super().__init__()

    def around(self):
        return checks_claims.around(self.state)

    @staticmethod
    def is_enabled() -> bool:
        return checks_claims.get()

    @staticmethod
    def enable() -> None:
        checks_claims.set(True)

    @staticmethod
    def disable() -> None:
        """Turn the checks off."""
        checks_claims.set(False)


def as_sparse_gradcheck(gradcheck) -> Any:
    """Return a gradcheck for functions of sparse tensors, as functions of the values that require grad."""

    def of_values(func, inputs, **options):
        options.pop("masked", None)
        given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        made = [x.parts()[1] if isinstance(x, SparseTensor) else None for x in given]
        indices = [x.parts()[0][:-1] if isinstance(x, SparseTensor) else () for x in given]

        def plain(*values):
            found = func(*[v if make is None else make(*parts, v) for make, parts, v in zip(made, indices, values)])
            several = found if isinstance(found, (tuple, list)) else (found,)
            dense = tuple([x.to_dense() if isinstance(x, SparseTensor) else x for x in several])
            return dense if isinstance(found, (tuple, list)) else dense[0]

        values = [x if make is None else x.values().detach().requires_grad_(x.requires_grad) for x, make in zip(given, made)]
        return gradcheck(plain, tuple(values), **options)

    return of_values


class SparseType(type):
    """The metaclass of older types: `sparse.FloatTensor(indices, values, size)`, or `sparse.FloatTensor(2, 3)` without
    entries. Sparse tensors of its dtype are instances."""

    tensor_dtype: dt.DType

    def __call__(cls, *data):
        if data and isinstance(data[0], Tensor):
            return sparse_coo_tensor(*data)         # values keep their dtype, as in PyTorch
        size = data[0] if len(data) == 1 and isinstance(data[0], Size) else data or (0,)
        indices, values = empty((len(size), 0), dtype=dt.int64), empty((0,), dtype=cls.tensor_dtype)
        return CooTensor(indices, values, size)

    def __instancecheck__(cls, x):
        return isinstance(x, SparseTensor) and x.dtype is cls.tensor_dtype


def _legacy(name) -> SparseType:
    dtype = LEGACY_DTYPES[name]
    return SparseType(name, (), {"tensor_dtype": dtype, "__doc__": f"Sparse tensors of {dtype.name}, by their old name.",
                                 "__module__": "ingot.sparse"})


FloatTensor, DoubleTensor, HalfTensor = _legacy("FloatTensor"), _legacy("DoubleTensor"), _legacy("HalfTensor")
BFloat16Tensor, ByteTensor, CharTensor = _legacy("BFloat16Tensor"), _legacy("ByteTensor"), _legacy("CharTensor")
ShortTensor, IntTensor, LongTensor = _legacy("ShortTensor"), _legacy("IntTensor"), _legacy("LongTensor")
