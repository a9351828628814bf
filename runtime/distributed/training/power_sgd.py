"""`powerSGD_hook`: gradients of matrices are sent as two narrow factors (Vogels et al., 2019).

The rest is added to the gradients of the next step.
"""

import math

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from ...core.random import Generator
from ...linalg.linalg import qr
from ..collectives.collectives import all_reduce
from ..groups.futures import Future
from ..groups.world import the_group

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """State of the hook between steps: the rest of each bucket, and the factors that start the next step.

    `batch_tensors_with_same_shape` is ignored: results are the same one by one. `compression_stats_logging_frequency` is
    ignored: nothing is logged.
    """

    def __init__(self, process_group=None, matrix_approximation_rank=1, start_powerSGD_iter=1_000, min_compression_rate=2,
                 use_error_feedback=True, warm_start=True, orthogonalization_epsilon=0, random_seed=0,
                 compression_stats_logging_frequency=10_000, batch_tensors_with_same_shape=False):
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ArgumentError("start_powerSGD_iter must be above 1 with use_error_feedback or warm_start, which keep what "
                                "belongs to a bucket")
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.generator = Generator().manual_seed(random_seed)
        self.iter = 0
        self.error_dict: dict = {}
        self.q_memory_dict: dict = {}

    def maybe_increase_iter(self, bucket):
        """Count a step, at its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def compresses(self, rows: int, columns: int) -> bool:
        """Return whether the factors of a matrix are small enough to send instead of it."""
        rank = min(rows, columns, self.matrix_approximation_rank)
        return (rows + columns) * rank * self.min_compression_rate < rows * columns


def _done(value) -> Future:
    found: Future = Future()
    found.set_result(value)
    return found


def _orthogonal(p, epsilon):
    """Return a basis of the columns."""
    if p.shape[1] == 1:
        return p / (p.norm() + epsilon) if epsilon or p.any() else p
    return qr(p.float() if p.dtype.itemsize < 4 else p)[0].to(p.dtype)


def _first_factor(state, key, columns, rank, like):
    """Return the last step's second factor, or a random one that is equal on all ranks."""
    found = state.q_memory_dict.get(key) if state.warm_start else None
    if found is None:
        drawn = FUNCTIONS["randn"](columns, rank, generator=state.generator).to(device=like.device, dtype=like.dtype)
        found = _orthogonal(drawn, state.orthogonalization_epsilon)
    return found


def _average_together(tensors, group):
    """Average several tensors, sent as one."""
    if not tensors:
        return
    flat = FUNCTIONS["cat"]([t.reshape(-1) for t in tensors])
    all_reduce(flat, group=group)
    flat.div_(group.size())
    for t, piece in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(piece.view(t.shape))


def _approximate(state, group, matrices, keys):
    """Replace matrices by low-rank approximations of their average over ranks."""
    ranks = [min(*m.shape, state.matrix_approximation_rank) for m in matrices]
    seconds = [_first_factor(state, key, m.shape[1], rank, m) for key, m, rank in zip(keys, matrices, ranks)]
    firsts = [m @ q for m, q in zip(matrices, seconds)]
    _average_together(firsts, group)
    firsts = [_orthogonal(p, state.orthogonalization_epsilon) for p in firsts]
    seconds = [m.T @ p for m, p in zip(matrices, firsts)]
    _average_together(seconds, group)
    for key, m, p, q in zip(keys, matrices, firsts, seconds):
        state.q_memory_dict[key] = q
        m.copy_(p @ q.T)


def _with_rest(state, bucket):
    """Return the gradients with the last step's rest added, and a copy."""
    buffer, index = bucket.buffer(), bucket.index()
    if not state.use_error_feedback:
        return buffer, None
    if index in state.error_dict:
        buffer.add_(state.error_dict[index])
    return buffer, buffer.clone()


def _sends_all(state, bucket, group) -> bool:
    """Average all gradients of a bucket before the step at which factors begin; return whether that was done."""
    early = state.iter < state.start_powerSGD_iter
    if early:
        state.maybe_increase_iter(bucket)
        _average_together([bucket.buffer()], group)
    return early


def powerSGD_hook(state, bucket) -> Future:
    """Return the average over ranks, of matrices by factors. Steps before `start_powerSGD_iter` send all values."""
    group = the_group(state.process_group)
    if _sends_all(state, bucket, group):
        return _done(bucket.buffer())
    buffer, before = _with_rest(state, bucket)
    gradients = bucket.gradients()
    matrices = {i: g.view(g.shape[0], -1) for i, g in enumerate(gradients) if g.ndim > 1 and g.numel()}
    matrices = {i: m for i, m in matrices.items() if state.compresses(*m.shape)}
    _average_together([g for i, g in enumerate(gradients) if i not in matrices], group)
    _approximate(state, group, list(matrices.values()), [(bucket.index(), i) for i in matrices])
    if before is not None:
        rest = FUNCTIONS["zeros_like"](before)
        for i, piece in enumerate(rest.split([g.numel() for g in gradients])):
            if i in matrices:
                start = sum(g.numel() for g in gradients[:i])
                piece.copy_(before[start: start + piece.numel()] - matrices[i].reshape(-1))
        state.error_dict[bucket.index()] = rest
    state.maybe_increase_iter(bucket)
    return _done(buffer)


def batched_powerSGD_hook(state, bucket) -> Future:
    """Apply powerSGD_hook to a bucket's gradients as one square matrix: faster and less exact."""
    group = the_group(state.process_group)
    if _sends_all(state, bucket, group):
        return _done(bucket.buffer())
    buffer, before = _with_rest(state, bucket)
    side = math.isqrt(buffer.numel() - 1) + 1
    square = FUNCTIONS["zeros"](side * side, dtype=buffer.dtype, device=buffer.device)
    square[: buffer.numel()] = buffer
    _approximate(state, group, [square.view(side, side)], [(bucket.index(), None)])
    buffer.copy_(square[: buffer.numel()])
    if before is not None:
        state.error_dict[bucket.index()] = before - buffer
    state.maybe_increase_iter(bucket)
    return _done(buffer)
