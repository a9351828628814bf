"""One eager run of a function or module, recorded as a graph of its arguments and the tensors that it reads.

An exported model runs without Python. Reading values into Python, writing to outside tensors or Python state, random draws and
printing are therefore refused, with the user's line. Python state that is read becomes constants of the file
(`python_state.py`).
"""

import functools
import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ....ir.errors import AutogradError
from ....ir.graph.graph import Builder, Graph, Value
from ....ir.symbols.substitute import collect, has_symbols
from ....ir.symbols.symbolic import pinned
from ....runtime.autograd.grad_mode import no_grad
from ....runtime.core.storage import user_line
from ....runtime.core.tensor import Tensor
from ....runtime.nn.base.module import Module
from ....runtime.nn.base.parameter import Parameter
from ....runtime.state.mode import tls
from ...errors.errors import ExportError, at
from ...guards.arg_pytree import flatten
from ...guards.frames import unprofiled
from ...guards.locations import StateInputs
from ...guards.symbolic_lookups import SymbolicLookups
from ...proxies.new_objects import NewObjects
from ...python_state.tracker import Tracker
from ...recorder.record import Recorder
from ...tracing.recorded_call import RECORDING
from ...tracing.trace import Traced
from .buffer_mutations import NO_STATE, State
from .cond_branches import CondBranches
from .module_calls import ModuleCalls
from .python_state import constants, refuse_effects
from .signature import HoldsWeights


@dataclass(frozen=True)
class Captured:
    """A recorded run.

    graph     graph whose inputs are the arguments, in order, then the weights
    weights   {name: tensor} of captured tensors
    result    return value of the run
    state     names of the buffers written: inputs after the arguments; their new values are outputs after the results
    modules   calls of modules
    has_gates whether gradients may have gone through both branches of a `cond`
    constants {name: value in words} of the Python state that the run read
    """

    graph: Graph
    weights: dict
    result: object
    state: tuple = ()
    modules: ModuleCalls = field(default_factory=ModuleCalls)
    has_gates: bool = False
    constants: dict = field(default_factory=dict)


def capture(fn, args, kwargs, tensors, symbols=None, state: State = NO_STATE, signatures_of=(), failures=None,
            names=()) -> Captured:
    """Run `fn(*args, **kwargs)` eagerly without gradients, and record it.

    tensors         tensors in the arguments, in order
    symbols         their symbolic sizes
    state           buffers that may be written
    signatures_of   paths of modules whose arguments and results are recorded
    failures        list to which refusals are appended; without it, the first one raises
    names           names of the tensors
    """
    m, plain = tls.m, _plain(fn)
    if m.recorder is not None:
        raise ExportError("export was called inside a traced function; call it outside")
    name = getattr(plain, "__name__", type(plain).__name__)
    calls = ModuleCalls(_holders(fn), signatures_of)
    recorder = _ExportRecorder(names_of(fn), name, None if symbols is None else symbols.scope, state, calls, failures)
    inputs = StateInputs(is_symbolic=symbols is not None)
    tracker = recorder.tracker = Tracker(inputs, SymbolicLookups(None, inputs, ()).private)
    tracker.called(plain, args, kwargs, tensors)
    with RECORDING, no_grad():
        try:
            tracker.begin()
            m.recorder, m.sizes = recorder, None if symbols is None else recorder.shape_of
            m.refresh()
            recorder.limits.argument_ids = {id(t) for t in tensors}
            for i, t in enumerate(tensors):
                shape = None if symbols is None else symbols.shape(i, t._a.shape)
                recorder.inputs.argument(t, i, shape, names[i] if names else "")
            with _told_of_gradients(), calls.heard(recorder.value_of), inputs, tracker:
                result = plain(*args, **kwargs)
                tracker.status.raise_caught()
                effects = unprofiled(tracker.effects, NewObjects(recorder, tracker.known))
            refuse_effects(effects, recorder.limits)
            handed_out = _tensors_of(result)
            exchanged = state.exchanged()
            recording = recorder.finish([*handed_out, *exchanged.values()])
        finally:
            m.recorder = m.sizes = None
            recorder.release()
            tracker.end()
            m.refresh()
        read = constants(tracker.finish(effects), tracker.reads.module_reads)
    tracker.forget()
    # Behind the results are wholes of which some are parts, for replays. A model's results do not share memory.
    count = len(handed_out)
    written = {state.names[id(recording.sources[at].what)]: value for at, value in recording.updates}
    written |= {name: o.value for name, o in zip(exchanged, recording.outputs[count:count + len(exchanged)])}
    written = {name: written[name] for name in state.names.values() if name in written}
    state.check({name: value.aval for name, value in written.items()})
    graph = recording.builder.finish([*[o.value for o in recording.outputs[:count]], *written.values()])
    return replace(_with_arguments_first(graph, recording.sources, recorder.limits, result, len(tensors), tuple(written)),
                   constants=read)


@contextmanager
def _told_of_gradients():
    """Add to errors of differentiation that exports run under no_grad()."""
    try:
        yield
    except AutogradError as e:
        raise ExportError(f"{e} (an export runs the function under no_grad(); what it differentiates inside is written "
                          "under enable_grad())") from e


def _tensors_of(result) -> list:
    """Return the tensors in a result, in which no number may depend on sizes that may change."""
    tensors: list = []
    if has_symbols(flatten(result, tensors)):
        raise ExportError("the function returns a size that may change as a number; leave it out, or return a tensor")
    return tensors


def _plain(fn):
    return fn.fn if isinstance(fn, Traced) else fn


def names_of(fn) -> dict:
    """Return {id of a tensor: its name} for the tensors of a module, a method's module, or a function's closure and globals."""
    found: dict = {}
    for prefix, holder in _holders(fn):
        if isinstance(holder, Tensor):
            found.setdefault(id(holder), prefix)
        elif isinstance(holder, Module):
            for name, t in (*holder.named_parameters(), *holder.named_buffers()):
                found.setdefault(id(t), f"{prefix}.{name}" if prefix else name)
        elif isinstance(holder, HoldsWeights):
            for name, t in holder.named_weights()[0].items():
                found.setdefault(id(t), f"{prefix}.{name}" if prefix else name)
    return found


def state_of(fn) -> State:
    """Return the buffers of the modules that a function may write."""
    return State([(f"{prefix}.{name}".strip("."), module) for prefix, holder in _holders(fn) if isinstance(holder, Module)
                  for name, module in holder.named_modules()])


def kinds_of(fn, weights: dict) -> dict:
    """Return {name of a weight: "parameter", "buffer" or "passing buffer"}.

    A passing buffer is in no state_dict. Weights that no module holds are missing.
    """
    kinds: dict = {}
    for _, holder in _holders(fn):
        if isinstance(holder, HoldsWeights):
            tensors, known = holder.named_weights()
            kinds.update({id(t): known[name] for name, t in tensors.items() if name in known})
        for module in holder.modules() if isinstance(holder, Module) else ():
            passing = module._non_persistent_buffers_set
            kinds.update({id(t): "passing buffer" if name in passing else "buffer" for name, t in module._buffers.items()})
    named = {name: "parameter" if isinstance(t, Parameter) else kinds.get(id(t)) for name, t in weights.items()}
    return {name: kind for name, kind in named.items() if kind is not None}


def _holders(fn) -> list:
    """Return (name, object) of the places from which a function may take tensors."""
    fn = _plain(fn)
    while isinstance(fn, functools.partial):
        fn = _plain(fn.func)
    holders = {"": fn, **({"": fn.__self__} if hasattr(fn, "__self__") else {})}
    code = getattr(fn, "__code__", None)
    if code is not None:
        cells = zip(code.co_freevars, fn.__closure__ or ())
        holders |= {name: cell.cell_contents for name, cell in cells if _filled(cell)}
        holders |= {name: fn.__globals__[name] for name in code.co_names if name in fn.__globals__}
    return [(prefix, _plain(holder)) for prefix, holder in holders.items()]


def _filled(cell):
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


class _Limits:
    """Limits of an exported run: its arguments, names of tensors, buffers that it may write, and refused actions."""

    def __init__(self, recorder, known, state, calls, failures):
        self.recorder, self.known, self.state, self.calls, self.failures = recorder, known, state, calls, failures
        self.argument_ids: set = set()
        self.branches = CondBranches(recorder)

    def called(self, t) -> str:
        return self.known.get(id(t)) or f"a tensor of {t.aval}"

    def refuse(self, message: str):
        """Refuse an action: raise, or append to the failures of a draft."""
        if self.failures is None:
            raise ExportError(message)
        self.failures.append(message)

    def follows_arguments(self, value) -> bool:
        """Return whether a value depends on arguments, or on buffers that are written."""
        sources = self.recorder.inputs.sources
        return any(sources[v.index].kind == "argument" or self.state.changes(sources[v.index].what)
                   for v in values_behind(value) if v.node is None)

    def check_write(self, cell):
        """Refuse a write to an argument, or to outside memory that is no buffer of the state."""
        root = cell.root
        if id(root) in self.argument_ids:
            self.refuse(f"it writes to an argument, {self.called(root)}{at(user_line())}, and an exported model leaves what it "
                        "is given as it is; write to a copy, x.clone(), and return that")
        elif root is not None and (root._base is not None or not self.state.takes(root)):
            self.refuse(f"it writes to {self.called(root)}{at(user_line())}, which lives outside: {self.state.refusal}")
        self.branches.check_write(cell)


class _ExportRecorder(Recorder):
    """Recorder that refuses actions which an exported model cannot repeat."""

    differentiates = repeats_messages = may_end_early = False
    fixes_weights = True

    def __init__(self, known, name, scope, state, calls, failures):
        super().__init__(re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "model", scope=scope)
        self.limits = _Limits(self, known, state, calls, failures)

    def module_around(self) -> str:
        return self.limits.calls.current

    def read(self, t, how, value):
        """Let Python read values that depend on weights alone; they are fixed."""
        if how != "len" and self.limits.follows_arguments(self.value_of(t)):
            more = " or on buffers that are written" if self.limits.state else ""
            self.limits.refuse(f"{how}() reads a value that depends on the arguments{more} "
                        f"into Python{at(user_line())}: an exported model has no Python to decide with; compute with "
                        "tensors instead (where, masks, clamp), or decide by ingot.cond")
            return value
        for n in {} if how == "len" else _numbers_of(self.value_of(t)):
            pinned(n)
        return value

    def is_named(self, t):
        """Return whether a tensor is a parameter or buffer, which comes in as itself even if it is a view."""
        return id(t) in self.limits.known

    def wrote(self, dst, src):
        """Let the function write to memory that it made, and to buffers of the state."""
        self.limits.check_write(self.link(dst).cell)
        super().wrote(dst, src)

    # Branches of `cond`.

    def keeps_branches(self, pred: Tensor) -> bool:
        """Return whether the answer depends on the arguments; an answer that depends on weights alone is fixed."""
        return self.limits.follows_arguments(self.value_of(pred))

    def both(self, pred: Tensor, true_fn, false_fn, operands):
        return self.limits.branches.record(pred, true_fn, false_fn, operands)

    def fresh(self, t, value):
        """Give a tensor memory of its own, which the innermost branch has made."""
        super().fresh(t, value)
        self.limits.branches.created(t._storage.cell)

    def value_of(self, t: Tensor) -> Value:
        """Return the graph value of a tensor, unless a branch made it and somebody else reads it."""
        self.limits.branches.check_read(self.link(t).cell)
        return super().value_of(t)

    def refuse_rounds(self):
        """Refuse a loop whose number of rounds depends on the arguments."""
        raise ExportError(f"how many rounds while_loop does{at(user_line())} depends on the arguments, and an exported model "
                          "has no Python that would see to it: do a fixed number of rounds, in which cond or where leaves as "
                          "it is what is done")

    def permits(self, action, t=None):
        """Report an action that an exported model cannot repeat, and return False."""
        root = None if t is None else self.link(t).cell.root
        if action == "data" and root is None:       # memory that the function made may be exchanged
            return True
        what = root is not None and self.limits.called(root)
        self.limits.refuse(_UNREPEATABLE[action].format(where=at(user_line()), what=what))
        return False


_UNREPEATABLE = {
    "data": "it sets .data of {what}{where}, which lives outside: an exported model keeps no state",
    "schedule step": "it steps a learning rate schedule{where}, which an exported model cannot do",
    "schedule read": "it reads a learning rate schedule{where}, which an exported model cannot do",
    "random": "it draws random numbers{where}: call .eval() on the module before the export, or take the random tensor as an "
              "argument",
    "counter": "it moves a counter on{where}, which an exported model cannot do; take the number as an argument",
    "clock": "it reads the clock{where}, which an exported model cannot do; take the time as an argument",
    "print": "it prints{where}, which an exported model cannot do; print what it returns",
    "host": "it calls a host function{where}, which an exported model cannot do"}


def _numbers_of(value) -> list:
    """Return the symbolic numbers that a value depends on."""
    found: dict = {}
    for v in values_behind(value):
        collect(v.aval.shape, found)
        if v.node is not None:
            collect((v.node.inputs, tuple(v.node.params.values())), found)
    return list(found.values())


def values_behind(value: Value) -> set:
    """Return a graph value and all values that it depends on."""
    stack, seen = [value], {value}
    while stack:
        node = stack.pop().node
        for x in node.inputs if node is not None else ():
            if type(x) is Value and x not in seen:
                seen.add(x)
                stack.append(x)
    return seen


def _with_arguments_first(graph, sources, limits, result, count, written) -> Captured:
    """Return the run with its graph's inputs in order: arguments, written buffers, then weights with unique names."""
    initial = limits.state.tensors(written)
    state: dict = dict.fromkeys(written)
    weights: dict = {}
    first: list = [None] * count
    rest = []
    unnamed = 0
    for v, source in zip(graph.inputs, sources):
        if source.kind == "argument":
            first[source.what] = (v, v.name)
            continue
        if source.kind != "captured":
            raise ExportError(f"it uses a {source.kind} from outside, which cannot be exported")
        if limits.state.names.get(id(source.what)) in state:
            state[limits.state.names[id(source.what)]] = v
            continue
        name = limits.known.get(id(source.what)) or f"constant_{unnamed}"
        unnamed += id(source.what) not in limits.known
        name = name if name not in weights else f"{name}_{len(weights)}"
        weights[name] = source.what
        rest.append((v, name))
    middle = [(v if v is not None else Value(t.aval), name) for (name, v), t in zip(state.items(), initial)]
    ordered, values = with_inputs(graph, [*first, *middle, *rest])
    limits.calls.move_to(values)
    return Captured(ordered, weights, result, written, limits.calls, limits.branches.has_gates)


def with_inputs(graph: Graph, order) -> tuple:
    """Return (the graph with other inputs, {value: its copy there}).

    `order` has pairs of an input and its new name. A value that is no input of the graph becomes an unused one.
    """
    b = Builder(graph.name)
    env = {v: b.input(name, v.aval) for v, name in order}
    return b.finish_like(graph, b.inline(graph, env)), env
