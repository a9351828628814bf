"""Small models that become C libraries in tests, and their arguments."""

import ingot
from ingot import jit, nn


class Words(nn.Module):
    """Lookups and a mask."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 6)

    def forward(self, words, mask):
        x = self.table(words)
        return x.masked_fill(mask[..., None], -1), mask.sum(-1), mask.to(ingot.float64)


class Kinds(nn.Module):
    """Numbers of several sizes, and one without dims."""

    def forward(self, small, half, scale):
        return small + 1, half * 2, (small * scale).sum(), scale + 1


class Counter(nn.Module):
    """A state of two buffers, of which one is a result as well."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", ingot.zeros((), dtype=ingot.int64))
        self.register_buffer("last", ingot.zeros(4))

    def forward(self, x):
        self.seen += x.shape[0]
        self.last.copy_(x.amax(0))
        return x * self.seen, self.last


def images():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(200, 3)).eval()


def words_given():
    return ingot.randint(0, 11, (2, 5)), ingot.rand(2, 5) > 0.5


def kinds_given():
    return ingot.arange(6, dtype=ingot.int8).view(2, 3), ingot.rand(3).half(), ingot.rand((), dtype=ingot.float64)


def numbers(words, x, mask):
    """Whole numbers that cannot be divided, shifted or converted."""
    return (words // words.roll(1, 1), words % words.roll(1, 1), words % 3, words << (words & 63) >> 3,
            words.to(ingot.int32) // -1, x.to(ingot.int8), x.long(), mask.sum(), mask ^ True, mask.long() * 2)


def places(words, x, mask):
    """Data that becomes addresses."""
    rows, n, at = ingot.arange(12.0).view(4, 3), ingot.arange(4), (x * 3).long().clamp(0, 3)
    return (rows[at], rows[mask.long()], n[mask.long().cumsum(-1) - 1], rows[x.argmax(-1)], rows.gather(0, at[:, :3] % 2),
            rows[x.masked_fill(mask, 2).max(-1).indices], rows[(words % 4).clamp(0, 3)])


def scattered(words, x, mask):
    """Data that says where results go."""
    at = (x * 3).long().clamp(0, 3)
    return ingot.zeros(4).index_add(0, at[0], x[0]), ingot.zeros(2, 4).scatter_add(1, mask.long(), x)


def ordered(words, x, mask):
    """Orders of numbers that have none."""
    top = x.topk(2)
    return (x.sort(-1).indices, top.values, ingot.arange(4).gather(0, top.indices[0]), words.argsort(-1), x.argmin(-1),
            mask.sort(-1).values, ingot.bucketize(x, ingot.tensor([0.0, 1.0])), ingot.searchsorted(ingot.tensor([0.0, 1.0]), x))


def sampled(words, x, mask):
    """Coordinates in a picture."""
    picture, grid = x.view(1, 1, 2, 4), x.view(1, 2, 2, 2) * 3
    return [nn.functional.grid_sample(picture, grid, mode=mode, padding_mode=padding, align_corners=False)
            for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection")]


def losses(words, x, mask):
    """Classes."""
    scores = x.repeat(2, 3)[:, :9]
    return (nn.functional.cross_entropy(scores, words[0], reduction="none"), nn.functional.one_hot(words.clamp(0, 8), 9))


class Lookups(nn.Module):
    """Operators that refuse some indices."""

    def __init__(self):
        super().__init__()
        self.bags = nn.EmbeddingBag(9, 4, mode="sum")
        self.table = nn.Embedding(9, 4)

    def forward(self, words, offsets):
        return self.bags(words.view(-1), offsets), self.table(words), ingot.zeros(9).index_add(0, words[0], ingot.ones(4))


def mixed_given():
    return ingot.randint(1, 9, (2, 4)), ingot.rand(2, 4), ingot.rand(2, 4) > 0.5


def lookups_given():
    return ingot.randint(0, 8, (2, 4)), ingot.tensor([0, 3, 5])


# By name: (module, arguments, sizes that may change in a file of which the library is made, threads).
MODELS = {"words": (Words, words_given, None, 1), "kinds": (Kinds, kinds_given, None, 1),
          "free sizes": (images, lambda: (ingot.randn(2, 3, 5, 5),), {"input": {0: "batch"}}, 1),
          "threads": (images, lambda: (ingot.randn(2, 3, 5, 5),), None, 2),
          "state": (Counter, lambda: (ingot.randn(3, 4),), None, 1)}
# Functions whose data is unusual: (function or module, arguments).
VALUES = {"any words": (Words, words_given), "any kinds": (Kinds, kinds_given), "lookups": (Lookups, lookups_given),
          **{fn.__name__: ((lambda fn=fn: fn), mixed_given) for fn in (numbers, places, scattered, ordered, sampled, losses)}}


class Model:
    """A library of MODELS or VALUES with arrays for its call, and what eager code gives for them."""

    def __init__(self, name, folder, **options):
        make, given, dynamic, threads = MODELS[name] if name in MODELS else (*VALUES[name], None, 1)
        ingot.manual_seed(3)
        fn, args = make(), given()
        is_stateful = name == "state"
        source = jit.export(fn, args, folder / "m.ingot", dynamic=dynamic) if dynamic else fn
        self.written = jit.to_c(source, args, folder / "model", threads=threads, stateful=is_stateful, **options)
        with ingot.no_grad():
            want = fn(*args)
        self.inputs = [t.numpy() for t in args]
        self.outputs = [t.numpy() for t in (want if isinstance(want, (tuple, list)) else (want,))]
        self.state_bytes = 128 if is_stateful else 0
