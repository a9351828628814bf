"""Recordings of an export: the graph with symbolic named sizes, and variants with sizes of 1 and 0.

A symbolic size is at least 2: size 1 broadcasts, and size 0 leaves nothing to reduce. A file holds all variants, and a call
takes the one for its sizes.
"""

import itertools
from dataclasses import dataclass, field, replace

import numpy as np

from ....ir.errors import ArgumentError, IngotError
from ....ir.graph.graph import Graph
from ....ir.graph.printer import format_line
from ....ir.symbols.scope import LEAST
from ....ir.symbols.symbolic import SymInt
from ....passes.rewrite import pass_manager
from ....runtime.api.register.register import FUNCTIONS
from ....runtime.autograd.grad_mode import no_grad
from ....runtime.cpu.graph import machine_passes
from ...errors.errors import ExportError, PinnedSize
from ...errors.parameters import unique
from ...tracing.dynamic_shapes import SIZE, Symbols
from ...tracing.record_graph import for_elsewhere
from ...tracing.trace import Traced
from . import treespec
from .buffer_mutations import NO_STATE, State
from .capture import capture, kinds_of, state_of
from .example_inputs import Dims, Example, arguments_of, dims_of, others, recordable, result_names
from .module_calls import ModuleCalls
from .prepare import freeze as frozen
from .prepare import without_unused
from .signature import Signature, TensorSpec, holds

_FAILURES = (IngotError, ArithmeticError, ValueError, IndexError, AssertionError, RuntimeError, TypeError)
_MOST_NAMES = 4        # named sizes for which all sets of sizes of 1 are recorded; of more, each by itself


@dataclass
class Variant:
    """One recording: `fixed` are its sizes of 1 or 0, `conditions` {text: the user's line} its conditions on the others."""

    graph: Graph
    weights: dict            # name -> tensor, in the order of the graph's inputs after the arguments
    fixed: dict
    conditions: dict
    example: Example
    state: tuple = ()        # names of buffers that it writes
    modules: ModuleCalls = field(default_factory=ModuleCalls)
    has_gates: bool = False  # whether gradients went through both branches of a `cond`
    constants: dict = field(default_factory=dict)       # {name: value in words} of the Python state that was read


@dataclass
class Recorded:
    """All recordings of an export. In the first variant all named sizes are symbols."""

    variants: list
    signature: Signature
    dims: Dims
    examples: list
    kinds: dict              # of weights, by name
    state: State = NO_STATE

    @property
    def ready(self) -> list:
        """Numbers of the examples whose graphs become images: the user's example, and those with sizes of 1."""
        return [i for i, e in enumerate(self.examples) if not i or 1 in e.sizes.values()]

    def variant_for(self, sizes: dict):
        """Return the variant for named sizes, or None if they are not allowed."""
        small = {name: n for name, n in sizes.items() if n < LEAST}
        found = next((v for v in self.variants if v.fixed == small), None)
        return found if found is not None and all(holds(c, sizes) for c in found.conditions) else None


@for_elsewhere()
def record(fn, example_inputs, dynamic=None, *, empty: bool = True, stateful: bool = False, signatures_of=()) -> Recorded:
    """Record `fn` once for each variant; those with sizes of 0 only if `empty`.

    A `stateful` function may write to buffers of modules, which are restored afterwards. `signatures_of` are paths of modules
    whose arguments and results are recorded.
    """
    if not callable(fn):
        raise ArgumentError(f"export takes a function or a module, got {type(fn).__name__}")
    fn = fn.fn if isinstance(fn, Traced) else fn
    given = arguments_of(fn, example_inputs)
    example = Example(given.structure, given.tensors, {}, names=tuple(given.names))
    dims = dims_of(dynamic, example.tensors, given.names, given.owners)
    sizes = dims.sizes(example.tensors)
    state = state_of(fn) if stateful else NO_STATE
    first, outputs, results = _variant(fn, example, dims, recordable(sizes), {}, state, signatures_of)
    if first.state:
        state.expect(first.state)
        first, outputs, results = _variant(fn, example, dims, recordable(sizes), {}, state, signatures_of)
    names = unique([*given.names, *first.state]), unique([*outputs, *[f"{name}.next" for name in first.state]])
    signature = Signature(_specs(names[0], first.graph.inputs), _specs(names[1], first.graph.outputs), example.structure,
                          results, dims.order, tuple(given.parameters), first.state)
    kinds = kinds_of(fn, {**first.modules.tensors, **first.weights, **state.buffers(first.state)})
    made = Recorded([first], signature, dims, [], kinds, state)
    for fixed in _small_sizes(dims.order, empty):
        _add_variant(made, fn, example, recordable(sizes), fixed, results)
    _add_examples(made, fn, example, sizes)
    return made


def _specs(names, values):
    shapes = [tuple([s.text if type(s) is SymInt else s for s in v.shape]) for v in values]
    return tuple([TensorSpec(n, v.dtype, shape) for n, v, shape in zip(names, values, shapes)])


def _variant(fn, example, dims, sizes, fixed, state, signatures_of=()) -> tuple:
    """Return (a recording with the sizes in `fixed` fixed and the others symbolic, names of the results, their structure)."""
    tensors = dims.resized(example.tensors, sizes)
    shapes = tuple([t._a.shape for t in tensors])
    extents = {(SIZE, i, d): x for (i, d), x in dims.extents.items() if x.name not in fixed}
    symbols = Symbols.of_extents(extents, shapes, LEAST) if extents else None
    args, kwargs = treespec.rebuild(example.structure, tensors)
    found: list = []
    names: list = []
    with state.restored():
        made = capture(fn, args, kwargs, tensors, symbols, state, signatures_of, names=example.names)
        described = treespec.describe(made.result, found, names, "")
        results = _copies([*found, *state.now(made.state)])
    if not found:
        raise ExportError("the function returned no tensor, so there is nothing to export")
    if len(results) != len(made.graph.outputs):
        raise ExportError("the function returned numpy arrays, or tensors inside of objects; return tensors in lists, tuples "
                          "and dicts")
    refuse_fixed(symbols)
    ran = Example(example.structure, [*tensors, *state.tensors(made.state)], sizes, results)
    conditions = {} if symbols is None else dict(symbols.scope.conditions)
    variant = Variant(made.graph, made.weights, fixed, conditions, ran, made.state, made.modules, made.has_gates,
                      made.constants)
    return variant, result_names(names), described


def _copies(tensors) -> list:
    return [treespec.as_tensor(r).detach()._a.copy() for r in tensors]


def refuse_fixed(symbols):
    """Raise if the code used the value of a named size, with the user's line."""
    for name in symbols.scope.pinned if symbols is not None else ():
        for condition, line in symbols.scope.conditions.items():
            if "==" in condition and name in condition:
                where = f" at {format_line(line, full_paths=True)}" if line else ""
                raise PinnedSize(name, f"the size {name} cannot change: the code uses its value {symbols.scope.hints[name]}"
                                       f"{where} ({condition}); compute with x.shape and tensors, or leave it out of dynamic=")


def _small_sizes(names, empty: bool) -> list:
    """Return the fixed sizes of further recordings.

    They are sets of ones and, if `empty`, each size as 0, alone and beside a single 1. Of many names, each is taken by itself.
    """
    sets = range(1, (len(names) if len(names) <= _MOST_NAMES else 1) + 1)
    ones = [dict.fromkeys(chosen, 1) for count in sets for chosen in itertools.combinations(names, count)]
    singles = [{}, *[{name: 1} for name in (names if len(names) < _MOST_NAMES else ())]]
    return [*ones, *[{**one, name: 0} for name in names if empty for one in singles if name not in one]]


def _add_variant(recording, fn, example, sizes, fixed, results):
    """Add the variant with some sizes fixed, if the function runs with them and gives the same structure.

    Integers of the example may be indices that are then out of range, so it is tried with zeros too.
    """
    for given in (example, _without_integers(example)):
        try:
            variant, _, structure_ = _variant(fn, given, recording.dims, {**sizes, **fixed}, fixed, recording.state)
        except _FAILURES:
            continue
        signature = recording.signature
        values = [*variant.graph.inputs[:len(signature.inputs)], *variant.graph.outputs]
        if structure_ == results and variant.state == signature.state and signature.describes(values, fixed):
            recording.variants.append(variant)
        return


def _without_integers(example) -> Example:
    return replace(example, tensors=[FUNCTIONS["zeros_like"](t) if t._a.dtype.kind in "iu" else t for t in example.tensors])


def _add_examples(recording, fn, example, sizes):
    """Add examples at which the export is checked: the user's sizes, and for each named size two others that eager takes.

    A size that cannot change alone is changed with all others.
    """
    if recording.variant_for(sizes) is None:
        raise ExportError(f"the example's own sizes {sizes} do not meet the conditions of the recording")
    known = {tuple(v.example.sizes.items()): v.example for v in recording.variants}
    base = recordable(sizes)
    wanted = [[sizes], *[[{**base, name: n} for n in others(base[name])] for name in recording.dims.order],
              *[[{**base, **v.fixed}] for v in recording.variants[1:]]]
    all_changed = [dict(zip(base, row)) for row in zip(*[others(n) for n in base.values()])]
    for candidates in [*wanted, all_changed]:
        examples = recording.examples
        if candidates is all_changed and not any(len({e.sizes[name] for e in examples} - {0, 1}) < 2 for name in base):
            break
        enough = min(2, len(candidates))
        for candidate in candidates:
            before = known.get(tuple(candidate.items()))
            ran = before or _run_at(recording, fn, example, candidate)
            if before is not None and candidate is sizes:
                ran = _ran_again(recording, fn, example, before)
            if ran is not None and enough:
                known[tuple(candidate.items())] = ran
                recording.examples.append(ran)
                enough -= 1


def _ran_again(recording, fn, example, first) -> Example:
    """Return the recorded example; raise if a second run on the same arguments differs.

    Adding gradients of both branches of a `cond` may change the last bits of the recorded run: then return a later run.
    """
    second = _run_at(recording, fn, example, first.sizes)
    if _are_equal(first, second):
        return first
    has_gates = recording.variants[0].has_gates
    if not has_gates or second is None or not _are_equal(second, _run_at(recording, fn, example, first.sizes)):
        raise ExportError("a second run on the same arguments gives something else: the function keeps something between "
                          "calls, and an exported model has no state; take it as an argument and return the new value")
    return second


def _are_equal(first, second) -> bool:
    return second is not None and all(a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, a.dtype.kind in "fc")
                                      for a, b in zip(first.results, second.results))


def _run_at(recording, fn, example, sizes) -> Example | None:
    """Return eager's results at other sizes, or None if eager or the recording does not take them."""
    if recording.variant_for(sizes) is None:
        return None
    results: list = []
    try:
        tensors = recording.dims.resized(example.tensors, sizes)
        args, kwargs = treespec.rebuild(example.structure, tensors)
        with recording.state.restored():
            treespec.describe(run_eagerly(fn, args, kwargs), results, [])
            results = _copies([*results, *recording.state.now(recording.signature.state)])
    except _FAILURES:
        return None
    return Example(example.structure, [*tensors, *recording.state.tensors(recording.signature.state)], sizes, results)


def run_eagerly(fn, args, kwargs):
    """Call the function without gradients."""
    with no_grad():
        return fn(*args, **kwargs)


# Passes.


def optimized(recording: Recorded, freeze: bool) -> tuple:
    """Return ([each variant's graph after the passes for all machines and sizes], [its weights as arrays])."""
    count = len(recording.signature.inputs)
    graphs, weights = [], []
    for v in recording.variants:
        arrays = {name: t.detach()._a for name, t in v.weights.items()}
        scope = next((x.scope for x in v.graph.symbols.values()), None)
        before = set(scope.conditions) if scope is not None else set()
        graph = pass_manager.run(v.graph, machine_passes.PORTABLE)
        graph, own = frozen(graph, arrays, count) if freeze else without_unused(graph, arrays, count)
        if scope is not None and set(scope.conditions) - before:
            graph, own = without_unused(v.graph, arrays, count)      # the passes decided something by today's sizes
        graphs.append(graph)
        weights.append(own)
    return graphs, weights
