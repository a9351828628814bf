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

from ..ir.emit import ModuleWriter
from ..ir.types import F64, bytes_of, constant, lanes_of, like, mangled, null, vector, zero
from ..pool.tasks import Words, open_task, split_index
from .batch_norm import OPERANDS, RUN, WAYS

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


class _Block:
    """Writer of the work on blocks of channels."""

    def __init__(self, f, kernel, job):
        self.f, self.kernel, self.job = f, kernel, job
        self.element, self.lanes = kernel.element, f.lanes(kernel.element)
        self.type = vector(self.lanes, self.element)
        self.wide_type = like(self.type, F64)
        self.size = bytes_of(self.type)
        self.side = WAYS * self.lanes            # accumulators of the plain kernel
        self.sums_at = f.local(PARTIALS * self.side * self.size)

    # --- operands ---
    def channel_mask(self, block):
        return self.f.mask(self.f.sub(self.job.channels, self.f.mul(block, self.lanes)), self.lanes)

    def spot(self, name, block):
        operands = Words(self.f, self.job.address("operands"), OPERANDS)
        return self.f.at(operands.address(name), self.f.mul(block, self.lanes), self.element)

    def operand(self, name, block):
        return self.f.load_masked(self.type, self.spot(name, block), self.channel_mask(block))

    def optional(self, name, block, missing):
        f = self.f
        there = f.compare("ne", Words(f, self.job.address("operands"), OPERANDS).address(name), null())
        return f.choose(there, lambda: (self.operand(name, block),), lambda: (constant(self.type, missing),))[0]

    def give(self, name, block, value):
        self.f.store_masked(value, self.spot(name, block), self.channel_mask(block))

    def inverse(self, var):
        """1 / sqrt(var + eps)"""
        f = self.f
        eps = f.load(F64, self.job.spot("eps"))
        eps = f.splat(eps if self.element == F64 else f.cast("fptrunc", eps, self.element), self.lanes)
        return f.fdiv(constant(self.type, 1.0), f.intrinsic("sqrt", self.type, f.fadd(var, eps)))

    def wide(self, value):
        return value if self.element == F64 else self.f.cast("fpext", value, self.wide_type)

    def narrow(self, value):
        return value if self.element == F64 else self.f.cast("fptrunc", value, self.type)

    def count(self, number):
        return self.f.splat(self.f.cast("sitofp", number, F64), lanes_of(self.wide_type))

    def locate(self, block, plane, at):
        """Return the place of a summed plane's pixel, in vectors."""
        f, job = self.f, self.job
        if not self.kernel.joined:
            return f.add(plane, at)
        image = f.add(f.mul(f.div(at, job.pixels), job.blocks), block)
        return f.add(f.mul(image, job.pixels), f.mod(at, job.pixels))

    def load(self, name, at):
        """Load the vector of a pixel, `at` vectors from the start of x, g or out."""
        return self.f.load(self.type, self.f.at(self.job.address(name), self.f.mul(at, self.size)))

    def upstream(self, at):
        """Return the gradient of a pixel's normalised values."""
        f, g = self.f, self.load("g", at)
        return f.select(f.compare("ugt", self.load("out", at), zero(self.type)), g, zero(self.type)) if self.kernel.relu else g

    # --- sums ---
    def each_run(self, item, body):
        """Call body(block, place, pixels, address of partials) for the runs of a plane; place(n) locates the run's pixel n."""
        f, job = self.f, self.job
        image, block = split_index(f, item, (1, job.blocks))
        plane = f.mul(item, job.size)
        start = f.mul(f.add(f.mul(block, job.images), image), job.runs)
        with f.loop(0, job.runs) as loop:
            first = f.mul(loop.index, RUN)
            step = PARTIALS * bytes_of(self.wide_type)
            body(block, lambda at, first=first: self.locate(block, plane, f.add(first, at)), f.min(f.sub(job.size, first), RUN),
                 f.at(job.address("partials"), f.mul(f.add(start, loop.index), step)))

    def sums(self, place, count, terms, number):
        """Return float64 sums of terms(place of a pixel) over a run, in the order of the plain kernel."""
        f, lanes, side, size = self.f, self.lanes, self.side, self.size
        whole = f.mul(f.div(count, side), side)
        together = min(side, max(1, f.module.target.vector_registers // 2 // number))
        with f.loop(0, side, together) as group:
            with f.loop(0, whole, side, [zero(self.type)] * (together * number)) as loop:
                at, found = f.add(group.index, loop.index), []
                here = place(at)
                for i in range(together):
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

        def found(place):
            return f.load(self.type, f.at(self.sums_at, (place * number + which) * self.size))

        values = [f.fadd(f.fadd(found(i), found(lanes + i)), f.fadd(found(2 * lanes + i), found(3 * lanes + i)))
                  for i in range(lanes)]
        while len(values) > 1:
            half = len(values) // 2
            values = [f.fadd(a, b) for a, b in zip(values[:half], values[half:])]
        return values[0]

    def keep(self, spot, values):
        for i, value in enumerate(values):
            self.f.store(value, self.f.at(spot, i * bytes_of(value.type)))

    def over_runs(self, block, start, body):
        """Carry values through a block's runs in the order of images: body(run of its plane, partials, values)."""
        f, job, size = self.f, self.job, bytes_of(self.wide_type)
        spot = f.at(job.address("partials"), f.mul(f.mul(f.mul(block, job.images), job.runs), PARTIALS * size))
        with f.loop(0, f.mul(job.images, job.runs), 1, start) as loop:
            here = f.at(spot, f.mul(loop.index, PARTIALS * size))
            partials = [f.load(self.wide_type, f.at(here, i * size)) for i in range(PARTIALS)]
            loop.next(*body(f.mod(loop.index, job.runs), partials, loop.carried))
        return loop.results

    # --- coefficients, and what is made with them ---
    def coefficients(self, block):
        each = COEFFICIENTS[self.kernel.kind] * self.size
        return self.f.at(self.job.address("coefficients"), self.f.mul(block, each))

    def apply(self, item, body):
        """Store y = body(pixel, coefficients) over a plane."""
        f, job = self.f, self.job
        _, block = split_index(f, item, (1, job.blocks))
        at, plane = self.coefficients(block), f.mul(item, job.pixels)
        numbers = [f.load(self.type, f.at(at, i * self.size)) for i in range(COEFFICIENTS[self.kernel.kind])]
        with f.loop(plane, f.add(plane, job.pixels)) as loop:
            f.store(body(loop.index, *numbers), f.at(job.address("y"), f.mul(loop.index, self.size)))

    # --- training ---
    def train_sums(self, item):
        """Compute each run's mean and sum of squares about it."""
        f = self.f

        def run(block, place, count, spot):
            total, = self.sums(place, count, lambda at: [self.load("x", at)], 1)
            n = self.count(count)
            about = self.narrow(f.fdiv(total, n))

            def terms(at):
                away = f.fsub(self.load("x", at), about)
                return [away, f.fmul(away, away)]

            rest, squares = self.sums(place, count, terms, 2)
            self.keep(spot, [f.fadd(self.wide(about), f.fdiv(rest, n)), f.fsub(squares, f.fdiv(f.fmul(rest, rest), n))])

        self.each_run(item, run)

    def train_join(self, block):
        """Compute mean and variance; coefficients: mean, scale, bias."""
        f, job, nothing = self.f, self.job, zero(self.wide_type)

        def join(run, partials, before):
            (mean, squares), (old_count, old_mean, old_squares) = partials, before
            n = self.count(f.min(f.sub(job.size, f.mul(run, RUN)), RUN))
            together, apart = f.fadd(old_count, n), f.fsub(mean, old_mean)
            share = f.fdiv(n, together)
            between = f.fmul(f.fmul(apart, apart), f.fmul(old_count, share))
            return together, f.fadd(old_mean, f.fmul(apart, share)), f.fadd(f.fadd(old_squares, squares), between)

        count, mean, squares = self.over_runs(block, (nothing, nothing, nothing), join)
        mean, var = self.narrow(mean), self.narrow(f.fdiv(squares, count))
        self.give("mean", block, mean)
        self.give("var", block, var)
        scale = f.fmul(self.inverse(var), self.optional("weight", block, 1.0))
        self.keep(self.coefficients(block), [mean, scale, self.optional("bias", block, 0.0)])

    def train_apply(self, item):
        """(x - mean) * scale + bias"""
        f = self.f

        def body(at, mean, scale, bias):
            value = f.fadd(f.fmul(f.fsub(self.load("x", at), mean), scale), bias)
            if self.kernel.relu:
                value = f.select(f.compare("ugt", value, zero(self.type)), value, zero(self.type))
            return value

        self.apply(item, body)

    # --- gradients ---
    def grad_sums(self, item):
        """Compute each run's sum of gradients, and of gradients times distance from the mean."""
        f = self.f

        def run(block, place, count, spot):
            mean = self.operand("mean", block)

            def terms(at):
                g = self.upstream(at)
                return [g, f.fmul(g, f.fsub(self.load("x", at), mean))]

            self.keep(spot, self.sums(place, count, terms, 2))

        self.each_run(item, run)

    def grad_join(self, block):
        """Compute gradients of weight and bias; coefficients: mean, factors of distance and gradient, constant."""
        f, job, nothing = self.f, self.job, zero(self.wide_type)
        shift, slope = (self.narrow(v) for v in self.over_runs(
            block, (nothing, nothing), lambda run, partials, before: [f.fadd(a, b) for a, b in zip(before, partials)]))
        inverse = self.inverse(self.operand("var", block))
        scale = f.fmul(inverse, self.optional("weight", block, 1.0))
        self.give("g_weight", block, f.fmul(slope, inverse))
        self.give("g_bias", block, shift)
        n = self.narrow(self.count(f.mul(job.images, job.size)))
        twice = f.fmul(self.operand("g_var", block), constant(self.type, 2.0))
        by_centred = f.fdiv(f.fsub(twice, f.fmul(f.fmul(scale, f.fmul(inverse, inverse)), slope)), n)
        level = f.fdiv(f.fsub(self.operand("g_mean", block), f.fmul(scale, shift)), n)
        self.keep(self.coefficients(block), [self.operand("mean", block), by_centred, scale, level])

    def grad_apply(self, item):
        """(x - mean) * by_centred + g * by_gradient + level"""
        f = self.f

        def body(at, mean, by_centred, by_gradient, level):
            away = f.fsub(self.load("x", at), mean)
            return f.fadd(f.fadd(f.fmul(away, by_centred), f.fmul(self.upstream(at), by_gradient)), level)

        self.apply(item, body)
