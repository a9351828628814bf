"""Limits of dtypes, switches and files under their top-level names."""

from ...ir.dtype import DType
from .. import info
from ..serialization import load, save
from .promote import result_type as _meet
from .register import FUNCTIONS, api

for _name in info.__all__:
    FUNCTIONS[_name] = getattr(info, _name)
FUNCTIONS.update(save=save, load=load)


@api(method=False, keywords={"tensor": "tensor1", "other": "tensor2", "scalar": "tensor2"})
def result_type(tensor1, tensor2) -> DType:
    """The dtype in which two tensors or numbers meet."""
    return _meet(tensor1, tensor2)
