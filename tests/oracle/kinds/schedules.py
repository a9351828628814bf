"""Rows of learning-rate schedules and of averaged models: rates, momenta, averages and state at each step."""

import warnings

from ..row import fill, function, lookup, prepare
from ..tensors import to_tensor
from . import kind
from .optimizers import precision_of


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


INTERNAL = ("use_beta1", "default_min_lr", "mode_worse")     # of PyTorch's, which follow from other numbers


def numbers_of(state: dict, name: str = "state") -> dict:
    """Return the public numbers of a schedule's state dict, those of schedules inside included."""
    found = {}
    for key, value in state.items():
        if key == "_schedulers":
            for i, inner in enumerate(value):
                found |= numbers_of(inner, f"{name}.{i}")
        elif not key.startswith("_") and key not in INTERNAL and type(value) in (bool, int, float):
            found[f"{name}.{key}"] = float(value)
    return found


@function("falls")
def _falls(library):
    return lambda epoch: 0.875 ** epoch


@function("waves")
def _waves(library):
    return lambda epoch: 1.0 + 0.25 * (epoch % 3)


@function("nearly")
def _nearly(library):
    return lambda epoch: 0.9375 - 0.03125 * (epoch % 2)


@function("weighted")
def _weighted(library):
    return lambda averaged, current, number: (averaged * number + current * 2) / (number + 2)


@function("weighted lists")
def _weighted_lists(library):
    def average(averaged, current, number):
        for a, c in zip(averaged, current):
            a.copy_((a * number + c * 2) / (number + 2))

    return average


def build(library, row, optimizer, begins=True):
    """Return the schedule of a row, without its `last_epoch` if it `begins`; `nested` are the schedules inside."""
    given = {k: v for k, v in row.kwargs.items() if not (begins and k == "last_epoch")}
    nested, args, kwargs = prepare(library, (row.options.get("nested", []), row.args, given))[0]
    inner = [lookup(library, path)(optimizer, *a, **k) for path, a, k in nested]
    make = lookup(library, row.target)
    if row.target.endswith("ChainedScheduler"):
        return make(inner, *args, **kwargs)
    return make(optimizer, *([inner] if inner else []), *args, **kwargs)


def taken_over(library, row, optimizer, schedule):
    """Return a new schedule that goes on where another one is: by `last_epoch` alone, or by its state dict."""
    if "last_epoch" in row.kwargs:
        return build(library, row, optimizer, begins=False)
    saved, rates = schedule.state_dict(), optimizer.state_dict()
    made = build(library, row, optimizer)
    optimizer.load_state_dict(rates)
    made.load_state_dict(saved)
    return made


@kind("schedule")
def run_schedule(library, row, wrap):
    """Step an optimizer and its schedule.

    Options: `optimizer`, `optimizer_kwargs`, `groups`, `parameters`, `steps`, `given` (arguments of the schedule's steps, one
    for each), `resume` (the step after which a new schedule takes over), `nested` (schedules inside: [path, args, kwargs]),
    `tensors` (rates are tensors).
    """
    options = row.options
    parameters = [to_tensor(library, a, leaf=True) for a in options["parameters"]]
    groups = [{"params": [p], **g} for p, g in zip(parameters, options["groups"])]
    for group in groups if options.get("tensors") else ():
        group["lr"] = library.tensor(group["lr"], dtype=library.float64)
    optimizer = lookup(library, options["optimizer"])(groups, **options.get("optimizer_kwargs", {}))

    def body(*gradients):
        for p, g in zip(parameters, gradients):
            p.grad = g
        optimizer.step()
        return [p.detach().clone() for p in parameters]

    step, found = wrap(body, replays=False), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schedule = build(library, row, optimizer)
        for i in range(options["steps"]):
            found |= {f"{i}.{k}": v for k, v in groups_of(optimizer).items()}
            after = step(*[to_tensor(library, a) for a in options["parameters"]])
            schedule.step(*([options["given"][i]] if "given" in options else []))
            found |= {f"{i}.last.{k}": float(v) for k, v in enumerate(schedule.get_last_lr())}
            if i == options.get("resume"):
                schedule = taken_over(library, row, optimizer, schedule)
        found |= numbers_of(schedule.state_dict())
    return found | {f"parameter{k}": p for k, p in enumerate(after)}


def model_of(library, row):
    """Return the model of a row, in double precision, with its first state."""
    template, _ = prepare(library, row.options["model"])
    model = fill(template, []).to(library.float64)
    model.load_state_dict({k: to_tensor(library, v) for k, v in row.options["states"][0].items()})
    return model


@kind("averaged model")
def run_averaged(library, row, wrap):
    """Average a model that takes one state after the other.

    Options: `model` (a `Build`), `states` (dicts of arrays: where the model begins, and where it is at each update), `input`.
    """
    with precision_of(library, row.options["states"][0].values()):
        return averaged(library, row, wrap)


def averaged(library, row, wrap) -> dict:
    """Return the state of the averaged model after each update, and what it computes at the end."""
    model = model_of(library, row)
    args, kwargs = fill(prepare(library, (row.args, row.kwargs))[0], [])
    average = lookup(library, row.target)(model, *args, **kwargs)
    update, found = wrap(lambda: average.update_parameters(model), replays=False), {}
    for i, state in enumerate(row.options["states"][1:]):
        model.load_state_dict({k: to_tensor(library, v) for k, v in state.items()})
        update()
        found |= {f"{i}.{k}": v.clone() for k, v in average.state_dict().items()}
    return found | {"out": average.eval()(to_tensor(library, row.options["input"]))}


@kind("batch statistics")
def run_batch_statistics(library, row, wrap):
    """Compute a model's running statistics anew. Options: `model`, `states` (one), `batches`, `pairs` (batches have labels)."""
    model = model_of(library, row).eval()

    def body(*batches):
        loader = [(b, b.sum()) for b in batches] if row.options.get("pairs") else batches
        lookup(library, row.target)(loader, model, **row.kwargs)
        return {k: v.clone() for k, v in model.state_dict().items()}

    found = wrap(body, state=model)(*[to_tensor(library, b) for b in row.options["batches"]])
    return found | {f"{i}.{k}": str(getattr(m, k, None)) for i, m in enumerate(model.modules())
                    for k in ("momentum", "training")}
