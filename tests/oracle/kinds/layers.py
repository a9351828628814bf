"""Rows of modules: results, gradients of inputs and parameters, and buffers after the calls."""

import numpy as np

from ..row import FUNCTIONS, fill, lookup, prepare
from ..tensors import flatten, gradients, on_rows_device, to_tensor
from . import kind


def make(library, row):
    """Build the module of a row, with the state that the row holds."""
    template, arrays = prepare(library, (row.args, row.kwargs))
    args, kwargs = fill(template, [to_tensor(library, a) for a, _ in arrays])
    module = lookup(library, row.target)(*args, **kwargs)
    module = on_rows_device(module.to(getattr(library, row.options.get("dtype", "float64"))))
    if row.options.get("lazy"):
        inputs, arrays = prepare(library, row.options["inputs"])
        module(*fill(inputs, [to_tensor(library, a) for a, _ in arrays]))
    state = row.options.get("state")
    if state is not None:
        module.load_state_dict({k: to_tensor(library, v) for k, v in state.items()})
    return module.train(row.options.get("train", True))


def call_it(module, *args, **kwargs):
    """Call a module."""
    return module(*args, **kwargs)


@kind("layer")
def run(library, row, wrap):
    """Build the module, call it `times` times, differentiate the last call.

    Options:
    inputs, call    arguments of the calls
    state           the state dict, drawn by the writing tool
    train, times, dtype
    lazy            the module gets its shapes from a first call
    program         name of a function to call in place of the module, with it and the inputs
    recorded        False for a program that cannot be traced
    """
    module = make(library, row)
    program = FUNCTIONS[row.options["program"]](library) if "program" in row.options else call_it
    (inputs, call), given = prepare(library, (row.options.get("inputs", ()), row.options.get("call", {})))
    times = row.options.get("times", 1)

    def body(*tensors):
        args, kwargs = fill(inputs, tensors), fill(call, tensors)
        for _ in range(times):
            result = program(module, *args, **kwargs)
        out = flatten(library, result)
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        leaves |= {name: p for name, p in module.named_parameters() if p.requires_grad}
        return out | gradients(library, out, leaves)

    run_it = wrap(body, state=module) if row.options.get("recorded", True) else body
    found = dict(run_it(*[to_tensor(library, a, leaf) for a, leaf in given]))
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
            array = np.asarray(np.round(rng.standard_normal(array.shape) * 64) / 128, array.dtype)
        elif name.endswith("running_var"):
            array = (np.round(rng.uniform(0.5, 2, array.shape) * 64) / 64).astype(array.dtype)
        state[name] = array
    return state
