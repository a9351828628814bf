"""Sequences: a translator that looks back, speech by CTC, a state space, a mixture of experts, dilated convolutions."""

from ..cases import indices, randoms
from ..training import adam, next_token, weights_decayed
from ..training import sequences as next_words
from .step import Step


def translator(lib, words, width):
    """A GRU that reads, and one that writes word by word, looking at what was read."""
    nn = lib.nn

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.read, self.write = nn.Embedding(words, width), nn.Embedding(words, width)
            self.encoder, self.cell = nn.GRU(width, width, batch_first=True), nn.GRUCell(2 * width, width)
            self.query, self.head = nn.Linear(width, width), nn.Linear(2 * width, words)

        def forward(self, source, target):
            seen, state = self.encoder(self.read(source))
            state, given, logits = state[0], self.write(target), []
            for word in given.unbind(1):
                weights = lib.softmax((seen @ self.query(state)[:, :, None])[:, :, 0], 1)
                context = (weights[:, :, None] * seen).sum(1)
                state = self.cell(lib.cat([word, context], 1), state)
                logits.append(self.head(lib.cat([state, context], 1)))
            return lib.stack(logits, 1)
    return Translator()


def seq2seq(plan):
    """20 words to 20 words, teacher forcing."""
    batch, length, width, words = plan.pick((32, 20, 128, 2000), (16, 20, 128, 2000), (2, 3, 4, 11))

    def loss_of(lib, network, source, target, labels):
        logits = network(source, target)
        return lib.nn.functional.cross_entropy(logits.reshape(-1, words), labels.reshape(-1), ignore_index=0)

    yield Step(f"seq2seq GRU batch {batch}x{length}, clipping + Adam", lambda lib: translator(lib, words, width),
               [indices(words, batch, length, seed=1), *next_words(words, batch, length)], loss_of, adam, clip=1.0).case(plan)


def recogniser(lib, width, letters):
    """Convolutions over time and a bidirectional LSTM."""
    nn = lib.nn

    class Recogniser(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv1d(40, width, 5, 2, 2), nn.BatchNorm1d(width), nn.GELU(),
                                      nn.Conv1d(width, width, 5, 1, 2), nn.BatchNorm1d(width), nn.GELU())
            self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
            self.head = nn.Linear(2 * width, letters)

        def forward(self, x):
            out, _ = self.lstm(self.conv(x).transpose(1, 2))
            return self.head(out)
    return Recogniser()


def speech(plan):
    """200 frames to 30 letters by CTC."""
    batch, frames, width, letters, said = plan.pick((16, 200, 96, 29, 30), (8, 200, 96, 29, 30), (2, 12, 4, 5, 2))

    def loss_of(lib, network, x, y):
        logs = network(x).log_softmax(-1).transpose(0, 1)
        lengths = lib.full((batch,), logs.shape[0], dtype=lib.int64), lib.full((batch,), said, dtype=lib.int64)
        return lib.nn.functional.ctc_loss(logs, y, *lengths)

    yield Step(f"speech CTC batch {batch}x{frames}, Adam", lambda lib: recogniser(lib, width, letters),
               [randoms(batch, 40, frames), indices(letters - 1, batch, said) + 1], loss_of, adam).case(plan)


def selective(lib, words, width, states):
    """A language model whose layer is a selective state space, written as a loop over time (Mamba's recurrence)."""
    nn, F = lib.nn, lib.nn.functional

    class Selective(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.into, self.out = nn.Embedding(words, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
            self.conv = nn.Conv1d(width, width, 4, groups=width, padding=3)
            self.chosen, self.steps = nn.Linear(width, 2 * states), nn.Linear(width, width)
            self.rates = nn.Parameter(lib.zeros(width, states))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

        def forward(self, tokens):
            x, gate = self.into(self.words(tokens)).chunk(2, -1)
            x = F.silu(self.conv(x.transpose(1, 2))[:, :, :tokens.shape[1]].transpose(1, 2))
            into, out = self.chosen(x).chunk(2, -1)
            step = F.softplus(self.steps(x))
            decay = lib.exp(step[..., None] * -lib.exp(self.rates))
            added = (step * x)[..., None] * into[:, :, None]
            state, seen = lib.zeros_like(added[:, 0]), []
            for t in range(tokens.shape[1]):
                state = decay[:, t] * state + added[:, t]
                seen.append((state * out[:, t, None]).sum(-1))
            y = lib.stack(seen, 1) * F.silu(gate)
            return self.head(self.norm(self.out(y)))
    return Selective()


def state_space(plan):
    """A selective state space over 32 steps, step by step."""
    batch, length, width, words = plan.pick((16, 32, 64, 500), (8, 32, 64, 500), (2, 4, 4, 11))
    yield Step(f"state space batch {batch}x{length}, AdamW", lambda lib: selective(lib, words, width, 8),
               next_words(words, batch, length), next_token, weights_decayed).case(plan)


def experts(lib, width, count, hidden):
    """A mixture of experts, two for each token, which are gathered and added back."""
    nn, F = lib.nn, lib.nn.functional

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.router = nn.Linear(width, count, bias=False)
            self.experts = nn.ModuleList([nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
                                          for _ in range(count)])
            self.head = nn.Linear(width, 10)

        def forward(self, x):
            weights, chosen = self.router(x).softmax(-1).topk(2, -1)
            weights = weights / weights.sum(-1, keepdim=True)
            y = lib.zeros_like(x)
            for i, expert in enumerate(self.experts):
                rows, slots = lib.where(chosen == i)
                y = y.index_add(0, rows, expert(x[rows]) * weights[rows, slots, None])
            return self.head(F.layer_norm(x + y, (width,)))
    return Experts()


def mixture(plan):
    """8 experts, 2 for each of 512 tokens. Sizes differ in each step, so compiling takes more than the first three."""
    tokens, width, hidden = plan.pick((512, 128, 256), (256, 128, 256), (12, 8, 8))
    yield Step(f"mixture of 8 experts, {tokens} tokens, AdamW", lambda lib: experts(lib, width, 8, hidden),
               [randoms(tokens, width), indices(10, tokens)], optimizer=weights_decayed, checks=20).case(plan)


def dilated(lib, width, depth):
    """WaveNet: gated convolutions that look back twice as far in each layer, their weights normed."""
    nn = lib.nn
    normed = nn.utils.parametrizations.weight_norm

    class Dilated(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv1d(1, width, 1)
            self.gated = nn.ModuleList([normed(nn.Conv1d(width, 2 * width, 2, dilation=2 ** i)) for i in range(depth)])
            self.mixed = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(depth)])
            self.last = nn.Conv1d(width, 64, 1)

        def forward(self, x):
            x = self.first(x)
            for i, (gated, mixed) in enumerate(zip(self.gated, self.mixed)):
                a, b = gated(lib.nn.functional.pad(x, (2 ** i, 0))).chunk(2, 1)
                x = x + mixed(a.tanh() * b.sigmoid())
            return self.last(lib.relu(x))
    return Dilated()


def wavenet(plan):
    """8 layers of dilated convolutions over 1024 samples."""
    batch, length, width, depth = plan.pick((4, 1024, 32, 8), (2, 1024, 32, 8), (2, 20, 4, 2))
    yield Step(f"WaveNet {depth} layers batch {batch}x{length}, Adam", lambda lib: dilated(lib, width, depth),
               [randoms(batch, 1, length), indices(64, batch, length)], optimizer=adam).case(plan)


WORKLOADS = {"seq2seq": seq2seq, "speech": speech, "state_space": state_space, "mixture": mixture, "wavenet": wavenet}
