"""Connectionist temporal classification: the loss over all alignments of a target with a longer sequence of class scores."""

import numpy as np

from ...errors import ArgumentError, AutogradError, DTypeError, ShapeError
from ...opdef.aval import Aval
from ...opdef.op import Template, op
from ...opdef.param_checks import MOST, check_int, check_operand
from ..core.batching import all_repeated, joined, parted
from ..core.pointwise import in_single, wants_real_float
from ..core.shape import permute, reshape


def _infer_ctc(log_probs, targets, input_lengths, target_lengths, *, blank):
    wants_real_float("ctc_loss", log_probs)
    if log_probs.ndim != 3:
        raise ShapeError(f"ctc_loss takes log probabilities [T, N, C], got {log_probs}")
    _, batch, classes = log_probs.shape
    for x in (targets, input_lengths, target_lengths):
        if not x.dtype.is_integer:
            raise DTypeError(f"ctc_loss takes integer targets and lengths, got {x}")
    check_int(blank, "ctc_loss: blank", -MOST)
    if input_lengths.shape != (batch,) or target_lengths.shape != (batch,):
        raise ShapeError(f"ctc_loss of {log_probs} takes one length for each of the {batch} sequences, got {input_lengths} and "
                         f"{target_lengths}")
    if targets.ndim not in (1, 2) or (targets.ndim == 2 and targets.shape[0] != batch):
        raise ShapeError(f"ctc_loss of {log_probs} takes targets ({batch}, S) or all labels in one row, got {targets}")
    if not 0 <= blank < classes:
        raise ArgumentError(f"blank must be a class below {classes}, got {blank}")
    return log_probs.with_shape((batch,))


def sequences(log_probs, targets, input_lengths, target_lengths):
    """Return (targets as padded rows, steps, numbers of labels), after checking that they agree."""
    steps, sizes = (np.asarray(x, np.int64) for x in (input_lengths, target_lengths))
    longest = int(sizes.max(initial=0))
    if min(steps.min(initial=0), sizes.min(initial=0)) < 0 or steps.max(initial=0) > len(log_probs):
        raise ArgumentError(f"input_lengths must be within the {len(log_probs)} steps of the input, and target_lengths not "
                            f"negative, got {steps.tolist()} and {sizes.tolist()}")
    mine = np.arange(longest) < sizes[:, None]
    if targets.ndim == 1:
        if len(targets) != sizes.sum():
            raise ShapeError(f"ctc_loss takes targets [N, S] or all {sizes.sum()} labels in one row, got {len(targets)}")
        rows = np.zeros(mine.shape, np.int64)
        rows[mine] = targets
        targets = rows
    if longest > targets.shape[1]:
        raise ShapeError(f"ctc_loss: the target of {longest} labels is longer than the rows of {targets.shape[1]}")
    given, classes = targets[:, :longest][mine], log_probs.shape[2]
    if given.size and not 0 <= given.min() <= given.max() < classes:
        raise ArgumentError(f"ctc_loss takes targets that are classes, from 0 to {classes - 1}, got {given.min()} to "
                            f"{given.max()}")
    return targets, steps, sizes


def labels_of(targets, sizes, blank):
    """Return [batch, states] labels with blanks between, and the mask of states reachable from two before.

    A target equal to the blank counts as the label that it stands for.
    """
    longest = int(sizes.max(initial=0))
    labels = np.full((len(sizes), 2 * longest + 1), blank, np.int64)
    given = np.arange(longest) < sizes[:, None]
    labels[:, 1::2] = np.where(given, targets[:, :longest], blank)
    skip = np.zeros(labels.shape, bool)
    skip[:, 3::2] = given[:, 1:] & (labels[:, 3::2] != labels[:, 1:-2:2])
    return labels, skip


def _ctc_step(before, skip):
    """Return the log probability of each state, reached from itself, the one before, and (if allowed) two before."""
    two = np.logaddexp(before, np.pad(before[:, :-1], ((0, 0), (1, 0)), constant_values=-np.inf))
    far = np.pad(before, ((0, 0), (2, 0)), constant_values=-np.inf)[:, :before.shape[1]]
    return np.where(skip, np.logaddexp(two, far), two)


def _ctc_alpha(emit, skip):
    """Return [steps, batch, states] log probabilities of all prefixes."""
    alpha = np.full(emit.shape, -np.inf, emit.dtype)
    if len(emit):
        alpha[0, :, :2] = emit[0, :, :2]
    for t in range(1, len(emit)):
        alpha[t] = _ctc_step(alpha[t - 1], skip) + emit[t]
    return alpha


def _ctc_total(alpha, input_lengths, target_lengths):
    total = np.full(alpha.shape[1], -np.inf, alpha.dtype)
    for i, (steps, n) in enumerate(zip(input_lengths, target_lengths)):
        if steps == 0:
            total[i] = 0.0 if n == 0 else -np.inf
        else:
            last = alpha[steps - 1, i]
            total[i] = np.logaddexp(last[2 * n], last[2 * n - 1]) if n else last[0]
    return total


def _ctc(log_probs, targets, input_lengths, target_lengths, *, blank):
    targets, input_lengths, target_lengths = sequences(log_probs, targets, input_lengths, target_lengths)
    labels, skip = labels_of(targets, target_lengths, blank)
    emit = log_probs[:, np.arange(len(labels))[:, None], labels]
    return -_ctc_total(_ctc_alpha(emit, skip), input_lengths, target_lengths)


def _ctc_beta(emit, skip, input_lengths, target_lengths):
    """Return [steps, batch, states] log probabilities of all suffixes, each from its own last step backwards."""
    beta = np.full(emit.shape, -np.inf, emit.dtype)
    rows = np.arange(emit.shape[1])
    states = 2 * np.asarray(target_lengths, np.int64)
    ends = np.zeros(emit.shape[1:], bool)
    ends[rows, states] = True
    ends[rows, np.maximum(states - 1, 0)] = True
    last = np.asarray(input_lengths, np.int64) - 1
    inward = np.pad(skip, ((0, 0), (0, 2)))[:, 2:]
    for t in range(len(emit) - 1, -1, -1):
        if t + 1 < len(emit):
            beta[t] = _ctc_back(beta[t + 1], inward) + emit[t]
        start = last == t
        beta[t][start] = np.where(ends[start], emit[t][start], -np.inf)
    return beta


def _ctc_back(after, inward):
    n = after.shape[1]
    two = np.logaddexp(after, np.pad(after[:, 1:], ((0, 0), (0, 1)), constant_values=-np.inf))
    far = np.pad(after, ((0, 0), (0, 2)), constant_values=-np.inf)[:, 2:n + 2]
    return np.where(inward, np.logaddexp(two, far), two)


def _ctc_grad(g, log_probs, targets, input_lengths, target_lengths, *, blank):
    targets, input_lengths, target_lengths = sequences(log_probs, targets, input_lengths, target_lengths)
    labels, skip = labels_of(targets, target_lengths, blank)
    rows = np.arange(len(labels))[:, None]
    emit = log_probs[:, rows, labels]
    alpha = _ctc_alpha(emit, skip)
    total = _ctc_total(alpha, input_lengths, target_lengths)
    beta = _ctc_beta(emit, skip, input_lengths, target_lengths)
    share = np.exp(alpha + beta - emit - total[:, None])
    sound = np.isfinite(total) & np.isfinite(g)
    live = np.arange(len(emit))[:, None] < np.asarray(input_lengths, np.int64)
    share = np.where(~np.isneginf(emit) & (live & sound)[:, :, None], share, 0)
    out = np.zeros(log_probs.shape, log_probs.dtype)
    for state in range(labels.shape[1]):
        out[:, rows[:, 0], labels[:, state]] -= share[:, :, state]
    # A loss that is no finite number has no gradient, which counts where somebody asks for one (zero_infinity does not).
    return np.where((live & ~sound & (g != 0))[:, :, None], np.nan, out * np.where(sound, g, 0)[:, None]).astype(out.dtype)


def _bounds(*args, blank):
    """Bound the labels by the classes, the steps by those of the input, and the numbers of labels by all labels."""
    log_probs, targets = args[-4:-2]
    first, (steps, _, classes) = len(args) - 3, log_probs.shape
    return [(first, 0, classes), (first + 1, 0, steps + 1), (first + 2, 0, targets.shape[-1] + 1)]


def _batch_sequences(size, op, args, held, params):
    """Join the sequences of all samples: (size, T, N, C) to (T, size * N, C). Labels in one row stay apart, since wrong lengths
    of one sample would move the labels of the next."""
    if len(args[-3].shape) - held[-3] == 1:
        return NotImplemented
    *gradient, log_probs, targets, input_lengths, target_lengths = all_repeated(size, args, held)
    steps = permute(log_probs, dims=(1, 0, 2, 3))
    _, _, count, classes = steps.shape
    steps = reshape(steps, shape=(steps.shape[0], size * count, classes))
    found = op(*[joined(g) for g in gradient], steps, joined(targets), joined(input_lengths), joined(target_lengths), **params)
    if not gradient:
        return parted(found, size)
    return permute(reshape(found, shape=(found.shape[0], size, count, classes)), dims=(1, 0, 2, 3))


def _no_second(g, out, *args, needs, **params):
    raise AutogradError("ctc_loss has no second derivative")


def _infer_ctc_grad(g, log_probs, targets, input_lengths, target_lengths, *, blank):
    each = _infer_ctc(log_probs, targets, input_lengths, target_lengths, blank=blank)
    check_operand(g, each.shape, each.dtype, "ctc_loss_grad: the gradient")
    return Aval(log_probs.shape, log_probs.dtype)


ctc_loss_grad = op("ctc_loss_grad", infer=_infer_ctc_grad, ref=in_single(_ctc_grad), vjp=_no_second, saves=(),
                   lower=Template("ctc"), batch=_batch_sequences, bounds=_bounds,
                   doc="The gradient of ctc_loss with respect to the log probabilities.")


def _ctc_vjp(g, out, log_probs, targets, input_lengths, target_lengths, *, blank):
    return ctc_loss_grad(g, log_probs, targets, input_lengths, target_lengths, blank=blank)


ctc_loss = op("ctc_loss", infer=_infer_ctc, ref=in_single(_ctc), vjp=(_ctc_vjp, None, None, None), lower=Template("ctc"),
              traits=("autocast_wide", "refuses"), batch=_batch_sequences, bounds=_bounds,
              doc="-log of the probability of each target (a padded row, or a part of all labels in one row) under (T, N, C) "
                  "log probabilities.")
