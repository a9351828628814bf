"""Rows of modules: results, gradients of inputs and parameters, and buffers after the calls."""

import numpy as np

from ..row import fill, lookup, prepare
from ..tensors import flatten, gradients, placed, to_tensor
from . import kind


def make(library, row):
    """Build the module of a row, with the state that the row holds."""
    template, arrays = prepare(library, (row.args, row.kwargs))
    args, kwargs = fill(template, [to_tensor(library, a) for a, _ in arrays])
    module = lookup(library, row.target)(*args, **kwargs)
    module = placed(module.to(getattr(library, row.options.get("dtype", "float64"))))
    state = row.options.get("state")
    if state is not None:
        module.load_state_dict({k: to_tensor(library, v) for k, v in state.items()})
    return module.train(row.options.get("train", True))


@kind("layer")
def run(library, row, wrap):
    """Build the module, call it `times` times, differentiate the last call.

    Options: `inputs` and `call` (arguments of the calls), `state` (the state dict, which the writing tool draws), `train`,
    `times`, `dtype`.
    """
    module = make(library, row)
    (inputs, call), given = prepare(library, (row.options.get("inputs", ()), row.options.get("call", {})))
    times = row.options.get("times", 1)

    def body(*tensors):
        args, kwargs = fill(inputs, tensors), fill(call, tensors)
        for _ in range(times):
            result = module(*args, **kwargs)
        out = flatten(library, result)
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        leaves |= {name: p for name, p in module.named_parameters() if p.requires_grad}
        return out | gradients(library, out, leaves)

    found = dict(wrap(body, state=module)(*[to_tensor(library, a, leaf) for a, leaf in given]))
    parameters = {name for name, _ in module.named_parameters()}
    return found | {f"state.{k}": v for k, v in module.state_dict().items() if k not in parameters}


def draw_state(row, torch, rng: np.random.Generator) -> dict:
    """Return a state dict for a row's module: rounded normal numbers as parameters, running statistics that are no defaults."""
    module = make(torch, row)
    state = {}
    floating = {name for name, p in module.named_parameters() if p.dtype.is_floating_point}
    for name, tensor in module.state_dict().items():
        array = tensor.detach().numpy()
        if name in floating or name.endswith("running_mean"):
            array = (np.round(rng.standard_normal(array.shape) * 64) / 128).astype(array.dtype)
        elif name.endswith("running_var"):
            array = (np.round(rng.uniform(0.5, 2, array.shape) * 64) / 64).astype(array.dtype)
        state[name] = array
    return state
