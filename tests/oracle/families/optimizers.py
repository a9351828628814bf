"""Optimizers: every one in `optim`, every parameter, small gradients that show the constants; gradient clipping and scaling."""

import numpy as np

from ..row import Function, Row
from . import distinct, rounded

SHAPES = ((3, 4), (5,), ())


def _numbers(rng, shape, dtype):
    """Return numbers, complex ones if the dtype is."""
    if np.dtype(dtype).kind == "c":
        return np.asarray(rounded(rng, *shape) + 1j * rounded(rng, *shape)).astype(dtype)
    return rounded(rng, *shape, dtype=dtype)


def _row(rng, name, what, kwargs, steps=6, scale=1.0, shapes=SHAPES, dtype="float64", missing=(), kind="optimizer", **options):
    """Return a row of an optimizer; `missing` are (step, parameter) without a gradient."""
    gradients = [[np.asarray(_numbers(rng, s, dtype) * scale) for s in shapes] for _ in range(steps)]
    for step, k in missing:
        gradients[step][k] = None
    return Row(f"{name}/{what}", kind, f"optim.{name}", (), kwargs | ({"differentiable": True} if kind == "unrolled" else {}),
               {"parameters": [_numbers(rng, s, dtype) for s in shapes], "gradients": gradients, **options})


def _muon(rng):
    """Yield rows of Muon: some that PyTorch's bfloat16 holds exactly, others with parameters of the size of its steps."""
    for what, kwargs in (("default", {}), ("momentum", {"lr": 0.125, "momentum": 0.5, "nesterov": False, "weight_decay": 0.25}),
                         ("coefficients", {"ns_coefficients": (3.0, -4.0, 2.0), "ns_steps": 3, "eps": 1.0}),
                         ("adjusted", {"adjust_lr_fn": "match_rms_adamw", "lr": 0.125})):
        row = _row(rng, "Muon", what, kwargs, shapes=((3, 5), (4, 2)), steps=3)
        row.options["parameters"] = [(np.abs(p) + 4.0) * kwargs.get("lr", 2.0 ** -10) for p in row.options["parameters"]]
        row.tolerance, row.reason = 0.03, "PyTorch iterates in bfloat16"
        yield row
    scaled = {"eps": 32.0, "ns_steps": 1, "momentum": 0.5, "lr": 0.25}
    for what, kwargs in (("exact", {"ns_coefficients": (1.0, 0.0, 0.0)}),
                         ("exact, second", {"ns_coefficients": (0.0, 1.0, 0.0), "nesterov": False, "weight_decay": 0.5}),
                         ("exact, third", {"ns_coefficients": (0.0, 0.0, -1.0), "nesterov": False, "lr": 8.0}),
                         ("exact, adjusted", {"ns_coefficients": (1.0, 0.0, 0.0), "adjust_lr_fn": "match_rms_adamw"}),
                         ("exact, original", {"ns_coefficients": (0.5, 0.0, 0.0), "adjust_lr_fn": "original", "ns_steps": 2})):
        row = _row(rng, "Muon", what, scaled | kwargs, shapes=((2, 3), (3, 2)))
        few, steps = (np.sign, 1) if "third" in what else (np.rint, 2)      # sums of products in eight bits
        row.options["gradients"] = [[few(g) * 4 for g in step] for step in row.options["gradients"][:steps]]
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
        ("weight decay tensor", {"lr": 0.02, "weight_decay": np.array(0.25), "foreach": False}, {}),
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
        ("betas tensors", {"lr": 0.02, "betas": (np.array(0.75), np.array(0.5)), "foreach": False}, {}),
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
        ("shortest and longest", {}, {"steps": 7, "groups": [{"lr": 1.5e-6}, {"lr": 45.0}, {"lr": 1.0}], "shown": (3, 4)}),
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


# Options by which every part of an update matters, for rows that vary something else.
BUSY = {
    "SGD": {"lr": 0.02, "momentum": 0.75, "dampening": 0.25, "weight_decay": 0.125},
    "Adam": {"lr": 0.02, "betas": (0.75, 0.5), "weight_decay": 0.125, "amsgrad": True, "eps": 0.125},
    "AdamW": {"lr": 0.02, "betas": (0.75, 0.5), "weight_decay": 0.125, "eps": 0.125},
    "NAdam": {"lr": 0.02, "betas": (0.75, 0.5), "weight_decay": 0.125, "momentum_decay": 0.5, "eps": 0.125},
    "RAdam": {"lr": 0.02, "betas": (0.75, 0.875), "weight_decay": 0.125, "eps": 0.125},
    "Adamax": {"lr": 0.02, "betas": (0.75, 0.5), "weight_decay": 0.125, "eps": 0.125},
    "Adadelta": {"lr": 0.5, "rho": 0.75, "weight_decay": 0.125, "eps": 0.125},
    "Adagrad": {"lr": 0.5, "lr_decay": 0.25, "weight_decay": 0.125, "initial_accumulator_value": 0.25, "eps": 0.125},
    "RMSprop": {"lr": 0.02, "alpha": 0.75, "centered": True, "momentum": 0.5, "weight_decay": 0.125, "eps": 0.125},
    "Rprop": {"lr": 0.25, "etas": (0.25, 1.5)},
    "ASGD": {"lr": 0.125, "lambd": 0.25, "t0": 1, "weight_decay": 0.125},
    "Adafactor": {"lr": 0.5, "weight_decay": 0.125, "eps": (0.125, 0.25)},
}
# Options that groups have from a step on.
CHANGES = {name: {"2": {"lr": 0.25}, "4": {"weight_decay": 0.5}} for name in BUSY} | {
    "SGD": {"2": {"lr": 0.25}, "4": {"momentum": 0.5, "dampening": 0.0, "nesterov": True}},
    "Adam": {"2": {"lr": 0.25}, "4": {"betas": (0.5, 0.75), "weight_decay": 0.5}},
    "Rprop": {"2": {"etas": (0.5, 1.25)}, "4": {"step_sizes": (0.125, 0.25)}},
    "ASGD": {"2": {"lr": 0.25}, "4": {"lambd": 0.5, "alpha": 1.0}},
}
# Steps that PyTorch differentiates: where it is one, a second one overwrites what the gradient of the first needs.
STEPS = {"Adamax": 1, "RMSprop": 1, "Rprop": 1}
MISSING = ((0, 1), (3, 0), (5, 2), (6, 1))


def _varied(rng):
    """Yield rows of each optimizer that differ in dtype, layout, missing gradients, and what happens between steps."""
    for name, kwargs in BUSY.items():
        more = {"shapes": ((3, 4), (5,), (2, 1, 3))} if name == "Adafactor" else {}
        yield _row(rng, name, "goes on", kwargs, steps=9, resume=5, changes=CHANGES[name], missing=MISSING, shown=(2, 4, 5), **more)
        yield _row(rng, name, "single precision", kwargs, dtype="float32", turned=True, **more)
        plain = {k: v for k, v in kwargs.items() if k == "lr"}
        yield _row(rng, name, "lr tensor", plain | {"lr": np.array(plain["lr"]), "foreach": False}, steps=4, **more)
        if name == "Adafactor":
            continue
        yield _row(rng, name, "complex", kwargs, dtype="complex128", steps=5, shapes=((2, 3), (4,), ()))
        yield _row(rng, name, "differentiable", kwargs | ({"amsgrad": False} if name == "Adam" else {}), kind="unrolled",
                   steps=STEPS.get(name, 3), shapes=((2, 3), (4,)))
    yield _row(rng, "SGD", "differentiable, nesterov", {"lr": 0.125, "momentum": 0.5, "nesterov": True, "maximize": True},
               kind="unrolled", steps=3, shapes=((2, 3), (4,)))
    yield _row(rng, "SGD", "differentiable, no momentum", {"lr": 0.125, "weight_decay": 0.5}, kind="unrolled", steps=3,
               shapes=((2, 3), (4,)))
    yield _row(rng, "Adam", "differentiable, amsgrad", BUSY["Adam"], kind="unrolled", steps=1, shapes=((2, 3), (4,)))
    for name in ("SGD", "Adam", "RMSprop"):
        yield _row(rng, name, "nothing", BUSY[name], steps=3, shapes=((0, 3), (2,)))


def _sparse(rng):
    rows = {"SparseAdam/default": {}, "SparseAdam/small gradients": {"lr": 0.02}, "SparseAdam/lr tensor": {"lr": np.array(0.02)},
            "SparseAdam/betas": {"lr": 0.05, "betas": (0.5, 0.75), "eps": 1e-3, "maximize": True},
            "SGD/sparse": {"lr": 0.05, "maximize": True}, "SGD/sparse by default": {},
            "SGD/sparse, momentum": {"lr": 0.05, "momentum": 0.5, "dampening": 0.25},
            "Adagrad/sparse": {"lr": 0.05, "lr_decay": 0.25, "eps": 0.125, "initial_accumulator_value": 0.5},
            "Adagrad/sparse by default": {"maximize": True}}
    for name, kwargs in rows.items():
        gradients = []
        for i in range(5):
            g = rounded(rng, 6, 2, low=0.25, high=2) * (2.0 ** -27 if "small" in name else 1.0)
            g[[i % 6, (2 * i + 3) % 6]] = 0.0
            gradients.append([g])
        yield Row(name, "optimizer", "optim." + name.split("/")[0], (), kwargs,
                  {"parameters": [rounded(rng, 6, 2)], "gradients": gradients, "sparse": True})


def _closures(rng):
    for what, kwargs in (("default", {}), ("lr", {"lr": 0.25, "max_iter": 5, "history_size": 3}),
                         ("tolerances", {"lr": 0.5, "tolerance_grad": 0.05, "max_iter": 30}),
                         ("change", {"lr": 0.5, "tolerance_change": 0.05, "max_iter": 30}),
                         ("evaluations", {"lr": 1, "max_eval": 4, "line_search_fn": "strong_wolfe"}),
                         ("line search", {"line_search_fn": "strong_wolfe", "max_iter": 7, "history_size": 2}),
                         ("lr tensor", {"lr": np.array(0.25), "max_iter": 4}),
                         ("two parameters", {"lr": 0.5, "max_iter": 6, "max_eval": 5}),
                         ("two parameters, line search", {"lr": 3.0, "max_iter": 6, "line_search_fn": "strong_wolfe"})):
        shapes = ((2, 3), (2,)) if "two" in what else ((4,),)
        count = 8 if "two" in what else 4
        yield Row(f"LBFGS/{what}", "closure", "optim.LBFGS", (), kwargs,
                  {"parameters": [rounded(rng, *s) for s in shapes], "problem": [rounded(rng, 9, count), rounded(rng, 9)],
                   "steps": 3})
    for what, loss, start, kwargs, steps in LOSSES:
        yield Row(f"LBFGS/{what}", "closure", "optim.LBFGS", (), kwargs,
                  {"parameters": [np.array(x) for x in start], "loss": Function(loss), "steps": steps})


WOLFE = {"line_search_fn": "strong_wolfe"}
# Rows of LBFGS: (what varies, loss, parameters, keyword arguments, steps).
LOSSES = [
    # The first step lowers the loss by 0.00009 and 0.00011 of what its slope promises, and has 0.885 and 0.915 of that slope.
    ("decrease below", "ripples", [[0.125]], {"lr": 2.29336, "max_iter": 2, **WOLFE}, 1),
    ("decrease above", "ripples", [[0.125]], {"lr": 2.293415, "max_iter": 2, **WOLFE}, 1),
    ("slope below", "ripples", [[0.125]], {"lr": 0.31106, "max_iter": 2, **WOLFE}, 1),
    ("slope above", "ripples", [[0.125]], {"lr": 0.29346, "max_iter": 2, **WOLFE}, 1),
    ("long step", "valley", [[1.25, 1.5, -1.375]], {"lr": 4.0, "max_iter": 4, "tolerance_change": 0.001, **WOLFE}, 2),
    ("longer step", "ripples", [[-1.625]], {"lr": 16.0, "max_iter": 4, "tolerance_change": 0.001, **WOLFE}, 1),
    ("short step", "valley", [[-1.9375, -0.8125, 0.9375]], {"lr": 2.0 ** -7, "max_iter": 4, **WOLFE}, 1),
    ("many valleys", "ripples", [[-0.0625, -0.5625]], {"lr": 16.0, "max_iter": 3, "max_eval": 6, **WOLFE}, 2),
    ("one iteration", "ripples", [[-1.3125]], {"lr": 1.0, "max_iter": 1, **WOLFE}, 1),
    ("sharp", "edge", [[1.1875, -1.125, -0.25]], {"lr": 4.0, "max_iter": 5, "max_eval": 8, **WOLFE}, 2),
    ("few evaluations", "wall", [[-2.0, -1.5]], {"lr": 2.0 ** -14, "max_iter": 4, "max_eval": 2, **WOLFE}, 2),
    ("near", "valley", [[1 + 2.0 ** -14, 1 - 2.0 ** -15]], {"lr": 0.0625, "max_iter": 40, "tolerance_grad": 0, "tolerance_change": 0}, 1),
    ("complex", "complex bowl", [[1.5 - 0.5j, 0.25j], [[-1.0 + 2j]]], {"lr": 0.25, "max_iter": 5}, 2),
    ("complex, line search", "complex bowl", [[1.5 - 0.5j, 0.25j], [[-1.0 + 2j]]], {"max_iter": 3, **WOLFE}, 1),
]


def _clipping(rng):
    """Yield rows of gradient clipping."""
    def some(dtype="float64", scale=1.0):
        return [np.asarray(_numbers(rng, s, dtype) * scale).astype(dtype) for s in ((3, 4), (5,), (), (2, 1, 3))]

    def row(name, what, args, gradients, kwargs=None, **options):
        return Row(f"{name}/{what}", "clipping", f"nn.utils.{name}", args, kwargs or {}, {"gradients": gradients, **options})

    broken = [np.where(np.arange(5) == 3, np.inf, rounded(rng, 5)), rounded(rng, 2, 3)]
    lost = [np.where(np.arange(5) == 3, np.nan, rounded(rng, 5)), rounded(rng, 2, 3)]
    orders = {"one": 1, "two": 2.0, "odd": 3.5, "half": 0.5, "largest": np.inf, "name": "inf", "least": -np.inf, "below": -1.0,
              "count": 0}
    for name, measured in (("clip_grad_norm_", False), ("get_total_norm", True)):
        limit = () if measured else (1.5,)
        for what, order in orders.items():
            yield row(name, what, (*limit, order), some(), measured=measured)
        yield row(name, "default", limit, some(), measured=measured)
        yield row(name, "foreach", limit, some(), {"norm_type": 3, "foreach": True}, measured=measured)
        yield row(name, "one by one", limit, some(), {"norm_type": 3, "foreach": False}, measured=measured)
        yield row(name, "none", limit, [], measured=measured)
        yield row(name, "finite", limit, some(), {"error_if_nonfinite": True}, measured=measured)
        for dtype in ("float32", "complex128", "bfloat16", "float16"):
            yield row(name, dtype, limit, some(dtype), measured=measured)
        yield row(name, "two dtypes", limit, some()[:2] + some("float32")[2:], measured=measured)
        for what, gradients in (("inf", broken), ("nan", lost)):
            yield row(name, what, limit, gradients, measured=measured)
            yield row(name, what + " by its largest", (*limit, np.inf), gradients, measured=measured)
            yield row(name, what + ", refused", limit, gradients, {"error_if_nonfinite": True}, measured=measured)
    yield row("clip_grad_norm_", "short", (100.0,), some())
    yield row("clip_grad_norm_", "tiny", (1e-6,), some(scale=2.0 ** -20))
    yield row("clip_grad_norm_", "nearly", (1.0 + 2.0 ** -21,), [np.array([0.75]), np.array([[0.5, 0.25 * 3 ** 0.5]])])
    yield row("clip_grad_norm_", "without one", (1.5,), [rounded(rng, 3), None, rounded(rng, 2, 2)])
    yield row("clip_grad_norm_", "nothing", (1.5,), [rounded(rng, 0, 3), rounded(rng, 4)])
    yield row("clip_grads_with_norm_", "default", (1.5, np.array(4.0)), some())
    yield row("clip_grads_with_norm_", "short", (1.5, np.array(1.25)), some(), {"foreach": True})
    yield row("clip_grads_with_norm_", "tiny", (), some(scale=2.0 ** -20), {"max_norm": 1e-6, "total_norm": np.array(3e-6), "foreach": False})
    yield row("clip_grads_with_norm_", "float32", (1.5, np.array(4.0, "float32")), some("float32"))
    yield row("clip_grad_value_", "default", (0.75,), some())
    yield row("clip_grad_value_", "foreach", (0.5,), some(), {"foreach": True})
    yield row("clip_grad_value_", "one by one", (), some(), {"clip_value": 0.25, "foreach": False})
    yield row("clip_grad_value_", "float32", (1,), some("float32"))
    yield row("clip_grad_value_", "bfloat16", (0.75,), some("bfloat16"))
    yield row("clip_grad_value_", "broken", (0.75,), [broken[0], -broken[0], lost[0]])
    yield row("clip_grad_value_", "without one", (0.75,), [distinct(rng, 5), None, distinct(rng, 2, 3)])


def _scalers(rng):
    trajectories = {
        "grows": ([1.0] * 7, {"init_scale": 8.0, "growth_interval": 2, "growth_factor": 4.0}, {}),
        "backs off": ([1.0, 1e38, 1.0, 3e38, 1e38, 1.0, 1.0], {"init_scale": 1024.0, "growth_interval": 3, "backoff_factor": 0.25}, {}),
        "default": ([1.0, 1e38, 1.0], {}, {}),
        "to infinity": ([2.0 ** -120] * 6, {"init_scale": 2.0 ** 125, "growth_interval": 1, "growth_factor": 8.0}, {}),
        "off": ([1.0, 2.0], {"enabled": False}, {}),
        "clipped": ([1.0, 4.0, 1e38, 2.0], {"init_scale": 64.0, "growth_interval": 1}, {"unscale": True}),
        "goes on": ([1.0, 1e38, 1.0, 1.0, 1.0], {"init_scale": 1024.0, "growth_interval": 3, "growth_factor": 8.0}, {"resume": 3}),
        "set": ([1.0, 2.0, 1e38, 1.0], {"init_scale": 1024.0, "growth_interval": 2}, {"set": {"0": 4096.0, "2": 2.0}}),
        "set to tensors": ([1.0, 2.0, 1.0], {"init_scale": 1024.0}, {"set": {"0": np.array(4096.0, "float32")}}),
        "apart": ([1.0, 1e38, 1.0, 1.0], {"init_scale": 1024.0, "growth_interval": 2}, {"apart": True}),
    }
    for what, (factors, kwargs, more) in trajectories.items():
        adam = what in ("grows", "clipped", "goes on")
        yield Row(f"GradScaler/{what}", "scaler", "amp.GradScaler", (), kwargs, {
            "parameters": [rounded(rng, 3, dtype="float32"), rounded(rng, 2, 2, dtype="float32")], "factors": factors,
            "optimizer": "optim.Adam" if adam else "optim.SGD", "optimizer_kwargs": {"lr": 0.125}, **more})


def rows(torch, rng):
    """Yield rows of every optimizer, of gradient clipping and of gradient scalers."""
    for name, entries in TABLE.items():
        for what, kwargs, more in entries:
            yield _row(rng, name, what, kwargs, **more)
    yield from _varied(rng)
    yield from _muon(rng)
    yield from _sparse(rng)
    yield from _closures(rng)
    yield from _clipping(rng)
    yield from _scalers(rng)
