"""Runs convolutional networks in blocked channels: (N, channel blocks, *spatial, lanes).

    blocked = layout(graph, choose)

Results of convolutions and their gradients are blocked. Their neighbours (elementwise work, pools, batch norm, sums over
pixels, concats, and all their gradients: below) stay blocked, up to the next convolution, so plain arrays stand only at the
ends of a network. `choose` maps a `ConvQuery` to the `ConvKernel` that runs such a convolution, or None; PRODUCT means
a matrix product of plain arrays.
"""

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from ...ir.dtype import float32, float64
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.aval import Aval
from ...ir.opdef.op import Op, Reduce, Scalar
from ...ir.opdef.params import params_key
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.reduce import sum_
from ...ir.ops.core.shape import cat, expand, full, pad, reshape, slice_
from ...ir.ops.linalg.products import matmul
from ...ir.ops.nn import norm
from ...ir.ops.nn.conv import conv, conv_input_grad, conv_weight_grad
from ...ir.ops.nn.pool import avg_pool, avg_pool_grad, is_whole, max_pool, plane_put
from ...ir.ops.packed.blocked import (
    avg_pool_blocked,
    blocks_of,
    conv_blocked,
    from_blocked,
    max_pool_blocked,
    pack_filters,
    to_blocked,
)
from ...ir.ops.packed.blocked_grad import (
    avg_pool_grad_blocked,
    batch_norm_grad_blocked,
    batch_norm_train_blocked,
    conv_input_grad_blocked,
    conv_weight_grad_blocked,
    max_pool_grad_blocked,
    max_pool_places_blocked,
    pack_turned,
)
from ...ir.symbols.substitute import as_float
from ..rewrite.rewrite import prune

PRODUCT = "product"
CONVOLUTIONS = (conv, conv_input_grad, conv_weight_grad)
DTYPES = (float32, float64)         # that kernels of blocks take


class ConvQuery(NamedTuple):
    """A convolution, or a gradient of one, for which `choose` picks a kernel.

    x, w           the types of the images that it reads (of x for the gradient of the weight) and of the weight
    params         its parameters
    in_blocks      whether the images are blocked
    wanted         whether a reader can use the result in blocks
    fixed_weights  whether the weight stays the same for many calls
    what           its record
    """

    x: Aval
    w: Aval
    params: dict
    in_blocks: bool
    wanted: bool
    fixed_weights: bool
    what: Op = conv


class ConvKernel(NamedTuple):
    """A convolution kernel: its name, the packed weight's size, its lanes (one: it reads planes), whether the weight is
    transformed.

    A kernel of a transformed weight takes the plain one, too.
    """

    kernel: tuple
    size: int
    lanes: int
    transformed: bool = False


def layout(graph: Graph, choose: Callable) -> Graph:
    """Return the graph with convolutions and their neighbours in blocks."""
    found = any(n.op in CONVOLUTIONS and n.output.dtype in DTYPES for n in graph.nodes)
    return Blocker(graph, choose).run() if found else graph


class Blocker:
    """A copy of a graph. Each value is there plainly, in blocks, or in both ways, the second made on demand."""

    def __init__(self, graph, choose):
        self.graph, self.choose, self.wanted = graph, choose, _wanted(graph)
        self.b = Builder(graph.name)
        self.plain: dict = self.b.copy_inputs(graph)
        self.blocked: dict = {}
        self.packed: dict = {}
        self.max_indices: dict = {}  # indices of maxima in the graph -> (in blocks, the pool's parameters)
        self.widths: dict = {}       # dtype -> lanes of its blocks, once a convolution has them
        self.changed = False
        self.fixed_weights = not any(n.op is conv_weight_grad for n in graph.nodes)
        self.copies: dict = {}

    def run(self) -> Graph:
        """Return the new graph; the old one if nothing was put in blocks."""
        for node in self.graph.nodes:
            with self.b.at(node.line):
                rule = RULES.get(node.op) or (RULES[Scalar] if type(node.op.lower) is Scalar else
                                               RULES[Reduce] if type(node.op.lower) is Reduce else None)
                if rule is None or not rule(self, node):
                    operands = [self.as_plain(x) if type(x) is Value else x for x in node.inputs]
                    self.plain.update(zip(node.outputs, self.b.copy(node, operands).outputs))
        if not self.changed:
            return self.graph
        for v in self.graph.results:
            self.as_plain(v)
        return prune(self.b.finish_like(self.graph, self.plain))

    # Values.

    def lanes(self, value):
        """Return the lanes of a value that was made in blocks; 0 for others."""
        blocked = self.blocked.get(value)
        return 0 if blocked is None else blocked.shape[-1]

    def as_plain(self, value):
        """Return a value as it was in the graph."""
        if value not in self.plain:
            self.plain[value] = self._unblocked(self.blocked[value], value.shape)
        return self.plain[value]

    @staticmethod
    def _unblocked(blocked, shape):
        if shape[1] % blocked.shape[-1] == 0 and prod(shape[2:]) == 1:
            return reshape(blocked, shape=shape)
        return from_blocked(blocked, channels=shape[1])

    def as_blocked(self, value, lanes):
        """Return a value in blocks of so many lanes."""
        if self.lanes(value) == lanes:
            return self.blocked[value]
        found = self.copies.get((value, lanes))
        if found is None:
            found = self.copies[value, lanes] = self._small(value, lanes) or self.block(self.as_plain(value), lanes)
        return found

    @staticmethod
    def block(value, lanes):
        """Put a plain value of the new graph in blocks."""
        if value.shape[1] % lanes == 0 and prod(value.shape[2:]) == 1:
            return reshape(value, shape=(value.shape[0], value.shape[1] // lanes, *value.shape[2:], lanes))
        return to_blocked(value, lanes=lanes)

    def _small(self, value, lanes):
        """Return a fill, or a small value that was expanded, in blocks without a copy of the whole; else None."""
        node, shape = value.node, (value.shape[0], blocks_of(value.shape[1], lanes), *value.shape[2:], lanes)
        if node is None or value in self.blocked:
            return None
        if node.op is full:
            return self.b.call(full, *[None for _ in node.inputs], **{**node.params, "shape": shape})
        if node.op is not expand or len(value.shape) < 2:
            return None
        source = node.inputs[0]
        if self.lanes(source) == lanes and source.ndim == value.ndim:
            return expand(self.blocked[source], shape=shape)
        sizes = (1,) * (value.ndim - source.ndim) + source.shape
        aligned = reshape(self.as_plain(source), shape=sizes)
        over = self.block(aligned, lanes) if sizes[1] == value.shape[1] else reshape(aligned, shape=(*sizes, 1))
        return expand(over, shape=shape)

    def channels(self, value, ndim, lanes):
        """Return channel values shaped to broadcast beside blocked arrays of so many plain dims."""
        return self.block(reshape(self.as_plain(value), shape=(1, value.shape[0]) + (1,) * (ndim - 2)), lanes)

    def filters(self, pack, *values, **params):
        """Return the packed weight of these filters, one for all readers."""
        key = pack, values, params_key(params)
        found = self.packed.get(key)
        if found is None:
            weight, *factors = map(self.as_plain, values)
            factors = [reshape(v, shape=weight.shape[:1]) for v in factors]
            found = self.packed[key] = pack(weight, *factors, **params)
        return found

    def originals(self, source, *factors) -> tuple:
        """Return the originals of a transformed weight, as its kernel reads them."""
        flat = reshape(self.as_plain(source), shape=(source.aval.size,))
        return flat, *[reshape(self.as_plain(v), shape=source.shape[:1]) for v in factors]

    def put(self, value, blocked):
        """Enter the blocked form of a value."""
        self.blocked[value] = blocked
        self.widths.setdefault(value.dtype, blocked.shape[-1])
        self.changed = True
        return True

    def ask(self, node, images, weight, also=False):
        """Return the kernel of a convolution or a gradient of one; `also`: it reads other blocked images."""
        if node.output.dtype not in DTYPES:
            return None
        wanted = also or node.output in self.wanted
        return self.choose(ConvQuery(images.aval, weight, node.params, self.lanes(images) > 0, wanted, self.fixed_weights,
                                     node.op))

    def width(self, value):
        """Return the lanes that a value has, or would have, in blocks; 0 where no convolution of its dtype has blocks."""
        return self.lanes(value) or self.widths.get(value.dtype, 0)


def _wanted(graph) -> set:
    """Return the values that some reader prefers in blocks."""
    found: set = set()
    for node in reversed(graph.nodes):
        if node.op in CONVOLUTIONS:
            found.update(node.inputs[:2] if node.op is conv_weight_grad else node.inputs[:1])
        elif node.op in _POOLS or (_passes_on(node) and any(v in found for v in node.outputs)):
            found.update([x for x in node.inputs if type(x) is Value])
    return found


def factored(w) -> tuple:
    """Split a weight scaled per first channel into (weight, factor), as batch norm makes it; return (weight,) of others.

    The unscaled weight is in memory anyway.
    """
    if w.node is not None and w.node.op is ew.mul:
        for source, other in (w.node.inputs, w.node.inputs[::-1]):
            if type(source) is type(other) is Value and source.shape == w.shape and other.node is not None \
                    and other.node.op is expand and other.node.inputs[0].shape == (w.shape[0],) + (1,) * (w.ndim - 1):
                return source, other.node.inputs[0]
    return (w,)


def is_small(value) -> bool:
    """Return whether a value of the graph is a fill or expanded, so that its blocks need no copy of the whole."""
    return value.node is not None and value.node.op in (full, expand)


def _passes_on(node):
    return node.op in _PASSED_ON or type(node.op.lower) is Scalar


# The rules: each puts a node's results in blocks and says so, or declines.


def _conv(own: Blocker, node: Node):
    x, w, bias = node.inputs
    params = node.params
    in_blocks = own.lanes(x) > 0
    chosen = own.ask(node, x, w.aval)
    if chosen is None:
        return False
    if chosen == PRODUCT:
        return _product(own, node)
    kernel, size, lanes, transformed = chosen
    if in_blocks and own.lanes(x) != lanes:
        return False
    data = own.blocked[x] if in_blocks else own.as_plain(x)
    if lanes == 1:
        return _planes(own, node, data, kernel, size)
    operands = () if bias is None else (own.channels(bias, x.ndim, lanes),)
    made_of = factored(w) if transformed else (w,)
    packed = own.filters(pack_filters, *made_of, kernel=kernel, size=size)
    originals = own.originals(*made_of) if transformed else ()
    taps_param = {"taps": len(originals)} if originals else {}
    made = conv_blocked(data, packed, *originals, *operands, filters=w.shape, lanes=lanes, in_blocks=in_blocks, kernel=kernel,
                        epilogue=(("add", "a", "o0"),) if operands else (), **taps_param, **params)
    return own.put(node.output, made)


def _planes(own: Blocker, node: Node, x, kernel, size):
    """Append a convolution that reads and writes plain planes, for the epilogue that it may take."""
    w, bias = node.inputs[1:]
    flat = reshape(own.as_plain(w), shape=(size,))
    operands = () if bias is None else (reshape(own.as_plain(bias), shape=(1, bias.shape[0]) + (1,) * (x.ndim - 2)),)
    own.plain[node.output] = conv_blocked(x, flat, *operands, filters=w.shape, lanes=1, in_blocks=False, kernel=kernel,
                                          epilogue=(("add", "a", "o0"),) if operands else (), **node.params)
    own.changed = True
    return True


def _product(own: Blocker, node: Node):
    """Append a one-pixel convolution as weight times image, so that its followers become the product's epilogue."""
    x, w = (own.as_plain(v) for v in node.inputs[:2])
    bias = None if node.inputs[2] is None else own.as_plain(node.inputs[2])
    images, rows, pixels = x.shape[0], w.shape[0], prod(x.shape[2:])
    left = expand(reshape(w, shape=(1, rows, w.shape[1])), shape=(images, rows, w.shape[1]))
    y = matmul(left, reshape(x, shape=(images, x.shape[1], pixels)))
    if bias is not None:
        y = ew.add(y, reshape(bias, shape=(rows, 1)))
    own.plain[node.output] = reshape(y, shape=node.output.shape)
    own.changed = True
    return True


def _elementwise(own: Blocker, node: Node):
    values = [x for x in node.inputs if type(x) is Value]
    lanes = {own.lanes(v) for v in values} - {0}
    if len(lanes) != 1 or not all(own.lanes(v) or v.dtype in (float32, float64) or is_small(v) for v in values):
        return False
    width, = lanes
    operands = [own.as_blocked(x, width) if type(x) is Value else x for x in node.inputs]
    return own.put(node.output, own.b.copy(node, operands).output)


def _batch_norm(own: Blocker, node: Node):
    x, gain, shift, mean, var = node.inputs
    lanes = own.lanes(x)
    if not lanes or any(type(v) is Value and v.dtype is not x.dtype for v in node.inputs):
        return False
    rows, shape = own.blocked[x], own.blocked[x].shape
    scale = ew.rsqrt(ew.add(own.channels(var, x.ndim, lanes), node.params["eps"]))
    if gain is not None:
        scale = ew.mul(scale, own.channels(gain, x.ndim, lanes))
    y = ew.mul(ew.sub(rows, expand(own.channels(mean, x.ndim, lanes), shape=shape)), expand(scale, shape=shape))
    if shift is not None:
        y = ew.add(y, expand(own.channels(shift, x.ndim, lanes), shape=shape))
    return own.put(node.output, y)


def _max_pool(own: Blocker, node: Node):
    x, (best, indices) = node.inputs[0], node.outputs
    readers = own.graph.uses[indices]
    if not own.lanes(x) or indices in own.graph.results or not _all_meet(x.shape[2:], node.params) or any(
            n.op is not plane_put or n.params["size"] != x.shape[2:] or n.inputs[0].dtype is not x.dtype for n in readers):
        return False
    if not readers:
        return own.put(best, max_pool_blocked(own.blocked[x], **node.params))
    made, at = max_pool_places_blocked(own.blocked[x], **node.params)
    own.max_indices[indices] = at, node.params
    return own.put(best, made)


def _all_meet(sizes, params):
    """Return whether every window has a place inside the input: none lies beside it or between two places."""
    names = ("kernel", "padding", "dilation")
    return all(max(low, high) <= gap * (k - 1) and gap <= n
               for n, k, (low, high), gap in zip(sizes, *(params[name] for name in names)))


def _avg_pool(own: Blocker, node: Node):
    x, = node.inputs
    if not own.lanes(x):
        return False
    size, divisor = node.params["kernel"], node.params["divisor"]
    if is_whole(x.shape[2:], size, node.params["padding"]):      # a sum by the tree of all sums
        total = sum_(own.blocked[x], dim=tuple(range(2, x.ndim)), keepdim=True)
        return own.put(node.output, ew.div(total, as_float(prod(size) if divisor is None else divisor)))
    return own.put(node.output, avg_pool_blocked(own.blocked[x], **node.params))


def _reduce(own: Blocker, node: Node):
    x, dims, keepdim = node.inputs[0], node.params["dim"], node.params["keepdim"]
    if not own.lanes(x) or not dims or not all(d != 1 and 0 <= d < x.ndim for d in dims):
        return False
    if keepdim or 0 not in dims:
        return own.put(node.output, own.b.copy(node, [own.blocked[x]]).output)
    if len(dims) < x.ndim - 1:
        return False
    made = own.b.copy(node, [own.blocked[x]]).output
    flat = reshape(made, shape=(made.shape[0] * made.shape[1],))
    own.plain[node.output] = slice_(flat, dim=0, start=0, stop=x.shape[1], step=1)
    return True


def _cat(own: Blocker, node: Node):
    lanes = {own.lanes(x) for x in node.inputs}
    width = min(lanes)
    if len(lanes) != 1 or not width or (node.params["dim"] == 1 and any(x.shape[1] % width for x in node.inputs[:-1])):
        return False
    return own.put(node.output, own.b.copy(node, [own.blocked[x] for x in node.inputs]).output)


def _pad(own: Blocker, node: Node):
    x, params = node.inputs[0], node.params
    lanes = own.lanes(x)
    if not lanes:
        return False
    low, high, between = (params[side][1] for side in _SIDES)
    if between or low % lanes or high % lanes or (high and x.shape[1] % lanes):
        return False
    params = {**params, **{side: (*params[side], 0) for side in _SIDES}}
    for side in ("low", "high"):
        params[side] = (params[side][0], params[side][1] // lanes, *params[side][2:])
    return own.put(node.output, own.b.call(pad, own.blocked[x], *node.inputs[1:], **params))


def _slice(own: Blocker, node: Node):
    x, (dim, start, stop, step) = node.inputs[0], (node.params[k] for k in ("dim", "start", "stop", "step"))
    lanes = own.lanes(x)
    if not lanes or (dim == 1 and (step != 1 or start % lanes or not node.output.aval.size)):
        return False
    if dim == 1:
        start, stop = start // lanes, blocks_of(min(stop, x.shape[1]), lanes)
    return own.put(node.output, slice_(own.blocked[x], dim=dim, start=start, stop=stop, step=step))


def _input_grad(own: Blocker, node: Node):
    (g, w), params = node.inputs, node.params
    chosen = own.ask(node, g, w.aval)
    if chosen is None:
        return False
    kernel, size, lanes, transformed = chosen
    window = {name: params[name] for name in ("size", "stride", "padding", "dilation", "groups")}
    packed = own.filters(pack_turned, w, kernel=kernel, elements=size, **window)
    originals = own.originals(w) if transformed else ()
    taps_param = {"taps": len(originals)} if originals else {}
    made = conv_input_grad_blocked(own.as_blocked(g, lanes), packed, *originals, filters=w.shape, lanes=lanes, kernel=kernel,
                                   epilogue=(), **taps_param, **window)
    return own.put(node.output, made)


def _weight_grad(own: Blocker, node: Node):
    (x, g), params = node.inputs, {name: v for name, v in node.params.items() if name != "size"}
    chosen = own.ask(node, x, node.output.aval, own.lanes(g) > 0)
    if chosen is None:
        return False
    kernel, lanes = chosen.kernel, chosen.lanes
    in_blocks = own.lanes(x) == lanes
    data = own.blocked[x] if in_blocks else own.as_plain(x)
    own.plain[node.output] = conv_weight_grad_blocked(
        data, own.as_blocked(g, lanes), filters=node.output.shape, lanes=lanes, in_blocks=in_blocks, kernel=kernel, **params)
    own.changed = True
    return True


def _takes_norm(own, node, x):
    return own.lanes(x) > 0 and x.ndim > 2 and all(v is None or v.dtype is x.dtype for v in node.inputs)


def _batch_norm_train(own: Blocker, node: Node):
    x, w, b = node.inputs
    if not _takes_norm(own, node, x):
        return False
    operands = [None if v is None else own.as_plain(v) for v in (w, b)]
    y, mean, var = batch_norm_train_blocked(own.blocked[x], *operands, eps=node.params["eps"], channels=x.shape[1],
                                            relu=node.op is norm.batch_norm_relu_train)
    own.plain.update(zip(node.outputs[1:], (mean, var)))
    return own.put(node.outputs[0], y)


def _batch_norm_grad(own: Blocker, node: Node):
    relu = node.op is norm.batch_norm_relu_grad
    g, out, (g_mean, g_var, x, w, mean, var) = node.inputs[0], node.inputs[1] if relu else None, node.inputs[1 + relu:]
    if not _takes_norm(own, node, x):
        return False
    lanes = own.lanes(x)
    images = [own.as_blocked(g, lanes), None if out is None else own.as_blocked(out, lanes)]
    operands = [None if v is None else own.as_plain(v) for v in (w, mean, var)]
    dx, scale, shift = batch_norm_grad_blocked(*images, own.as_plain(g_mean), own.as_plain(g_var), own.blocked[x], *operands,
                                               eps=node.params["eps"], channels=x.shape[1], relu=relu)
    own.plain.update(zip(node.outputs[1:], (scale, shift)))
    return own.put(node.outputs[0], dx)


def _plane_put(own: Blocker, node: Node):
    g, indices = node.inputs
    if indices not in own.max_indices:
        return False
    at, params = own.max_indices[indices]
    data = own.as_blocked(g, at.shape[-1])
    return own.put(node.output, max_pool_grad_blocked(data, at, size=node.params["size"], **params))


def _avg_pool_grad(own: Blocker, node: Node):
    g, = node.inputs
    lanes = own.lanes(g) or (own.width(g) if node.output in own.wanted else 0)
    if not lanes or any(low < 0 for low, _ in node.params["padding"]):
        return False
    return own.put(node.output, avg_pool_grad_blocked(own.as_blocked(g, lanes), **node.params))


_SIDES = ("low", "high", "interior")
_POOLS = (max_pool, avg_pool)
_NORMS = {norm.batch_norm_train: _batch_norm_train, norm.batch_norm_relu_train: _batch_norm_train,
          norm.batch_norm_grad: _batch_norm_grad, norm.batch_norm_relu_grad: _batch_norm_grad}
_PASSED_ON = (norm.batch_norm, cat, pad, slice_, *_NORMS, plane_put, avg_pool_grad)
RULES: dict = {
    conv: _conv, conv_input_grad: _input_grad, conv_weight_grad: _weight_grad, norm.batch_norm: _batch_norm, **_NORMS,
    max_pool: _max_pool, plane_put: _plane_put, avg_pool: _avg_pool, avg_pool_grad: _avg_pool_grad, cat: _cat, pad: _pad,
    slice_: _slice, Scalar: _elementwise, Reduce: _reduce}
