"""Rows of optimizers, gradient clipping and gradient scalers: trajectories of parameters and state."""

from contextlib import contextmanager

import numpy as np

from ..row import fill, function, lookup, prepare
from ..tensors import flatten, gradients, is_tensor, to_tensor
from . import kind


@contextmanager
def precision_of(library, arrays):
    """Make float64 the default dtype beside arrays of double precision: PyTorch keeps rates and running products in it."""
    before, is_double = library.get_default_dtype(), any(a.dtype.name in ("float64", "complex128") for a in arrays)
    library.set_default_dtype(library.float64 if is_double else before)
    try:
        yield
    finally:
        library.set_default_dtype(before)


def parameters_of(library, row) -> list:
    """Return the leaves; those of a row with `turned` hold matrices column by column."""
    def leaf(array):
        if row.options.get("turned") and array.ndim == 2:
            return to_tensor(library, np.ascontiguousarray(array.T)).t().requires_grad_()
        return to_tensor(library, array, leaf=True)

    return [leaf(array) for array in row.options["parameters"]]


def build(library, row, parameters):
    """Return the optimizer of a row; `groups` gives each parameter a group with options of its own."""
    template, arrays = prepare(library, (row.args, row.kwargs, row.options.get("groups")))
    args, kwargs, groups = fill(template, [to_tensor(library, a) for a, _ in arrays])
    given = parameters if groups is None else [{"params": [p], **g} for p, g in zip(parameters, groups)]
    return lookup(library, row.options.get("optimizer", row.target))(given, *args, **kwargs)


def options_of(library, optimizer) -> dict:
    """Return the options of all groups: numbers as floats, switches and names as they are."""
    found = {}
    for i, group in enumerate(optimizer.param_groups):
        for place, value in flatten(library, {k: v for k, v in group.items() if k != "params"}, f"group{i}").items():
            found[place] = value if isinstance(value, (bool, str)) else float(value)
    return found


def state_of(library, optimizer) -> dict:
    """Return the tensors and numbers of an optimizer's state, as its state dict names them."""
    found = {}
    for index, entries in optimizer.state_dict()["state"].items():
        for name, value in entries.items():
            if is_tensor(library, value) or isinstance(value, (int, float)):
                found[f"state.{index}.{name}"] = float(value) if name == "step" else value
    return found


def gradient(library, array, is_sparse: bool):
    """Return a gradient; a sparse one holds the rows that are not zero, each as two parts."""
    dense = to_tensor(library, array)
    if not is_sparse:
        return dense
    once = dense.to_sparse(1)
    indices, values = once.indices(), once.values()
    both = library.cat([values * 0.25, values.flip(0) * 0.75])
    return library.sparse_coo_tensor(library.cat([indices, indices.flip(1)], 1), both, once.shape)


@kind("optimizer")
def run(library, row, wrap):
    """Step with given gradients.

    Options:
    parameters  arrays
    gradients   one list of arrays, or None, for each step
    groups, sparse, turned
    shown       steps after which parameters are results; the last always is
    changes     {step: options of the groups from this step on}
    resume      the step before which a new optimizer takes over the state dict
    """
    with precision_of(library, row.options["parameters"]):
        return stepped(library, row, wrap)


def stepping(parameters, optimizer, wrap):
    """Return a function of gradients that steps and returns the parameters."""
    def body(*gradients):
        for p, g in zip(parameters, gradients):
            p.grad = g
        optimizer.step()
        return [p.detach().clone() for p in parameters]

    return wrap(body, replays=False)


def stepped(library, row, wrap) -> dict:
    """Return parameters after the shown steps; gradients, state and options at the end."""
    options, parameters = row.options, parameters_of(library, row)
    optimizer = build(library, row, parameters)
    step, found = stepping(parameters, optimizer, wrap), {}
    for i, arrays in enumerate(options["gradients"]):
        if i == options.get("resume"):
            saved, optimizer = optimizer.state_dict(), build(library, row, parameters)
            optimizer.load_state_dict(saved)
            step = stepping(parameters, optimizer, wrap)
        for group in optimizer.param_groups:
            group.update(options.get("changes", {}).get(str(i), {}))
        after = step(*[None if a is None else gradient(library, a, options.get("sparse", False)) for a in arrays])
        if i in options.get("shown", (0, 1)) or i == len(options["gradients"]) - 1:
            found |= {f"step{i}.{k}": p for k, p in enumerate(after)}
    found |= {f"gradient.{k}": p.grad for k, p in enumerate(parameters) if p.grad is not None}
    return found | state_of(library, optimizer) | options_of(library, optimizer)


@kind("unrolled")
def run_unrolled(library, row, wrap):
    """Step an optimizer with `differentiable=True`; differentiate the last parameters for the first ones and all gradients.

    Options: `parameters`, `gradients` (one list of arrays for each step).
    """
    first = len(row.options["parameters"])
    given = [*row.options["parameters"], *[g for step in row.options["gradients"] for g in step]]

    def body(*leaves):
        parameters = [leaf.clone() for leaf in leaves[:first]]
        optimizer = build(library, row, parameters)
        for at in range(first, len(leaves), first):
            for p, g in zip(parameters, leaves[at:at + first]):
                p.grad = g
            optimizer.step()
        found = {f"last{k}": p for k, p in enumerate(parameters)}
        return found | gradients(library, found, {str(k): leaf for k, leaf in enumerate(leaves)})

    with precision_of(library, row.options["parameters"]):
        return wrap(body)(*[to_tensor(library, a, leaf=True) for a in given])


@kind("clipping")
def run_clipping(library, row, wrap):
    """Clip gradients, or measure them. A refusal is a result.

    Options: `gradients` (arrays; None for a parameter that has no gradient), `measured` (the function takes them themselves).
    """
    template, arrays = prepare(library, (row.args, row.kwargs))
    target = lookup(library, row.target)
    parameters = [to_tensor(library, np.zeros_like(a) if a is not None else np.zeros(2), leaf=True)
                  for a in row.options["gradients"]]
    present = [k for k, a in enumerate(row.options["gradients"]) if a is not None]

    def body(*tensors):
        args, kwargs = fill(template, tensors[len(present):])
        if row.options.get("measured"):
            return {"norm": target([*tensors[:len(present)]], *args, **kwargs)}
        for k, g in zip(present, tensors):
            parameters[k].grad = g.clone()
        norm = target(parameters, *args, **kwargs)
        found = {f"gradient.{k}": parameters[k].grad for k in present}
        return found if norm is None else found | {"norm": norm}

    given = [*[row.options["gradients"][k] for k in present], *[a for a, _ in arrays]]
    try:
        return wrap(body)(*[to_tensor(library, a) for a in given])
    except RuntimeError as error:
        if "total norm" not in str(error):
            raise
        return {"refused": True}


@function("valley")
def _valley(library):
    return lambda x: ((1 - x[:-1]) ** 2 + 8 * (x[1:] - x[:-1] ** 2) ** 2).sum()


@function("ripples")
def _ripples(library):
    return lambda x: ((3 * x).sin() + x ** 2 / 8).sum()


@function("wall")
def _wall(library):
    return lambda x: ((2 * x).exp() - 3 * x).sum() + (x[0] - x[-1]) ** 2


@function("edge")
def _edge(library):
    return lambda x: (x ** 2 + 0.015625).sqrt().sum() + x[0] * x[-1] / 4


@function("complex bowl")
def _complex_bowl(library):
    return lambda x: (x.real ** 2 + 2 * x.imag ** 2 + x.real * x.imag).sum() + 0.125 * ((x * x).real ** 2).sum()


@kind("closure")
def run_closure(library, row, wrap):
    """Step with a closure.

    Options: `parameters`, `steps`, `loss` (a `Function` of all parameters as one vector) or `problem` (matrix and values of
    least squares, with a penalty).
    """
    parameters = parameters_of(library, row)
    optimizer = build(library, row, parameters)
    cost = prepare(library, row.options.get("loss"))[0]
    if cost is None:
        matrix, values = (to_tensor(library, a) for a in row.options["problem"])

        def cost(x):
            return ((matrix @ x - values) ** 2).mean() + 0.1 * (x ** 4).sum()

    def loss():
        optimizer.zero_grad()
        error = cost(library.cat([p.reshape(-1) for p in parameters]))
        error.backward()
        return error

    def body():
        return optimizer.step(loss).detach(), [p.detach().clone() for p in parameters]

    step, found = wrap(body, replays=False), {}
    for i in range(row.options["steps"]):
        found[f"loss{i}"], after = step()
        found |= {f"step{i}.{k}": p for k, p in enumerate(after)}
    counts = optimizer.state_dict()["state"].get(0, {})
    return found | {f"state.{k}": float(counts[k]) for k in ("func_evals", "n_iter")} | options_of(library, optimizer)


@kind("scaler")
def run_scaler(library, row, wrap):
    """Step an optimizer through a gradient scaler, with losses that overflow where the row says so.

    Options:
    parameters, optimizer, optimizer_kwargs, unscale
    factors  of the losses, one for each step
    apart    each parameter has an optimizer, and the factors are for the first one's loss
    set      {step: scale that is set after it}
    resume   the step before which a new scaler takes over the state dict
    """
    options, parameters = row.options, parameters_of(library, row)
    groups = [[p] for p in parameters] if options.get("apart") else [parameters]
    optimizers = [lookup(library, options["optimizer"])(group, **options["optimizer_kwargs"]) for group in groups]
    scaler = lookup(library, row.target)("cpu", *row.args, **row.kwargs)
    step, found = scaling(library, row, wrap, parameters, optimizers, scaler), {}
    for i, factor in enumerate(options["factors"]):
        if i == options.get("resume"):
            saved, scaler = scaler.state_dict(), lookup(library, row.target)("cpu")
            scaler.load_state_dict(saved)
            step = scaling(library, row, wrap, parameters, optimizers, scaler)
        after = step(library.tensor(factor, dtype=library.float32))
        found |= {f"step{i}.{k}": p for k, p in enumerate(after)}
        if str(i) in options.get("set", {}):
            scale = options["set"][str(i)]
            scaler.update(scale if isinstance(scale, float) else to_tensor(library, scale))
        found |= {f"scale{i}": float(scaler.get_scale())} | {f"state{i}.{k}": float(v) for k, v in scaler.state_dict().items()}
    return found | state_of(library, optimizers[0])


def scaling(library, row, wrap, parameters, optimizers, scaler):
    """Return a function of the loss's factor that makes a scaled step and returns the parameters."""
    def body(factor):
        for optimizer in optimizers:
            optimizer.zero_grad()
        losses = [((p - 0.25) ** 2).sum() for p in parameters]
        scaler.scale(losses[0] * factor + sum(losses[1:]) * (1.0 if row.options.get("apart") else factor)).backward()
        for optimizer in optimizers:
            if row.options.get("unscale"):
                scaler.unscale_(optimizer)
                library.nn.utils.clip_grad_norm_(parameters, 0.5)
            scaler.step(optimizer)
        scaler.update()
        return [p.detach().clone() for p in parameters]

    return wrap(body, replays=False)
