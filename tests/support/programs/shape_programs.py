"""Random programs that compute with the sizes of their arguments in Python: `ShapeProgram(seed)` takes tensors x[b, s, 6] and
y[b, s], the same steps at every call."""

import random

import numpy as np

import ingot

F = ingot.nn.functional


def flat(x, y):
    b, s, d = x.shape
    return x.reshape(b * s, d).view(b, -1, d), y


def scaled(x, y):
    return x * x.shape[0] / (x.size(1) + 1), y


def masked(x, y):
    s = y.shape[1]
    return x + ingot.tril(ingot.ones(s, s))[:, :1], y.masked_fill(ingot.arange(s) >= s // 2, 0.5)


def halves(x, y):
    s = x.shape[1]
    first, second = x[:, : s // 2], x[:, s // 2:]
    return ingot.cat([second, first], 1), ingot.cat((y[:, -1:], y[:, :-1]), 1)


def positions(x, y):
    return x + ingot.arange(x.shape[1], dtype=ingot.float32).view(1, x.size(1), 1) / x.shape[1], y


def table(x, y):
    return x + ingot.ones(30, 6).cumsum(0)[: x.shape[1]], y


def branch(x, y):
    return (x * 2 if x.shape[1] > 7 else x - 1), (y + 1 if x.shape[0] % 2 else y)


def pooled(x, y):
    return x - x.mean(1, keepdim=True), y - y.sum() / y.numel()


def rows(x, y):
    return x.softmax(1), F.layer_norm(y.t(), (y.size(0),)).t() if y.size(0) < 4 else y.softmax(0)


def spread(x, y):
    b, s, d = x.shape
    return x + y.unsqueeze(-1).expand(b, s, d), y + ingot.zeros(b, 1).new_ones(s)


def attended(x, y):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True), y


def product(x, y):
    return x @ ingot.eye(6), ingot.bmm(x, x.transpose(1, 2)).sum(2) * y


def written(x, y):
    out = ingot.zeros_like(x)
    out[:, 1:] = x[:, :-1]
    out[: x.shape[0] - 1] += 1
    return out, y.clone().fill_(x.shape[0] * 0.5)


def chunked(x, y):
    return ingot.cat([c * i for i, c in enumerate(x.chunk(2, 0))], 0), ingot.stack([y, y], 2).flatten(1)[:, : y.shape[1]]


def rolled(x, y):
    return x.roll(x.shape[1] // 2, 1).flip(0), y.repeat(2, 1)[: y.shape[0]]


def drawn(x, y):
    return x + ingot.rand(x.shape[0], 1, 6), F.dropout(y, 0.4)


def looked_up(x, y):
    at = (y.abs() * 10).long() % x.shape[1]
    return x, y.gather(1, at) + at


def named(x, y):
    return x + len(f"{tuple(x.shape)}"), y * max(x.shape[0], x.shape[1]) - min(x.shape)


def padded(x, y):
    return F.pad(x, (0, 0, 1, 0))[:, : x.shape[1]], y.diff(dim=1, prepend=y[:, :1])


STEPS = (flat, scaled, masked, halves, positions, table, branch, pooled, rows, spread, attended, product, written, chunked,
         rolled, drawn, looked_up, named, padded)


class ShapeProgram:
    """A few steps, drawn from a seed, with or without a backward at the end."""

    def __init__(self, seed: int):
        rng = random.Random(seed)
        self.steps = rng.sample(STEPS, rng.randint(2, 5))
        self.learns = rng.random() < 0.5

    @staticmethod
    def arguments(seed: int, b: int, s: int) -> list:
        """Fresh tensors of some sizes."""
        rng = np.random.default_rng(seed)
        return [ingot.tensor(rng.normal(size=(b, s, 6)).astype("f")), ingot.tensor(rng.normal(size=(b, s)).astype("f"))]

    def __call__(self, x, y):
        if self.learns:
            x, y = (x * 1).requires_grad_(), y
        start = x
        for step in self.steps:
            x, y = step(x, y)
        if self.learns:
            (x.sin().sum() + (y * y).sum()).backward()
            return x.detach(), y.detach(), start.grad, x.shape[0] * y.shape[1]
        return x, y, x.shape[0] * y.shape[1]

    def __repr__(self):
        return f"ShapeProgram({', '.join([s.__name__ for s in self.steps])}{', backward' if self.learns else ''})"
