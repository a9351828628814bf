"""Registry for rules of PyTorch's older exporter (`ingot.onnx.symbolic_helper`, `symbolic_opset11` and others).

Packages register their operators' rules here. They are stored and never called: `to_onnx` writes what a function computes, and
refuses by name an operator that it cannot write.
"""

from collections.abc import Callable
from enum import IntEnum

from ..errors.errors import ExportError

__all__ = ["TensorProtoDataType", "parse_args", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]

_rules: dict[tuple[str, int], Callable] = {}


TensorProtoDataType = IntEnum("TensorProtoDataType", """
    UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128 BFLOAT16
""", start=0)
"""ONNX's numbers of dtypes."""


def parse_args(*descriptors: str) -> Callable:
    """Return a decorator of such rules, which leaves them as they are. `descriptors` are ignored: rules get Python values."""
    return lambda rule: rule


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable, opset_version: int) -> None:
    """Keep a rule for an operator "namespace::name"."""
    _rules[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Drop a rule."""
    _rules.pop((symbolic_name, opset_version), None)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def refused(*args, **kwargs):
        raise ExportError(f"{name} belongs to rules of PyTorch's older exporter, which ingot's does not ask; export with "
                          "to_onnx (from ingot import jit)")

    return refused
