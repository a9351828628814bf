"""Sparse gradients of embeddings in traces: sparse where eager ones are, with the same entries and bits."""

import numpy as np
import pytest

import ingot
from ingot import nn

ROWS, WIDTH, CALLS = 12, 3, 6


def table(cls=nn.Embedding, **options):
    made = cls(ROWS, WIDTH, sparse=True, **options)
    with ingot.no_grad():
        made.weight.copy_(ingot.tensor(np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype(np.float32)))
    return made


def indices(seed, size=6):
    """Return row numbers, some several times; at the fourth call nothing but padding."""
    return ingot.tensor(np.full(size, 3) if seed == 4 else np.random.default_rng(seed).integers(0, ROWS, size))


def entries(g):
    """Return indices and values of a gradient."""
    if g is None or not g.is_sparse:
        return None if g is None else g.numpy().tobytes()
    return g.is_coalesced(), g._indices().tolist(), g._values().numpy().tobytes()


OPTIMIZERS = {
    "SGD": lambda p: ingot.optim.SGD(p, lr=0.1),
    "SGD maximize": lambda p: ingot.optim.SGD(p, lr=0.1, maximize=True),
    "SGD tensor lr": lambda p: ingot.optim.SGD(p, lr=ingot.tensor(0.1)),
    "SGD momentum": lambda p: ingot.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adagrad": lambda p: ingot.optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2),
    "SparseAdam": lambda p: ingot.optim.SparseAdam(p, lr=0.1),
}
LOSSES = {
    "once": lambda layer, at, mask: ((layer(at) ** 2) * mask).sum(),      # of some rows the gradient is zero
    "twice": lambda layer, at, mask: ((layer(at) ** 2) * mask).sum() + (layer(at.flip(0)) * 3).sum(),
    "with a dense one": lambda layer, at, mask: ((layer(at) ** 2) * mask).sum() + (layer.weight ** 2).sum(),
}
BETWEEN = {
    "nothing": lambda layer: None,
    "coalesce": lambda layer: layer.weight.grad.coalesce()._nnz(),
    "clip": lambda layer: nn.utils.clip_grad_norm_(layer.parameters(), 0.5),
}
CASES = [*[(name, "once", "nothing") for name in OPTIMIZERS], *[("SparseAdam", loss, "nothing") for loss in LOSSES],
         *[("SparseAdam", "twice", between) for between in BETWEEN]]


@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("cls", [nn.Embedding, nn.EmbeddingBag])
@pytest.mark.parametrize("optimizer, loss, between", dict.fromkeys(CASES))
def test_a_traced_step_leaves_the_gradient_and_the_rows_that_an_eager_one_does(cls, padding_idx, optimizer, loss, between):
    def run(wrap):
        layer, found = table(cls, padding_idx=padding_idx), []
        steps = OPTIMIZERS[optimizer](layer.parameters())

        def step(at, mask):
            steps.zero_grad()
            value = LOSSES[loss](layer, at.reshape(-1, 1) if cls is nn.EmbeddingBag else at, mask)
            value.backward()
            seen = BETWEEN[between](layer)
            steps.step()
            return value, seen

        step = wrap(step)
        for call in range(CALLS):
            value, seen = step(indices(call), ingot.tensor(np.random.default_rng(call).integers(0, 2, (6, 1))))
            seen = seen.item() if isinstance(seen, ingot.Tensor) else seen
            found.append((value.item(), seen, entries(layer.weight.grad), layer.weight.detach().numpy().tobytes()))
        return found, step

    want, _ = run(lambda step: step)
    got, traced = run(ingot.jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 5      # (where numbers of entries are asked for, they are sizes that change)


def test_a_traced_step_asks_for_no_number_of_entries():
    ingot.eye(2).to_sparse()        # the first sparse tensor of a process is one more reason to record again
    layer = table(padding_idx=3)
    optimizer = ingot.optim.SparseAdam(layer.parameters(), lr=0.1)

    @ingot.jit.trace
    def step(at):
        optimizer.zero_grad()
        (layer(at) ** 2).sum().backward()
        optimizer.step()

    for call in range(CALLS):
        step(indices(call))
    assert step.stats()["compiles"] == 2 and step.stats()["native_calls"] == 1      # (the first call found no gradient)


@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("name", ["returned", "of other sizes", "by autograd.grad", "with a history", "after the call"])
def test_gradients_are_those_of_eager_mode(padding_idx, name):
    def run(wrap):
        layer, found = table(padding_idx=padding_idx), []

        def loss(at):
            return (layer(at) ** 3).sum() + layer(at.flip(0)).sum()

        def gradient(at):
            layer.weight.grad = None
            loss(at).backward()
            return layer.weight.grad

        def history(at):
            g, = ingot.autograd.grad(loss(at), layer.weight, create_graph=True)
            return ingot.autograd.grad((g ** 2).sum(), layer.weight)[0]

        functions = {"by autograd.grad": lambda at: ingot.autograd.grad(loss(at), layer.weight)[0], "with a history": history,
                     "after the call": loss}
        function = wrap(functions.get(name, gradient))
        for call in range(CALLS):
            layer.weight.grad = None if name == "after the call" else layer.weight.grad
            g = function(indices(call, 4 + call % 3 if name == "of other sizes" else 6))
            if name == "after the call":
                g.backward()
                g = layer.weight.grad
            found.append((entries(g), entries(layer.weight.grad)))
        return found

    assert run(ingot.jit.trace) == run(lambda function: function)


def test_a_gradient_that_is_returned_is_the_one_that_the_table_has():
    layer = table()

    @ingot.jit.trace
    def gradient(at):
        layer.weight.grad = None
        layer(at).sum().backward()
        return layer.weight.grad

    for call in range(3):
        gradient(indices(call))._values().mul_(2)
    assert layer.weight.grad._values().eq(2).all()


@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("use", ["backward", "step"])
def test_a_sparse_gradient_that_was_there_before_is_refused(use, padding_idx):
    layer = table(padding_idx=padding_idx)
    optimizer = ingot.optim.SGD(layer.parameters(), lr=0.1)

    @ingot.jit.trace
    def step(at):
        if use == "backward":
            layer(at).sum().backward()
        else:
            optimizer.step()

    for dense in (True, False):
        layer.sparse, layer.weight.grad = not dense, None
        layer(indices(0)).sum().backward()
        if dense:
            layer.sparse = True
            step(indices(1))
        else:
            with pytest.raises(ingot.jit.TraceError, match=r"sparse gradient that was there before.*zero_grad"):
                step(indices(1))


def test_sparse_tensors_of_sizes_that_change_are_returned():
    traced = ingot.jit.trace(lambda x: x.to_sparse())
    for rows in (2, 3, 5, 3):
        x = ingot.arange(rows * 2.0).reshape(rows, 2)
        assert traced(x).to_dense().equal(x) and traced(x)._nnz() == rows * 2 - 1
