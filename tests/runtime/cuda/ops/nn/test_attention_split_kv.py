"""Attention of few queries over many keys on a device: programs share out the keys as well, results are as exact as those of
one program for each head, and depend on nothing but sizes."""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, nn
from ingot.nn import functional as F
from ingot.passes.codegen.triton.attention import attention_split_kv as text
from ingot.runtime.cuda.graph import program
from ingot.runtime.cuda.replay import launch_cache

SEED = 5
DTYPES = ("float32", "bfloat16", "float16")
# name: batch, heads, heads of keys, queries, keys, vector, vector of values, mask, causal
CASES = {"one row": (1, 2, 2, 1, 300, 64, 64, None, False), "a batch": (2, 1, 1, 1, 513, 16, 32, None, False),
         "odd vectors": (1, 2, 2, 1, 300, 20, 24, None, False), "long vectors": (1, 2, 2, 1, 530, 128, 256, None, False),
         "one row, bools": (1, 2, 2, 1, 300, 16, 16, "bool", False),
         "one row, added": (1, 2, 2, 1, 300, 16, 16, "float", False),
         "one row, causal": (1, 2, 2, 1, 300, 16, 16, None, True), "heads share keys": (1, 4, 2, 1, 300, 64, 32, None, False),
         "heads share keys, bools": (1, 2, 1, 3, 300, 33, 16, "bool", False),
         "heads share keys, added": (1, 2, 1, 3, 300, 16, 16, "float", False),
         "heads share keys, causal": (1, 2, 1, 20, 300, 32, 32, None, True),
         "several tiles": (1, 1, 1, 64, 600, 64, 256, None, True), "rows of nothing": (1, 2, 2, 1, 300, 16, 16, "none", False)}


@pytest.fixture(scope="module", autouse=True)
def cuda():
    """A chip of eight multiprocessors."""
    with mock_cuda.installed() as mock:
        mock.attributes[16] = 8
        yield mock


def drawn(*shape, dtype="float32"):
    return ingot.tensor(np.random.default_rng(SEED).standard_normal(shape)).to(getattr(ingot, dtype))


def case(name, dtype):
    """(queries, keys, values and the mask; the function of them)"""
    batch, heads, key_heads, length, keys, e, v, mask, causal = CASES[name]
    masks = {None: [], "bool": [drawn(heads, length, keys) > -0.3], "none": [ingot.zeros(length, keys, dtype=ingot.bool)],
             "float": [drawn(batch, 1, length, keys, dtype=dtype)]}[mask]

    def f(q, k, v, *m):
        return F.scaled_dot_product_attention(q, k, v, *m, is_causal=causal, enable_gqa=heads != key_heads)

    shapes = (batch, heads, length, e), (batch, key_heads, keys, e), (batch, key_heads, keys, v)
    return [*[drawn(*s, dtype=dtype) for s in shapes], *masks], f


def names_of(cuda, run):
    """(what a function gives, the names of the kernels that it launched)"""
    ingot.cuda.synchronize()
    before = len(cuda.launches)
    found = run()
    ingot.cuda.synchronize()
    return found, [one["name"] for one in cuda.launches[before:]]


def results_of(cuda, operands, f, device, kind):
    """(the result of a function and its gradients, the names of the kernels forward)"""
    there = [t.to(device, kind) if t.is_floating_point() else t.to(device) for t in operands]
    q, k, v = (t.requires_grad_() for t in there[:3])
    out, names = names_of(cuda, lambda: f(*there))
    weight = ingot.arange(out.numel(), device=device).reshape(out.shape).remainder(7).to(out.dtype)
    return [t.detach().cpu().double() for t in (out, *ingot.autograd.grad((out * weight).sum(), (q, k, v)))], names


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(name, dtype, cuda, monkeypatch):
    (operands, f), kind = case(name, dtype), getattr(ingot, dtype)
    want, _ = results_of(cuda, operands, f, "cpu", ingot.float64)
    found, names = results_of(cuda, operands, f, "cuda", kind)
    monkeypatch.setattr(text, "cut", lambda *sizes: 0)
    launch_cache.forget()
    whole, others = results_of(cuda, operands, f, "cuda", kind)
    launch_cache.forget()
    rows = CASES[name][1] // CASES[name][2] * CASES[name][3]
    assert len(names) == 2 and names[0].startswith("attention_of_one" if rows == 1 else "attention_of_few"), names
    assert names[1].startswith("attention_join") and len(others) == 1
    for right, got, other in zip(want, found, whole):
        errors = [(x - right).abs().max().item() / max(1.0, right.abs().max().item()) for x in (got, other)]
        assert errors[0] <= 2 * errors[1] + max(ingot.finfo(kind).eps / 2, 1e-6), errors      # (the result is rounded)


@pytest.mark.parametrize("name", ["one row", "heads share keys", "heads share keys, causal"])
def test_parts_of_projections_are_read_in_place(name, cuda):
    operands, f = case(name, "float32")
    want = f(*[t.to("cuda") for t in operands])
    apart = [t.to("cuda").transpose(1, 2).contiguous().transpose(1, 2) for t in operands]
    got, names = names_of(cuda, lambda: f(*apart))
    assert len(names) == 2 and "strided" in names[0], names
    assert ingot.equal(want.cpu(), got.cpu())


def test_rows_have_the_bits_of_the_same_rows_elsewhere():
    """Of a batch of several, and in the run after that."""
    q, k, v = drawn(2, 1, 1, 32).to("cuda"), drawn(2, 1, 600, 32).to("cuda"), drawn(2, 1, 600, 32).to("cuda")
    both = F.scaled_dot_product_attention(q, k, v)
    again = F.scaled_dot_product_attention(q, k, v)
    assert ingot.equal(both, again)


def test_keys_that_grow(cuda):
    """The first calls are worked out, then a list is bound to each number of keys."""
    q, cache = drawn(1, 2, 1, 16), drawn(1, 2, 700, 16)
    there, far = q.to("cuda"), cache.to("cuda")
    for n in (250, 256, 257, 300, 301, 302, 303, 400, 511, 512, 513, 600, 700):
        want = F.scaled_dot_product_attention(q, cache[:, :, :n], cache[:, :, :n])
        got, names = names_of(cuda, lambda n=n: F.scaled_dot_product_attention(there, far[:, :, :n], far[:, :, :n]))
        ingot.testing.assert_close(got.cpu(), want)
        assert len(names) == (1 if n < 2 * text.LEAST_KEYS else 2), n


def test_a_traced_step_over_a_cache_that_is_written(cuda):
    def step(q, k, cache, at):
        cache[:, :, at] = k
        seen = ingot.arange(cache.shape[2], device=cache.device) <= at
        return F.scaled_dot_product_attention(q, cache, cache, seen)

    traced = jit.trace(step)
    cache = drawn(1, 2, 512, 16)
    far = cache.to("cuda")
    for n in range(6):
        q, k, at = drawn(1, 2, 1, 16) + n, drawn(1, 2, 1, 16) - n, ingot.tensor([300 + n])
        got = traced(q.to("cuda"), k.to("cuda"), far, at.to("cuda"))
        ingot.testing.assert_close(got.cpu(), step(q, k, cache, at))
    assert ingot.equal(far.cpu(), cache)


@pytest.mark.parametrize("sizes, part", [
    ((12, 1, 1, 1024, 64, 132), 128), ((12, 1, 1, 4096, 64, 132), 128), ((12, 1, 1, 32768, 64, 132), 1024),
    ((8, 4, 1, 8192, 64, 132), 128), ((8, 4, 1, 8192, 16, 132), 128), ((1, 12, 1, 1 << 20, 64, 132), 2048),
    ((12, 1, 1, 255, 64, 132), 0),           # few keys
    ((96, 1, 1, 4096, 64, 132), 0),          # work for all
    ((12, 1, 65, 4096, 64, 132), 0),         # many queries
])
def test_how_many_keys_a_part_has(sizes, part):
    assert text.keys_of_part(*sizes) == part
    if part:
        groups, _, _, keys, _, processors = sizes
        assert groups * -(-keys // part) <= text.PROGRAMS * processors


def test_calls_whose_keys_are_not_split(cuda):
    q, k = drawn(1, 2, 1, 16).to("cuda"), drawn(1, 2, 300, 16).to("cuda")
    _, names = names_of(cuda, lambda: F.scaled_dot_product_attention(q, k, k, dropout_p=0.5))
    assert len(names) == 1
    empty = F.scaled_dot_product_attention(q[:, :, :0], k, k)
    assert empty.shape == (1, 2, 0, 16)


def test_results_are_written_where_they_are_wanted(cuda):
    """Heads side by side, as the projection behind them reads them: nothing is copied."""
    def f(q, k, v, w):
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 3, -1) @ w

    traced = jit.trace(f)
    operands = [drawn(1, 2, 3, 16), drawn(1, 2, 300, 16), drawn(1, 2, 300, 16), drawn(32, 8)]
    want, there = f(*operands), [t.to("cuda") for t in operands]
    for _ in range(2):          # (then a graph is captured)
        got, names = names_of(cuda, lambda: traced(*there))
        ingot.testing.assert_close(got.cpu(), want)
    assert len(names) == 3 and "strided_out" in names[1], names


class Decoder(nn.Module):
    """Two layers, whose caches are written at a number and read up to it."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(32) for _ in range(2)])
        self.ins = nn.ModuleList([nn.Linear(32, 96) for _ in range(2)])
        self.outs = nn.ModuleList([nn.Linear(32, 32) for _ in range(2)])

    def forward(self, x, caches, p):
        for norm, layer, out, (keys, values) in zip(self.norms, self.ins, self.outs, caches):
            q, k, v = layer(norm(x)).view(1, 1, 3, 2, 16).unbind(2)
            keys[:, :, p:p + 1], values[:, :, p:p + 1] = k.transpose(1, 2), v.transpose(1, 2)
            a = F.scaled_dot_product_attention(q.transpose(1, 2), keys[:, :, :p + 1], values[:, :, :p + 1])
            x = x + out(a.transpose(1, 2).reshape(1, 1, 32))
        return x


def test_steps_that_no_size_changes_are_repeated(cuda, monkeypatch):
    """A number that is another one at each call binds what depends on it, and nothing else: products are listed."""
    ran = []
    for kind in (program.Multiplied, program.Launched):
        plain = kind.run
        monkeypatch.setattr(kind, "run", lambda self, *a, _plain=plain: ran.append(self) or _plain(self, *a))
    ingot.manual_seed(SEED)
    net = Decoder()
    far = Decoder().to("cuda")
    far.load_state_dict(net.state_dict())
    traced = jit.trace(far)
    caches = [(ingot.zeros(1, 2, 400, 16), ingot.zeros(1, 2, 400, 16)) for _ in range(2)]
    there = [tuple([t.to("cuda") for t in pair]) for pair in caches]
    with ingot.no_grad():
        for n, p in enumerate(range(250, 270)):
            if n == 12:                     # what is written into weights counts, and where they lie
                for one in (net, far):
                    one.outs[0].weight.mul_(2)
                    one.ins[1].weight = nn.Parameter(one.ins[1].weight * 0.5)
            x = drawn(1, 1, 32) * (n + 1)
            ran.clear()
            got = traced(x.to("cuda"), there, p)
            if 9 < n < 12 or n > 17:
                assert not ran, n
            ingot.testing.assert_close(got.cpu(), net(x, caches, p))
    for pair, other in zip(there, caches):
        for found, want in zip(pair, other):
            ingot.testing.assert_close(found.cpu(), want)
