"""Samples of the operators of blocked channels."""

from ingot.ir.ops.packed import blocked_grad

from . import Sample, samples


@samples("to_blocked")
def _to_blocked(rng):
    for shape, lanes in (((2, 5, 3, 4), 4), ((1, 8, 6), 8), ((3, 16, 2, 2, 2), 16), ((2, 3), 2)):
        yield Sample((rng.standard_normal(shape),), {"lanes": lanes})


@samples("from_blocked")
def _from_blocked(rng):
    for shape, channels in (((2, 2, 3, 4, 4), 5), ((1, 1, 6, 8), 8), ((3, 2, 2), 3)):
        yield Sample((rng.standard_normal(shape),), {"channels": channels})


# Packed weights are in an order that kernels alone know. So these samples are for a machine whose registers have three lanes,
# which does not exist: references run them.


@samples("pack_filters")
def _pack_filters(rng):
    yield Sample((rng.standard_normal((5, 3, 3, 3)),), {"kernel": ("direct", 1, True, 3), "size": 200}, grad=False)
    yield Sample((rng.standard_normal((4, 2, 1)),), {"kernel": ("direct", 1, False, 3), "size": 8}, grad=False)
    yield Sample((rng.standard_normal((17, 16, 3, 3)), rng.standard_normal(17)),
                 {"kernel": ("winograd2", 1, True, 3), "size": 17 * 16 * 16}, grad=False)


@samples("conv_blocked")
def _conv_blocked(rng):
    params = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1, "lanes": 3,
              "kernel": ("direct", 1, True, 3)}
    x, w = rng.standard_normal((2, 2, 5, 4, 3)), rng.standard_normal(8 * 6 * 9)
    yield Sample((x, w), {**params, "filters": (8, 6, 3, 3), "in_blocks": True, "epilogue": ()}, grad=False)
    yield Sample((x, w, rng.standard_normal((1, 3, 1, 1, 3)), rng.standard_normal((2, 3, 5, 4, 3))),
                 {**params, "filters": (8, 6, 3, 3), "in_blocks": True,
                  "epilogue": (("add", "a", "o0"), ("mul", "v0", "o1"), ("maximum", "v1", 0.0))}, grad=False, tol=8)
    yield Sample((rng.standard_normal((2, 3, 5, 4)), rng.standard_normal(5 * 3)),
                 {**params, "filters": (5, 3, 1, 1), "padding": ((0, 0), (0, 0)), "in_blocks": False, "epilogue": (),
                  "kernel": ("direct", 1, False, 3)}, grad=False)
    transformed = {**params, "filters": (8, 6, 3, 3), "in_blocks": True, "kernel": ("winograd2", 1, True, 3)}
    yield Sample((x, w, w.copy()), {**transformed, "taps": 1, "epilogue": ()}, grad=False)
    yield Sample((x, w, w.copy(), rng.standard_normal(8), rng.standard_normal((1, 3, 1, 1, 3))),
                 {**transformed, "taps": 2, "epilogue": (("mul", "a", "o0"),)}, grad=False)


@samples("conv_chain_blocked")
def _conv_chain_blocked(rng):
    pad, kernel = ((1, 1), (1, 1)), ("direct", 1, True, 3)
    first = ((9, 3, 3, 3), (2, 1), pad, (1, 1), 1, 3, False, ("direct", 1, False, 3), (("add", "a", "o0"), ("relu", "v0")))
    second = ((9, 1, 3, 3), (1, 2), pad, (1, 1), 9, 3, True, kernel, ())
    third = ((6, 9, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, 3, True, kernel, (("add", "a", "o1"), ("mul", "v0", "o0")))
    x, weights = rng.standard_normal((2, 3, 7, 6)), [rng.standard_normal(n) for n in (9 * 3 * 9, 9 * 9, 6 * 9)]
    channel, full = rng.standard_normal((1, 2, 1, 1, 3)), rng.standard_normal((2, 2, 4, 3, 3))
    first_channel = rng.standard_normal((1, 3, 1, 1, 3))
    yield Sample((x, weights[0], first_channel, weights[1], weights[2], channel, full),
                 {"layers": (first, second, third), "beside": (1, 0, 2)}, grad=False, tol=30)


@samples("max_pool_blocked")
def _max_pool_blocked(rng):
    yield Sample((rng.standard_normal((2, 2, 7, 6, 4)),), {"kernel": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1)),
                                                           "dilation": (1, 1)}, grad=False)
    yield Sample((rng.standard_normal((1, 3, 8, 8)),), {"kernel": (2,), "stride": (2,), "padding": ((0, 0),), "dilation": (1,)},
                 grad=False)


@samples("avg_pool_blocked")
def _avg_pool_blocked(rng):
    yield Sample((rng.standard_normal((2, 2, 7, 6, 4)),), {"kernel": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1)),
                                                           "counted": ((1, 1), (1, 1)), "divisor": None}, grad=False)


# Training.

_WINDOW = {"stride": (2, 1), "padding": ((1, 0), (1, 1)), "dilation": (1, 1), "groups": 1}
_TURNED = {**_WINDOW, "kernel": ("direct", 1, True, 3)}        # see above: packed weights


@samples("pack_turned")
def _pack_flipped(rng):
    yield Sample((rng.standard_normal((5, 3, 3, 3)),), {**_TURNED, "size": (6, 5), "elements": 200}, grad=False)


@samples("conv_input_grad_blocked")
def _conv_input_grad_blocked(rng):
    params = {**_TURNED, "filters": (6, 5, 3, 3), "size": (6, 5), "lanes": 3}
    g, w = rng.standard_normal((2, 2, 3, 5, 3)), rng.standard_normal(6 * 5 * 9)
    yield Sample((g, w), {**params, "epilogue": ()}, grad=False)
    yield Sample((g, w, w.copy()), {**params, "kernel": ("winograd2", 1, True, 3), "taps": 1, "epilogue": ()}, grad=False)
    yield Sample((g, w, rng.standard_normal((1, 2, 1, 1, 3))), {**params, "epilogue": (("add", "a", "o0"), ("relu", "v0"))},
                 grad=False, tol=8)


@samples("conv_weight_grad_blocked")
def _conv_weight_grad_blocked(rng):
    params = {**_WINDOW, "kernel": ("direct", 1, True, 4), "filters": (6, 5, 3, 3), "lanes": 4}
    g = rng.standard_normal((2, 2, 3, 5, 4))
    yield Sample((rng.standard_normal((2, 2, 6, 5, 4)), g), {**params, "in_blocks": True}, grad=False)
    yield Sample((rng.standard_normal((2, 5, 6, 5)), g), {**params, "in_blocks": False}, grad=False)


@samples("batch_norm_train_blocked")
def _batch_norm_train_blocked(rng):
    x, w, b = rng.standard_normal((2, 2, 5, 4, 4)), rng.standard_normal(7), rng.standard_normal(7)
    for relu in (False, True):
        yield Sample((x, w, b), {"eps": 1e-5, "channels": 7, "relu": relu}, grad=False, tol=8, dtypes=("float32", "float64"))
    yield Sample((x, None, None), {"eps": 1e-5, "channels": 8, "relu": False}, grad=False, tol=8, dtypes=("float32", "float64"))


@samples("batch_norm_grad_blocked")
def _batch_norm_grad_blocked(rng):
    x, g, out = (rng.standard_normal((2, 2, 5, 4, 4)) for _ in range(3))
    g_mean, g_var, w, mean = (rng.standard_normal(7) for _ in range(4))
    for relu in (False, True):
        yield Sample((g, out if relu else None, g_mean, g_var, x, w, mean, rng.uniform(0.5, 1, 7)),
                     {"eps": 1e-5, "channels": 7, "relu": relu}, grad=False, tol=8, dtypes=("float32", "float64"))


_POOL = {"kernel": (3, 2), "stride": (2, 2), "padding": ((1, 1), (0, 0))}


@samples("max_pool_places_blocked")
def _max_pool_places_blocked(rng):
    yield Sample((rng.standard_normal((2, 2, 7, 6, 4)),), {**_POOL, "dilation": (1, 1)}, grad=False)


@samples("max_pool_grad_blocked")
def _max_pool_grad_blocked(rng):
    _, places = blocked_grad.max_pool_places_blocked.ref(rng.standard_normal((2, 2, 7, 6, 4)), **_POOL, dilation=(1, 1))
    yield Sample((rng.standard_normal((2, 2, 4, 3, 4)), places), {**_POOL, "size": (7, 6), "dilation": (1, 1)}, grad=False)


@samples("avg_pool_grad_blocked")
def _avg_pool_grad_blocked(rng):
    yield Sample((rng.standard_normal((2, 2, 4, 3, 4)),),
                 {**_POOL, "size": (7, 6), "counted": ((1, 1), (0, 0)), "divisor": None}, grad=False)
