"""`ingot.sparse`: functions of sparse matrices, and types of sparse tensors by their old names."""

from ..ir import dtype as dt
from .api.creation import empty
from .api.legacy import LEGACY_DTYPES
from .api.sparse import SparseTensor, addmm, mm, sparse_coo_tensor, sum
from .api.sparse_softmax import log_softmax, softmax
from .tensor import Size, Tensor

__all__ = ["BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
           "ShortTensor", "SparseTensor", "addmm", "log_softmax", "mm", "softmax", "sum"]


class SparseType(type):
    """The type of the old names: `sparse.FloatTensor(indices, values, size)`, or `sparse.FloatTensor(2, 3)` without entries;
    a sparse tensor of its dtype is an instance of it."""

    tensor_dtype: dt.DType

    def __call__(cls, *data):
        if data and isinstance(data[0], Tensor):
            return sparse_coo_tensor(*data)         # values keep their dtype, as in PyTorch
        size = data[0] if len(data) == 1 and isinstance(data[0], Size) else data or (0,)
        places, values = empty((len(size), 0), dtype=dt.int64), empty((0,), dtype=cls.tensor_dtype)
        return SparseTensor(places, values, size)

    def __instancecheck__(cls, x):
        return isinstance(x, SparseTensor) and x.dtype is cls.tensor_dtype


def _legacy(name) -> SparseType:
    dtype = LEGACY_DTYPES[name]
    return SparseType(name, (), {"tensor_dtype": dtype, "__doc__": f"Sparse tensors of {dtype.name}, by their old name.",
                                 "__module__": "ingot.sparse"})


FloatTensor, DoubleTensor, HalfTensor = _legacy("FloatTensor"), _legacy("DoubleTensor"), _legacy("HalfTensor")
BFloat16Tensor, ByteTensor, CharTensor = _legacy("BFloat16Tensor"), _legacy("ByteTensor"), _legacy("CharTensor")
ShortTensor, IntTensor, LongTensor = _legacy("ShortTensor"), _legacy("IntTensor"), _legacy("LongTensor")
