"""Networks for sequences and tables, written once against a module `lib` that is ingot or torch."""

import itertools


def mlp(lib, *sizes):
    """Linear layers with relu between them."""
    nn, layers = lib.nn, []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def transformer_stack(lib, layers, width, heads, causal=True, norm_first=True):
    """Blocks of attention and a network of four times the width: GPT's with `norm_first`, else BERT's."""
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def attend(self, x):
            b, s, _ = x.shape
            q, k, v = self.into(x).view(b, s, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return self.out(y.transpose(1, 2).reshape(b, s, width))

        def forward(self, x):
            if norm_first:
                x = x + self.attend(self.norm1(x))
                return x + self.mlp(self.norm2(x))
            x = self.norm1(x + self.attend(x))
            return self.norm2(x + self.mlp(x))

    return nn.Sequential(*(Block() for _ in range(layers)))


def gpt(lib, vocabulary, layers, width, heads, length):
    """A language model of transformer blocks: tokens [batch, length] to logits."""
    nn = lib.nn

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = transformer_stack(lib, layers, width, heads)
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.positions.weight[:tokens.shape[1]]
            return self.head(self.norm(self.blocks(x)))
    return GPT()


def lstm_outputs(lib, width, layers=2):
    """An LSTM that gives its outputs alone."""
    class Outputs(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = lib.nn.LSTM(width, width, layers, batch_first=True)

        def forward(self, x):
            return self.lstm(x)[0]
    return Outputs()


def lstm_lm(lib, vocabulary, width, layers=2):
    """A language model of LSTM layers: tokens [batch, length] to logits."""
    nn = lib.nn
    return nn.Sequential(nn.Embedding(vocabulary, width), lstm_outputs(lib, width, layers), nn.Linear(width, vocabulary))


def vae(lib, pixels=784, hidden=400, latent=20):
    """A variational autoencoder; the noise is given, so that all libraries draw the same."""
    nn, F = lib.nn, lib.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(pixels, hidden)
            self.mean, self.spread = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
            self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

        def forward(self, x, noise):
            h = F.relu(self.encoder(x))
            mean, spread = self.mean(h), self.spread(h)
            return self.decoder(mean + noise * (0.5 * spread).exp()), mean, spread
    return VAE()


def ncf(lib, users=6040, items=3706, width=32):
    """Neural collaborative filtering: a product of embeddings beside a network on two others."""
    nn = lib.nn

    class NCF(nn.Module):
        def __init__(self):
            super().__init__()
            self.user, self.item = nn.Embedding(users, width), nn.Embedding(items, width)
            self.deep_user, self.deep_item = nn.Embedding(users, width), nn.Embedding(items, width)
            self.mlp = nn.Sequential(mlp(lib, 2 * width, 2 * width, width, width // 2), nn.ReLU())
            self.head = nn.Linear(width + width // 2, 1)

        def forward(self, users, items):
            product = self.user(users) * self.item(items)
            deep = self.mlp(lib.cat([self.deep_user(users), self.deep_item(items)], -1))
            return self.head(lib.cat([product, deep], -1)).squeeze(-1)
    return NCF()
