"""Puts images into channels last on GPUs where that saves transposes.

    %1 = conv(%x, %w)        f32[8,64,9,9]           %1 = conv_last(permute(%x), permute(%w))    f32[8,9,9,64]
    %2 = relu(%1)                                    %2 = relu(%1)
    %3 = sum(%2, dim=(2, 3))                         %3 = sum(%2, dim=(1, 2))

Tensor cores want channels side by side: kernels of windows of several pixels read images so, and windows of one pixel are
plain products of matrices (pixels, channels). Values linked by convolutions, elementwise work, concats and the like form a
region with one order: channels last, if its convolutions would otherwise transpose more bytes than its other readers and
writers then do. Everything outside sees such values through a view. Results of the graph keep their order.

Convolutions over few channels, as at the beginning of networks, read packed images (`triton/conv/conv_packed.py`), and
write or read the other side in either order, the region's. Their image is packed once.
"""

from math import prod

from ...ir import dtype as dt
from ...ir.dim_order import channels_last as to_last
from ...ir.dim_order import channels_second as to_second
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.op import Reduce, Scalar
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.reduce import sum_
from ...ir.ops.core.shape import cat, contiguous, expand, full, later, pad, permute, reshape, slice_
from ...ir.ops.linalg.products import matmul
from ...ir.ops.nn.conv import conv, conv_input_grad, conv_weight_grad
from ...ir.ops.nn.pool import avg_pool, avg_pool_grad, is_whole
from ...ir.ops.packed.conv_channels_last import conv_last, conv_last_input_grad, conv_last_weight_grad, packed_image
from ...ir.symbols.substitute import as_float
from ..codegen.triton.conv import conv_channels_last as kernels
from ..codegen.triton.conv import conv_packed as of_few
from ..rewrite.rewrite import prune

_GRADIENTS = (conv_input_grad, conv_weight_grad)
_CONVOLUTIONS = (conv, *_GRADIENTS)
MOST_DIMS = 5
_TURN = 2        # passes over memory of a transposed image
_MOVED = (cat, slice_, pad, later)


def channels_last(graph: Graph, tf32: bool = False) -> Graph:
    """Return the graph with channels last where that pays: for 16-bit floats, and float32 that may round to TF32."""
    kinds = (*dt.NARROW, dt.float32) if tf32 else dt.NARROW
    nodes = [n for n in graph.nodes if n.op in _CONVOLUTIONS and n.output.dtype in kinds]
    convs = {n: w for n in nodes if (w := _window(n)) is not None}
    chosen = _Regions(graph, convs).chosen() if any(w.turns for w in convs.values()) else None
    return _Converter(graph, convs, chosen).run() if chosen else graph


class _Window:
    """The images and filters of a convolution that these kernels run.

    filters  their shape (outputs, channels, *kernel)
    images   the images that it reads in this order, and the image that it writes
    point    whether its window is one pixel, which fixes no order
    few      whether its image has few channels and is packed: it is none of `images`
    around   the others
    turns    whether it would transpose its images
    """

    def __init__(self, node: Node, filters, big, few):
        self.filters, self.point, self.few = filters, _is_point(node, filters), few
        self.images = node.inputs[few:] if node.op is conv_weight_grad else node.inputs[:not few]
        self.around = [*self.images, *([] if node.op is conv_weight_grad else [node.output])]
        self.turns = not few and kernels.pays(filters, 1, _pixels(big))


def _window(node) -> _Window | None:
    """Return the window of a convolution that these kernels run, else None."""
    params, x = node.params, node.inputs[0]
    filters, big = (node.output.shape, node.inputs[1]) if node.op is conv_weight_grad else (node.inputs[1].shape, node.output)
    shapes = [*filters, *x.shape, *node.output.shape]
    fits = params["groups"] == 1 and x.ndim <= MOST_DIMS and all(type(n) is int and n > 0 for n in shapes)
    if not fits:
        return None
    window = zip(params["stride"], params["padding"], params["dilation"])
    few = node.op is not conv_input_grad and of_few.pays(filters, 1, _pixels(big), params["padding"])
    return _Window(node, filters, big, few) if few or kernels.fits(x.dtype, filters[0], filters[1], window) else None


def _pixels(image) -> int:
    return image.shape[0] * prod(image.shape[2:])


def _is_point(node, filters) -> bool:
    shifts = [*node.params["padding"], [s - 1 for s in node.params["stride"]]]
    return prod(filters[2:]) == 1 and not any(n for numbers in shifts for n in numbers)


def _spreads(value) -> bool:
    """Return whether a value has few elements of its own, so that any order of it costs nothing."""
    node = value.node
    return node is not None and (node.op in (expand, full) or (node.op is avg_pool_grad and _is_whole(node)))


def _is_whole(node) -> bool:
    params, shape = node.params, (node.inputs[0] if node.op is avg_pool else node.output).shape
    return is_whole(shape[2:], params["kernel"], params["padding"])


def _is_linked(node) -> bool:
    """Return whether a node makes an image of images, element by element."""
    return (type(node.op.lower) is Scalar or node.op in _MOVED) and not node.multi and node.output.ndim > 2


def _is_sum(node) -> bool:
    """Return whether a node folds dims, in any order."""
    return type(node.op.lower) is Reduce and not node.op.lower.kind.startswith("arg") and bool(node.params["dim"])


def _images_of(node) -> list:
    """Return the operands of a linked node that share its result's order."""
    values = [x for x in (node.inputs[:1] if node.op is later else node.inputs) if type(x) is Value]
    return [x for x in values if x.ndim == node.output.ndim and not _spreads(x)]


class _Regions:
    """Union-find of values with one order, and the bytes that channels last saves in each."""

    def __init__(self, graph, convs):
        self.above: dict = {}
        self.gains: dict = {}
        for node in graph.nodes:
            if _is_linked(node):
                linked = [node.output, *_images_of(node)]
            elif node in convs:
                linked = convs[node].around
            else:
                continue
            for x in linked[1:]:
                self._join(self.find(x), self.find(linked[0]))
        for node in graph.nodes:
            self._count(node, convs.get(node))
        for v in (*graph.inputs, *graph.results):
            self._add(v, -_TURN)

    def find(self, value):
        top = value
        while top in self.above:
            top = self.above[top]
        while value is not top:
            self.above[value], value = top, self.above[value]
        return top

    def _join(self, one, other):
        if one is not other:
            self.above[one] = other

    def chosen(self):
        """Return a test of values, or None if none passes."""
        good = {v for v, gain in self.gains.items() if gain > 0}
        return (lambda value: self.find(value) in good) if good else None

    def _add(self, value, times):
        if type(value) is Value and value.ndim > 2 and not _spreads(value):
            region, size = self.find(value), value.aval.size * value.dtype.itemsize
            self.gains[region] = self.gains.get(region, 0) + times * (size if type(size) is int else 0)

    def _count(self, node, window):
        if window is not None:
            for x in window.images if window.turns else ():
                self._add(x, _TURN)
        elif not (_is_linked(node) or _is_sum(node) or (node.op in (avg_pool, avg_pool_grad) and _is_whole(node))
                  or node.op in (expand, full)):
            for v in (*node.inputs, *node.outputs):
                self._add(v, -_TURN)


class _Converter:
    """A copy of a graph. Each value is there plainly, with channels last, or both, the second made on demand."""

    def __init__(self, graph, convs, chosen):
        self.graph, self.convs, self.chosen = graph, convs, chosen
        self.b = Builder(graph.name)
        self.plain: dict = self.b.copy_inputs(graph)
        self.last: dict = {}          # {value: with channels last}
        self.filters: dict = {}       # {weight: in the order of `conv_last`}
        self.packed: dict = {}        # {(value, padding): packed}
        self.image_operands = {x for w in convs.values() for x in w.images}

    def run(self) -> Graph:
        for node in self.graph.nodes:
            with self.b.at(node.line):
                if not self._visit(node):
                    operands = [self.as_plain(x) if type(x) is Value else x for x in node.inputs]
                    self.plain.update(zip(node.outputs, self.b.copy(node, operands).outputs))
        for v in self.graph.results:
            self.as_plain(v)
        return prune(self.b.finish_like(self.graph, self.plain))

    def _visit(self, node) -> bool:
        """Enter a node's results with channels last; return whether that was possible."""
        if node in self.convs:
            return self._conv(node, self.convs[node])
        if _is_linked(node):
            return self.chosen(node.output) and self._linked(node)
        if _is_sum(node):
            return node.inputs[0].ndim > 2 and self.chosen(node.inputs[0]) and self._sum(node)
        if node.op is avg_pool:
            return _is_whole(node) and self.chosen(node.inputs[0]) and self._mean(node)
        return node.op is avg_pool_grad and _is_whole(node) and self._mean_grad(node)

    # Values.

    def as_plain(self, value):
        if value not in self.plain:
            made = permute(self.last[value], dims=to_second(value.ndim))
            self.plain[value] = made
        return self.plain[value]

    def as_last(self, value):
        """Return a value with its channels last: in memory if a convolution reads it, else perhaps a view."""
        if value not in self.last:
            made = permute(self.plain[value], dims=to_last(value.ndim))
            self.last[value] = contiguous(made) if value in self.image_operands else made
        return self.last[value]

    def as_filters(self, value):
        if value not in self.filters:
            w, order = self.as_plain(value), to_last(value.ndim)
            shape = tuple([w.shape[d] for d in order])
            made = reshape(w, shape=shape) if prod(shape[1:-1]) == 1 else contiguous(permute(w, dims=order))
            self.filters[value] = made
        return self.filters[value]

    def as_packed(self, value, padding):
        """Return an image of few channels, or filters over them, packed."""
        if (value, padding) not in self.packed:
            channels = of_few.pack_of(value.shape[1])
            self.packed[value, padding] = packed_image(self.as_plain(value), padding=padding, channels=channels)
        return self.packed[value, padding]

    # Nodes.

    def _linked(self, node) -> bool:
        ndim, params = node.output.ndim, node.params
        if any(type(x) is Value and x.ndim != ndim for x in node.inputs[:1 if node.op in _MOVED else None]):
            return False
        if node.op is later:
            after = node.inputs[1]
            operands = [self.as_last(node.inputs[0]), self.last[after] if after in self.last else self.as_plain(after)]
        else:
            operands = [self.as_last(x) if type(x) is Value and x.ndim == ndim else
                        self.as_plain(x) if type(x) is Value else x for x in node.inputs]
        if node.op in (cat, slice_):
            params = params | {"dim": to_last(ndim).index(params["dim"] % ndim)}
        elif node.op is pad:
            params = params | {side: tuple([params[side][d] for d in to_last(ndim)]) for side in ("low", "high", "interior")}
        self.last[node.output] = self.b.append(node.op, operands, params)
        return True

    def _sum(self, node) -> bool:
        x, params = node.inputs[0], node.params
        order = to_last(x.ndim)
        dims = [d % x.ndim for d in params["dim"]]
        made = self.b.append(node.op, [self.as_last(x)], params | {"dim": tuple(sorted([order.index(d) for d in dims]))})
        if params["keepdim"]:
            self.plain[node.output] = permute(made, dims=to_second(x.ndim))
        else:
            left = [d for d in order if d not in dims]
            same = left == sorted(left)
            self.plain[node.output] = made if same else permute(made, dims=tuple([left.index(d) for d in sorted(left)]))
        return True

    def _mean(self, node) -> bool:
        """Average planes, divided in the accumulator's type."""
        x, divisor = self.as_last(node.inputs[0]), node.params["divisor"]
        wide = dt.accumulator(x.dtype)
        total = sum_(ew.cast(x, dtype=wide) if wide is not x.dtype else x, dim=tuple(range(1, x.ndim - 1)), keepdim=True)
        mean = ew.div(total, as_float(prod(x.shape[1:-1]) if divisor is None else divisor))
        mean = ew.cast(mean, dtype=x.dtype) if wide is not x.dtype else mean
        self.plain[node.output] = permute(mean, dims=to_second(x.ndim))
        return True

    def _mean_grad(self, node) -> bool:
        g, divisor, shape = self.as_plain(node.inputs[0]), node.params["divisor"], node.output.shape
        wide = dt.accumulator(g.dtype)
        count = as_float(prod(shape[2:]) if divisor is None else divisor)
        share = ew.div(ew.cast(g, dtype=wide) if wide is not g.dtype else g, count)
        self.plain[node.output] = expand(ew.cast(share, dtype=g.dtype) if wide is not g.dtype else share, shape=shape)
        return True

    def _conv(self, node, window) -> bool:
        if not self.chosen(window.around[0]):
            return False
        params = {name: node.params[name] for name in ("stride", "padding", "dilation")}
        if window.few:
            self._few(node, params["padding"], params | {"padding": ((0, 0),) * len(params["padding"])})
        elif node.op is conv_weight_grad:
            x, g = [self.as_last(v) for v in node.inputs]
            made = conv_last_weight_grad(x, g, size=node.params["size"], **params)
            alike, shape = prod(node.params["size"]) == 1, node.output.shape
            self.plain[node.output] = reshape(made, shape=shape) if alike else permute(made, dims=to_second(made.ndim))
        elif window.point and node.output.dtype in dt.NARROW:
            self._product(node)
        elif node.op is conv:
            x, w, bias = node.inputs
            bias_operand = None if bias is None else self.as_plain(bias)
            self.last[node.output] = self.b.call(conv_last, self.as_last(x), self.as_filters(w), bias_operand, **params)
        else:
            g, w = node.inputs
            params["size"] = node.params["size"]
            self.last[node.output] = conv_last_input_grad(self.as_last(g), self.as_filters(w), **params)
        return True

    def _few(self, node, padding, params):
        """Append a convolution over few channels, or the gradient of its filters, of a packed image."""
        image = self.as_packed(node.inputs[0], padding)
        if node.op is conv:
            _, w, bias = node.inputs
            bias_operand = None if bias is None else self.as_plain(bias)
            self.last[node.output] = self.b.call(conv_last, image, self.as_packed(w, params["padding"]), bias_operand, **params)
        else:
            made = conv_last_weight_grad(image, self.as_last(node.inputs[1]), size=node.params["size"], **params)
            there = slice_(made, dim=made.ndim - 1, start=0, stop=node.output.shape[1], step=1)
            self.plain[node.output] = permute(there, dims=to_second(made.ndim))

    def _product(self, node):
        """Append a one-pixel convolution as a product of (pixels, channels) matrices; float32 may round otherwise."""
        x, w = self.as_last(node.inputs[0]), self.as_plain(node.inputs[1])
        w = reshape(w, shape=w.shape[:2])
        y = matmul(reshape(x, shape=(prod(x.shape[:-1]), x.shape[-1])), permute(w, dims=(1, 0)) if node.op is conv else w)
        if node.op is conv and node.inputs[2] is not None:
            y = ew.add(y, expand(self.as_plain(node.inputs[2]), shape=y.shape))
        self.last[node.output] = reshape(y, shape=(*x.shape[:-1], y.shape[1]))
