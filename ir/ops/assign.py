"""Writing through views, as a value: the base with the part that a chain of views selects replaced."""

import numpy as np

from ..batch import view_links
from ..op import OPS, Template, op
from . import elementwise as ew
from .batched import all_repeated


def run_chain(x, chain):
    """Applies a chain of view operators, each given as (name, sorted parameter items)."""
    for name, params in chain:
        x = OPS[name](x, **dict(params))
    return x


def _assign_view(base, value, *, chain):
    out = np.array(base, copy=True, order="C")
    target = out
    for name, params in chain:
        target = OPS[name].ref(target, **dict(params))
    if not target.flags.writeable:
        target.setflags(write=True)
    target[...] = value
    return out


def _batch_assign(size, op, args, held, params):
    base, value = all_repeated(size, args, held)
    seen, chain = base, []
    for name, items in params["chain"]:
        for link, moved in view_links(size, OPS[name], seen.shape[1:], dict(items)):
            chain.append((link.name, tuple(sorted(moved.items()))))
            seen = link(seen, **moved)
    return op(base, value, chain=tuple(chain))


assign_view = op("assign_view", infer=lambda base, value, *, chain: base, ref=_assign_view,
                 vjp=(lambda g, out, base, value, *, chain: assign_view(g, ew.mul(run_chain(g, chain), 0), chain=chain),
                      lambda g, out, base, value, *, chain: run_chain(g, chain)),
                 lower=Template("scatter"), batch=_batch_assign, traits=("exact", "float8", "updates"),
                 doc="The base with the part that a chain of views selects replaced by a value.")
