"""The fixed set of programs whose generated code a baseline records.

A program is a function without arguments that returns `(fn, calls)`: the function that runs eagerly and traced, and a list of
argument tuples. It uses public names alone, so that it stays the same while files move. Shapes are small, yet large enough for
compiled kernels, and odd where kernels treat remainders apart.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import ingot
from ingot import jit, nn
from ingot.nn import functional as F

DYNAMIC = {"dynamic_sizes"}         # programs that are traced with symbolic sizes
OFTEN = 130                         # calls after which small eager composites are compiled


class Program(NamedTuple):
    """A program and where it runs."""

    make: Callable
    on_gpu: bool
    is_traced: bool


PROGRAMS: dict[str, Program] = {}


def program(fn=None, on_gpu=True, is_traced=True):
    """Enter a function into the set."""
    def enter(make):
        PROGRAMS[make.__name__] = Program(make, on_gpu, is_traced)
        return make
    return enter(fn) if fn else enter


def leaf(*shape, **options):
    """Return random numbers that require a gradient."""
    return ingot.randn(*shape, requires_grad=True, **options)


def trained(network, loss, optimizer, *inputs):
    """Return a training step of a network, with its inputs as the only call."""
    def step(*inputs):
        optimizer.zero_grad()
        value = loss(network(*inputs[:-1]), inputs[-1])
        value.backward()
        optimizer.step()
        return value.detach()
    return step, [inputs]


def with_gradients(fn):
    """Return a function of leaves that gives the result and the gradients of all that require one."""
    def run(*args):
        leaves = [a for a in args if a.requires_grad]
        y = fn(*args)
        return y.detach(), ingot.autograd.grad(y, leaves, ingot.ones_like(y))
    return run


# Functions of elements.


@program
def elementwise_chain():
    def fn(x, y, row):
        z = (x * y + row).tanh() * 0.5 - x.sigmoid() / (y.abs() + 1.0)
        return ingot.where(z > 0, z, z.exp()).clamp(-1.0, 2.0), x.gt(y) & (z < 0.25)
    return fn, [(ingot.randn(64, 515), ingot.randn(64, 515), ingot.randn(515))]


@program
def elementwise_gradients():
    def fn(x, y):
        return F.gelu(x * y) + F.silu(x) + (y * y + 1).log().sqrt()
    return with_gradients(fn), [(leaf(65, 300), leaf(65, 300))]


@program
def elementwise_dtypes():
    def fn(a, b, c, d, e):
        return a * 2 + 1, b.float() + c, (d // 3 + d % 5) ^ 7, e | (d > 2), c.exp().to(ingot.bfloat16), a.to(ingot.int32)
    return fn, [(ingot.randn(3000, dtype=ingot.float64), ingot.randn(3000).bfloat16(), ingot.randn(3000).half(),
                 ingot.arange(3000), ingot.randn(3000) > 0)]


@program
def special_functions():
    def fn(x):
        return (ingot.erf(x), ingot.lgamma(x), ingot.digamma(x), ingot.special.i0(x), ingot.special.bessel_j0(x),
                ingot.expm1(x), ingot.log1p(x.abs()), ingot.atan2(x, x + 1), ingot.special.ndtri(x.sigmoid()))
    return fn, [(ingot.rand(2048) * 5,)]


@program
def eager_composites():
    def fn(x, w):
        for _ in range(OFTEN):
            y = F.smooth_l1_loss(F.softplus(x), F.hardswish(w)) + F.cosine_similarity(x, w).mean() + F.mish(x).std()
        return y
    return fn, [(ingot.randn(8, 16), ingot.randn(8, 16))]


# Reductions, rows, scans and orders.


@program
def reductions():
    def fn(x):
        return (x.sum(), x.sum(0), x.mean(1), x.amax(1), x.amin(0), x.var(1), x.std(0), x.argmax(1), x.argmin(0), x.prod(1),
                (x > 2).any(1), (x > -9).all(0), x.norm(dim=1), x.logsumexp(0), ingot.aminmax(x, dim=1), x.count_nonzero(0))
    return fn, [(ingot.randn(67, 259),), (ingot.randn(5, 3000),)]


@program
def softmax():
    return (with_gradients(lambda x, y: F.softmax(x, -1) * F.log_softmax(y, 1) + F.softmax(x, 0)),
            [(leaf(33, 200), leaf(33, 200)), (leaf(3, 5000), leaf(3, 5000))])


@program
def normalisations():
    def fn(x, w, b):
        return F.layer_norm(x, (96,), w, b) + F.rms_norm(x, (96,), w) + F.group_norm(x.view(40, 32, 3), 8).view(40, 96)
    return with_gradients(fn), [(leaf(40, 96), leaf(96), leaf(96))]


@program
def scans():
    def fn(x):
        return x.cumsum(1), x.cumprod(0), x.logcumsumexp(1), x.cummax(1), x.cummin(0), ingot.diff(x)
    return fn, [(ingot.randn(17, 300),)]


@program
def sort_topk():
    def fn(x, n):
        return (x.sort(1), x.argsort(0), x.topk(7), x.kthvalue(3), x.median(1), x.mode(1), n.unique(), ingot.bincount(n),
                ingot.searchsorted(x.sort(1).values, x), x.quantile(0.3, dim=1), ingot.histc(x, 11))
    return fn, [(ingot.randn(33, 257), ingot.randint(0, 50, (700,)))]


@program
def scatter_gather():
    def fn(x, i, v):
        return (x.gather(1, i), x.index_select(0, i[:, 0]), x.scatter(1, i, v), x.scatter_add(1, i, v), x[i[:, 0]],
                x.scatter_reduce(1, i, v, "amax"), x.index_add(0, i[:, 0], v.repeat(1, 8)[:, :64]), x.masked_fill(x > 1, 0.0),
                x[x > 0].sum(), x.index_put((i[:, 0], i[:, 1]), v[:, 0]), x.take_along_dim(i, 1))
    return fn, [(ingot.randn(64, 64), ingot.randint(0, 64, (64, 9)), ingot.randn(64, 9))]


@program
def scatter_gather_gradients():
    def fn(x, i, v):
        return (x.gather(1, i) * v).sum(1) + x.scatter_add(1, i, v).amax(1) + x[i[:, 0]].sum(1) + x.scatter(1, i, v).prod(1)
    return with_gradients(fn), [(leaf(64, 64), ingot.randint(0, 64, (64, 9)), leaf(64, 9))]


# Products.


@program
def matmul_epilogues():
    def fn(x, w, b, c):
        return (F.relu(x @ w + b), F.gelu(F.linear(x, w.t(), b)), ingot.addmm(c, x, w).tanh(), (x @ w * 2.0 + c).sigmoid(),
                x @ w.sum(1))
    return fn, [(ingot.randn(m, 65), ingot.randn(65, 129), ingot.randn(129), ingot.randn(m, 129)) for m in (1, 5, 70)]


@program
def matmul_gradients():
    return (with_gradients(lambda x, w, b: F.relu(F.linear(x, w, b)) + x.sum(1, keepdim=True)),
            [(leaf(70, 65), leaf(130, 65), leaf(130))])


@program
def matmul_batches():
    def fn(x, y):
        return (x @ y, ingot.einsum("bij,bkj->bik", x, x), x.bfloat16() @ y.bfloat16(), x.double() @ y.double(),
                ingot.outer(x[0, 0], y[0, 0]))
    return fn, [(ingot.randn(4, 40, 48), ingot.randn(4, 48, 56))]


@program(on_gpu=False)
def int8_linear():
    network = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
    return ingot.ao.quantization.quantize_dynamic(network, {nn.Linear}), [(ingot.randn(9, 64),)]


@program(on_gpu=False)
def int8_convolutions():
    q = ingot.ao.quantization
    network = nn.Sequential(q.QuantStub(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, groups=32),
                            nn.ReLU(), nn.Flatten(), nn.Linear(32 * 100, 10), q.DeQuantStub()).eval()
    network.qconfig = q.get_default_qconfig("x86")
    network = q.prepare(q.fuse_modules(network, [["1", "2"], ["3", "4"]]))
    x = ingot.randn(2, 16, 12, 12)
    network(x)
    return q.convert(network), [(x,)]


# Images.


@program
def conv_bn_relu_eval():
    network = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                            nn.Conv2d(32, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU6(), nn.Conv2d(64, 40, 1)).eval()
    return ingot.no_grad()(network.forward), [(ingot.randn(2, 3, 33, 33),)]


@program
def conv_bn_relu_training():
    network = nn.Sequential(nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 20, 5, 2),
                            nn.BatchNorm2d(20), nn.ReLU(), nn.Flatten(1))
    return trained(network, F.mse_loss, ingot.optim.SGD(network.parameters(), 0.1), ingot.randn(2, 3, 18, 18),
                   ingot.randn(2, 980))


@program
def winograd():
    network = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1)).eval()
    return ingot.no_grad()(network.forward), [(ingot.randn(1, 32, 28, 28),)]


@program
def winograd_gradients():
    return (with_gradients(lambda x, w, b: F.relu(F.conv2d(x, w, b, padding=1))),
            [(leaf(2, 32, 14, 14), leaf(32, 32, 3, 3), leaf(32))])


@program
def other_convolutions():
    def fn(x, deep, grouped, up, line, volume):
        return (F.conv2d(x, deep, padding=1, groups=32), F.conv2d(x, grouped, stride=2, groups=4),
                F.conv_transpose2d(x, up, stride=2), F.conv1d(x[:, :, 0], line, dilation=2), F.conv3d(x[:, None], volume))
    return fn, [(ingot.randn(2, 32, 15, 15), ingot.randn(32, 1, 3, 3), ingot.randn(16, 8, 3, 3), ingot.randn(32, 8, 2, 2),
                 ingot.randn(12, 32, 3), ingot.randn(2, 1, 3, 3, 3))]


@program
def depthwise_gradients():
    return (with_gradients(lambda x, w, v: F.conv2d(F.relu(F.conv2d(x, w, padding=1, groups=32)), v)),
            [(leaf(2, 32, 15, 15), leaf(32, 1, 3, 3), leaf(48, 32, 1, 1))])


@program
def channels_last():
    network = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2)).eval()
    network, x = (t.to(memory_format=ingot.channels_last) for t in (network, ingot.randn(2, 16, 12, 12)))
    return ingot.no_grad()(network.forward), [(x,)]


@program
def pooling():
    def fn(x):
        y = F.max_pool2d(x, 3, 2, 1).sum((2, 3)) + F.avg_pool2d(x, 2).sum((2, 3)) + F.adaptive_avg_pool2d(x, 3).sum((2, 3))
        return y + F.interpolate(x, scale_factor=2, mode="bilinear").amax((2, 3)) + F.adaptive_max_pool2d(x, 1).flatten(1)
    return with_gradients(fn), [(leaf(2, 16, 17, 17),)]


@program
def resnet_block_training_step():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = (nn.Conv2d(32, 32, 3, padding=1, bias=False) for _ in range(2))
            self.norms, self.last = nn.ModuleList([nn.BatchNorm2d(32), nn.BatchNorm2d(32)]), nn.Linear(32, 10)

        def forward(self, x):
            y = self.norms[1](self.two(F.relu(self.norms[0](self.one(x)))))
            return self.last(F.relu(x + y).mean((2, 3)))

    network = Block()
    return trained(network, F.cross_entropy, ingot.optim.SGD(network.parameters(), 0.1, momentum=0.9, weight_decay=1e-4),
                   ingot.randn(2, 32, 14, 14), ingot.randint(0, 10, (2,)))


# Sequences.


@program
def attention():
    def fn(q, k, v, mask):
        attend = F.scaled_dot_product_attention
        return (attend(q, k, v, is_causal=True), attend(q, k, v, attn_mask=mask), attend(q[:, :, :1], k, v),
                attend(q, k[:, :1], v[:, :1], enable_gqa=True))
    return fn, [(*[ingot.randn(2, 2, 40, 16) for _ in range(3)], ingot.randn(40, 40) > 0)]


@program
def attention_gradients():
    return (with_gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
                           + F.scaled_dot_product_attention(q, k, v)), [[leaf(2, 2, 40, 16) for _ in range(3)]])


@program
def flexible_attention():
    def near(score, b, h, q, k):
        return ingot.where((q >= k) & (q - k < 8), score, -float("inf"))
    flex = nn.attention.flex_attention.flex_attention
    return lambda q, k, v: flex(q, k, v, score_mod=near), [[ingot.randn(1, 2, 32, 16) for _ in range(3)]]


@program
def embeddings():
    def fn(words, table, weights):
        bags = F.embedding_bag(words, table) + F.embedding_bag(words, table, mode="sum", per_sample_weights=weights)
        return bags + F.embedding(words, table).sum(1) + F.one_hot(words, 50).float().mean(1)[:, :24]
    return with_gradients(fn), [(ingot.randint(0, 50, (12, 9)), leaf(50, 24), leaf(12, 9))]


@program
def recurrent_layers():
    lstm, gru, plain = nn.LSTM(20, 24, 2, batch_first=True), nn.GRU(24, 16, bidirectional=True), nn.RNN(32, 8)
    def fn(x):
        return plain(gru(lstm(x)[0])[0])[0]
    return ingot.no_grad()(fn), [(ingot.randn(5, 7, 20),)]


@program
def recurrent_training_step():
    lstm, gru = nn.LSTM(20, 24), nn.GRU(24, 16)
    parameters = [*lstm.parameters(), *gru.parameters()]
    return trained(lambda x: gru(lstm(x)[0])[0], F.mse_loss, ingot.optim.Adam(parameters), ingot.randn(7, 5, 20),
                   ingot.randn(7, 5, 16))


@program
def transformer_layer():
    return ingot.no_grad()(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval().forward), [(ingot.randn(2, 11, 32),)]


@program
def gpt_block_training_step():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(61, 32), nn.Embedding(20, 32)
            self.norms = nn.ModuleList([nn.LayerNorm(32) for _ in range(3)])
            self.qkv, self.out, self.head = nn.Linear(32, 96), nn.Linear(32, 32), nn.Linear(32, 61, bias=False)
            self.inner = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 32))

        def forward(self, words):
            x = self.words(words) + self.places(ingot.arange(words.shape[1], device=words.device))
            q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, 2, 16)).permute(2, 0, 3, 1, 4)
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            return self.head(self.norms[2](x + self.inner(self.norms[1](x)))).flatten(0, 1)

    network = Block()
    return trained(network, F.cross_entropy, ingot.optim.AdamW(network.parameters()), ingot.randint(0, 61, (2, 17)),
                   ingot.randint(0, 61, (34,)))


# Losses and training.


@program
def losses():
    def fn(x, y, target):
        of_classes = F.cross_entropy(x, target, label_smoothing=0.1) + F.nll_loss(F.log_softmax(x, 1), target)
        of_pairs = F.mse_loss(x, y) + F.smooth_l1_loss(x, y) + F.huber_loss(x, y) + F.l1_loss(x, y)
        of_odds = F.binary_cross_entropy_with_logits(x, y.sigmoid()) + F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1))
        return of_classes + of_pairs + of_odds + F.multi_margin_loss(x, target)
    return with_gradients(fn), [(leaf(30, 70), leaf(30, 70), ingot.randint(0, 70, (30,)))]


@program
def ctc_loss():
    def fn(x, target):
        return F.ctc_loss(F.log_softmax(x, 2), target, (12, 12), (4, 3))
    return with_gradients(fn), [(leaf(12, 2, 20), ingot.randint(1, 20, (2, 4)))]


@program
def mlp_training_step():
    network = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))
    return trained(network, F.cross_entropy, ingot.optim.SGD(network.parameters(), 0.1), ingot.randn(33, 40),
                   ingot.randint(0, 10, (33,)))


@program
def optimizers():
    weights = [nn.Parameter(ingot.randn(40, 30)), nn.Parameter(ingot.randn(30))]
    o = ingot.optim
    made = [o.SGD(weights, 0.1), o.SGD(weights, 0.1, momentum=0.9, nesterov=True), o.AdamW(weights),
            o.Adam(weights, amsgrad=True), o.RMSprop(weights), o.Adagrad(weights), o.NAdam(weights)]

    def step(x):
        for optimizer in made:
            optimizer.zero_grad()
            (x @ weights[0] + weights[1]).square().mean().backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
        return weights[0].detach().clone()
    return step, [(ingot.randn(9, 40),)]


@program
def mixed_precision_step():
    network = nn.Sequential(nn.Linear(40, 64), nn.Tanh(), nn.Linear(64, 10))
    optimizer, scaler = ingot.optim.SGD(network.parameters(), 0.1), ingot.amp.GradScaler(network[0].weight.device.type)

    def step(x, y):
        optimizer.zero_grad()
        with ingot.autocast(x.device.type, dtype=ingot.bfloat16):
            loss = F.cross_entropy(network(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()
    return step, [(ingot.randn(33, 40), ingot.randint(0, 10, (33,)))]


@program
def checkpointed_step():
    network = nn.ModuleList([nn.Linear(32, 32) for _ in range(3)])

    def forward(x):
        for layer in network:
            x = ingot.utils.checkpoint.checkpoint(lambda x, layer=layer: layer(x).tanh(), x, use_reentrant=False)
        return x
    return trained(forward, F.mse_loss, ingot.optim.SGD(network.parameters(), 0.1), ingot.randn(8, 32), ingot.randn(8, 32))


@program
def functional_transforms():
    def loss(w, x):
        return (x @ w).tanh().square().sum()
    func = ingot.func

    def fn(w, x):
        along = func.jvp(lambda w: loss(w, x[0]), (w,), (w,))
        return func.vmap(func.grad(loss), (None, 0))(w, x), func.jacrev(loss)(w, x[0]), along
    return fn, [(ingot.randn(20), ingot.randn(30, 20))]


# Shapes, memory and numbers.


@program
def dynamic_sizes():
    network = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.LayerNorm(48), nn.Linear(48, 8))

    def fn(x):
        y = network(x)
        return F.softmax(y, 1).sum(0) / x.shape[0], x[: x.shape[0] // 2].amax(0)
    return fn, [(ingot.randn(n, 24),) for n in (6, 9, 31, 64)]


@program
def moves():
    def fn(x, y):
        return (ingot.cat([x, y], 1), ingot.stack([x, y]), x.t().contiguous(), x.roll(3, 1), x.flip(0), x.tril(),
                x.repeat(2, 2), x.view(8, 4, 64).permute(2, 0, 1).reshape(64, 32), x.unfold(1, 3, 2).clone(),
                F.pad(x, (1, 2), value=3.0), F.pad(x[None], (2, 2), "reflect"), ingot.kron(x[:2, :2], y[:3, :3]))
    return fn, [(ingot.randn(32, 64), ingot.randn(32, 64))]


@program
def writes_in_place():
    def fn(x, y):
        x = x.clone()
        x[3:9] = y[3:9] * 2
        x.mul_(y).add_(1.0, alpha=2.0)
        x[:, ::2].zero_()
        x.clamp_(min=-1).index_add_(0, ingot.arange(4, device=x.device), y[:4])
        return x, ingot.where(x > 0, x, y)
    return fn, [(ingot.randn(32, 64), ingot.randn(32, 64))]


@program
def complex_numbers():
    def fn(z, w):
        return (z * w + z.conj(), (z @ w.t()).abs(), z.angle(), ingot.exp(z * 0.1), ingot.view_as_real(z).sum(),
                z.sum(0) / w.mean(0))
    return fn, [(ingot.randn(24, 40, dtype=ingot.complex64), ingot.randn(24, 40, dtype=ingot.complex64))]


@program
def fourier():
    def fn(x, z):
        fft = ingot.fft
        return fft.rfft(x), fft.irfft(fft.rfft(x) * 2), fft.fft2(z), fft.ifft(z[:, :45]), fft.fftshift(x)
    return fn, [(ingot.randn(8, 120), ingot.randn(8, 64, dtype=ingot.complex64))]


@program
def dense_algebra():
    def fn(a, b, small):
        spd, linalg = a @ a.t() + 40 * ingot.eye(40, device=a.device), ingot.linalg
        of_many = linalg.det(small), linalg.inv(small)
        return (*of_many, linalg.solve(spd, b), linalg.cholesky(spd), linalg.qr(a), linalg.lu_factor(a), linalg.slogdet(spd),
                linalg.solve_triangular(spd.tril(), b, upper=False), linalg.lstsq(a, b).solution)
    return fn, [(ingot.randn(40, 40), ingot.randn(40, 3), ingot.randn(50, 3, 3))]


@program
def random_numbers():
    def fn(x):
        return (ingot.rand_like(x), ingot.randn_like(x), F.dropout(x, 0.3), ingot.bernoulli(x.sigmoid()),
                ingot.randint_like(x, 9), ingot.empty_like(x).exponential_(), ingot.multinomial(x.exp(), 3),
                ingot.randperm(100, device=x.device))
    return fn, [(ingot.randn(16, 300),)]


@program
def sparse_products():
    def fn(x, y):
        return ingot.sparse.mm(x.to_sparse_csr(), y)
    return fn, [(ingot.randn(30, 40).relu(), ingot.randn(40, 20))]


@program
def branches_on_values():
    def fn(x):
        y = x * 2 + 1
        if y.sum() > 1e6:
            return y
        scale = y.abs().max().item()
        return (y / scale).tanh() if scale > 0.5 else y.exp()
    return fn, [(ingot.randn(20, 30),)]


# Files.


def exported(fn, x, **options):
    """Write a model to a file and run it from there, compiling what the file would bring along."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.ingot"
        jit.export(fn, x, path, **options)
        return jit.load(path)(x)


@program(on_gpu=False, is_traced=False)
def export_to_a_file():
    network = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(256, 4))
    network.eval()
    return lambda x: exported(network, x, dynamic={"input": {0: "batch"}}), [(ingot.randn(2, 3, 4, 4),)]


@program(on_gpu=False, is_traced=False)
def export_to_c():
    network = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4), nn.Softmax(1)).eval()

    def fn(x):
        with tempfile.TemporaryDirectory() as folder:
            jit.to_c(network, x, Path(folder) / "model")
    return fn, [(ingot.randn(3, 16),)]
