"""Registry for rules of PyTorch's older exporter (`ingot.onnx.symbolic_helper`, `symbolic_opset11` and others).

Packages register their operators' rules here. They are stored and never called: `to_onnx` writes what a function computes, and
refuses by name an operator that it cannot write.
"""

from collections.abc import Callable
from enum import IntEnum

from ..errors.errors import ExportError

__all__ = ["TensorProtoDataType", "parse_args", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]

_kept: dict[tuple[str, int], Callable] = {}


class TensorProtoDataType(IntEnum):
    """ONNX's numbers of dtypes."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16


def parse_args(*descriptors: str) -> Callable:
    """Return a decorator of such rules, which leaves them as they are."""
    return lambda rule: rule


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable, opset_version: int) -> None:
    """Keep a rule for an operator "namespace::name"."""
    _kept[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Drop a rule."""
    _kept.pop((symbolic_name, opset_version), None)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def refused(*args, **kwargs):
        raise ExportError(f"{name} belongs to rules of PyTorch's older exporter, which ingot's does not ask; export with "
                          "to_onnx (from ingot import jit)")

    return refused
