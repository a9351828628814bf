"""A small GPT learns Shakespeare's sonnets, character by character.

Shows causal attention with `scaled_dot_product_attention`, pre-norm residual blocks, AdamW with weight decay for matrices
only, warm-up and cosine decay of the learning rate, gradient clipping, and writing text. The loss (nats per character)
falls from 4 to about 1.5 in 20 epochs of 30 steps.
"""

from pathlib import Path

from options import options

import ingot
from ingot import jit, nn, optim
from ingot.nn import functional as F
from ingot.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

TEXT = Path(__file__).parent / "data" / "sonnets.txt"
STEPS = 30


class Block(nn.Module):
    """Attention over earlier characters, then a network for each character; both added to their input."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attend(self, x):
        """Causal self-attention."""
        n, t, width = x.shape
        q, k, v = (p.view(n, t, self.heads, -1).transpose(1, 2) for p in self.qkv(x).split(width, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(n, t, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Characters to logits of the next character."""

    def __init__(self, characters, context=64, width=64, heads=4, blocks=2):
        super().__init__()
        self.context = context
        self.token = nn.Embedding(characters, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, characters, bias=False)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, x):
        x = self.token(x) + self.position(ingot.arange(x.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @ingot.no_grad()
    def write(self, text, count):
        """Appends `count` characters to text [1, T]."""
        for _ in range(count):
            logits = self(text[:, -self.context:])[:, -1]
            text = ingot.cat([text, ingot.multinomial((logits / 0.8).softmax(-1), 1)], dim=1)
        return text


def main(argv=None):
    """Trains; returns the loss of every step and the mean loss of the last 20."""
    args = options(__doc__, argv, epochs=20, quick=2)
    ingot.manual_seed(1)
    text = TEXT.read_text()
    alphabet = sorted(set(text))
    data = ingot.tensor([alphabet.index(c) for c in text])
    model = GPT(len(alphabet))
    optimizer = optim.AdamW([{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
                             {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}],
                            lr=5e-3, betas=(0.9, 0.99))
    total = args.epochs * STEPS
    scheduler = SequentialLR(optimizer, [LinearLR(optimizer, 0.1, total_iters=10), CosineAnnealingLR(optimizer, total)], [10])

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    if args.trace:
        step = jit.trace(step)
    losses = []
    for epoch in range(args.epochs):
        for _ in range(STEPS):
            at = ingot.randint(len(data) - model.context, (16, 1)) + ingot.arange(model.context + 1)
            chunk = data[at]
            losses.append(step(chunk[:, :-1], chunk[:, 1:]).item())
            scheduler.step()
        print(f"epoch {epoch + 1}: loss {sum(losses[-STEPS:]) / STEPS:.3f}")
    written = model.write(data[None, :1], 30 if args.quick else 200)
    print("".join(alphabet[i] for i in written[0].tolist()))
    return losses, sum(losses[-20:]) / 20


if __name__ == "__main__":
    main()
