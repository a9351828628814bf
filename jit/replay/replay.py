"""Replay: one run along recorded paths. It reads inputs, runs segments, and commits all writes at the end.

Nothing is written before the finish. A path that meets an unseen answer leaves no trace, and the function can be recorded again
from its start.
"""

from operator import attrgetter
from typing import Any

import numpy as np

from ...ir.errors import ArgumentError, DeviceError, DistError
from ...ir.interrupts import raise_interrupt
from ...ir.opdef.op import OPS
from ...ir.ops.index.assign import run_chain
from ...ir.symbols.substitute import bound_values, has_symbols
from ...runtime.api.views.storage_views import become, take_window, window_of
from ...runtime.autograd.grad_mode import set_grad_enabled
from ...runtime.core.device import CPU
from ...runtime.core.device_array import DeviceArray
from ...runtime.core.node import Leaf, rescue_result
from ...runtime.core.placement import move_to
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor, counted_apart, float_of, int_of, lie_over, memory_of, wrap
from ...runtime.core.writes import check_history
from ...runtime.state.host_results import Outcomes, leave, taken_again
from ...runtime.state.mode import tls
from ..errors import errors
from ..host.post_host_guards import HostChanged
from ..recorder.outputs import attach_results
from ..recorder.random_streams import Draws
from ..recorder.recording import base_of
from ..recorder.value_reads import frozen_value, readable
from .compile_segment import TooDear
from .differentiate import attach, before_rebinding, ends_of, used_up

_VERSION = attrgetter("version")
_OWN_FRAMES = 7         # at least so many frames above the writes are ingot's


class Outdated(Exception):
    """Another thread recorded a path that needs more of a segment than this replay computed."""


class Environment(dict):
    """Slots and their arrays."""

    def __missing__(self, slot):
        raise Outdated(f"value {slot} of a recorded path is missing where it is used")


class Unseen(Exception):
    """Python would read a value for which no path is recorded."""

    def __init__(self, how, value, line=None, place=None):
        self.how, self.value, self.line, self.place = how, value, line, place

    def __str__(self):
        exact = self.how in ("int", "float")
        hint = ("a number that item() gives may be computed with, and need not be the same" if exact else
                "keep it in tensors (where, masks), or use it outside")
        how = "int" if self.how == "size" else self.how
        return f"{how}() gave {readable(self.value)}, a value not seen before; {hint}{errors.at(self.place)}"


class Failed(Exception):
    """An operator cannot take the values of this call. Nothing was written yet."""

    def __init__(self, error):
        self.error = error


# Exceptions of ingot's own, at which a call that has begun to write is not finished: Python goes on with it, or it cannot be.
_ENDS = Failed, Outdated, TooDear, Unseen, HostChanged, errors.TraceError, errors.NotFiniteError, DeviceError, DistError


class Replay:
    """One run along the tree."""

    __slots__ = ("_before", "_begun", "_done", "_ends", "_found", "_hosts", "_journal", "_python", "_rebound",
                 "_results", "arguments", "before", "drawn", "env", "given", "symbols", "tensors", "went")

    _before: Any        # (storages that are written, their versions before the call), () once they are written
    _done: list         # an item for each value of `_python` that is written

    def __init__(self, arguments, symbols=()):
        self.arguments = arguments
        self.symbols = symbols   # the values of symbolic sizes and numbers
        self.tensors = []        # the tensor behind each input, None for keys and scalars
        self.env = Environment() # slot -> array, for inputs (negative) and results
        self.drawn = Draws()         # random keys and numbers
        self.before = None       # what host steps may change, if that is read behind them
        self.given: Any = ()     # `Outcomes` of the host calls that return tensors, once there may be any
        self.went = []           # (segment, what it did) on the way so far
        self._begun = False      # whether anything was written, so that the call must be finished
        self._hosts = 0          # count of the host steps that were begun
        self._journal: Any = None    # runs that write over inputs
        self._found: Any = None      # arrays of the last segment
        self._before = None
        self._ends: Any = None       # histories of the inputs before the call
        self._rebound: Any = None    # (results, what is known before inputs get other memory, these inputs)
        self._results: Any = None    # result tensors, once all tensors are written
        self._python: Any = None     # (the call's result, the values that are written to Python state)

    def go(self, segment, work):
        """Read a segment's inputs and run its nodes."""
        self.read(segment, work)
        return self._run(segment, work)

    def finish(self, segment, work, containers=()):
        """Run the last segment of a path, write everything, and return the call's result. An exception from outside comes
        before that or after: once anything is written, the call is finished before the exception goes on."""
        try:
            return self._commit(segment, work, containers)
        except BaseException as error:
            if self._must_finish and not isinstance(error, _ENDS):
                raise_interrupt(error, self._commit, segment, work, containers)
            raise

    def _commit(self, segment, work, containers):
        """Do what is left of a call. Each part can be done again from its beginning."""
        finish = segment.finish
        if self._found is None:
            if not self.went or self.went[-1][0] is not segment:
                self.read(segment, work)
            self._found = self._run(segment, work)
        if self._results is None:
            if finish.hosts or finish.hosted is not None:
                self._host_steps(finish, work, work.hand[3], self._found)
            self._begun = True
            self._results = self._write_tensors(finish, work, self._found)
        template = finish.template
        if not template.effects:
            return template.made(self._results, self.symbols, containers)[0]
        if self._python is None:
            self._python, self._done = template.made(self._results, self.symbols, containers), []
        return template.write(self._python, containers, self._done)

    @property
    def _must_finish(self) -> bool:     # (no `getattr` with a default: it would take the AttributeError of an interrupt)
        return self._begun or any([progress.writes for progress in self._runs])  # noqa: C419

    @property
    def _has_written(self) -> bool:
        return any([progress.has_written for progress in self._runs])  # noqa: C419

    @property
    def _runs(self):
        return () if self._journal is None else self._journal.values()

    def read(self, segment, work):
        """Read a segment's inputs."""
        tensors, env = self.tensors, self.env
        self.went.append((segment, work))
        if segment.finish is not None:          # it may write: what is missing is found before
            for slot in segment.finish.held:
                env[slot]
        found, given, first = segment.captured.copy(), self.arguments, len(tensors)
        for i, number in segment.arguments:
            found[i] = given[number]
        tensors += found
        env.update(zip(range(-1 - first, -1 - len(tensors), -1), [None if t is None else t._a for t in found]))
        for i, source in segment.others:
            tensors[first + i], env[-1 - first - i] = self._resolve(source)
        if segment.finish is not None and segment.finish.prepared:
            self._prepare_histories(segment.finish)

    def _prepare_histories(self, finish):
        """Prepare the histories of inputs for writes, which the job may do itself."""
        for position in finish.prepared:
            t, write = self.tensors[position], finish.writes[position]
            if write.checks:
                check_history(t, "a traced function")
            if write.rescues:
                rescue_result(base_of(t))

    def _run(self, segment, work):
        if not segment.region.calls_host:
            return self._compute(segment, work)
        m = tls.m
        outer = m.results_of_hosts
        self.given = self.given or Outcomes()
        try:
            m.results_of_hosts, finish = self.given, segment.finish
            self.given.are_final = finish is not None and finish.hosted is None
            return self._compute(segment, work)
        finally:
            m.results_of_hosts = outer

    def _compute(self, segment, work):
        if segment.cleared and not segment.region.calls_host:
            self._begun = True
        for position in segment.cleared:          # its memory is free for what is computed now
            leaf = self.tensors[position]._node
            if type(leaf) is Leaf:
                leaf.grad = None
        known = len(self.given)
        try:
            found = self._run_job(segment, work)
        except TooDear:     # host steps that ran before would be called once more
            if not any(segment.region.calls_host for segment, _ in self.went[:-1]):
                raise
            found = self._run_in_place(work, at_any_price=True)
        except (errors.NotFiniteError, DeviceError, DistError, MemoryError):    # (something may have been written, or sent)
            raise
        except Exception as error:
            if work.job.compiled is None or self._has_written:      # (it could not be compiled)
                raise
            self._raise_interrupt(error, segment, work, self.given[known:])
            raise Failed(error) from error
        for position, slot in work.keep:
            self.env[slot] = found[position]
        return found

    def _run_job(self, segment, work):
        if segment.finish is None or not segment.finish.updates:
            return work.job.run(self.env, self.symbols)
        return self._run_in_place(work)

    def _raise_interrupt(self, error, segment, work, outcomes):
        """Return if a job that has written nothing raised an error itself; raise an error from outside."""
        if not segment.region.calls_host:
            raise_interrupt(error, self._run_job, segment, work)
        elif not outcomes or outcomes[-1].error is not error:
            if self.given.are_freed:        # nothing can fail any more
                raise error
            with taken_again(outcomes):
                raise_interrupt(error, self._run_job, segment, work)

    def _run_in_place(self, work, at_any_price=False):
        """Run a job that may write over its inputs."""
        m = tls.m
        outer = m.journal
        try:
            m.journal = self._journal = self._journal or {}
            return work.job.run(self.env, self.symbols, at_any_price)
        finally:
            m.journal = outer

    def _resolve(self, source):
        if source.kind == "grad":
            t = self.tensors[source.what].grad
            return t, t._a
        if source.kind == "part":
            position, layout = source.what
            return self._part_of(self.tensors[position], layout)
        if source.kind == "base":
            t = base_of(self.tensors[source.what])
            return t, t._a
        if source.kind == "key":
            return None, self.drawn.key(source.what)
        if source.kind == "number":
            return None, self.drawn.number(source.what)
        return None, np.asarray(source.what(), np.float64)

    @staticmethod
    def _part_of(t, layout):
        """Return this process's part of a tensor that several share, as a tensor and an array."""
        backend = t._a.backend
        if backend.layout_of(t._a) != layout:
            raise Failed(ArgumentError("a DTensor has another layout than in the recorded call"))
        part = wrap(backend.local_of(t._a))
        part._shared = t._storage
        return part, part._a

    @property
    def is_up_to_date(self) -> bool:
        """Whether the segments on the way have the same jobs as when they ran."""
        return all(segment.work is work for segment, work in self.went)

    def roll_back(self):
        """Undo random draws, unless the call has written anything."""
        if not self._must_finish:
            self.drawn.undo()

    def give_up(self, call):
        """Undo random draws, and leave what host calls gave to the run in place of this one."""
        self.roll_back()
        if self.given:
            leave(call, self.given)

    def answer(self, slot, how):
        """Return what Python reads at a cut."""
        a = self.env[slot]
        read = {"size": lambda: int(a.item()), "bool": lambda: bool(a.item()), "int": lambda: int_of(wrap(a)),
                "float": lambda: float_of(wrap(a)), "item": a.item, "tolist": a.tolist, "passes": lambda: True}.get(how)
        return frozen_value(a if read is None else read())

    def _write_tensors(self, finish, work, arrays):
        """Write tensors and gradients, and return the result tensors. Inputs get other memory once all results are made, and
        another history once they have that memory."""
        updates = work.hand[1]
        if updates and self._before != ():
            self._write(finish, work.job.in_place(self.symbols, arrays), updates, arrays)
        if self._rebound is None:
            made, before = self._make_results(finish, work, arrays)
        else:
            made, before, _ = self._rebound
        if finish.rebinds:
            self._rebind(finish, work, arrays, made, before)
            for i, (slot, o) in enumerate(finish.outputs):
                if o.is_late and o.part is None:
                    made[i] = self._result(slot, o, None, arrays)
            self._make_parts([(i, o) for i, o in finish.parts if o.is_late], made)
        attach_results([o for _, o in finish.outputs], made)
        if finish.differential is not None:
            attach(finish.differential, self, made, self._ends, before)
        for position in finish.retained:            # some have a history only now
            Tensor.retain_grad(self.tensors[position])
        for (_, o), t in zip(finish.outputs, made):
            if o.retains and t is not None and t.requires_grad:
                Tensor.retain_grad(t)
        for position in finish.detached:
            self.tensors[position].detach_()
        if finish.has_made_gradients:
            self._make_gradients(finish, work, arrays, made)
        return made

    def _make_gradients(self, finish, work, arrays, made):
        """Set gradients that are results, or are made of parts."""
        for (position, g), at in zip(finish.grads, work.hand[2]):
            if g is not None and not g.is_new:
                parts = [made[i] if i is not None else wrap(self._value(slot, where, arrays))
                         for slot, i, where in zip(g.values, g.result_numbers, at)]
                self._give_gradient(position, g.assemble(parts, self.plain))

    def _make_results(self, finish, work, arrays) -> tuple:
        """Set gradients, and return (the result tensors, what the call's node takes `before_rebinding`)."""
        results, _, grads, _, _ = work.hand
        for position, on in finish.turns:
            if position not in finish.turned_late:
                self.tensors[position].requires_grad_(on)
        for (position, g), at in zip(finish.grads, grads):
            if g is None or g.is_new:
                self._give_gradient(position, None if g is None else wrap(self._value(g.values[0], at[0], arrays)))
        made = [None if o.part is not None or o.is_late else self._result(slot, o, at, arrays)
                for (slot, o), at in zip(finish.outputs, results)]
        self._make_parts([(i, o) for i, o in finish.parts if not o.is_late] if finish.rebinds else finish.parts, made)
        if finish.differential is None:
            return made, ()
        if self._ends is None:
            self._ends = ends_of(finish.differential, self)
        return made, before_rebinding(finish.differential, self.tensors, made)

    def _make_parts(self, parts, made):
        """Make results of others."""
        for i, o in parts:
            made[i] = self._as_recorded(o, o.part.over(made[o.part.of], self.plain))

    def _host_steps(self, finish, work, hosts, arrays):
        checks = finish.hosted
        if checks is not None:
            checks.begins(self.before)
        for n, ((step, _), positions) in enumerate(zip(finish.hosts, hosts)):
            if n < self._hosts:
                continue
            if checks is not None and n in checks.after:
                checks.check(n, self, finish.hosts, work, arrays)
            self._hosts += 1
            step.run([arrays[at] for at in positions], self.symbols)
        if checks is not None:
            checks.check(len(finish.hosts), self, finish.hosts, work, arrays)

    def _give_gradient(self, position, g):
        t = self.tensors[position]
        if type(t._node) is Leaf:
            t._node.grad = g
        elif t._node is None:
            t._retained_grad = g

    def _rebind(self, finish, work, arrays, made, before):
        """Do `t.data = new`, `t.set_(new)` or `t.t_()` for all inputs at once. Their histories stay."""
        if self._rebound is None:
            found, wholes = [], {}
            for (position, slot, o), at in zip(finish.rebinds, work.hand[4]):
                t = self.tensors[position]
                if o.whole is not None:
                    new = self._part(slot, o, at, arrays, wholes)
                else:
                    new = self._result(slot, o, at, arrays) if o.memory_of is None else made[o.memory_of]
                is_own = new._base is t or (o.source == position and not o.detached and new._base is t._base is not None)
                take, memory = (take_window, window_of(new)) if o.is_window else (lie_over, memory_of(new))
                if o.version is not None and memory[1].is_part:
                    memory[1].version = o.version
                found.append((t, new if is_own and not o.is_window else None, take, memory, t._node))
            self._rebound = made, before, found
        with set_grad_enabled(False):
            for t, view, take, memory, node in self._rebound[2]:
                if view is None:
                    take(t, memory)
                else:
                    t._node = None      # it requires grad only since then
                    become(t, view, "a traced function")
                    t._node = node
        for position in finish.turned_late:
            self.tensors[position].requires_grad_()

    def _part(self, slot, output, at, arrays, wholes) -> Tensor:
        """Return a view of new memory that several inputs get; `wholes` holds the tensors over all of it, by slot."""
        if slot not in wholes:
            a = self._value(slot, at, arrays)
            wholes[slot] = wrap(a if output.order is None else a.transpose(output.back))
        with set_grad_enabled(False):
            return run_chain(wholes[slot], self.plain(output.views))

    def _write(self, finish, in_place, updates, arrays):
        tensors = self.tensors
        for position, at in finish.written_late(in_place, updates):
            np.copyto(tensors[position]._a, arrays[at])
        if self._before is None:
            storages = [tensors[position]._shared or tensors[position]._own_storage() for position in finish.positions]
            self._before = storages, list(map(_VERSION, storages))
        else:               # some are counted already
            storages = self._before[0]
            for storage, version in zip(*self._before):
                storage.version = version
        guarded = []
        for storage, count in zip(storages, finish.counts):
            storage.version += count
            if storage.guarded:
                guarded.append(storage)
        if guarded:
            writer = ("a traced function", *user_line(_OWN_FRAMES))
            for storage in guarded:
                storage.writer = writer
        for position in finish.wholes:
            a = tensors[position]._a
            a.backend.count_write(a)
        for i, count in finish.unchecked:
            if storages[i].unchecked is None or storages[i].unchecked[1] != storages[i].version:
                storages[i].wrote_unchecked(count)
        self._before = ()

    def plain(self, x):
        """Return plain data with the values of this run for symbolic numbers."""
        return bound_values(x, self.symbols) if has_symbols(x) else x

    def _value(self, slot, at, arrays):
        return self.env[slot] if at is None else arrays[at]

    def _result(self, slot, output, at, arrays) -> Tensor:
        return self._as_recorded(output, self._tensor(slot, output, at, arrays))

    def _over_input(self, t, output) -> Tensor:
        """Return a view of an input, with or without history as recorded."""
        chain = self.plain(output.chain)
        if output.detached:
            if output.depth:
                with set_grad_enabled(False):
                    t, chain = run_chain(t, chain[:output.depth]), chain[output.depth:]
            t = t.data if output.is_data else t.detach()
            if output.version is not None:
                t = counted_apart(t, output.version)
        with set_grad_enabled(output.requires_grad and output.leaf is None):    # (a leaf is a view without history)
            return run_chain(t, chain)

    @staticmethod
    def _as_recorded(output, t) -> Tensor:
        if output.freed:
            t._node = used_up(t._a, output.freed)
        return t if output.leaf is None else output.leaf.over(t)

    def _tensor(self, slot, output, at, arrays) -> Tensor:
        if output.source is not None:
            t = self.tensors[output.source]
            return t if output.same else output.itself if output.itself is not None else self._over_input(t, output)
        a = self._value(slot, at, arrays)
        if output.order is not None:
            a = a.transpose(output.back)
        if output.whole is not None:
            self.env[slot] = a
            if a.__class__ is DeviceArray:
                a = run_chain(wrap(a), self.plain(output.views))._a
            else:
                for op, params in output.views:
                    a = OPS[op].ref(a, **dict(self.plain(params)))
        t = wrap(a)
        if (output.device is None) == (t._a.__class__ is DeviceArray):
            t = move_to(t, output.device or CPU)      # (a job runs in one place, whatever of it was made elsewhere)
        if output.version:
            t._own_storage().version = output.version
        if output.locked:
            t._a.flags.writeable = False
        return t if output.shared is None else output.shared(t)
