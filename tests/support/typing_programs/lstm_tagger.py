"""Recurrent layers, packed sequences, states of both types."""

from typing import assert_type

import ingot
from ingot import Tensor, nn
from ingot.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Tagger(nn.Module):
    def __init__(self, words: int, tags: int, dim: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)
        self.out = nn.Linear(2 * dim, tags)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, state = self.lstm(self.embed(x), state)
        return self.out(h), state


tagger = Tagger(100, 5)
scores, (h, c) = tagger(ingot.randint(100, (2, 7)))
assert_type(scores, Tensor)
assert_type(h, Tensor)
assert_type(nn.LSTM(3, 4)(ingot.ones(5, 2, 3)), tuple[Tensor, tuple[Tensor, Tensor]])
assert_type(nn.GRU(3, 4)(ingot.ones(5, 2, 3)), tuple[Tensor, Tensor])
y, hn = nn.RNN(3, 4, nonlinearity="relu")(ingot.ones(5, 2, 3), ingot.zeros(1, 2, 4))
cell = nn.LSTMCell(3, 4)
hx, cx = ingot.zeros(2, 4), ingot.zeros(2, 4)
for step in ingot.ones(5, 2, 3):
    hx, cx = cell(step, (hx, cx))
padded = pad_sequence([ingot.ones(3, 2), ingot.ones(5, 2)], batch_first=True)
packed = pack_padded_sequence(padded, ingot.tensor([3, 5]), batch_first=True, enforce_sorted=False)
output, hidden = nn.GRU(2, 4, batch_first=True)(packed)
unpacked, lengths = pad_packed_sequence(output, batch_first=True)
print(unpacked.shape, lengths.tolist(), hidden.size(0) + 1, hx.mean() + cx.mean(), y.shape, hn.shape)
