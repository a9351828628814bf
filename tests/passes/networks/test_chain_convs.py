"""Chains of convolutions that run for some rows at a time: the same bits, whatever the bands, parts and threads."""

import numpy as np
import pytest

import ingot
from conv_programs import BlockedText, RandomNet
from graphs import check_same_meaning, check_untouched, graph_of
from ingot import jit, nn
from ingot.ir.graph.verify import verify
from ingot.ir.ops.packed.blocked import conv_chain_blocked
from ingot.ir.target import host
from ingot.passes.networks.chain_convs import chain_convs
from ingot.runtime.cpu.conv import conv_chain, conv_chain_schedule
from ingot.runtime.cpu.graph import families
from seeds import seeds

KIND = "f64[2,2,5,4,4]"
TEXT = BlockedText(KIND)
conv, graph = TEXT.conv, TEXT.graph


def whole(nodes):
    return [nodes]


ADD = "(('add', 'a', 'o0'),)"
CHAIN = ("%0: " + conv("%x"), "%1: " + conv("%0", ", %c", ADD), "%2: " + conv("%1"))


# The pass.


def test_convolutions_in_a_row_become_one():
    before = graph_of(graph(*CHAIN, returns="%2"))
    after = verify(chain_convs(before, whole))
    chain, = after.nodes
    assert chain.op.name == "conv_chain_blocked" and chain.params["beside"] == (0, 1, 0)
    check_same_meaning(before, after, 2)
    assert chain_convs(after, whole) is after


def test_a_residual_ends_a_chain_and_begins_the_next():
    lines = (*CHAIN, "%3: " + conv("%2", ", %x", ADD), "%4: " + conv("%3"), "%5: " + conv("%4"))
    before = graph_of(graph(*lines, returns="%5"))
    after = verify(chain_convs(before, whole))
    assert [n.params["beside"] for n in after.nodes] == [(0, 1, 0, 1), (0, 0)]
    check_same_meaning(before, after, 2)


@pytest.mark.parametrize("lines, returns", [
    (CHAIN[:2], "%0, %1"),                                                                   # what lies between leaves
    (("%0: " + conv("%x"), "%1: " + conv("%0", ", %0", ADD)), "%1"),                         # is read twice
    (("%0: " + conv("%x"), f"%1: {KIND} = exp(%0)", "%2: " + conv("%1")), "%2"),             # is changed
    (("%0: " + conv("%x"), "%1: " + conv("%x", ", %0", ADD)), "%1"),                         # stands beside
])
def test_other_convolutions_are_not_chained(lines, returns):
    check_untouched(lambda g: chain_convs(g, whole), graph(*lines, returns=returns))


# The kernels.


def ranges(layers, images, threads):
    """Return all possible chains."""
    starts = [0, *[i + 1 for i, layer in enumerate(layers) if layer is None]]
    ends = [*[i for i, layer in enumerate(layers) if layer is None], len(layers)]
    return [(a, b) for a, b in zip(starts, ends) if b - a > 1]


def traced(f, x, monkeypatch, pieces, room=1 << 40):
    """Return (the traced result, the number of chains)."""
    made = []

    def counted(layers, images, threads):
        made.extend(found := pieces(layers, images, threads))
        return found

    monkeypatch.setattr(conv_chain_schedule, "pieces", counted)
    monkeypatch.setattr(conv_chain_schedule, "_room", lambda: room)
    run = jit.trace(lambda x: f(x))
    with ingot.no_grad():
        run(x)
        return run(x).numpy(), len(made)


@pytest.fixture
def same_bits(monkeypatch):
    """Check that a function gives the same bits in chains; return their number."""
    def check(f, x):
        plain, _ = traced(f, x, monkeypatch, lambda *_: [])
        found = set()
        for room in (1 << 40, 1 << 15, 0):
            conv_chain.native.cache_clear()
            chained, chains = traced(f, x, monkeypatch, ranges, room)
            assert np.array_equal(plain, chained, equal_nan=True)
            found.add(chains)
        return max(found)

    yield check
    conv_chain.native.cache_clear()


@pytest.mark.parametrize("seed", seeds(9, 40))
def test_random_networks_give_the_same_bits(seed, same_bits, threads):
    threads(1 + seed % 4)
    net = RandomNet(seed, depth=8).eval()
    x = np.random.default_rng(seed).standard_normal((1 + seed % 3, net.channels, 14, 13)).astype(np.float32)
    same_bits(net, ingot.tensor(x))


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64])
@pytest.mark.parametrize("images, count", [(1, 1), (1, 2), (3, 2), (5, 4)])
def test_inverted_residuals_give_the_same_bits(images, count, dtype, same_bits, threads):
    threads(count)
    ingot.manual_seed(3)
    c = host().lanes(dtype.itemsize)

    def block(x, layers):
        return x + layers(x)

    wide = 6 * c - 3
    first = nn.Sequential(nn.Conv2d(3, 2 * c, 3, 2, 1), nn.ReLU6(), nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c),
                          nn.ReLU6(), nn.Conv2d(2 * c, c, 1)).to(dtype).eval()
    second = nn.Sequential(nn.Conv2d(c, wide, 1), nn.SiLU(), nn.Conv2d(wide, wide, (5, 3), padding=(2, 1), groups=wide),
                           nn.ReLU6(), nn.Conv2d(wide, c, 1)).to(dtype).eval()
    third = nn.Sequential(nn.Conv2d(c, 3 * c, 1), nn.Conv2d(3 * c, 3 * c, 3, (3, 2), 0, dilation=2, groups=3 * c), nn.ReLU(),
                          nn.Conv2d(3 * c, 2 * c, (1, 2), (2, 1))).to(dtype).eval()
    x = ingot.randn(images, 3, 47, 38, dtype=dtype)
    assert same_bits(lambda x: third(block(first(x), second)), x) == 3


def test_threads_have_buffers_of_their_own(same_bits, threads):
    threads(4)
    net = nn.Sequential(nn.Conv2d(3, 64, 1), nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.ReLU6(), nn.Conv2d(64, 64, 1),
                        nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.ReLU6(), nn.Conv2d(64, 64, 1)).eval()
    assert same_bits(net, ingot.randn(24, 3, 64, 64)) == 1


def test_a_chain_that_python_calls_gives_the_same_bits(same_bits, monkeypatch):
    monkeypatch.setitem(families._found, conv_chain_blocked, families.find(conv_chain_blocked)._replace(step=None))
    net = nn.Sequential(nn.Conv2d(3, 33, 3), nn.ReLU6(), nn.Conv2d(33, 33, 3, padding=1, groups=33), nn.Conv2d(33, 9, 1)).eval()
    assert same_bits(net, ingot.randn(2, 3, 15, 17)) == 1


# The order of work.


class Rows(conv_chain_schedule.Layer):
    """A layer of which only the rows are known."""

    def __init__(self, window):
        object.__setattr__(self, "window", window)

    @property
    def height(self):
        return self.window


def window(size, kernel, stride, low, dilation):
    out = (size + 2 * low - dilation * (kernel - 1) - 1) // stride + 1
    return conv_chain_schedule.Window(size, out, kernel, stride, low, dilation)


@pytest.mark.parametrize("seed", range(60))
def test_bands_make_every_row_before_it_is_read_and_none_twice(seed):
    rng = np.random.default_rng(seed)
    layers, size = [], int(rng.integers(9, 60))
    for _ in range(int(rng.integers(2, 5))):
        kernel, dilation = int(rng.integers(1, 6)), int(rng.integers(1, 3))
        w = window(size, kernel, int(rng.integers(1, 4)), int(rng.integers(0, kernel * dilation + 1)), dilation)
        if w.out < 2:
            break
        layers.append(Rows(w))
        size = w.out
    if len(layers) < 2:
        pytest.skip("too few rows")
    first = int(rng.integers(0, size - 1))
    end = int(rng.integers(first + 1, size + 1))
    bands, rooms = conv_chain_schedule.bands_of(layers, first, end, int(rng.integers(1, end - first + 1)))
    made = [[] for _ in layers]
    there: list = [{} for _ in layers]          # {place in the buffer: row}
    for band in bands:
        for k in range(len(layers)):
            if k < len(rooms):
                start, count = band.reused[k]
                there[k] = {i: there[k][start + i] for i in range(count)}
                assert all(row == band.bases[k] + i for i, row in there[k].items())
            low, high = band.rows[k]
            made[k] += range(low, high)
            if low == high:
                continue
            if k:
                needed = range(*layers[k].reads(low, high))
                assert [there[k - 1].get(row - band.bases[k - 1]) for row in needed] == list(needed)
            if k < len(rooms):
                there[k] |= {row - band.bases[k]: row for row in range(low, high)}
                assert max(there[k]) < rooms[k]
    assert made[-1] == list(range(first, end)) and all(len(rows) == len(set(rows)) for rows in made)


def test_layers_over_the_cache_are_chained(threads, monkeypatch):
    monkeypatch.setattr(conv_chain_schedule.cache_sizes, "second_level", lambda: 1 << 20)
    threads(2)
    found = []
    chosen = conv_chain_schedule.pieces
    monkeypatch.setattr(conv_chain_schedule, "pieces", lambda *arguments: found.append(chosen(*arguments)) or found[-1])
    for channels, size in ((24, 56), (160, 7)):
        wide = 6 * channels
        net = nn.Sequential(nn.Conv2d(channels, channels, 1), nn.ReLU6(), nn.Conv2d(channels, wide, 1), nn.ReLU6(),
                            nn.Conv2d(wide, wide, 3, padding=1, groups=wide), nn.ReLU6(), nn.Conv2d(wide, channels, 1)).eval()
        run = jit.trace(lambda x, net=net: net(x))
        with ingot.no_grad():
            for _ in range(2):
                run(ingot.ones(1, channels, size, size))
    assert found == [[(1, 4)], []]         # the first brings x into blocks
