"""`fx.passes.infra.pass_base`: what a pass over a module's graph is, and what it gives."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module after a pass, and whether that has changed it."""

    graph_module: GraphModule
    modified: bool


class PassBase(ABC):
    """A pass: `call` does its work, `requires` and `ensures` raise where a module is not as it has to be before and after."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Does the work of the pass."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  (most require nothing)
        """Raise if the pass cannot take a module."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise if a module is not as the pass has to leave it."""
