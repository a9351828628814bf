"""A loaded model, operator after operator: inside of a function that is recorded or run for a batch, to which compiled code
would be a number, and where gradients are asked for. A model in whole numbers has none.
"""

from types import SimpleNamespace

from ....ir.graph.graph import Value
from ....ir.symbols.substitute import replaced, valuer
from ....runtime.api.views.tensor_factories import tensor
from ....runtime.autograd.grad_mode import set_grad_enabled
from ....runtime.core.state import tls
from ....runtime.core.tensor import Tensor


def run(model, given) -> list:
    """The results, as tensors in order, for tensors or arrays in order."""
    tensors = [x if isinstance(x, Tensor) else tensor(x, device=model.device) for x in given]
    sizes = model.signature.check([SimpleNamespace(dtype=t._a.dtype, shape=tuple(t.shape)) for t in tensors])
    variant = model.variant_for(sizes)
    graph, weights = model.graph_of(variant), list(model.weights.values())
    values = dict(zip(graph.inputs, [*tensors, *[weights[i] for i in variant.weights]]))
    number = valuer(graph.names, [sizes[name] for name in graph.names])
    before, tls.m.autocast = tls.m.autocast, None
    try:
        with set_grad_enabled(tls.m.grad and not model.quantized):
            for node in graph.nodes:
                params = {name: replaced(x, number) for name, x in node.params.items()}
                results = node.op.call(*[values[x] if type(x) is Value else replaced(x, number) for x in node.inputs], **params)
                values.update(zip(node.outputs, results if node.multi else (results,)))
    finally:
        tls.m.autocast = before
    return [values[v] for v in graph.outputs]
