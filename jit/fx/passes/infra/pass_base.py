"""`fx.passes.infra.pass_base`: the base class of passes, and their result."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module after a pass, and whether it changed."""

    graph_module: GraphModule
    modified: bool


class PassBase(ABC):
    """A pass: `call` does the work; `requires` and `ensures` raise for modules that are wrong before or after it."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Run the pass."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  (most require nothing)
        """Raise if the pass cannot process a module."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise if the pass left a wrong module."""
