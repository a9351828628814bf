"""`ingot.distributed.optim`: optimizers for several ranks.

ZeroRedundancyOptimizer shards its state: each rank keeps that of some parameters, updates these, and sends them to the others.
"""

from typing import Any

from ....ir.errors import ArgumentError, AutogradError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...optim.optimizer import Optimizer
from ...state.saved_states import saved_state
from ..collectives.collectives import broadcast
from ..collectives.object_collectives import gather_object
from ..groups.world import member_of
from .local_sgd import PostLocalSGDOptimizer
from .uneven_inputs import Join, Joinable, JoinHook

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]


class _EndedOptimizer(JoinHook):
    """Join hook: a rank without batches keeps updating its parameters."""

    def __init__(self, zero):
        self.zero = zero

    def main_hook(self):
        """Take part in a step."""
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Optimizer of `optimizer_class` with its state sharded over ranks by parameters. The largest come first, each to the rank
    with the least. Gradients must be equal on all ranks, as with DistributedDataParallel. `parameters_as_bucket_view` is
    ignored: parameters keep their memory."""

    optim: Any = None

    def __init__(self, params, optimizer_class, process_group=None, parameters_as_bucket_view=False, overlap_with_ddp=False,
                 **defaults):
        if overlap_with_ddp:
            raise ArgumentError("ZeroRedundancyOptimizer steps after backward: leave overlap_with_ddp=False")
        self.process_group = member_of(process_group, "ZeroRedundancyOptimizer")
        if self.process_group is None:
            raise ArgumentError("ZeroRedundancyOptimizer needs a group that this rank is in")
        self._owners: dict[int, int] = {}
        self._loads = [0] * self.process_group.size()
        self._whole: Any = None         # state of all ranks, once collected
        super().__init__(params, defaults)
        self.optim = optimizer_class([self._own_part(group) for group in self.param_groups], **defaults)
        self.state = self.optim.state
        self._take_options(self.optim.param_groups, self.param_groups)

    def add_param_group(self, param_group):
        """Add parameters with options of their own, and shard them."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for p in sorted(group["params"], key=lambda p: -p.numel()):
            owner = self._loads.index(min(self._loads))
            self._owners[id(p)] = owner
            self._loads[owner] += p.numel()
        if self.optim is not None:
            self.optim.add_param_group(self._own_part(group))
            self._take_options(self.optim.param_groups[-1:], [group])

    def _own(self, group) -> list:
        return [p for p in group["params"] if self._owners[id(p)] == self.process_group.rank()]

    def _own_part(self, group) -> dict:
        return {**{k: v for k, v in group.items() if k != "param_names"}, "params": self._own(group)}

    @staticmethod
    def _take_options(source, target):
        for theirs, mine in zip(source, target):
            mine.update((k, v) for k, v in theirs.items() if k not in ("params", "param_names"))

    # Steps.

    def step(self, closure=None, **options):
        """Update this rank's parameters, then send them to every rank."""
        Join.notify_join_context(self)
        member_of(self.process_group, "ZeroRedundancyOptimizer.step")       # refuses while a function is traced
        self._take_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**options) if closure is None else self.optim.step(closure, **options)
        self._take_options(self.optim.param_groups, self.param_groups)
        self._send()
        self._whole = None
        return loss

    def _send(self):
        """Send each rank's parameters to the others, joined by dtype and device."""
        kinds: dict = {}
        for group in self.param_groups:
            for p in group["params"]:
                kinds.setdefault((self._owners[id(p)], p.dtype, p.device), []).append(p)
        with no_grad():
            for (owner, _, _), params in kinds.items():
                flat = FUNCTIONS["cat"]([p.detach().reshape(-1) for p in params])
                broadcast(flat, group=self.process_group, group_src=owner)
                if owner != self.process_group.rank():
                    for p, piece in zip(params, flat.split([p.numel() for p in params])):
                        p.copy_(piece.view(p.shape))

    # State.

    def _numbers(self) -> dict:
        return {id(p): i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}

    def consolidate_state_dict(self, to=0):
        """Collect the state of all ranks on rank `to` of the group; every rank calls it before that one's state_dict()."""
        own, numbers = self.optim.state_dict(), self._numbers()
        mine = [numbers[id(p)] for group in self.optim.param_groups for p in group["params"]]
        parts: Any = [None] * self.process_group.size() if self.process_group.rank() == to else None
        gather_object({mine[k]: v for k, v in own["state"].items()}, parts, group=self.process_group, group_dst=to)
        self._whole = None if parts is None else {k: v for part in parts for k, v in part.items()}

    def state_dict(self):
        """Return the state of all ranks, like the optimizer's own state_dict() without sharding."""
        if self._whole is None:
            raise AutogradError("the state is sharded over ranks: call consolidate_state_dict(to=rank) on all of them "
                                "before that one's state_dict()")
        found = super().state_dict()
        return {**found, "state": dict(sorted(self._whole.items()))}

    def load_state_dict(self, state_dict):
        """Load this rank's part of a whole state."""
        numbers, rank = self._numbers(), self.process_group.rank()
        mine = {numbers[id(p)]: p for group in self.param_groups for p in self._own(group)}
        local, groups = {n: i for i, n in enumerate(mine)}, []
        state_dict = saved_state(self, state_dict, "state", "param_groups")
        for saved, group in zip(state_dict["param_groups"], self.param_groups):
            if len(saved["params"]) != len(group["params"]):
                raise ArgumentError(f"a loaded parameter group has {len(saved['params'])} parameters, the optimizer's has "
                                    f"{len(group['params'])}")
            own = [local[numbers[id(p)]] for p in group["params"] if self._owners[id(p)] == rank]
            groups.append({**{k: v for k, v in saved.items() if k != "param_names"}, "params": own})
        self.optim.load_state_dict({"state": {local[n]: s for n, s in state_dict["state"].items() if n in local},
                                    "param_groups": groups})
        self.state = self.optim.state
        self._take_options(self.optim.param_groups, self.param_groups)
        self._whole = None

    # Ranks with different numbers of batches.

    def join_hook(self, **kwargs):
        """Return the hook of this rank after its last batch. `kwargs` are ignored: they are for others that join."""
        return _EndedOptimizer(self)
