"""A sequence to sequence transformer, positional encoding, masks, attention."""

import math
from typing import Optional, assert_type

import ingot
import ingot.nn as nn
from ingot import Tensor
from ingot.nn import TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer


class PositionalEncoding(nn.Module):
    pe: Tensor

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 500):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = ingot.arange(max_len).unsqueeze(1)
        div_term = ingot.exp(ingot.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = ingot.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = ingot.sin(position * div_term)
        pe[:, 0, 1::2] = ingot.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe[:x.size(0)]
        return self.dropout(x)


class Model(nn.Module):
    def __init__(self, ntoken: int, d_model: int = 32, nhead: int = 4, nlayers: int = 2) -> None:
        super().__init__()
        self.pos_encoder = PositionalEncoding(d_model)
        self.encoder = TransformerEncoder(TransformerEncoderLayer(d_model, nhead, 64, 0.1, activation="gelu", batch_first=False), nlayers)
        self.decoder = TransformerDecoder(TransformerDecoderLayer(d_model, nhead), num_layers=nlayers)
        self.embedding = nn.Embedding(ntoken, d_model)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, ntoken)
        self.embedding.weight.data.uniform_(-0.1, 0.1)
        self.linear.bias.data.zero_()

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Optional[Tensor] = None) -> Tensor:
        src = self.pos_encoder(self.embedding(src) * math.sqrt(self.d_model))
        if src_mask is None:
            src_mask = nn.Transformer.generate_square_subsequent_mask(len(src))
        memory = self.encoder(src, src_mask)
        return self.linear(self.decoder(self.embedding(tgt), memory))


model = Model(50)
output = model(ingot.randint(50, (7, 2)), ingot.randint(50, (5, 2)))
assert_type(output, Tensor)
loss = nn.CrossEntropyLoss()(output.view(-1, 50), ingot.randint(50, (10,)))
attention = nn.MultiheadAttention(32, 4, batch_first=True)
q = ingot.randn(2, 5, 32)
mixed, weights = attention(q, q, q, need_weights=True, attn_mask=ingot.ones(5, 5).tril() == 0)
assert_type(mixed, Tensor)
whole = nn.Transformer(d_model=32, nhead=4, num_encoder_layers=1, num_decoder_layers=1)
fused = nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
mask = ingot.triu(ingot.full((5, 5), float("-inf")), diagonal=1)
print(loss.item(), weights.shape, whole(q, q).shape, fused.shape, mask, math.exp(loss.item()))
