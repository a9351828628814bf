"""Jobs whose sizes come with each call.

The passes run for sizes that are there as an example, and note what they decide by it (a `Variant`). For other sizes of which
the same holds, numbers are put into what they made (a `Bound`): nothing is compiled, and no pass runs.
"""

import time
from collections import OrderedDict
from typing import Any

from ...ir.lazy import lazy
from ...passes.simplify.lift_numbers import lift_numbers
from ...runtime.core.device_array import DeviceArray
from ...runtime.cpu.graph import machine_passes
from ..inspect.report import announce
from .compile_segment import Job, Piece, Ready, without_collections
from .for_sizes import ForSizes

alloc = lazy(__package__, "...runtime.cpu.memory.alloc")

MOST_BOUND = 256        # sizes for which a job keeps what it runs, and
MOST_VARIANTS = 64      # ways of compiling it; those not used for longest go


def job_of(piece: Piece, wanted) -> Job:
    """What gives the wanted results of a piece."""
    return Job(piece, wanted) if piece.scope is None else SymbolicJob(piece, wanted)


class Variant(ForSizes):
    """A job's graph, compiled for all sizes that meet some conditions. `derived` is what is made of weights alone: the inputs
    between early numbers and late ones."""

    def __init__(self, job: "SymbolicJob", symbols, backend=None):
        scope = job.scope.at(symbols)
        graph, job.slots = job.piece.graph(job.wanted, scope)
        lifted = lift_numbers(graph)
        owned, targets = job.wishes()
        graph = job.passed(graph, machine_passes.TRACE if backend is None else backend.PASSES, lifted.graph)
        self.derived: Any = None
        if backend is None:
            graph, self.derived = job.without_derived(graph, targets)
        super().__init__(scope, graph, lifted.numbers, owned, targets, job.brief, backend)


class Bound:
    """A variant with numbers put in: a compiled graph, and the arrays that it takes beside the job's inputs."""

    def __init__(self, variant: Variant, symbols):
        self.variant = variant
        self.compiled = variant.copy(dict(zip(variant.scope.hints, symbols)))
        self.numbers = variant.numbers(symbols)
        self.takes_numbers = bool(variant.early or variant.late)
        self.is_plain = not self.takes_numbers and variant.derived is None

    def run(self, job, env, symbols):
        """The results of the job."""
        variant, arrays = self.variant, job.arrays(env)
        if not self.is_plain:
            early, late = self.numbers if variant.is_fixed else variant.numbers(symbols)
            derived = variant.derived.arrays() if variant.derived is not None else []
            arrays = [*arrays, *early, *derived, *late]
        return job.run_compiled(self.compiled, arrays)


class SymbolicJob(Job):
    """A job whose sizes come with each call."""

    def __init__(self, piece: Piece, wanted):
        super().__init__(piece, wanted)
        self.scope = piece.scope
        self.variants: list = []
        self.bound: OrderedDict = OrderedDict()
        self.variants_elsewhere: list = []        # on a device that is not the host
        self.elsewhere: OrderedDict = OrderedDict()
        self.bindings = 0
        self.names: frozenset = frozenset()       # that variants are bound for
        self._places: tuple = ()                  # of these among all names

    def _ask(self, names):
        """From now on values of these names, too, say what is bound: what was bound without them is made anew."""
        if not names <= self.names:
            self.names |= names
            self._places = tuple([i for i, name in enumerate(self.scope.hints) if name in self.names])
            self.bound.clear()
            self.elsewhere.clear()

    def _key(self, symbols):
        found = [symbols[i] for i in self._places]
        return tuple([n.hex() if type(n) is float else n for n in found])

    def _bind(self, symbols, backend=None):
        with self._lock:
            key, start = self._key(symbols), time.perf_counter()
            bound, variants = (self.bound, self.variants) if backend is None else (self.elsewhere, self.variants_elsewhere)
            known = self._sure(bound.get(key), symbols)
            if known is not None:
                return known
            variant = next((v for v in variants if v.holds(*symbols)), None)
            is_new = variant is None
            with without_collections():
                if variant is None:
                    alloc.empty_cache()      # the eager run left blocks that compiled code does not fit into
                    variant = Variant(self, symbols, backend)
                    variants[:] = [*variants[1 - MOST_VARIANTS:], variant]
                    self._ask(variant.names)
                    key = self._key(symbols)
                made = Bound(variant, symbols)
            self.compiled = made.compiled
            bound[key] = made
            self.bindings += 1
            while len(bound) > MOST_BOUND:
                bound.popitem(last=False)
            self.seconds += time.perf_counter() - start
            if is_new:
                announce(self, made.compiled)
            return made

    def run(self, env: dict, symbols=()) -> list:
        """The arrays of the results; `env` maps slots to arrays, `symbols` are the values of the scope's names."""
        bound = self._known(symbols)
        if bound is None:
            on_device = next((a for a in env.values() if a.__class__ is DeviceArray), None)
            bound = self._bind(symbols, None if on_device is None else on_device.backend)
        return bound.run(self, env, symbols)

    def _known(self, symbols):
        key = self._key(symbols)
        return self._sure(self.bound.get(key) or self.elsewhere.get(key), symbols)

    @staticmethod
    def _sure(bound, symbols):
        """What is bound, if it is good for numbers that are not put in, too."""
        return bound if bound is None or bound.variant.is_sure or bound.variant.holds(*symbols) else None

    def in_place(self, symbols=()) -> frozenset:
        """The positions of results that were written straight into the inputs that they replace."""
        return (self._known(symbols) or self._bind(symbols)).compiled.in_place

    def ready(self, symbols=()):
        """What runs arrays in the order of `slots`, if it is compiled; else None."""
        bound = self._known(symbols)
        if bound is None:
            return None
        compiled, variant = bound.compiled, bound.variant
        takes_symbols = bound.takes_numbers or not variant.is_sure
        return Ready(compiled if variant.is_elsewhere else compiled.whole, variant.derived, variant if takes_symbols else None)

    def compile(self):
        """What was compiled last, or for the sizes that were recorded, where that was."""
        return self.compiled or self._bind(tuple(self.scope.hints.values())[: self.piece.known], self.piece.backend).compiled
