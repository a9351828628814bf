"""Traced code as compiled programs: bits of eager code, writes in place, threads, forks, and descriptions."""

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import ingot
from ingot import jit, nn, optim
from ingot.ir import config
from ingot.ir.errors import AutogradError
from random_programs import RandomProgram, bits

F = nn.functional
SEEDS = 120


def vec(*shape, seed=0, dtype=np.float32):
    return ingot.tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


# Eager and traced are the same bits.


@pytest.mark.parametrize("block", range(6))
def test_random_programs_give_the_bits_of_eager(block):
    ran = 0
    for seed in range(block * SEEDS // 6, (block + 1) * SEEDS // 6):
        program = RandomProgram(seed)
        traced = jit.trace(program.__call__)
        for call in range(3):
            mine, yours = program.arguments(seed + call), program.arguments(seed + call)
            with ingot.no_grad():
                want, got = program(*mine), traced(*yours)
            assert [bits(t) for t in got] == [bits(t) for t in want], f"seed {seed}, call {call}: results differ"
            assert [bits(t) for t in yours] == [bits(t) for t in mine], f"seed {seed}, call {call}: arguments differ afterwards"
            ran += 1
    assert ran == 3 * SEEDS // 6


@pytest.mark.parametrize("block", range(4))
def test_gradients_of_random_programs_give_the_bits_of_eager(block):
    for seed in range(1000 + 10 * block, 1010 + 10 * block):
        program = RandomProgram(seed, writes=False)

        def step(*leaves, program=program):
            results = [r for r in program(*leaves) if r.requires_grad]
            if results:
                sum([(r * r).sum().to(ingot.float64) for r in results]).backward()
            return [x.grad for x in leaves if x.grad is not None]

        traced = jit.trace(step)
        for call in range(3):
            mine, yours = ([x.requires_grad_() for x in program.arguments(seed + call)] for _ in range(2))
            want, got = step(*mine), traced(*yours)
            assert [bits(t) for t in got] == [bits(t) for t in want], f"seed {seed}, call {call}"


def test_backward_outside_of_the_trace():
    def fn(x, w):
        return F.softmax(x * w, dim=-1).square().sum() + ingot.exp(x).mean()

    traced = jit.trace(fn)
    for i in range(3):
        pairs = [[vec(5, 9, seed=i).requires_grad_(), vec(9, seed=9).requires_grad_()] for _ in range(2)]
        fn(*pairs[0]).backward()
        traced(*pairs[1]).backward()
        assert [bits(t.grad) for t in pairs[1]] == [bits(t.grad) for t in pairs[0]], f"call {i}"


def test_an_input_overwritten_before_backward_is_noticed():
    fn = jit.trace(lambda x, w: (x * w).sum())
    for _ in range(3):
        x, w = vec(4), vec(4, seed=1).requires_grad_()
        y = fn(x, w)
        x.add_(1)
        with pytest.raises(AutogradError, match="overwritten"):
            y.backward()

    def writes(x, w):
        y = (x * w).sum()
        x.add_(1)
        return y

    inside = jit.trace(writes)
    for _ in range(3):
        y = inside(vec(4), vec(4, seed=1).requires_grad_())
        with pytest.raises(AutogradError, match="overwritten"):
            y.backward()


def test_low_precision_rounds_after_every_operator():
    x = vec(4, 33).to(ingot.bfloat16)
    fn = jit.trace(lambda x: (x * 3 + x).tanh() - x)
    want = (x * 3 + x).tanh() - x
    fn(x)
    assert bits(fn(x).to(ingot.float32)) == bits(want.to(ingot.float32))


def optimizers():
    return {"sgd": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3), "adam": lambda p: optim.Adam(p, lr=1e-2),
            "adamw": lambda p: optim.AdamW(p, lr=1e-2)}


@pytest.mark.parametrize("name", optimizers())
def test_a_training_step_is_one_program(name):
    def make(wrap):
        ingot.manual_seed(3)
        net = nn.Sequential(nn.Linear(20, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 7))
        opt = optimizers()[name](net.parameters())

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
            return loss.detach()

        return net, wrap(step)

    net, eager = make(lambda f: f)
    same, traced = make(jit.trace)
    for i in range(12):
        x, y = vec(16, 20, seed=i), ingot.tensor(np.random.default_rng(i).integers(0, 7, 16))
        assert bits(traced(x, y)) == bits(eager(x, y)), f"step {i}"
        assert [bits(p) for p in same.parameters()] == [bits(p) for p in net.parameters()], f"step {i}"
    stats = traced.stats()
    assert stats["compiles"] <= 2
    assert stats["in_place"] >= 3


def test_a_returned_loss_keeps_nothing_after_its_backward():
    def step(x, w):
        loss = (x * w).tanh().sum()
        loss.backward()
        return loss

    traced = jit.trace(step)
    for _ in range(3):
        w = vec(5, seed=2).requires_grad_()
        loss = traced(vec(5), w)
        assert loss.requires_grad
        assert w.grad is not None
        with pytest.raises(AutogradError, match="second time"):
            loss.backward()
    assert [e.tree.first.finish.differential for e in traced._cache.all_entries()] == [None]


# Memory.


def test_results_are_memory_of_their_own():
    fn = jit.trace(lambda x: (x, x + 1, x.T, x[0], x + 1))
    x = vec(3, 4)
    fn(x)
    first = fn(x)
    before = [bits(t) for t in first]
    fn(x)
    assert [bits(t) for t in first] == before
    assert first[0] is x
    first[1].zero_()
    assert bits(first[4]) == before[4]


def test_updates_are_written_in_place_only_after_the_last_read():
    def make():
        def fn(a, b):
            old = a * 2
            a.mul_(3)
            b.copy_(a + b)
            return old, a.T @ b

        return fn

    traced, eager = jit.trace(make()), make()
    for i in range(3):
        mine, yours = [vec(6, 5, seed=i), vec(6, 5, seed=i + 9)], [vec(6, 5, seed=i), vec(6, 5, seed=i + 9)]
        data = [t._a for t in yours]
        want, got = eager(*mine), traced(*yours)
        assert bits(got[0]) == bits(want[0])
        assert [bits(t) for t in yours] == [bits(t) for t in mine]
        assert all(t._a is a for t, a in zip(yours, data))
        assert yours[0]._storage.version >= 1


def test_two_tensors_are_swapped():
    def swap(a, b):
        t = a.clone()
        a.copy_(b)
        b.copy_(t)

    traced = jit.trace(swap)
    for i in range(3):
        a, b = vec(4, seed=i), vec(4, seed=i + 50)
        before = bits(a), bits(b)
        traced(a, b)
        assert (bits(b), bits(a)) == before


def test_arguments_in_any_layout():
    fn = jit.trace(lambda x, y: (x * 2 + y).sum(0))
    for i in range(3):
        x, y = vec(7, 5, seed=i).T, vec(5, 14, seed=i)[:, ::2]
        assert bits(fn(x, y)) == bits((x * 2 + y).sum(0))
    wide = vec(5, 14)
    change = jit.trace(lambda v: v.add_(1))
    for _ in range(3):
        before = wide.clone()
        change(wide[:, ::2])
        assert (wide[:, ::2].numpy() == before[:, ::2].numpy() + 1).all()
        assert (wide[:, 1::2].numpy() == before[:, 1::2].numpy()).all()


def test_empty_tensors():
    fn = jit.trace(lambda x: (x.sum(), (x * 2).tanh(), x.reshape(-1)))
    for _ in range(3):
        total, y, flat = fn(ingot.ones(0, 3))
        assert total.item() == 0
        assert tuple(y.shape) == (0, 3)
        assert tuple(flat.shape) == (0,)


def test_compilations_collect_young_objects_alone():
    """Collections of older objects would bring that of all objects nearer, for which later calls pay."""
    def compiled(number):
        traced = jit.trace(lambda x: ((x * number).sin() + number).sum())
        for _ in range(4):
            traced(vec(8))
        assert traced.stats()["compiles"]

    generations: list = []

    def note(phase, facts):
        if phase == "start":
            generations.append(facts["generation"])

    compiled(2.0)       # loads what compiling needs
    gc.callbacks.append(note)
    gc.disable()        # those that are left are asked for
    try:
        for number in (3.0, 4.0, 5.0):
            compiled(number)
    finally:
        gc.enable()
        gc.callbacks.remove(note)
    assert 0 in generations and not any(generations), generations


# Threads and processes.


def test_many_threads_in_one_traced_function():
    fn = jit.trace(lambda x, w: (F.softmax(x @ w, dim=-1) * x).sum(0) + x.mean())
    w = vec(24, 24)
    xs = [vec(40, 24, seed=i) for i in range(32)]
    want = [bits((F.softmax(x @ w, dim=-1) * x).sum(0) + x.mean()) for x in xs]
    wrong = []

    def work(i):
        for _ in range(20):
            if bits(fn(xs[i], w)) != want[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(32)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_continues():
    code = """
import os, ingot
from ingot import jit
fn = jit.trace(lambda x: (x * 2).tanh().sum())
x = ingot.ones(300, 300)
fn(x); want = fn(x).item()
pid = os.fork()
if pid == 0:
    os._exit(0 if fn(x).item() == want else 3)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_a_second_process_compiles_nothing(tmp_path):
    code = """
import sys, ingot
from ingot import jit
from ingot.runtime.cpu.compiler import compile
fn = jit.trace(lambda x: ((x * 2).tanh() + 1).sum(1))
x = ingot.ones(8, 9)
fn(x); fn(x)
print(compile.stats()["compiles"], "llvmlite" in sys.modules)
"""
    env = {**os.environ, "INGOT_CACHE_DIR": str(tmp_path)}
    outputs = [subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120,
                           check=True).stdout
            for _ in range(2)]
    assert outputs[0].split()[0] != "0"
    assert outputs[1].split() == ["0", "False"]


def test_other_sizes_use_the_same_code():
    fn = jit.trace(lambda x: (x * 2 + 1).sigmoid().sum(1))
    for n in (3, 5, 70, 300):
        x = vec(n, 2 * n)
        fn(x)
        assert bits(fn(x)) == bits((x * 2 + 1).sigmoid().sum(1))
    assert len(fn.kernels) == 1


# Reports.


def test_explanations():
    fn = jit.trace(lambda x, w: F.gelu(x @ w + 1).sum(0))
    x, w = vec(8, 6), vec(6, 6)
    fn(x, w)
    text = fn.explain()
    assert "native matmul" in text
    assert "add gelu sum" in text
    assert "test_compile_segment.py" in text
    stages = next(iter(fn.graphs.values()))
    assert "recorded" in stages
    (product, _), (reduction, code) = fn.kernels.values()
    assert "matmul" in product
    assert "reduce" in reduction
    assert "define" in code
    assert fn.stats()["kernels"] == 1


def test_switches_print_and_dump(tmp_path, capfd):
    fn = jit.trace(lambda x: (x * 2).exp())
    fn(vec(4))
    with config.override(debug=6, dump=str(tmp_path)):
        fn(vec(4))
    printed = capfd.readouterr().err
    assert "kernel" in printed
    assert "define" in printed
    assert any(p.suffix == ".ll" for p in tmp_path.iterdir())


def test_a_failing_call_names_operator_and_line():
    fn = jit.trace(lambda x, i: x.index_select(0, i) * 2)
    fn(vec(4), ingot.tensor([1, 2]))
    with pytest.raises(Exception, match="index"):
        fn(vec(4), ingot.tensor([1, 9]))
