"""Recurrent layers over a whole sequence, and their gradients from what the forward pass keeps."""

import numpy as np
import torch

from ..families import rounded
from ..row import Leaf
from . import case, cases, formula, pulled

F = torch.nn.functional


def steps_of(z, reverse):
    """Return the steps in the order in which they are read."""
    return range(len(z))[::-1] if reverse else range(len(z))


def carried(mask, t, new, old):
    """Return the new state where a step is real, else the old one."""
    return new if mask is None else torch.where(mask[t].unsqueeze(1), new, old)


def along_time(z, mask, states, step, reverse):
    """Run a layer: step(z of a step, states) gives (new states, what is kept besides); return both along time."""
    found = [None] * len(z)
    for t in steps_of(z, reverse):
        new, others = step(z[t], states)
        states = [carried(mask, t, n, s) for n, s in zip(new, states)]
        found[t] = [*states, *others]
    return tuple([torch.stack(column) for column in zip(*found)])


@formula("rnn_sequence")
def rnn_sequence(z, mask, h, w_hh, *, activation, reverse):
    """h = act(z + h w'), all states."""
    act = getattr(torch, activation)
    return along_time(z, mask, [h], lambda z, s: ([act(z + F.linear(s[0], w_hh))], []), reverse)[0]


def lstm(z, mask, h, c, w_hh, w_hr, reverse):
    """Return all states, cells and activated gates (input, forget, cell, output)."""
    def step(z, states):
        i, f, g, o = (z + F.linear(states[0], w_hh)).chunk(4, 1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        cell = f * states[1] + i * g
        hidden = o * cell.tanh()
        return [hidden if w_hr is None else F.linear(hidden, w_hr), cell], [torch.cat([i, f, g, o], 1)]

    return along_time(z, mask, [h, c], step, reverse)


def gru(z, mask, h, w_hh, b_hh, reverse):
    """Return all states, and activated gates (reset, update, new) with the recurrent part of the new one."""
    def step(z, states):
        r, u, m = F.linear(states[0], w_hh, b_hh).chunk(3, 1)
        zr, zu, zn = z.chunk(3, 1)
        r, u = (zr + r).sigmoid(), (zu + u).sigmoid()
        n = (zn + r * m).tanh()
        return [(1 - u) * n + u * states[0]], [torch.cat([r, u, n, m], 1)]

    return along_time(z, mask, [h], step, reverse)


formula("lstm_sequence")(lambda z, mask, h, c, w_hh, w_hr, *, reverse: lstm(z, mask, h, c, w_hh, w_hr, reverse))
formula("gru_sequence")(lambda z, mask, h, w_hh, b_hh, *, reverse: gru(z, mask, h, w_hh, b_hh, reverse))
formula("gru_states")(lambda z, mask, h, w_hh, b_hh, *, reverse: gru(z, mask, h, w_hh, b_hh, reverse)[0])


@formula("lstm_states")
def lstm_states(z, mask, h, c, w_hh, w_hr, *, reverse):
    """All states, and the last cells."""
    y, cells, _ = lstm(z, mask, h, c, w_hh, w_hr, reverse)
    return y, cells[0 if reverse else -1]


MASK = np.array([[True, True], [True, True], [True, False]])


def kinds(rng, gates, hidden=3):
    """Yield (label, z, mask, reverse)."""
    for steps, mask, reverse in ((1, None, False), (3, MASK, False), (3, None, True), (2, MASK[1:], True)):
        label = f"{steps} steps {'back' if reverse else 'on'}{'' if mask is None else ' masked'}"
        yield label, rounded(rng, steps, 2, gates * hidden), mask, reverse


@cases("rnn_sequence", "lstm_sequence", "lstm_states", "gru_sequence", "gru_states")
def sequences(name, rng):
    gates = {"r": 1, "l": 4, "g": 3}[name[0]]
    for i, (label, z, mask, reverse) in enumerate(kinds(rng, gates)):
        h, w = rounded(rng, 2, 3), rounded(rng, 3 * gates, 3)
        if gates == 1:
            yield case(label, Leaf(z), mask, Leaf(h), Leaf(w), activation=("tanh", "relu")[i % 2], reverse=reverse)
        elif gates == 4:
            yield case(label, Leaf(z), mask, Leaf(h), Leaf(rounded(rng, 2, 3)), Leaf(w), None, reverse=reverse)
            if i % 2:
                yield case(f"{label} projected", Leaf(z), mask, Leaf(rounded(rng, 2, 2)), Leaf(rounded(rng, 2, 3)),
                           Leaf(rounded(rng, 12, 2)),
                           Leaf(rounded(rng, 2, 3)), reverse=reverse)
        else:
            yield case(label, Leaf(z), mask, Leaf(h), Leaf(w), Leaf(rounded(rng, 9)) if i % 2 else None, reverse=reverse)


# Gradients: autograd's, of the inputs that give what was kept.


def before(states, first, reverse):
    """Return the state that each step started from."""
    return torch.cat([states[1:], first.unsqueeze(0)]) if reverse else torch.cat([first.unsqueeze(0), states[:-1]])


def with_gradients(outs, gs):
    """Return the results that a gradient came for, and these gradients."""
    pairs = [(o, g) for o, g in zip(outs, gs) if g is not None]
    return tuple([o for o, _ in pairs]), tuple([g for _, g in pairs])


@formula("rnn_sequence_grad")
def rnn_sequence_grad(gy, y, mask, h, w_hh, *, activation, reverse):
    """The input is the inverse of the activation less the recurrent part."""
    inner = torch.atanh(y) if activation == "tanh" else torch.where(y > 0, y, y - 1)
    z = inner - F.linear(before(y, h, reverse), w_hh)
    return pulled(lambda z, h, w: rnn_sequence(z, mask, h, w, activation=activation, reverse=reverse), [z, h, w_hh], gy)


@formula("lstm_sequence_grad")
def lstm_sequence_grad(gy, gc, gg, y, cells, gates, mask, h, c, w_hh, w_hr, *, reverse):
    """The input is the inverse of the gates' activations less the recurrent part."""
    i, f, g, o = gates.chunk(4, 2)
    z = torch.cat([i.logit(), f.logit(), g.atanh(), o.logit()], 2) - F.linear(before(y, h, reverse), w_hh)
    gs = (gy, gc, gg)
    present = tuple([x for x in gs if x is not None])

    def run(z, h, c, w, *projection):
        return with_gradients(lstm(z, mask, h, c, w, *(projection or [None]), reverse), gs)[0]

    return pulled(run, [z, h, c, w_hh, *([] if w_hr is None else [w_hr])], present)


@formula("gru_sequence_grad")
def gru_sequence_grad(gy, gg, y, gates, mask, h, w_hh, b_hh, *, reverse):
    """The same for a GRU."""
    r, u, n, m = gates.chunk(4, 2)
    ar, au, _ = F.linear(before(y, h, reverse), w_hh, b_hh).chunk(3, 2)
    z = torch.cat([r.logit() - ar, u.logit() - au, n.atanh() - r * m], 2)
    gs = (gy, gg)
    present = tuple([x for x in gs if x is not None])

    def run(z, h, w, *bias):
        return with_gradients(gru(z, mask, h, w, *(bias or [None]), reverse), gs)[0]

    return pulled(run, [z, h, w_hh, *([] if b_hh is None else [b_hh])], present)


def on_arrays(function, *args, **params):
    """Return what a layer gives for arrays, as arrays."""
    found = function(*[None if a is None else torch.from_numpy(a) for a in args], **params)
    return [t.numpy() for t in (found if isinstance(found, tuple) else (found,))]


@cases("rnn_sequence_grad", "lstm_sequence_grad", "gru_sequence_grad")
def sequence_gradients(name, rng):
    count = {"r": 1, "l": 4, "g": 3}[name[0]]
    for i, (label, z, mask, reverse) in enumerate(kinds(rng, count)):
        h, w = rounded(rng, 2, 3) / 2, rounded(rng, 3 * count, 3) / 2
        if count == 1:
            activation = ("tanh", "relu")[i % 2]
            y, = on_arrays(rnn_sequence, z / 2, mask, h, w, activation=activation, reverse=reverse)
            yield case(label, Leaf(rounded(rng, *y.shape)), y if i % 2 else Leaf(y), mask, Leaf(h), Leaf(w),
                       activation=activation, reverse=reverse)
        elif count == 4:
            c, projection = rounded(rng, 2, 3), rounded(rng, 2, 3) if i % 2 else None
            h, w = (h, w) if projection is None else (h[:, :2].copy(), w[:, :2].copy())
            y, cells, gates = on_arrays(lstm, z, mask, h, c, w, projection, reverse=reverse)
            gs = [Leaf(rounded(rng, *v.shape)) for v in (y, cells, gates)]
            there = ((1, 1, 1), (1, 0, 0), (0, 1, 0), (1, 1, 1))[i]
            yield case(label, *[g if has else None for g, has in zip(gs, there)], y, cells, gates, mask, h, c, Leaf(w),
                       projection, reverse=reverse)
        else:
            bias = rounded(rng, 9) / 2 if i % 2 else None
            y, gates = on_arrays(gru, z, mask, h, w, bias, reverse=reverse)
            gs = [Leaf(rounded(rng, *v.shape)) for v in (y, gates)]
            there = ((1, 1), (1, 0), (0, 1), (1, 1))[i]
            yield case(label, *[g if has else None for g, has in zip(gs, there)], y, gates, mask, h, w, bias, reverse=reverse)


# Packed weights: both operators together, since the order between them is a kernel's own.


@formula("pack_recurrent", "recurrent_packed")
def recurrent_packed(z, mask, h, c, w, bias, *, kernel, reverse, size=None):
    """The layer that the kernel is for."""
    name = kernel[0]
    if name == "lstm":
        return lstm_states(z, mask, h, c, w, None, reverse=reverse)
    if name == "gru":
        return (gru(z, mask, h, w, bias, reverse)[0],)
    return (rnn_sequence(z, mask, h, w, activation=name.removeprefix("rnn_"), reverse=reverse),)


@cases("pack_recurrent", "recurrent_packed")
def packed(name, rng):
    """8 and 4 lanes are those of float64 on some machines; others run the references."""
    layers = (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))
    for i, (layer, gates) in enumerate(layers[1:3] if name == "pack_recurrent" else layers):
        label, z, mask, reverse = list(kinds(rng, gates))[(i + 1) % 4]
        kinds_of = ((8, "float64"), (4, "float64"), (16, "float32"))
        for lanes, dtype in kinds_of[:1] if name == "pack_recurrent" else kinds_of if i == 0 else kinds_of[i % 3:][:1]:
            arrays = [a.astype(dtype) for a in (z, rounded(rng, 2, 3), rounded(rng, 2, 3), rounded(rng, 3 * gates, 3),
                                                rounded(rng, 9))]
            z_, h, c, w, bias = arrays
            yield case(f"{layer} {lanes} lanes {label}", z_, mask, h, c if layer == "lstm" else None, w, bias
                       if layer == "gru" else None,
                       kernel=(layer, lanes), reverse=reverse)
