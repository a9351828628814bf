"""User functions (`autograd.Function`) inside vmap: own batch rules, and gradients from outside the level.

A Function that runs on samples has its history among them. For gradients wanted further out, the same call is taped there for
whole batches; its backward runs on samples in a level of its own.
"""

from typing import Any, NamedTuple

from ...ir.errors import AutogradError
from ...ir.ops.core.reduce import sum_
from ..autograd import function as fn
from ..core.node import is_inexact
from ..core.tensor import Tensor
from ..pytree.pytree import broadcast_prefix, tree_flatten
from ..state.mode import tls


class VmapInfo(NamedTuple):
    """The description of a batch for a Function's own `vmap`."""

    batch_size: int
    randomness: str


def run(level, cls, ctx, args, separate):
    """Return the results of a Function inside a level; ctx stores what backward needs."""
    if not any(level.holds(a) for a in args):
        if level.outer is not None:
            return level.run_outer(run, level.outer, cls, ctx, args, separate)
        return fn.run_forward(cls, ctx, args, separate)
    if cls.vmap is not fn.Function.vmap:
        if cls.generate_vmap_rule or not separate:
            raise AutogradError(f"{cls.__name__} has a method vmap: then it needs setup_context, and not generate_vmap_rule")
        result = run_own_rule(level, cls, args)
        cls.setup_context(ctx, args, result)
        ctx.keeps_all()
        return result
    outside = [has_history_outside(level, a) for a in args]
    ctx.needs_input_grad = tuple([n or o for n, o in zip(ctx.needs_input_grad, outside)])
    result = fn.run_forward(cls, ctx, args, separate)
    return with_outer_history(level, cls, ctx, args, result) if any(outside) and tls.m.grad else result


def run_own_rule(level, cls, args):
    """Return the results of a Function's static method `vmap` on whole batches, as samples."""
    in_dims = tuple([0 if level.holds(a) else None for a in args])
    fulls = [a._a.memory.full if d == 0 else a for a, d in zip(args, in_dims)]
    found = level.run_outer(cls.vmap, VmapInfo(level.size, level.randomness), in_dims, *fulls)
    if not isinstance(found, tuple) or len(found) != 2:
        raise AutogradError(f"{cls.__name__}.vmap must return (output, out_dims), got {type(found).__name__}")
    outs, spec = tree_flatten(found[0])
    dims = broadcast_prefix(found[1], found[0], lambda d: d is None or isinstance(d, int))
    return spec.unflatten([x if d is None else level.sample(level.run_outer(_in_front, x, d)) for x, d in zip(outs, dims)])


def _in_front(x, dim):
    return x if dim == 0 else x.movedim(dim, 0)


def has_history_outside(level, a) -> bool:
    """Return whether a tensor, or the batch behind it, has a history at an outer level."""
    while level is not None and isinstance(a, Tensor):
        a, level = _outer_argument(level, a), level.outer
        if a._node is not None:
            return True
    return False


def _outer_argument(level, a):
    """Return an argument one level further out: all samples, or itself without inner history."""
    return a._a.memory.full if level.holds(a) else level.from_outside(a)


def with_outer_history(level, cls, ctx, args, result):
    """Return the results of a call on samples, with their outer history."""
    if ctx._dirty:
        raise AutogradError(f"{cls.__name__} writes its inputs, and gradients are wanted from outside of vmap; take them "
                            "inside, as vmap(grad(...)) does")
    several = isinstance(result, (tuple, list))
    outs = list(result) if several else [result]
    given = [level.full(o) if isinstance(o, Tensor) else o for o in outs]
    flags = [level.holds(a) for a in args]
    fulls = [_outer_argument(level, a) for a in args]
    own = _context_of(level, ctx, {id(o): g for o, g in zip((*args, *outs), (*fulls, *given))})
    whole = level.run_outer(_tape_whole, _whole_of(cls, type(level), level.size, flags), own, fulls, tuple(given))
    fresh = [level.sample(w) if isinstance(o, Tensor) else o for w, o in zip(whole, outs)]
    now = {id(o): f for o, f in zip(outs, fresh)}
    ctx._to_save = tuple([now.get(id(t), t) for t in ctx._to_save])
    ctx._non_differentiable = tuple([now.get(id(t), t) for t in ctx._non_differentiable])
    return type(result)(fresh) if several else fresh[0]


def _tape_whole(whole, own, args, result):
    """Return whole results with their history at this level and further out."""
    level = tls.m.batched
    edges = tuple([a._node if isinstance(a, Tensor) and is_inexact(a._a) else None for a in args])
    own.needs_input_grad = tuple([e is not None or has_history_outside(level, a) for e, a in zip(edges, args)])
    if any(has_history_outside(level, a) for a in args):
        result = with_outer_history(level, whole, own, args, result)
    return fn._finish(whole, own, args, edges, result, any(e is not None for e in edges))


class _BackwardFacts(NamedTuple):
    """The facts about a call on samples for the backward of whole batches."""

    mapped: set                 # attributes of ctx that are samples
    saved: tuple                # which saved tensors are samples
    needs: tuple                # its needs_input_grad
    inputs: Any                 # avals of its arguments, if it has a jvp
    before: Any                 # the same facts of a call on batches


def _context_of(level, ctx, outside):
    """Return a samples call's facts for backward, with whole batches; arguments and results are known by id."""
    own: Any = fn.FunctionCtx()
    attributes = {name: value for name, value in vars(ctx).items() if not name.startswith("_")}
    mapped = {name for name, value in attributes.items() if level.holds(value)}
    vars(own).update({name: level.full(value) if name in mapped else value for name, value in attributes.items()})
    saved = tuple([level.holds(t) for t in ctx._to_save])
    own._facts = _BackwardFacts(mapped, saved, ctx.needs_input_grad, ctx._inputs, getattr(ctx, "_facts", None))
    own._to_save = tuple([outside.get(id(t), level.full(t) if sample else t) for t, sample in zip(ctx._to_save, saved)])
    own._non_differentiable = tuple([outside[id(t)] for t in ctx._non_differentiable if id(t) in outside])
    own._materialize, own._own = ctx._materialize, ctx._own
    return own


class _SampleCtx(fn.FunctionCtx):
    """The context for the backward of samples: attributes and saved tensors are samples of a level."""

    saved_tensors: Any = ()         # replaces the property

    def __init__(self, level, own):
        facts = own._facts
        attributes = {name: value for name, value in vars(own).items() if not name.startswith("_")}
        vars(self).update({name: level.sample(value) if name in facts.mapped else value for name, value in attributes.items()})
        self.needs_input_grad, self._inputs, self._facts = facts.needs, facts.inputs, facts.before
        self._materialize = own._materialize
        parts = own.saved_tensors, own._part_of(facts.saved)
        self.saved_tensors = tuple([level.sample(t) if sample else t for t, sample in zip(*parts)])


def _whole_of(cls, levels, size, flags):
    """Return the Function on whole batches whose backward and jvp run on samples, in a level of their own."""
    def backward(own, *grads):
        with levels(size, "same") as level:
            found = fn.backward_of(cls)(_SampleCtx(level, own), *[None if g is None else level.sample(g) for g in grads])
            found = found if isinstance(found, (tuple, list)) else (found,)
            fulls = [None if g is None else level.full(g) for g in found]
        return tuple([sum_(g, dim=(0,), keepdim=False) if g is not None and not (i < len(flags) and flags[i]) else g
                      for i, g in enumerate(fulls)])

    def jvp(own, *directions):
        with levels(size, "same") as level:
            given = [level.sample(d) if d is not None and one else d for d, one in zip(directions, flags)]
            return tuple([None if t is None else level.full(t) for t in fn.moved_along(cls, _SampleCtx(level, own), given)])

    ways = {"backward": staticmethod(backward), **({"jvp": staticmethod(jvp)} if fn.has_jvp(cls) else {})}
    return type(cls.__name__, (fn.Function,), ways)
