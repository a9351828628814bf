"""Hazards of devices: contexts of other threads and devices, memory read by other streams, interrupted captures, forks."""

import gc
import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.runtime.cuda.driver import context
from ingot.runtime.cuda.graph import program
from ingot.runtime.cuda.memory import pools, status_words
from ingot.runtime.cuda.ops.nn import linear_maps


@pytest.fixture
def cuda():
    with mock_cuda.installed(devices=2) as mock:
        yield mock


def in_thread(work):
    """Return the result of a function in a thread of its own; raise its error here."""
    found = []

    def run():
        try:
            found.append((work(), None))
        except Exception as e:
            found.append((None, e))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, error = found[0]
    if error is not None:
        raise error
    return value


def test_a_new_thread_launches_on_memory_that_is_there(cuda):
    x = ingot.arange(1000.0, device="cuda")
    warm = (x * 2 + 1).sum().item()
    assert in_thread(lambda: (x * 2 + 1).sum().item()) == warm
    assert in_thread(lambda: x.zero_().sum().item()) == 0.0


def test_work_on_a_device_that_is_not_the_one_in_use(cuda):
    xs = [ingot.arange(1000.0, device=f"cuda:{i}") for i in (0, 1)]
    for _ in range(3):
        found = [(x * 2 + 1) @ x for x in xs]
        xs = [x.clone() for x in xs]
        assert found[0].item() == found[1].item()
    xs[1].fill_(1.0)
    assert xs[1].sum().item() == 1000.0 and context.current() == 0


def test_a_traced_function_of_another_device_is_captured_there(cuda):
    def step_of(w):
        def step(x):
            w.mul_(0.5)
            return ((x * w).sum() + 1.0).reshape(1) @ x.sum().reshape(1), (x + w).exp() @ w

        return step

    there, here = step_of(ingot.ones(64, device="cuda:1")), step_of(ingot.ones(64))
    traced = jit.trace(there)
    for n in range(12):
        x = ingot.full((64,), 0.01 * n)
        for got, want in zip(traced(x.to("cuda:1")), here(x)):
            assert ingot.allclose(got.cpu(), want)
    assert cuda.calls["cuGraphLaunch"] and context.current() == 0


def test_threads_may_be_in_one_stream_at_a_time(cuda):
    """Each goes back to the stream that it came from."""
    shared, mine, entered, left = ingot.cuda.Stream(), ingot.cuda.Stream(), threading.Event(), threading.Event()

    def other():
        with shared:
            entered.set()
            left.wait(5)
        return ingot.cuda.current_stream()

    with mine:
        thread = threading.Thread(target=lambda: seen.append(other()))
        seen: list = []
        with shared:
            thread.start()
            entered.wait(5)
        assert ingot.cuda.current_stream() == mine
        left.set()
        thread.join()
    assert seen == [ingot.cuda.default_stream()] and ingot.cuda.current_stream() == ingot.cuda.default_stream()


def test_another_library_may_change_the_current_context(cuda):
    x, y = ingot.ones(4, device="cuda:0"), ingot.ones(4, device="cuda:1")

    class Meddler:
        def __dlpack__(self, *, stream=None):
            capsule = x.__dlpack__(stream=stream)
            cuda.cuCtxSetCurrent(0xC001)
            return capsule

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    z = ingot.from_dlpack(Meddler())
    assert (z + x).tolist() == [2, 2, 2, 2] and (y + 1).tolist() == [2, 2, 2, 2]


# Copies.


def test_a_page_locked_buffer_may_be_used_for_ever(cuda):
    buffer = ingot.arange(16.0).pin_memory()
    for n in range(50):
        buffer.fill_(float(n))
        assert buffer.to("cuda", non_blocking=True).sum().item() == 16 * n
    assert len(cuda.events) < 10, "one mark for each stream that read it"


def test_a_copy_to_another_device_is_awaited_by_the_memory_of_every_stream(cuda):
    stream = ingot.cuda.Stream()
    with stream:
        x = ingot.arange(1000.0, device="cuda:0")
    stream.synchronize()
    y = x.to("cuda:1")                       # in the default streams
    del x
    with stream:
        spoilers = [ingot.full((1000,), 7.0, device="cuda:0") for _ in range(5)]
        stream.synchronize()
    assert ingot.equal(y.cpu(), ingot.arange(1000.0)) and len(spoilers) == 5


@pytest.mark.parametrize("to, source", [((1, None), (None, -1)), ((None, -1), (1, None))], ids=["up", "down"])
def test_a_copy_onto_itself_reads_before_it_writes(to, source, cuda):
    x, want = ingot.arange(300.0, device="cuda"), np.arange(300.0)
    x[slice(*to)].copy_(x[slice(*source)])
    want[slice(*to)] = want[slice(*source)].copy()
    assert x.tolist() == want.tolist()


# Memory.


def test_memory_that_only_waits_for_another_stream_is_waited_for():
    with mock_cuda.installed(memory=64 << 20):
        stream = ingot.cuda.Stream()
        x = ingot.zeros(9 << 20, device="cuda")            # 36 MiB
        x.record_stream(stream)
        with stream:
            y = x.sum()
        del x
        z = ingot.zeros(10 << 20, device="cuda")
        assert z.sum().item() == y.item() == 0.0


def test_constants_of_a_graph_that_is_gone_wait_for_its_last_run(cuda):
    """A table of a captured graph, forgotten meanwhile, is not handed out while the graph still reads it."""
    x = ingot.arange(16.0, device="cuda").reshape(1, 1, 4, 4)
    def grow():
        return ingot.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear")

    want = grow().cpu()
    g, other = ingot.cuda.CUDAGraph(), ingot.cuda.Stream()
    with ingot.cuda.graph(g):
        y = grow()
    ingot.cuda.synchronize()
    with other:
        g.replay()
        z = y.clone()
    linear_maps._tables.clear()
    del g, y
    gc.collect()
    spoilers = [ingot.full((n,), float("nan"), device="cuda") for n in range(1, 60)]
    cuda.wait_for(0)
    other.synchronize()
    assert ingot.equal(z.cpu(), want) and len(spoilers) == 59


def test_graphs_of_two_devices_share_no_memory(cuda):
    pool, graphs = ingot.cuda.graph_pool_handle(), []
    for i in (0, 1):
        with ingot.cuda.device(i):
            x = ingot.ones(1000, device="cuda")
            g = ingot.cuda.CUDAGraph()
            with ingot.cuda.graph(g, pool=pool):
                x.mul_(2.0)
            graphs.append((g, x))
    for n in (1, 2, 3):
        for g, x in graphs:
            g.replay()
            assert x.sum().item() == 1000 * 2 ** n
    used = [ingot.cuda.memory_reserved(i) for i in (0, 1)]
    del graphs, g, x
    gc.collect()
    ingot.cuda.empty_cache()
    assert all(ingot.cuda.memory_reserved(i) == 0 for i in (0, 1)) or max(used) == 0


def test_new_tensors_are_created_on_their_device(cuda):
    """Nothing is copied there from the host, and nothing waits."""
    x = ingot.rand(4, device="cuda")
    before, waited = cuda.sent, cuda.calls.get("cuStreamSynchronize", 0)
    made = [ingot.zeros(5, 6, device="cuda"), ingot.ones(3, device="cuda"), ingot.full((2, 2), 7, device="cuda"),
            ingot.arange(2, 30, 3, device="cuda"), ingot.arange(0, 1, 0.25, device="cuda"), ingot.eye(3, 4, device="cuda"),
            ingot.linspace(-1, 1, 1000, device="cuda"), ingot.zeros_like(x), ingot.scalar_tensor(3.0, device="cuda")]
    assert (cuda.sent, cuda.calls.get("cuStreamSynchronize", 0)) == (before, waited)
    strided = ingot.empty_strided((2, 3), (1, 2), device="cuda")
    assert strided.stride() == (1, 2) and ingot.empty(7, device="cuda").shape == (7,)
    wanted = [ingot.zeros(5, 6), ingot.ones(3), ingot.full((2, 2), 7), ingot.arange(2, 30, 3), ingot.arange(0, 1, 0.25),
              ingot.eye(3, 4), ingot.linspace(-1, 1, 1000), ingot.zeros(4), ingot.tensor(3.0)]
    for a, b in zip(made, wanted):
        assert a.is_cuda and a.dtype is b.dtype and ingot.equal(a.cpu(), b)
    waited = cuda.calls["cuStreamSynchronize"]
    ingot.nn.functional.dropout(x), ingot.randn(3, device="cuda"), x.uniform_()
    assert cuda.calls["cuStreamSynchronize"] == waited, "random numbers wait for nothing"
    with ingot.device("cuda:1"):
        assert ingot.zeros(2).device == ingot.arange(3.0).device == ingot.device("cuda:1")


# Captures.


def looked_up():
    table, at = ingot.arange(12.0, device="cuda").reshape(6, 2), ingot.tensor([5, 0, 3], device="cuda")
    return lambda: ingot.nn.functional.embedding(at, table)


def grown():
    x = ingot.arange(16.0, device="cuda").reshape(1, 1, 4, 4)
    return lambda: ingot.nn.functional.interpolate(x, size=(6, 7), mode="bilinear")


def picked():
    x = ingot.arange(24.0, device="cuda").reshape(4, 6)
    rows = ingot.tensor([2, 0, 3], device="cuda")
    return lambda: x[rows]


def divided():
    x = ingot.arange(1, 25, device="cuda")
    return lambda: 100 // x


def multiplied():
    x = ingot.arange(64.0, device="cuda").reshape(8, 8)
    return lambda: (x @ x).softmax(-1)


MAKERS = [looked_up, grown, picked, divided, multiplied]


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
def test_a_capture_needs_no_run_before(make, cuda):
    capture_without_a_run(make)


def capture_without_a_run(make):
    """Data that operators load once is loaded outside of the capture, and outlives the graph."""
    f, g = make(), ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        y = f()
    g.replay()
    want = f()
    assert ingot.equal(y.cpu(), want.cpu())
    del g, y
    gc.collect()
    assert ingot.equal(f().cpu(), want.cpu())


def test_page_locked_memory_is_read_anew_by_each_replay(cuda):
    replay_copies_from_the_host()


def replay_copies_from_the_host():
    source, x = ingot.zeros(5).pin_memory(), ingot.ones(5, device="cuda")
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        y = source.to("cuda", non_blocking=True) + 1
        x.copy_(source, non_blocking=True)
        back = x.to("cpu", non_blocking=True)
    for n in (3.0, 4.0):
        source.fill_(n)
        g.replay()
        ingot.cuda.synchronize()
        assert y.tolist() == [n + 1] * 5 and x.tolist() == back.tolist() == [n] * 5
    del source
    gc.collect()
    others = [ingot.full((5,), 9.0).pin_memory() for _ in range(4)]
    g.replay()
    assert x.tolist() == [4.0] * 5 and len(others) == 4
    del g
    gc.collect()
    assert ingot.zeros(3).pin_memory().to("cuda", non_blocking=True).tolist() == [0, 0, 0]


def test_page_locked_memory_of_a_graph_that_is_gone_waits_for_its_last_run(cuda):
    source, x, other = ingot.full((5,), 3.0).pin_memory(), ingot.ones(5, device="cuda"), ingot.cuda.Stream()
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        x.copy_(source, non_blocking=True)
    ingot.cuda.synchronize()
    del source
    with other:
        g.replay()
    del g
    gc.collect()
    others = [ingot.full((5,), 9.0).pin_memory() for _ in range(4)]
    other.synchronize()
    assert x.tolist() == [3.0] * 5 and len(others) == 4


def test_errors_in_a_capture_are_explained_and_recoverable(cuda):
    x = ingot.ones(4, device="cuda")
    for wrong, why in ((lambda: ingot.tensor([1.0, 2.0]).cuda(), "page-locked memory only"),
                       (lambda: x.cpu(), "cannot be read"), (lambda: x.sum().item(), "cannot be read"),
                       (lambda: ingot.linalg.svdvals(ingot.eye(5, device="cuda")), "svdvals.* is computed on the host"),
                       (lambda: x[[1, 2]], "page-locked memory only"),
                       (lambda: ingot.rand(3, device="cuda", generator=ingot.Generator()), "register_generator_state"),
                       (lambda: ingot.cuda.CUDAGraph().capture_begin(), "do not nest")):
        with pytest.raises(RuntimeError, match=why), ingot.cuda.graph(ingot.cuda.CUDAGraph()):
            wrong()
        assert not ingot.cuda.is_current_stream_capturing() and not pools.is_capturing()
    for wrong in (ingot.cuda.synchronize, lambda: ingot.cuda.current_stream().synchronize()):
        with pytest.raises(RuntimeError), ingot.cuda.graph(ingot.cuda.CUDAGraph()):
            wrong()
    g, other = ingot.cuda.CUDAGraph(), ingot.cuda.Stream()
    with pytest.raises(RuntimeError, match="nothing was captured"), ingot.cuda.graph(g):
        other.wait_stream(ingot.cuda.current_stream())
        with other:
            x + 1
    with pytest.raises(RuntimeError, match="holds nothing yet"):
        g.replay()
    with ingot.cuda.graph(g):
        y = x + 1
    g.replay()
    assert y.tolist() == [2] * 4 and not pools.allocator(0).captures


def test_an_index_out_of_range_in_a_replay_by_hand_is_raised(cuda):
    table, at = ingot.arange(12.0, device="cuda").reshape(6, 2), ingot.tensor([5, 0, 3], device="cuda")
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        y = ingot.nn.functional.embedding(at, table)
    g.replay()
    assert y.sum().item() == 35
    at.fill_(6)
    g.replay()
    with pytest.raises(IndexError, match="embedding: an index was out of range, on cuda:0"):
        y.sum().item()
    at.fill_(1)
    g.replay()
    assert y.sum().item() == 15
    other = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(other):
        z = table + 1
    other.replay()
    before = cuda.calls["cuMemcpyDtoHAsync_v2"]
    z.tolist()
    assert cuda.calls["cuMemcpyDtoHAsync_v2"] == before + 1, "a graph that checks nothing is not asked about"


def test_words_of_programs_that_are_gone_are_not_looked_at(cuda):
    mine = status_words.words_for(0, ("one", "two"))
    program.fill(mine, 1)
    with pytest.raises(IndexError, match="one and two: an index"):
        status_words.launched(mine)
        ingot.ones(1, device="cuda").item()
    before = cuda.calls["cuMemcpyDtoHAsync_v2"]
    ingot.ones(1, device="cuda").item()
    assert cuda.calls["cuMemcpyDtoHAsync_v2"] == before + 1, "what was not launched is not asked about"
    del mine
    gc.collect()
    assert not status_words._known(0)


def test_a_graph_that_is_dropped_while_it_is_captured_ends_the_capture(cuda):
    x, g, stream = ingot.ones(3, device="cuda"), ingot.cuda.CUDAGraph(), ingot.cuda.Stream()
    stream.wait_stream(ingot.cuda.current_stream())
    with stream:
        g.capture_begin()
        x + 1
        del g
        gc.collect()
        assert not stream.is_capturing() and not pools.is_capturing()
        assert (x + 2).tolist() == [3, 3, 3] and not pools.allocator(0).captures


def test_streams_part_and_meet_in_a_capture(cuda):
    x, g, other = ingot.zeros(100, device="cuda"), ingot.cuda.CUDAGraph(), ingot.cuda.Stream()
    with ingot.cuda.graph(g):
        here = ingot.cuda.current_stream()
        other.wait_stream(here)
        with other:
            a = x.exp()
        b = x + 3
        here.wait_stream(other)
        y = a + b
    for n in range(3):
        x.fill_(float(n))
        g.replay()
        assert abs(y.sum().item() - 100 * (np.exp(n) + n + 3)) < 1e-2


def test_waiting_memory_and_finalisers_do_not_disturb_a_capture(cuda):
    other = ingot.cuda.Stream()
    x = ingot.ones(1000, device="cuda")
    y = x + 1
    y.record_stream(other)
    with other:
        z = y * 2
    older = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(older):
        older_result = x + 5
    older.replay()
    lent = [ingot.ones(100, device="cuda") for _ in range(2)]
    foreign = [ingot.from_dlpack(SimpleNamespace(__dlpack__=x.__dlpack__, __dlpack_device__=x.__dlpack_device__)) for x in lent]
    used = [f + 1 for f in foreign]
    del y
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        a = x * 3
        del older, foreign, lent
        gc.collect()
        ingot.cuda.empty_cache()
        b = a + 1
    g.replay()
    assert b.sum().item() == 4000 and z.sum().item() == 4000 and older_result.sum().item() == 6000 and len(used) == 2


def test_replays_draw_anew(cuda):
    draw_by_replays()


def draw_by_replays():
    """The numbers of replays are those of the same calls without a graph."""
    x = ingot.ones(50, device="cuda")

    def step():
        return ingot.nn.functional.dropout(x, 0.5), ingot.rand(7, device="cuda"), ingot.randn_like(x)

    ingot.manual_seed(5)
    want = [[a.cpu() for a in step()] for _ in range(4)]
    ingot.manual_seed(5)
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        made = step()
    for expected in want[:3]:
        g.replay()
        assert all(ingot.equal(a.cpu(), b) for a, b in zip(made, expected))
    assert all(ingot.equal(a.cpu(), b) for a, b in zip(step(), want[3])), "eager goes on from there"
    ingot.manual_seed(5)
    with ingot.cuda.stream(ingot.cuda.Stream()):
        g.replay()
        assert ingot.equal(made[1].cpu(), want[0][1])


def test_keys_of_a_replay_are_not_overwritten_by_the_next_in_another_stream(cuda):
    total, others = ingot.zeros(4, device="cuda"), [ingot.cuda.Stream() for _ in range(2)]
    ingot.manual_seed(5)
    want = sum(ingot.rand(4) for _ in range(6))
    ingot.manual_seed(5)
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        total.add_(ingot.rand(4, device="cuda"))
    ingot.cuda.synchronize()
    for n in range(6):
        with ingot.cuda.stream(others[n % 2]):
            g.replay()
    ingot.cuda.synchronize()
    assert ingot.allclose(total.cpu(), want)


def test_a_generator_of_ones_own_is_drawn_from_by_replays(cuda):
    mine = ingot.Generator().manual_seed(3)
    want = [ingot.rand(4, device="cuda", generator=mine).cpu() for _ in range(3)]
    mine.manual_seed(3)
    g = ingot.cuda.CUDAGraph()
    g.register_generator_state(mine)
    with ingot.cuda.graph(g):
        y = ingot.rand(4, device="cuda", generator=mine)
    for expected in want:
        g.replay()
        assert ingot.equal(y.cpu(), expected)


def test_a_traced_function_in_a_capture(cuda):
    @jit.trace
    def step(x, scale):
        return ingot.nn.functional.dropout(x, 0.5) * scale, (x @ x.T).sum()

    x = ingot.ones(6, 6, device="cuda")
    for _ in range(6):
        step(x, ingot.tensor(2.0))
    ingot.manual_seed(1)
    want = [[a.cpu() for a in step(x, ingot.tensor(2.0))] for _ in range(3)]
    ingot.manual_seed(1)
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        made = step(x, ingot.tensor(2.0))
    for expected in want:
        g.replay()
        assert all(ingot.equal(a.cpu(), b) for a, b in zip(made, expected))


# Processes.


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_says_that_it_cannot_use_the_device(cuda):
    x = ingot.ones(4, device="cuda")
    assert x.sum().item() == 4
    for use in (lambda: x.sum().item(), lambda: ingot.ones(3, device="cuda"), lambda: x.cpu(), lambda: x.fill_(2.0)):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                assert ingot.cuda._is_in_bad_fork()
                use()
                message = "nothing was raised"
            except BaseException as e:
                message = str(e)
            os.write(writer, message.encode())
            os._exit(0)
        os.close(writer)
        message = os.read(reader, 1 << 16).decode()
        os.close(reader)
        os.waitpid(child, 0)
        assert "spawn" in message, message
    assert ingot.cuda.is_available() and not ingot.cuda._is_in_bad_fork() and x.sum().item() == 4


def test_traces_tell_streams_that_they_enter_from_those_of_their_caller(cuda):
    side = ingot.cuda.Stream()

    @jit.trace
    def step(x):
        first = ingot.cuda.current_stream() == side
        with ingot.cuda.stream(side):
            inside = ingot.cuda.current_stream() == side
            side.wait_stream(ingot.cuda.default_stream())
            y = x * 2
        ingot.cuda.current_stream().wait_stream(side)
        return y * (1 + inside + 2 * first)

    x = ingot.ones(3, device="cuda")
    assert [step(x).tolist()[0] for _ in range(3)] == [4.0] * 3
    with ingot.cuda.stream(side):
        assert [step(x).tolist()[0] for _ in range(2)] == [8.0] * 2
    assert step(x).tolist()[0] == 4.0

    @jit.trace
    def leaves(x):
        ingot.cuda.set_stream(side)
        return x * 2

    with pytest.raises(jit.TraceError, match=r"leaves the current stream of cuda:0 changed at .*test_hazards"):
        leaves(x)
    ingot.cuda.set_stream(ingot.cuda.default_stream())
