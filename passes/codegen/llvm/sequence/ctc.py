"""Connectionist temporal classification as pool tasks; an item is one sequence.

A sequence with n labels has 2 n + 1 states: the labels with blanks between. `allow` is 0 where a state may be entered from two
before, else -infinity. A row holds the log probabilities of all states at one step, with -infinity on both sides, so that
neighbours are shifted loads. Before the first step (backwards: after the last) only the first (last) state is possible.

    labels  [sequences, width] i32, blank beyond a sequence's states; width is whole vectors
    allow   [sequences, width + a vector], -infinity beyond
    sizes   [sequences, 2] i64: steps, labels
"""

from dataclasses import dataclass

from ...fast_activations import log_sum
from ...scalars import apply
from ..contract.microkernel import add_lanes
from ..ir.emit import ElementWriter
from ..ir.memory_types import FLOAT_DTYPES
from ..ir.spelling import LlvmBuilder
from ..ir.types import I1, I32, I64, PTR, Value, bytes_of, constant, lanes_of, vector, zero
from ..pool.tasks import task_items

ARRAYS = ("logs", "labels", "allow", "sizes", "g", "out")
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "items", "steps", "classes", "width", "blank", "room")
_NONE = float("-inf")


@dataclass(frozen=True)
class CtcKernel(ElementWriter):
    """Generator of CTC losses and gradients."""

    @property
    def losses(self) -> str:
        """Name of the task for the losses."""
        return f"ctc_{self.element}"

    @property
    def gradients(self) -> str:
        """Name of the task for the gradients of log probabilities."""
        return f"ctc_grad_{self.element}"

    def room(self, width: int, steps: int) -> int:
        """Return the scratch bytes of a worker: all rows for gradients (`steps`), and three more."""
        return (steps + 4) * self.row(width) * bytes_of(self.element)

    def row(self, width):
        """Return the elements between rows."""
        return width + 2 * self.lanes

    def write(self, module):
        _write(module, self, self.losses, _loss)
        _write(module, self, self.gradients, _gradient)


def _write(module, kernel, symbol, body):
    with task_items(module, symbol, WORDS) as (f, job, number):
        body(_Sequence(f, kernel, job, number, f.at(job.address("scratch"), f.mul(f.params[2], job.room))))


class _Sequence:
    """One sequence: its sizes, its rows in the scratch, and steps over its states."""

    def __init__(self, f, kernel, job, number, scratch):
        self.f, self.kernel, self.job, self.number = f, kernel, job, number
        self.element, self.lanes, self.kind = kernel.element, kernel.lanes, FLOAT_DTYPES[kernel.element]
        self.line = vector(self.lanes, self.element)
        sizes, width = f.at(job.address("sizes"), f.mul(number, 2), I64), job.width
        self.steps, self.last = f.load(I64, sizes), f.mul(f.load(I64, f.at(sizes, 1, I64)), 2)
        self.labels = f.at(job.address("labels"), f.mul(number, width), I32)
        self.allow = f.at(job.address("allow"), f.mul(number, f.add(width, self.lanes)), self.element)
        self.span = f.add(width, 2 * self.lanes)
        self.rows = f.at(scratch, self.lanes, self.element)
        self.classes, self.logs = job.classes, job.address("logs")

    def row(self, number) -> Value:
        return self.f.at(self.rows, self.f.mul(number, self.span), self.element)

    def at_step(self, array, step) -> Value:
        f = self.f
        return f.at(array, f.mul(f.add(f.mul(step, self.job.items), self.number), self.classes), self.element)

    def begin(self, row, state):
        """Write a row with only one possible state."""
        f = self.f
        start, nothing = f.at(row, -self.lanes, self.element), constant(self.line, _NONE)
        with f.loop(0, self.span, self.lanes) as loop:
            f.store(nothing, f.at(start, loop.index, self.element))
        f.store(constant(self.element, 0.0), f.at(row, state, self.element))

    def arrive(self, row, at, back: bool) -> Value:
        """Return the log probability of entering states from themselves, their neighbours and, where allowed, two before."""
        f, one, two = self.f, *((1, 2) if back else (-1, -2))
        addresses = [f.at(row, f.add(at, away), self.element) for away in (0, one, two)]
        near, next_, far = [f.load(self.line, address) for address in addresses]
        allowed = f.load(self.line, f.at(self.allow, f.add(at, 2 if back else 0), self.element))
        return self.sum_of((near, next_, f.fadd(far, allowed)))

    def sum_of(self, logs) -> Value:
        s = LlvmBuilder(self.f, lanes_of(logs[0].type))
        return log_sum(s, *[s.wrap(self.kind, x) for x in logs]).ref

    def emitted(self, classes, at) -> Value:
        f = self.f
        labels = f.load(vector(self.lanes, I32), f.at(self.labels, at, I32))
        return f.gather(self.line, f.op(vector(self.lanes, PTR), f"getelementptr {self.element}, {classes}, {labels}"))

    def forward(self, saves_rows: bool) -> Value:
        """Return the log probability of the whole target. Rows are all stored, from before the first step, or alternate."""
        f = self.f
        self.begin(self.row(0), 0)
        self.begin(self.row(1), 0)
        with f.loop(0, self.steps, 1, (self.row(0), self.row(1))) as steps:
            before, now = steps.carried
            if saves_rows:
                f.store(constant(self.line, _NONE), f.at(now, -self.lanes, self.element))
            classes = self.at_step(self.logs, steps.index)
            with f.loop(0, f.add(self.last, 1), self.lanes) as loop:
                found = f.fadd(self.arrive(before, loop.index, False), self.emitted(classes, loop.index))
                f.store(found, f.at(now, loop.index, self.element))
            steps.next(now, f.at(now, self.span, self.element) if saves_rows else before)
        ends = f.at(steps.results[0], self.last, self.element)
        return self.sum_of([f.load(self.element, ends), f.load(self.element, f.at(ends, -1, self.element))])


def _loss(sequence):
    f = sequence.f
    f.store(f.fneg(sequence.forward(False)), f.at(sequence.job.address("out"), sequence.number, sequence.element))


def _gradient(sequence):
    """Walk back from the last step and subtract each label's share of probability; a loss that is not finite gives nan."""
    f, element = sequence.f, sequence.element
    total, nothing = sequence.forward(True), constant(element, 0.0)
    g = f.load(element, f.at(sequence.job.address("g"), sequence.number, element))
    none = f.fadd(f.fmul(total, nothing), f.fmul(g, nothing))
    is_sound = f.compare("oeq", none, nothing)
    start = f.select(f.compare("oeq", g, nothing), nothing, f.select(is_sound, nothing, none))
    with f.loop(0, sequence.steps) as loop:
        _fill(sequence, loop.index, start)
    with f.loop(sequence.steps, sequence.job.steps) as loop:
        _fill(sequence, loop.index, nothing)
    spare = f.add(sequence.job.steps, 1)
    shares, *turns = [sequence.row(f.add(spare, n)) for n in range(3)]
    for row in turns:
        sequence.begin(row, sequence.last)
    with f.when(is_sound), f.loop(0, sequence.steps, 1, turns) as steps:
        after, now = steps.carried
        step = f.sub(f.sub(sequence.steps, 1), steps.index)
        of_blank = _share(sequence, step, total, g, after, now, shares)
        _take(sequence, step, shares, of_blank)
        steps.next(now, after)


def _fill(sequence, step, number):
    f, row = sequence.f, sequence.at_step(sequence.job.address("out"), step)
    numbers = f.splat(number, sequence.lanes)

    def body(at, mask):
        spot = f.at(row, at, sequence.element)
        f.store_masked(numbers, spot, mask)

    f.vectors(sequence.classes, sequence.lanes, body)


def _share(sequence, step, total, g, after, now, shares) -> Value:
    """Write a row backwards and the shares of its states, times the incoming gradient; return the blanks' sum."""
    f, lanes, element, line = sequence.f, sequence.lanes, sequence.element, sequence.line
    g = f.splat(g, lanes)
    classes, prefixes = sequence.at_step(sequence.logs, step), sequence.row(f.add(step, 1))
    s, whole = LlvmBuilder(f, lanes), f.splat(total, lanes)
    even = Value(vector(lanes, I1), f"<{', '.join(f'i1 {str(n % 2 == 0).lower()}' for n in range(lanes))}>")
    with f.loop(0, f.add(sequence.last, 1), lanes, [zero(line)]) as loop:
        rest = sequence.arrive(after, loop.index, True)
        f.store(f.fadd(rest, sequence.emitted(classes, loop.index)), f.at(now, loop.index, element))
        through = f.fsub(f.fadd(f.load(line, f.at(prefixes, loop.index, element)), rest), whole)
        share = f.fmul(apply(s, "exp", s.wrap(sequence.kind, through)).ref, g)
        f.store(share, f.at(shares, loop.index, element))
        loop.next(f.fadd(loop.carried[0], f.select(even, share, zero(line))))
    return add_lanes(f, loop.results[0])


def _take(sequence, step, shares, of_blank):
    """Subtract the shares of a step from the gradients of its labels, one after the other."""
    f, element = sequence.f, sequence.element
    row = sequence.at_step(sequence.job.address("out"), step)

    def take(label, share):
        spot = f.at(row, label, element)
        f.store(f.fsub(f.load(element, spot), share), spot)

    take(sequence.job.blank, of_blank)
    with f.loop(1, sequence.last, 2) as loop:
        label = f.cast("sext", f.load(I32, f.at(sequence.labels, loop.index, I32)), I64)
        take(label, f.load(element, f.at(shares, loop.index, element)))
