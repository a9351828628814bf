"""Composites as one kernel in eager mode: variance, log-sum-exp, norms, losses, whatever has a body and no kernel of its own.

A call is a graph of one node, through the passes that traced code takes, and kept for calls of the same shapes. It gives the
bits of the operators of its body, one after the other, because each of them is computed by the same scalar code and the same
reduction tree; so calls whose shapes are seen for the first time, which may never come again, run operator by operator. What
does not become fused kernels alone stays so.
"""

import threading
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.aval import Aval
from ...ir.errors import IngotError
from ...ir.graph import Builder
from ...ir.op import Op
from ...passes import pipeline
from ...passes.class_losses import class_losses
from ...passes.decompose import decompose
from ...passes.plan_memory import Fused
from ...passes.row_bodies import row_bodies
from . import eager, program
from .native_run import NativeRun

_KINDS = {d.np for d in dt.ALL if not d.is_complex and d not in (dt.float16, dt.bfloat16)}
_MOST = 512             # kinds of calls that are remembered for each operator
_SEEN, _NONE = object(), object()
_lock = threading.RLock()


def decompose_bodies(graph):
    """Composites become their bodies, but for those with a kernel of their own."""
    return decompose(graph, frozenset([n.op for n in graph.nodes if eager.has_own_kernel(n.op)]))


PASSES = (*pipeline.SIMPLER, row_bodies, class_losses, decompose_bodies, *pipeline.SIMPLER)


class Composites:
    """The compiled calls of one operator."""

    def __init__(self, op: Op):
        self.op = op
        self._made: dict = {}

    def find(self, args, params):
        """What runs such a call on its arguments: None unless the same kind of call was made before and is one kernel."""
        if not all(a is None or (a.__class__ is np.ndarray and a.dtype in _KINDS and a.flags.c_contiguous) for a in args):
            return None
        try:
            key = (*[None if a is None else (a.shape, a.dtype) for a in args], *[(k, _told(v)) for k, v in params.items()])
            found = self._made.get(key)
        except TypeError:       # a parameter that cannot be a key
            return None
        if found is None:
            if len(self._made) >= _MOST:
                self._made.clear()
            self._made[key] = _SEEN
            return None
        if found is _SEEN:
            with _lock:
                found = self._made[key] = self._compiled(args, params)
        return None if found is _NONE else found

    def _compiled(self, args, params):
        """A function of the arguments, or _NONE."""
        if "random" in self.op.traits or any(not a.size for a in args if a is not None):
            return _NONE
        b = Builder(f"eager_{self.op.name}")
        operands = [None if a is None else b.input(f"x{i}", Aval(a.shape, dt.BY_NP[a.dtype])) for i, a in enumerate(args)]
        try:
            out: Any = b.append(self.op, operands, params)
            results = out if type(out) is tuple else (out,)
            graph = pipeline.run(b.finish(results), PASSES)
            compiled = program.CompiledGraph(graph, eager.kernel_for, frozenset(range(len(results))))
        except IngotError:      # the operators of the body say what is wrong
            return _NONE
        if not all(type(s) is NativeRun and all(type(part) is Fused for part in s.source.steps) for s in compiled.steps):
            return _NONE
        return _caller(compiled, type(out) is tuple, all(a is not None for a in args))


def _told(param):
    """What tells a parameter from others: floats by their bits, since -0.0 equals 0.0."""
    return param.hex() if type(param) is float else (type(param), param)


def _caller(compiled, many, plain):
    def run(args):
        results = compiled.run(list(args) if plain else [a for a in args if a is not None])
        return tuple(results) if many else results[0]

    return run
