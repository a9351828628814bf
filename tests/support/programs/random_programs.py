"""Random eager programs for fuzzing traces: `RandomProgram(seed)` is a function of tensors, the same at every call."""

import random

import numpy as np

import ingot

F = ingot.nn.functional
UNARY = (ingot.exp, ingot.tanh, ingot.sigmoid, ingot.neg, ingot.abs, ingot.sqrt, ingot.square, ingot.relu, ingot.sin,
         ingot.log1p,
         ingot.floor, ingot.sign, ingot.erf, ingot.rsqrt, ingot.cos, ingot.log, ingot.reciprocal, F.softplus, F.gelu, F.silu,
         ingot.expm1, ingot.asinh, ingot.atan, ingot.round, ingot.trunc, ingot.frac, ingot.sinc, ingot.nan_to_num, ingot.isnan,
         F.mish, F.hardswish, F.relu6, F.elu, F.softsign, F.hardshrink, lambda x: x ** 3, lambda x: x ** -1, lambda x: 2.0 ** x,
         lambda x: x.clamp(-1, 1), lambda x: x.masked_fill(x > 1, 0.25), lambda x: x.lerp(x.detach() * 2, 0.3))
LONGEST = 40000      # elements of a value that is kept


def _broadcast(x, y):
    try:
        np.broadcast_shapes(tuple(x.shape), tuple(y.shape))
    except ValueError:
        return False
    return True


class RandomProgram:
    """Elementwise operators, reductions, row operators, views, joins, casts and writes in place, drawn from a seed."""

    def __init__(self, seed: int, writes: bool = True):
        rng = random.Random(seed)
        self.dtype = rng.choice((ingot.float32, ingot.float32, ingot.float64))
        base = [rng.choice((1, 2, 3, 5, 8, 17, 33, 70)) for _ in range(rng.choice((1, 2, 2, 3, 3, 4)))]
        self.shapes = [tuple(base)]
        for _ in range(2):
            small = [n if rng.random() < 0.6 else 1 for n in base]
            self.shapes.append(tuple(small[1:] if rng.random() < 0.3 else small))
        kinds = ("unary", "binary", "binary", "reduce", "rows", "view", "view", "choose", "cast",
                 *(("write",) if writes else ()))
        self.steps = [(rng.choice(kinds), rng.random(), rng.random(), rng.randrange(10**6)) for _ in range(rng.randint(3, 14))]

    def arguments(self, seed: int) -> list:
        """Fresh tensors of the program's shapes."""
        rng = np.random.default_rng(seed)
        return [ingot.tensor(rng.standard_normal(s).astype(self.dtype.np)) for s in self.shapes]

    def __call__(self, *inputs):
        values = list(inputs)
        for kind, first, second, number in self.steps:
            floats = [v for v in values if v.dtype.is_floating_point]
            x, y = _pick(floats, first), _pick(floats, second)
            made = getattr(self, kind)(x, y, number)
            if made._a.size <= LONGEST:
                values.append(made)
        return values[-4:]

    def unary(self, x, y, n):
        return UNARY[n % len(UNARY)](x)

    def binary(self, x, y, n):
        y = y if _broadcast(x, y) and n % 5 else n % 7 - 2.5
        return (lambda: x + y, lambda: x * y, lambda: x - y, lambda: x / y, lambda: y - x)[n // 5 % 5]()

    def choose(self, x, y, n):
        if not _broadcast(x, y):
            return ingot.where(x > 0, x, 0.5)
        return (lambda: ingot.maximum(x, y), lambda: ingot.where(x > y, x, y), lambda: ((x > y) & (x < 2)).to(x.dtype),
                lambda: x > y)[n % 4]()

    def reduce(self, x, y, n):
        if not x.ndim:
            return x + 1
        dims, keep = tuple(sorted({n % x.ndim, n // 7 % x.ndim})), bool(n % 2)
        return (lambda: x.sum(dims, keepdim=keep), lambda: x.mean(dims, keepdim=keep),
                lambda: ingot.amax(x, dims, keepdim=keep),
                lambda: x.sum(), lambda: x.var(dims[0], keepdim=keep), lambda: ingot.argmin(x, dim=dims[0]),
                lambda: (x > 0).any(dims[0]))[n // 3 % 7]()

    def rows(self, x, y, n):
        if not x.ndim:
            return x * 2
        dim = n % x.ndim
        return (lambda: ingot.softmax(x, dim=dim), lambda: ingot.log_softmax(x, dim=dim), lambda: ingot.logsumexp(x, dim=dim),
                lambda: F.layer_norm(x, x.shape[-1:]), lambda: F.rms_norm(x, x.shape[-1:]), lambda: x.cumsum(dim),
                lambda: F.normalize(x, dim=dim), lambda: x.sort(dim)[0], lambda: x.cummax(dim)[0], lambda: x.cumprod(dim),
                lambda: x - x.median(dim, keepdim=True)[0], lambda: x.unfold(dim, 1, 1).sum(-1), lambda: x.roll(1, dim),
                lambda: x.gather(dim, x.argmax(dim, keepdim=True)),
                lambda: x.std(dim, correction=0, keepdim=True))[n // 3 % 15]()

    def view(self, x, y, n):
        if not x.ndim:
            return x.reshape(1)
        dim = n % x.ndim
        return (lambda: x.transpose(dim, n // 5 % x.ndim), lambda: x[::2], lambda: x.reshape(-1), lambda: x.unsqueeze(dim),
                lambda: x.select(dim, n // 3 % x.shape[dim]), lambda: x.expand(2, *x.shape), lambda: x.flip(dim),
                lambda: ingot.cat([x, x], dim=dim), lambda: x.narrow(dim, 0, max(1, x.shape[dim] // 2)),
                lambda: x.diagonal() if x.ndim > 1 else x)[n // 11 % 10]()

    def cast(self, x, y, n):
        return (lambda: x.to(ingot.float64), lambda: x.to(ingot.float32), lambda: x.clone(), lambda: (x > 0).to(x.dtype),
                lambda: (x.clamp(-9, 9) * 10).to(ingot.int32))[n % 5]()

    def write(self, x, y, n):
        a = x._a
        if 0 in a.strides or not a.flags.writeable or not x.ndim or x.requires_grad:
            return x * 1
        target = x if n % 2 else x[:1]
        target.mul_(1.5) if n % 3 else target.add_(x.sum())
        return x


def _pick(values, share):
    at = int(share * len(values) * 1.5)
    return values[at if at < len(values) else -1]


def bits(t) -> tuple:
    """A tensor as something to compare bit by bit; one nan stands for all."""
    a = t.detach().numpy().copy()
    if a.dtype.kind == "f":
        a[np.isnan(a)] = np.nan
    return str(t.dtype), tuple(t.shape), a.tobytes()
