"""One recorded run of a function: its arguments, and what was recorded."""

from dataclasses import replace
from typing import Any

from ...ir.cached_property import cached_property
from ...ir.locks import new_rlock
from ...ir.ops.core.shape import place
from ...runtime.core.device_array import place_of
from ...runtime.core.tensor import Tensor
from ...runtime.state.mode import tls
from ..errors.errors import (
    DisturbedError,
    FirstTimeError,
    MovedError,
    ProxyError,
    RanMoreError,
    ReplacedError,
    RunEagerlyError,
    SeveralDevicesError,
    TraceError,
    UnrepeatableError,
    at,
)
from ..guards.arg_pytree import (
    TENSOR,
    ArrayArgument,
    ByIdentity,
    ContainerTable,
    fields_besides_caches,
    fields_of,
    flatten,
    held_by,
    is_structure,
    unflatten_arguments,
)
from ..guards.frames import position_of, unprofiled
from ..guards.guards import Guard, same_namespace
from ..guards.locations import ChangedValue, StateInputs, read_locations
from ..guards.object_arguments import ObjectArguments
from ..guards.snapshot import Exactly, Snapshot
from ..guards.symbolic_lookups import SymbolicLookups
from ..proxies.lazy_scalars import LazyScalar
from ..proxies.new_objects import NewObjects
from ..proxies.numpy_scalars import with_kind
from ..python_state.stand_ins import PROXIES
from ..python_state.tracker import Tracker
from ..recorder.record import Recorder
from ..recorder.recording import is_shared
from ..side_effects.effects import ArgumentContainers, relocated
from ..side_effects.output_template import OutputTemplate
from ..side_effects.remade import RemadeObjects
from .cache import numbers_key
from .labels import locate
from .process_state import ProcessState

RECORDING = new_rlock()        # held by the one recording that is made at a time


FIRST = "the first call with arguments of this kind"


class Call:
    """One call of a traced function.

    leaves, numbers   tensors, ints and floats in its arguments, and then in `locations`
    own_counts        counts of these that are in the arguments
    key               all that decides which recordings fit
    met               entries that apply, but lack the path of this call
    reason            why no entry could replay it: the difference to the first one tried
    checks            entries that its recording is compared with, and the values of their symbols
    containers        in its arguments, as `ContainerTable` counts them; None if the recording only computes
    wholes            sets and arrays in them
    held              locks that its replay holds (`HeldLocks`), or None
    alike             recordings of fixed sizes that differ from this call in sizes alone
    """

    __slots__ = ("__dict__", "alike", "args", "checks", "containers", "held", "key", "kwargs", "leaves", "locations", "met",
                 "numbers", "own_counts", "reason", "result", "wholes")

    def __init__(self, args, kwargs, leaves, numbers, key, locations=(), own_counts=None, containers=None, wholes=()):
        self.containers, self.wholes, self.held = containers, wholes, None
        self.locations, self.own_counts = locations, (len(leaves), len(numbers)) if own_counts is None else own_counts
        self.args, self.kwargs, self.leaves, self.numbers, self.key = args, kwargs, leaves, numbers, key
        self.met: list = []
        self.reason = FIRST
        self.checks: list = []
        self.alike: list = []
        self.result: Any = None

    @cached_property
    def shapes(self) -> tuple:
        return tuple([shape for shape, *_ in self.key[5]])

    def missed(self, reason):
        """Note why an entry could not replay it."""
        if self.reason is FIRST:
            self.reason = reason

    def arguments(self, symbols=None):
        """Return (args, kwargs) for the function, with symbols in place of symbolic numbers."""
        numbers = self._numbers_with(symbols)[: self.own_counts[1]]
        args, kwargs = self.args, self.kwargs
        if any(a is not b for a, b in zip(numbers, self.numbers)):
            args, kwargs = unflatten_arguments(self.key[0][0], iter(self.leaves), iter(numbers), self.containers or ())
        if not self.arrays:
            return args, kwargs
        return (tuple([_array_or(g, x) for g, x in zip(self.args, args)]),
                {k: _array_or(self.kwargs[k], x) for k, x in kwargs.items()})

    def release(self):
        """Give back the locks that it holds."""
        if self.held is not None:
            self.held.turn.give_back()

    @cached_property
    def arrays(self) -> list:
        """The arguments that stand for arrays."""
        return [x for x in (*self.args, *self.kwargs.values()) if type(x) is ArrayArgument]

    @property
    def given(self) -> list:
        """The containers, and objects that count as a whole, that results may hold."""
        return [*(self.containers or ()), *self.wholes]

    def objects(self) -> list:
        """Return the containers, sets and arrays among the arguments, in their order."""
        return [*self.given, *[g.array for g in self.arrays]]

    def changeable(self) -> list:
        """Return the containers and NumPy arrays among the arguments."""
        return [*(self.containers or ()), *[g.array for g in self.arrays]]

    def _numbers_with(self, symbols):
        return self.numbers if symbols is None else symbols.symbolic_numbers(self.numbers)

    def has_moved(self) -> bool:
        """Return whether a looked-up location holds another value by now: a garbage collection or a signal handler came before
        the recording began."""
        leaves: list = []
        numbers: list = []
        kinds = self.locations and read_locations(self.locations, leaves, numbers)
        first, count = self.own_counts
        return kinds != self.key[0][2] or any(a is not b for a, b in zip(leaves, self.leaves[first:])) or (
            numbers_key(numbers) != numbers_key(self.numbers[count:]))

    def inputs(self, symbols) -> StateInputs:
        """Return the content of the looked-up locations during the recording, with symbols in place of symbolic numbers."""
        first = self.own_counts[1]
        leaves, numbers = iter(self.leaves[self.own_counts[0]:]), zip(self._numbers_with(symbols)[first:], self.numbers[first:])
        values: list = []
        for kind in self.key[0][2]:
            if kind == TENSOR:
                values.append(next(leaves))
            else:
                symbol, number = (None, None) if kind is None else next(numbers)
                values.append(None if symbol is number else with_kind(kind, symbol))
        return StateInputs(self.locations, values, symbols is not None)


def _array_or(argument, x):
    """Return the array that an argument stands for; other arguments unchanged."""
    return argument.array if type(argument) is ArrayArgument else x


def _scheduled_in(guard, scheduled):
    """Yield the numbers in a guarded list of dictionaries that schedules set: rates in `opt.param_groups`."""
    groups = guard.value() if scheduled else None
    for i, group in enumerate(groups if type(groups) is list else ()):
        for key, value in group.items() if type(group) is dict else ():
            if (id(group), key) in scheduled and type(value) is float:
                yield ChangedValue(guard.along((*guard.chain.steps, ("item", i), ("item", key))), value)


class Run:
    """An eager run of a function under a recorder, with `symbols` for its arguments. `run` calls the function."""

    def __init__(self, fn, changing=frozenset(), symbols=None, recorder=Recorder, tables=(), targets=(), run=None,
                 objects=None):
        self.fn, self.run, self.symbols = fn, fn if run is None else run, symbols
        self.tables, self.objects = tables, ObjectArguments() if objects is None else objects
        self._remade = RemadeObjects(targets, changing)
        self.looked_up: list = []                   # `Location`s of containers that it looks up without a table
        self.keeps_plain = False                    # whether it writes to a list for which there is a table
        name = getattr(fn, "__name__", type(fn).__name__)
        self.recorder = recorder(name, changing, None if symbols is None else symbols.scope)
        self.recorder.modules.entered = self._called.__code__
        self.result: Any = None
        self.has_returned = False
        self.is_as_eager = False        # whether the function did what eager code does, though the recording failed
        self.may_repeat = False         # whether else it wrote nothing yet
        self.template: Any = None
        self.has_proxy_keys = False                 # whether dictionaries in its result have proxies as keys
        self.containers = ArgumentContainers((), ())        # of which it may give and change what its caller has,
        self.keeps_identity = False                 # if that is where what is recorded will be called
        self.recording: Any = None
        self.guards: list = []
        self.moving: list = []      # `ChangedValue`s of the numbers that the run reads and moves on

    def _check_objects(self, taken):
        """Raise if the run gave objects among the arguments other attributes: they count by identity from now on."""
        changed = self.containers.changed_objects()
        for x in changed:
            taken.needs_itself(x)
        if changed:
            raise DisturbedError(self.objects.learn(taken, taken.names, ()))

    def _set_objects_back(self, taken, error):
        """Let objects that were taken apart count by identity after an error once the function has returned: it may do with the
        very object what it can't do with others."""
        if not taken.apart or not self.has_returned:
            return
        self.result = self.containers.settled(self.result)
        if not isinstance(error, DisturbedError):
            self.objects.give_up(set(map(type, taken.apart.values())))
            raise DisturbedError(str(error)) from error

    def _judge(self, tracker, error):
        """Note whether the result holds after an error of the recording: proxies and copies may have misled the function."""
        if self.recorder.refuses or isinstance(error, DisturbedError):
            return
        is_misled = isinstance(error, ProxyError) or tracker.status.is_misled or (
            self.containers.are_copies and tracker.known.compares)
        self.is_as_eager = self.has_returned and not is_misled and not isinstance(error, RanMoreError)
        self.may_repeat = not self.is_as_eager and not isinstance(error, RanMoreError) and not self._has_written(tracker)
        if self.may_repeat:
            tracker.chains.generators.undo()

    def _check_containers(self, before, tensors, now, read, were):
        """Raise if the arguments changed, except containers that `were` passed and tracked: a replay would not repeat the
        change."""
        leaves: list = []
        spec = flatten(now, leaves, read=read, met=ContainerTable(were=were, objects=self.objects))
        if spec != before or any(a is not b for a, b in zip(leaves, tensors)):
            raise TraceError("this function cannot be traced: it changes a container or an object among its arguments in a way "
                             "that calls could not repeat (for plain lists and dictionaries they can); return the new contents "
                             "instead")

    def _called(self, tracker, args, kwargs):
        try:
            result = self.run(*args, **kwargs)
        except BaseException as error:
            tracker.status.left_by = error
            is_refusal = isinstance(error, (TypeError, RecursionError))     # (C code may ask for another number for ever)
            # One that another thread raised has no arguments.
            if not is_refusal or not error.args or error is tracker.status.handler_error:
                self.containers.settle()
                raise
            is_said = any(kind.__name__ in str(error) for kind in PROXIES)
            if not is_said and (not self._has_stand_ins or self._has_written(tracker)):
                raise
            raise self._proxy_error(tracker, error, is_said) from error
        tracker.status.raise_caught()
        return result

    def _proxy_error(self, tracker, error, is_said) -> ProxyError:
        """Return the error of code in C that took no proxy, as its own `error` says if `is_said`."""
        found = ProxyError(f"this function cannot be traced: {error}{at(position_of(error))}. While a call is recorded, "
                           "numbers that change are objects, which Python takes for numbers, but some code in C does not; do "
                           "that in a function marked with jit.host, or outside")
        found.reads = LazyScalar.__name__ in str(error) or (not is_said and self.symbols is None)
        found.may_repeat = not self._has_written(tracker)
        if found.may_repeat:
            tracker.chains.generators.undo()
        return found

    @property
    def _has_stand_ins(self) -> bool:
        """Whether proxies stand for numbers that may differ at other calls."""
        return self.symbols is not None or self.recorder.reads.has_numbers

    def _has_written(self, tracker) -> bool:
        """Return whether the function has done anything so far that running it again would do twice."""
        try:
            return (self.containers.has_changed_callers or bool(self.containers.changed_objects() or tracker.written())
                    or self.recorder.finish([]).has_effects)
        except TraceError:
            return True

    def _devices(self, call) -> set:
        """Return the devices with memory, besides the host, that the recorded call works on."""
        tensors = [*call.leaves, *self.recorder.inputs.captured()]
        devices = [place_of(t._a.backend.local_of(t._a) if is_shared(t) else t._a) for t in tensors if isinstance(t, Tensor)]
        moves = [n.params for n in self.recorder.builder.nodes if n.op is place]
        ends = {str(params[end]) for params in moves for end in ("device", "source")}
        return {f"{kind}:{index}" for kind, index in filter(None, devices)} | (ends - {"cpu", "meta"})

    def _template_of(self, effects, contents, made, read):
        """Return (the template of the results, the different tensors in it)."""
        if not self.keeps_identity:
            return OutputTemplate.of(self.result, effects, made, read)
        effects += self.containers.targets(contents)
        namespaces = unprofiled(made.namespaces)
        known = {**{at: ByIdentity(d) for at, (d, _) in namespaces.items()}, **self.containers.specs(contents)}
        table = ContainerTable(known)
        found = OutputTemplate.of(self.result, effects, made, read, table)
        self.recorder.guards += [same_namespace(*namespaces[id(d)]) for d in table.held if id(d) in namespaces]
        contents.hold(table.held)
        self.has_proxy_keys = table.has_proxy_keys
        return found

    def record(self, call: Call):
        """Run the function on the arguments of a call, alone in the process, since it marks the tensors that it meets."""
        state = ProcessState()
        try:
            self._record(call, state)
        except TraceError as error:
            locate(error, self.fn)
            raise
        except BaseException as error:
            tracker = self.recorder.tracker
            if tracker is None or error is not tracker.status.left_by:      # else all contexts are left
                state.restore()
            raise

    def _note_parts(self, call, tracker, met, spec):
        """Note the containers and objects of which the arguments consist; `met` and `spec` are those of `flatten`."""
        parts = tracker.known.parts
        parts.taken.take(self.objects, met.containers)
        parts.end_at(held_by(spec))
        tracker.hosts.arguments = [*met.containers, *[g.array for g in call.arrays]]
        if call.containers is not None:
            self.containers, self.keeps_identity = ArgumentContainers([*met.containers, *met.wholes], call.given,
                                                                      parts.taken.apart), True

    def _record(self, call: Call, state: ProcessState):
        m, recorder, inputs = tls.m, self.recorder, call.inputs(self.symbols)
        lookups = SymbolicLookups(None if self.symbols is None else self.symbols.scope, inputs, self.tables)
        tracker = recorder.tracker = Tracker(inputs, lookups.private, recorder.optimizers.schedules.scheduled, self._remade)
        args, kwargs = call.arguments(self.symbols)
        tracker.called(self.fn, args, kwargs, call.leaves[: call.own_counts[0]])
        passed: list = []
        recorder.inputs.arrays |= {id(g.array): g.tensor for g in call.arrays}
        met = ContainerTable(objects=self.objects)
        before = flatten((args, kwargs), passed, read=recorder.reads.passthrough.part, met=met)
        fields = [(x, fields_of(x)) for x in met.containers if is_structure(x)]
        parts = tracker.known.parts
        self._note_parts(call, tracker, met, before)
        if self.symbols is not None:
            self.symbols.scope.printer = recorder.reads.printed.text
        state.contexts = (tracker.end, inputs.__exit__, lookups.__exit__, recorder.release, tracker.writes.settle_all)
        try:
            self._begin(call, m)
            try:
                effects, tensors, devices = self._run(call, tracker, lookups, inputs, args, kwargs)
                were = self.containers.were() | {id(x): fields_besides_caches(x, names) for x, names in fields}
                self._check_objects(parts.taken)
                self._check_containers(before, passed, (args, kwargs), recorder.reads.passthrough.part, were)
            except TraceError as error:
                self._set_objects_back(parts.taken, error)
                raise
            finally:
                self._release(m)
            tracker.writes.settle([])
            self.keeps_plain = lookups.is_written
            if self.template.has_proxies or self.template.has_reads or self.has_proxy_keys or self.containers.are_copies:
                self.result = self.template.recorded_result(tensors, call.given)
            self._check_usable(tracker, devices)
            self._set_guards(call, tracker, lookups, effects)
        except BaseException as error:
            self._leave_plain(tracker, error)
            raise
        finally:
            tracker.end()
        inputs.close()

    def _begin(self, call, m):
        """Record what this thread does from now on."""
        recorder = self.recorder
        recorder.tracker.begin()
        if call.has_moved():
            raise MovedError("what it reads changed before the call was recorded")
        m.recorder, m.sizes = recorder, None if self.symbols is None else recorder.shape_of
        m.refresh()

    def _leave_plain(self, tracker, error):
        """Leave plain numbers in what the function has written, and in its result, after an error."""
        if isinstance(error, TraceError):
            self._judge(tracker, error)
        left = [error, self.result]
        tracker.writes.settle(left)
        self.result = left[1]
        left.clear()            # (a circle)

    def _release(self, m):
        """Record nothing more in this thread."""
        m.recorder = m.sizes = None
        if self.symbols is not None:
            self.symbols.scope.printer = None
        self.recorder.release()
        m.refresh()

    def forget(self):
        """Break up recorder and tracker, which refer to each other: the arguments die as soon as their owner lets go."""
        tracker = self.recorder.tracker
        for cell in self.recorder.inputs.cells:         # the eager history of a result leads here
            cell.recorder = cell.root = None
        vars(self.recorder).clear()
        if tracker is not None:
            tracker.forget()

    def _run(self, call, tracker, lookups, inputs, args, kwargs) -> tuple:
        """Run the function under recorder and tracker, and set `recording`; return (effects, result tensors, devices)."""
        recorder = self.recorder
        for i, t in enumerate(call.leaves):
            recorder.inputs.argument(t, i, None if self.symbols is None else self.symbols.shape(i, t._a.shape))
        for g in call.arrays:
            if g.sizes_are_read:
                recorder.pin_sizes(g.tensor)
        with lookups, inputs, tracker:
            self.result = self._called(tracker, args, kwargs)
            self.has_returned = True
            if not recorder.runs_as_it_is:
                recorder.runs_as_it_is = unprofiled(tracker.hosts.against_order, recorder)
            if recorder.runs_as_it_is:
                raise RunEagerlyError(recorder.runs_as_it_is)
            made, read = NewObjects(recorder, tracker.known), recorder.reads.passthrough.part
            effects = [t for t in unprofiled(tracker.effects, made) if not recorder.optimizers.schedules.explains(t)]
            self.template, tensors = self._template_of(effects, tracker.contents, made, read)
            recorder.reads.passthrough.settle()
            recorder.reads.passthrough.check_tensors(tensors)
            devices = self._devices(call)
            written, apart = unprofiled(tracker.writes.state), unprofiled(tracker.compared_tensors)
            self.recording = self._finish(tensors, effects)
            self.recording.apart = apart
            if self.recording.backward is not None:
                unprofiled(tracker.writes.check_still, written)
                self.recording.backward = replace(self.recording.backward, read=unprofiled(tracker.read_in_backward))
            self.recording.template = self.template
            self.recording.reached = tracker.contents.containers() if self.containers.were() else []
        return effects, tensors, devices

    def _finish(self, tensors, effects):
        try:
            return self.recorder.finish(tensors)
        except UnrepeatableError as error:
            if not effects:
                raise
            raise ReplacedError(f"it leaves outside a tensor with an attribute that is {error.what}, which a trace could not "
                                "make again; make it outside") from error

    def _check_usable(self, tracker, devices):
        """Raise if a replay would not do what this call did."""
        first_time = self.recorder.first_time or tracker.status.first_time
        if first_time:
            raise FirstTimeError(f"{first_time}, which a recording cannot repeat")
        if len(devices) > 1:
            raise SeveralDevicesError(f"it works on {' and '.join(sorted(devices))}, and a compiled call works on one device")
        if self.keeps_plain:
            raise DisturbedError("it writes to a list that it looks up by a number, as it did not before")
        if tracker.status.replaced:
            raise ReplacedError(tracker.status.replaced)
        taken = tracker.known.parts.taken
        attributes = tracker.attributes
        if attributes.asks_all:
            taken.whole.update(map(type, taken.apart.values()))
        why = self.objects.learn(taken, tracker.tensors.names | attributes.names | taken.names, self.template.spec)
        if why:
            raise DisturbedError(why)

    def _set_compared_objects(self, call, reached):
        """Note which containers and arrays among the arguments the function reaches otherwise, too, if it compares any."""
        self.recording.apart_objects = reached
        self.recording.same_objects = same = [(i, x) for i, x in enumerate(call.objects()) if id(x) in reached]
        if same and self.symbols is not None and self.symbols.has_numbers:
            raise TraceError(f"this function cannot be traced: an argument is the {type(same[0][1]).__name__} that it reaches "
                             "otherwise, too, and it asks whether objects are the same; pass it in one way only")

    def _moving_numbers(self, scheduled) -> list:
        """Return the numbers that the run reads and then changes, or a schedule may: they differ at the next call."""
        found: dict = {}
        for g in self.guards:
            is_compared = type(g) is Guard and type(g.expected) in (int, float, Snapshot, Exactly)
            for m in (*g.changed_values(), *_scheduled_in(g, scheduled)) if is_compared else ():
                if m.is_number:
                    found.setdefault(m.place.identity, m)
        return [*found.values()]

    def _set_guards(self, call, tracker, lookups, effects):
        """Turn what the run has read into guards, and finish the recording."""
        recorder = self.recorder
        if recorder.reads.has_lent:
            tracker.reads.uses_numpy()
        self.guards = [*recorder.guards, *tracker.finish(effects, recorder.gradients.toggled_tensors(), recorder.links.touched,
                                                         held_by(self.template.spec))]
        self.moving = self._moving_numbers(recorder.optimizers.schedules.scheduled)
        tracker.chains.caches.check()
        targets = relocated(self.template.effects, tracker.contents.sole_references)
        self.template = self.recording.template = replace(self.template, effects=targets)
        self.recording.locks = tracker.hosts.locks.taken()
        self.recording.hosted = tracker.hosts.hosted(recorder, self.guards, targets, [o.value for o in self.recording.outputs])
        for guard in recorder.guards:
            tracker.known.tensors.update(guard.tensors())
        self.recording.same = tracker.reachable_arguments(call.leaves)
        self._set_compared_objects(call, tracker.compared_objects())
        fixed = recorder.gradients.guards(tracker.known.tensors)
        self.guards += [*fixed, *tracker.tensors.kind_guards(recorder.inputs.captured())]
        self.recording.same += [(i, t) for i, t in enumerate(call.leaves) if any(guard.leaf is t for guard in fixed)]
        self.looked_up = lookups.locations(self.guards, tracker.contents)
