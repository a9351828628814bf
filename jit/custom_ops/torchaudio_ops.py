"""Operators of torchaudio's compiled extension, in NumPy; `ops.load_library` of that extension registers them. Each walks along
time, where steps depend on earlier ones; torchaudio has the gradients."""

import numpy as np

from ...ir.errors import ArgumentError
from ...runtime.api.views.tensor_factories import from_numpy
from .register import Library

_BLOCK = 64        # samples of a recurrence that are one product


def register():
    """Register the operators as `ingot.ops.torchaudio` and `ingot.ops._torchaudio`."""
    about = Library("_torchaudio", "DEF")
    about.impl(about.define("is_align_available() -> bool"), lambda: True, "")
    about.impl(about.define("cuda_version() -> int?"), lambda: None, "")
    made = Library("torchaudio", "DEF")
    for schema, function in _OPERATORS.items():
        made.impl(made.define(schema), function, "")


# Recurrences.

def recurrence(x, a, before):
    """Return y[n] = x[n] - a[1] y[n - 1] - a[2] y[n - 2] - ... of rows x; the earlier results come with the last one last."""
    order = len(a) - 1
    free, own = _responses(a.astype(np.float64), _BLOCK)
    y = np.concatenate([before, np.zeros(x.shape)], 1)
    for at in range(0, x.shape[1], _BLOCK):
        part = x[:, at:at + _BLOCK]
        n = part.shape[1]
        y[:, order + at:order + at + n] = part @ own[:n, :n].T + y[:, at:at + order] @ free[:n].T
    return y[:, order:]


def _responses(a, steps):
    """Return the effect of each earlier result (as columns), and of each input of a block, on the results of a block (as rows).
    """
    order = len(a) - 1
    walk = np.zeros((order + steps, order + 1))
    walk[:order, :order] = np.eye(order)
    walk[order, order] = 1.0                                    # an impulse is the first input
    for n in range(order, order + steps):
        walk[n] -= a[:0:-1] @ walk[n - order:n]
    impulse = walk[order:, order]
    own = np.zeros((steps, steps))
    for n in range(steps):
        own[n:, n] = impulse[:steps - n]
    return walk[order:, :order], own


def _lfilter_core_loop(input_signal_windows, a_coeff_flipped, padded_output_waveform):
    """Filter (batch, channels, time) by the coefficients of each channel, the last one first, into the memory behind the
    earlier results."""
    x, a, y = (t.numpy(force=True) for t in (input_signal_windows, a_coeff_flipped, padded_output_waveform))
    order = a.shape[1] - 1
    made = y.copy()
    for channel, coefficients in enumerate(a):
        made[:, channel, order:] = recurrence(x[:, channel], coefficients[::-1], y[:, channel, :order])
    padded_output_waveform.copy_(from_numpy(made))


def _overdrive_core_loop(waveform, temp, last_in, last_out, output_waveform):
    """Mix half of a wave with three quarters of its high-passed distortion."""
    wave, distorted, first, out = (t.numpy(force=True) for t in (waveform, temp, last_in, last_out))
    rises = np.diff(distorted, axis=1, prepend=first[:, None])
    filtered = recurrence(rises, np.array([1.0, -0.995]), out[:, None])
    output_waveform.copy_(from_numpy((wave * 0.5 + filtered * 0.75).astype(wave.dtype)))
    if wave.shape[1]:
        last_in.copy_(temp[:, -1])
        last_out.copy_(from_numpy(filtered[:, -1].astype(out.dtype)))


# Transducers.

def rnnt_loss_forward(logits, targets, logit_lengths, target_lengths, blank, clamp, fused_log_softmax=True):
    """Return the negative logarithms of the probability of each sequence of targets, and their gradients."""
    scores = logits.numpy(force=True).astype(np.float64)
    words, frames, labels = (t.numpy(force=True).astype(int) for t in (targets, logit_lengths, target_lengths))
    logs = scores - _log_sum(scores)[..., None] if fused_log_softmax else scores
    _require_inside(logs.shape, words, frames, labels)
    chosen = np.zeros((len(words), logs.shape[2]), int)
    chosen[:, :words.shape[1]] = np.where(np.arange(words.shape[1]) < labels[:, None], words, 0)[:, :logs.shape[2]]
    at = np.broadcast_to(chosen[:, None, :, None], (*logs.shape[:3], 1))
    cost, along_silent, along_spoken = _lattice(logs[..., blank], np.take_along_axis(logs, at, 3)[..., 0], frames, labels)
    gradient = np.zeros_like(logs)
    np.put_along_axis(gradient, at, along_spoken[..., None], 3)
    gradient[..., blank] += along_silent
    if fused_log_softmax:
        gradient -= np.exp(logs) * gradient.sum(-1, keepdims=True)
    if clamp > 0:
        gradient = np.clip(gradient, -clamp, clamp)
    return tuple([from_numpy(a).to(device=logits.device, dtype=logits.dtype) for a in (cost, gradient)])


def _require_inside(shape, words, frames, labels):
    """Raise if lengths or labels do not fit the scores."""
    batch, times, positions, classes = shape
    if not len(words) == len(frames) == len(labels) == batch:
        raise ArgumentError(f"rnnt_loss: scores of {batch} sequences, but {len(words)} of targets and {len(frames)} and "
                            f"{len(labels)} lengths")
    most = min(positions - 1, words.shape[1])
    if batch and (frames.min() < 1 or frames.max() > times or labels.min() < 0 or labels.max() > most):
        raise ArgumentError(f"rnnt_loss: lengths {frames.tolist()} and {labels.tolist()} do not fit scores of shape "
                            f"{list(shape)} and targets of shape {list(words.shape)}")
    targets = words[np.arange(words.shape[1]) < labels[:, None]]
    if targets.size and (targets.min() < 0 or targets.max() >= classes):
        raise ArgumentError(f"rnnt_loss: targets are below {classes}, got {targets.min()} to {targets.max()}")


def _log_sum(x):
    top = x.max(-1)
    return top + np.log(np.exp(x - top[..., None]).sum(-1))


def _lattice(silent, spoken, frames, labels):
    """Return the costs of lattices (time, labels so far) whose steps go on in time, silent, or emit the next label, and the
    gradients of both steps. Places on one anti-diagonal are computed together."""
    batch, times, positions = silent.shape
    ends = np.zeros((batch, times + 1, positions + 1), bool)       # where a lattice is left, by a silent step
    ends[np.arange(batch), frames, labels] = True
    alive = (np.arange(times)[None, :, None] < frames[:, None, None]) & (np.arange(positions) <= labels[:, None, None])
    says = alive & (np.arange(positions) < labels[:, None, None])
    to, after = (np.full((batch, times + 1, positions + 1), -np.inf) for _ in range(2))
    to[:, 0, 0] = 0.0
    after[ends] = 0.0
    quiet, loud = np.where(alive, silent, -np.inf), np.where(says, spoken, -np.inf)
    for total in range(times + positions - 1):
        t = np.arange(max(0, total - positions + 1), min(times - 1, total) + 1)
        u = total - t
        to[:, t + 1, u] = np.logaddexp(to[:, t + 1, u], to[:, t, u] + quiet[:, t, u])
        to[:, t, u + 1] = np.logaddexp(to[:, t, u + 1], to[:, t, u] + loud[:, t, u])
    for total in reversed(range(times + positions - 1)):
        t = np.arange(max(0, total - positions + 1), min(times - 1, total) + 1)
        u = total - t
        onwards = np.logaddexp(after[:, t + 1, u] + quiet[:, t, u], after[:, t, u + 1] + loud[:, t, u])
        after[:, t, u] = np.logaddexp(after[:, t, u], onwards)
    whole = after[:, 0, 0][:, None, None]
    here = to[:, :-1, :-1]
    shares = np.exp(here + quiet + after[:, 1:, :-1] - whole), np.exp(here + loud + after[:, :-1, 1:] - whole)
    return -after[:, 0, 0], -shares[0], -shares[1]


# Alignments.

def forced_align(log_probs, targets, input_lengths, target_lengths, blank):
    """Return the likeliest label of each frame that gives the targets, without repeats and blanks, and the scores themselves.
    """
    logs, words = log_probs.numpy(force=True), targets.numpy(force=True)
    if len(logs) != 1 or len(words) != 1:
        raise ArgumentError(f"forced_align takes one sequence at a time, got {len(logs)}")
    frames, count = int(input_lengths[0]), int(target_lengths[0])
    path = np.full(logs.shape[:2], blank, words.dtype)
    path[0, :frames] = _likeliest(logs[0, :frames], words[0, :count], blank)
    return from_numpy(path).to(targets.device), log_probs.clone()


def _likeliest(logs, words, blank):
    """Return the label of each frame on the best path through blank, word, blank, word, ..., blank."""
    frames = len(logs)
    if frames < len(words) + int((words[1:] == words[:-1]).sum()):
        raise ArgumentError(f"forced_align: {frames} frames are too few for {len(words)} targets, of which repeated ones need "
                            f"a blank between them")
    states = np.full(2 * len(words) + 1, blank, words.dtype)
    states[1::2] = words
    skips = np.zeros(len(states), bool)                         # whether the blank before a word may be left out
    skips[3::2] = words[1:] != words[:-1]
    best = np.full(len(states), -np.inf)
    best[:2] = logs[0, states[:2]]
    steps = np.zeros((frames, len(states)), int)
    for t in range(1, frames):
        ways = np.full((3, len(states)), -np.inf)
        ways[0], ways[1, 1:], ways[2, 2:] = best, best[:-1], np.where(skips[2:], best[:-2], -np.inf)
        steps[t] = ways.argmax(0)
        best = ways.max(0) + logs[t, states]
    at = len(states) - 1 if len(states) == 1 or best[-1] > best[-2] else len(states) - 2
    found = np.empty(frames, words.dtype)
    for t in reversed(range(frames)):
        found[t] = states[at]
        at -= steps[t, at]
    return found


_OPERATORS = {
    "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> ()":
        _lfilter_core_loop,
    "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform) "
    "-> ()": _overdrive_core_loop,
    "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, "
    "bool fused_log_softmax=True) -> (Tensor, Tensor)": rnnt_loss_forward,
    "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) "
    "-> (Tensor, Tensor)": forced_align,
}
