"""Independent graphs in independent threads, one model shared by many, and thread-local switches."""

import threading
import time

import numpy as np

import ingot
from ingot import jit, nn
from ingot.autograd import grad


def in_threads(count, work):
    """Run work(i) in `count` threads at once; return the results or raise the first error."""
    results, errors = [None] * count, []
    gate = threading.Barrier(count)

    def run(i):
        try:
            gate.wait(timeout=30)
            results[i] = work(i)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=100)
    if errors:
        raise errors[0]
    return results


def data(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def model(x, w, v):
    return ((x @ w).tanh() @ v).exp().sum()


def test_independent_graphs():
    def work(i):
        total = []
        for k in range(20):
            x = ingot.tensor(data(4, 4, seed=i * 100 + k)).requires_grad_()
            (x.exp() * x).sum().backward()
            total.append(x.grad.numpy())
        return np.array(total)

    for i, found in enumerate(in_threads(8, work)):
        xs = np.array([data(4, 4, seed=i * 100 + k) for k in range(20)])
        np.testing.assert_allclose(found, np.exp(xs) * (xs + 1), err_msg=f"thread {i}")


def test_one_model_from_eight_threads_accumulates_every_gradient():
    rounds, count = 25, 8
    w = ingot.tensor(data(5, 6, seed=1) * 0.3).requires_grad_()
    v = ingot.tensor(data(6, 2, seed=2) * 0.3).requires_grad_()
    inputs = [[ingot.tensor(data(3, 5, seed=i * rounds + k)) for k in range(rounds)] for i in range(count)]

    def work(i):
        for x in inputs[i]:
            model(x, w, v).backward()

    in_threads(count, work)
    expected = [np.zeros(w.shape), np.zeros(v.shape)]
    for xs in inputs:
        for x in xs:
            for e, g in zip(expected, grad(model(x, w, v), [w, v])):
                e += g.numpy()
    np.testing.assert_allclose(w.grad.numpy(), expected[0], rtol=1e-10)
    np.testing.assert_allclose(v.grad.numpy(), expected[1], rtol=1e-10)


def test_one_graph_walked_by_several_threads():
    x = ingot.tensor(data(6, seed=3)).requires_grad_()
    shared = x.exp()
    outs = [(shared * k).sum() for k in range(1, 9)]
    found = in_threads(8, lambda i: grad(outs[i], x, retain_graph=True)[0].numpy())
    for i, g in enumerate(found):
        np.testing.assert_allclose(g, (i + 1) * np.exp(x.detach().numpy()))


def test_grad_mode_belongs_to_the_thread():
    def work(i):
        if i % 2:
            with ingot.no_grad():
                return [ingot.is_grad_enabled() for _ in range(50)]
        return [ingot.is_grad_enabled() for _ in range(50)]

    for i, seen in enumerate(in_threads(4, work)):
        assert set(seen) == {i % 2 == 0}
    assert ingot.is_grad_enabled()


def test_backward_in_a_thread_without_grad_mode():
    x = ingot.ones(3).requires_grad_()
    y = (x * 2).sum()

    def work(_):
        with ingot.no_grad():
            y.backward()

    in_threads(1, work)
    assert x.grad.tolist() == [2.0] * 3


def test_the_number_of_threads_may_change_while_others_compute(threads):
    """Running calls go on with the memory planned for them: every result is the first one, bit by bit."""
    ingot.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.Flatten(),
                        nn.Linear(64 * 14 * 14, 32)).eval()
    x, a, stop = ingot.randn(4, 32, 14, 14), ingot.randn(200, 300), threading.Event()
    run = jit.trace(net)

    def change():
        while not stop.is_set():
            for count in (1, 16, 2, 32):
                ingot.set_num_threads(count)
                time.sleep(0.0005)

    def results():
        with ingot.no_grad():
            return [t.numpy().copy() for t in (run(x), net(x), a.sort(dim=1).values)]

    threads(2)
    want = [results() for _ in range(3)][-1]
    changer = threading.Thread(target=change)
    changer.start()
    try:
        wrong = [i for i in range(200) if any(not np.array_equal(w, g) for w, g in zip(want, results()))]
    finally:
        stop.set()
        changer.join(30)
    assert not wrong


def test_a_thread_that_has_lost_its_state_asks_in_vain():
    """Finalizers run while a thread ends."""
    from ingot.runtime.state.mode import tls
    seen = []

    def ends():
        vars(tls).clear()
        seen.append(tls.m.recorder)

    thread = threading.Thread(target=ends)
    thread.start()
    thread.join()
    assert seen == [None]
