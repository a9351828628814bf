"""FSDP unit: parameters that are gathered together, sharded over ranks.

They are joined in a flat parameter, padded and split into equal parts, one for each rank of a group. While whole values exist,
the module's attributes are leaves over them. Their gradients are reduced by `gradient_reduction.py`. Whole values are always
in new memory, so older ones keep their values.
"""

import contextlib
from typing import Any, NamedTuple

from ....ir.errors import ArgumentError, AutogradError, DTypeError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.placement import on_device_of
from ...core.tensor import Tensor, wrap
from ...nn.base.parameter import Parameter
from ...state.mode import tls
from ...state.switches import OwnSetting
from ..collectives.object_collectives import all_gather_object
from ..collectives.traceable import done_in_order
from ..groups.world import the_group
from .gathered_parameters import GatheredEntry, GatheredParameters, Slot, next_number
from .gradient_reduction import settle_gradients
from .wrap_policies import is_unit, named_modules_of_unit


class FlatParameter(Parameter):
    """This rank's part of the joined parameters of a unit."""

    __slots__ = ()


class Entry(GatheredEntry):
    """One parameter in a flat one: elements `start` to `stop`."""

    def __init__(self, name, p, start):
        super().__init__(Parameter(p.detach(), p.requires_grad))
        self.name, self.shape, self.start, self.stop = name, tuple(p.shape), start, start + p.numel()


class Groups(NamedTuple):
    """Ranks over which a unit is sharded (None: not), and further ranks over which gradients are averaged (None: none)."""

    shards: Any
    replicas: Any


def find_parameters(module, ignored) -> tuple:
    """Return (parameters, their dotted names, places) of a unit."""
    params: dict = {}
    names, slots = [], []
    for path, owner in named_modules_of_unit(module):
        for name, p in owner._parameters.items():
            if p is None or id(p) in ignored:
                continue
            if isinstance(p, FlatParameter) or getattr(p, "_fsdp_flattened", False):
                raise ArgumentError(f"the parameter {path}{name} is shared with a module that is a unit already; choose units "
                                    "so that all modules that share a parameter are in one, or put it in ignored_states")
            if id(p) not in params:
                params[id(p)] = p
                names.append(path + name)
            slots.append(Slot(owner, name, [*params].index(id(p))))
    return [*params.values()], names, slots


def _check(params, names, use_orig_params):
    kinds = {p.dtype for p in params}
    if len(kinds) > 1 or not next(iter(kinds)).is_floating_point:
        raise DTypeError(f"the parameters of a unit are of one floating point dtype, got {sorted(map(str, kinds))}: wrap "
                         "modules of another dtype by themselves, or put them in ignored_modules")
    if not use_orig_params and len({p.requires_grad for p in params}) > 1:
        frozen = [n for n, p in zip(names, params) if not p.requires_grad]
        raise ArgumentError(f"some parameters of a unit require gradients and {frozen[:5]} do not; pass use_orig_params=True, "
                            "or wrap modules that are frozen by themselves")


class Unit(GatheredParameters):
    """Parameters of one wrapped module, except those of units inside."""

    is_summoned = OwnSetting("summon_full_params()", False)

    def __init__(self, module, ignored, groups: Groups, device, use_orig_params, offload):
        params, names, slots = find_parameters(module, ignored)
        super().__init__([], slots, device, offload)
        self.groups, self.use_orig_params = groups, use_orig_params
        self.count = 1 if groups.shards is None else groups.shards.size()
        self.rank = 0 if groups.shards is None else groups.shards.rank()
        self.group = groups.shards or groups.replicas
        self.params = []
        if not params:
            self.length = 0
            return
        _check(params, names, use_orig_params)
        at = 0
        for name, p in zip(names, params):
            self.entries.append(Entry(name, p, at))
            at += p.numel()
        self.size, self.length = at, -(-at // self.count)
        self.label = f"unit {next_number(self.group)} ({names[0]} and {len(names) - 1} more)"
        self._shard(params)

    def _shard(self, params):
        """Keep this rank's part of the parameters' values, and drop the rest."""
        with no_grad():
            part = self._part_of([p.detach() for p in params])
            part = part.to("cpu") if self.offload else part
        if self.use_orig_params:
            self.params = params
            self._bind(part)
        else:
            self.params = [FlatParameter(part, requires_grad=params[0].requires_grad)]
        for p in params:
            p._fsdp_flattened = True
        self.is_shown = True
        self.hide()
        self._empty()

    def _part_of(self, values) -> Tensor:
        """Return this rank's part of joined values."""
        start, stop = self.bounds
        pieces = [v.reshape(-1)[max(start - e.start, 0):max(stop - e.start, 0)] for e, v in zip(self.entries, values)]
        missing = self.length - sum([piece.numel() for piece in pieces])
        padding = FUNCTIONS["zeros"]((missing,), dtype=values[0].dtype, device=values[0].device)
        return FUNCTIONS["cat"]([*pieces, padding])

    @property
    def leaves(self) -> list:
        """Tensors of the modules' computation."""
        return [e.leaf for e in self.entries]

    @property
    def bounds(self) -> tuple:
        """First and last element of this rank's part."""
        return self.rank * self.length, (self.rank + 1) * self.length

    def piece_of(self, entry) -> slice:
        """Return the elements of a parameter in this rank's part, if any."""
        start, stop = self.bounds
        return slice(min(max(entry.start - start, 0), self.length), max(min(entry.stop, stop) - start, 0))

    def start_of(self, entry) -> int:
        """Return the number of the first element of a parameter in this rank's part."""
        return min(max(self.bounds[0] - entry.start, 0), entry.stop - entry.start)

    # This rank's part.

    def _bind(self, part):
        """Make the original parameters views of this rank's part."""
        self._part = part
        for entry, p in zip(self.entries, self.params):
            p.data = wrap(part._a[self.piece_of(entry)])
        self.bound = [p._a for p in self.params]

    def part(self) -> Tensor:
        """Return this rank's part, after taking over values that replaced parameters."""
        if not self.use_orig_params:
            return self.params[0].detach()
        if tls.m.recorder is not None:          # (which reads and writes the parameters themselves)
            with no_grad():
                pieces = [p.detach() for p in self.params]
                pad = self.length - sum([p.numel() for p in pieces])
                return FUNCTIONS["cat"]([*pieces, pieces[0].new_zeros((pad,))])
        if any(p._a is not a for p, a in zip(self.params, self.bound)):
            with no_grad():
                for entry, p in zip(self.entries, self.params):
                    piece = self.piece_of(entry)
                    if p.numel() != max(piece.stop - piece.start, 0):
                        raise ArgumentError(f"{entry.name} was given {p.numel()} values outside of its module's forward, where "
                                            f"this rank keeps {piece.stop - piece.start} of it; use summon_full_params()")
                pieces = [p.detach() for p in self.params]
                pad = self.length - sum([p.numel() for p in pieces])
                self._bind(FUNCTIONS["cat"]([*pieces, pieces[0].new_zeros((pad,))]))
        return self._part

    def write(self, part):
        """Write this rank's part. Equal values are not written, so that gradients of an earlier forward stay computable."""
        with no_grad():
            self.part()
            values = [part[self.piece_of(e)] for e in self.entries] if self.use_orig_params else [part]
            for p, value in zip(self.params, values):
                value = value.to(device=p.device, dtype=p.dtype)
                if not FUNCTIONS["equal"](p, value):
                    p.copy_(value)

    def update_leaves(self):
        """Update leaves after parameters were converted or moved."""
        if self.entries:
            part = self.part()
            self.device = self.device if self.offload else part.device
            for e in self.entries:
                e.empty(part.dtype)

    def gradient_part(self) -> Tensor:
        """Return this rank's part of the gradients; zeros for missing ones."""
        with no_grad():
            grads = [FUNCTIONS["zeros_like"](p) if p.grad is None else p.grad for p in self.params]
            pad = self.length - sum([g.numel() for g in grads])
            return FUNCTIONS["cat"]([*[g.reshape(-1) for g in grads], grads[0].new_zeros((pad,))])

    def write_gradient(self, part, there):
        """Write this rank's part of the gradients, for parameters that have any."""
        part = part.to(self.params[0].device)
        if not self.use_orig_params:
            self.params[0].grad = part
            return
        for entry, p, wanted in zip(self.entries, self.params, there):
            p.grad = wrap(part._a[self.piece_of(entry)]) if wanted and p.numel() else None

    def group_rank(self) -> int:
        """Return this rank's position among those that gradients are averaged over."""
        return self.group.rank()

    def collect_objects(self, mine) -> list:
        """Return the object of each rank with a part."""
        objects = [mine]
        if self.count > 1:
            objects = [None] * self.count
            all_gather_object(objects, mine, self.groups.shards)
        return objects

    # Whole values.

    def collect(self, part, what) -> Tensor:
        """Return the parts of all ranks, joined, without padding."""
        if self.count == 1:
            return part[:self.size]
        group = the_group(self.groups.shards)
        note, size = f"{what} of {self.label}, {self.length} {part.dtype.name}", self.size

        def gather(part):
            channel = group.channel_of(part._a)
            mine = channel.operand(part._a)
            whole = channel.empty((group.size(), mine.size), mine.dtype)
            group.run(lambda: channel.all_gather(mine, note, whole), False, channel)
            return [on_device_of(wrap(whole.reshape(-1)[:size]), part)]

        gather.enters_streams = group.is_on_devices(part._a)        # type: ignore[attr-defined]
        return done_in_order(gather, [part], (note,))[0]

    def cut(self, flat) -> list:
        """Return each parameter's part of whole values, in its shape."""
        with no_grad():
            return [flat[e.start:e.stop].view(e.shape) for e in self.entries]

    def unshard(self, dtype=None, device=None, apart=False):
        """Gather whole values into the modules; `apart` copies them if this rank keeps all, as traces do."""
        if not self.entries:
            return
        if self.whole is None:
            if self.count > 1:
                settle_gradients()
            with no_grad():
                part = self.part().detach()
                part = part if dtype is None else part.to(dtype)
                whole = self.collect(part, "parameters").to(device or self.device)
                is_own = self.count == 1 and (apart or tls.m.recorder is not None)
                self.whole = whole.clone() if is_own else whole
            self.stamp = self.versions()
            self._fill()
        else:
            self._fill_others()
        self._show()

    def _refuse_write(self, name):
        if (self.count > 1 or tls.m.recorder is not None) and not self.is_summoned:
            raise AutogradError(f"{name} was written while its module ran, in values that are there for that time only; "
                                "write parameters within summon_full_params()")

    def _hide_slot(self, slot):
        """Put a parameter back; beside a flat parameter, the leaf becomes a plain attribute."""
        if self.use_orig_params:
            slot.module._parameters[slot.name] = self.params[slot.number]
        else:
            slot.module._parameters.pop(slot.name, None)
            slot.module.__dict__[slot.name] = self.entries[slot.number].lasting

    @contextlib.contextmanager
    def without_parameters(self):
        """Remove the unit's parameters from modules inside this context."""
        self.reshard()
        if self.use_orig_params:
            for slot in self.slots:
                slot.module._parameters.pop(slot.name, None)
        try:
            yield
        finally:
            self.is_shown = True
            self.hide()


def wants_gradients(tensors) -> bool:
    """Return whether some result has a history."""
    return tls.m.grad and any(t._node is not None for t in tensors)


def units_below(module) -> list:
    """Return all wrapped modules, including this one."""
    return [m for m in module.modules() if is_unit(m)]
