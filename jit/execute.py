"""Runs the nodes of a recording on arrays: the kernels that eager uses, without the tape, in a prepared order.

A `Piece` is a stretch of nodes between two cuts. Values live in numbered slots of an environment; a slot is dropped after
its last reader.
"""

import numpy as np

from ..ir.graph import Value
from ..runtime.dispatch import KERNELS


class Piece:
    """A prepared stretch of nodes."""

    def __init__(self, nodes, slots: dict, keep: set):
        """`slots` numbers every value; `keep` names the values that somebody reads later."""
        last = {}
        for i, n in enumerate(nodes):
            for x in (*n.inputs, *n.outputs):
                if type(x) is Value:
                    last[x] = i
        self.steps = []
        for i, n in enumerate(nodes):
            sources = tuple([("slot", slots[x]) if type(x) is Value else ("number", x) for x in n.inputs])
            dead = tuple([slots[x] for x in dict.fromkeys((*n.inputs, *n.outputs))
                          if type(x) is Value and last[x] == i and x not in keep])
            self.steps.append((KERNELS.get(n.op) or n.op.ref, sources, n.params, tuple([slots[v] for v in n.outputs]), n.multi, dead))

    def run(self, env: list):
        """Computes all nodes; `env` maps slots to arrays."""
        for kernel, sources, params, outs, multi, dead in self.steps:
            result = kernel(*[env[x] if kind == "slot" else x for kind, x in sources], **params)
            if multi:
                for slot, r in zip(outs, result):
                    env[slot] = r
            else:
                env[outs[0]] = result
            for slot in dead:
                env[slot] = None


def as_array(x) -> np.ndarray:
    """A kernel's result as an array (numpy gives scalars for 0-d results)."""
    return x if isinstance(x, np.ndarray) else np.asarray(x)
