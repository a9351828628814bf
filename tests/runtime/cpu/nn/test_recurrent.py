"""Recurrent layers against the operators' references: random sizes, masks, both directions, threads, gradients."""

import numpy as np
import pytest

import ingot
from covering import thinned
from ingot.ir import dtype as dt
from ingot.ir import target
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core.elementwise import neg
from ingot.ir.ops.nn import recurrent as ops
from ingot.passes.codegen.llvm.sequence import recurrent as codegen
from ingot.passes.codegen.llvm.sequence import recurrent_grad as codegen_grad
from ingot.passes.codegen.llvm.sequence.recurrent import PackKernel
from ingot.passes.codegen.recurrent_cells import CELLS
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.graph.program import CompiledGraph
from ingot.runtime.cpu.nn import recurrent as kernels
from seeds import several

TOLERANCE = {"float32": 2e-5, "float64": 1e-12}      # relative to the largest element
LAYERS = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def test_accuracy_of_the_tanh_of_gates():
    """Numbers of every size, with the signs and limits that they have; without weights a layer is its activation alone."""
    sizes = np.geomspace(1e-45, 60, 40000)
    x = np.concatenate([sizes, -sizes, np.linspace(-12, 12, 40000), [np.inf, -np.inf, np.nan, 3e38, -3e38]]).astype(np.float32)
    x = np.resize(x, (len(x) // 640 + 1, 10, 64))
    zeros = np.zeros((64, 64), np.float32)
    y = kernels.forward("rnn_tanh", x, None, zeros[:10], None, zeros, None, reverse=False)[0]
    want = np.tanh(x.astype(np.float64))
    with np.errstate(invalid="ignore"):
        off = np.abs(y - want) / np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    assert np.array_equal(np.isnan(y), np.isnan(x))
    assert np.nanmax(off) <= 2.5, f"{np.nanmax(off)} units of the last place at {x.flat[np.nanargmax(off)]}"
    assert (np.signbit(y) == np.signbit(x))[np.isfinite(x)].all() and np.nanmax(np.abs(y)) == 1.0


class Case:
    """Operands of a layer of random sizes."""

    def __init__(self, name, seed):
        rng = np.random.default_rng([seed, *name.encode()])
        self.name, self.rng, self.dtype = name, rng, rng.choice(list(TOLERANCE))
        steps, batch = int(rng.choice([1, 2, 3, 5, 8, 14])), int(rng.choice([1, 2, 4, 7, 8, 13, 20]))
        hidden, gates = int(rng.choice([1, 5, 16, 20, 33, 64, 130])), LAYERS[name]
        self.reverse, self.mask = bool(rng.integers(2)), None
        if rng.random() < 0.5:
            self.mask = np.arange(steps)[:, None] < rng.integers(0, steps + 1, batch)
        self.z, self.h, self.w = (self.random(*shape) for shape in ((steps, batch, gates * hidden), (batch, hidden),
                                                                    (gates * hidden, hidden)))
        self.w /= np.sqrt(hidden, dtype=self.dtype)      # so that steps do not amplify rounding
        self.c = self.random(batch, hidden) if name == "lstm" else None
        self.bias = self.random(gates * hidden) if name == "gru" and rng.random() < 0.7 else None
        if rng.random() < 0.3:
            self.w = np.asfortranarray(self.w)
        masked = self.mask is not None
        self.label = f"{name} seed {seed}: z {self.z.shape} {self.dtype}, reverse={self.reverse}, masked={masked}"

    def random(self, *shape):
        return (self.rng.standard_normal(shape) * 0.5).astype(self.dtype)

    def run(self, keeps=True):
        return kernels.forward(self.name, self.z, self.mask, self.h, self.c, self.w, self.bias, reverse=self.reverse,
                               keeps=keeps)

    def reference(self):
        """Return (states, cells, gates) in float64."""
        z, h, c, w, bias = (None if a is None else a.astype(np.float64) for a in (self.z, self.h, self.c, self.w, self.bias))
        if self.name == "lstm":
            return ops.lstm_sequence.ref(z, self.mask, h, c, w, None, reverse=self.reverse)
        if self.name == "gru":
            y, gates = ops.gru_sequence.ref(z, self.mask, h, w, bias, reverse=self.reverse)
            return y, None, gates
        return ops.rnn_sequence.ref(z, self.mask, h, w, activation=self.name[4:], reverse=self.reverse), None, None

    def some_of(self, upstream):
        """Return some of the gradients, at least one."""
        found = [g if self.rng.random() < 0.6 else None for g in upstream]
        return found if any(g is not None for g in found) else upstream

    def run_backward(self, upstream, results):
        return kernels.gradients(self.name, upstream, results, self.mask, self.h, self.c, self.w, reverse=self.reverse)

    def reference_backward(self, upstream, results):
        """Return (dz, da, dh, dc, dw) in float64; da as the gradient of the bias, its sum."""
        (gy, gc, gg), (y, cells, gates), (h, c, w) = (
            [None if a is None else a.astype(np.float64) for a in group]
            for group in (upstream, results, (self.h, self.c, self.w)))
        if self.name == "lstm":
            dz, dh, dc, dw = ops.lstm_sequence_grad.ref(gy, gc, gg, y, cells, gates, self.mask, h, c, w, None,
                                                        reverse=self.reverse)
            return dz, dz.sum((0, 1)), dh, dc, dw
        if self.name == "gru":
            dz, dh, dw, db = ops.gru_sequence_grad.ref(gy, gg, y, gates, self.mask, h, w, np.zeros(len(w)),
                                                       reverse=self.reverse)
            return dz, db, dh, None, dw
        dz, dh, dw = ops.rnn_sequence_grad.ref(gy, y, self.mask, h, w, activation=self.name[4:], reverse=self.reverse)
        return dz, dz.sum((0, 1)), dh, None, dw


def close(got, want, dtype, label):
    assert got.shape == want.shape, label
    scale = max(1.0, np.abs(want).max(initial=0))
    assert np.abs(got - want).max(initial=0) <= TOLERANCE[str(dtype)] * scale, label


def same_on_all(threads, run, label):
    """Return the result of `run`, which has the same bits with any number of threads."""
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append(run())
    for other in results[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(results[0], other)), f"{label}: threads change the result"
    return results[0]


@pytest.mark.parametrize("seed, name", several(5, 12, LAYERS))
def test_layers_equal_the_reference(name, seed, threads):
    case = Case(name, seed)
    got = same_on_all(threads, case.run, case.label)
    want = case.reference()
    for what, a, b in zip(("states", "cells", "gates"), got, want):
        if b is not None:
            close(a, b, case.dtype, f"{case.label}: {what}")
    results = [a if b is not None else None for a, b in zip(got, want)]
    y, cells, _ = same_on_all(threads, lambda: case.run(keeps=False), case.label)
    assert y.tobytes() == got[0].tobytes(), f"{case.label}: states differ without gradients"
    assert case.c is None or cells.tobytes() == got[1][0 if case.reverse else -1].tobytes(), f"{case.label}: last cells"
    upstream = case.some_of([None if a is None else case.random(*a.shape) for a in results])
    back = same_on_all(threads, lambda: case.run_backward(upstream, results), case.label)
    dz, da, dh, dc, dw = case.reference_backward(upstream, results)
    for what, a, b in (("dz", back[0], dz), ("da", back[1].sum((0, 1)), da), ("dh", back[2], dh), ("dc", back[3], dc),
                       ("dw", back[4], dw)):
        if b is not None:
            close(a, b, case.dtype, f"{case.label}: {what}")


def compiled(op, args, **params):
    """Return (results, the plan) of an operator on inner values of a compiled graph."""
    b, arrays = Builder("g"), [a for a in args if a is not None]
    inputs = iter([b.input(f"x{n}", Aval(a.shape, dt.from_numpy(a.dtype))) for n, a in enumerate(arrays)])
    operands = [None if a is None else next(inputs) if a.dtype == bool else neg(next(inputs)) for a in args]
    results = op(*operands, **params)
    results = results if type(results) is tuple else (results,)
    graph = CompiledGraph(b.finish([neg(v) for v in results]), kernel_of)
    return [-a for a in graph.run([a if a.dtype == bool else -a for a in arrays])], graph.plan, operands, results


@pytest.mark.parametrize("name", ["lstm", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("seed", range(5))
def test_results_are_written_over_operands_with_the_same_bits(name, seed):
    case = Case(name, seed)
    kind, params = name[:4].rstrip("_"), {"reverse": case.reverse} | ({} if name == "lstm" else {"activation": name[4:]})
    states = (case.h, case.c) if name == "lstm" else (case.h,)
    last = (case.w, None) if name == "lstm" else (case.w,)
    want = [a for a in case.run() if a.ndim > 1]
    got, plan, operands, results = compiled(getattr(ops, f"{kind}_sequence"), (case.z, case.mask, *states, *last), **params)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(got, want, strict=True)), case.label
    run, = plan.steps
    assert run.arena[results[-1]] == run.arena[operands[0]], f"{case.label}: not over z"
    gy = case.random(*want[0].shape)
    upstream = (gy, None, None) if name == "lstm" else (gy,)
    back = case.run_backward((gy, None, None), (*want, None, None)[:3])
    args = (*upstream, *want, case.mask, *states, *last)
    got, plan, operands, results = compiled(getattr(ops, f"{kind}_sequence_grad"), args, **params)
    want = [back[0], *back[2:2 + len(states)], back[4]]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(got, want, strict=True)), case.label
    run, = plan.steps
    assert run.arena[results[0]] == run.arena[operands[5 if name == "lstm" else 0]], f"{case.label}: dz has memory of its own"


def test_threads_share_the_steps_of_a_large_layer(threads):
    rng = np.random.default_rng(1)
    z, h, c, w = ((rng.standard_normal(s) * 0.2).astype(np.float32) for s in ((5, 30, 800), (30, 200), (30, 200), (800, 200)))
    got = same_on_all(threads, lambda: kernels.forward("lstm", z, None, h, c, w, None, reverse=False), "large")
    want = ops.lstm_sequence.ref(*(a.astype(np.float64) for a in (z,)), None, *(a.astype(np.float64) for a in (h, c, w)), None,
                                 reverse=False)
    for a, b in zip(got, want):
        close(a, b, "float32", "large")


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_training_step_eager_and_traced(kind):
    ingot.manual_seed(0)
    layer = getattr(ingot.nn, kind)(6, 20, num_layers=2, bidirectional=True, batch_first=True)
    x = ingot.randn(4, 7, 6)

    def loss(x):
        return (layer(x)[0] ** 2).mean()

    loss(x).backward()
    wanted = [p.grad.numpy().copy() for p in layer.parameters()]
    rng, eps = np.random.default_rng(2), 1e-2
    direction = [rng.standard_normal(p.shape).astype(np.float32) for p in layer.parameters()]
    values = []
    with ingot.no_grad():
        for sign in (1, -2):
            for p, d in zip(layer.parameters(), direction):
                p += sign * eps * ingot.from_numpy(d)
            values.append(loss(x).item())
        for p, d in zip(layer.parameters(), direction):
            p += eps * ingot.from_numpy(d)
    slope = sum((g * d).sum() for g, d in zip(wanted, direction))
    assert abs(slope - (values[0] - values[1]) / (2 * eps)) <= 2e-2 * max(1, abs(slope))

    def gradients(x):
        return ingot.autograd.grad(loss(x), list(layer.parameters()))

    eager, traced = gradients(x), ingot.jit.trace(gradients)
    for _ in range(2):
        assert all(ingot.equal(a, b) for a, b in zip(eager, traced(x)))


def outputs(kind, layer, x):
    """Return (outputs, last states) of a layer as a flat list."""
    y, last = layer(x)
    return [y, *last] if kind == "LSTM" else [y, last]


@pytest.mark.parametrize("cache", [1 << 10, 1 << 20])
@pytest.mark.parametrize("batch, steps, hidden, packed", [
    (1, 12, 64, (False, False)), (1, 13, 64, (False, True)), (4, 32, 64, (False, True)), (4, 33, 64, (True, True)),
    (1, 13, 8, (True, True)), (5, 3, 64, (False, False)), (5, 4, 64, (True, True))])
def test_weights_are_packed_from_a_number_of_steps_on(monkeypatch, cache, batch, steps, hidden, packed):
    """Of many sequences; of few ones, for which it matters more whether the second-level cache holds them."""
    monkeypatch.setattr(kernels.cache_sizes, "second_level", lambda: cache)
    z, w = (Aval(shape, dt.float32) for shape in ((steps, batch, 4 * hidden), (4 * hidden, hidden)))
    assert (kernels.packing("lstm", z, w) is not None) is packed[cache > 1 << 10]


@pytest.mark.parametrize("batch", [1, 6])
@pytest.mark.parametrize("steps", [1, 3, 9, 15])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_results_without_gradients_have_the_same_bits(kind, steps, batch):
    layer = getattr(ingot.nn, kind)(5, 18, num_layers=2, bidirectional=True)
    x = ingot.randn(steps, batch, 5)
    with_gradients = outputs(kind, layer, x)
    with ingot.no_grad():
        for got in (outputs(kind, layer, x), ingot.jit.trace(lambda x: outputs(kind, layer, x))(x)):
            assert all(ingot.equal(a, b.detach()) for a, b in zip(got, with_gradients)), (kind, steps, batch)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_the_gradient_of_one_result_equals_that_with_zeros_for_others(kind):
    layer = getattr(ingot.nn, kind)(4, 7, bidirectional=True)
    x = ingot.randn(5, 3, 4)

    def gradients(weights):
        total = sum((y * w).sum() for y, w in zip(outputs(kind, layer, x), weights) if w is not None)
        return ingot.autograd.grad(total, list(layer.parameters()))

    count = len(outputs(kind, layer, x))
    for number in range(count):
        alone = gradients([1.0 if i == number else None for i in range(count)])
        traced = ingot.jit.trace(gradients)([1.0 if i == number else None for i in range(count)])
        filled = gradients([1.0 if i == number else 0.0 for i in range(count)])
        for a, b, c in zip(alone, filled, traced):
            assert np.allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6), (kind, number)
            assert ingot.equal(a, c), (kind, number)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_gradients_of_the_layers_for_inference(kind):
    rng = np.random.default_rng(4)
    gates = {"lstm": 4, "gru": 3}[kind]
    z, h, c, w = (ingot.from_numpy(rng.standard_normal(s).astype(np.float32) * np.float32(0.5)).requires_grad_()
                  for s in ((5, 3, gates * 6), (3, 6), (3, 6), (gates * 6, 6)))
    for reverse in (False, True):
        if kind == "lstm":
            y, cells, _ = ops.lstm_sequence(z, None, h, c, w, None, reverse=reverse)
            pairs = ((y, cells[0 if reverse else -1]), ops.lstm_states(z, None, h, c, w, None, reverse=reverse))
            inputs = [z, h, c, w]
        else:
            pairs = ((ops.gru_sequence(z, None, h, w, None, reverse=reverse)[0],),
                     (ops.gru_states(z, None, h, w, None, reverse=reverse),))
            inputs = [z, h, w]
        for used in (slice(0, 1), slice(None), slice(-1, None)):
            found = [ingot.autograd.grad(sum((r ** 2).sum() for r in results[used]), inputs, retain_graph=True,
                                         allow_unused=True) for results in pairs]
            for a, b in zip(*found):
                assert np.allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6), (kind, reverse, used)


def test_padded_steps_may_hold_anything():
    cases = (Case("lstm", seed) for seed in range(40))
    case = next(c for c in cases if c.mask is not None and not c.mask.all() and c.z.shape[1] > 3)
    y, cells, _ = case.run()
    case.z = np.where(case.mask[:, :, None], case.z, np.float32(1e30)).astype(case.dtype)
    again = case.run()
    assert np.array_equal(again[0], y) and np.array_equal(again[1], cells)


MODULES = {"step": lambda machine, cell: codegen.StepKernel(machine, "float", cell, True),
           "packed step": lambda machine, cell: codegen.StepKernel(machine, "float", cell, True, keeps=False, packed=True),
           "pack": lambda machine, cell: PackKernel(machine, "double", cell, False),
           "gradient": lambda machine, cell: codegen_grad.StepGradKernel(machine, "float", cell, False)}


@pytest.mark.parametrize("kernel, level, name", thinned(MODULES, ("x86-64", "x86-64-v3", "x86-64-v4", "aarch64"), LAYERS))
def test_every_target_compiles(kernel, level, name):
    machine = target.cpu(level)
    assert compiler.emit_object(MODULES[kernel](machine, CELLS[name]).text(), machine)


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_narrower_vectors_give_the_same(level, monkeypatch, threads):
    narrow = target.cpu(level)
    if not target.supports(narrow):
        pytest.skip(f"this machine does not run {level}")
    for module in (kernels, compiler):
        monkeypatch.setattr(module, "host", lambda: narrow)
    for cache in (kernels.forward_plan, kernels.grad_plan):
        cache.cache_clear()
    for name in LAYERS:
        test_layers_equal_the_reference(name, 3, threads)
    for cache in (kernels.forward_plan, kernels.grad_plan):
        cache.cache_clear()


@pytest.mark.parametrize("seed", range(8))
def test_projected_layers_equal_the_reference(seed, threads):
    rng = np.random.default_rng([9, seed])
    dtype, reverse = rng.choice(list(TOLERANCE)), bool(rng.integers(2))
    steps, batch, hidden = int(rng.integers(1, 6)), int(rng.choice([1, 3, 9])), int(rng.choice([3, 16, 37, 64]))
    size = int(rng.integers(1, hidden))
    z, h, c, w, projection = ((rng.standard_normal(s) * 0.4).astype(dtype) for s in (
        (steps, batch, 4 * hidden), (batch, size), (batch, hidden), (4 * hidden, size), (size, hidden)))
    mask = np.arange(steps)[:, None] < rng.integers(0, steps + 1, batch) if seed % 2 else None
    label = f"seed {seed}: z {z.shape} {dtype}, projected to {size}, reverse={reverse}, masked={mask is not None}"
    layer, gradient = (kernels.OPERATORS[record].eager for record in (ops.lstm_sequence, ops.lstm_sequence_grad))
    got = same_on_all(threads, lambda: layer(z, mask, h, c, w, projection, reverse=reverse), label)
    z64, h64, c64, w64, projection64 = (a.astype(np.float64) for a in (z, h, c, w, projection))
    for a, b in zip(got, ops.lstm_sequence.ref(z64, mask, h64, c64, w64, projection64, reverse=reverse)):
        close(a, b, dtype, label)
    upstream = [rng.standard_normal(a.shape).astype(dtype) for a in got]
    for gradients in (upstream, [upstream[0], None, None], [None, upstream[1], None]):
        back = same_on_all(threads, lambda: gradient(*gradients, *got, mask, h, c, w, projection, reverse=reverse), label)
        wide = [None if a is None else a.astype(np.float64) for a in (*gradients, *got)]
        want = ops.lstm_sequence_grad.ref(*wide, mask, h64, c64, w64, projection64, reverse=reverse)
        for number, (a, b) in enumerate(zip(back, want)):
            close(a, b, dtype, f"{label}: gradient {number}")
