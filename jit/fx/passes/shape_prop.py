"""`fx.passes.shape_prop`: an interpreter that records shapes and dtypes of results."""

from typing import Any, NamedTuple

from ....runtime.core.tensor import Size, Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """Shape, dtype and layout of a tensor."""

    shape: Size
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any = None
    is_quantized: bool = False
    qparams: dict[str, Any] = {}


def _described(t: Tensor) -> TensorMetadata:
    return TensorMetadata(t.shape, t.dtype, t.requires_grad, t.stride())


class ShapeProp(Interpreter):
    """An interpreter that stores the `TensorMetadata` of each result, or containers of them, in `node.meta["tensor_meta"]`."""

    def run_node(self, n: Node) -> Any:
        """Run a node and describe its result."""
        result = super().run_node(n)
        found = []

        def note(x):
            if isinstance(x, Tensor):
                found.append(x)
                return _described(x)
            return x

        described = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = described
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args) -> Any:
        """Run the graph on arguments."""
        return self.run(*args)
