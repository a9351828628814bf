"""Learning-rate schedules: rates and momenta at each step, the parameters that a stepped optimizer ends with; averaged models."""

import numpy as np

from ..row import Build, Function, Row
from . import rounded

SGD = {"optimizer": "optim.SGD", "optimizer_kwargs": {"momentum": 0.75}, "groups": [{"lr": 0.5}, {"lr": 0.125}]}
ADAM = {"optimizer": "optim.Adam", "groups": [{"lr": 0.25}, {"lr": 0.0625}]}
S = "optim.lr_scheduler."

# Rows of a schedule: (what varies, arguments, keyword arguments, more options).
TABLE = {
    "LambdaLR": [("one", (Function("falls"),), {}, {}), ("two", ([Function("falls"), Function("waves")],), {}, {"resume": 4})],
    "MultiplicativeLR": [("one", (Function("nearly"),), {}, {}), ("two", ([Function("nearly"), Function("falls")],), {}, {})],
    "StepLR": [("default", (3,), {}, {}), ("gamma", (2,), {"gamma": 0.75}, {"resume": 4})],
    "MultiStepLR": [("default", ([2, 5],), {}, {}), ("gamma", ([1, 4, 4, 9],), {"gamma": 0.75}, {"resume": 4})],
    "ConstantLR": [("default", (), {}, {}), ("factor", (), {"factor": 0.75, "total_iters": 3}, {"resume": 1})],
    "LinearLR": [("default", (), {}, {}), ("factors", (), {"start_factor": 0.25, "end_factor": 0.75, "total_iters": 6}, {"resume": 3})],
    "ExponentialLR": [("one", (0.75,), {}, {}), ("other", (), {"gamma": 1.125}, {"resume": 3})],
    "PolynomialLR": [("default", (), {}, {}), ("power", (), {"total_iters": 8, "power": 2.5}, {"resume": 3})],
    "CosineAnnealingLR": [("default", (6,), {}, {}), ("floor", (4,), {"eta_min": 0.03125}, {"resume": 5}),
                          ("second valley", (3,), {"eta_min": 0.125}, {"steps": 15})],
    "CosineAnnealingWarmRestarts": [("default", (4,), {}, {}), ("grows", (2,), {"T_mult": 2, "eta_min": 0.03125}, {"resume": 5})],
    "CyclicLR": [
        ("triangular", (0.0625, 0.5), {"step_size_up": 3}, {}),
        ("triangular2", (0.0625, 0.5), {"step_size_up": 2, "step_size_down": 4, "mode": "triangular2"}, {"resume": 5}),
        ("exp_range", ([0.0625, 0.125], [0.5, 0.25]), {"step_size_up": 3, "mode": "exp_range", "gamma": 0.875}, {}),
        ("own", (0.0625, 0.5), {"step_size_up": 3, "scale_fn": Function("falls"), "scale_mode": "iterations", "base_momentum": 0.5,
                                "max_momentum": 0.875}, {}),
        ("betas", (0.0625, 0.5), {"step_size_up": 3, "base_momentum": 0.25}, ADAM),
        ("no momentum", (0.0625, 0.5), {"step_size_up": 3, "cycle_momentum": False}, ADAM),
        ("default", (0.0625, 0.5), {}, {}), ("exp_range by default", (0.0625, 0.5), {"step_size_up": 2, "mode": "exp_range"}, {}),
        ("own, by cycles", (), {"base_lr": 0.0625, "max_lr": 0.5, "step_size_up": 2, "step_size_down": 1, "scale_fn": Function("falls"),
                                "base_momentum": [0.5, 0.25], "max_momentum": [0.75, 0.875]}, {})],
    "OneCycleLR": [
        ("default", (0.75,), {"total_steps": 14}, {}),
        ("linear", ([0.75, 0.5],), {"epochs": 2, "steps_per_epoch": 7, "anneal_strategy": "linear", "pct_start": 0.5, "div_factor": 8.0,
                                   "final_div_factor": 16.0, "base_momentum": 0.5, "max_momentum": 0.875}, {"resume": 5}),
        ("three phases", (0.75,), {"total_steps": 13, "three_phase": True, "pct_start": 0.25}, ADAM),
        ("no momentum", (0.75,), {"total_steps": 14, "cycle_momentum": False}, {}),
        ("three phases in lines", (0.75,), {"total_steps": 15, "three_phase": True, "anneal_strategy": "linear", "pct_start": 0.4,
                                            "base_momentum": [0.5, 0.25], "max_momentum": [0.75, 0.875]}, {"steps": 15})],
    "ReduceLROnPlateau": [
        ("default", (), {"patience": 1}, {"given": [5, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3]}),
        ("patience of ten", (), {}, {"steps": 14, "given": [5.0] * 14}),
        ("threshold", (), {"patience": 0}, {"given": [5, 4.9996, 4.9994, 4.9, 4.9, 4.8, 4.8, 4.7, 4.6, 4.5, 4.4, 4.3]}),
        ("max", (), {"mode": "max", "factor": 0.5, "patience": 1, "threshold": 0.25, "threshold_mode": "abs", "cooldown": 2,
                     "min_lr": 0.03125}, {"given": [1, 1.2, 1.3, 1.4, 1.1, 1, 1, 1, 1, 1, 1, 1], "resume": 4}),
        ("rel", (), {"mode": "max", "factor": 0.5, "patience": 0, "threshold": 0.25, "min_lr": [0.25, 0.0625], "eps": 0.0625},
         {"given": [1, 1.2, 1.3, 1.6, 1.1, 1, 2.5, 1, 1, 1, 1, 1]}),
        ("ties abs", (), {"factor": 0.5, "patience": 0, "threshold": 0.5, "threshold_mode": "abs"}, {"given": [5, 4.5, 4, 4.25, 3.5, 3], "steps": 6}),
        ("ties rel", (), {"mode": "max", "factor": 0.5, "patience": 0, "threshold": 0.25}, {"given": [4, 5, 5.25, 8, 10, 9], "steps": 6}),
        ("nan", (), {"patience": 0, "factor": 0.75}, {"given": [float("nan"), 5, float("nan"), 4, 4, 3], "steps": 6}),
        ("eps", (), {"patience": 0}, {"given": [5.0] * 6, "steps": 6, "groups": [{"lr": 1.2e-8}, {"lr": 1.1e-8}]}),
        ("abs", (), {"factor": 0.5, "patience": 0, "threshold": 0.5, "threshold_mode": "abs"},
         {"given": [5, 4.6, 4.4, 4.4, 3.95, 3.8, 3, 3, 3, 3, 2, 2]})],
    "SequentialLR": [("two", ([4],), {}, {"nested": [[S + "ConstantLR", (), {"factor": 0.25, "total_iters": 4}],
                                                      [S + "ExponentialLR", (0.75,), {}]]}),
                     ("three", (), {"milestones": [2, 7]}, {"nested": [[S + "LinearLR", (), {"total_iters": 2}], [S + "StepLR", (2,), {}],
                                                                       [S + "ExponentialLR", (0.5,), {}]]})],
    "ChainedScheduler": [("two", (), {}, {"nested": [[S + "ConstantLR", (), {"factor": 0.25, "total_iters": 4}],
                                                      [S + "ExponentialLR", (0.75,), {}]]}),
                         ("three", (), {}, {"nested": [[S + "StepLR", (2,), {"gamma": 0.5}], [S + "LinearLR", (), {"total_iters": 3}],
                                                       [S + "ExponentialLR", (0.875,), {}]]})],
}
SWA = [("default", (0.03125,), {}, {}), ("linear", ([0.03125, 0.25],), {"anneal_epochs": 4, "anneal_strategy": "linear"}, {}),
       ("cosine", (0.03125,), {"anneal_epochs": 6, "anneal_strategy": "cos"}, {"resume": 3}),
       ("at once", (), {"swa_lr": 0.03125, "anneal_epochs": 0}, {}), ("from an epoch", (0.03125,), {"last_epoch": 4}, {"resume": 3})]

# Arguments of schedules that are stepped to given epochs, go on from their last epoch, and have rates that are tensors.
PLAIN = {
    "LambdaLR": {"lr_lambda": Function("falls")}, "MultiplicativeLR": {"lr_lambda": Function("nearly")},
    "StepLR": {"step_size": 3, "gamma": 0.5}, "MultiStepLR": {"milestones": [3, 5, 5, 8], "gamma": 0.5},
    "ConstantLR": {"factor": 0.25, "total_iters": 4}, "LinearLR": {"start_factor": 0.25, "end_factor": 0.75, "total_iters": 6},
    "ExponentialLR": {"gamma": 0.875}, "PolynomialLR": {"total_iters": 8, "power": 2.5},
    "CosineAnnealingLR": {"T_max": 5, "eta_min": 0.0625}, "CosineAnnealingWarmRestarts": {"T_0": 2, "T_mult": 3, "eta_min": 0.0625},
    "CyclicLR": {"base_lr": 0.0625, "max_lr": 0.5, "step_size_up": 3}, "OneCycleLR": {"max_lr": 0.75, "total_steps": 14},
}
EPOCHS = [1, 2, 4, 5, 5, 8, 3, 7]


def _plain(rng):
    """Yield (name, what, arguments, more options) of rows that every schedule has."""
    for name, kwargs in PLAIN.items():
        yield name, "from an epoch", (), kwargs | {"last_epoch": 4}, {"resume": 3, "steps": 9}
        yield name, "tensors", (), kwargs, {"tensors": True, "steps": 9}
        if name not in ("MultiplicativeLR", "CyclicLR", "OneCycleLR"):
            yield name, "given epochs", (), kwargs, {"given": EPOCHS, "steps": len(EPOCHS)}
    yield "CosineAnnealingWarmRestarts", "given parts of epochs", (4,), {}, {"given": [0.5, 1.25, 3.75, 4.5, 9.25], "steps": 5}
    parts = [[S + "LinearLR", (), {"total_iters": 3}], [S + "CosineAnnealingWarmRestarts", (3,), {}]]
    yield "SequentialLR", "goes on", (), {"milestones": [4]}, {"nested": parts, "resume": 6}
    yield "SequentialLR", "from an epoch", ([2],), {"last_epoch": 4}, {"nested": [[S + "ExponentialLR", (0.5,), {}], [S + "StepLR", (2,), {}]], "resume": 3}
    yield "SequentialLR", "first one over", ([0, 3],), {}, {"nested": [[S + "ConstantLR", (), {}], [S + "ExponentialLR", (0.5,), {}], [S + "StepLR", (2,), {}]]}
    yield "SequentialLR", "of chains", ([2, 5],), {}, {"nested": [[S + "PolynomialLR", (), {}], [S + "CyclicLR", (0.125, 0.5, 2), {}],
                                                                 [S + "CosineAnnealingLR", (3,), {}]]}
    yield "ChainedScheduler", "goes on", (), {}, {"nested": [parts[0], [S + "MultiStepLR", ([2, 6],), {"gamma": 0.5}]], "resume": 4}


MODEL = Build("nn.Sequential", (Build("nn.Linear", (3, 2)), Build("nn.BatchNorm1d", (2,)), Build("nn.PReLU", (2,))))


def _state(rng, count):
    """Return a state of the model."""
    return {"0.weight": rounded(rng, 2, 3), "0.bias": rounded(rng, 2), "1.weight": rounded(rng, 2), "1.bias": rounded(rng, 2),
            "1.running_mean": rounded(rng, 2), "1.running_var": rounded(rng, 2, low=0.5),
            "1.num_batches_tracked": np.array(count), "2.weight": rounded(rng, 2)}


def _averages(rng):
    """Yield rows of averaged models."""
    path = "optim.swa_utils."
    for what, kwargs in {
        "default": {}, "mean": {"avg_fn": Build(path + "get_swa_avg_fn")}, "means": {"multi_avg_fn": Build(path + "get_swa_multi_avg_fn")},
        "exponential": {"avg_fn": Build(path + "get_ema_avg_fn")}, "exponential, lists": {"multi_avg_fn": Build(path + "get_ema_multi_avg_fn")},
        "decay": {"avg_fn": Build(path + "get_ema_avg_fn", (0.75,))},
        "decay, lists": {"multi_avg_fn": Build(path + "get_ema_multi_avg_fn", (), {"decay": 0.25})},
        "buffers": {"use_buffers": True}, "buffers, exponential": {"use_buffers": True, "multi_avg_fn": Build(path + "get_ema_multi_avg_fn", (0.5,))},
        "buffers, own": {"use_buffers": True, "avg_fn": Function("weighted")}, "own": {"avg_fn": Function("weighted")},
        "own, lists": {"multi_avg_fn": Function("weighted lists"), "device": "cpu"},
    }.items():
        yield Row(f"AveragedModel/{what}", "averaged model", path + "AveragedModel", (), kwargs,
                  {"model": MODEL, "states": [_state(rng, 3 * i + 5) for i in range(6)], "input": rounded(rng, 4, 3)})
    for what, options in (("default", {}), ("device", {"kwargs": {"device": "cpu"}}), ("labels", {"pairs": True})):
        yield Row(f"update_bn/{what}", "batch statistics", path + "update_bn", (), options.pop("kwargs", {}),
                  {"model": MODEL, "states": [_state(rng, 4)], "batches": [rounded(rng, n, 3) for n in (4, 3, 5)], **options})


def rows(torch, rng):
    """Yield rows of every schedule and of averaged models."""
    entries = [(S, name, *entry) for name, entries in TABLE.items() for entry in entries]
    entries += [(S, *entry) for entry in _plain(rng)] + [("optim.swa_utils.", "SWALR", *entry) for entry in SWA]
    for path, name, what, args, kwargs, more in entries:
        options = SGD | {"parameters": [rounded(rng, 2, 3), rounded(rng, 4)], "steps": 12} | more
        if name == "ReduceLROnPlateau":
            options["given"] = [float(m) for m in options["given"]]
        if options["optimizer"] == "optim.Adam":
            options.pop("optimizer_kwargs", None)
        yield Row(f"{name}/{what}", "schedule", path + name, args, kwargs, options)
    yield from _averages(rng)
