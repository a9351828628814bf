"""Random programs of views and writes in place, and three ways to run them: on tensors, on a peer's tensors, on numpy.

A program works on a pool of values. Each step either makes a view of one of them, computes a new value, or writes into one
in place. Numpy's views are the oracle of what a write reaches; a central difference over a numpy run is the oracle of the
gradients.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Step:
    """One instruction: a row of STEPS applied to values of the pool."""

    name: str
    at: tuple        # positions in the pool
    args: tuple


@dataclass
class Kind:
    """pick(rng, shapes) gives arguments or None where it does not apply; the others run it."""

    pick: object
    tensor: object
    numpy: object
    inputs: int = 1
    writes: bool = False
    turns: bool = False      # changes the shape of its first value in place


STEPS = {}


def kind(name, pick, tensor, numpy, **how):
    STEPS[name] = Kind(pick, tensor, numpy, **how)


def _dim(rng, shape):
    return int(rng.integers(len(shape))) if shape else None


def _pick_select(rng, shape):
    d = _dim(rng, shape)
    return None if d is None else (d, int(rng.integers(-shape[d], shape[d])))


def _pick_slice(rng, shape):
    d = _dim(rng, shape)
    if d is None:
        return None
    start = int(rng.integers(shape[d]))
    return d, slice(start, int(rng.integers(start + 1, shape[d] + 1)), int(rng.integers(1, 3)))


def _key(d, k):
    return (slice(None),) * d + (k,)


def _pick_regroup(rng, shape):
    n = int(np.prod(shape))
    divisors = [k for k in range(1, n + 1) if n % k == 0]
    k = int(rng.choice(divisors))
    return ((k, n // k),)


def _pick_diagonal(rng, shape):
    return (int(rng.integers(-1, 2)),) if len(shape) >= 2 and min(shape[:2]) > 1 else None


def _diagonal(a, offset):
    out = np.diagonal(a, offset)
    out.setflags(write=True)
    return out


def _pick_number(rng, shape):
    return (float(np.round(rng.uniform(-2, 2), 2)),)


def _set_numpy(fn):
    def run(a, *args):
        a[...] = fn(a, *args)

    return run


def _pick_mask(rng, shape):
    return (rng.random(shape) < 0.4, float(np.round(rng.uniform(-2, 2), 2))) if shape else None


def _pick_rows(rng, shape):
    return ([int(i) for i in rng.permutation(shape[0])[:2]],) if shape else None


def _write_mask(t, mask, v, wrap):
    t[wrap(mask)] = v


def _write_rows(t, u, rows):
    t[rows] = u.sum()


def _write_first(t, u):
    t[..., 0:1] = u.sum()


# Views.
kind("select", _pick_select, lambda t, d, i: t.select(d, i), lambda a, d, i: a[(*_key(d, i), ...)])
kind("getitem", _pick_slice, lambda t, d, s: t[_key(d, s)], lambda a, d, s: a[_key(d, s)])
kind("transpose", lambda rng, s: (_dim(rng, s), _dim(rng, s)) if s else None, lambda t, i, j: t.transpose(i, j),
     lambda a, i, j: a.swapaxes(i, j))
kind("permute", lambda rng, s: (tuple(int(i) for i in rng.permutation(len(s))),), lambda t, p: t.permute(p),
     lambda a, p: a.transpose(p))
kind("unsqueeze", lambda rng, s: (int(rng.integers(len(s) + 1)),) if len(s) < 4 else None, lambda t, d: t.unsqueeze(d),
     lambda a, d: a[(*_key(d, None), ...)])
kind("squeeze", lambda rng, s: (), lambda t: t.squeeze(), lambda a: a.reshape([n for n in a.shape if n != 1]))
kind("view", _pick_regroup, lambda t, s: t.view(s) if t.is_contiguous() else t.reshape(s), lambda a, s: a.reshape(s))
kind("diagonal", _pick_diagonal, lambda t, o: t.diagonal(o), _diagonal)
kind("detach", lambda rng, s: () if rng.random() < 0.2 else None, lambda t: t.detach(), lambda a: a)
# New values.
kind("scale", _pick_number, lambda t, v: t * v, lambda a, v: a * v)
kind("square", lambda rng, s: (), lambda t: t.clone() * t.clone(), lambda a: a * a)
kind("clone", lambda rng, s: (), lambda t: t.clone(), lambda a: a.copy())
kind("combine", lambda rng, s, u: () if s == u else None, lambda t, u: t + u * 0.5, lambda a, b: a + b * 0.5, inputs=2)
# Writes.
kind("mul_", _pick_number, lambda t, v: t.mul_(v), _set_numpy(lambda a, v: a * v), writes=True)
kind("add_", lambda rng, s, u: (), lambda t, u: t.add_(u.sum() * 0.1), _set_numpy(lambda a, b: a + b.sum() * 0.1), inputs=2,
     writes=True)
kind("copy_", lambda rng, s, u: () if s == u else None, lambda t, u: t.copy_(u * 2), _set_numpy(lambda a, b: b * 2), inputs=2,
     writes=True)
kind("fill_", _pick_number, lambda t, v: t.fill_(v), _set_numpy(lambda a, v: v), writes=True)
kind("zero_", lambda rng, s: (), lambda t: t.zero_(), _set_numpy(lambda a: 0 * a), writes=True)
kind("rows", lambda rng, s, u: _pick_rows(rng, s), _write_rows, lambda a, b, rows: a.__setitem__(rows, b.sum()), inputs=2,
     writes=True)
kind("first", lambda rng, s, u: () if s else None, _write_first, lambda a, b: a.__setitem__((..., slice(0, 1)), b.sum()),
     inputs=2, writes=True)
# Shapes changed in place.
kind("transpose_", lambda rng, s: (_dim(rng, s), _dim(rng, s)) if s else None, lambda t, i, j: t.transpose_(i, j),
     lambda a, i, j: a.swapaxes(i, j), turns=True)
kind("unsqueeze_", lambda rng, s: (0,) if len(s) < 3 else None, lambda t, d: t.unsqueeze_(d), lambda a, d: a[None], turns=True)
kind("squeeze_", lambda rng, s: (), lambda t: t.squeeze_(), lambda a: a.reshape([n for n in a.shape if n != 1]), turns=True)


def step_numpy(step, pool):
    """Runs one step on a pool of arrays."""
    k = STEPS[step.name]
    out = k.numpy(*(pool[i] for i in step.at), *step.args)
    if k.turns:
        pool[step.at[0]] = out
    elif not k.writes:
        pool.append(np.asarray(out))


def make_program(rng, leaf_shapes, length=10) -> list:
    """Steps that make sense on leaves of the given shapes; the pool starts with a copy of each leaf."""
    pool = [np.zeros(s) for s in leaf_shapes]
    steps = []
    names = list(STEPS)
    while len(steps) < length:
        name = names[rng.integers(len(names))]
        k = STEPS[name]
        at = tuple(int(i) for i in rng.integers(len(pool), size=k.inputs))
        args = k.pick(rng, *(pool[i].shape for i in at))
        if args is None or any(pool[i].size == 0 for i in at):
            continue
        steps.append(Step(name, at, args))
        step_numpy(steps[-1], pool)
    return steps


def run_numpy(steps, leaves) -> list:
    """The pool after a run on numpy."""
    pool = [a.copy() for a in leaves]
    for s in steps:
        step_numpy(s, pool)
    return pool


def run_tensors(steps, leaves) -> list:
    """The pool after a run on tensors."""
    pool = [t * 1.0 for t in leaves]
    for s in steps:
        out = STEPS[s.name].tensor(*(pool[i] for i in s.at), *s.args)
        if not (STEPS[s.name].writes or STEPS[s.name].turns):
            pool.append(out)
    return pool


def weights_of(rng, pool) -> list:
    """A fixed weight for every element of every value in the pool."""
    return [rng.standard_normal(a.shape) for a in pool]
