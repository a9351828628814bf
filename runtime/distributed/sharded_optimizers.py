"""`ingot.distributed.optim`: optimizers that share their state between ranks, for which libraries look."""

from ..optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """Refused: every rank keeps the whole state of its optimizer."""

    def __init__(self, params, optimizer_class, **options):
        raise NotImplementedError("ingot does not share the state of optimizers between ranks; make the optimizer itself, "
                                  f"{optimizer_class.__name__}(params, ...), on every rank")
