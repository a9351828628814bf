"""Batch normalisation of plain arrays (N, C, S), one channel after the other: statistics, normalisation, gradients.

A channel's planes are read in runs short enough to stay in the nearest cache. A run's moments are taken about its own mean and
joined in float64 in the order of the runs, so a large common offset costs no accuracy, and neither threads nor the batch's
other channels change a result. Sums of gradients are joined the same way.

The operands of a channel come as addresses in a block: weight, bias, mean, variance, then the gradients of mean and variance,
then where the sums for weight and bias go; weight and bias may be null.
"""

from dataclasses import dataclass

from ....ir.target import Target
from .emit import Module
from .microkernel import add_lanes
from .tasks import Words, chunk_share
from .types import F64, bytes_of, constant, mangled, null, vector, zero

WORDS = ("x", "g", "y", "operands", "items", "chunks", "images", "channels", "size", "eps", "out")
OPERANDS = ("weight", "bias", "mean", "var", "g_mean", "g_var", "g_weight", "g_bias")
TRAIN, EVAL, GRAD = "batch_norm_train", "batch_norm", "batch_norm_grad"
RUN = 2048                                     # elements of a run
WAYS = 4                                       # vectors summed side by side


@dataclass(frozen=True)
class BatchNormKernel:
    """What a module is made for; equal ones are the same code. `relu` clips the result of normalisation at zero; gradients
    then pass where the results `out` are above zero."""

    target: Target
    kind: str
    element: str
    relu: bool = False

    @property
    def symbol(self) -> str:
        """The task's name in the module."""
        return f"{self.kind}_{mangled(self.element)}{'_relu' if self.relu else ''}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        f = module.task(self.symbol)
        arg, chunk, _ = f.params
        job = Words(f, arg, WORDS)
        first, end = chunk_share(f, job.items, job.chunks, chunk)
        with f.loop(first, end) as loop:
            channel = _Channel(f, self, job, loop.index)
            {TRAIN: channel.train, EVAL: channel.normalise, GRAD: channel.gradient}[self.kind]()
        f.ret()
        return module.text()


class _Channel:
    """Writes what happens to one channel."""

    def __init__(self, f, kernel, job, number):
        self.f, self.kernel, self.job, self.number = f, kernel, job, number
        self.element, self.lanes = kernel.element, f.lanes(kernel.element)
        self.type = vector(self.lanes, self.element)

    # --- operands ---
    def spot(self, name):
        """Where the channel's element of an operand lies."""
        block = Words(self.f, self.job.address("operands"), OPERANDS)
        return self.f.at(block.address(name), self.number, self.element)

    def operand(self, name):
        """The channel's element of an operand."""
        return self.f.load(self.element, self.spot(name))

    def optional(self, name, missing):
        """The same of an operand that may be null."""
        f = self.f
        there = f.compare("ne", Words(f, self.job.address("operands"), OPERANDS).address(name), null())
        return f.choose(there, lambda: (self.operand(name),), lambda: (constant(self.element, missing),))[0]

    def inverse(self, var):
        """1 / sqrt(var + eps)"""
        f = self.f
        eps = f.load(F64, self.job.spot("eps"))
        eps = eps if self.element == F64 else f.cast("fptrunc", eps, self.element)
        return f.fdiv(constant(self.element, 1.0), f.intrinsic("sqrt", self.element, f.fadd(var, eps)))

    # --- sweeps ---
    def runs(self, carry, body):
        """body(offset of a run in bytes, its elements, carried values) for the channel's runs in order."""
        f, size = self.f, self.job.size
        with f.loop(0, self.job.images, 1, carry) as images:
            plane = f.mul(f.add(f.mul(images.index, self.job.channels), self.number), size)
            with f.loop(0, size, RUN, images.carried) as runs:
                count = f.min(f.sub(size, runs.index), RUN)
                runs.next(*body(f.mul(f.add(plane, runs.index), bytes_of(self.element)), count, runs.carried))
            images.next(*runs.results)
        return images.results

    def sums(self, count, terms, number):
        """Sums over a run of what terms(offset, mask) gives for each vector, added over lanes."""
        f, lanes, size = self.f, self.lanes, bytes_of(self.element)
        whole = f.mul(f.div(count, WAYS * lanes), WAYS * lanes)
        with f.loop(0, whole, WAYS * lanes, [zero(self.type)] * (WAYS * number)) as loop:
            found = []
            for way in range(WAYS):
                values = terms(f.mul(f.add(loop.index, way * lanes), size), None)
                found += [f.fadd(total, v) for total, v in zip(loop.carried[way * number:(way + 1) * number], values)]
            loop.next(*found)
        ways = [loop.results[way * number:(way + 1) * number] for way in range(WAYS)]
        with f.loop(whole, count, lanes, ways[0]) as rest:
            values = terms(f.mul(rest.index, size), f.mask(f.sub(count, rest.index), lanes))
            rest.next(*(f.fadd(total, v) for total, v in zip(rest.carried, values)))
        ways[0] = rest.results
        joined = [f.fadd(f.fadd(a, b), f.fadd(c, d)) for a, b, c, d in zip(*ways)]
        return [self.wide(add_lanes(f, total)) for total in joined]

    def each(self, body):
        """y = body(offset) for every vector of the channel: body(offset, mask)."""
        f, lanes, size = self.f, self.lanes, bytes_of(self.element)
        with f.loop(0, self.job.images) as images:
            plane = f.mul(f.add(f.mul(images.index, self.job.channels), self.number), self.job.size)

            def one(index, mask, plane=plane):
                at = f.mul(f.add(plane, index), size)
                value, place = body(at, mask), f.at(self.job.address("y"), at)
                f.store(value, place) if mask is None else f.store_masked(value, place, mask)

            f.vectors(self.job.size, lanes, one)

    def load(self, name, offset, mask):
        """A vector of x or g."""
        place = self.f.at(self.job.address(name), offset)
        return self.f.load(self.type, place) if mask is None else self.f.load_masked(self.type, place, mask)

    def upstream(self, offset, mask):
        """A vector of the gradient of the normalised values."""
        g = self.load("g", offset, mask)
        if not self.kernel.relu:
            return g
        return self.f.select(self.f.compare("ogt", self.load("out", offset, mask), zero(self.type)), g, zero(self.type))

    def keep(self, value, mask):
        """The value in lanes that exist, zero in the others."""
        return value if mask is None else self.f.select(mask, value, zero(self.type))

    def spread(self, scalar):
        """A scalar in all lanes."""
        return self.f.splat(scalar, self.lanes)

    def wide(self, scalar):
        """A scalar as float64."""
        return scalar if self.element == F64 else self.f.cast("fpext", scalar, F64)

    def narrow(self, scalar):
        """A float64 rounded to the element type."""
        return scalar if self.element == F64 else self.f.cast("fptrunc", scalar, self.element)

    def float_of(self, count):
        """An integer as float64."""
        return self.f.cast("sitofp", count, F64)

    # --- what is done ---
    def train(self):
        """Statistics, then the channel normalised by them."""
        f = self.f
        nothing = constant(F64, 0.0)
        count, mean, squares = self.runs((nothing, nothing, nothing), self.moments)
        f.store(self.narrow(mean), self.spot("mean"))
        f.store(self.narrow(f.fdiv(squares, count)), self.spot("var"))
        self.normalise()

    def moments(self, offset, count, before):
        """(elements, mean, sum of squares about it) of what was before and one run more."""
        f = self.f
        total, = self.sums(count, lambda at, mask: [self.load("x", f.add(offset, at), mask)], 1)
        n = self.float_of(count)
        about = self.narrow(f.fdiv(total, n))
        centre = self.spread(about)

        def terms(at, mask):
            away = self.keep(f.fsub(self.load("x", f.add(offset, at), mask), centre), mask)
            return [away, f.fmul(away, away)]

        rest, squares = self.sums(count, terms, 2)
        mean = f.fadd(self.wide(about), f.fdiv(rest, n))
        squares = f.fsub(squares, f.fdiv(f.fmul(rest, rest), n))
        old_count, old_mean, old_squares = before
        together, apart = f.fadd(old_count, n), f.fsub(mean, old_mean)
        share = f.fdiv(n, together)
        between = f.fmul(f.fmul(apart, apart), f.fmul(old_count, share))
        return together, f.fadd(old_mean, f.fmul(apart, share)), f.fadd(f.fadd(old_squares, squares), between)

    def normalise(self):
        """(x - mean) / sqrt(var + eps) * weight + bias"""
        f = self.f
        scale = f.fmul(self.inverse(self.operand("var")), self.optional("weight", 1.0))
        mean, scale, bias = (self.spread(v) for v in (self.operand("mean"), scale, self.optional("bias", 0.0)))

        def body(at, mask):
            value = f.fadd(f.fmul(f.fsub(self.load("x", at, mask), mean), scale), bias)
            if self.kernel.relu:
                value = f.select(f.compare("ugt", value, zero(self.type)), value, zero(self.type))
            return value

        self.each(body)

    def gradient(self):
        """The gradients of input, weight and bias from those of result, mean and variance."""
        f = self.f
        mean = self.spread(self.operand("mean"))

        def run(offset, count, before):
            def terms(at, mask):
                g = self.upstream(f.add(offset, at), mask)
                away = self.keep(f.fsub(self.load("x", f.add(offset, at), mask), mean), mask)
                return [g, f.fmul(g, away)]

            return [f.fadd(a, b) for a, b in zip(before, self.sums(count, terms, 2))]

        shift, slope = (self.narrow(v) for v in self.runs((constant(F64, 0.0),) * 2, run))
        inverse = self.inverse(self.operand("var"))
        scale = f.fmul(inverse, self.optional("weight", 1.0))
        f.store(f.fmul(slope, inverse), self.spot("g_weight"))
        f.store(shift, self.spot("g_bias"))
        n = self.narrow(self.float_of(f.mul(self.job.images, self.job.size)))
        twice = f.fmul(self.operand("g_var"), constant(self.element, 2.0))
        by_centred = f.fdiv(f.fsub(twice, f.fmul(f.fmul(scale, f.fmul(inverse, inverse)), slope)), n)
        level = f.fdiv(f.fsub(self.operand("g_mean"), f.fmul(scale, shift)), n)
        by_centred, by_gradient, level = (self.spread(v) for v in (by_centred, scale, level))

        def body(at, mask):
            away = f.fsub(self.load("x", at, mask), mean)
            return f.fadd(f.fadd(f.fmul(away, by_centred), f.fmul(self.upstream(at, mask), by_gradient)), level)

        self.each(body)
