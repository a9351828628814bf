"""Batch normalisation of plain arrays (N, C, S), one channel after the other: statistics, normalisation, gradients.

A channel's planes are read in runs short enough for the nearest cache. A run's moments are taken about its own mean and joined
in float64 in the order of the runs. So a large common offset costs no accuracy, and neither threads nor other channels change a
result. Sums of gradients are joined the same way. Arrays of rows of channels (N, C) are read in place: lanes are channels, and
a block takes the role of a channel.

The operands of a channel are addresses in a block: weight, bias, mean, variance, then the gradients of mean and variance, then
the destinations of the sums for weight and bias. Weight and bias may be null.
"""

from dataclasses import dataclass

from ..contract.microkernel import add_lanes
from ..ir.emit import ModuleWriter
from ..ir.types import F64, Value, bytes_of, constant, mangled, null, vector, zero
from ..pool.tasks import Words, task_items

WORDS = ("x", "g", "y", "operands", "items", "chunks", "images", "channels", "size", "eps", "out")
OPERANDS = ("weight", "bias", "mean", "var", "g_mean", "g_var", "g_weight", "g_bias")
TRAIN, EVAL, GRAD = "batch_norm_train", "batch_norm", "batch_norm_grad"
RUN = 2048                                     # most elements of a run
RUN_ROWS = 128                                 # most rows of a run of (N, C)
COLUMNS = 2                                    # vectors of channels side by side
WAYS = 4                                       # vectors summed side by side


@dataclass(frozen=True)
class BatchNormKernel(ModuleWriter):
    """Generator of one kind of task for an element type.

    `relu` clips the normalised result at zero; gradients then pass where the results `out` are positive. With `rows` x is (N,
    C), and an item is a block of channels.
    """

    kind: str
    element: str
    relu: bool = False
    rows: bool = False

    @property
    def symbol(self) -> str:
        return f"{self.kind}_{mangled(self.element)}{'_relu' if self.relu else ''}{'_rows' if self.rows else ''}"

    @property
    def block(self) -> int:
        """Channels of an item."""
        return COLUMNS * self.target.lanes(bytes_of(self.element)) if self.rows else 1

    def write(self, module):
        with task_items(module, self.symbol, WORDS) as (f, job, number):
            channel = (_Rows if self.rows else _Channel)(f, self, job, f.mul(number, self.block))
            {TRAIN: channel.train, EVAL: channel.normalise, GRAD: channel.gradient}[self.kind]()


class Statistics:
    """Operands and formulas of a channel, or of a vector of channels; `kind` is the type of their numbers. Subclasses say how
    elements are read and summed."""

    def __init__(self, f, kernel, job):
        self.f, self.kernel, self.job = f, kernel, job
        self.element, self.lanes = kernel.element, f.lanes(kernel.element)
        self.type = vector(self.lanes, self.element)
        self.kind, self.wide_kind = self.element, F64

    def first_channel(self) -> Value:
        raise NotImplementedError

    def load(self, name, offset, mask) -> Value:
        raise NotImplementedError

    # --- operands ---
    def spot(self, name):
        block = Words(self.f, self.job.address("operands"), OPERANDS)
        return self.f.at(block.address(name), self.first_channel(), self.element)

    def operand(self, name):
        return self.f.load(self.element, self.spot(name))

    def put(self, value, name):
        self.f.store(value, self.spot(name))

    def optional(self, name, missing):
        f = self.f
        there = f.compare("ne", Words(f, self.job.address("operands"), OPERANDS).address(name), null())
        return f.choose(there, lambda: (self.operand(name),), lambda: (constant(self.kind, missing),))[0]

    def inverse(self, var):
        """1 / sqrt(var + eps)"""
        f = self.f
        eps = self.job.number("eps", self.element)
        return f.fdiv(constant(self.kind, 1.0), f.intrinsic("sqrt", self.kind, f.fadd(var, self.of_all(eps))))

    def of_all(self, scalar):
        """Return a number common to all channels, in the form of one per channel."""
        return scalar

    def wide(self, value):
        return self.f.cast("fpext", value, self.wide_kind)

    def narrow(self, value):
        return self.f.cast("fptrunc", value, self.kind)

    def float_of(self, count):
        return self.of_all(self.f.cast("sitofp", count, F64))

    # --- formulas ---
    def upstream(self, offset, mask=None):
        """Return a vector of the normalised values' gradient."""
        g = self.load("g", offset, mask)
        if not self.kernel.relu:
            return g
        return self.f.select(self.f.compare("ugt", self.load("out", offset, mask), zero(self.type)), g, zero(self.type))

    def joined_moments(self, n, moments, before):
        """Join (elements, mean, sum of squares about it) of earlier runs with one more run of n elements and its moments."""
        f, (mean, squares), (old_count, old_mean, old_squares) = self.f, moments, before
        total, apart = f.fadd(old_count, n), f.fsub(mean, old_mean)
        share = f.fdiv(n, total)
        between = f.fmul(f.fmul(apart, apart), f.fmul(old_count, share))
        return total, f.fadd(old_mean, f.fmul(apart, share)), f.fadd(f.fadd(old_squares, squares), between)

    def normalised(self, at, mean, scale, bias, mask=None):
        """(x - mean) * scale + bias, clipped if there is a ReLU."""
        f = self.f
        value = f.fadd(f.fmul(f.fsub(self.load("x", at, mask), mean), scale), bias)
        return f.select(f.compare("ugt", value, zero(self.type)), value, zero(self.type)) if self.kernel.relu else value

    def factors_of_gradient(self, var, shift, slope):
        """Store the gradients of weight and bias; return the factors of distance and gradient, and the constant, of dx."""
        f = self.f
        inverse = self.inverse(var)
        scale = f.fmul(inverse, self.optional("weight", 1.0))
        self.put(f.fmul(slope, inverse), "g_weight")
        self.put(shift, "g_bias")
        n = self.narrow(self.float_of(f.mul(self.job.images, self.job.size)))
        twice = f.fmul(self.operand("g_var"), constant(self.kind, 2.0))
        by_centred = f.fdiv(f.fsub(twice, f.fmul(f.fmul(scale, f.fmul(inverse, inverse)), slope)), n)
        return by_centred, scale, f.fdiv(f.fsub(self.operand("g_mean"), f.fmul(scale, shift)), n)

    def gradient_of_input(self, at, mean, by_centred, by_gradient, level, mask=None):
        """(x - mean) * by_centred + g * by_gradient + level"""
        f = self.f
        away = f.fsub(self.load("x", at, mask), mean)
        return f.fadd(f.fadd(f.fmul(away, by_centred), f.fmul(self.upstream(at, mask), by_gradient)), level)


class _Channel(Statistics):
    """Writer of the work on one channel."""

    def __init__(self, f, kernel, job, number):
        super().__init__(f, kernel, job)
        self.number = number

    def first_channel(self):
        return self.number

    # --- sweeps ---
    def runs(self, carry, body):
        """Call body(offset of a run in bytes, its elements, carried values) for the channel's runs in order."""
        f, size = self.f, self.job.size
        with f.loop(0, self.job.images, 1, carry) as images:
            plane = f.mul(f.add(f.mul(images.index, self.job.channels), self.number), size)
            with f.loop(0, size, RUN, images.carried) as runs:
                count = f.min(f.sub(size, runs.index), RUN)
                runs.next(*body(f.mul(f.add(plane, runs.index), bytes_of(self.element)), count, runs.carried))
            images.next(*runs.results)
        return images.results

    def sums(self, count, terms, number):
        """Return sums over a run of terms(offset, mask) of each vector, added over lanes."""
        lanes, size = self.lanes, bytes_of(self.element)
        joined = self.interleaved_sums(count, lanes, number, lambda at: terms(self.f.mul(at, size), None),
                                       lambda at: terms(self.f.mul(at, size), self.f.mask(self.f.sub(count, at), lanes)))
        return [self.wide(add_lanes(self.f, total)) for total in joined]

    def interleaved_sums(self, count, step, number, whole, rest):
        """Return `number` sums: whole(at) for every `step` of `count`, `WAYS` side by side, then rest(at) for the remainder."""
        f, end = self.f, self.f.mul(self.f.div(count, WAYS * step), WAYS * step)
        with f.loop(0, end, WAYS * step, [zero(self.type)] * (WAYS * number)) as loop:
            found = []
            for way in range(WAYS):
                values = whole(f.add(loop.index, way * step))
                found += [f.fadd(total, v) for total, v in zip(loop.carried[way * number:(way + 1) * number], values)]
            loop.next(*found)
        ways = [loop.results[way * number:(way + 1) * number] for way in range(WAYS)]
        with f.loop(end, count, step, ways[0]) as last:
            last.next(*(f.fadd(total, v) for total, v in zip(last.carried, rest(last.index))))
        ways[0] = last.results
        return [f.fadd(f.fadd(a, b), f.fadd(c, d)) for a, b, c, d in zip(*ways)]

    def each(self, body):
        """Store y = body(offset, mask) for every vector of the channel."""
        f, lanes, size = self.f, self.lanes, bytes_of(self.element)
        with f.loop(0, self.job.images) as images:
            plane = f.mul(f.add(f.mul(images.index, self.job.channels), self.number), self.job.size)

            def one(index, mask, plane=plane):
                at = f.mul(f.add(plane, index), size)
                value, place = body(at, mask), f.at(self.job.address("y"), at)
                f.store_masked(value, place, mask)

            f.vectors(self.job.size, lanes, one)

    def load(self, name, offset, mask):
        place = self.f.at(self.job.address(name), offset)
        return self.f.load_masked(self.type, place, mask)

    def keep(self, value, mask):
        """Zero the lanes that do not exist."""
        return value if mask is None else self.f.select(mask, value, zero(self.type))

    def spread(self, scalar):
        return self.f.splat(scalar, self.lanes)

    # --- tasks ---
    def train(self):
        f = self.f
        nothing = constant(self.wide_kind, 0.0)
        count, mean, squares = self.runs((nothing, nothing, nothing), self.moments)
        self.put(self.narrow(mean), "mean")
        self.put(self.narrow(f.fdiv(squares, count)), "var")
        self.normalise()

    def moments(self, offset, count, before):
        """Join (elements, mean, sum of squares about it) of earlier runs with one more run."""
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
        return self.joined_moments(n, (mean, f.fsub(squares, f.fdiv(f.fmul(rest, rest), n))), before)

    def normalise(self):
        """(x - mean) / sqrt(var + eps) * weight + bias"""
        f = self.f
        scale = f.fmul(self.inverse(self.operand("var")), self.optional("weight", 1.0))
        mean, scale, bias = (self.spread(v) for v in (self.operand("mean"), scale, self.optional("bias", 0.0)))
        self.each(lambda at, mask: self.normalised(at, mean, scale, bias, mask))

    def gradient(self):
        """Compute the gradients of input, weight and bias from those of result, mean and variance."""
        f = self.f
        mean = self.spread(self.operand("mean"))

        def run(offset, count, before):
            def terms(at, mask):
                g = self.upstream(f.add(offset, at), mask)
                away = self.keep(f.fsub(self.load("x", f.add(offset, at), mask), mean), mask)
                return [g, f.fmul(g, away)]

            return [f.fadd(a, b) for a, b in zip(before, self.sums(count, terms, 2))]

        shift, slope = (self.narrow(v) for v in self.runs((constant(self.wide_kind, 0.0),) * 2, run))
        by_centred, by_gradient, level = (self.spread(v) for v in self.factors_of_gradient(self.operand("var"), shift, slope))
        self.each(lambda at, mask: self.gradient_of_input(at, mean, by_centred, by_gradient, level, mask))


class VectorStatistics(Statistics):
    """Statistics of a vector of channels."""

    def use_lanes(self, lanes: int):
        """Set the number of channels side by side."""
        self.lanes, self.type, self.wide_kind = lanes, vector(lanes, self.element), vector(lanes, F64)
        self.kind = self.type

    def channel_mask(self) -> Value:
        """Return which lanes are channels."""
        return self.f.mask(self.f.sub(self.job.channels, self.first_channel()), self.lanes)

    def operand(self, name):
        return self.f.load_masked(self.kind, self.spot(name), self.channel_mask())

    def put(self, value, name):
        self.f.store_masked(value, self.spot(name), self.channel_mask())

    def of_all(self, scalar):
        return self.f.splat(scalar, self.lanes)


class _Rows(VectorStatistics, _Channel):
    """Writer of the work on a block of channels side by side: a row of them is a vector with a mask."""

    def __init__(self, f, kernel, job, number):
        super().__init__(f, kernel, job, number)
        self.use_lanes(kernel.block)
        self.mask = super().channel_mask()

    def channel_mask(self):
        return self.mask

    def row(self, number):
        """Return the offset of a row's channels of the block, in bytes."""
        return self.f.mul(self.f.add(self.f.mul(number, self.job.channels), self.number), bytes_of(self.element))

    def runs(self, carry, body):
        f, rows = self.f, self.job.images
        with f.loop(0, rows, RUN_ROWS, carry) as runs:
            runs.next(*body(self.row(runs.index), f.min(f.sub(rows, runs.index), RUN_ROWS), runs.carried))
        return runs.results

    def sums(self, count, terms, number):
        step = self.f.mul(self.job.channels, bytes_of(self.element))

        def row(at):
            return terms(self.f.mul(at, step), self.mask)

        return [self.wide(total) for total in self.interleaved_sums(count, 1, number, row, row)]

    def each(self, body):
        f = self.f
        with f.loop(0, self.job.images) as rows:
            at = self.row(rows.index)
            f.store_masked(body(at, self.mask), f.at(self.job.address("y"), at), self.mask)

    def keep(self, value, mask):
        """Return the value as it is: missing channels are never stored."""
        return value

    def spread(self, value):
        return value
