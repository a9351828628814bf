"""Selective checkpoints: the second run takes saved results of chosen operators instead of recomputing them.

Both runs observe operators at dispatch (`dispatch.call`), like a profiler.
"""

import difflib
import enum
from collections import defaultdict

from ...ir.errors import ArgumentError, AutogradError
from ...ir.opdef.op import NO_GRAD, OPS, Op
from ..core.dispatch import call
from ..core.op_observers import OpObserver
from ..core.taping import record
from ..core.tensor import Tensor
from ..state.mode import tls
from .function import alias

# API functions whose operators have other names.
FUNCTIONS_OF = {"addmm": ("matmul", "linear"), "baddbmm": ("matmul",), "bmm": ("matmul",), "mm": ("matmul",),
                "conv1d": ("conv",), "conv2d": ("conv",), "conv3d": ("conv",),
                "scaled_dot_product_attention": ("attention", "bounded_attention")}


class CheckpointPolicy(enum.Enum):
    """Policy for an operator's result: saved (SAVE), or recomputed (all others, offloading too)."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVE = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, True)


class SelectiveCheckpointContext:
    """Argument of a policy beside the operator. `is_recompute` and `op_output`, the result, are kept for policies."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Return the two contexts for `checkpoint(..., context_fn=...)`.

    `policy_fn_or_list` lists operators whose results are saved (ingot's functions, or names such as "matmul"). Or it is
    `policy(context, op, *args, **params)`, which returns a `CheckpointPolicy` (or True) for each operator; `op.name` is its
    name. Views are never saved, and a trace decides by itself. Results that were written since raise, unless
    `allow_cache_entry_mutation`.
    """
    policy = policy_fn_or_list
    if isinstance(policy, (list, tuple, set, frozenset)):
        chosen = frozenset().union(*[_names_of(f) for f in policy])

        def policy(context, op, *args, **params):
            return op.name in chosen

    elif not callable(policy):
        raise ArgumentError("create_selective_checkpoint_contexts takes a function, or a list of operators, got "
                            f"{type(policy).__name__}")
    saved: dict = {}
    return _First(saved, policy), _Again(saved, allow_cache_entry_mutation)


def _names_of(f) -> frozenset:
    name = f.name if isinstance(f, Op) else f if isinstance(f, str) else getattr(f, "__name__", repr(f))
    name = name.removesuffix(".default")        # the default overload in PyTorch's names
    names = FUNCTIONS_OF.get(name, (name,))
    if not set(OPS) >= set(names):
        near = difflib.get_close_matches(name, OPS, cutoff=0.5)
        raise ArgumentError(f"there is no operator {name!r} to keep results of{f'; there is {near[0]}' if near else ''}")
    return frozenset(names)


class _InCheckpoint(OpObserver):
    """Observer of each operator of this thread, except in traces, in vmap and inside other operators."""

    def __init__(self, saved: dict):
        super().__init__()
        self.saved = saved                    # (operator, number of its call) -> (several?, results, versions)
        self.counts: dict = defaultdict(int)
        self.stands = False

    def __enter__(self):
        m = tls.m
        self.stands = m.recorder is None and m.batched is None
        if self.stands:
            self.counts.clear()
            self.open()
        return self

    def __exit__(self, *exc):
        if self.stands:
            self.close()

    def observe(self, op: Op, args, params):
        m = tls.m
        if op.is_view or m.recorder is not None or m.batched is not None:
            return call(op, args, params)
        self.counts[op] += 1
        return self.once(op, args, params, (op, self.counts[op]))

    def once(self, op, args, params, key):
        """Return the results of an operator; `key` identifies its call."""
        raise NotImplementedError


class _First(_InCheckpoint):
    def __init__(self, saved, policy):
        super().__init__(saved)
        self.policy = policy

    def once(self, op, args, params, key):
        out = call(op, args, params)
        if self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), op, *args, **params) in _SAVE:
            self.saved[key] = isinstance(out, tuple), [(t._a, *t._storage.guard()) for t in leaves_of(out)]
        return out


def leaves_of(out) -> tuple:
    """Return the results of an operator, one or several."""
    return out if isinstance(out, tuple) else (out,)


class _Again(_InCheckpoint):
    def __init__(self, saved, may_be_written):
        super().__init__(saved)
        self.may_be_written = may_be_written

    def once(self, op, args, params, key):
        held = self.saved.get(key)
        if held is None:
            return call(op, args, params)
        several, parts = held
        if not self.may_be_written and any(storage.was_overwritten(version) for _, storage, version in parts):
            raise AutogradError(f"checkpoint: the result of {op.name} that was kept has been written in place since; let the "
                                "policy compute it again, or write a copy")
        m = tls.m
        if m.autocast is not None:
            args = m.autocast.cast(op, args)
        found = tuple([alias(array, storage) for array, storage, _ in parts])
        out = found if several else found[0]
        if m.grad and op.vjp is not NO_GRAD and any(isinstance(a, Tensor) and a._node is not None for a in args):
            record(op, args, params, out)
        return out
