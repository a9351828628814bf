"""Operators on megabytes, forward and with their gradients, in several dtypes and layouts, eagerly, beside torch.

A table is {name: Work}; each entry is a case forward and, where it has gradients, one more with them, for each of its dtypes
and layouts.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from .cases import bound, distinct, indices, randoms, with_gradients
from .harness import Case
from .kernels import sweep
from .libraries import Library, as_it_is, libraries
from .small_ops import eager, workload

MEAN_BAR = None
LARGE, TINY = (4, 64, 64, 64), (2, 4, 6, 6)         # images
F32, BF16, C64, F64 = "float32", "bfloat16", "complex64", "float64"


@dataclass(frozen=True)
class Work:
    """A call `fn(lib, *tensors)` and its tensors. The first `grads` of them get gradients; `kinds` are the dtypes. With `last`
    it is also called with channels-last images."""

    fn: object
    inputs: tuple
    grads: int = 0
    kinds: tuple = (F32,)
    last: bool = False


@dataclass(frozen=True)
class Given:
    """An argument: its shape, in tests the small one; whole numbers below `high`, or floats (complex numbers) of a kind."""

    shape: tuple
    tiny: tuple
    high: int = 0
    kind: str = "normal"

    def array(self, plan, seed) -> np.ndarray:
        """Its values."""
        shape = plan.pick(self.shape, self.shape, self.tiny)
        if self.high:
            return indices(min(self.high, plan.pick(self.high, self.high, 4)), *shape, seed=seed)
        made = distinct(*shape, seed=seed) if self.kind == "distinct" else randoms(*shape, seed=seed)
        if self.kind == "complex":
            return made + 1j * randoms(*shape, seed=seed + 100)
        if self.kind == "bool":
            return made > 0
        return np.abs(made) + np.float32(0.1) if self.kind == "positive" else made


def cases(table, plan):
    """The cases of a table."""
    for name, work in table.items():
        for kind in work.kinds:
            for last in (False, True)[:1 + work.last]:
                words = name + ("" if kind == F32 else f", {kind}") + (", channels last" if last else "")
                yield case(words, work, plan, kind, last, 0)
                if work.grads:
                    yield case(f"{words}, with gradients", work, plan, kind, last, work.grads)


def case(name, work, plan, kind, last, grads) -> Case:
    """One of them."""
    arrays = [g.array(plan, seed) for seed, g in enumerate(work.inputs)]
    calls = {eager(lib): call(lib, work, arrays, kind, last, grads) for lib in libraries(plan, compiled=False)}
    return Case(name, calls, bars={"eager": 1.0}, tolerance=2e-2 if kind == BF16 else 1e-3)


def call(lib: Library, work, arrays, kind, last, grads):
    """Return the call of a library for a case."""
    dtype, tensors = getattr(lib.module, kind), []
    for n, a in enumerate(arrays):
        t = lib.tensor(a)
        if a.dtype == np.float32 and kind != F32:
            t = t.to(dtype)
        if last and t.ndim == 4:
            t = t.contiguous(memory_format=lib.module.channels_last)
        tensors.append(t.requires_grad_() if n < grads else t)

    def run():
        return work.fn(lib.module, *tensors)

    if not grads:
        return run
    leaves, y = tensors[:grads], run()
    along = lib.tensor(randoms(*y.shape, seed=len(arrays))).to(y.dtype)

    return lambda: with_gradients(run(), *leaves, along=along)


def images(kind="normal"):
    """Pictures of many channels."""
    return Given(LARGE, TINY, kind=kind)


def matrix(rows=1024, columns=1024, kind="normal", high=0):
    """Rows of numbers."""
    return Given((rows, columns), (min(rows, 8), min(columns, 8)), high, kind)


def vector(size=1 << 20, kind="normal", high=0):
    """Numbers in a row."""
    return Given((size,), (min(size, 8),), high, kind)


X, Y, XP, MASK = matrix(), matrix(), matrix(kind="positive"), matrix(kind="bool")


def unary(name, kinds=(F32, BF16), inputs=X):
    """A function of torch's, or of its nn.functional, that takes a tensor."""
    def fn(lib, x):
        return getattr(lib if hasattr(lib, name) else lib.nn.functional, name)(x)
    return Work(fn, (inputs,), 1, kinds)


def binary(name, kinds=(F32,), second=Y, grads=2):
    """A function of two."""
    return Work(lambda lib, x, y: getattr(lib, name)(x, y), (X, second), grads, kinds)


POINTWISE = {
    "x + y": Work(lambda lib, x, y: x + y, (X, Y), 2, (F32, BF16, C64)),
    "x + y, images": Work(lambda lib, x, y: x + y, (images(), images()), 2, (F32,), True),
    "x + row": Work(lambda lib, x, y: x + y, (X, vector(1024)), 2),
    "x + column": Work(lambda lib, x, y: x + y, (X, matrix(1024, 1)), 2),
    "x[:, None] - y[None], rows of 3": Work(lambda lib, x, y: x[:, None] - y[None], (matrix(512, 3), matrix(512, 3)), 2),
    "x[:, None] + y[None], rows of 16": Work(lambda lib, x, y: x[:, None] + y[None], (matrix(256, 16), matrix(256, 16)), 2),
    "x * column, rows of 16": Work(lambda lib, x, y: x * y, (matrix(1 << 16, 16), matrix(1 << 16, 1)), 2),
    "x + channels, planes of 7x7": Work(lambda lib, x, y: x + y, (Given((40, 512, 7, 7), (2, 3, 7, 7)),
                                                                  Given((512, 1, 1), (3, 1, 1))), 2),
    "x * y": Work(lambda lib, x, y: x * y, (X, Y), 2, (F32, BF16, C64)),
    "x / y": Work(lambda lib, x, y: x / y, (X, XP), 2, (F32, BF16, C64)),
    "x.T + y": Work(lambda lib, x, y: x.T + y, (X, Y), 2),
    "x // 3, int64": Work(lambda lib, x: x // 3, (matrix(high=1000),)),
    "x % y": Work(lambda lib, x, y: x % y, (X, XP), 1),
    "x > y": Work(lambda lib, x, y: x > y, (X, Y)),
    "where": Work(lambda lib, m, x, y: lib.where(m, x, y), (MASK, X, Y)),
    "masked_fill": Work(lambda lib, x, m: x.masked_fill(m, 0.5), (X, MASK), 1, (F32, BF16)),
    "clamp": Work(lambda lib, x: x.clamp(-1, 1), (X,), 1),
    "lerp": Work(lambda lib, x, y: lib.lerp(x, y, 0.3), (X, Y), 2),
    "addcmul": Work(lambda lib, x, y, z: lib.addcmul(x, y, z, value=0.5), (X, Y, XP), 3),
    "pow(2.5)": Work(lambda lib, x: x ** 2.5, (XP,), 1),
    "nan_to_num": Work(lambda lib, x: lib.nan_to_num(x), (X,), 1),
    "abs, complex": Work(lambda lib, x: x.abs(), (X,), 0, (C64,)),
    "exp, complex": Work(lambda lib, x: x.exp(), (X,), 0, (C64,)),
    "to bfloat16": Work(lambda lib, x: x.to(lib.bfloat16), (X,), 1),
    **{name: unary(name) for name in ("exp", "tanh", "sigmoid", "gelu", "silu", "relu", "softplus", "mish", "hardswish", "elu",
                                      "leaky_relu", "selu", "logsigmoid", "celu", "softsign", "hardtanh", "sin")},
    **{name: unary(name, (F32,)) for name in ("cos", "atan", "erf", "sinh", "expm1", "abs", "sign", "round", "frac", "erfc",
                                              "asinh", "sinc", "tan")},
    **{name: unary(name, (F32,), XP) for name in ("log", "sqrt", "rsqrt", "log1p", "reciprocal", "log2", "lgamma", "digamma")},
    **{name: binary(name) for name in ("maximum", "atan2", "hypot", "logaddexp", "copysign")},
    "fmod": binary("fmod", second=XP, grads=1),
    "gammainc": Work(lambda lib, x, y: lib.special.gammainc(x, y), (XP, XP)),
    "gammaincc": Work(lambda lib, x, y: lib.special.gammaincc(x, y), (XP, XP)),
    "zeta": Work(lambda lib, x, y: lib.special.zeta(x + 1, y), (XP, XP)),
    "polygamma(2)": Work(lambda lib, x: lib.polygamma(2, x), (XP,)),
    # Of random numbers only what all libraries agree on.
    "poisson": Work(lambda lib, x: lib.poisson(3 * x) >= 0, (XP,)),
    "binomial": Work(lambda lib, x, p: lib.binomial(x.round(), p / (p + 1)) >= 0, (XP, XP)),
    "gamma numbers": Work(lambda lib, x, y: lib.distributions.Gamma(x, y).sample() > 0, (XP, XP)),
}


def along(name, dim, kinds=(F32,), inputs=X, grads=1):
    """A reduction or a running value along a dimension, or over all."""
    def fn(lib, x):
        found = getattr(lib, name)(x) if dim is None else getattr(lib, name)(x, dim)
        return found if hasattr(found, "dtype") else found[0]
    return Work(fn, (inputs,), grads, kinds)


REDUCTIONS = {
    **{f"{name}({'' if dim is None else dim})": along(name, dim, (F32, BF16)) for name in ("sum", "mean")
       for dim in (None, 0, -1)},
    **{f"{name}({dim})": along(name, dim) for name in ("amax", "prod", "var", "std", "logsumexp") for dim in (0, -1)},
    **{f"{name}()": along(name, None) for name in ("max", "prod", "norm")},
    "norm(-1)": Work(lambda lib, x: lib.linalg.vector_norm(x, dim=-1), (X,), 1),
    **{f"{name}({dim})": along(name, dim) for name in ("cumsum", "cumprod", "cummax", "logcumsumexp") for dim in (0, -1)},
    **{f"{name}({dim})": along(name, dim, (F32, BF16)) for name in ("softmax", "log_softmax") for dim in (0, -1)},
    **{f"{name}({dim})": along(name, dim, grads=0) for name in ("argmax", "argmin") for dim in (0, -1)},
    "median(-1)": along("median", -1, inputs=matrix(kind="distinct")),
    "mode(-1)": along("mode", -1, inputs=matrix(high=50), grads=0),
    "quantile": Work(lambda lib, x: lib.quantile(x, 0.3, dim=-1), (X,), 1),
    "kthvalue": Work(lambda lib, x: lib.kthvalue(x, 5, dim=-1).values, (X,), 1),
    "any(-1)": Work(lambda lib, m: m.any(-1), (MASK,)), "all()": Work(lambda lib, m: m.all(), (MASK,)),
    "count_nonzero": Work(lambda lib, x: lib.count_nonzero(x, dim=0), (X,)),
    "sum((0, 2, 3)), images": Work(lambda lib, x: x.sum((0, 2, 3)), (images(),), 1, (F32,), True),
    "mean((2, 3)), images": Work(lambda lib, x: x.mean((2, 3)), (images(),), 1, (F32,), True),
    **{f"{name}({dim}), int64": along(name, dim, grads=0, inputs=matrix(high=100)) for name in ("sum", "amax", "any", "argmax")
       for dim in (0, -1)},
    "any(-1), rows of 3": Work(lambda lib, m: m.any(-1), (matrix(1 << 18, 3, kind="bool"),)),
    **{f"{name}(1), 1000x50x8": along(name, 1, inputs=Given((1000, 50, 8), (3, 5, 2))) for name in ("sum", "amax", "softmax")},
    "trace": Work(lambda lib, x: lib.trace(x), (X,), 1),
    "diff": Work(lambda lib, x: lib.diff(x), (X,), 1),
}

def rows_of(n):
    """A million numbers in rows of n."""
    return Given(((1 << 20) // n, n), (8, n))


SHORT_ROWS = {
    **{f"{name}(-1), rows of {n}": along(name, -1, inputs=rows_of(n), grads=int(name != "argmax"))
       for name in ("sum", "softmax", "log_softmax", "logsumexp", "argmax") for n in (10, 16, 50)},
    **{f"layer_norm, rows of {n}": Work(lambda lib, x: lib.nn.functional.layer_norm(x, x.shape[-1:]), (rows_of(n),), 1)
       for n in (10, 16, 50)},
    **{f"cross_entropy of {n} classes": Work(lambda lib, x, y: lib.nn.functional.cross_entropy(x, y),
                                             (rows_of(n), vector((1 << 20) // n, high=n)), 1) for n in (10, 50)},
}

ROWS, PLACES, ORDERED = vector(2048, high=1024), matrix(high=1024), matrix(kind="distinct")

MOVES = {
    "transpose, contiguous": Work(lambda lib, x: x.T.contiguous(), (X,), 1, (F32, BF16)),
    "transpose of 4 columns, contiguous": Work(lambda lib, x: x.T.contiguous(), (matrix(1 << 18, 4),), 1),
    "transpose of 20 columns, contiguous": Work(lambda lib, x: x.T.contiguous(), (matrix(50_000, 20),), 1),
    "permute(0, 2, 3, 1), contiguous": Work(lambda lib, x: x.permute(0, 2, 3, 1).contiguous(), (images(),), 1, (F32, BF16)),
    "cat(0)": Work(lambda lib, x, y: lib.cat([x, y]), (X, Y), 2, (F32, BF16)),
    "cat(1)": Work(lambda lib, x, y: lib.cat([x, y], 1), (X, Y), 2),
    "cat(1), images": Work(lambda lib, x, y: lib.cat([x, y], 1), (images(), images()), 2, (F32,), True),
    "stack(-1)": Work(lambda lib, x, y: lib.stack([x, y], -1), (X, Y), 2),
    "flip(-1)": Work(lambda lib, x: x.flip(-1), (X,), 1), "flip(0)": Work(lambda lib, x: x.flip(0), (X,), 1),
    "roll": Work(lambda lib, x: x.roll((1, 1), (0, 1)), (X,), 1),
    "repeat": Work(lambda lib, x: x.repeat(2, 2), (X,), 1),
    "repeat_interleave": Work(lambda lib, x: x.repeat_interleave(2, 0), (X,), 1),
    "tril": Work(lambda lib, x: x.tril(), (X,), 1),
    "pad, zeros": Work(lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1)), (images(),), 1, (F32,), True),
    "pad, reflected": Work(lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"), (images(),), 1, (F32,), True),
    "pad, replicated": Work(lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1), mode="replicate"), (images(),), 1),
    "unfold 3x3": Work(lambda lib, x: lib.nn.functional.unfold(x, 3, padding=1), (images(),), 1),
    "pixel_shuffle": Work(lambda lib, x: lib.nn.functional.pixel_shuffle(x, 2), (images(),), 1, (F32,), True),
    "x[:, ::2] contiguous": Work(lambda lib, x: x[:, ::2].contiguous(), (X,), 1),
    "x[rows]": Work(lambda lib, x, i: x[i], (X, ROWS), 1, (F32, BF16)),
    "x[mask]": Work(lambda lib, x, m: x[m], (X, MASK), 1),
    "gather(-1)": Work(lambda lib, x, i: x.gather(-1, i), (X, PLACES), 1),
    "gather(0)": Work(lambda lib, x, i: x.gather(0, i), (X, PLACES), 1),
    "scatter_add(-1)": Work(lambda lib, x, y, i: x.scatter_add(-1, i, y), (X, Y, PLACES), 2),
    "scatter(0)": Work(lambda lib, x, y, i: x.scatter(0, i % 1024, y), (X, Y, matrix(1, 1024, high=1)), 1),
    "index_select(1)": Work(lambda lib, x, i: x.index_select(1, i), (X, ROWS), 1),
    "index_add(0)": Work(lambda lib, x, y, i: x.index_add(0, i, y), (X, matrix(2048), ROWS), 2),
    "index_copy_ of 8 rows": Work(lambda lib, x, y, i: x.index_copy_(0, i, y), (X, matrix(8), vector(8, high=1024))),
    "index_put_ of 8 rows, added": Work(lambda lib, x, y, i: x.index_put_((i,), y * 0, accumulate=True),
                                        (X, matrix(8), vector(8, high=1024))),
    "scatter_ of 1 row": Work(lambda lib, x, y, i: x.scatter_(0, i, y), (X, matrix(1), matrix(1, 1024, high=1024))),
    "index_copy(0)": Work(lambda lib, x, y: x.index_copy(0, lib.arange(y.shape[0]), y), (X, matrix(512)), 2),
    "take": Work(lambda lib, x, i: lib.take(x, i), (X, PLACES), 1),
    "nonzero": Work(lambda lib, m: m.nonzero(), (MASK,)),
    "sort(-1)": Work(lambda lib, x: x.sort(-1).values, (ORDERED,), 1),
    "argsort(0)": Work(lambda lib, x: x.argsort(0), (ORDERED,)),
    "topk(4)": Work(lambda lib, x: x.topk(4).values, (ORDERED,), 1),
    "unique": Work(lambda lib, x: x.unique(), (vector(high=1000),)),
    "bincount": Work(lambda lib, x: x.bincount(), (vector(high=1000),)),
    "histc": Work(lambda lib, x: lib.histc(x, 100), (vector(),)),
    "searchsorted": Work(lambda lib, x, v: lib.searchsorted(x.sort().values, v), (vector(1 << 14), vector())),
    "bucketize": Work(lambda lib, v, x: lib.bucketize(x, v.sort().values), (vector(100), vector())),
    "one_hot": Work(lambda lib, i: lib.nn.functional.one_hot(i, 1024), (vector(2048, high=1000),)),
}


def layer(name, *options, kinds=(F32,), last=True, inputs=None, **more):
    """A function of nn.functional on images."""
    return Work(lambda lib, x: getattr(lib.nn.functional, name)(x, *options, **more), (inputs or images(),), 1, kinds, last)


def resized(mode, **more):
    """Images of twice the height and width."""
    return layer("interpolate", scale_factor=2, mode=mode, **more)


IMAGES = {
    "max_pool2d 2": layer("max_pool2d", 2), "max_pool2d 3/2": layer("max_pool2d", 3, 2, 1, kinds=(F32, BF16)),
    "avg_pool2d 2": layer("avg_pool2d", 2), "avg_pool2d 3/1": layer("avg_pool2d", 3, 1, 1),
    "adaptive_avg_pool2d 2": layer("adaptive_avg_pool2d", 2), "adaptive_max_pool2d 2": layer("adaptive_max_pool2d", 2),
    "lp_pool2d": layer("lp_pool2d", 2, 2),
    "interpolate nearest": resized("nearest"), "interpolate bilinear": resized("bilinear", align_corners=False),
    "interpolate bicubic": resized("bicubic", align_corners=False),
    "interpolate area, half": layer("interpolate", scale_factor=0.5, mode="area"),
    "group_norm": Work(lambda lib, x: lib.nn.functional.group_norm(x, 4), (images(),), 1, (F32, BF16), True),
    "instance_norm": layer("instance_norm"), "local_response_norm": layer("local_response_norm", 3, last=False),
    "batch_norm, training": Work(lambda lib, x: lib.nn.functional.batch_norm(x, None, None, training=True), (images(),), 1,
                                 (F32,), True),
    "normalize(1)": layer("normalize"),
    "grid_sample": Work(lambda lib, x, g: lib.nn.functional.grid_sample(x, g, align_corners=False),
                        (images(), Given((4, 64, 64, 2), (2, 6, 6, 2))), 2),
    "prelu": Work(lambda lib, x, w: lib.nn.functional.prelu(x, w), (images(), Given((64,), (4,))), 2, (F32,), True),
    "glu": Work(lambda lib, x: lib.nn.functional.glu(x, 1), (images(),), 1),
    "layer_norm": Work(lambda lib, x: lib.nn.functional.layer_norm(x, x.shape[-1:]), (X,), 1, (F32, BF16)),
    "rms_norm": Work(lambda lib, x: lib.nn.functional.rms_norm(x, x.shape[-1:]), (X,), 1, (F32, BF16)),
}

TARGETS, SIGNS = vector(1024, high=1000), vector(1024, kind="bool")


def loss(name, *inputs, grads=1, **more):
    """A loss of nn.functional."""
    return Work(lambda lib, *ts: getattr(lib.nn.functional, name)(*ts, **more), inputs, grads)


def ctc(lib, x, y):
    """Labels of sequences whose lengths are all the same."""
    steps, batch = x.shape[:2]
    return lib.nn.functional.ctc_loss(x, y + 1, [steps] * batch, [y.shape[1]] * batch)


LOSSES = {
    "mse_loss": loss("mse_loss", X, Y), "l1_loss": loss("l1_loss", X, Y), "huber_loss": loss("huber_loss", X, Y),
    "smooth_l1_loss": loss("smooth_l1_loss", X, Y), "cross_entropy": loss("cross_entropy", X, TARGETS),
    "cross_entropy, smoothed": loss("cross_entropy", X, TARGETS, label_smoothing=0.1),
    "nll_loss": loss("nll_loss", X, TARGETS), "soft_margin_loss": loss("soft_margin_loss", X, Y),
    "binary_cross_entropy_with_logits": loss("binary_cross_entropy_with_logits", X, XP),
    "kl_div": loss("kl_div", X, XP, reduction="batchmean"), "poisson_nll_loss": loss("poisson_nll_loss", X, XP),
    "gaussian_nll_loss": loss("gaussian_nll_loss", X, Y, XP, grads=3),
    "multi_margin_loss": loss("multi_margin_loss", X, TARGETS),
    "cosine_similarity": loss("cosine_similarity", X, Y, grads=2),
    "triplet_margin_loss": loss("triplet_margin_loss", X, Y, XP, grads=3),
    "pairwise_distance": loss("pairwise_distance", X, Y, grads=2),
    "cdist": Work(lambda lib, x, y: lib.cdist(x, y), (matrix(512, 64), matrix(512, 64)), 2),
    "cdist, p=1": Work(lambda lib, x, y: lib.cdist(x, y, p=1), (matrix(512, 64), matrix(512, 64)), 2),
    "pdist": loss("pdist", matrix(512, 64)),
    "ctc_loss": Work(lambda lib, x, y: ctc(lib, lib.log_softmax(x, -1), y),
                     (Given((100, 16, 50), (9, 2, 6)), Given((16, 30), (2, 3), 49)), 1),
    "embedding_bag": Work(lambda lib, w, i: lib.nn.functional.embedding_bag(i, w),
                          (matrix(1000, 64), matrix(4096, 8, high=1000)), 1),
}

SQUARE, FEW = Given((8, 128, 128), (2, 5, 5)), Given((5000, 3, 3), (4, 3, 3))


def spd(x):
    """A matrix with positive eigenvalues."""
    return x @ x.mT / x.shape[-1] + 0 * x


def few(solved):
    """Return work that solves many well-posed matrices of three rows."""
    return Work(lambda lib, x: solved(lib.linalg, spd(x) + lib.eye(3)), (FEW,))


ALGEBRA = {
    "fft": Work(lambda lib, x: lib.fft.fft(x).abs(), (X,), 1), "rfft": Work(lambda lib, x: lib.fft.rfft(x).abs(), (X,), 1),
    "fft2": Work(lambda lib, x: lib.fft.fft2(x).abs(), (images(),)),
    "irfft": Work(lambda lib, x: lib.fft.irfft(x), (X,), 0, (C64,)),
    "stft": Work(lambda lib, x: lib.stft(x, 512, window=lib.ones(512), return_complex=True).abs(),
                 (Given((8, 1 << 16), (2, 600)),)),
    "solve": Work(lambda lib, x, y: lib.linalg.solve(x, y), (SQUARE, SQUARE)),
    "inv": Work(lambda lib, x: lib.linalg.inv(x), (SQUARE,)),
    "qr": Work(lambda lib, x: lib.linalg.qr(x).R.abs(), (SQUARE,)),
    "eigvalsh": Work(lambda lib, x: lib.linalg.eigvalsh(spd(x)), (SQUARE,)),
    "svdvals": Work(lambda lib, x: lib.linalg.svdvals(x), (SQUARE,)),
    "eigh of 3x3": few(lambda linalg, x: linalg.eigh(x).eigenvalues), "svd of 3x3": few(lambda linalg, x: linalg.svd(x).S),
    "inv of 3x3": few(lambda linalg, x: linalg.inv(x)), "det of 3x3": few(lambda linalg, x: linalg.det(x)),
    "solve of 3x3": few(lambda linalg, x: linalg.solve(x, x[..., :1])), "pinv of 3x3": few(lambda linalg, x: linalg.pinv(x)),
    "cholesky of 3x3": few(lambda linalg, x: linalg.cholesky(x)),
    "bmm": Work(lambda lib, x, y: x @ y, (SQUARE, SQUARE), 2, (F32, BF16, F64, C64)),
    "einsum bij,bkj->bik": Work(lambda lib, x, y: lib.einsum("bij,bkj->bik", x, y), (SQUARE, SQUARE), 2),
    "outer": Work(lambda lib, x, y: lib.outer(x, y), (vector(1024), vector(1024)), 2),
    "kron": Work(lambda lib, x, y: lib.kron(x, y), (matrix(32, 32), matrix(32, 32)), 2),
    "x @ vector": Work(lambda lib, x, y: x @ y, (X, vector(1024)), 2),
}

Z, W = matrix(kind="complex"), matrix(kind="complex")


def function(name, *options):
    """A function of a complex tensor."""
    return Work(lambda lib, z: getattr(lib, name)(z, *options), (Z,), 1)


COMPLEX = {
    "z + w": Work(lambda lib, z, w: z + w, (Z, W), 2), "z * w": Work(lambda lib, z, w: z * w, (Z, W), 2),
    "z / w": Work(lambda lib, z, w: z / w, (Z, W), 2), "z * x": Work(lambda lib, z, x: z * x, (Z, X), 2),
    "z.conj() * w": Work(lambda lib, z, w: z.conj() * w, (Z, W)), "z ** 2": Work(lambda lib, z: z ** 2, (Z,), 1),
    "z.T * w": Work(lambda lib, z, w: z.T * w, (Z, W), 2),
    **{name: function(name) for name in ("exp", "log", "sqrt", "sin", "tanh", "abs", "angle", "sgn")},
    "sum(0)": function("sum", 0), "sum(-1)": function("sum", -1), "mean": function("mean"), "var(-1)": function("var", -1),
    "cumsum(-1)": function("cumsum", -1), "norm": function("norm"),
    "where": Work(lambda lib, m, z, w: lib.where(m, z, w), (MASK, Z, W)),
    "polar": Work(lambda lib, x, y: lib.polar(x, y), (XP, Y), 2),
    "real and imaginary parts": Work(lambda lib, z: z.real * z.imag, (Z,), 1),
    "pairs": Work(lambda lib, x, w: lib.view_as_real(lib.view_as_complex(x) * w),
                  (Given((1024, 512, 2), (8, 8, 2)), matrix(1024, 512, "complex")), 2),
    "linear": Work(lambda lib, z, w: lib.nn.functional.linear(z[:256], w), (Z, W), 2),
    "matmul": Work(lambda lib, z, w: z[:256] @ w, (Z, W), 2),
    "conv2d": Work(lambda lib, z, w: lib.nn.functional.conv2d(z, w, padding=1),
                   (Given((4, 32, 32, 32), (1, 2, 5, 5), kind="complex"),
                    Given((32, 32, 3, 3), (3, 2, 3, 3), kind="complex")), 2),
    "fft2": Work(lambda lib, z: lib.fft.fft2(z), (Z,), 1),
    "fft of columns": Work(lambda lib, z: lib.fft.fft(z, dim=0), (Z,), 1),
}

OPTIMIZERS = {
    "SGD": {}, "SGD + momentum": {"momentum": 0.9}, "SGD, Nesterov": {"momentum": 0.9, "nesterov": True}, "Adam": {},
    "Adam, amsgrad": {"amsgrad": True}, "AdamW": {}, "RMSprop": {}, "RMSprop, centered": {"centered": True, "momentum": 0.9},
    "Adagrad": {}, "Adadelta": {}, "Adamax": {}, "NAdam": {}, "RAdam": {}, "ASGD": {}, "Rprop": {}, "Adafactor": {},
}


def optimizers(plan):
    """Steps of every optimizer: over a few large parameters, and over many small ones."""
    sizes = {"4 M in 4": [(1024, 1024)] * 4, "160 of 64x64 and 64": [(64, 64), (64,)] * 80}
    for name, options in [*OPTIMIZERS.items()][::plan.pick(1, 8, 1)]:
        for words, shapes in plan.pick(sizes, sizes, {"few": [(3, 4), (5,)]}).items():
            kind, options = name.split()[0].strip(","), {"lr": 1e-3} | options
            calls = {eager(lib): bound(*sweep(lib, as_it_is, kind, options, shapes)) for lib in libraries(plan, compiled=False)}
            yield Case(f"{name}, {words}", calls, checks=3, bars={"eager": 1.0})


every_sixteenth = partial(workload, make=cases, every=16)        # of a table, in quick runs

WORKLOADS = {
    "pointwise": every_sixteenth(POINTWISE, "Functions of each element."),
    "reduced": every_sixteenth(REDUCTIONS, "Sums, extremes, running values, rows."),
    "short_rows": every_sixteenth(SHORT_ROWS, "Sums, softmax and losses over rows of few elements."),
    "moved": every_sixteenth(MOVES, "Copies in another order, parts, indices, sorting."),
    "on_images": every_sixteenth(IMAGES, "Pools, norms and sizes of images."),
    "losses": every_sixteenth(LOSSES, "Losses and distances."),
    "algebra": every_sixteenth(ALGEBRA, "Transforms, factorisations, products."),
    "complex_numbers": every_sixteenth(COMPLEX, "Functions, sums, products and transforms of complex numbers."),
    "every_optimizer": optimizers,
}
