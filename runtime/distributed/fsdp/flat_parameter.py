"""A unit: parameters that are gathered together, of which each rank keeps a part.

They lie one after the other in a flat parameter, which is padded and cut into equal parts, one for each rank of a group. While
whole values are there, the module's attributes are leaves over them; gradients come to these, and are shared out by
`gradient_reduction.py`. Whole values always come in new memory, so whoever still holds older ones has what they were.
"""

import contextlib
import weakref
from typing import Any, NamedTuple

import numpy as np

from ....ir.errors import ArgumentError, AutogradError, DTypeError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.placement import beside
from ...core.state import tls
from ...core.structure import Structure
from ...core.tensor import Tensor, wrap
from ...nn.base.parameter import Parameter
from ..collectives.collectives import gather_arrays, host
from ..collectives.object_collectives import all_gather_object
from ..engines.world import member_of
from .saved_parameters import let_go
from .wrap_policies import is_unit, named_modules_of_unit

_made: Any = weakref.WeakKeyDictionary()       # by group: how many units its ranks have made


class FlatParameter(Parameter):
    """This rank's part of the parameters of a unit, one after the other."""

    __slots__ = ()


class Entry(NamedTuple):
    """One parameter in a flat one: its elements are those from `start` to `stop`."""

    name: str
    shape: tuple
    start: int
    stop: int


class Place(NamedTuple):
    """An attribute of a module, and the number of the parameter that it is."""

    module: Any
    name: str
    number: int


class Groups(NamedTuple):
    """Over which ranks a unit's parameters are shared out (None: each has all), and over which ranks gradients are averaged
    beside that (None: over no others)."""

    shards: Any
    replicas: Any


def find_parameters(module, ignored) -> tuple:
    """(parameters, their dotted names, places) of what belongs to a unit."""
    params: dict = {}
    names, places = [], []
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
            places.append(Place(owner, name, [*params].index(id(p))))
    return [*params.values()], names, places


def _check(params, names, use_orig_params):
    kinds = {p.dtype for p in params}
    if len(kinds) > 1 or not next(iter(kinds)).is_floating_point:
        raise DTypeError(f"the parameters of a unit are of one floating point dtype, got {sorted(map(str, kinds))}: wrap "
                         "modules of another dtype by themselves, or put them in ignored_modules")
    if not use_orig_params and len({p.requires_grad for p in params}) > 1:
        frozen = [n for n, p in zip(names, params) if not p.requires_grad]
        raise ArgumentError(f"some parameters of a unit require gradients and {frozen[:5]} do not; pass use_orig_params=True, "
                            "or wrap modules that are frozen by themselves")


class Unit:
    """The parameters of one wrapped module, those of units inside left out."""

    def __init__(self, module, ignored, groups: Groups, device, use_orig_params, offload):
        params, names, self.places = find_parameters(module, ignored)
        self.groups, self.use_orig_params, self.offload = groups, use_orig_params, offload
        self.count = 1 if groups.shards is None else groups.shards.size()
        self.rank = 0 if groups.shards is None else groups.shards.rank()
        self.device, self.group = device, groups.shards or groups.replicas
        self.whole: Any = None          # all values, while they are there
        self.stamp: Any = None          # of what they were gathered
        self.is_shown = self.is_summoned = False
        self.entries, self.params, self.leaves = [], [], []
        if not params:
            self.length = 0
            return
        _check(params, names, use_orig_params)
        at = 0
        for name, p in zip(names, params):
            self.entries.append(Entry(name, tuple(p.shape), at, at + p.numel()))
            at += p.numel()
        self.size, self.length = at, -(-at // self.count)
        number = _made[self.group] = _made.get(self.group, 0) + 1
        self.label = f"unit {number} ({names[0]} and {len(names) - 1} more)"        # the same on all ranks
        self.leaves = [Parameter(p.detach(), p.requires_grad) for p in params]
        self._share_out(params)

    def _share_out(self, params):
        """Keep this rank's part of the parameters' values, and lets the rest go."""
        with no_grad():
            kept = self._part_of([p.detach() for p in params])
            kept = kept.to("cpu") if self.offload else kept
        if self.use_orig_params:
            self.params = params
            self._bind(kept)
        else:
            self.params = [FlatParameter(kept, requires_grad=params[0].requires_grad)]
        for p in params:
            p._fsdp_flattened = True
        self.is_shown = True
        self.hide()
        self._empty()

    def _part_of(self, values) -> Tensor:
        """This rank's part of values, one after the other."""
        start, stop = self.bounds
        pieces = [v.reshape(-1)[max(start - e.start, 0):max(stop - e.start, 0)] for e, v in zip(self.entries, values)]
        missing = self.length - sum([piece.numel() for piece in pieces])
        padding = FUNCTIONS["zeros"]((missing,), dtype=values[0].dtype, device=values[0].device)
        return FUNCTIONS["cat"]([*pieces, padding])

    @property
    def bounds(self) -> tuple:
        """From where to where this rank's part goes."""
        return self.rank * self.length, (self.rank + 1) * self.length

    def piece_of(self, entry) -> slice:
        """Where in this rank's part the elements of a parameter are, as far as it has any."""
        start, stop = self.bounds
        return slice(min(max(entry.start - start, 0), self.length), max(min(entry.stop, stop) - start, 0))

    def start_of(self, entry) -> int:
        """Return the number of the first element of a parameter that this rank has."""
        return min(max(self.bounds[0] - entry.start, 0), entry.stop - entry.start)

    # This rank's part.

    def _bind(self, kept):
        """Make the original parameters views of this rank's part."""
        self.kept = kept
        for entry, p in zip(self.entries, self.params):
            p.data = wrap(kept._a[self.piece_of(entry)])
        self.bound = [p._a for p in self.params]

    def part(self) -> Tensor:
        """This rank's part; values that were put in the place of parameters are taken over."""
        if not self.use_orig_params:
            return self.params[0].detach()
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
        return self.kept

    def write(self, part):
        """Return this rank's part other values. Where they are the same nothing is written, so that gradients can still be
        computed of what forward has seen."""
        with no_grad():
            self.part()
            values = [part[self.piece_of(e)] for e in self.entries] if self.use_orig_params else [part]
            for p, value in zip(self.params, values):
                value = value.to(device=p.device, dtype=p.dtype)
                if not FUNCTIONS["equal"](p, value):
                    p.copy_(value)

    def versions(self) -> list:
        """What changes whenever a parameter is written."""
        return [(p._storage, p._storage.version) for p in self.params]

    def moved(self):
        """After parameters were converted or moved: leaves are of their dtype, and computed with where they are."""
        if self.entries:
            part = self.part()
            self.device = self.device if self.offload else part.device
            for leaf in self.leaves:
                leaf.data = FUNCTIONS["empty"](tuple(leaf.shape), dtype=part.dtype, device="meta")

    def gradient_part(self) -> Tensor:
        """This rank's part of the gradients; zeros where there are none."""
        with no_grad():
            grads = [FUNCTIONS["zeros_like"](p) if p.grad is None else p.grad for p in self.params]
            pad = self.length - sum([g.numel() for g in grads])
            return FUNCTIONS["cat"]([*[g.reshape(-1) for g in grads], grads[0].new_zeros((pad,))])

    def write_gradient(self, part, there):
        """Return this rank's part of the gradients other values, of the parameters that have any."""
        part = part.to(self.params[0].device)
        if not self.use_orig_params:
            self.params[0].grad = part
            return
        for entry, p, wanted in zip(self.entries, self.params, there):
            p.grad = wrap(part._a[self.piece_of(entry)]) if wanted and p.numel() else None

    def group_rank(self) -> int:
        """This rank's number among those that gradients are averaged over."""
        return self.group.rank()

    def collect_objects(self, mine) -> list:
        """What each rank with a part says."""
        found = [mine]
        if self.count > 1:
            found = [None] * self.count
            all_gather_object(found, mine, self.groups.shards)
        return found

    # Whole values.

    def collect(self, part, what) -> Tensor:
        """Return the parts of all ranks, one after the other, without padding."""
        if self.count == 1:
            return part[:self.size]
        group, found = member_of(self.groups.shards, "FullyShardedDataParallel"), []
        note = f"{what} of {self.label}, {self.length} {part.dtype}"
        group.run(lambda: found.extend(gather_arrays(group, host(part), note)), False)
        return beside(wrap(np.concatenate(found)[:self.size]), part)

    def cut(self, flat) -> list:
        """Return each parameter's part of whole values, in its shape."""
        with no_grad():
            return [flat[e.start:e.stop].view(e.shape) for e in self.entries]

    def unshard(self, dtype=None, device=None, apart=False):
        """Has whole values there, in the modules; `apart` from what this rank keeps, if that is all of them."""
        if not self.entries:
            return
        if self.whole is None:
            member_of(self.group, "FullyShardedDataParallel")   # refuses inside of a trace
            with no_grad():
                part = self.part().detach()
                part = part if dtype is None else part.to(dtype)
                whole = self.collect(part, "parameters").to(device or self.device)
                self.whole = whole.clone() if apart and self.count == 1 else whole
            self.stamp = self.versions()
            self._fill()
        self._show()

    def reshard(self):
        """Let whole values go."""
        if self.whole is None:
            return
        written = [e.name for e, leaf, seen in zip(self.entries, self.leaves, self.seen) if leaf._storage.version != seen]
        self.hide()
        self._empty()
        if written and self.count > 1 and not self.is_summoned:
            raise AutogradError(f"{written[0]} was written while its module ran, in values that are there for that time only; "
                                "write parameters within summon_full_params()")

    def _fill(self):
        """Return leaves whole values, and has them require gradients as parameters do."""
        for i, (leaf, values) in enumerate(zip(self.leaves, self.cut(self.whole))):
            leaf.data = wrap(values._a)
            wants = self.params[i if self.use_orig_params else 0].requires_grad
            if leaf.requires_grad is not wants:
                leaf.requires_grad_(wants)
        self.seen = [leaf._storage.version for leaf in self.leaves]

    def _empty(self):
        """Leaves leaves their shapes, and no values."""
        self.whole = None
        for entry, leaf in zip(self.entries, self.leaves):
            leaf.data = FUNCTIONS["empty"](entry.shape, dtype=leaf.dtype, device="meta")

    def _show(self):
        """Make leaves the parameters of the modules."""
        if not self.is_shown:
            for place in self.places:
                place.module.__dict__.pop(place.name, None)
                place.module._parameters[place.name] = self.leaves[place.number]
            self.is_shown = True
            Structure.version += 1

    def hide(self):
        """Make what optimizers know the parameters of the modules; beside a flat parameter, leaves are plain attributes."""
        if self.is_shown:
            for place in self.places:
                if self.use_orig_params:
                    place.module._parameters[place.name] = self.params[place.number]
                else:
                    place.module._parameters.pop(place.name, None)
                    place.module.__dict__[place.name] = self.leaves[place.number]
            self.is_shown = False
            Structure.version += 1

    def again(self, stamp, dtype) -> Tensor:
        """Whole values as they were in forward, for gradients."""
        if any(s is not now or v != n for (s, v), (now, n) in zip(stamp, self.versions())):
            raise AutogradError(f"{self.entries[0].name} and what is gathered with it were overwritten after the forward whose "
                                "gradients are computed; step once backward is done")
        self.unshard(dtype)
        return self.whole

    @contextlib.contextmanager
    def without_parameters(self):
        """Modules have no parameters of the unit in here."""
        self.reshard()
        if self.use_orig_params:
            for place in self.places:
                place.module._parameters.pop(place.name, None)
        try:
            yield
        finally:
            self.is_shown = True
            self.hide()

    def let_go_of_saved(self, outputs, since, fetch):
        """Has what was recorded since then ask `fetch` for whole values, instead of holding them."""
        let_go(outputs, since, self.whole._a, fetch)


def wants_gradients(tensors) -> bool:
    """Return whether some result has a history."""
    return tls.m.grad and any(t._node is not None for t in tensors)


def units_below(module) -> list:
    """Return all wrapped modules, this one included."""
    return [m for m in module.modules() if is_unit(m)]
