"""Reduction of gradients: averages over ranks during backward; each rank keeps its part.

A unit's gradients are sent when all have arrived, or at the end of a backward that does not bring all. While one unit's are in
flight, the next one's are computed.
"""

import weakref
from typing import Any, NamedTuple

from ....ir.errors import AutogradError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.placement import on_device_of
from ...core.tensor import wrap
from ...optim.optimizer import register_optimizer_step_pre_hook
from ...state.mode import tls
from ...state.switches import OwnSetting
from ..collectives.traceable import in_background
from ..engines.reduce_op import ReduceOp
from ..groups.world import the_group


class BackwardPass:
    """One backward: its units, and gradients in flight."""

    def __init__(self):
        self.members: dict = {}             # by unit: what to do at the end
        self.in_flight: Any = None

    def send(self, reducer, start):
        """Start sending a unit's gradients, after earlier ones have arrived."""
        self.settle()
        self.in_flight = reducer, start()

    def settle(self):
        """Wait for gradients in flight."""
        if self.in_flight is not None:
            reducer, result = self.in_flight
            self.in_flight = None
            reducer.put(result())

    def end(self):
        """End backward: send remaining gradients, drop whole values."""
        for reducer in self.members:
            reducer.end(self)
        self.settle()
        for reducer in self.members:
            reducer.close()


_passes: Any = weakref.WeakKeyDictionary()         # by backward


def current_backward(reducer) -> BackwardPass:
    """Return the running backward of this thread, and enter a unit into it."""
    run = _outermost_run()
    backward = _passes.get(run)
    if backward is None:
        backward = _passes[run] = BackwardPass()
        run.endings.append(backward.end)
    backward.members.setdefault(reducer)
    return backward


def settle_gradients():
    """Wait for gradients in flight, if backward runs, and free their memory. What is gathered now would come after them."""
    run = _outermost_run()
    backward = None if run is None else _passes.get(run)
    if backward is not None:
        backward.settle()


def _outermost_run() -> Any:
    """Return the backward of this thread, or None; the outermost one under reentrant checkpoints."""
    run = tls.m.backward
    while run is not None and run.outer is not None:
        run = run.outer
    return run


def register_gradient_hook(leaf, hook):
    """Call `hook` when a gradient has been added to a leaf; the leaf may need none today."""
    wants = leaf.requires_grad
    leaf.requires_grad_(True)
    leaf.register_post_accumulate_grad_hook(hook)
    leaf.requires_grad_(wants)


def apart(piece):
    """Return a part of a gradient as a tensor that knows nothing of the whole."""
    return wrap(piece._a) if tls.m.recorder is None else FUNCTIONS["clone"](piece)


def check_gradient(leaf):
    """Raise if a gradient has a history."""
    if leaf.grad._node is not None:
        raise AutogradError("gradients with a history (create_graph=True) cannot be sharded; take those that are to be "
                            "differentiated by autograd.grad(..., create_graph=True) of inputs")


class GradientReducer:
    """Reduction of the gradients of one unit."""

    syncs = OwnSetting("no_sync()", True)
    has_stored = OwnSetting("gradients that no_sync() keeps for a backward outside of it,", False)
    is_local = OwnSetting("gradients of NO_SHARD that no_sync() keeps for a backward outside of it,", False)

    def __init__(self, unit, reduce_dtype):
        self.unit, self.reduce_dtype = unit, reduce_dtype
        self.stored: Any = None        # gradients of no_sync(), local to this rank
        self.guard: Any = None          # hook that keeps optimizers from a step with these
        for i, e in enumerate(unit.entries):
            e.on_gradient(lambda _, i=i: self.arrived(i))
        for p in unit.params:
            register_gradient_hook(p, _refuse_gradient)

    # Arrival.

    def arrived(self, i):
        """Handle the arrival of one parameter's gradient."""
        leaf, backward = self.unit.leaves[i], current_backward(self)
        if leaf.grad.is_sparse:
            leaf.grad = leaf.grad.to_dense()
        check_gradient(leaf)
        if all(leaf.grad is not None for leaf in self.unit.leaves if leaf.requires_grad):
            self.reduce(backward)

    def end(self, backward):
        """End backward for this unit."""
        if any(leaf.grad is not None for leaf in self.unit.leaves):
            self.reduce(backward)

    def close(self):
        """Drop whole values."""
        if not self.unit.is_summoned:
            self.unit.reshard()

    # Reduction.

    def reduce(self, backward):
        """Send this rank's gradients, or store them within no_sync()."""
        with no_grad():
            self._add_stored()
            if self.syncs:
                if self.unit.use_orig_params or self.unit.params[0].requires_grad:
                    backward.send(self, self._start)
            elif self.unit.count == 1:
                self._add(self._flat(self.unit.leaves[0].dtype))
                self.is_local = True
            else:
                self._store_gradients()
        if not self.unit.is_summoned:
            self.unit.reshard()

    def _flat(self, dtype):
        """Return all gradients of this rank joined and padded; zeros for missing ones."""
        unit = self.unit
        grads = [leaf.grad for leaf in unit.leaves]
        for leaf in unit.leaves:
            leaf.grad = None
        like = next(g for g in grads if g is not None)
        pieces = []
        for entry, g in zip(unit.entries, grads):
            if g is None:
                pieces.append(FUNCTIONS["zeros"]((entry.stop - entry.start,), dtype=like.dtype, device=like.device))
            else:
                pieces.append(g.reshape(-1))
        pieces.append(FUNCTIONS["zeros"]((unit.length * unit.count - unit.size,), dtype=like.dtype, device=like.device))
        return FUNCTIONS["cat"](pieces).to(dtype)

    def _start(self):
        """Start averaging asynchronously; return a function that waits for this rank's part."""
        unit = self.unit
        flat = self._flat(self.reduce_dtype or unit.leaves[0].dtype)
        if self.is_local:
            flat = flat + self._gradient_of_rank().to(flat.dtype)
        (shards, replicas), group, count = [g and the_group(g) for g in unit.groups], unit.group, unit.count
        note = f"gradients of {unit.label}, {flat._a.size} {flat.dtype.name}"

        def start(a):
            channel, parts = group.channel_of(a), []
            given = [channel.operand(a)]

            def average():
                mine = given.pop()      # (a thread holds this function for a while after its end)
                if count > 1:
                    rows = mine.reshape(count, -1)
                    mine = shards.inside(rows, lambda channel: channel.reduce_scatter(rows, ReduceOp.AVG, note))
                if replicas is not None:
                    mine = replicas.inside(mine, lambda channel: channel.all_reduce(mine, ReduceOp.AVG, note))
                parts.append(mine)

            return group.run(average, True, channel), lambda: parts

        result, place = in_background(start, [flat], (note,), group.is_on_devices(flat._a)), unit.params[0]
        return lambda: on_device_of(result()[0], place)

    def put(self, part):
        """Add this rank's part of the averages to its gradients."""
        with no_grad():
            if self.is_local:
                for p in self.unit.params:
                    p.grad = None
                self.is_local = False
            self._add(part)

    def _add(self, part):
        unit = self.unit
        part = part.to(unit.params[0].dtype)
        if not unit.use_orig_params:
            _accumulate(unit.params[0], part)
            return
        for entry, p in zip(unit.entries, unit.params):
            piece = part[unit.piece_of(entry)]
            if p.requires_grad and piece.numel():
                _accumulate(p, apart(piece))

    def _gradient_of_rank(self):
        """Return the gradients of NO_SHARD, joined."""
        unit = self.unit
        grads = [FUNCTIONS["zeros_like"](p) if p.grad is None else p.grad for p in unit.params]
        return FUNCTIONS["cat"]([g.reshape(-1) for g in grads]).to(unit.device)

    # Within no_sync().

    def _store_gradients(self):
        """Store this rank's gradients; parameters get placeholders without values."""
        where = "meta" if tls.m.recorder is None else None
        placeholders = [FUNCTIONS["empty"](tuple(p.shape), dtype=p.dtype, device=where) for p in self.unit.params]
        self.stored = StoredGradients([leaf.grad for leaf in self.unit.leaves], [p.grad for p in self.unit.params],
                                      placeholders, [t._storage.version for t in placeholders], Origin())
        self.has_stored = True
        for leaf in self.unit.leaves:
            leaf.grad = None
        for p, placeholder in zip(self.unit.params, placeholders):
            p.grad = placeholder if p.requires_grad and p.numel() else None
        me = weakref.ref(self)
        self.guard = register_optimizer_step_pre_hook(lambda optimizer, *_: _refuse_step(me(), optimizer))

    def _add_stored(self):
        """Add stored gradients to new ones, unless they were cleared."""
        if not self.has_stored:
            return
        self.stored.origin.check()
        stored, self.stored, self.has_stored = self.stored, None, False
        self.guard.remove()
        params = self.unit.params
        of_params = [*zip(params, stored.placeholders, stored.versions)]
        was_cleared = any(p.grad is None or placeholder._storage.version != version for p, placeholder, version in of_params
                           if p.requires_grad and p.numel())
        for p, placeholder, before in zip(params, stored.placeholders, stored.before):
            if p.grad is placeholder:
                p.grad = None if was_cleared else before
        for leaf, g in zip(self.unit.leaves, () if was_cleared else stored.grads):
            if g is not None:
                leaf.grad = g if leaf.grad is None else g + leaf.grad

    def reset(self):
        """Forget a failed backward."""
        for e in self.unit.entries:
            e.forget_gradient()


_open: Any = weakref.WeakKeyDictionary()           # by recorder: forwards whose gradients are still to come
_NOT_BACK = ("it leaves the gradients of sharded parameters to a backward outside; call backward in it, or the module under "
             "no_grad")


class AwaitedBackward:
    """Forward that a backward must follow. A trace that returns before that runs as it is: nothing would reduce gradients."""

    def __init__(self):
        self._tell(set.add)

    def begins(self):
        """Note that it does. If it keeps the history, another may follow."""
        if not tls.m.backward.retain:
            self._tell(set.discard)

    def _tell(self, change):
        recorder = tls.m.recorder
        if recorder is not None:
            forwards = _open.setdefault(recorder, set())
            change(forwards, self)
            recorder.hosts.leaves_open(_NOT_BACK, bool(forwards))


class Origin:
    """Recorded run, if any, that keeps something for later: gradients for a backward, whole parameters for a forward."""

    def __init__(self):
        self._recorder = None if tls.m.recorder is None else weakref.ref(tls.m.recorder)

    def is_now(self) -> bool:
        """Return whether it is the one under way."""
        return self._recorder is not None and self._recorder() is tls.m.recorder

    def check(self):
        """Refuse a trace that would use gradients of an earlier call."""
        recorder = tls.m.recorder
        if recorder is not None and not self.is_now():
            recorder.refuse("it adds to gradients that an earlier call kept without averaging them",
                            "accumulate gradients within one call of the function, or outside of it")


class StoredGradients(NamedTuple):
    """Local gradients: new ones, those before, and the placeholders for both in the parameters."""

    grads: list
    before: list
    placeholders: list
    versions: list
    origin: Origin


def _refuse_gradient(p):
    """Raise for a gradient of this rank's own part: no other rank would know of it."""
    p.grad = None
    raise AutogradError("a module of FullyShardedDataParallel ran on this rank's part of its parameters, as it was called "
                        "outside of the forward of the wrapped module; call that, or wrap the module by itself")


def _refuse_step(reducer, optimizer):
    """Raise if an optimizer would step with stored gradients."""
    placeholders = {id(t) for t in reducer.stored.placeholders} if reducer is not None and reducer.has_stored else ()
    if placeholders and any(id(p.grad) in placeholders for group in optimizer.param_groups for p in group["params"]):
        raise AutogradError("the gradients of a backward within no_sync() wait for those of other ranks: go backward outside "
                            "of it before a step")


def _accumulate(p, g):
    if p.grad is None:
        p.grad = g
    else:
        p.grad.add_(g)
