"""Optimizers: every one in `optim`, every parameter, small gradients that show the constants; gradient clipping and scaling."""

import numpy as np

from ..row import Row
from . import rounded

SHAPES = ((3, 4), (5,), ())
BIG = {"float64": 1.0}


def _gradients(rng, steps, scale=1.0, shapes=SHAPES):
    return [[np.asarray(rounded(rng, *s) * scale) for s in shapes] for _ in range(steps)]


def _row(rng, name, what, kwargs, steps=6, scale=1.0, shapes=SHAPES, **options):
    return Row(f"{name}/{what}", "optimizer", f"optim.{name}", (), kwargs,
               {"parameters": [rounded(rng, *s) for s in shapes], "gradients": _gradients(rng, steps, scale, shapes), **options})


def _muon(rng):
    """Yield rows of Muon, with parameters of the size of its steps."""
    for what, kwargs in (("default", {}), ("momentum", {"lr": 0.125, "momentum": 0.5, "nesterov": False, "weight_decay": 0.25}),
                         ("coefficients", {"ns_coefficients": (3.0, -4.0, 2.0), "ns_steps": 3, "eps": 1.0}),
                         ("adjusted", {"adjust_lr_fn": "match_rms_adamw", "lr": 0.125})):
        row = _row(rng, "Muon", what, kwargs, shapes=((3, 5), (4, 2)))
        row.options["parameters"] = [p * kwargs.get("lr", 2.0 ** -10) for p in row.options["parameters"]]
        row.tolerance, row.reason = 0.15, "PyTorch iterates in bfloat16"
        yield row


# Rows of an optimizer: (what varies, keyword arguments, more for `_row`).
TABLE = {
    "SGD": [
        ("default", {}, {}), ("lr", {"lr": 0.05}, {}),
        ("momentum", {"lr": 0.02, "momentum": 0.9, "dampening": 0.25, "weight_decay": 0.0625}, {}),
        ("nesterov", {"lr": 0.02, "momentum": 0.75, "nesterov": True, "weight_decay": 0.01}, {}),
        ("maximize", {"lr": 0.03, "momentum": 0.5, "maximize": True, "weight_decay": 0.1}, {}),
        ("foreach", {"lr": 0.02, "momentum": 0.9, "dampening": 0.5, "foreach": True}, {}),
        ("one by one", {"lr": 0.02, "momentum": 0.9, "dampening": 0.5, "foreach": False}, {}),
        ("fused", {"lr": 0.02, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1, "fused": True}, {}),
        ("groups", {"lr": 0.02, "momentum": 0.5},
         {"groups": [{"lr": 0.1}, {"momentum": 0.9, "dampening": 0.125}, {"weight_decay": 0.2, "nesterov": False}]}),
    ],
    "Adam": [
        ("default", {}, {}), ("small gradients", {"lr": 0.02}, {"scale": 2.0 ** -27}),
        ("betas", {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.05}, {}),
        ("amsgrad", {"lr": 0.02, "amsgrad": True, "betas": (0.5, 0.25)}, {"steps": 8}),
        ("amsgrad maximize", {"lr": 0.03, "amsgrad": True, "maximize": True, "eps": 0.1, "foreach": False}, {}),
        ("foreach", {"lr": 0.02, "foreach": True, "weight_decay": 0.1}, {}),
        ("fused", {"lr": 0.02, "fused": True, "weight_decay": 0.1, "amsgrad": True}, {}),
        ("decoupled", {"lr": 0.02, "weight_decay": 0.3, "decoupled_weight_decay": True}, {}),
        ("lr tensor", {"lr": np.array(0.02), "foreach": False}, {}),
        ("groups", {"lr": 0.01}, {"groups": [{"lr": 0.1}, {"betas": (0.5, 0.75)}, {"weight_decay": 0.2, "eps": 0.5}]}),
    ],
    "AdamW": [
        ("default", {}, {}), ("small gradients", {"lr": 0.02, "weight_decay": 0.0}, {"scale": 2.0 ** -27}),
        ("betas", {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.25}, {}),
        ("amsgrad", {"lr": 0.02, "amsgrad": True, "maximize": True, "betas": (0.5, 0.25)}, {"steps": 8}),
        ("fused", {"lr": 0.02, "fused": True, "weight_decay": 0.1}, {}), ("foreach", {"foreach": True, "lr": 0.5}, {}),
    ],
    "NAdam": [
        ("default", {}, {}), ("small gradients", {"lr": 0.02}, {"scale": 2.0 ** -27}),
        ("betas", {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.05, "momentum_decay": 0.5}, {}),
        ("decoupled", {"lr": 0.02, "weight_decay": 0.25, "decoupled_weight_decay": True, "maximize": True}, {}),
        ("foreach", {"lr": 0.1, "momentum_decay": 2.0, "foreach": True}, {}),
        ("one by one", {"lr": 0.1, "momentum_decay": 2.0, "foreach": False}, {}),
    ],
    "RAdam": [
        ("default", {}, {"steps": 9}), ("small gradients", {"lr": 0.02}, {"scale": 2.0 ** -27, "steps": 9}),
        ("betas", {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.05}, {"steps": 9}),
        ("threshold", {"lr": 0.05, "betas": (0.75, 0.99)}, {"steps": 9, "shown": (3, 4, 5, 6, 7)}),
        ("never over it", {"lr": 0.05, "betas": (0.75, 0.5)}, {"steps": 9}),
        ("decoupled", {"lr": 0.02, "weight_decay": 0.25, "decoupled_weight_decay": True, "maximize": True}, {"steps": 7}),
        ("foreach", {"lr": 0.1, "foreach": True}, {"steps": 7}), ("one by one", {"lr": 0.1, "foreach": False}, {"steps": 7}),
    ],
    "Adamax": [
        ("default", {}, {}), ("small gradients", {"lr": 0.02}, {"scale": 2.0 ** -27}),
        ("betas", {"lr": 0.02, "betas": (0.8, 0.5), "eps": 1e-3, "weight_decay": 0.05}, {}),
        ("maximize", {"lr": 0.3, "maximize": True, "foreach": True}, {}), ("one by one", {"lr": 0.3, "foreach": False}, {}),
    ],
    "Adadelta": [
        ("default", {}, {}), ("small gradients", {"lr": 0.5}, {"scale": 2.0 ** -10}),
        ("rho", {"lr": 0.5, "rho": 0.75, "eps": 1e-3, "weight_decay": 0.05}, {}),
        ("maximize", {"lr": 0.3, "maximize": True, "foreach": True}, {}), ("one by one", {"lr": 0.3, "foreach": False}, {}),
    ],
    "Adagrad": [
        ("default", {}, {}), ("small gradients", {"lr": 0.5}, {"scale": 2.0 ** -33}),
        ("decay", {"lr": 0.5, "lr_decay": 0.25, "weight_decay": 0.05, "initial_accumulator_value": 0.5, "eps": 0.01}, {}),
        ("maximize", {"lr": 0.3, "maximize": True, "foreach": True}, {}), ("one by one", {"lr": 0.3, "foreach": False}, {}),
        ("fused", {"lr": 0.3, "lr_decay": 0.125, "fused": True, "weight_decay": 0.1}, {}),
    ],
    "RMSprop": [
        ("default", {}, {}), ("small gradients", {"lr": 0.5}, {"scale": 2.0 ** -27}),
        ("alpha", {"lr": 0.5, "alpha": 0.75, "weight_decay": 0.05, "eps": 0.01}, {}),
        ("centred", {"lr": 0.01, "centered": True, "momentum": 0.9, "weight_decay": 0.01}, {}),
        ("centred, no momentum", {"lr": 0.01, "centered": True, "alpha": 0.5, "foreach": False}, {}),
        ("maximize", {"lr": 0.3, "maximize": True, "momentum": 0.5, "foreach": True, "centered": True}, {}),
    ],
    "Rprop": [
        ("default", {}, {}), ("etas", {"lr": 0.5, "etas": (0.25, 1.5)}, {"steps": 9}),
        ("sizes", {"lr": 0.1, "step_sizes": (0.0625, 0.125)}, {"steps": 9}),
        ("maximize", {"lr": 0.3, "maximize": True, "foreach": True}, {}), ("one by one", {"lr": 0.3, "foreach": False}, {}),
        ("still", {"lr": 0.25}, {"scale": 0.0, "steps": 2}),
    ],
    "ASGD": [
        ("default", {}, {}), ("averaged", {"lr": 0.05, "t0": 2, "weight_decay": 0.0625}, {"steps": 8}),
        ("lambd", {"lr": 0.05, "lambd": 0.25, "alpha": 0.5, "t0": 0}, {"steps": 8}),
        ("maximize", {"lr": 0.3, "maximize": True, "foreach": True, "t0": 1}, {}),
        ("one by one", {"lr": 0.3, "foreach": False, "lambd": 0.1, "t0": 1}, {}),
    ],
    "Adafactor": [
        ("default", {}, {"shapes": ((3, 4), (5,))}), ("lr", {"lr": 0.5, "weight_decay": 0.25}, {"shapes": ((3, 4), (2, 3, 2))}),
        ("decay", {"lr": 0.5, "beta2_decay": -0.5, "d": 1.25}, {"shapes": ((3, 4), (5,))}),
        ("eps", {"lr": 0.5, "eps": (0.01, 0.5)}, {"shapes": ((3, 4), (5,)), "scale": 0.125}),
        ("small gradients", {"lr": 0.5}, {"shapes": ((3, 4), (5,)), "scale": 2.0 ** -60}),
        ("maximize", {"lr": 0.3, "maximize": True, "foreach": True}, {"shapes": ((3, 4), (5,))}),
        ("one by one", {"lr": 0.3, "foreach": False}, {"shapes": ((3, 4), (5,))}),
    ],
}


def _sparse(rng):
    for what, kwargs, scale in (("default", {}, 1.0), ("small gradients", {"lr": 0.02}, 2.0 ** -27),
                                ("betas", {"lr": 0.05, "betas": (0.5, 0.75), "eps": 1e-3, "maximize": True}, 1.0)):
        gradients = []
        for i in range(5):
            g = rounded(rng, 6, 2, low=0.25, high=2) * scale
            g[[i % 6, (2 * i + 3) % 6]] = 0.0
            gradients.append([g])
        yield Row(f"SparseAdam/{what}", "optimizer", "optim.SparseAdam", (), kwargs,
                  {"parameters": [rounded(rng, 6, 2)], "gradients": gradients, "sparse": True})


def _closures(rng):
    for what, kwargs in (("default", {}), ("lr", {"lr": 0.25, "max_iter": 5, "history_size": 3}),
                         ("tolerances", {"lr": 0.5, "tolerance_grad": 0.05, "max_iter": 30}),
                         ("change", {"lr": 0.5, "tolerance_change": 0.05, "max_iter": 30}),
                         ("evaluations", {"lr": 1, "max_eval": 4, "line_search_fn": "strong_wolfe"}),
                         ("line search", {"line_search_fn": "strong_wolfe", "max_iter": 7, "history_size": 2})):
        yield Row(f"LBFGS/{what}", "closure", "optim.LBFGS", (), kwargs,
                  {"parameters": [rounded(rng, 4)], "problem": [rounded(rng, 7, 4), rounded(rng, 7)], "steps": 3})


def _scalers(rng):
    trajectories = {
        "grows": ([1.0] * 7, {"init_scale": 8.0, "growth_interval": 2, "growth_factor": 4.0}),
        "backs off": ([1.0, 1e38, 1.0, 3e38, 1e38, 1.0, 1.0], {"init_scale": 1024.0, "growth_interval": 3, "backoff_factor": 0.25}),
        "default": ([1.0, 1e38, 1.0], {}),
        "to infinity": ([2.0 ** -120] * 6, {"init_scale": 2.0 ** 125, "growth_interval": 1, "growth_factor": 8.0}),
        "off": ([1.0, 2.0], {"enabled": False}),
        "clipped": ([1.0, 4.0, 1e38, 2.0], {"init_scale": 64.0, "growth_interval": 1}),
    }
    for what, (factors, kwargs) in trajectories.items():
        adam = what in ("grows", "clipped")
        yield Row(f"GradScaler/{what}", "scaler", "amp.GradScaler", (), kwargs, {
            "parameters": [rounded(rng, 3, dtype="float32")], "factors": factors, "unscale": what == "clipped",
            "optimizer": "optim.Adam" if adam else "optim.SGD", "optimizer_kwargs": {"lr": 0.125}})


def rows(torch, rng):
    """Yield rows of every optimizer, of gradient scalers and of LBFGS."""
    for name, entries in TABLE.items():
        for what, kwargs, more in entries:
            yield _row(rng, name, what, kwargs, **more)
    yield from _muon(rng)
    yield from _sparse(rng)
    yield from _closures(rng)
    yield from _scalers(rng)
