"""Importers of ONNX recurrent layers: ingot's operators where they do the same, else step by step."""

from ....ir import dtype as dt
from ....ir.ops.nn.recurrent import rnn_sequence
from ....runtime.nn import functional as F
from ....runtime.nn.layers.rnn import gru_over_time, lstm_over_time
from .registry import ing, onnx_ops

_ACTIVATIONS = {
    "relu": lambda x, a, b: ing.relu(x), "tanh": lambda x, a, b: ing.tanh(x), "sigmoid": lambda x, a, b: ing.sigmoid(x),
    "affine": lambda x, a, b: x * (1.0 if a is None else a) + (0.0 if b is None else b),
    "leakyrelu": lambda x, a, b: F.leaky_relu(x, 0.01 if a is None else a),
    "thresholdedrelu": lambda x, a, b: ing.where(x > (1.0 if a is None else a), x, ing.zeros_like(x)),
    "scaledtanh": lambda x, a, b: ing.tanh(x * (1.0 if b is None else b)) * (1.0 if a is None else a),
    "hardsigmoid": lambda x, a, b: ing.clamp(x * (0.2 if a is None else a) + (0.5 if b is None else b), 0.0, 1.0),
    "elu": lambda x, a, b: F.elu(x, 1.0 if a is None else a), "softsign": lambda x, a, b: F.softsign(x),
    "softplus": lambda x, a, b: F.softplus(x),
}


class Layer:
    """One direction of a recurrent node, with its weights and activations."""

    def __init__(self, call, w, r, b, gates, direction, defaults):
        self.w, self.r, self.size = w, r, r.shape[-1]
        self.b = None if b is None else b[:gates * self.size]
        self.rb = None if b is None else b[gates * self.size:]
        names = call.get("activations") or defaults * 2
        each = len(defaults)
        self.names = [n.lower() for n in names[direction * each:(direction + 1) * each]]
        alphas, betas = call.get("activation_alpha") or [], call.get("activation_beta") or []
        at = direction * each
        self.alphas = [alphas[at + i] if at + i < len(alphas) else None for i in range(each)]
        self.betas = [betas[at + i] if at + i < len(betas) else None for i in range(each)]
        self.clip = call.get("clip")
        self.plain = self.names == [n.lower() for n in defaults] and not self.clip and not alphas and not betas

    def act(self, i, x):
        """Apply an activation to a clipped input."""
        if self.clip:
            x = ing.clamp(x, -self.clip, self.clip)
        return _ACTIVATIONS[self.names[i]](x, self.alphas[i], self.betas[i])

    def rows(self, order):
        """Return weights and biases with their gates in another order."""
        def pick(v):
            if v is None:
                return None
            return ing.cat([v.narrow(0, g * self.size, self.size) for g in order], 0)

        return pick(self.w), pick(self.r), pick(self.b), pick(self.rb)


def _walk(x, mask, states, reverse, step):
    """Run a step along time; return the first states of all steps and the last states. Masked steps pass states on."""
    outs: list = [None] * x.shape[0]
    for t in range(x.shape[0] - 1, -1, -1) if reverse else range(x.shape[0]):
        new = step(x[t], *states)
        if mask is not None:
            live = mask[t].unsqueeze(1)
            new = [ing.where(live, n, s) for n, s in zip(new, states)]
        states = new
        outs[t] = states[0]
    return ing.stack(outs), tuple(states)


def _bias(*parts):
    given = [p for p in parts if p is not None]
    return None if not given else given[0] if len(given) == 1 else given[0] + given[1]


def _run_lstm(call, layer, x, mask, states, reverse, peep):
    if layer.plain and peep is None and not call.get("input_forget", 0):
        w, r, b, rb = layer.rows((0, 2, 3, 1))
        y, cell = lstm_over_time(F.linear(x, w, _bias(b, rb)), mask, states[0], states[1], r, None, reverse)
        return y, (y[0 if reverse else -1], cell)
    n = layer.size
    pi, po, pf = (None,) * 3 if peep is None else (peep[:n], peep[n:2 * n], peep[2 * n:])

    def peeped(z, p, c):
        return z if p is None else z + p * c

    def step(xt, h, c):
        z = F.linear(xt, layer.w, layer.b) + F.linear(h, layer.r, layer.rb)
        i, o, f, g = [z.narrow(1, k * n, n) for k in range(4)]
        i = layer.act(0, peeped(i, pi, c))
        f = 1 - i if call.get("input_forget", 0) else layer.act(0, peeped(f, pf, c))
        c = f * c + i * layer.act(1, g)
        return [layer.act(0, peeped(o, po, c)) * layer.act(2, c), c]

    return _walk(x, mask, states, reverse, step)


def _run_gru(call, layer, x, mask, states, reverse, peep):
    before = call.get("linear_before_reset", 0)
    if layer.plain and before:
        w, r, b, rb = layer.rows((1, 0, 2))
        y = gru_over_time(F.linear(x, w, b), mask, states[0], r, rb, reverse)
        return y, (y[0 if reverse else -1],)
    n = layer.size
    rb_h = None if layer.rb is None else layer.rb[2 * n:]

    def step(xt, h):
        z = F.linear(xt, layer.w, layer.b)
        both = z[:, :2 * n] + F.linear(h, layer.r[:2 * n], None if layer.rb is None else layer.rb[:2 * n])
        update, reset = layer.act(0, both[:, :n]), layer.act(0, both[:, n:])
        if before:
            new = reset * F.linear(h, layer.r[2 * n:], rb_h)
        else:
            new = F.linear(reset * h, layer.r[2 * n:], rb_h)
        return [(1 - update) * layer.act(1, z[:, 2 * n:] + new) + update * h]

    return _walk(x, mask, states, reverse, step)


def _run_rnn(call, layer, x, mask, states, reverse, peep):
    if layer.names[0] in ("tanh", "relu") and not layer.clip:
        y = rnn_sequence(F.linear(x, layer.w, _bias(layer.b, layer.rb)), mask, states[0], layer.r, activation=layer.names[0],
                         reverse=reverse)
        return y, (y[0 if reverse else -1],)

    def step(xt, h):
        return [layer.act(0, F.linear(xt, layer.w, layer.b) + F.linear(h, layer.r, layer.rb))]

    return _walk(x, mask, states, reverse, step)


def _recurrent(call, run, gates, defaults, x, w, r, b, lengths, starts, peep=None):
    """Run all directions of a recurrent node; return (all states, last states ...)."""
    batch_first = call.get("layout", 0)
    if batch_first:
        x, starts = x.transpose(0, 1), [None if s is None else s.transpose(0, 1) for s in starts]
    steps, batch, size = x.shape[0], x.shape[1], r.shape[-1]
    mask = None if lengths is None else ing.arange(steps).reshape(-1, 1) < lengths.to(dt.int64).reshape(1, -1)
    reverse = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[call.get("direction", "forward")]
    ys, ends = [], []
    for d, backwards in enumerate(reverse):
        layer = Layer(call, w[d], r[d], None if b is None else b[d], gates, d, defaults)
        states = [ing.zeros((batch, size), dtype=x.dtype) if s is None else s[d] for s in starts]
        y, last = run(call, layer, x, mask, states, backwards, None if peep is None else peep[d])
        ys.append(y if mask is None else ing.where(mask.unsqueeze(2), y, ing.zeros_like(y)))
        ends.append(last)
    y, finals = ing.stack(ys, 1), [ing.stack(each, 0) for each in zip(*ends)]
    if batch_first:
        y, finals = y.permute(2, 0, 1, 3), [f.transpose(0, 1) for f in finals]
    return (y, *finals)


onnx_ops({
    "LSTM": lambda call, x, w, r, b=None, lengths=None, h=None, c=None, peep=None: _recurrent(
        call, _run_lstm, 4, ["Sigmoid", "Tanh", "Tanh"], x, w, r, b, lengths, [h, c], peep),
    "GRU": lambda call, x, w, r, b=None, lengths=None, h=None: _recurrent(
        call, _run_gru, 3, ["Sigmoid", "Tanh"], x, w, r, b, lengths, [h]),
    "RNN": lambda call, x, w, r, b=None, lengths=None, h=None: _recurrent(
        call, _run_rnn, 1, ["Tanh"], x, w, r, b, lengths, [h]),
})
