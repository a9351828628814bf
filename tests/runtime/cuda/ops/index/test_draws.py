"""Keys of random numbers on a device, which are uploaded many at a time: the numbers are those of the CPU, whatever else
comes between."""

import pytest

import ingot
import ingot.nn.functional as F
import mock_cuda
from ingot import jit
from ingot.runtime.cuda.memory import transfer
from ingot.runtime.cuda.ops.index import draws


@pytest.fixture
def cuda():
    with mock_cuda.installed(devices=2) as mock:
        yield mock


def on(device, seed=5, skip=0):
    """Return the draws of a program on a device."""
    ingot.manual_seed(seed)
    for _ in range(skip):
        ingot.rand(1)
    x, found = ingot.ones(40, device=device), []
    for n in range(6):
        found += [ingot.rand(3, device=device), F.dropout(x, 0.5), ingot.randint(0, 9, (5,), device=device)]
        if n == 2:
            ingot.manual_seed(seed + 1)
        if n == 3:
            state = ingot.get_rng_state()
        if n == 4:
            ingot.set_rng_state(state)
    return [t.cpu().tolist() for t in found]


@pytest.mark.parametrize("skip", [0, draws._TOGETHER - 2, 3 * draws._TOGETHER])
def test_the_numbers_of_the_cpu(skip, cuda):
    assert on("cuda", skip=skip) == on("cpu", skip=skip) == on("cuda:1", skip=skip)


def test_many_draws_in_few_uploads(cuda, monkeypatch):
    sent, upload = [], transfer.upload
    monkeypatch.setattr(transfer, "upload", lambda *args, **options: (sent.append(args[1].shape), upload(*args, **options)))
    found = {tuple(ingot.rand(2, device="cuda").tolist()) for _ in range(2 * draws._TOGETHER)}
    assert len(found) == 2 * draws._TOGETHER and sent == [(draws._TOGETHER, 2)] * 2


def test_each_stream_waits_for_its_own_keys(cuda):
    """A table that is still on its way in one stream is not read in another."""
    want = on("cpu")
    stream = ingot.cuda.Stream()
    ingot.manual_seed(5)
    ingot.rand(3, device="cuda")
    with ingot.cuda.stream(stream):
        got = on("cuda")
    assert got == want and len(draws._keys) >= 2


def test_generators_of_ones_own_and_default_devices(cuda):
    mine, twin = (ingot.Generator().manual_seed(9) for _ in range(2))
    for _ in range(3):
        assert ingot.randn(4, generator=mine, device="cuda").tolist() == ingot.randn(4, generator=twin).tolist()
    ingot.manual_seed(3)
    want = ingot.rand(4).tolist()
    with ingot.device("cuda:1"):
        ingot.manual_seed(3)
        made = ingot.rand(4)
    assert made.device == ingot.device("cuda:1") and made.tolist() == want


def test_traced_and_eager_draws_take_turns(cuda):
    def noisy(x):
        return F.dropout(x, 0.5) + ingot.rand_like(x)

    x, traced = ingot.ones(30), jit.trace(noisy)
    ingot.manual_seed(11)
    want = [noisy(x).tolist() for _ in range(8)]
    ingot.manual_seed(11)
    there = x.to("cuda")
    got = [(traced if n % 2 else noisy)(there).tolist() for n in range(8)]
    for w, g in zip(want, got, strict=True):
        ingot.testing.assert_close(ingot.tensor(g), ingot.tensor(w))


def test_captured_by_hand(cuda):
    x = ingot.ones(30, device="cuda")
    ingot.manual_seed(4)
    want = [F.dropout(x.cpu(), 0.5).tolist() for _ in range(3)]
    F.dropout(x, 0.5)
    ingot.manual_seed(4)
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        y = F.dropout(x, 0.5)
    for w in want:
        graph.replay()
        assert y.tolist() == w
