"""Gradient scaling with sharded gradients: all ranks skip a step if any has gradients that are not finite."""

from ...amp.grad_scaler import GradScaler
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor
from ..collectives.collectives import all_reduce
from ..engines.reduce_op import ReduceOp

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """GradScaler for FullyShardedDataParallel; every rank calls it."""

    def __init__(self, device="cuda", init_scale=2.0 ** 16, backoff_factor=0.5, growth_factor=2.0, growth_interval=2000,
                 enabled=True, process_group=None):
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self.process_group = process_group

    def scale(self, outputs):
        """Multiply a loss, or losses in lists and tuples, by the scale, keeping the dtype."""
        scaled = super().scale(outputs)
        return scaled.to(outputs.dtype) if isinstance(outputs, Tensor) else scaled

    def _unscale(self, optimizer):
        found = super()._unscale(optimizer)
        count = FUNCTIONS["zeros"]((1,)) if found is None else found.float().reshape(1).cpu()
        all_reduce(count, ReduceOp.MAX, self.process_group)
        wrong = count[0] > 0
        return wrong if found is None else wrong.to(found.device)
