"""Eager calls whose sizes were not met before: lists noted with symbols serve them, and the results are those of the CPU. On
the mock driver.
"""

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
import mock_cuda
from ingot.benchmarks import gpu_host
from ingot.ir.dtype import float32
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core.reduce import sum_
from ingot.ir.symbols.scope import Scope
from ingot.ir.symbols.substitute import choice, condition_check
from ingot.passes.codegen.triton.attention import attention_configs
from ingot.passes.codegen.triton.contract import matmul
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.graph import eager, inplace_ops
from ingot.runtime.cuda.offline.cost_model import Ledger
from ingot.runtime.cuda.ops.index import scans
from ingot.runtime.cuda.replay import launch_cache, shape_families

ALIKE = range(131, 151)        # sizes of one class: no multiples of 4 alone, the same power of two above
SIZES = (131, 1, 150, 0, 2, 131, 3, 144, 4, 17, 150, 160, 7, 300, 16, 129, 64, 1025, 8, 5)
TOLERANCE = 2e-5
SEED = 11


@pytest.fixture
def cuda():
    with mock_cuda.installed() as mock:
        yield mock


class Work:
    """How many calls were worked out, noted or planned since it was last asked."""

    def __init__(self, monkeypatch):
        self.calls: list = []
        for module, name in ((eager, "_run_uncached"), (inplace_ops, "_worked_into"), (inplace_ops, "_written"),
                             (launch_cache, "_recorded_with_symbols"), (shape_families, "_make")):
            self.count_calls(monkeypatch, module, name)

    def count_calls(self, monkeypatch, module, name):
        before = getattr(module, name)

        def watched(*args):
            self.calls.append(name)
            return before(*args)

        monkeypatch.setattr(module, name, watched)

    def since(self):
        found, self.calls[:] = list(self.calls), []
        return found


@pytest.fixture
def work(cuda, monkeypatch):
    return Work(monkeypatch)


def draw(*shape):
    return ingot.tensor(np.random.default_rng(SEED + sum(shape)).standard_normal(shape).astype(np.float32))


def ids(n, below=5):
    return ingot.tensor(np.random.default_rng(n).integers(0, below, n))


def write_in_place(x, value):
    y = x.clone()
    y[:, 1:3] = value
    return y


def cached(x, new):
    """A decoder's step: what is new is joined to what is kept."""
    keys = ingot.cat([x, new], 1)
    return F.scaled_dot_product_attention(new.unsqueeze(1), keys.unsqueeze(1), keys.unsqueeze(1))


CASES = {
    "sum of two": lambda n: (ingot.add, draw(n, 5), draw(n, 5)),
    "by a number": lambda n: (lambda x: x * 0.5, draw(n, 5)),
    "one dim": lambda n: (ingot.tanh, draw(n)),
    "a row beside": lambda n: (ingot.mul, draw(n, 5), draw(5)),
    "a column beside": lambda n: (lambda x: x - x[:, :1], draw(n, 5)),
    "turned": lambda n: (lambda x: x.T * 2, draw(n, 5)),
    "a part": lambda n: (lambda x: x[:, 1:4] + 1, draw(n, 6)),
    "cast": lambda n: (lambda x: x.to(ingot.bfloat16).float(), draw(n, 5)),
    "chosen": lambda n: (lambda x: ingot.where(x > 0, x, 0.0), draw(n, 5)),
    "copied": lambda n: (lambda x: x.T.contiguous(), draw(n, 5)),
    "in place": lambda n: (lambda x, y: x.clone().add_(y), draw(n, 5), draw(n, 5)),
    "written": lambda n: (write_in_place, draw(n, 5), draw(n, 2)),
    "written, a number": lambda n: (lambda x: write_in_place(x, 2.0), draw(n, 5)),
    "sum": lambda n: (ingot.sum, draw(n, 5)),
    "sums of rows": lambda n: (lambda x: x.sum(1), draw(5, n)),
    "sums of columns": lambda n: (lambda x: x.sum(0), draw(n, 5)),
    "mean": lambda n: (lambda x: x.mean(1), draw(5, n)),
    "variance": lambda n: (lambda x: x.var(-1, correction=0), draw(3, n)),
    "place of the largest": lambda n: (lambda x: x.argmax(1), draw(5, n)) if n else None,
    "softmax of rows": lambda n: (lambda x: x.softmax(-1), draw(5, n)),
    "softmax of many": lambda n: (lambda x: x.softmax(-1), draw(n, 5)),
    "layer norm": lambda n: (lambda x: F.layer_norm(x, (5,)), draw(n, 5)),
    "layer norm of another width": lambda n: (lambda x: F.layer_norm(x, (x.shape[1],)), draw(5, n)),
    "group norm": lambda n: (lambda x: F.group_norm(x, 2), draw(3, 4, n)) if n > 1 else None,
    "joined": lambda n: (lambda x, y: ingot.cat([x, y]), draw(n, 5), draw(7, 5)),
    "joined, turned": lambda n: (lambda x, y: ingot.cat([x, y.T], 1), draw(5, n), draw(3, 5)),
    "embedding": lambda n: (F.embedding, ids(n), draw(5, 6)),
    "index": lambda n: (lambda x, i: x[i], draw(5, 6), ids(n)),
    "index in the middle": lambda n: (lambda x, i: x[:, i], draw(n, 5, 2), ids(4)),
    "gather": lambda n: (lambda x, i: x.gather(0, i[:, None]), draw(5, 6), ids(n)),
    "scatter": lambda n: (lambda x, i, y: x.scatter_add(0, i, y), draw(5), ids(n), draw(n)),
    "product": lambda n: (ingot.matmul, draw(n, 8), draw(8, 6)),
    "product over what changes": lambda n: (ingot.matmul, draw(4, n), draw(n, 6)),
    "with itself turned": lambda n: (lambda x: x @ x.T, draw(n, 8)),
    "batch of products": lambda n: (ingot.matmul, draw(3, n, 4), draw(3, 4, n)),
    "linear": lambda n: (F.linear, draw(n, 8), draw(6, 8), draw(6)),
    "by a turned weight": lambda n: (lambda x, w: x @ w.T, draw(n, 8), draw(6, 8)),
    "norms of a list": lambda n: (lambda *x: ingot.stack(ingot._foreach_norm(list(x))), draw(n, 5), draw(7), draw(n)),
    "cross entropy": lambda n: (F.cross_entropy, draw(n, 5), ids(n)) if n else None,
    "cross entropy of more classes": lambda n: (F.cross_entropy, draw(6, n), ids(6, n)) if n else None,
    "attention": lambda n: (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), draw(1, 2, n, 8)),
    "attention over a cache": lambda n: (cached, draw(2, n, 8), draw(2, 1, 8)),
    "attention with a mask": lambda n: (lambda x, m: F.scaled_dot_product_attention(x, x, x, m), draw(1, 2, n, 8), draw(n, n)),
    "running sums": lambda n: (lambda x: x.cumsum(0), draw(n, 3)),
    "running sums of rows": lambda n: (lambda x: x.cumsum(1), draw(3, n)),
    "running extremes of rows": lambda n: (lambda x: x.cummax(1)[0] + x.cummin(1)[1], draw(3, n)) if n else None,
    "running extremes of many rows": lambda n: (lambda x: x.cummax(1)[0], draw(n, 7)),
    "turned, wide": lambda n: (lambda x: x.permute(0, 2, 1).contiguous(), draw(2, n, 70)),
    "sorted": lambda n: (lambda x: x.sort(-1)[0], draw(3, n)),
    "convolution": lambda n: (lambda x, w: F.conv1d(x, w, padding=1), draw(2, 3, n), draw(4, 3, 3)) if n else None,
    "triangle": lambda n: (lambda x: x.triu(), draw(n, n)),
    "counted": lambda n: (lambda x: ingot.arange(x.shape[0], device=x.device) * 2, draw(n)),
    "filled": lambda n: (lambda x: ingot.full((x.shape[0], 3), 1.5, device=x.device), draw(n)),
    "by tables": lambda n: (lambda x: F.interpolate(x, scale_factor=2, mode="linear"), draw(1, 2, n)) if n else None,
    "transformed": lambda n: (lambda x: ingot.fft.rfft(x).abs(), draw(2, n)) if n else None,
}
SQUARE = ("attention", "attention with a mask", "triangle", "index in the middle", "batch of products")    # of much work
CLOSED = ("by tables", "transformed")        # tables are kept by their sizes
TRAINED = [n for n in CASES if n not in ("place of the largest", "counted", "filled", "transformed", "sorted")]


def check(case):
    """Holds a call on the device to the CPU's."""
    f, *operands = case
    want, got = f(*operands), f(*[t.to("cuda") for t in operands])
    assert all(type(n) is int for n in (*got.shape, *got._a.strides, got._a.offset))
    assert got.dtype is want.dtype
    ingot.testing.assert_close(got.cpu(), want, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    return got.cpu().numpy().tobytes()


@pytest.mark.drawn
@pytest.mark.parametrize("name", CASES)
def test_any_sizes(name, cuda):
    for n in SIZES:
        case = CASES[name](n) if n < 200 or name not in SQUARE else None
        if case is not None:
            check(case)


@pytest.mark.drawn
@pytest.mark.parametrize("name", TRAINED)
def test_gradients(name, cuda):
    for n in (33, 37, 41, 45, 1, 2, 43, 64, 47):
        case = CASES[name](n)
        if case is None:
            continue
        f, *operands = case
        found = []
        for device in ("cpu", "cuda"):
            leaves = [t.detach().to(device) for t in operands]
            leaves = [t.requires_grad_() if t.is_floating_point() else t for t in leaves]
            f(*leaves).square().sum().backward()
            found.append([t.grad.cpu() for t in leaves if t.grad is not None])
        for want, got in zip(*found, strict=True):
            ingot.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)


@pytest.mark.drawn
@pytest.mark.parametrize("name", [n for n in CASES if n not in CLOSED])
def test_sizes_of_a_class_are_worked_out_a_few_times(name, work):
    """After some, no plan is made for others, nothing is noted, and no operator's own code runs."""
    seen = []
    for n in ALIKE:
        case = CASES[name](n)
        work.since()
        check(case)
        seen.append(work.since())
    assert seen[0] or name == "filled"
    assert not any(seen[len(seen) // 2:]), seen


@pytest.mark.parametrize("least", [0, 141, 1 << 40], ids=["always", "of some", "never"])
@pytest.mark.parametrize("name", ["by a turned weight", "attention"])
def test_operands_are_transposed_if_sizes_make_it_pay(name, least, cuda, monkeypatch):
    """The choice is a condition of every list: sizes of both kinds alternate."""
    monkeypatch.setattr(matmul, "is_worth_turning", choice(f"is_worth_turning_from_{least}", lambda _, m, *sizes: m >= least))
    monkeypatch.setattr(attention_configs, "LEAST_WORK", 2 * 8 * least * least)
    counts: dict = {}
    for n in (*ALIKE, *reversed(ALIKE)):
        check(CASES[name](n))
        f, *operands = CASES[name](n)
        operands = [t.to("cuda") for t in operands]
        before = len(cuda.launches)
        f(*operands)
        ingot.cuda.synchronize()
        counts.setdefault(n >= least, set()).add(len(cuda.launches) - before)
    assert counts == {is_turned: {1 + is_turned} for is_turned in counts}


@pytest.mark.parametrize("name", ["tiles", "turning"])
def test_choices_of_exact_products_are_one_condition(name):
    """All sizes that meet it are chosen the same for; few conditions are enough for all."""
    def chosen(m):
        if name == "tiles":
            return matmul.tiles(float32, m, 512, 512, False, 1 << 17, 3)
        return matmul.is_worth_turning(matmul.CROSSED_EXACT, m, 512, 512, 1, 512 * 512)

    sizes, found = range(4, 4096, 13), []
    for m in sizes:
        if not any(holds(m) for holds, _ in found):
            scope = Scope(judges=True)
            made = chosen(scope.size("m", m))
            found.append((condition_check(scope.conditions, ("m",)), made))
        assert {made for holds, made in found if holds(m)} == {chosen(m)}
    assert 2 <= len(found) <= 16


def test_running_sums_of_rows_that_are_cut_or_not(work, monkeypatch):
    monkeypatch.setattr(scans, "LONG", 141)
    monkeypatch.setattr(scans, "PART", 16)
    seen = []
    for n in (*ALIKE, *reversed(ALIKE), 300, 304, 320, 143):
        work.since()
        check((lambda x: x.cumsum(1), draw(3, n)))
        check((lambda x: x.cumprod(0), draw(n)))
        seen.append(work.since())
    assert not any(seen[len(ALIKE):2 * len(ALIKE)]), seen


def pair(x, y, a, b):
    """Elements, and sums down many rows, of two arrays each."""
    return (*[ew.tanh(ew.add(v, v)) for v in (x, y)], *[ew.neg(sum_(v, dim=(0,), keepdim=False)) for v in (a, b)])


@pytest.mark.parametrize("is_listed", [False, True])
def test_kernels_alike_of_one_launch(is_listed, cuda):
    """Also where sizes are symbols, which may leave them alike or not."""
    def work(op, inputs, params, device):
        return tuple(eager.composed(pair, inputs, params, device))

    compiled = set()
    others = (137, 3000), (138, 3001), (700, 20), (701, 21), (64, 64), (200, 5), (139, 20)
    for n, more in (*[(131 + i, 20) for i in range(6)], *others):
        arrays = [draw(*shape).numpy() for shape in ((n, 5), (n + more, 5), (2 * n, 4), (2 * n + 600, 4))]
        given = tuple([eager.transfer.to_device(a, 0) for a in arrays])
        before = len(cuda.launches)
        got = launch_cache.run("pair", given, {}, 0, work) if is_listed else work("pair", given, {}, 0)
        found = [eager.transfer.to_host(a) for a in got]
        compiled.add(sum(launch["name"].endswith("_many") for launch in cuda.launches[before:]))
        for g, want in zip(found, (*[np.tanh(a + a) for a in arrays[:2]], *[-a.sum(0) for a in arrays[2:]]), strict=True):
            np.testing.assert_allclose(g, want, rtol=1e-4, atol=1e-4)
    assert {1, 2} <= compiled


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent_layers_of_any_batch(kind, cuda):
    layer = getattr(ingot.nn, kind)(6, 8)
    there = getattr(ingot.nn, kind)(6, 8).to("cuda")
    there.load_state_dict(layer.state_dict())
    with ingot.backends.cudnn.flags(allow_tf32=False):
        for steps, batch in [(3, 2), *[(2, n) for n in (5, 6, 7, 9, 40, 41, 6)], (4, 7), (5, 7), (1, 7)]:
            x, found = draw(steps, batch, 6), []
            for made, given in ((layer, x), (there, x.to("cuda"))):
                made.zero_grad()
                y = made(given)[0]
                y.square().sum().backward()
                found.append([y.detach().cpu(), *[p.grad.cpu() for p in made.parameters()]])
            for want, got in zip(*found, strict=True):
                ingot.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["sum of two", "sums of rows", "sums of columns", "softmax of rows", "layer norm", "linear",
                                  "product over what changes", "attention", "cross entropy", "variance"])
def test_bits_do_not_depend_on_which_sizes_came_first(name):
    large = () if name in ("attention", "cross entropy") else (2000, 2001, 2002, 2003)
    for n in (40, 131):
        found = set()
        for before in ((), (132, 133, 134, 135), (9, 10, 11, 12), large):
            with mock_cuda.installed():
                for other in before:
                    check(CASES[name](other))
                found |= {check(CASES[name](n)) for _ in range(4)}
        assert len(found) == 1, n


def test_numbers_stand_where_they_stand(cuda):
    """Of calls that differ in the place of a number alone, each is its own."""
    for n in ALIKE:
        x = draw(n).to("cuda")
        for c in (x > 0, x > 1):
            assert ingot.where(c, x, 0.0).tolist() == ingot.where(c.cpu(), x.cpu(), 0.0).tolist()
            assert ingot.where(c, 0.0, x).tolist() == ingot.where(c.cpu(), 0.0, x.cpu()).tolist()
        assert (x / 2.0).tolist() == (x.cpu() / 2.0).tolist() and (2.0 / x).tolist() == (2.0 / x.cpu()).tolist()


@pytest.mark.parametrize("first", [0, 4, 1, 3, 8])
def test_operands_between_whole_vectors(first, cuda):
    for n in ALIKE:
        whole = draw(n + 8)
        part = whole.to("cuda")[first:first + n]
        assert (part * 2).tolist() == (whole[first:first + n] * 2).tolist()
        assert ingot.cat([part, part]).tolist() == ingot.cat([whole[first:first + n]] * 2).tolist()


def test_parts_of_one_memory(cuda):
    for n in ALIKE:
        x = draw(2 * n, 4)
        there = x.to("cuda")
        assert (there[:n] + there[n:]).tolist() == (x[:n] + x[n:]).tolist()
        there[:n] = there[n:]
        x[:n] = x[n:]
        assert there.tolist() == x.tolist()
        there[1:n] = there[:n - 1].clone()
        there[1:n].add_(there[:n - 1])
        x[1:n] = x[:n - 1].clone()
        x[1:n].add_(x[:n - 1])
        assert there.tolist() == x.tolist()


def test_dims_that_are_one_and_dims_that_are_not(cuda):
    """Views of one structure: of some, two dims are stepped through evenly."""
    for n in ALIKE[:6]:
        x = draw(6, n, 5)
        there = x.to("cuda")
        for part in (slice(None), slice(0, n - 1), slice(None), slice(0, n - 2)):
            for f in (lambda t: t * 2, lambda t: t.sum((0, 1)), lambda t: t.contiguous()):
                ingot.testing.assert_close(f(there[:, part, :4]).cpu(), f(x[:, part, :4]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_parts_of_a_size_are_known_to_make_it_up(groups, cuda):
    """A group norm is one launch whatever its sizes: that groups times channels of a group are all channels is noted."""
    for n in (33, 37, 41, 45):
        for channels in (4, 8, 12):
            x = draw(2, channels, n)
            before = len(cuda.launches)
            got = F.group_norm(x.to("cuda"), groups)
            ingot.cuda.synchronize()
            assert len(cuda.launches) == before + 1
            ingot.testing.assert_close(got.cpu(), F.group_norm(x, groups), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_a_group_norm_with_weights_and_its_gradients(kind, cuda):
    """Sums of each channel, then of groups; two launches forward."""
    def results(where, n):
        x, w, b = (draw(*s).to(getattr(ingot, kind)).to(where).requires_grad_() for s in ((2, 8, n), (8,), (8,)))
        before = len(cuda.launches)
        y = F.group_norm(x, 4, w, b)
        ingot.cuda.synchronize()
        assert len(cuda.launches) - before <= 2
        y.backward(y.detach() * 0.3 + 1)
        return [t.float().cpu() for t in (y, x.grad, w.grad, b.grad)]

    close = 5e-2 if kind == "bfloat16" else 5e-5
    for n in (20, 33, 64):
        for got, want in zip(results("cuda", n), results("cpu", n)):
            ingot.testing.assert_close(got, want, rtol=close, atol=close)


def test_strides_that_are_no_whole_elements(cuda):
    """Arrays whose strides cannot be said in elements are none of those whose elements follow each other."""
    for n in ALIKE:
        x = draw(n, 3)
        plain, odd = x.to("cuda")._a, x.to("cuda")._a
        wide = eager.transfer.to_device(np.zeros(16 * n, np.uint8), 0)
        packed = wide.look((n,), (10,), 0, np.dtype(np.float32))
        eager.copies.write(plain, odd)
        for array in (eager.copied(packed), eager.run(ingot.ir.opdef.op.OPS["neg"], (packed,), {})):
            assert not eager.transfer.to_host(array).any() and array.shape == (n,)
        assert (eager.transfer.to_host(eager.run(ingot.ir.opdef.op.OPS["neg"], (plain,), {})) == -x.numpy()).all()


def test_addresses_beyond_32_bits_are_compiled_for():
    """A list that was noted for small arrays is none for large ones."""
    mock_cuda.drop_caches()
    try:
        with gpu_host.NativeLedger():
            for n in (1000, 1001, 1002, 1003, 1004, (1 << 31) + 3, 1005):
                x = ingot.empty(n, dtype=ingot.int8, device="cuda")
                x + x
                ingot.cat([x, x])
            wide = {v.source.name.split("_")[0]: v.wide for v in compiler.binaries() if v.wide}
            assert set(wide) == {"add", "join"}
            assert {v.wide for v in compiler.binaries() if v.source.name.startswith("add")} == {False, True}
    finally:
        mock_cuda.drop_caches()


def test_tables_are_bounded(monkeypatch):
    most = 64
    for owner, name in ((launch_cache, "_MOST"), (launch_cache._known, "most"), (launch_cache._families, "most")):
        monkeypatch.setattr(owner, name, most)
    monkeypatch.setattr(shape_families, "_MOST", most)
    mock_cuda.drop_caches()
    try:
        with gpu_host.NativeLedger():
            random = np.random.default_rng(SEED)
            for _ in range(500):
                n, m, k = (int(n) for n in random.integers(1, 5000, 3))
                x = ingot.ones(n, m, device="cuda")
                (x + k).sum(0), x * x[:, :1], ingot.cat([x, x])
                assert len(launch_cache._known) <= most and len(launch_cache._families) <= most
                assert launch_cache._lists <= most and shape_families.count() <= most
    finally:
        mock_cuda.drop_caches()


def test_random_lengths_are_served_by_few_lists(work):
    """As in a loop over sentences: of many lengths all but the first need nothing but launches."""
    weight, bias, table = draw(8, 8).to("cuda"), draw(8).to("cuda"), draw(50, 8).to("cuda")
    random, made = np.random.default_rng(SEED), []
    for _ in range(200):
        n = int(random.integers(4, 500))
        work.since()
        x = F.embedding(ids(n, 50).to("cuda"), table)
        F.layer_norm(F.relu(F.linear(x, weight, bias)) + x, (8,)).sum()
        made.append(len(work.since()))
    assert sum(made[100:]) <= 12 and launch_cache._lists < 60 and shape_families.count() < 30


def test_observers_read_sizes(cuda):
    """A ledger reads sizes off values: for that, plans are for sizes as they are."""
    with Ledger() as ledger:
        for n in (10, 11, 12, 13, 14):
            ledger.clear()
            x = ingot.ones(n, 64, device="cuda")
            ledger.clear()
            x + x
            row, = ledger.rows
            assert row.written == 4 * 64 * n


@pytest.mark.parametrize("wrong", [lambda x: x + x[:3, :3], lambda x: x @ x[:3], lambda x: F.linear(x, x[:, :2])])
def test_a_wrong_call_is_an_error_each_time(wrong, cuda):
    for n in ALIKE:
        with pytest.raises(ingot.IngotError):
            wrong(draw(n, n).to("cuda"))
        check((lambda x: x + x, draw(n, n)))


def test_starts_and_shared_memory_of_operands_distinguish_calls(cuda):
    """Bytes: three arrays that begin between vectors, and three of which two are one."""
    for n in ALIKE:
        whole = ids(n + 16, 100).to(ingot.uint8)
        there = whole.to("cuda")
        apart = [(t[:n].clone(), t.clone()[1:n + 1], t[:n].clone()) for t in (whole, there)]
        same = [(t[:n], t[:n], t[:n].clone() + 1) for t in (whole, there)]
        for want, got in (apart, same, apart):
            assert ingot.cat(got).tolist() == ingot.cat(want).tolist()
            assert ingot.where(got[0] > 50, got[1], got[2]).tolist() == ingot.where(want[0] > 50, want[1], want[2]).tolist()


def test_a_view_of_new_memory_differs_from_whole_memory(cuda):
    """Results of a recorded run have plain sizes, also those of their bases."""
    for n in ALIKE[:6]:
        for made in (ingot.zeros(n, 4, device="cuda").to(ingot.complex64).conj(), draw(n, 4).to("cuda").sort(-1)[1],
                     draw(3, n).to("cuda").topk(2, -1)[0]):
            held = made._a
            while held is not None:
                assert all(type(k) is int for k in (*held.shape, *held.strides, held.offset))
                held = held.base


@pytest.mark.parametrize("interpolation", ["linear", "lower", "midpoint"])
def test_numbers_that_a_body_makes_of_sizes(interpolation, cuda):
    """A list is valid only as long as the decisions of a plan that was made while it was recorded."""
    levels = ingot.tensor([0.0, 0.31, 1.0])
    for n in (8, 5, 9, 5, 8, 12, 7, 40, 12, 6):
        x = ingot.tensor(np.random.default_rng(n).standard_normal(n).astype("f"))
        want = ingot.quantile(x, levels, interpolation=interpolation)
        got = ingot.quantile(x.to("cuda"), levels.to("cuda"), interpolation=interpolation)
        ingot.testing.assert_close(got.cpu(), want)
