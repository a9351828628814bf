"""Post-training static quantisation: convolutions and products with known weights are computed in 8-bit integers.

    %1 = conv(%x, %w, %b)              %1 = to_bytes(permute(%x, dims=(0, 2, 3, 1)), scale=..., zero=...)
    %2 = relu(%1)                      %2 = conv_int8(pad(%1), %w.int8, %w.start, %w.factor, None, ...)      u8[N,H,W,C]
    %3 = conv(%2, ...)                 %3 = conv_int8(pad(%2), ...)

A layer reads bytes with one scale and zero point for the whole tensor, from calibrated ranges; weights are int8 with a scale
for each output channel, as they are when the pass runs. Between such layers bytes stay bytes: a layer gives bytes if a reader
prefers them, maxima and moves work on bytes, residual additions are part of the layer before. Everything else is computed
in floats as before; elementwise work on images has channels last. Operators that `int8_chains.py` does not find (computed
weights, convolutions over volumes, transposed ones, attention) stay as they are.
"""

import itertools
from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np

from ...ir.dim_order import channels_last, channels_second
from ...ir.dtype import float32, from_numpy, uint8
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.aval import Aval
from ...ir.opdef.op import Reduce
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.reduce import sum_
from ...ir.ops.core.shape import cat, expand, full, pad, permute, reshape, slice_
from ...ir.ops.linalg.products import matmul
from ...ir.ops.nn.pool import avg_pool, max_pool
from ...ir.ops.quantized.int8_conv import TOP, conv_int8, depthwise_int8, from_bytes, to_bytes
from ...ir.symbols.substitute import as_float
from ..rewrite.rewrite import prune
from .int8_chains import Chain, GraphChains, name_of, passes_bytes
from .int8_weights import MOST_DEPTH, Steps, packed, steps_for, whole_numbers


class Bytes(NamedTuple):
    """A value of the new graph as bytes: the value, its steps, and whether channels lie last."""

    value: Value
    steps: Steps
    last: bool


def quantize(graph: Graph, known: Callable, ranges: dict, keep: Callable = lambda value: False) -> tuple:
    """Return (quantised graph, {name: array} of its new inputs, number of quantised layers).

    known   gives the array of a value that depends on weights alone, None for others
    ranges  {value: (smallest, largest)} of calibrated values; layers without stay as they are
    keep    whether the layer of a weight stays in floats
    """
    return Quantizer(GraphChains(graph, known, keep), ranges).run()


def observed(graph: Graph, known: Callable, keep: Callable = lambda value: False) -> list:
    """Return the values whose ranges `quantize` needs, in the order of the graph."""
    wanted = GraphChains(graph, known, keep).wanted
    return [v for v in graph.values() if v in wanted]


class Quantizer:
    """A copy of a graph. A value is there plainly, as floats with channels last, or as bytes; forms are made on demand."""

    def __init__(self, chains: GraphChains, ranges: dict):
        self.chains, self.graph, self.ranges = chains, chains.graph, ranges
        self.b = Builder(self.graph.name)
        self.plain: dict = self.b.copy_inputs(self.graph)
        self.last: dict = {}
        self.bytes: dict = {}
        self.copies: dict = {}          # (value, what it is) -> a copy in another form
        self.weights: dict = {}
        self.layers = 0

    def run(self) -> tuple:
        for node in self.graph.nodes:
            with self.b.at(node.line):
                self._visit(node)
        if not self.layers:
            return self.graph, {}, 0
        with self.b.at(None):
            for v in self.graph.results:
                self.as_plain(v)
        return prune(self.b.finish_like(self.graph, self.plain)), self.weights, self.layers

    def _visit(self, node):
        chain = self.chains.tails.get(node)
        if chain is not None and self._can(chain):
            self._layer(chain)
        elif chain is not None:
            for one in (chain.head, *chain.inside):
                self._copy(one)
        elif node not in self.chains.absorbed:
            rule = _RULES.get(node.op) or (_elementwise if node.op.is_pointwise else
                                           _reduce if type(node.op.lower) is Reduce else None)
            if (rule is None or not rule(self, node)) and not _move_bytes(self, node):
                self._copy(node)

    def _copy(self, node):
        operands = [self.as_plain(x) if type(x) is Value else x for x in node.inputs]
        self.plain.update(zip(node.outputs, self.b.copy(node, operands).outputs))

    # Values.

    def has_steps(self, value) -> bool:
        """Return whether a value is there as bytes, or could be."""
        return value in self.bytes or value in self.ranges

    def steps(self, value) -> Steps:
        """Return the steps that a value's bytes have, or would have."""
        return self.bytes[value].steps if value in self.bytes else steps_for(*self.ranges[value])

    def as_plain(self, value):
        """Return a value as it was in the graph."""
        if value not in self.plain:
            made = self.bytes.get(value)
            if made is not None and not made.last:
                self.plain[value] = from_bytes(made.value, **made.steps._asdict())
            else:
                self.plain[value] = permute(self.as_last(value), dims=channels_second(value.ndim))
        return self.plain[value]

    def as_last(self, value):
        """Return a value as floats with channels last."""
        if value not in self.last:
            made = self.bytes.get(value)
            if made is not None:
                self.last[value] = from_bytes(self.as_bytes(value, True), **made.steps._asdict())
            else:
                self.last[value] = permute(self.plain[value], dims=channels_last(value.ndim))
        return self.last[value]

    def as_bytes(self, value, last: bool):
        made = self.bytes.get(value)
        if made is None:
            source = self.as_last(value) if last else self.as_plain(value)
            made = self.bytes[value] = Bytes(to_bytes(source, **self.steps(value)._asdict()), self.steps(value), last)
        if made.last == last:
            return made.value
        key = value, last
        if key not in self.copies:
            self.copies[key] = permute(made.value, dims=(channels_last if last else channels_second)(value.ndim))
        return self.copies[key]

    def is_last(self, value) -> bool:
        """Return whether a value lies with channels last."""
        return value in self.last or (value in self.bytes and self.bytes[value].last)

    def put_bytes(self, value, value_bytes, steps, last):
        self.bytes[value] = Bytes(value_bytes, steps, last)
        return True

    def padded(self, value, last, low, high):
        """Return a value's bytes with its zero around them."""
        value_bytes = self.as_bytes(value, last)
        if not any(low) and not any(high):
            return value_bytes
        return self._around(value_bytes, value, last, low, high)

    def _around(self, value_bytes, value, last, low, high):
        key = value, last, low, high
        if key not in self.copies:
            self.copies[key] = pad(value_bytes, low=low, high=high, interior=(0,) * len(low), value=self.steps(value).zero)
        return self.copies[key]

    def widened(self, value, edges, more):
        """Return bytes of images with channels last, borders and `more` channels; plain ones are padded before transposing,
        plane by plane, because pixels of three bytes are slow to copy."""
        low, high = (tuple([pair[end] for pair in edges]) for end in (0, 1))
        if not more or self.is_last(value):
            return self.padded(value, True, (0, *low, 0), (0, *high, more))
        value_bytes = self._around(self.as_bytes(value, False), value, False, (0, 0, *low), (0, more, *high))
        return permute(value_bytes, dims=channels_last(value.ndim))

    def weight(self, name, array):
        """Add an input with the array of a weight."""
        made = self.b.input(name, Aval(array.shape, from_numpy(array.dtype)))
        self.weights[made.name] = array
        return made

    # Layers.

    def _can(self, chain: Chain) -> bool:
        """Return whether a layer's input was calibrated, and its sums stay within 32 bits."""
        depth = prod(chain.weight.shape) // chain.channels
        numbers = [v for v in (chain.weight, chain.bias, *chain.head.inputs[2:]) if v is not None]
        read = [v for v in (chain.x, chain.residual) if v is not None]
        return depth <= MOST_DEPTH and all(map(self.has_steps, read)) and all(
            np.isfinite(self.chains.known(v)).all() for v in numbers)

    def _layer(self, chain):
        self.layers += 1
        gives = chain.tail in self.chains.wanted and chain.tail in self.ranges
        steps = self.steps(chain.tail) if gives else None
        make = self._conv if chain.is_conv else self._product
        made = make(chain, _finish(chain, self.steps(chain.residual) if chain.residual is not None else None, steps))
        if gives:
            self.put_bytes(chain.tail, made, steps, chain.is_conv)
            return
        for limit, number in chain.limits:
            made = limit(made, number)
        (self.last if chain.is_conv else self.plain)[chain.tail] = made

    def _operands(self, chain, weight, groups, out_scale) -> tuple:
        """Return (weight, start and factor as new inputs, their packing) for a weight (O, C / groups, height, width)."""
        bias = next((v for v in (chain.bias, *chain.head.inputs[2:]) if v is not None), None)
        bias = None if bias is None else self.chains.known(bias)
        made, name = packed(whole_numbers(weight, bias, self.steps(chain.x), out_scale), groups), name_of(chain.weight)
        given = [self.weight(f"{name}.{kind}", a) for kind, a in zip(("int8", "start", "factor"), made)]
        return given, made

    def _conv(self, chain, finish):
        params, x = chain.head.params, chain.x
        array = self.chains.known(chain.weight)
        flat = x.ndim == 3          # along one dim: images of one row
        if flat:
            array = array[:, :, None]
        stride, dilation, padding = (((filler,) * flat + tuple(params[name])) for name, filler in (
            ("stride", 1), ("dilation", 1), ("padding", (0, 0))))
        weights, made = self._operands(chain, array, params["groups"], finish.pop("out_scale"))
        residual = None if chain.residual is None else self.as_bytes(chain.residual, True)
        window = {"stride": stride, "dilation": dilation, **finish}
        if made.groups is not None:
            window |= {"outs": len(array), "groups": made.groups}
        op = depthwise_int8 if made.groups is None else conv_int8
        given = self.widened(x, padding[flat:], made.more)
        if flat:
            given, residual = (None if v is None else reshape(v, shape=(v.shape[0], 1, *v.shape[1:]))
                               for v in (given, residual))
        made = self.b.call(op, given, *weights, residual, **window)
        return reshape(made, shape=(made.shape[0], *made.shape[2:])) if flat else made

    def _product(self, chain, finish):
        array = self.chains.known(chain.weight)
        array = (array.T if chain.head.op is matmul else array)[:, :, None, None]
        weights, made = self._operands(chain, array, 1, finish.pop("out_scale"))
        zeros = (0,) * (chain.x.ndim - 1)
        given = self.padded(chain.x, False, (*zeros, 0), (*zeros, made.more))
        rows = reshape(given, shape=(1, 1, prod(given.shape[:-1]), given.shape[-1]))
        made = self.b.call(conv_int8, rows, *weights, None, outs=len(array), groups=1, stride=(1, 1), dilation=(1, 1), **finish)
        return reshape(made, shape=chain.tail.shape)


def _finish(chain, residual: Steps | None, steps: Steps | None) -> dict:
    """Return the parameters of the steps after a layer's sums, and `out_scale`, the scale of the result."""
    scale = 1.0 if steps is None else steps.scale
    params = {"dtype": float32 if steps is None else uint8, "zero": 0, "low": 0, "high": TOP, "out_scale": scale,
              "beside_zero": 0 if residual is None else residual.zero,
              "beside_scale": 0.0 if residual is None else float(np.float32(residual.scale / scale))}
    if steps is not None:
        low, high = -np.inf, np.inf
        for limit, number in chain.limits:
            take = max if limit is ew.maximum else min
            low, high = take(low, number), take(high, number)
        low, high = (int(np.clip(np.rint(n / steps.scale) + steps.zero, 0, TOP)) if np.isfinite(n) else end
                     for n, end in ((low, 0), (high, TOP)))
        params |= {"zero": steps.zero, "low": low, "high": high}
    return params


# The rules of what stands between layers: each says whether it has made the node's results.


def _elementwise(own: Quantizer, node: Node):
    """Append with channels last, where all operands lie so or are expanded over images."""
    values = [x for x in node.inputs if type(x) is Value]
    shape = node.output.shape
    if not any(own.is_last(v) and v.shape == shape for v in values) or any(v.shape != shape for v in values) or not all(
            own.is_last(v) or _is_spread(v) for v in values):
        return False
    operands = [_spread(own, x) if type(x) is Value and not own.is_last(x) else own.as_last(x) if type(x) is Value else x
                for x in node.inputs]
    own.last[node.output] = own.b.copy(node, operands).output
    return True


def _is_spread(value):
    return value.node is not None and (value.node.op is full or (
        value.node.op is expand and value.node.inputs[0].ndim <= value.ndim))


def _spread(own, value):
    shape = tuple([value.shape[d] for d in channels_last(value.ndim)])
    if value.node.op is full:
        return own.b.call(full, *[None for _ in value.node.inputs], **{**value.node.params, "shape": shape})
    source = value.node.inputs[0]
    aligned = reshape(own.as_plain(source), shape=(1,) * (value.ndim - source.ndim) + tuple(source.shape))
    return expand(permute(aligned, dims=channels_last(value.ndim)), shape=shape)


def _window_elements(x, node):
    """Yield the elements at each kernel offset for all windows of a pool over an image with channels last."""
    kernel, stride, counts = node.params["kernel"], node.params["stride"], node.outputs[0].shape[2:]
    gaps = node.params.get("dilation", (1,) * len(kernel))
    for at in itertools.product(*map(range, kernel)):
        met = x
        for d, (tap, gap, step, count) in enumerate(zip(at, gaps, stride, counts)):
            met = slice_(met, dim=d + 1, start=tap * gap, stop=tap * gap + (count - 1) * step + 1, step=step)
        yield met


def _max_pool(own: Quantizer, node: Node):
    x, (best, indices) = node.inputs[0], node.outputs
    if not own.is_last(x) or x not in own.bytes or own.graph.uses[indices] or indices in own.graph.results:
        return False
    low, high = zip(*node.params["padding"])
    made = own.as_bytes(x, True)
    if any(low) or any(high):
        made = pad(made, low=(0, *low, 0), high=(0, *high, 0), interior=(0,) * x.ndim, value=0)
    first, *others = _window_elements(made, node)
    for other in others:
        first = ew.maximum(first, other)
    return own.put_bytes(best, first, own.steps(x), True)


def _avg_pool(own: Quantizer, node: Node):
    """Append means of whole images, and of windows that lie inside of them."""
    x, params = node.inputs[0], node.params
    if not own.is_last(x) or any(n for pair in params["padding"] for n in pair):
        return False
    number = as_float(prod(params["kernel"]) if params["divisor"] is None else params["divisor"])
    if tuple(params["kernel"]) == tuple(x.shape[2:]):
        total = sum_(own.as_last(x), dim=tuple(range(1, x.ndim - 1)), keepdim=True)
    else:
        total, *others = _window_elements(own.as_last(x), node)
        for other in others:
            total = ew.add(total, other)
    own.last[node.output] = ew.div(total, number)
    return True


def _reduce(own: Quantizer, node: Node):
    """Append a reduction over images with channels last; a result without channels, or with nothing else, is plain."""
    x = node.inputs[0]
    if not own.is_last(x) or len(node.inputs) != 1 or set(node.params) != {"dim", "keepdim"}:
        return False
    dims, keepdim = node.params["dim"], node.params["keepdim"]
    if not keepdim and set(dims) != set(range(2, x.ndim)):
        return False
    dims = tuple(sorted(x.ndim - 1 if d == 1 else d - (d > 1) for d in dims))
    made = own.b.call(node.op, own.as_last(x), dim=dims, keepdim=keepdim)
    (own.last if keepdim else own.plain)[node.output] = made
    return True


def _cat(own: Quantizer, node: Node):
    """Concatenate bytes of images of the same steps."""
    values = node.inputs
    if node.params["dim"] != 1 or not all(own.is_last(v) for v in values):
        return False
    if node.output not in own.chains.wanted or not own.has_steps(node.output):
        own.last[node.output] = cat(*map(own.as_last, values), dim=node.output.ndim - 1)
        return True
    steps = own.steps(node.output)
    parts = [own.as_bytes(v, True) if v in own.bytes and own.steps(v) == steps else
             to_bytes(own.as_last(v), **steps._asdict()) for v in values]
    return own.put_bytes(node.output, cat(*parts, dim=node.output.ndim - 1), steps, True)


def _move_bytes(own: Quantizer, node: Node):
    """Move bytes, where a reader prefers bytes."""
    x = node.inputs[0] if node.inputs else None
    if node.outputs[0] not in own.chains.wanted or x not in own.bytes or node.op in _RULES or not passes_bytes(node, set()):
        return False
    made = own.b.call(node.op, own.as_bytes(x, False), **node.params)
    return own.put_bytes(node.outputs[0], made, own.steps(x), False)


_RULES: dict = {max_pool: _max_pool, avg_pool: _avg_pool, cat: _cat}
