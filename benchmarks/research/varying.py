"""Sizes that differ at each step: sentences and graphs of any length, generated tokens, selected boxes."""

import numpy as np

from ..cases import varying_case
from ..sequences import gpt, transformer_stack
from ..training import BARS, Task, weights_decayed
from ..vision import mobilenet_v2, resnet18
from .sciences import graph_layers

_SEED = 20


def fitted(task, batches, plan):
    """A task on other arrays at each step."""
    return varying_case(task.name, task.fitting, batches, plan, tolerance=task.tolerance, bars=task.bars, checks=task.checks)


def texts(plan):
    """A language model on batches of sentences that are as long as the longest of them."""
    batch, layers, width, words, most = plan.pick((16, 4, 128, 512, 96), (8, 4, 128, 512, 96), (2, 1, 16, 20, 9))
    rng = np.random.default_rng(_SEED)

    def sentences():
        tokens = rng.integers(1, words, (batch, int(rng.integers(most // 3, most)) + 1))
        ends = rng.integers(tokens.shape[1] // 2, tokens.shape[1] + 1, batch)
        tokens[np.arange(tokens.shape[1]) >= ends[:, None]] = 0
        return tokens[:, :-1].copy(), tokens[:, 1:].copy()

    def loss_of(lib, network, tokens, targets):
        return lib.nn.functional.cross_entropy(network(tokens).transpose(1, 2), targets, ignore_index=0)

    task = Task(f"texts of {most // 3} to {most} tokens, GPT {layers} layers batch {batch}, AdamW",
                lambda lib: gpt(lib, words, layers, width, 4, most), [], loss_of, weights_decayed)
    yield fitted(task, [sentences() for _ in range(plan.pick(200, 50, 4))], plan)


def graphs(plan):
    """Graph attention on graphs of many sizes, eight of them side by side."""
    least, most, width = plan.pick((20, 80, 32), (20, 80, 32), (3, 6, 4))
    rng = np.random.default_rng(_SEED)

    def several():
        features, ends, first = [], [], 0
        for _ in range(8):
            nodes = int(rng.integers(least, most))
            pairs = rng.integers(0, nodes, (2, int(nodes * rng.uniform(2, 4))))
            ends += [pairs + first, np.arange(first, first + nodes)[None].repeat(2, 0)]
            features.append(rng.standard_normal((nodes, width), np.float32))
            first += nodes
        return np.concatenate(features), np.concatenate(ends, 1), rng.integers(0, 7, first)

    task = Task(f"graphs of {least} to {most} nodes, 8 at a time, AdamW", lambda lib: graph_layers(lib, width, 8), [],
                optimizer=weights_decayed)
    yield fitted(task, [several() for _ in range(plan.pick(200, 50, 4))], plan)


def sides(plan):
    """Images of any height and width, nearly none of which comes twice. The rate is small, as batch norms of a few pixels
    magnify rounding: after 16 steps of 1e-5 PyTorch's own losses in float32 are 1e-3 from those in float64. The first steps,
    in which kernels are compiled, are many here: those for widths of rows, and for algorithms of convolutions."""
    batch, width, least, most = plan.pick((2, 16, 64, 160), (2, 16, 64, 160), (1, 2, 32, 40))
    rng = np.random.default_rng(_SEED)

    def images():
        return rng.standard_normal((batch, 3, *rng.integers(least, most, 2)), np.float32), rng.integers(0, 10, batch)

    networks = ("ResNet-18", resnet18), ("MobileNetV2", mobilenet_v2)
    for name, build in plan.pick(networks, networks, networks[:1]):
        task = Task(f"{name} {width} wide, {least} to {most} pixels batch {batch}, SGD",
                    lambda lib, build=build: build(lib, width=width, classes=10), [],
                    optimizer=lambda optim, params: optim.SGD(params, lr=1e-8), checks=plan.pick(8, 8, 1))
        yield fitted(task, [images() for _ in range(plan.pick(200, 50, 4))], plan)


def decoder(lib, words, layers, width, heads):
    """A decoder that is given a token and its caches, and gives the next token and longer caches."""
    nn, F = lib.nn, lib.nn.functional

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.blocks = nn.Embedding(words, width), transformer_stack(lib, layers, width, heads)
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, token, caches):
            x, longer = self.words(token), []
            for block, (keys, values) in zip(self.blocks, caches):
                q, k, v = block.into(block.norm1(x)).view(1, 1, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
                keys, values = lib.cat([keys, k], 2), lib.cat([values, v], 2)
                seen = F.scaled_dot_product_attention(q, keys, values)
                x = x + block.out(seen.transpose(1, 2).reshape(1, 1, width))
                x = x + block.mlp(block.norm2(x))
                longer.append((keys, values))
            return self.head(self.norm(x))[:, -1].argmax(-1, keepdim=True), longer
    return Decoder()


def generation(plan):
    """A decoder writes tokens; its caches grow by one at each."""
    layers, width, heads, words, start, most = plan.pick((4, 192, 4, 1000, 64, 400), (4, 192, 4, 1000, 64, 400),
                                                         (1, 8, 2, 11, 3, 9))

    def fitting(lib):
        network = decoder(lib, words, layers, width, heads).eval()

        def step(token, caches):
            with lib.no_grad():
                return network(token, caches)
        return network, step

    def begin(lib):
        rng = np.random.default_rng(_SEED)
        caches = rng.standard_normal((layers, 2, 1, heads, start, width // heads), np.float32)
        return lib.tensor(np.zeros((1, 1), np.int64)), [(lib.tensor(k), lib.tensor(v)) for k, v in caches]

    def go_on(run, lib):
        while True:
            token, caches = begin(lib)
            for _ in range(start, most):
                token, caches = run(token, caches)
                yield token

    yield varying_case(f"generation, {layers} layers of {width}, caches of {start} to {most}", fitting, [], plan,
                       tolerance=1e-3, bars=BARS, go_on=go_on)


def suppressed(plan):
    """Of 300 boxes those above a threshold are kept, and of these the ones that no better one covers."""
    count = plan.pick(300, 300, 12)
    rng = np.random.default_rng(_SEED)

    def image():
        corners = rng.uniform(0, 80, (count, 2)).astype("f4")
        others = corners + rng.uniform(5, 40, (count, 2)).astype("f4")
        return np.concatenate([corners, others], 1), rng.random(count, np.float32)

    def fitting(lib):
        def step(boxes, scores):
            kept = scores > 0.5
            boxes, scores = boxes[kept], scores[kept]
            boxes = boxes[scores.argsort(descending=True)]
            low = lib.maximum(boxes[:, None, :2], boxes[None, :, :2])
            high = lib.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
            both = (high - low).clamp(min=0).prod(2)
            area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
            covered = (both / (area[:, None] + area[None] - both)).triu(1).amax(0) > 0.5
            return boxes[~covered]
        return lib.nn.Identity(), step

    yield varying_case(f"boxes of {count} above a threshold, not covered", fitting,
                       [image() for _ in range(plan.pick(200, 50, 4))], plan, tolerance=1e-5, bars=BARS)


WORKLOADS = {"texts": texts, "graphs": graphs, "sides": sides, "generation": generation, "suppressed": suppressed}
