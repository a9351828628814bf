"""Layout rules for operators of training: gradients of convolutions and pools, batch normalisation.

Rules as in `layout.py`: each puts a node's results in blocks and says so, or declines. Gradients of weights, statistics, and
numbers for each channel stay plain.
"""

from typing import Any

from ...ir.graph.graph import Node
from ...ir.ops.nn import norm
from ...ir.ops.nn.conv import conv_input_grad, conv_weight_grad
from ...ir.ops.nn.pool import avg_pool_grad, plane_put
from ...ir.ops.packed.blocked_grad import (
    avg_pool_grad_blocked,
    batch_norm_grad_blocked,
    batch_norm_train_blocked,
    conv_input_grad_blocked,
    conv_weight_grad_blocked,
    max_pool_grad_blocked,
    pack_turned,
)


def _input_grad(own: Any, node: Node):
    (g, w), params = node.inputs, node.params
    chosen = own.ask(node, g, w.aval)
    if chosen is None:
        return False
    kernel, size, lanes, transformed = chosen
    window = {name: params[name] for name in ("size", "stride", "padding", "dilation", "groups")}
    packed = own.filters(pack_turned, w, kernel=kernel, elements=size, **window)
    taps = own.taps(w) if transformed else ()
    said = {"taps": len(taps)} if taps else {}
    return own.put(node.output, conv_input_grad_blocked(own.as_blocked(g, lanes), packed, *taps, filters=w.shape, lanes=lanes,
                                                        kernel=kernel, epilogue=(), **said, **window))


def _weight_grad(own: Any, node: Node):
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


def _batch_norm_train(own: Any, node: Node):
    x, w, b = node.inputs
    if not _takes_norm(own, node, x):
        return False
    beside = [None if v is None else own.as_plain(v) for v in (w, b)]
    y, mean, var = batch_norm_train_blocked(own.blocked[x], *beside, eps=node.params["eps"], channels=x.shape[1],
                                            relu=node.op is norm.batch_norm_relu_train)
    own.plain.update(zip(node.outputs[1:], (mean, var)))
    return own.put(node.outputs[0], y)


def _batch_norm_grad(own: Any, node: Node):
    relu = node.op is norm.batch_norm_relu_grad
    g, out, (g_mean, g_var, x, w, mean, var) = node.inputs[0], node.inputs[1] if relu else None, node.inputs[1 + relu:]
    if not _takes_norm(own, node, x):
        return False
    lanes = own.lanes(x)
    images = [own.as_blocked(g, lanes), None if out is None else own.as_blocked(out, lanes)]
    beside = [None if v is None else own.as_plain(v) for v in (w, mean, var)]
    dx, scale, shift = batch_norm_grad_blocked(*images, own.as_plain(g_mean), own.as_plain(g_var), own.blocked[x], *beside,
                                               eps=node.params["eps"], channels=x.shape[1], relu=relu)
    own.plain.update(zip(node.outputs[1:], (scale, shift)))
    return own.put(node.outputs[0], dx)


def _plane_put(own: Any, node: Node):
    g, places = node.inputs
    if places not in own.places:
        return False
    at, params = own.places[places]
    data = own.as_blocked(g, at.shape[-1])
    return own.put(node.output, max_pool_grad_blocked(data, at, size=node.params["size"], **params))


def _avg_pool_grad(own: Any, node: Node):
    g, = node.inputs
    lanes = own.lanes(g) or (own.width(g) if node.output in own.wanted else 0)
    if not lanes or any(low < 0 for low, _ in node.params["padding"]):
        return False
    return own.put(node.output, avg_pool_grad_blocked(own.as_blocked(g, lanes), **node.params))


PASSED_ON = (norm.batch_norm_train, norm.batch_norm_relu_train, norm.batch_norm_grad, norm.batch_norm_relu_grad, plane_put,
             avg_pool_grad)
RULES: dict = {conv_input_grad: _input_grad, conv_weight_grad: _weight_grad, plane_put: _plane_put,
               avg_pool_grad: _avg_pool_grad,
               norm.batch_norm_train: _batch_norm_train, norm.batch_norm_relu_train: _batch_norm_train,
               norm.batch_norm_grad: _batch_norm_grad, norm.batch_norm_relu_grad: _batch_norm_grad}
