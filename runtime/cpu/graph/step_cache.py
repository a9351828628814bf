"""A cache of prepared steps: equal steps of equal sizes share one prepared call, in all graphs.

A mixture of experts has the same layers over other numbers of rows in every training step, and so have its gradients. A kernel
is prepared, and its words are written, once for each number of rows, so most of its steps are found here.
"""

import functools
import itertools
from dataclasses import replace
from typing import Any, NamedTuple

from ....ir.graph.graph import Value
from ....ir.opdef.params import param_key, params_key
from ....ir.symbols.substitute import evaluator
from ....passes.codegen.llvm.loops import programs
from ....passes.codegen.llvm.loops.strategies import STREAMING
from ....passes.rewrite.kernel_body import is_free, source_of
from ....passes.schedule.plan_steps import Fused, Product
from ..calls import pool
from ..calls.step_list import Written
from ..conv import conv
from . import prepared_steps
from .plan_runner import kernel_call, work_of
from .prepared_steps import Prepared

_MOST_KINDS = 4096
_MOST_KEPT = 4096       # of all kinds together


class Sized(NamedTuple):
    """The prepared call of a kind of steps for some sizes.

    kernel    the words of a fused kernel
    prepared  the `Prepared` call of another step, without locations; None if Python must call
    offsets   the bytes to each operand from the start of the memory that it is in
    work      about how many elements of a fused kernel take as long
    asks      whether its words, beyond its operands' addresses, depend on these
    """

    kernel: Any
    prepared: Any
    offsets: tuple
    work: int
    asks: bool

    def written(self, threads: int) -> Written:
        """Return its words, if they do not depend on addresses."""
        return self.prepared.call.written(threads, False) if self.kernel is None else self.kernel

    @property
    def form(self):
        """A key of all that a plan depends on: native or not, scratch memory, whether it can fail, results written over
        operands."""
        return None if self.prepared is None else form_of(self.prepared)


def form_of(prepared: Prepared | None):
    """Return the form of a prepared step."""
    return None if prepared is None else (prepared.call.scratch_bytes > 0, prepared.call.can_fail, prepared.over)


class _Called:
    """Called steps that are alike, with their prepared calls by sizes; `sizes` are their symbolic numbers."""

    def __init__(self, step, likeness, sizes):
        self.step, self.sizes = step, sizes
        self._step_key = None if likeness is None else _number_of(likeness)

    def sized(self, sizes, copies, state) -> Sized:
        """Return their prepared call; `copies` gives the step for its sizes, `state` is what else plans depend on."""
        key = tuple([n.hex() if type(n) is float else n for n in sizes])
        cached = [] if self._step_key is None else _cache_entry(self._step_key, key, state)
        if cached:
            return cached[0]
        changes = pool.changes()
        made = _prepared(self.step, copies)
        if pool.changes() == changes:           # otherwise it may be for another number of threads
            cached.append(made)
        return made


class _Kernel:
    """Fused kernels that are alike, with sizes in their words.

    sizes   the numbers that they are called with, bytes to operands, and the sizes of these
    """

    def __init__(self, step):
        kernel = step.lowered
        self._buffers, self._asks = len(kernel.operands), kernel.strategy is STREAMING
        self._written = kernel_call(replace(kernel, symbols=dict.fromkeys(kernel.symbols, 0))).written(0, False)
        symbols = [kernel.symbols[s] for s in kernel.kernel.symbols]
        self._first, self._count = len(programs.HEAD) + self._buffers, len(symbols)
        self.sizes = [*symbols, *[offset * v.dtype.itemsize for v, offset, _ in kernel.operands],
                      *[v.aval.size for v, *_ in kernel.operands]]

    def sized(self, sizes, copies, state) -> Sized:
        words, after = self._written.words.copy(), self._count + self._buffers
        words[self._first:self._first + self._count] = sizes[:self._count]
        return Sized(self._written.with_words(words), None, sizes[self._count:after], max(sizes[after:], default=0), self._asks)


class Kinds:
    """The kinds of some steps, whose sizes follow from the values of `names`; `of` is {step: the number of its kind}."""

    def __init__(self, steps, names):
        self.of: dict = {}
        self._kinds: list = []          # (kind, slice of its own sizes)
        numbers: dict = {}
        every: list = []
        for s in steps:
            sizes: list = []
            likeness = _step_key(s, sizes)
            key = s if likeness is None else (likeness, tuple(map(param_key, sizes)))
            if key not in numbers:
                numbers[key] = len(numbers)
                kind: Any = _Kernel(s) if type(s) is Fused else _Called(s, likeness, sizes)
                self._kinds.append((kind, slice(len(every), len(every) + len(kind.sizes))))
                every += kind.sizes
            self.of[s] = numbers[key]
        self._sizes = evaluator(every, names)

    def sized(self, numbers, copies) -> list:
        """Return the prepared call of each kind, for these values of the names, by which `copies` gives steps."""
        sizes, state = self._sizes(*numbers), conv.state()
        return [kind.sized(sizes[own], copies, state) for kind, own in self._kinds]


def _prepared(step, copies) -> Sized:
    made = prepared_steps.prepare(copies.mapped(step))
    if made is None:
        return Sized(None, None, (), 0, False)
    offsets = tuple([offset for _, offset in made.operands])
    return Sized(None, made.at([None] * len(offsets)), offsets, work_of(step, {step: made}, copies), bool(made.call.over))


@functools.lru_cache(_MOST_KEPT)
def _cache_entry(likeness: int, sizes: tuple, state: tuple) -> list:
    """Return the cache entry, a list, of a kind of steps."""
    return []


_counter = itertools.count()


@functools.lru_cache(_MOST_KINDS)
def _number_of(likeness) -> int:
    return next(_counter)


def _step_key(step: Any, sizes: list):
    """Return a key, equal for steps with the same native call on operands of equal layouts, if their `sizes` are equal. None
    for a step that is like no other."""
    if type(step) is Fused:
        kernel = step.lowered
        return (kernel.kernel.name, kernel.strategy, params_key(kernel.symbols, sizes),
                tuple([(param_key((offset, *v.shape), sizes), v.dtype, written) for v, offset, written in kernel.operands]))
    node = step.node
    outputs = tuple([(param_key(v.shape, sizes), v.dtype) for v in node.outputs])
    alike = node.op, params_key(node.params, sizes), tuple([_look(x, sizes) for x in node.inputs]), outputs
    if type(step) is not Product:
        return alike
    epilogue = step.epilogue
    if epilogue.before != (None, None):
        return None
    operands = tuple([(v.dtype, param_key(tuple(at), sizes)) for v, *at in epilogue.operands])
    return *alike, epilogue.fused and epilogue.fused.name, operands


def _look(x, sizes):
    """Return a key of an operand: views of memory of some shape and dtype."""
    if type(x) is not Value:
        return param_key(x, sizes)
    views = []
    while is_free(x):
        node = x.node
        numbers = [param_key(n, sizes) for n in node.inputs if type(n) is not Value]
        views.append((node.op, params_key(node.params, sizes), tuple(numbers)))
        values = [v for v in node.inputs if type(v) is Value]
        if not values:
            break
        x = values[0]
    return tuple(views), param_key(x.shape, sizes), x.dtype


def locations_of(step) -> tuple:
    """Return the values behind a called step's operands and results, in the order of `Prepared.operands`; None for what is no
    array."""
    read = [source_of(x) if type(x) is Value else None for x in step.node.inputs]
    if type(step) is Product:
        return (*read, step.epilogue.result, *[v for v, *_ in step.epilogue.operands])
    return (*read, *step.node.outputs)
