"""Batch norm whose batch is that of all processes together."""

from ...ir.errors import ShapeError
from ..api.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..distributed.functional import all_reduce
from ..distributed.world import is_initialized, the_group
from .norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, _BatchNorm

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """Each channel of (N, C, *) to mean 0 and variance 1 over the batches of all processes in a group; without one, over this
    process's batch."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def _check_input(self, input):
        if input.ndim < 2:
            raise ShapeError(f"SyncBatchNorm takes an input of 2 dimensions or more, got {input.aval}")

    def forward(self, input):
        """The normalised input."""
        by_batch = self.training or self.running_mean is None
        if not by_batch or not is_initialized() or the_group(self.process_group).size() == 1:
            return super().forward(input)
        self._check_input(input)
        factor = self._factor()
        dims = [0, *range(2, input.ndim)]
        shape = (1, -1, *(1,) * (input.ndim - 2))
        rows = FUNCTIONS["full"]((1,), float(input.numel() // input.shape[1]), dtype=input.dtype, device=input.device)
        total = all_reduce(FUNCTIONS["cat"]([input.sum(dims), rows]), group=self.process_group)
        count = total[-1].detach()
        mean = total[:-1] / count
        centred = input - mean.reshape(shape)
        var = all_reduce((centred * centred).sum(dims), group=self.process_group) / count
        self._keep(mean.detach(), var.detach() * (count / (count - 1)), factor)
        y = centred * (var + self.eps).rsqrt().reshape(shape)
        if self.weight is not None:
            y = y * self.weight.reshape(shape)
        return y if self.bias is None else y + self.bias.reshape(shape)

    def _keep(self, mean, var, factor):
        """Moves the running statistics."""
        if not (self.training and self.track_running_stats):
            return
        with no_grad():
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), factor)
            self.running_var.lerp_(var.to(self.running_var.dtype), factor)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with every batch norm in it replaced by one over all processes, parameters and statistics kept."""
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
            return cls._like(module, process_group)
        for name, child in module.named_children():
            setattr(module, name, cls.convert_sync_batchnorm(child, process_group))
        return module

    @classmethod
    def _like(cls, norm, process_group):
        made = cls(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats, process_group)
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(made, name, getattr(norm, name))
        return made.train(norm.training)
