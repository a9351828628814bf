"""Learning-rate schedules: rates and momenta at each step, and the parameters that a stepped optimizer ends with."""

from ..row import Function, Row
from . import rounded

SGD = {"optimizer": "optim.SGD", "optimizer_kwargs": {"momentum": 0.75}, "groups": [{"lr": 0.5}, {"lr": 0.125}]}
ADAM = {"optimizer": "optim.Adam", "groups": [{"lr": 0.25}, {"lr": 0.0625}]}
S = "optim.lr_scheduler."

# Rows of a schedule: (what varies, arguments, keyword arguments, more options).
TABLE = {
    "LambdaLR": [("one", (Function("falls"),), {}, {}), ("two", ([Function("falls"), Function("waves")],), {"last_epoch": -1}, {"resume": 4})],
    "MultiplicativeLR": [("one", (Function("nearly"),), {}, {}), ("two", ([Function("nearly"), Function("falls")],), {}, {})],
    "StepLR": [("default", (3,), {}, {}), ("gamma", (2,), {"gamma": 0.75}, {"resume": 4})],
    "MultiStepLR": [("default", ([2, 5],), {}, {}), ("gamma", ([1, 4, 4, 9],), {"gamma": 0.75}, {"resume": 4})],
    "ConstantLR": [("default", (), {}, {}), ("factor", (), {"factor": 0.75, "total_iters": 3}, {"resume": 1})],
    "LinearLR": [("default", (), {}, {}), ("factors", (), {"start_factor": 0.25, "end_factor": 0.75, "total_iters": 6}, {"resume": 3})],
    "ExponentialLR": [("one", (0.75,), {}, {}), ("other", (), {"gamma": 1.125}, {"resume": 3})],
    "PolynomialLR": [("default", (), {}, {}), ("power", (), {"total_iters": 8, "power": 2.5}, {"resume": 3})],
    "CosineAnnealingLR": [("default", (6,), {}, {}), ("floor", (4,), {"eta_min": 0.03125}, {"resume": 5})],
    "CosineAnnealingWarmRestarts": [("default", (4,), {}, {}), ("grows", (2,), {"T_mult": 2, "eta_min": 0.03125}, {"resume": 5})],
    "CyclicLR": [
        ("triangular", (0.0625, 0.5), {"step_size_up": 3}, {}),
        ("triangular2", (0.0625, 0.5), {"step_size_up": 2, "step_size_down": 4, "mode": "triangular2"}, {"resume": 5}),
        ("exp_range", ([0.0625, 0.125], [0.5, 0.25]), {"step_size_up": 3, "mode": "exp_range", "gamma": 0.875}, {}),
        ("own", (0.0625, 0.5), {"step_size_up": 3, "scale_fn": Function("falls"), "scale_mode": "iterations", "base_momentum": 0.5,
                                "max_momentum": 0.875}, {}),
        ("betas", (0.0625, 0.5), {"step_size_up": 3, "base_momentum": 0.25}, ADAM),
        ("no momentum", (0.0625, 0.5), {"step_size_up": 3, "cycle_momentum": False}, ADAM)],
    "OneCycleLR": [
        ("default", (0.75,), {"total_steps": 14}, {}),
        ("linear", ([0.75, 0.5],), {"epochs": 2, "steps_per_epoch": 7, "anneal_strategy": "linear", "pct_start": 0.5, "div_factor": 8.0,
                                   "final_div_factor": 16.0, "base_momentum": 0.5, "max_momentum": 0.875}, {"resume": 5}),
        ("three phases", (0.75,), {"total_steps": 13, "three_phase": True, "pct_start": 0.25}, ADAM),
        ("no momentum", (0.75,), {"total_steps": 14, "cycle_momentum": False}, {})],
    "ReduceLROnPlateau": [
        ("default", (), {"patience": 1}, {"metrics": [5, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3]}),
        ("patience of ten", (), {}, {"steps": 14, "metrics": [5.0] * 14}),
        ("threshold", (), {"patience": 0}, {"metrics": [5, 4.9996, 4.9994, 4.9, 4.9, 4.8, 4.8, 4.7, 4.6, 4.5, 4.4, 4.3]}),
        ("max", (), {"mode": "max", "factor": 0.5, "patience": 1, "threshold": 0.25, "threshold_mode": "abs", "cooldown": 2,
                     "min_lr": 0.03125}, {"metrics": [1, 1.2, 1.3, 1.4, 1.1, 1, 1, 1, 1, 1, 1, 1], "resume": 4}),
        ("rel", (), {"mode": "max", "factor": 0.5, "patience": 0, "threshold": 0.25, "min_lr": [0.25, 0.0625], "eps": 0.0625},
         {"metrics": [1, 1.2, 1.3, 1.6, 1.1, 1, 2.5, 1, 1, 1, 1, 1]}),
        ("abs", (), {"factor": 0.5, "patience": 0, "threshold": 0.5, "threshold_mode": "abs"},
         {"metrics": [5, 4.6, 4.4, 4.4, 3.95, 3.8, 3, 3, 3, 3, 2, 2]})],
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
       ("cosine", (0.03125,), {"anneal_epochs": 6, "anneal_strategy": "cos"}, {"resume": 3})]


def rows(torch, rng):
    """Yield rows of every schedule."""
    tables = [(S, name, entries) for name, entries in TABLE.items()] + [("optim.swa_utils.", "SWALR", SWA)]
    for path, name, entries in tables:
        for what, args, kwargs, more in entries:
            options = SGD | {"parameters": [rounded(rng, 2, 3), rounded(rng, 4)], "steps": 12} | more
            if "metrics" in options:
                options["metrics"] = [float(m) for m in options["metrics"]]
            if options["optimizer"] == "optim.Adam":
                options.pop("optimizer_kwargs", None)
            yield Row(f"{name}/{what}", "schedule", path + name, args, kwargs, options)
