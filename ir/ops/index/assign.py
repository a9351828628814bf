"""Functional assignment through views: replace the part of the base that a chain of views selects."""

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DTypeError
from ...opdef.aval import Aval
from ...opdef.batch_rules import view_links
from ...opdef.op import OPS, Template, op
from ...opdef.param_checks import check_operand
from ...symbols.substitute import at_hint
from ..core.batching import all_repeated
from ..core.shape import full


def run_chain(x, chain):
    """Apply a chain of view operators, each given as (name, sorted parameter items)."""
    for name, params in chain:
        x = OPS[name](x, **dict(params))
    return x


def _assign_view(base, value, *, chain):
    out = np.array(base, copy=True, order="C")
    _put(out, chain, value)
    return out


def _put(target, chain, value):
    """Write into the part of `target` that the chain selects. Dims that are not in row-major order in memory may be joined only
    in a copy, which is written, and goes back as a whole."""
    whole = target
    for i, (name, params) in enumerate(chain):
        seen = OPS[name].ref(target, **dict(params))
        if seen.size and not np.may_share_memory(seen, whole):
            copied = np.array(seen, order="C")
            _put(copied, chain[i + 1:], value)
            target[...] = copied.reshape(target.shape)
            return
        target = seen
    if not target.flags.writeable:
        target.setflags(write=True)
    target[...] = value


def _batch_assign(size, op, args, held, params):
    base, value = all_repeated(size, args, held)
    seen, chain = base, []
    for name, items in params["chain"]:
        for link, batched in view_links(size, OPS[name], seen.shape[1:], dict(items)):
            chain.append((link.name, tuple(sorted(batched.items()))))
            seen = link(seen, **batched)
    return op(base, value, chain=tuple(chain))


def _assign_view_base(g, out, base, value, *, chain):
    """The replaced elements get zeros whatever the gradient holds there: inf and nan often are why they were replaced."""
    part = run_chain(g, chain)
    return assign_view(g, full(part, shape=part.shape, value=0, dtype=dt.of(g)), chain=chain)


def _infer_assign_view(base, value, *, chain):
    """Apply the shape rules of the chain, each of which checks its parameters."""
    if type(chain) is not tuple or not all(type(link) is tuple and len(link) == 2 for link in chain):
        raise DTypeError(f"assign_view takes a chain of (view, parameters), got {chain!r}")
    part = Aval(at_hint(base.shape), base.dtype)
    for name, items in chain:
        if name not in OPS or not OPS[name].is_view:
            raise ArgumentError(f"assign_view takes a chain of views, got {name!r}")
        part = OPS[name].infer(part, **dict(at_hint(items)))
    check_operand(value, part.shape, part.dtype, f"assign_view to {base}: the value")
    return base


assign_view = op("assign_view", infer=_infer_assign_view, ref=_assign_view,
                 vjp=(_assign_view_base,
                      lambda g, out, base, value, *, chain: run_chain(g, chain)),
                 lower=Template("scatter"), batch=_batch_assign, traits=("exact", "float8", "updates"),
                 doc="The base with the part that a chain of views selects replaced by a value.")
