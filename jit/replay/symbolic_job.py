"""Jobs with symbolic sizes: compiled once, and bound to the sizes of each call.

The passes run for example sizes and record the conditions of their decisions (a `Variant`). Other sizes that meet the
conditions are bound to the plan (a `Bound`): nothing is compiled, and no pass runs.
"""

import time
from collections import OrderedDict
from functools import partial

from ...ir.cached_property import cached_property
from ...ir.lazy import lazy
from ...ir.symbols.scope import Scope
from ...ir.symbols.substitute import condition_check, evaluator, names_in
from ...ir.symbols.symbolic import names_of
from ...passes.simplify.lift_numbers import lift_numbers, number_array
from ...runtime.core.backend import HOST
from ...runtime.core.device_array import MESH, DeviceArray
from ...runtime.state.mode import COUNTERS, OPEN_PROFILES, tls
from ..inspect.report import announce
from ..proxies.threads import without_collections
from .compile_segment import Job, Ready, Region

alloc = lazy(__package__, "...runtime.cpu.memory.alloc")

MOST_BOUND = 256        # bound sizes of a job; the oldest go
MOST_VARIANTS = 64      # variants of a job; the oldest go
MOST_UNBOUND = 8        # runs for the same sizes before these are bound
UNFIT = 32              # runs, for each variant, that none was good for, before another one is compiled
LARGE_WORK = 1 << 12    # small operators that take as long as a compilation


def job_of(region: Region, wanted) -> Job:
    """Return the job that computes the wanted results of a region."""
    return Job(region, wanted) if region.scope is None else SymbolicJob(region, wanted)


class SymbolicGraph:
    """A graph after its passes, planned for all sizes that meet the conditions of its scope, which is closed.

    binder    binds sizes to the plan, and numbers that are parameters of steps
    names     of the sizes and numbers that are bound
    early     (symbolic number, dtype) of inputs added before the passes: numbers of the arguments
    late      the same of the last inputs: sizes that are operands
    """

    def __init__(self, scope: Scope, graph, early: tuple, owned, targets=None, brief=frozenset(), backend=HOST):
        lifted = lift_numbers(graph)
        self.scope, self.early, self.late = scope, early, lifted.numbers
        self.names = frozenset().union(*map(names_of, lifted.graph.symbols.values()))
        self.sized = backend.sized(lifted.graph, owned, targets, brief)
        self.conditions = dict(scope.conditions)
        self.holds = condition_check(self.conditions, scope.hints)
        self.evaluate = evaluator([x for x, _ in (*self.early, *self.late)], scope.hints)
        self.is_fixed = all(names_of(x) <= self.names for x, _ in (*self.early, *self.late))
        self.is_sure = names_in(self.conditions, scope.hints) <= self.names     # binding decides all conditions
        scope.close()

    def copy(self, values: dict):
        """Return the compiled graph for `values` of the names."""
        return self.sized.bind(values)

    def numbers(self, symbols) -> tuple:
        """Return the arrays of the numbers: (early ones, late ones)."""
        kinds = (*self.early, *self.late)
        made = [number_array(n, kind) for n, (_, kind) in zip(self.evaluate(*symbols), kinds)]
        return made[: len(self.early)], made[len(self.early):]


class Variant(SymbolicGraph):
    """A job's graph, compiled for all sizes that meet some conditions. `derived` computes values of weights alone: the inputs
    between early numbers and late ones."""

    def __init__(self, job: "SymbolicJob", symbols, backend):
        scope = job.scope.at(symbols, job.region.names)
        graph, job.slots = job.region.graph(job.wanted, scope)
        lifted = lift_numbers(graph)
        owned, targets = job.wishes()
        graph = job.passed(graph, backend.PASSES, lifted.graph)
        graph, self.derived = job.without_derived(graph, targets, backend)
        super().__init__(scope, graph, lifted.numbers, owned, targets, job.brief, backend)


class Bound:
    """A variant bound to sizes: a compiled graph, and the arrays that it takes beside the job's inputs."""

    def __init__(self, variant: Variant, symbols):
        self.variant = variant
        self.compiled = variant.copy(dict(zip(variant.scope.hints, symbols)))
        self.numbers = variant.numbers(symbols)
        self.takes_numbers = bool(variant.early or variant.late)
        self.is_plain = not self.takes_numbers and variant.derived is None

    def run(self, job, env, symbols):
        variant, arrays = self.variant, job.arrays(env)
        if not self.is_plain:
            early, late = self.numbers if variant.is_fixed else variant.numbers(symbols)
            derived = variant.derived.arrays() if variant.derived is not None else []
            arrays = [*arrays, *early, *derived, *late]
        return job.run_compiled(self.compiled, arrays)


class SymbolicJob(Job):
    """A job with symbolic sizes; its variants on the host and on devices are apart."""

    def __init__(self, region: Region, wanted):
        super().__init__(region, wanted)
        self.scope = region.scope
        self.variants: list = []
        self.bound: OrderedDict = OrderedDict()
        self.variants_elsewhere: list = []        # on devices
        self.elsewhere: OrderedDict = OrderedDict()
        self.bindings = 0
        self._met: dict = {}        # values of symbols -> the number of runs without binding them
        self._unfit = 0             # runs that no variant was good for
        self.names: frozenset = frozenset()       # names that variants are bound for: the key of a binding
        self._positions: tuple = ()                  # their positions among all names

    def _add_names(self, names):
        """Add names to the key of bindings; bindings with shorter keys are dropped."""
        if not names <= self.names:
            self.names |= names
            self._positions = tuple([i for i, name in enumerate(self.scope.hints) if name in self.names])
            self.bound.clear()
            self.elsewhere.clear()

    def _key(self, symbols):
        found = [symbols[i] for i in self._positions]
        return tuple([n.hex() if type(n) is float else n for n in found])

    def _variants_on(self, backend) -> list:
        return self.variants if backend is HOST else self.variants_elsewhere

    def _bind(self, symbols, backend=HOST):
        with self._lock:
            key, start = self._key(symbols), time.perf_counter()
            bound, variants = self.bound if backend is HOST else self.elsewhere, self._variants_on(backend)
            known = self._sure(bound.get(key), symbols)
            if known is not None:
                return known
            variant = next((v for v in variants if v.holds(*symbols)), None)
            is_new = variant is None
            made = without_collections(partial(self._made, symbols, backend, variant))
            key = self._key(symbols)
            self.compiled = made.compiled
            bound[key] = made
            self.bindings += 1
            while len(bound) > MOST_BOUND:
                bound.popitem(last=False)
            self.seconds += time.perf_counter() - start
            if is_new:
                announce(self, made.compiled)
            return made

    def _made(self, symbols, backend, variant) -> Bound:
        if variant is None:
            alloc.empty_cache()      # the eager run left blocks that compiled code does not fit into
            variant, variants = Variant(self, symbols, backend), self._variants_on(backend)
            variants[:] = [*variants[1 - MOST_VARIANTS:], variant]
            self._add_names(variant.names)
        return Bound(variant, symbols)

    def run(self, env: dict, symbols=(), at_any_price=False) -> list:
        """Return the arrays of the results; `env` maps slots to arrays, `symbols` are the values of the scope's names."""
        bound = self._known(symbols)
        if bound is None:
            on_device = next((a for a in env.values() if a.__class__ is DeviceArray and a.kind != MESH), None)
            backend = HOST if on_device is None else on_device.backend
            goes_on = vars(self).get("stepwise") in (tls.m.journal or ())       # after an interrupt
            if goes_on or (backend is HOST and self._is_better_unbound(symbols, at_any_price)):
                return tls.m.quietly(self.stepwise.run, self.arrays(env), symbols)
            kind = "binding" if any([v.holds(*symbols) for v in self._variants_on(backend)]) else "compiling"  # noqa: C419
            bound = self._paid(kind, at_any_price, self._bind, symbols, backend)
        return bound.run(self, env, symbols)

    @cached_property
    def stepwise(self):
        """The recorded graph, to run operator by operator."""
        graph, self.slots = self.region.graph(self.wanted)
        return HOST.Stepwise(graph, list(self.scope.hints)[: self.region.known], *self.wishes())

    def _is_better_unbound(self, symbols, at_any_price) -> bool:
        """Return whether a call for new sizes is quicker without binding them: they came seldom, and the work is little."""
        if not self.variants or self.region.calls_host or COUNTERS or OPEN_PROFILES:
            return False
        if "stepwise" not in vars(self):        # its end has yet to be compiled
            self._paid("listing", at_any_price, lambda: self.stepwise)
        times = self._met.get(symbols, 0)
        variant = next((v for v in self.variants if v.holds(*symbols)), None)
        if variant is None:
            self._unfit += 1
        work = LARGE_WORK if variant is None else variant.sized.work
        if times >= MOST_UNBOUND or self._unfit > UNFIT * len(self.variants) or self.stepwise.work(symbols) > work:
            return False
        if len(self._met) >= MOST_BOUND:
            self._met.clear()
        self._met[symbols] = times + 1
        return True

    def _known(self, symbols):
        key = self._key(symbols)
        return self._sure(self.bound.get(key) or self.elsewhere.get(key), symbols)

    @staticmethod
    def _sure(bound, symbols):
        """Return a binding if it holds for the numbers that are not bound, else None."""
        return bound if bound is None or bound.variant.is_sure or bound.variant.holds(*symbols) else None

    def in_place(self, symbols, arrays) -> frozenset:
        unbound = getattr(arrays, "in_place", None)         # of `StepwiseResults`
        return unbound if unbound is not None else (self._known(symbols) or self._bind(symbols)).compiled.in_place

    def ready(self, symbols=()):
        """Return what runs arrays in the order of `slots`, if it is compiled, else None."""
        bound = self._known(symbols)
        if bound is None:
            return None
        compiled, variant = bound.compiled, bound.variant
        takes_symbols = bound.takes_numbers or not variant.is_sure
        return Ready(compiled.whole, variant.derived, variant if takes_symbols else None)

    def compile(self):
        """Return what was compiled last; compile for the recorded sizes if nothing was."""
        return self.compiled or self._bind(tuple(self.scope.hints.values())[: self.region.known], self.region.backend).compiled
