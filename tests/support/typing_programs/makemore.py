"""Bigrams and a perceptron over names, with plain tensors."""

import random

import ingot
import ingot.nn.functional as F

words = ["emma", "olivia", "ava"]
chars = [chr(ord("a") + i) for i in range(26)]
stoi = {s: i + 1 for i, s in enumerate(chars)}
stoi["."] = 0
itos = {i: s for s, i in stoi.items()}

N = ingot.zeros((27, 27), dtype=ingot.int32)
for w in words:
    chs = [".", *w, "."]
    for ch1, ch2 in zip(chs, chs[1:]):
        N[stoi[ch1], stoi[ch2]] += 1
P = (N + 1).float()
P /= P.sum(1, keepdim=True)

g = ingot.Generator().manual_seed(2147483647)
for _ in range(5):
    out: list[str] = []
    ix = 0
    while True:
        ix = ingot.multinomial(P[ix], num_samples=1, replacement=True, generator=g).item()
        out.append(itos[ix])
        if ix == 0:
            break
    print("".join(out))


def build_dataset(words: list[str], block_size: int = 3) -> tuple[ingot.Tensor, ingot.Tensor]:
    X: list[list[int]] = []
    Y: list[int] = []
    for w in words:
        context = [0] * block_size
        for ch in w + ".":
            X.append(context)
            Y.append(stoi[ch])
            context = [*context[1:], stoi[ch]]
    return ingot.tensor(X), ingot.tensor(Y)


random.shuffle(words)
Xtr, Ytr = build_dataset(words)
C = ingot.randn((27, 10), generator=g)
W1 = ingot.randn((30, 200), generator=g) * (5 / 3) / (30 ** 0.5)
b1 = ingot.randn(200, generator=g) * 0.01
W2 = ingot.randn((200, 27), generator=g) * 0.1
b2 = ingot.zeros(27)
parameters = [C, W1, b1, W2, b2]
print(sum(p.nelement() for p in parameters))
for p in parameters:
    p.requires_grad = True

lossi: list[float] = []
for i in range(100):
    idx = ingot.randint(0, Xtr.shape[0], (32,), generator=g)
    emb = C[Xtr[idx]]
    h = ingot.tanh(emb.view(emb.shape[0], -1) @ W1 + b1)
    logits = h @ W2 + b2
    loss = F.cross_entropy(logits, Ytr[idx])
    for p in parameters:
        p.grad = None
    loss.backward()
    lr = 0.1 if i < 50 else 0.01
    for p in parameters:
        assert p.grad is not None
        p.data += -lr * p.grad
    lossi.append(loss.log10().item())
print(f"{loss.item():.4f}", ingot.tensor(lossi).view(-1, 10).mean(1))
print((h.abs() > 0.99).float().mean().item(), h.mean(0, keepdim=True), h.std(0, unbiased=True))
