"""Batch norm over the batches of all processes."""

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, ShapeError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...distributed.collectives.differentiable_collectives import all_reduce
from ...distributed.groups.world import is_initialized, the_group
from ..layers.norm import _BatchNorm

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """Normalisation of each channel of (N, C, *) over the batches of all processes in a group, or of this process without a
    group."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)
        self.process_group = process_group

    def _check_input(self, input):
        if input.ndim < 2:
            raise ShapeError(f"SyncBatchNorm takes an input of 2 dimensions or more, got {input.aval}")
        if input.shape[1] != self.num_features:
            raise ShapeError(f"SyncBatchNorm is for {self.num_features} channels, got {input.aval}")

    def forward(self, input):
        if not self.training or not is_initialized() or the_group(self.process_group).size() == 1:
            return super().forward(input)
        self._check_input(input)
        dims, shape = [0, *range(2, input.ndim)], (1, -1, *(1,) * (input.ndim - 2))
        x = input.float() if input.dtype in (dt.float16, dt.bfloat16) else input
        rows = FUNCTIONS["full"]((1,), float(input.numel() // input.shape[1]), dtype=x.dtype, device=x.device)
        total, count = self._sum_over_processes(FUNCTIONS["cat"]([x.sum(dims), rows])).split([self.num_features, 1])
        if count.item() < 2:
            raise ArgumentError("SyncBatchNorm: more than 1 value per channel is needed for training, over all processes")
        count = count.detach().to(x.device)
        mean = total.to(x.device) / count
        centred = x - mean.reshape(shape)
        var = self._sum_over_processes((centred * centred).sum(dims)).to(x.device) / count
        y = centred * (var + self.eps).rsqrt().reshape(shape)
        if self.weight is not None:
            y = y * self.weight.reshape(shape)
        y = (y if self.bias is None else y + self.bias.reshape(shape)).to(input.dtype)
        self._update_running(mean.detach(), var.detach() * (count / (count - 1)))       # last: where the rest fails, they stay
        return y

    def _sum_over_processes(self, sums):
        """Return the sums over all processes, in CPU memory."""
        return all_reduce(sums.cpu(), group=self.process_group)

    def _update_running(self, mean, var):
        if not self.track_running_stats:
            return
        with no_grad():
            self.num_batches_tracked.add_(1)
            factor = 1.0 / self.num_batches_tracked.double() if self.momentum is None else self.momentum
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), factor)
            self.running_var.lerp_(var.to(self.running_var.dtype), factor)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """Return the module with every batch norm replaced by one over all processes, with parameters and statistics."""
        if isinstance(module, _BatchNorm):
            return cls._like(module, process_group)
        for name, child in module.named_children():
            setattr(module, name, cls.convert_sync_batchnorm(child, process_group))
        return module

    @classmethod
    def _like(cls, norm, process_group):
        made = cls(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats, process_group,
                   bias=norm.bias is not None)
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(made, name, getattr(norm, name))
        for name, child in norm.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        if hasattr(norm, "qconfig"):
            made.qconfig = norm.qconfig
        return made.train(norm.training)
