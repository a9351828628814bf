"""Batch normalisation of blocked channels (N, channel blocks, pixels, lanes), with the bits of `batch_norm.py`.

A block of channels is a vector, so every sum is computed for all of its channels at once. A channel's sum has the order of the
plain kernel: as many accumulators as that one has lanes in all its ways, joined the same way.

Three tasks follow each other, so that images can be divided among threads as well as blocks:

    sums    each run of a plane: its moments, or its sums of gradients, as float64 to `partials`
    join    each block: the joined runs, and the numbers for each channel's elements to `coefficients`
    apply   each plane: the result

The plain kernel gathers very short planes of a channel into one. `joined` sums in that order: a plane of the first two tasks is
then a block's pixels of all images.
"""

from dataclasses import dataclass
from typing import Any

from ..ir.emit import ModuleWriter
from ..ir.types import bytes_of, mangled, zero
from ..pool.tasks import open_task, split_index
from .batch_norm import RUN, WAYS, VectorStatistics

WORDS = ("x", "g", "y", "out", "operands", "partials", "coefficients", "items", "chunks", "images", "blocks", "channels",
         "size", "runs", "eps", "pixels")
TRAIN, GRAD = "train", "grad"
SUMS, JOIN, APPLY = STAGES = ("sums", "join", "apply")
PARTIALS = 2                                    # float64 vectors per run
COEFFICIENTS = {TRAIN: 3, GRAD: 4}              # vectors per block


@dataclass(frozen=True)
class BlockedNormKernel(ModuleWriter):
    """Generator of the tasks of TRAIN or GRAD; `relu` as in `BatchNormKernel`."""

    kind: str
    element: str
    relu: bool = False
    joined: bool = False

    def symbol(self, stage: str) -> str:
        ways = "_relu" * self.relu + "_joined" * self.joined
        return f"blocked_norm_{self.kind}_{stage}_{mangled(self.element)}{ways}"

    @property
    def symbols(self) -> list:
        """Names of all tasks, in the order of STAGES."""
        return [self.symbol(stage) for stage in STAGES]

    def write(self, module):
        for stage in STAGES:
            f, job, share = open_task(module, self.symbol(stage), WORDS)
            block = _Block(f, self, job)
            with f.loop(*share) as loop:
                getattr(block, f"{self.kind}_{stage}")(loop.index)
            f.ret()


class _Block(VectorStatistics):
    """Writer of the work on blocks of channels; `block` is the one that it works on."""

    def __init__(self, f, kernel, job):
        super().__init__(f, kernel, job)
        self.use_lanes(self.lanes)
        self.block: Any = None
        self.size = bytes_of(self.type)
        self.side = WAYS * self.lanes            # accumulators of the plain kernel
        self.sums_at = f.local(PARTIALS * self.side * self.size)

    def first_channel(self):
        return self.f.mul(self.block, self.lanes)

    def locate(self, plane, at):
        """Return the place of a summed plane's pixel, in vectors."""
        f, job = self.f, self.job
        if not self.kernel.joined:
            return f.add(plane, at)
        image = f.add(f.mul(f.div(at, job.pixels), job.blocks), self.block)
        return f.add(f.mul(image, job.pixels), f.mod(at, job.pixels))

    def load(self, name, offset, mask=None):
        """Load the vector of a pixel, `offset` vectors from the start of x, g or out."""
        return self.f.load(self.type, self.f.at(self.job.address(name), self.f.mul(offset, self.size)))

    # --- sums ---
    def each_run(self, item, body):
        """Call body(place, pixels, address of partials) for the runs of a plane; place(n) locates the run's pixel n."""
        f, job = self.f, self.job
        image, self.block = split_index(f, item, (1, job.blocks))
        plane = f.mul(item, job.size)
        start = f.mul(f.add(f.mul(self.block, job.images), image), job.runs)
        with f.loop(0, job.runs) as loop:
            first = f.mul(loop.index, RUN)
            step = PARTIALS * bytes_of(self.wide_kind)
            body(lambda at, first=first: self.locate(plane, f.add(first, at)), f.min(f.sub(job.size, first), RUN),
                 f.at(job.address("partials"), f.mul(f.add(start, loop.index), step)))

    def sums(self, place, count, terms, number):
        """Return float64 sums of terms(place of a pixel) over a run, in the order of the plain kernel."""
        f, lanes, side, size = self.f, self.lanes, self.side, self.size
        whole = f.mul(f.div(count, side), side)
        group_size = min(side, max(1, f.module.target.vector_registers // 2 // number))
        with f.loop(0, side, group_size) as group:
            with f.loop(0, whole, side, [zero(self.type)] * (group_size * number)) as loop:
                at, found = f.add(group.index, loop.index), []
                here = place(at)
                for i in range(group_size):
                    values = terms(place(f.add(at, i)) if self.kernel.joined else f.add(here, i))
                    found += [f.fadd(total, v) for total, v in zip(loop.carried[i * number:(i + 1) * number], values)]
                loop.next(*found)
            for i, total in enumerate(loop.results):
                spot = f.add(f.mul(group.index, number), i)
                f.store(total, f.at(self.sums_at, f.mul(spot, size)))
        with f.loop(whole, count) as rest:
            lane = f.bit_and(f.sub(rest.index, whole), lanes - 1)
            for which, v in enumerate(terms(place(rest.index))):
                spot = f.at(self.sums_at, f.mul(f.add(f.mul(lane, number), which), size))
                f.store(f.fadd(f.load(self.type, spot), v), spot)
        return [self.wide(self.joined(which, number)) for which in range(number)]

    def joined(self, which, number):
        """Join a sum's accumulators: ways pairwise, then halves of lanes."""
        f, lanes = self.f, self.lanes

        def accumulator(place):
            return f.load(self.type, f.at(self.sums_at, (place * number + which) * self.size))

        values = [f.fadd(f.fadd(accumulator(i), accumulator(lanes + i)),
                         f.fadd(accumulator(2 * lanes + i), accumulator(3 * lanes + i))) for i in range(lanes)]
        while len(values) > 1:
            half = len(values) // 2
            values = [f.fadd(a, b) for a, b in zip(values[:half], values[half:])]
        return values[0]

    def store_all(self, spot, values):
        for i, value in enumerate(values):
            self.f.store(value, self.f.at(spot, i * bytes_of(value.type)))

    def over_runs(self, start, body):
        """Carry values through the block's runs in the order of images: body(run of its plane, partials, values)."""
        f, job, size = self.f, self.job, bytes_of(self.wide_kind)
        spot = f.at(job.address("partials"), f.mul(f.mul(f.mul(self.block, job.images), job.runs), PARTIALS * size))
        with f.loop(0, f.mul(job.images, job.runs), 1, start) as loop:
            here = f.at(spot, f.mul(loop.index, PARTIALS * size))
            partials = [f.load(self.wide_kind, f.at(here, i * size)) for i in range(PARTIALS)]
            loop.next(*body(f.mod(loop.index, job.runs), partials, loop.carried))
        return loop.results

    # --- coefficients and results ---
    def coefficients(self):
        each = COEFFICIENTS[self.kernel.kind] * self.size
        return self.f.at(self.job.address("coefficients"), self.f.mul(self.block, each))

    def apply(self, item, body):
        """Store y = body(pixel, coefficients) over a plane."""
        f, job = self.f, self.job
        _, self.block = split_index(f, item, (1, job.blocks))
        at, plane = self.coefficients(), f.mul(item, job.pixels)
        numbers = [f.load(self.type, f.at(at, i * self.size)) for i in range(COEFFICIENTS[self.kernel.kind])]
        with f.loop(plane, f.add(plane, job.pixels)) as loop:
            f.store(body(loop.index, *numbers), f.at(job.address("y"), f.mul(loop.index, self.size)))

    # --- training ---
    def train_sums(self, item):
        """Compute each run's mean and sum of squares about it."""
        f = self.f

        def run(place, count, spot):
            total, = self.sums(place, count, lambda at: [self.load("x", at)], 1)
            n = self.float_of(count)
            about = self.narrow(f.fdiv(total, n))

            def terms(at):
                away = f.fsub(self.load("x", at), about)
                return [away, f.fmul(away, away)]

            rest, squares = self.sums(place, count, terms, 2)
            self.store_all(spot, [f.fadd(self.wide(about), f.fdiv(rest, n)), f.fsub(squares, f.fdiv(f.fmul(rest, rest), n))])

        self.each_run(item, run)

    def train_join(self, block):
        """Compute mean and variance; coefficients: mean, scale, bias."""
        f, job, nothing, self.block = self.f, self.job, zero(self.wide_kind), block
        count, mean, squares = self.over_runs((nothing, nothing, nothing), lambda run, partials, before: self.joined_moments(
            self.float_of(f.min(f.sub(job.size, f.mul(run, RUN)), RUN)), partials, before))
        mean, var = self.narrow(mean), self.narrow(f.fdiv(squares, count))
        self.put(mean, "mean")
        self.put(var, "var")
        scale = f.fmul(self.inverse(var), self.optional("weight", 1.0))
        self.store_all(self.coefficients(), [mean, scale, self.optional("bias", 0.0)])

    def train_apply(self, item):
        self.apply(item, self.normalised)

    # --- gradients ---
    def grad_sums(self, item):
        """Compute each run's sum of gradients, and of gradients times distance from the mean."""
        f = self.f

        def run(place, count, spot):
            mean = self.operand("mean")

            def terms(at):
                g = self.upstream(at)
                return [g, f.fmul(g, f.fsub(self.load("x", at), mean))]

            self.store_all(spot, self.sums(place, count, terms, 2))

        self.each_run(item, run)

    def grad_join(self, block):
        """Compute gradients of weight and bias; coefficients: mean, factors of distance and gradient, constant."""
        f, nothing, self.block = self.f, zero(self.wide_kind), block
        shift, slope = (self.narrow(v) for v in self.over_runs(
            (nothing, nothing), lambda run, partials, before: [f.fadd(a, b) for a, b in zip(before, partials)]))
        factors = self.factors_of_gradient(self.operand("var"), shift, slope)
        self.store_all(self.coefficients(), [self.operand("mean"), *factors])

    def grad_apply(self, item):
        self.apply(item, self.gradient_of_input)
