"""`fx.passes.shape_prop`: runs a graph and notes at each node what its result is like."""

from typing import Any, NamedTuple

from ....runtime.core.tensor import Size, Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What a tensor is like."""

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
    """Runs a graph; `node.meta["tensor_meta"]` has the `TensorMetadata` of a result, or containers of them."""

    def run_node(self, n: Node) -> Any:
        """What the node gives, which is described."""
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
