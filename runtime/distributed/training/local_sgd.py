"""`ingot.distributed.algorithms.model_averaging`: periodic averages of parameters instead of gradients at every step.

It has the hook for DistributedDataParallel that belongs to it.
"""

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...optim.optimizer import Optimizer
from ..collectives.collectives import all_reduce
from ..groups.futures import Future
from ..groups.world import member_of, new_subgroups, the_group
from .comm_hooks import allreduce_hook, noop_hook

__all__ = ["ModelAverager", "PeriodicModelAverager", "PostLocalSGDOptimizer", "PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """Gradient groups of local SGD: all processes before step `start_localSGD_iter`, the subgroup from then on."""

    def __init__(self, process_group, subgroup, start_localSGD_iter, post_local_gradient_allreduce=True):
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter, self.post_local_gradient_allreduce = start_localSGD_iter, post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket):
        """Count a step, at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state, bucket) -> Future:
    """Return the average over the processes that share gradients in this step."""
    local = state.iter >= state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if not local:
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups(the_group(state.process_group).size())
    return allreduce_hook(state.subgroup, bucket)


class ModelAverager:
    """Base of averagers of parameters over processes."""

    def __init__(self, process_group=None):
        self.process_group = process_group
        self.step = 0

    def average_parameters(self, params):
        """Average parameters if this step is due; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define average_parameters()")


class PeriodicModelAverager(ModelAverager):
    """Averager at every `period`-th step from step `warmup_steps` on."""

    def __init__(self, period, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if period < 1 or warmup_steps < 0:
            raise ArgumentError(f"period must be at least 1 and warmup_steps at least 0, got {period} and {warmup_steps}")
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params):
        """Count a step, and average parameters (or those of an optimizer with gradients) if it is due."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            _average(list(_parameters(params)), member_of(self.process_group, "average_parameters"))
        self.step += 1


def _parameters(params):
    for entry in params:
        if isinstance(entry, dict):
            yield from (p for p in entry["params"] if p.grad is not None)
        else:
            yield entry


def _average(params, group):
    """Average tensors over a group, those of one dtype and device together."""
    if group is None:
        return
    kinds: dict = {}
    for p in params:
        kinds.setdefault((p.dtype, p.device), []).append(p)
    with no_grad():
        for same in kinds.values():
            flat = FUNCTIONS["cat"]([p.detach().reshape(-1) for p in same])
            all_reduce(flat, group=group)
            flat.div_(group.size())
            for p, piece in zip(same, flat.split([p.numel() for p in same])):
                p.copy_(piece.view(p.shape))


class PostLocalSGDOptimizer(Optimizer):
    """Optimizer whose steps are followed by an averager's."""

    def __init__(self, optim, averager):
        self.optim, self.averager = optim, averager
        self.param_groups, self.state, self.defaults = optim.param_groups, optim.state, optim.defaults

    def step(self, closure=None):
        """Step the optimizer, and average parameters."""
        loss = self.optim.step(closure)
        self.averager.average_parameters(params=self.optim.param_groups)
        return loss

    def zero_grad(self, set_to_none=True):
        """Drop the gradients."""
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group):
        """Add parameters with options of their own."""
        self.optim.add_param_group(param_group)

    def state_dict(self):
        """Return the optimizer's state, with the averager's count of steps as "step"."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict):
        """Load a state of state_dict(); without "step" the averager starts anew."""
        self.optim.load_state_dict(state_dict)
        self.averager.step = state_dict.get("step", 0)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state

    def __repr__(self):
        return repr(self.optim)
