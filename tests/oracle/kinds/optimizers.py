"""Rows of optimizers, learning-rate schedules and gradient scalers: trajectories of parameters, rates and state."""

import warnings
from contextlib import contextmanager

from ..row import fill, function, lookup, prepare
from ..tensors import is_tensor, to_tensor
from . import kind


@contextmanager
def double_precision(library):
    """Make float64 the default dtype: PyTorch then keeps rates and running products in it, as ingot always does."""
    before = library.get_default_dtype()
    library.set_default_dtype(library.float64)
    try:
        yield
    finally:
        library.set_default_dtype(before)


def make(library, row):
    """Return (parameters, optimizer); `groups` gives each parameter a group with options of its own."""
    template, arrays = prepare(library, (row.args, row.kwargs, row.options.get("groups")))
    args, kwargs, groups = fill(template, [to_tensor(library, a) for a, _ in arrays])
    parameters = [to_tensor(library, a, leaf=True) for a in row.options["parameters"]]
    given = parameters if groups is None else [{"params": [p], **g} for p, g in zip(parameters, groups)]
    return parameters, lookup(library, row.options.get("optimizer", row.target))(given, *args, **kwargs)


def state_of(library, optimizer) -> dict:
    """Return the tensors and numbers of an optimizer's state, as its state dict names them."""
    found = {}
    for index, entries in optimizer.state_dict()["state"].items():
        for name, value in entries.items():
            if is_tensor(library, value) or isinstance(value, (int, float)):
                found[f"state.{index}.{name}"] = float(value) if name == "step" else value
    return found


def gradient(library, array, is_sparse: bool):
    """Return a gradient; a sparse one holds the rows that are not zero."""
    dense = to_tensor(library, array)
    return dense.to_sparse(1) if is_sparse else dense


@kind("optimizer")
def run(library, row, wrap):
    """Step with given gradients.

    Options: `parameters` (arrays), `gradients` (one list of arrays, or None, for each step), `groups`, `sparse`, `shown` (steps
    after which parameters are results; the last always is).
    """
    with double_precision(library):
        return stepped(library, row, wrap)


def stepped(library, row, wrap) -> dict:
    """Return parameters after the shown steps, and the state at the end."""
    parameters, optimizer = make(library, row)
    steps, is_sparse = row.options["gradients"], row.options.get("sparse", False)

    def body(*gradients):
        for p, g in zip(parameters, gradients):
            p.grad = g
        optimizer.step()
        return [p.detach().clone() for p in parameters]

    step, found = wrap(body, replays=False), {}
    for i, arrays in enumerate(steps):
        after = step(*[None if a is None else gradient(library, a, is_sparse) for a in arrays])
        if i in row.options.get("shown", (0, 1)) or i == len(steps) - 1:
            found |= {f"step{i}.{k}": p for k, p in enumerate(after)}
    return found | state_of(library, optimizer)


@kind("closure")
def run_closure(library, row, wrap):
    """Step with a closure over a least-squares problem. Options: `parameters` (one), `problem` (matrix, values), `steps`."""
    parameters, optimizer = make(library, row)
    matrix, values = (to_tensor(library, a) for a in row.options["problem"])

    def loss():
        optimizer.zero_grad()
        error = (((matrix @ parameters[0] - values) ** 2).mean() + 0.1 * (parameters[0] ** 4).sum())
        error.backward()
        return error

    def body():
        return optimizer.step(loss).detach(), parameters[0].detach().clone()

    step, found = wrap(body, replays=False), {}
    for i in range(row.options["steps"]):
        found[f"loss{i}"], found[f"step{i}"] = step()
    return found


def groups_of(optimizer) -> dict:
    """Return the numbers that schedules move: rates, momenta and first betas of every group."""
    found = {}
    for i, group in enumerate(optimizer.param_groups):
        found[f"lr.{i}"] = float(group["lr"])
        if "momentum" in group:
            found[f"momentum.{i}"] = float(group["momentum"])
        if "betas" in group:
            found[f"beta.{i}"] = float(group["betas"][0])
    return found


PROGRESS = ("last_epoch", "best", "num_bad_epochs", "cooldown_counter", "T_cur", "T_i", "total_steps")


def numbers_of(state: dict) -> dict:
    """Return the numbers of a schedule's state dict that move."""
    return {f"state.{k}": float(state[k]) for k in PROGRESS if k in state}


@function("falls")
def _falls(library):
    return lambda epoch: 0.875 ** epoch


@function("waves")
def _waves(library):
    return lambda epoch: 1.0 + 0.25 * (epoch % 3)


@function("nearly")
def _nearly(library):
    return lambda epoch: 0.9375 - 0.03125 * (epoch % 2)


@kind("schedule")
def run_schedule(library, row, wrap):
    """Step an optimizer and its schedule.

    Options: `optimizer`, `optimizer_kwargs`, `groups`, `parameters`, `steps`, `metrics` (one for each step of the schedule),
    `resume` (the step at which a new schedule takes over the state dict), `nested` (schedules inside: [path, args, kwargs]).
    """
    options = row.options
    parameters = [to_tensor(library, a, leaf=True) for a in options["parameters"]]
    groups = [{"params": [p], **g} for p, g in zip(parameters, options["groups"])]
    optimizer = lookup(library, options["optimizer"])(groups, **options.get("optimizer_kwargs", {}))
    (args, kwargs, nested), _ = prepare(library, (row.args, row.kwargs, options.get("nested", [])))

    def build():
        inner = [lookup(library, path)(optimizer, *a, **k) for path, a, k in nested]
        if row.target.endswith("ChainedScheduler"):
            return lookup(library, row.target)(inner, *args, **kwargs)
        if inner:
            return lookup(library, row.target)(optimizer, inner, *args, **kwargs)
        return lookup(library, row.target)(optimizer, *args, **kwargs)

    def body(*gradients):
        for p, g in zip(parameters, gradients):
            p.grad = g
        optimizer.step()
        return [p.detach().clone() for p in parameters]

    step, found = wrap(body, replays=False), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schedule = build()
        for i in range(options["steps"]):
            found |= {f"{i}.{k}": v for k, v in groups_of(optimizer).items()}
            after = step(*[to_tensor(library, a) for a in options["parameters"]])
            metrics = options.get("metrics")
            schedule.step(*(() if metrics is None else (metrics[i],)))
            if i == options.get("resume"):
                saved, rates = schedule.state_dict(), optimizer.state_dict()
                schedule = build()
                optimizer.load_state_dict(rates)
                schedule.load_state_dict(saved)
        found |= {f"last.{k}": float(v) for k, v in enumerate(schedule.get_last_lr())} | numbers_of(schedule.state_dict())
    return found | {f"parameter{k}": p for k, p in enumerate(after)}


@kind("scaler")
def run_scaler(library, row, wrap):
    """Step an optimizer through a gradient scaler, with losses that overflow where the row says so.

    Options: `parameters`, `factors` (of the losses, one for each step), `optimizer`, `optimizer_kwargs`, `unscale`.
    """
    options = row.options
    parameter = to_tensor(library, options["parameters"][0], leaf=True)
    optimizer = lookup(library, options["optimizer"])([parameter], **options["optimizer_kwargs"])
    scaler = lookup(library, row.target)("cpu", *row.args, **row.kwargs)

    def body(factor):
        optimizer.zero_grad()
        loss = ((parameter - 0.25) ** 2 * factor).sum()
        scaler.scale(loss).backward()
        if options.get("unscale"):
            scaler.unscale_(optimizer)
            library.nn.utils.clip_grad_norm_([parameter], 0.5)
        scaler.step(optimizer)
        scaler.update()
        return parameter.detach().clone()

    step, found = wrap(body, replays=False), {}
    for i, factor in enumerate(options["factors"]):
        found[f"step{i}"] = step(library.tensor(factor, dtype=library.float32))
        found[f"scale{i}"] = float(scaler.get_scale())
    return found | {f"state.{k}": float(v) for k, v in scaler.state_dict().items()}
