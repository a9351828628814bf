"""Recurrent layers on the mock driver against the CPU: one launch for each step of time, whatever sizes, dtypes and options."""

import itertools

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, nn
from ingot.ir import dtype as dt
from ingot.ir.ops.nn import recurrent as rc
from ingot.nn.utils.rnn import pack_padded_sequence
from ingot.passes.codegen.triton.sequence import recurrent as text
from ingot.runtime.backends import cudnn

SEED, STEPS = 5, 3
LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.RNN, "rnn_relu": nn.RNN}
# Of the largest element: the CPU keeps what lies between steps of 16-bit layers in float32.
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}
BATCHES, HIDDEN = (1, 3, 16, 33), (1, 7, 20, 128)


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed(alone=True) as mock:
        yield mock


def layer(name, hidden, **options):
    ingot.manual_seed(SEED)
    if name.startswith("rnn"):
        options["nonlinearity"] = name[4:]
    return LAYERS[name](4, hidden, **options)


def draw(*shape, salt=0):
    return ingot.tensor(np.random.default_rng(SEED + salt).standard_normal(shape) * 0.5)


def run(net, x, states, lengths=None, traced=False):
    """Outputs, last states and all gradients, of a loss that all results count in."""
    leaves = [x, *states, *net.parameters()]

    def step(x, *states):
        given = x if lengths is None else pack_padded_sequence(x, lengths)
        out, last = net(given, states if len(states) > 1 else states[0])
        out = out if lengths is None else out.data
        results = [out, *(last if isinstance(last, tuple) else (last,))]
        counted = [(ingot.arange(r.numel(), device=r.device).reshape(r.shape) % 5 - 1).to(r.dtype) for r in results]
        return *results, *ingot.autograd.grad(results, leaves, counted)

    step = jit.trace(step) if traced else step
    for _ in range(3 if traced else 1):
        found = step(x, *states)
    return [t.detach().cpu().double().numpy() for t in found]


def compare(name, batch, hidden, dtype="float32", lengths=None, traced=False, steps=STEPS, **options):
    found = []
    for device in ("cpu", "cuda"):
        net = layer(name, hidden, **options).to(device, getattr(ingot, dtype))
        layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        sizes = [options.get("proj_size") or hidden] + [hidden] * (name == "lstm")
        data = draw(steps, batch, 4), *[draw(layers, batch, n, salt=1 + i) for i, n in enumerate(sizes)]
        x, *states = [t.to(device, getattr(ingot, dtype)).requires_grad_() for t in data]
        found.append(run(net, x, states, lengths, traced and device == "cuda"))
    case = f"{name} batch {batch} hidden {hidden} {dtype} {options} lengths {lengths}"
    for n, (want, got) in enumerate(zip(*found, strict=True)):
        np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE[dtype] * max(1, np.abs(want).max()),
                                   err_msg=f"result {n} of {case}")


def cases():
    """Every cell, batch and hidden size, with options and dtypes in turn. (Of many units one is near relu's edge, where
    rounding to 16 bits decides whether a gradient goes through.)"""
    kinds = itertools.cycle(["float32", "bfloat16", "float32", "float16", "float64"])
    options = itertools.cycle([{}, {"bidirectional": True}, {"num_layers": 2}, {"bias": False},
                               {"num_layers": 2, "bidirectional": True, "bias": False}, {"bidirectional": True}, {}])
    for name, batch, hidden in itertools.product(LAYERS, BATCHES, HIDDEN):
        large = batch * hidden > 1000
        kind, how = next(kinds), next(options)
        kind = "float32" if large and name == "rnn_relu" else kind
        yield pytest.param(name, batch, hidden, kind, {} if large else how,
                           id=f"{name}-{batch}x{hidden}", marks=[pytest.mark.slow] * (batch * hidden > 3000))


@pytest.mark.parametrize("name, batch, hidden, dtype, options", list(cases()))
def test_sizes_and_options(name, batch, hidden, dtype, options):
    compare(name, batch, hidden, dtype, **options)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_every_dtype(name, dtype):
    for batch in (2, 18):
        compare(name, batch, 20, dtype, lengths=None if batch == 2 else [3] * 7 + [2] * 6 + [1] * 5)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("options", [{"num_layers": 2, "bidirectional": True}, {"bias": False}], ids=str)
def test_traced(name, options):
    compare(name, 3, 7, traced=True, **options)


def test_traced_sequences_of_several_lengths():
    compare("lstm", 3, 7, lengths=[3, 2, 1], traced=True, proj_size=2)
    compare("gru", 3, 7, lengths=[3, 2, 1], traced=True)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("batch", [2, 5])
def test_sequences_of_several_lengths(name, batch):
    lengths = [3, 2, 2, 1, 1][:batch]
    for options in ({}, {"num_layers": 2, "bidirectional": True}):
        compare(name, batch, 7, lengths=lengths, **options)


@pytest.mark.parametrize("lengths", [None, [3, 1, 1]], ids=["whole", "packed"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}], ids=str)
def test_projections(options, dtype, lengths):
    compare("lstm", 3, 20, dtype, lengths=lengths, proj_size=6, **options)


def test_one_step():
    for name in LAYERS:
        compare(name, 3, 7, steps=1)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "bias": False}, {"num_layers": 2}], ids=str)
def test_transposed_weights(name, options, monkeypatch, cuda):
    """As many steps without tensor cores take them: units side by side."""
    monkeypatch.setattr(text, "is_worth_turning", lambda *sizes: True)
    for batch, hidden in ((3, 20), (18, 7)):
        compare(name, batch, hidden, **options)
    assert any("turned" in n for n in names_of(cuda.launches))


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_layers_without_gradients_have_the_same_bits(name):
    net, x = layer(name, 20).cuda(), draw(STEPS, 3, 4).float().cuda()
    want, last = net(x)
    with ingot.no_grad():
        got, ends = net(x)
    assert ingot.equal(got.cpu(), want.cpu())
    for a, b in zip(*[t if isinstance(t, tuple) else (t,) for t in (last, ends)]):
        assert ingot.equal(a.cpu(), b.cpu())


@pytest.mark.parametrize("keeps", [True, False], ids=["training", "inference"])
def test_small_changes_add_up(keeps):
    """A state that remembers nearly all and takes in a little at each step: with 8 bits it would stand still."""
    steps, kind = 150, ingot.bfloat16
    z = ingot.zeros(steps, 2, 12, dtype=kind, device="cuda")
    z[..., 3:6], z[..., 6:9] = 30.0, 0.01
    h, w = ingot.zeros(2, 3, dtype=kind, device="cuda"), ingot.zeros(12, 3, dtype=kind, device="cuda")
    lstm, gru = (rc.lstm_sequence, rc.gru_sequence) if keeps else (rc.lstm_states, rc.gru_states)
    cells = lstm(z, None, h, ingot.full_like(h, 4.0), w, None, reverse=False)[1]
    want = 4 + steps * 0.5 * np.tanh(z[0, 0, 6].item())
    np.testing.assert_allclose((cells[-1] if keeps else cells).cpu().float().numpy(), want, rtol=4e-3)
    z = z[..., :9].contiguous()
    z[..., 3:6], z[..., 6:9] = 6.0, -1.0
    states = gru(z, None, h + 1, w[:9].contiguous(), None, reverse=False)
    states, stays = states[0] if keeps else states, 1 / (1 + np.exp(-6.0))
    want = (1 + np.tanh(1)) * stays ** steps - np.tanh(1)
    np.testing.assert_allclose(states[-1].cpu().float().numpy(), want, rtol=8e-3)


@pytest.mark.parametrize("name", LAYERS)
def test_calls_are_repeated(name):
    """Recorded calls are repeated for other values, memory and lengths."""
    there, here = layer(name, 7), layer(name, 7).cuda()
    for number, steps in enumerate((3, 3, 3, 5, 3)):
        x = draw(steps, 3, 4, salt=number).float()
        found = []
        for net, given in ((there, x), (here, x.cuda())):
            given.requires_grad_()
            y = net(given)[0]
            found.append([y, *ingot.autograd.grad(y, [given, *net.parameters()], y.detach() * 2)])
        for want, got in zip(*found):
            np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().numpy(), rtol=1e-4, atol=1e-5)


def names_of(launches):
    return [one["name"] for one in launches]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_step_of_time_is_a_launch(name, dtype, cuda):
    """Beside them: what the input gives to all steps, the gradients of the first state and of weights and biases, copies."""
    steps, kind = 9, getattr(ingot, dtype)
    net, x = layer(name, 20).to("cuda", kind), draw(steps, 3, 4).to("cuda", kind).requires_grad_()
    before = len(cuda.launches)
    y = net(x)[0]
    forward = names_of(cuda.launches[before:])
    before = len(cuda.launches)
    ingot.autograd.grad(y, [x, *net.parameters()], ingot.ones_like(y))
    backward = names_of(cuda.launches[before:])
    own = [n for n in forward if n.startswith(f"{name}_step")], [n for n in backward if n.startswith(f"{name}_step_grad")]
    assert [len(n) for n in own] == [steps, steps] and len(set(own[0])) == len(set(own[1])) == 1, (forward, backward)
    assert len(forward) <= steps + 8 and len(backward) <= steps + 14, (forward, backward)


def test_a_projection_is_a_second_launch(cuda):
    steps = 9
    net, x = layer("lstm", 20, proj_size=6).cuda(), draw(steps, 3, 4).float().cuda().requires_grad_()
    before = len(cuda.launches)
    y = net(x)[0]
    forward = names_of(cuda.launches[before:])
    before = len(cuda.launches)
    ingot.autograd.grad(y, [x, *net.parameters()], ingot.ones_like(y))
    backward = names_of(cuda.launches[before:])
    assert len(forward) <= 2 * steps + 8 and len(backward) <= 2 * steps + 16, (forward, backward)


def test_float32_recurrent_layers_use_tensor_cores_by_switch(cuda, monkeypatch):
    net, x = layer("lstm", 20).cuda(), draw(STEPS, 3, 4).float().cuda()
    want = net(x)[0].cpu()
    assert not any("tf32" in n for n in names_of(cuda.launches))
    monkeypatch.setattr(cudnn, "allow_tf32", True)
    assert ingot.allclose(net(x)[0].cpu(), want, atol=2.0 ** -9)       # factors are cut to 10 bits after the first
    assert sum(n.startswith("lstm_step_f32_tf32") for n in names_of(cuda.launches)) == STEPS


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_gradients_of_gates_and_cells(name):
    """Second gradients have gradients of gates and cells; layers never do."""
    rng, batch, hidden = np.random.default_rng(SEED), 3, 5
    gates = {"lstm": 4, "gru": 3}[name]
    given = [rng.standard_normal(s) * 0.5 for s in ((STEPS, batch, gates * hidden), (batch, hidden), (batch, hidden),
                                                    (gates * hidden, hidden))]
    mask, found = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]], bool), []
    for device in ("cpu", "cuda"):
        z, h, c, w = (ingot.tensor(a).float().to(device).requires_grad_() for a in given)
        live = ingot.tensor(mask).to(device)
        if name == "lstm":
            results, leaves = rc.lstm_sequence(z, live, h, c, w, None, reverse=True), [z, h, c, w]
        else:
            results, leaves = rc.gru_sequence(z, live, h, w, None, reverse=True), [z, h, w]
        first = ingot.autograd.grad(sum((r * r).sum() for r in results), leaves, create_graph=True)
        second = ingot.autograd.grad(sum((g * g).sum() for g in first), leaves)
        found.append([t.detach().cpu().numpy() for t in (*first, *second)])
    for want, got in zip(*found):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_programs_fill_a_chip():
    """At the sizes that matter, more than a third of 132 multiprocessors have a program, and none has much more than others."""
    for kind, batch, hidden in itertools.product((dt.float32, dt.bfloat16), (32, 64), (512, 1024)):
        how = text.Step("lstm", kind, form=text.form_of(kind, "ieee", batch))
        for gates, depth in ((4, hidden), (0, 4 * hidden)):
            tile, _, _ = text.tiles(how, gates, (batch, hidden, depth), 132)
            programs, _, _ = text.grid(tile, batch, hidden)
            assert 132 // 3 < programs <= 132, (kind, batch, hidden, gates, tile)


