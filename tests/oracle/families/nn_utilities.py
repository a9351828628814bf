"""Containers of layers and `nn.utils`: parametrizations, pruning, fusion, batches of sequences, vectors of parameters."""

import numpy as np

from ..row import Build, Leaf, Name, Row
from . import distinct, rounded

ACTIVATIONS = (Build("nn.Linear", (3, 3)), Build("nn.Tanh"), Build("nn.Linear", (3, 3)), Build("nn.ELU"))


def _leaf(rng, *shape, **options):
    return Leaf(rounded(rng, *shape, **options))


def _function(target, what, args, kwargs=None, **options):
    return Row(f"{target.removeprefix('nn.')}/{what}", "function", target, args, kwargs or {}, options)


def _layer(target, what, args, kwargs, inputs, call=None, program=None, **options):
    if program is not None:
        options["program"] = program
    return Row(f"{target.removeprefix('nn.')}/{what}", "layer", target, args, kwargs, {"inputs": inputs, "call": call or {}, **options})


def _containers(rng):
    layers = list(ACTIVATIONS)
    yield _layer("nn.ModuleList", "in turn", (layers,), {}, (_leaf(rng, 2, 3),), program="in turn")
    yield _layer("nn.ModuleList", "edited", (layers,), {}, (_leaf(rng, 2, 3),), program="edited list", recorded=False)
    yield _layer("nn.Sequential", "edited", ACTIVATIONS, {}, (_leaf(rng, 4, 3),), program="edited sequence", recorded=False)
    yield _layer("nn.Sequential", "nested", (Build("nn.Sequential", ACTIVATIONS[:2]), ACTIVATIONS[2]), {}, (_leaf(rng, 4, 3),))
    named = {"c": layers[0], "a": layers[1], "b": layers[2]}
    yield _layer("nn.ModuleDict", "in turn", (named,), {}, (_leaf(rng, 2, 3),), program="in turn")
    yield _layer("nn.ModuleDict", "edited", (named,), {}, (_leaf(rng, 2, 3),), program="edited dict", recorded=False)
    yield _layer("nn.ParameterList", "three", ([rounded(rng, 2, 3), rounded(rng, 3), rounded(rng, 2, 1)],), {}, (_leaf(rng, 2, 3),), program="sum of parameters")
    yield _layer("nn.ParameterList", "one", ([rounded(rng, 4)],), {}, (_leaf(rng, 2, 4),), program="sum of parameters")
    yield _layer("nn.ParameterDict", "three", ({"w": rounded(rng, 2, 3), "a": rounded(rng, 3), "m": rounded(rng, 2, 1)},), {}, (_leaf(rng, 2, 3),), program="sum of parameters")
    yield _layer("nn.ParameterDict", "one", ({"w": rounded(rng, 4)},), {}, (_leaf(rng, 2, 4),), program="sum of parameters")


def _orthogonal_state(rng, sizes, has_base):
    """Return the state of a Linear with an orthogonal weight; the map by reflections takes signs on the diagonal alone."""
    free = rounded(rng, *sizes[::-1])
    np.fill_diagonal(free, rng.choice([-1.0, 1.0], min(sizes)))
    state = {"bias": rounded(rng, sizes[1]), "parametrizations.weight.original": free}
    if has_base:
        state["parametrizations.weight.0.base"] = np.linalg.qr(rounded(rng, max(sizes), max(sizes)))[0]
    return state


def _parametrizations(rng):
    linear = (lambda *s: Build("nn.Linear", s))
    x = (lambda *s: _leaf(rng, *s))
    weight_norm = "nn.utils.parametrizations.weight_norm"
    for dim in (0, 1, -1, None):
        yield _layer(weight_norm, f"dim {dim}", (linear(3, 4), "weight", dim), {}, (x(2, 3),), program="weights")
        yield _layer("nn.utils.weight_norm", f"dim {dim}", (linear(3, 4), "weight", dim), {}, (x(2, 3),))
    yield _layer(weight_norm, "default", (Build("nn.Conv1d", (2, 3, 2)),), {}, (x(1, 2, 4),), program="weights")
    yield _layer(weight_norm, "name", (Build("nn.LSTM", (2, 3)),), {"name": "weight_hh_l0"}, (x(3, 1, 2),))
    yield _layer(weight_norm, "dim 2", (Build("nn.Conv2d", (2, 3, (2, 3))),), {"dim": 2}, (x(1, 2, 3, 4),))
    yield _layer(weight_norm, "assigned", (linear(3, 4),), {}, (rounded(rng, 4, 3), x(2, 3)), program="assigned", recorded=False)
    yield _layer(weight_norm, "removed", (linear(3, 4),), {"dim": 1}, (x(2, 3),), program="without parametrizations", recorded=False)
    yield _layer("nn.utils.weight_norm", "default", (Build("nn.Conv1d", (2, 3, 2)),), {}, (x(1, 2, 4),))
    yield _layer("nn.utils.weight_norm", "name", (Build("nn.GRU", (2, 3)),), {"name": "weight_ih_l0"}, (x(3, 1, 2),))
    yield _layer("nn.utils.weight_norm", "removed", (linear(3, 4),), {}, (Name("nn.utils.remove_weight_norm"), x(2, 3)), program="applied", recorded=False)
    for target in ("nn.utils.parametrizations.spectral_norm", "nn.utils.spectral_norm"):
        program = "weights" if "parametrizations" in target else None
        for train in (True, False):
            yield _layer(target, f"default {train}", (linear(3, 4),), {}, (x(2, 3),), program=program, train=train)
            yield _layer(target, f"steps {train}", (linear(3, 4),), {"n_power_iterations": 3, "dim": 1}, (x(2, 3),), program=program, train=train)
            yield _layer(target, f"convolution {train}", (Build("nn.Conv1d", (2, 3, 2)),), {}, (x(1, 2, 4),), program=program, train=train)
        yield _layer(target, "twice", (linear(3, 4),), {}, (x(2, 3),), program=program, times=2)
        yield _layer(target, "turned", (Build("nn.ConvTranspose2d", (2, 3, (2, 1))),), {}, (x(1, 2, 2, 3),), program=program)
        yield _layer(target, "name", (Build("nn.RNN", (2, 3)),), {"name": "weight_hh_l0"}, (x(3, 1, 2),), train=False)
        yield _layer(target, "eps", (linear(3, 4),), {"eps": 2.5}, (x(2, 3),), program=program)
    yield _layer("nn.utils.parametrizations.spectral_norm", "vector", (Build("nn.BatchNorm1d", (3,)),), {}, (x(4, 3),), program="weights")
    yield _layer("nn.utils.parametrizations.spectral_norm", "vector eps", (Build("nn.BatchNorm1d", (3,)),), {"eps": 4.0}, (x(4, 3),), program="weights")
    yield _layer("nn.utils.parametrizations.spectral_norm", "removed", (linear(3, 4),), {}, (x(2, 3),), program="without parametrizations", recorded=False)
    yield _layer("nn.utils.spectral_norm", "removed", (linear(3, 4),), {}, (Name("nn.utils.remove_spectral_norm"), x(2, 3)), program="applied", recorded=False)
    orthogonal = "nn.utils.parametrizations.orthogonal"
    for sizes in ((3, 3), (2, 4), (4, 2)):
        for kind in (None, "matrix_exp", "cayley", "householder"):
            for trivial in (True, False):
                if kind is not None or trivial:
                    yield _layer(orthogonal, f"{sizes[0]}x{sizes[1]} {kind} {trivial}", (linear(*sizes),), {"orthogonal_map": kind, "use_trivialization": trivial}, (x(2, sizes[0]),), program="weights", state=_orthogonal_state(rng, sizes, trivial))
    yield _layer(orthogonal, "name", (Build("nn.RNN", (2, 3)),), {"name": "weight_hh_l0"}, (x(3, 1, 2),))
    for sizes in ((3, 3), (2, 4), (4, 2)):
        q = np.linalg.qr(rounded(rng, 4, 4))[0][:sizes[1], :sizes[0]]
        q = q if q.shape != (3, 3) else np.linalg.qr(rounded(rng, 3, 3))[0]
        u, _, v = np.linalg.svd(q, full_matrices=False)
        yield _layer(orthogonal, f"assigned {sizes}", (linear(*sizes), "weight", "householder"), {"use_trivialization": False}, (u @ v, x(2, sizes[0])), program="assigned", recorded=False)
    yield _layer(orthogonal, "removed", (linear(3, 3),), {}, (x(2, 3),), program="without parametrizations", recorded=False)
    yield _layer("nn.Linear", "two parametrizations", (3, 4), {}, (x(2, 3),), {}, "two parametrizations", recorded=False)
    for leave in (True, False):
        yield _layer(weight_norm, f"left {leave}", (linear(3, 2),), {}, (x(4, 3),), {"leave_parametrized": leave} if leave else {}, program="without parametrizations", recorded=False)
    yield _layer(weight_norm, "cached", (linear(3, 4),), {}, (x(2, 3),), program="cached", recorded=False)


def _pruning(rng):
    def row(what, steps, module=Build("nn.Linear", (4, 5)), x=None, **call):
        return _layer(module.target, f"pruned, {what}", module.args, module.kwargs, (x or _leaf(rng, 2, 4), *steps), call, "pruned", recorded=False,
                      **({"state": {"weight": distinct(rng, 5, 4), "bias": distinct(rng, 5)}} if module.target == "nn.Linear" else {}))

    scores = distinct(rng, 5, 4)                # positive and negative, no two of one size
    yield row("l1, count", [["l1_unstructured", ["weight", 7], {}]])
    yield row("l1, share", [["l1_unstructured", ["weight", 0.3], {}]])
    yield row("l1, scores", [["l1_unstructured", ["weight"], {"amount": 3, "importance_scores": scores}]])
    yield row("l1, bias", [["l1_unstructured", ["bias", 0.5], {}]])
    for n, dim in ((1, 0), (2, 1), (float("inf"), -1)):
        yield row(f"ln, {n} {dim}", [["ln_structured", ["weight"], {"amount": 2, "n": n, "dim": dim}]])
    yield row("ln, share", [["ln_structured", ["weight"], {"amount": 0.5, "n": 2, "dim": 0, "importance_scores": distinct(rng, 5, 4)}]])
    yield row("mask", [["custom_from_mask", ["weight", rng.integers(0, 2, (5, 4)).astype(float)], {}]])
    yield row("identity", [["identity", ["weight"], {}]])
    yield row("in turn", [["l1_unstructured", ["weight", 5], {}], ["ln_structured", ["weight", 1, 2, 0], {}], ["l1_unstructured", ["weight", 0.25], {}]])
    holes = np.ones((5, 4))
    holes[:3, :3] = holes[3, 1] = 0
    for n, dim in ((1, 0), (2, 1)):
        yield row(f"channels with holes, {n} {dim}", [["custom_from_mask", ["weight", holes], {}], ["ln_structured", ["weight", 2, n, dim], {}]])
    yield row("removed", [["l1_unstructured", ["weight", 7], {}]], removed=True)
    yield row("convolution", [["ln_structured", ["weight", 0.4, 1, 1], {}]], Build("nn.Conv1d", (4, 3, 2)), _leaf(rng, 1, 4, 3))
    layers = (Build("nn.Linear", (3, 4)), Build("nn.ReLU"), Build("nn.Linear", (4, 2)))
    for what, inputs, call in (("count", (), {"amount": 6}), ("share", (), {"amount": 0.3}), ("scores", ([scores[:4, :3], scores[:2] + 0.03125],), {"amount": 5})):
        yield _layer("nn.Sequential", f"pruned together, {what}", layers, {}, (_leaf(rng, 2, 3), *inputs), call, "pruned together", recorded=False,
                     state={"0.weight": scores.ravel()[:12].reshape(4, 3), "0.bias": rounded(rng, 4), "2.weight": scores.ravel()[12:].reshape(2, 4), "2.bias": rounded(rng, 2)})


def _fusion(rng):
    running = (lambda n: (rounded(rng, n), rounded(rng, n, low=0.5)))
    for transpose, shape in ((False, (3, 2, 2)), (True, (2, 3, 2))):
        for eps, more in ((1e-5, (rounded(rng, 3), rounded(rng, 3))), (0.5, (None, None))):
            for bias in (True, False):
                yield _function("nn.utils.fuse_conv_bn_weights", f"{transpose} {eps} {bias}", (rounded(rng, *shape), rounded(rng, 3) if bias else None, *running(3), eps, *more), {"transpose": transpose} if transpose else {})
    for eps in (1e-5, 0.5):
        more = rounded(rng, 3), rounded(rng, 3)
        yield _function("nn.utils.fuse_linear_bn_weights", eps, (rounded(rng, 3, 4), rounded(rng, 3), *running(3), eps, *more))
    norm = Build("nn.BatchNorm1d", (3,), {"eps": 0.25})
    for what, layers, shape, name, more in (
            ("conv", (Build("nn.Conv1d", (2, 3, 2)), norm), (2, 2, 4), "fuse_conv_bn_eval", ()), ("no bias", (Build("nn.Conv1d", (2, 3, 2), {"bias": False}), norm), (2, 2, 4), "fuse_conv_bn_eval", ()),
            ("turned", (Build("nn.ConvTranspose1d", (2, 3, 2)), norm), (2, 2, 4), "fuse_conv_bn_eval", (True,)), ("linear", (Build("nn.Linear", (2, 3)), norm), (4, 2), "fuse_linear_bn_eval", ())):
        yield _layer("nn.Sequential", f"{name}, {what}", layers, {}, (Name(f"nn.utils.{name}"), _leaf(rng, *shape), *more), {}, "fused", train=False, recorded=False)
    yield _layer("nn.BatchNorm1d", "made synchronous", (3,), {"momentum": 0.5}, (Name("nn.SyncBatchNorm.convert_sync_batchnorm"), _leaf(rng, 4, 3)), {}, "applied", recorded=False)


def _sequences(rng):
    lengths = (2, 5, 3)
    each = (lambda *tail: [_leaf(rng, n, *tail) for n in lengths])
    sorted_ones = (lambda *tail: [_leaf(rng, n, *tail) for n in (4, 4, 1)])
    pad = "nn.utils.rnn.pad_sequence"
    for i, kwargs in enumerate(({}, {"batch_first": True, "padding_value": 1.5}, {"padding_side": "left"}, {"padding_side": "left", "batch_first": True, "padding_value": -2})):
        yield _function(pad, i, (each(2),), kwargs)
        yield _function(pad, f"flat {i}", (each(),), kwargs)
    yield _function(pad, "integers", ([np.array([1, 2]), np.array([3, 4, 5])],), {"padding_value": 7})
    packing = "nn.utils.rnn.pack_padded_sequence"
    for first in (False, True):
        shape = (3, 5, 2) if first else (5, 3, 2)
        yield _function(packing, f"sorted {first}", (_leaf(rng, *shape), [5, 3, 2]), {"batch_first": first})
        yield _function(packing, f"unsorted {first}", (_leaf(rng, *shape), [2, 5, 3]), {"batch_first": first, "enforce_sorted": False})
        yield _function(packing, f"ties {first}", (_leaf(rng, *shape), np.array([3, 5, 3])), {"batch_first": first, "enforce_sorted": False})
        yield _function("nn.utils.rnn.unpad_sequence", first, (rounded(rng, *shape), np.array([4, 1, 5])), {"batch_first": first})
    yield _function(packing, "short", (_leaf(rng, 6, 2), np.array([4, 2])), {})
    yield _function("nn.utils.rnn.pack_sequence", "unsorted", (each(2),), {"enforce_sorted": False})
    yield _function("nn.utils.rnn.pack_sequence", "sorted", (sorted_ones(),))
    order = np.array([1, 2, 0])
    packed = (lambda: Build("nn.utils.rnn.PackedSequence", (_leaf(rng, 10, 2), np.array([3, 3, 2, 1, 1]), order + 0, np.array([2, 0, 1]))))
    plain = (lambda: Build("nn.utils.rnn.PackedSequence", (_leaf(rng, 7), np.array([3, 2, 2]))))
    unpack = "nn.utils.rnn.pad_packed_sequence"
    for i, kwargs in enumerate(({}, {"batch_first": True, "padding_value": 1.5}, {"total_length": 7, "padding_value": -1.0}, {"batch_first": True, "total_length": 5})):
        yield _function(unpack, i, (packed(),), kwargs, host=True)        # batch_sizes stay on the CPU
        yield _function(unpack, f"flat {i}", (plain(),), kwargs, host=True)
    yield _function("nn.utils.rnn.unpack_sequence", "order", (packed(),), host=True)
    yield _function("nn.utils.rnn.unpack_sequence", "plain", (plain(),), host=True)
    yield _function("nn.utils.rnn.invert_permutation", "three", (order,))
    yield _function("nn.utils.rnn.invert_permutation", "five", (np.array([3, 0, 4, 1, 2]),))
    yield _function("nn.utils.rnn.PackedSequence", "order", (_leaf(rng, 4), np.array([3, 1]), order), host=True)


def _parameters(rng):
    yield _function("nn.utils.parameters_to_vector", "three", ([_leaf(rng, 3, 2), _leaf(rng, 1), _leaf(rng, 2, 1, 2)],))
    yield _layer("nn.Linear", "vector to parameters", (3, 2), {}, (rounded(rng, 8), _leaf(rng, 4, 3)), {}, "vector to parameters", recorded=False)
    yield _layer("nn.Conv1d", "vector to parameters", (2, 3, 2), {}, (rounded(rng, 15), _leaf(rng, 2, 4)), {}, "vector to parameters", recorded=False)
    yield _layer("nn.Linear", "functional call", (3, 2), {}, ({"weight": _leaf(rng, 2, 3)}, (_leaf(rng, 4, 3),)), {}, "functional call")
    yield _layer("nn.Linear", "functional call of all", (3, 2), {}, ({"weight": _leaf(rng, 2, 3), "bias": _leaf(rng, 2)}, (), {"input": _leaf(rng, 4, 3)}), {"strict": True}, "functional call")
    yield _layer("nn.BatchNorm1d", "functional call", (3,), {}, ({"running_mean": rounded(rng, 3), "bias": _leaf(rng, 3)}, (_leaf(rng, 4, 3),)), {}, "functional call", train=False)
    tied = Build("nn.Sequential", (Build("nn.Linear", (3, 2)), Build("nn.Linear", (2, 3))))
    yield _layer("nn.Sequential", "functional call", tied.args, {}, ({"1.bias": _leaf(rng, 3), "0.weight": _leaf(rng, 2, 3)}, _leaf(rng, 4, 3)), {"tie_weights": False}, "functional call")
    for rank, size, kernel in ((1, (6,), (3,)), (2, (4, 5), (2, 3)), (3, (3, 4, 2), (2, 1, 2))):
        for i, kwargs in enumerate(({}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2, "padding": 2})):
            groups, stride, padding, dilation = (kwargs.get(k, d) for k, d in (("groups", 1), ("stride", 1), ("padding", 0), ("dilation", 1)))
            out = tuple((n + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(size, kernel))
            yield _function(f"nn.grad.conv{rank}d_input", i, ((2, 4, *size), rounded(rng, 6, 4 // groups, *kernel), rounded(rng, 2, 6, *out)), kwargs)
            yield _function(f"nn.grad.conv{rank}d_weight", i, (rounded(rng, 2, 4, *size), (6, 4 // groups, *kernel), rounded(rng, 2, 6, *out)), kwargs)


def _initial(rng):
    for name in ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"):
        yield _function("nn.init.calculate_gain", name, (name,))
        yield _function("nn.init.calculate_gain", f"{name} with a parameter", (name, 0.75))
    for what, shape, groups in (("1d", (5, 2, 3), 1), ("2d", (4, 3, 3, 2), 1), ("3d", (4, 2, 3, 4, 5), 2), ("few", (2, 3, 4), 1), ("groups", (6, 1, 5), 3)):
        yield _function("nn.init.dirac_", what, (rounded(rng, *shape), groups))
    yield _function("nn.init.eye_", "square", (rounded(rng, 3, 3),))
    yield _function("nn.init.eye_", "float32", (rounded(rng, 2, 3, dtype="float32"),))
    yield _function("nn.init.constant_", "0-d", (rounded(rng), 0.1))
    yield _function("nn.init.ones_", "two", (rounded(rng, 2, 2),))
    yield _function("nn.init.zeros_", "two", (rounded(rng, 2, 2),))


def rows(torch, rng):
    """Yield all rows."""
    for group in (_containers, _parametrizations, _pruning, _fusion, _sequences, _parameters, _initial):
        yield from group(rng)
