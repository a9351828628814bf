"""Small things that programs do all the time, eagerly: what a call itself costs, beside torch.

A table is {name: make}, and `make(lib)` gives a function of no arguments, written once for both libraries.
"""

import numpy as np

from .cases import distinct, indices, randoms
from .harness import Case
from .libraries import libraries, weights_of

MEAN_BAR = None


def cases(table, plan, tolerance=1e-4):
    """One case for each entry of a table: eager ingot, and torch as it is."""
    for name, make in table.items():
        calls = {eager(lib): make(lib) for lib in libraries(plan, compiled=False)}
        yield Case(name, calls, bars={"eager": 1.0}, tolerance=tolerance)


def eager(lib) -> str:
    """Return the label of a library that runs one operator at a time."""
    return "ingot eager" if lib.name == "ingot" else lib.name


def on(array, fn, grad=False):
    """Makes `fn(t)` of one tensor."""
    def make(lib):
        t = lib.tensor(array, grad)
        return lambda: fn(t)
    return make


def on_several(arrays, fn, grads=()):
    """Makes `fn(lib, *tensors)` of several."""
    def make(lib):
        tensors = [lib.tensor(a, i in grads) for i, a in enumerate(arrays)]
        return lambda: fn(lib.module, *tensors)
    return make


def then(*steps):
    """Return the last of several values: statements of a lambda."""
    return steps[-1]


_M, _V, _ONE = randoms(32, 64), randoms(64), np.float32(0.5)
_GRID = randoms(64, 64, 8)
_MASK = indices(2, 32, 64).astype(bool)
_ROWS = indices(32, 8)

INDEXING = {
    "x[i]": on(_M, lambda t: t[3]),
    "x[i, j]": on(_M, lambda t: t[3, 5]),
    "x[a:b]": on(_M, lambda t: t[2:9]),
    "x[:, a:b]": on(_M, lambda t: t[:, 2:9]),
    "x[..., None]": on(_M, lambda t: t[..., None]),
    "x[indices]": on_several([_M, _ROWS], lambda lib, t, i: t[i]),
    "x[rows, columns]": on_several([_M, _ROWS, _ROWS], lambda lib, t, i, j: t[i, j]),
    "x[mask]": on_several([_M, _MASK], lambda lib, t, m: t[m]),
    "x[i] = v": on_several([_M, _V], lambda lib, t, v: t.__setitem__(3, v)),
    "x[i, j] = 1.0": on(_M, lambda t: t.__setitem__((3, 5), 1.0)),
    "x[:, a:b] = 0": on(_M, lambda t: t.__setitem__((slice(None), slice(2, 9)), 0)),
    "x[mask] = 0": on_several([_M, _MASK], lambda lib, t, m: t.__setitem__(m, 0)),
    "x[indices] = v": on_several([_M, _ROWS, _V], lambda lib, t, i, v: t.__setitem__(i, v)),
    "x[i].index_add_(0, indices, v)": on_several([_M, _ROWS, _V[:8] * 0], lambda lib, t, i, v: t[3].index_add_(0, i, v)),
    "parts of larger tensors": on_several([_GRID, _GRID], lambda lib, a, b: a[1:-1, 1:-1, :7] * b[1:-1, 1:-1, 1:]),
    "gather": on_several([_M, indices(64, 32, 1)], lambda lib, t, i: t.gather(1, i)),
    "index_select": on_several([_M, _ROWS], lambda lib, t, i: t.index_select(0, i)),
    "masked_fill": on_several([_M, _MASK], lambda lib, t, m: t.masked_fill(m, 0.0)),
    "for row in x": on(_M, lambda t: list(t)),
    "view": on(_M, lambda t: t.view(64, 32)),
    "x.T": on(_M, lambda t: t.T),
    "unsqueeze": on(_M, lambda t: t.unsqueeze(0)),
    "transpose": on(_M, lambda t: t.transpose(0, 1)),
    "reshape": on(_M, lambda t: t.reshape(-1)),
    "expand": on(_V, lambda t: t.expand(32, 64)),
    "split": on(_M, lambda t: t.split(8)),
    "chunk": on(_M, lambda t: t.chunk(2, dim=1)),
}

READING = {
    "item()": on(_ONE, lambda t: t.item()),
    "float(t)": on(_ONE, lambda t: float(t)),
    "if t > 0": on(_ONE, lambda t: bool(t > 0)),
    "shape": on(_M, lambda t: t.shape[0]),
    "len": on(_M, lambda t: len(t)),
    "size(0)": on(_M, lambda t: t.size(0)),
    "tolist()": on(_V, lambda t: t.tolist()),
    "numpy()": on(_M, lambda t: t.numpy()),
    "detach().numpy()": on(_M, lambda t: t.detach().numpy(), True),
    "detach()": on(_M, lambda t: t.detach(), True),
    "clone()": on(_M, lambda t: t.clone()),
    "float()": on(_ROWS, lambda t: t.float()),
    "to(float64)": on_several([_M], lambda lib, t: t.to(lib.float64)),
    "argmax(1)": on(_M, lambda t: t.argmax(1)),
    "argmax(1) == y, mean": on_several([_M, indices(64, 32)], lambda lib, t, y: (t.argmax(1) == y).float().mean().item()),
    "max(1)": on(_M, lambda t: t.max(1)),
    "topk(5)": on(_M, lambda t: t.topk(5)),
    "sort": on(_V, lambda t: t.sort()),
}

CREATION = {
    "zeros(8, 8)": on_several([], lambda lib: lib.zeros(8, 8)),
    "ones(64)": on_several([], lambda lib: lib.ones(64)),
    "full": on_several([], lambda lib: lib.full((8, 8), 2.0)),
    "zeros_like": on_several([_M], lambda lib, t: lib.zeros_like(t)),
    "arange(10)": on_several([], lambda lib: lib.arange(10)),
    "linspace(0, 1, 50)": on_several([], lambda lib: lib.linspace(0, 1, 50)),
    "eye(8)": on_several([], lambda lib: lib.eye(8)),
    "tensor(1.0)": on_several([], lambda lib: lib.tensor(1.0)),
    "tensor([1.0, 2.0, 3.0])": on_several([], lambda lib: lib.tensor([1.0, 2.0, 3.0])),
    "from_numpy": on_several([], lambda lib: lib.from_numpy(_M)),
    "tensor(array)": on_several([], lambda lib: lib.tensor(_M)),
    "stack of 8 numbers": on_several([*distinct(8)], lambda lib, *ts: lib.stack(ts)),
    "stack of 8 rows": on_several([*randoms(8, 64)], lambda lib, *ts: lib.stack(ts)),
    "cat of 2": on_several([_M, _M], lambda lib, a, b: lib.cat([a, b])),
    "cat of 2, dim 1": on_several([_M, _M], lambda lib, a, b: lib.cat([a, b], dim=1)),
}

RANDOM = {
    "randn(8, 4)": on_several([], lambda lib: lib.randn(8, 4)),
    "rand(8, 4)": on_several([], lambda lib: lib.rand(8, 4)),
    "randint": on_several([], lambda lib: lib.randint(0, 10, (8,))),
    "randn_like": on_several([_M], lambda lib, t: lib.randn_like(t)),
    "randperm(64)": on_several([], lambda lib: lib.randperm(64)),
    "bernoulli": on(np.full((8, 4), 0.5, np.float32), lambda t: t.bernoulli()),
    "multinomial": on(np.full((8, 4), 0.25, np.float32), lambda t: t.multinomial(1)),
    "Categorical, sample and log_prob": on_several([randoms(8, 4)], lambda lib, t: sample(lib, t)),
    "Normal, sample and log_prob": on_several([randoms(8, 4)], lambda lib, t: sample_normal(lib, t)),
    "dropout": on_several([_M], lambda lib, t: lib.nn.functional.dropout(t, 0.5)),
}


def sample(lib, logits):
    """An action and its log probability."""
    d = lib.distributions.Categorical(logits=logits)
    action = d.sample()
    return action, d.log_prob(action)


def sample_normal(lib, mean):
    """The same, of numbers."""
    d = lib.distributions.Normal(mean, 1.0)
    action = d.sample()
    return action, d.log_prob(action)


ARITHMETIC = {
    "a + b": on_several([_V, _V], lambda lib, a, b: a + b),
    "a * 2.0": on(_V, lambda t: t * 2.0),
    "1 - a": on(_V, lambda t: 1 - t),
    "-a": on(_V, lambda t: -t),
    "a ** 2": on(_V, lambda t: t ** 2),
    "a > 0": on(_V, lambda t: t > 0),
    "a == b": on_several([_V, _V], lambda lib, a, b: a == b),
    "(a > 0) & (b > 0)": on_several([_V, _V], lambda lib, a, b: (a > 0) & (b > 0)),
    "a + b, int64": on_several([_ROWS, _ROWS], lambda lib, a, b: a + b),
    "a % 5, int64": on(_ROWS, lambda t: t % 5),
    "a // 2, int64": on(_ROWS, lambda t: t // 2),
    "a + int64": on_several([_M[0, :8], _ROWS], lambda lib, a, b: a + b),
    "a += b": on_several([_V, _V * 0], lambda lib, a, b: a.__iadd__(b)),
    "a *= 1.0": on(_V, lambda t: t.__imul__(1.0)),
    "add_(b, alpha)": on_several([_V, _V * 0], lambda lib, a, b: a.add_(b, alpha=0.5)),
    "zero_()": on(_V, lambda t: t.zero_()),
    "copy_": on_several([_V, _V], lambda lib, a, b: a.copy_(b)),
    "exp": on(_V, lambda t: t.exp()),
    "relu": on_several([_M], lambda lib, t: lib.relu(t)),
    "sqrt": on(np.abs(_V), lambda t: t.sqrt()),
    "clamp(0, 1)": on(_V, lambda t: t.clamp(0, 1)),
    "maximum": on_several([_V, _V], lambda lib, a, b: lib.maximum(a, b)),
    "min(a, b)": on_several([_V, _V], lambda lib, a, b: lib.min(a, b)),
    "where": on_several([_M, _MASK], lambda lib, t, m: lib.where(m, t, 0.0)),
    "sum()": on(_V, lambda t: t.sum()),
    "sum(1)": on(_M, lambda t: t.sum(1)),
    "mean()": on(_V, lambda t: t.mean()),
    "std()": on(_V, lambda t: t.std()),
    "norm()": on(_V, lambda t: t.norm()),
    "max()": on(_V, lambda t: t.max()),
    "any()": on(_MASK, lambda t: t.any()),
    "cumsum": on(_V, lambda t: t.cumsum(0)),
    "softmax 8x4": on(randoms(8, 4), lambda t: t.softmax(-1)),
    "log_softmax 8x4": on(randoms(8, 4), lambda t: t.log_softmax(-1)),
    "4x64 @ 64x64": on_several([randoms(4, 64), randoms(64, 64)], lambda lib, a, b: a @ b),
    "3x3 @ 3": on_several([randoms(3, 3), randoms(3)], lambda lib, a, b: a @ b),
    "dot": on_several([_V, _V], lambda lib, a, b: a.dot(b)),
    "bmm 8x4x4": on_several([randoms(8, 4, 4), randoms(8, 4, 4)], lambda lib, a, b: a.bmm(b)),
    "einsum": on_several([_M, _M], lambda lib, a, b: lib.einsum("ij,ij->i", a, b)),
    "one_hot": on_several([_ROWS], lambda lib, i: lib.nn.functional.one_hot(i, 32)),
}


_K, _K2 = np.abs(randoms(1024)) + np.float32(0.1), randoms(1024)
_MANY, _MANY2 = np.abs(randoms(1 << 20)) + np.float32(0.1), randoms(1 << 20)
_PLANES, _POINTS = randoms(4, 16, 64, 60), np.tanh(randoms(4, 64, 60, 2))
_BAGS = indices(1000, 512, 4)


def backward(fn):
    """`fn` of tensors, and its gradients."""
    def step(lib, *tensors):
        for t in tensors:
            t.grad = None
        fn(lib.nn.functional, *tensors).sum().backward()
        return [t.grad for t in tensors if t.grad is not None]
    return step


FUNCTIONS = {
    "a ** b, 1024": on_several([_K, _K2], lambda lib, a, b: a ** b),
    "a ** b, 2**20": on_several([_MANY, _MANY2], lambda lib, a, b: a ** b),
    "a ** 2.5, 1024": on(_K, lambda t: t ** 2.5),
    "a ** -0.5, 2**20": on(_MANY, lambda t: t ** -0.5),
    "pow_(1), 1024": on(_K, lambda t: t.pow_(1)),
    "a ** b, backward, 2**20": on_several([_MANY, _MANY2], backward(lambda f, a, b: a ** b), grads=(0, 1)),
    "gammainc, 1024": on_several([_K, _K], lambda lib, a, b: lib.special.gammainc(a, b)),
    "gammainc, 2**20": on_several([_MANY, _MANY], lambda lib, a, b: lib.special.gammainc(a, b)),
    "i1e, 2**20": on_several([_MANY], lambda lib, t: lib.special.i1e(t)),
    "bessel_j0, 2**20": on_several([_MANY], lambda lib, t: lib.special.bessel_j0(t)),
    "erfc, 2**20": on_several([_MANY2], lambda lib, t: lib.erfc(t)),
    "erfcx, 1024": on_several([_K2], lambda lib, t: lib.special.erfcx(t)),
    "cummax, 2**20": on(_MANY2, lambda t: t.cummax(0)),
    "median, 1024": on(_K2, lambda t: t.median()),
    "quantile, 1024": on_several([_K2], lambda lib, t: lib.quantile(t, 0.3)),
    "unique_consecutive, 1024": on(indices(4, 1024), lambda t: t.unique_consecutive()),
    "tril 1024 x 1024": on(_MANY2.reshape(1024, 1024), lambda t: t.tril()),
    "binary_cross_entropy, backward, 1024": on_several([_K2, indices(2, 1024).astype(np.float32)], backward(
        lambda f, a, b: f.binary_cross_entropy_with_logits(a, b)), grads=(0,)),
    "vander 1024 x 16": on_several([np.tanh(_K2)], lambda lib, t: lib.vander(t, 16)),
    "combinations of 500": on_several([_K2[:500]], lambda lib, t: lib.combinations(t)),
    "histogram, 2**20": on_several([_MANY2], lambda lib, t: lib.histogram(t, 100)),
    "adaptive_max_pool2d(7)": on_several([_PLANES], lambda lib, t: lib.nn.functional.adaptive_max_pool2d(t, 7)),
    "adaptive_max_pool2d(1)": on_several([_PLANES], lambda lib, t: lib.nn.functional.adaptive_max_pool2d(t, 1)),
    "grid_sample": on_several([_PLANES, _POINTS], lambda lib, t, g: lib.nn.functional.grid_sample(t, g, align_corners=False)),
    "grid_sample, backward": on_several([_PLANES, _POINTS], backward(lambda f, t, g: f.grid_sample(t, g, align_corners=False)),
                                        grads=(0, 1)),
    "embedding_bag": on_several([_BAGS, randoms(1000, 64)], lambda lib, i, w: lib.nn.functional.embedding_bag(i, w)),
    "batch_norm 4096 x 64, training": on_several([randoms(4096, 64)], lambda lib, t: lib.nn.functional.batch_norm(
        t, None, None, training=True)),
    "layer_norm 16 x 64": on_several([_K2.reshape(16, 64)], lambda lib, t: lib.nn.functional.layer_norm(t, (64,))),
    "softmax 16 x 64": on(_K2.reshape(16, 64), lambda t: t.softmax(-1)),
    "gelu, 1024": on_several([_K2], lambda lib, t: lib.nn.functional.gelu(t)),
    "mse_loss, 1024": on_several([_K, _K2], lambda lib, a, b: lib.nn.functional.mse_loss(a, b)),
    "flip 32 x 32": on(_K2.reshape(32, 32), lambda t: t.flip(1)),
}


def layer(build, array, grad=False):
    """Makes a call of a module with equal weights in both libraries."""
    def make(lib):
        module = build(lib.module.nn)
        t = lib.tensor(array)
        if dict(module.state_dict()):
            lib.load(module, _weights(build))
        if grad:
            return lambda: module(t)

        def call():
            with lib.module.no_grad():
                return module(t)
        return call
    return make


def _weights(build):
    import ingot

    with ingot.random.fork_rng():
        ingot.manual_seed(0)
        return weights_of(build(ingot.nn))


def mlp(nn):
    """Three layers."""
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))


def images(nn):
    """A small convolution."""
    return nn.Conv2d(3, 8, 3, padding=1)


_STATES = randoms(8, 4)
LAYERS = {
    "Identity": layer(lambda nn: nn.Identity(), _STATES),
    "ReLU": layer(lambda nn: nn.ReLU(), _STATES),
    "Linear 8x4 to 64": layer(lambda nn: nn.Linear(4, 64), _STATES),
    "Linear 8x4 to 64, with grad": layer(lambda nn: nn.Linear(4, 64), _STATES, True),
    "MLP 8x4": layer(mlp, _STATES),
    "MLP 8x4, with grad": layer(mlp, _STATES, True),
    "LayerNorm 8x64": layer(lambda nn: nn.LayerNorm(64), randoms(8, 64)),
    "Embedding": layer(lambda nn: nn.Embedding(32, 16), _ROWS),
    "Conv2d 3 to 8, 16x16": layer(images, randoms(2, 3, 16, 16)),
    "max_pool 16x16": layer(lambda nn: nn.MaxPool2d(2), randoms(2, 3, 16, 16)),
    "LSTM 8 steps of 16": layer(lambda nn: nn.LSTM(8, 16), randoms(8, 2, 8)),
    "LSTMCell 16": layer(lambda nn: nn.LSTMCell(8, 16), randoms(2, 8)),
}


def with_model(act):
    """Makes `act(lib, model, x, y)` on a small network."""
    def make(lib):
        model = lib.load(mlp(lib.module.nn), _weights(mlp))
        x, y = lib.tensor(_STATES), lib.tensor(indices(2, 8))
        return act(lib.module, model, x, y)
    return make


def losses(lib, model, x, y):
    """Forward and backward."""
    def call():
        model.zero_grad()
        loss = lib.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss
    return call


def steps_of(optimizer, **options):
    """`optimizer.step()` alone."""
    def act(lib, model, x, y):
        losses(lib, model, x, y)()
        stepping = getattr(lib.optim, optimizer)(model.parameters(), lr=1e-8, **options)
        return lambda: stepping.step()
    return act


def whole_step(lib, model, x, y):
    """Return a step of a training loop for one batch."""
    optimizer = lib.optim.Adam(model.parameters(), lr=1e-8)

    def call():
        loss = lib.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        lib.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()
    return call


def after_backward(act):
    """`act(lib, model)` on a model with gradients."""
    def with_gradients(lib, model, x, y):
        losses(lib, model, x, y)()
        return lambda: act(lib, model)
    return with_model(with_gradients)


def epoch(lib, model, x, y):
    """All batches of a small data set."""
    data = lib.utils.data.TensorDataset(lib.arange(64.0).reshape(64, 1), lib.arange(64))
    loader = lib.utils.data.DataLoader(data, batch_size=16)
    return lambda: [batch[0] for batch in loader]


def nothing(lib):
    """Enters a mode and leaves it."""
    with lib.no_grad():
        return 0


def zeroing(lib, model):
    """zero_grad where gradients are there."""
    for p in model.parameters():
        p.grad = lib.zeros_like(p)
    model.zero_grad()


STEPS = {
    "forward + backward": with_model(losses),
    "SGD.step": with_model(steps_of("SGD")),
    "SGD.step, momentum": with_model(steps_of("SGD", momentum=0.9)),
    "Adam.step": with_model(steps_of("Adam")),
    "AdamW.step": with_model(steps_of("AdamW")),
    "RMSprop.step": with_model(steps_of("RMSprop")),
    "training step": with_model(whole_step),
    "zero_grad": after_backward(zeroing),
    "clip_grad_norm_": after_backward(lambda lib, model: lib.nn.utils.clip_grad_norm_(model.parameters(), 1e9)),
    "state_dict": after_backward(lambda lib, model: list(model.state_dict().values())),
    "parameters()": after_backward(lambda lib, model: len(list(model.parameters()))),
    "train() and eval()": after_backward(lambda lib, model: then(model.train(), model.eval(), 0)),
    "epoch of a DataLoader": with_model(epoch),
    "(w * x).sum().backward()": on_several([_V, _V], lambda lib, w, x: (w * x).sum().backward(), grads=(0,)),
    "autograd.grad": on_several([_V, _V], lambda lib, w, x: lib.autograd.grad((w * x).sum(), w)[0], grads=(0,)),
    "with no_grad()": on_several([], lambda lib: nothing(lib)),
}


def workload(table, doc, make=cases, every=3, **facts):
    """Return a workload of the cases of a table; quick runs take every third entry by default."""
    def work(plan):
        yield from make(dict([*table.items()][::plan.pick(1, every, 1)]), plan, **facts)
    work.__doc__ = doc
    return work


WORKLOADS = {
    "indexing": workload(INDEXING, "Parts of tensors, read and written."),
    "reading": workload(READING, "Tensors to Python, to numpy, to other dtypes, and in order."),
    "creation": workload(CREATION, "New tensors."),
    "draws": workload(RANDOM, "Random numbers and distributions.", tolerance=None),
    "arithmetic": workload(ARITHMETIC, "Functions of a few numbers."),
    "functions": workload(FUNCTIONS, "Functions of a thousand and of a million numbers."),
    "small_layers": workload(LAYERS, "Modules on small batches."),
    "small_steps": workload(STEPS, "Backward and optimizers on a small network."),
}
