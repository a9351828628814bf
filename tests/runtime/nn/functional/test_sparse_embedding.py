"""Embeddings with sparse=True: a gradient of rows, how it meets other gradients, and the optimizers that take it."""

import copy

import numpy as np
import pytest

import ingot
from ingot import nn

ROWS, WIDTH = 12, 3


def table(cls=nn.Embedding, seed=0, **options):
    made = cls(ROWS, WIDTH, **options)
    with ingot.no_grad():
        made.weight.copy_(ingot.tensor(np.random.default_rng(seed).standard_normal((ROWS, WIDTH)).astype(np.float32)))
    return made


def indices(seed, shape=(2, 4)):
    return ingot.tensor(np.random.default_rng(seed).integers(0, ROWS, shape))


def dense_gradient(layer, loss):
    """Return the gradient of the same loss with sparse=False."""
    twin = copy.deepcopy(layer)
    twin.sparse, twin.weight.grad = False, None
    loss(twin).backward()
    return twin.weight.grad.numpy()


LOSSES = {
    "once": lambda layer: (layer(indices(1)) ** 2).sum(),
    "twice": lambda layer: (layer(indices(1)) ** 2).sum() + (layer(indices(2)) * 3).sum(),
    "no index": lambda layer: layer(ingot.zeros((2, 0), dtype=ingot.int64)).sum(),
}


CASES = [(cls, name) for cls in (nn.Embedding, nn.EmbeddingBag) for name in LOSSES if cls is nn.Embedding or name != "no index"]


@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("cls, name", CASES)
def test_the_gradient_is_sparse_and_equals_the_dense_one(cls, padding_idx, name):
    layer = table(cls, sparse=True, padding_idx=padding_idx)
    LOSSES[name](layer).backward()
    g = layer.weight.grad
    assert g.is_sparse and g.shape == (ROWS, WIDTH)
    np.testing.assert_allclose(g.to_dense().numpy(), dense_gradient(layer, LOSSES[name]), rtol=1e-5, atol=1e-6)
    if padding_idx is not None:
        assert padding_idx not in g._indices().tolist()[0]


def test_two_backwards_add_up_and_stay_sparse():
    layer = table(sparse=True)
    LOSSES["once"](layer).backward()
    LOSSES["once"](layer).backward()
    assert layer.weight.grad.is_sparse
    np.testing.assert_allclose(layer.weight.grad.to_dense().numpy(), 2 * dense_gradient(layer, LOSSES["once"]), rtol=1e-5)


@pytest.mark.parametrize("order", ["sparse first", "dense first", "in one backward"])
def test_together_with_a_dense_gradient_the_sum_is_dense(order):
    layer = table(sparse=True)
    losses = [lambda layer: (layer(indices(1)) ** 2).sum(), lambda layer: (layer.weight ** 3).sum()]
    if order == "dense first":
        losses.reverse()
    if order == "in one backward":
        sum(loss(layer) for loss in losses).backward()
    else:
        for loss in losses:
            loss(layer).backward()
    assert not layer.weight.grad.is_sparse
    both = dense_gradient(layer, lambda twin: sum(loss(twin) for loss in losses))
    np.testing.assert_allclose(layer.weight.grad.numpy(), both, rtol=1e-5, atol=1e-6)


def test_gradients_with_history_and_of_computed_tables_are_dense():
    layer = table(sparse=True)
    (g,) = ingot.autograd.grad(LOSSES["once"](layer), layer.weight, create_graph=True)
    assert not g.is_sparse and g.requires_grad
    w = layer.weight.detach().requires_grad_()
    nn.functional.embedding(indices(1), w * 2, sparse=True).sum().backward()
    assert not w.grad.is_sparse


def test_grad_and_hooks_get_the_sparse_tensor():
    layer, seen = table(sparse=True), []
    (g,) = ingot.autograd.grad(LOSSES["once"](layer), layer.weight)
    assert g.is_sparse
    layer.weight.register_hook(lambda g: seen.append(g.is_sparse) or g * 2)
    LOSSES["once"](layer).backward()
    assert seen == [True]
    np.testing.assert_allclose(layer.weight.grad.to_dense().numpy(), 2 * g.to_dense().numpy(), rtol=1e-6)


OPTIMIZERS = {
    "SGD": lambda p: ingot.optim.SGD(p, lr=0.1),
    "SGD maximize": lambda p: ingot.optim.SGD(p, lr=0.1, maximize=True),
    "SGD tensor lr": lambda p: ingot.optim.SGD(p, lr=ingot.tensor(0.1)),
    "SGD momentum": lambda p: ingot.optim.SGD(p, lr=0.1, momentum=0.9),
    "SGD decay": lambda p: ingot.optim.SGD(p, lr=0.1, weight_decay=0.1),
    "Adagrad": lambda p: ingot.optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2),
    "SparseAdam": lambda p: ingot.optim.SparseAdam(p, lr=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_by_rows_equal_steps_by_dense_gradients(name):
    layers = [table(sparse=sparse) for sparse in (True, False)]
    optimizers = [OPTIMIZERS[name](layer.parameters()) for layer in layers]
    for seed in range(4):
        for layer, optimizer in zip(layers, optimizers):
            optimizer.zero_grad()
            (layer(indices(seed)) ** 2).sum().backward()
            assert layer.weight.grad.is_sparse == layer.sparse
            optimizer.step()
    np.testing.assert_allclose(*[layer.weight.detach().numpy() for layer in layers], rtol=2e-5, atol=1e-6)


def test_rows_that_are_not_named_stay_as_they_are():
    layer = table(sparse=True)
    before = layer.weight.detach().clone().numpy()
    optimizer = ingot.optim.SparseAdam(layer.parameters(), lr=0.1)
    layer(ingot.tensor([2, 5, 2])).sum().backward()
    optimizer.step()
    changed = np.flatnonzero((layer.weight.detach().numpy() != before).any(1))
    assert changed.tolist() == [2, 5]


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Rprop", "ASGD", "NAdam", "RAdam", "Adamax"])
def test_an_optimizer_that_moves_all_rows_refuses(name):
    layer = table(sparse=True)
    LOSSES["once"](layer).backward()
    with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
        getattr(ingot.optim, name)(layer.parameters()).step()


def test_clipping_scaling_zeroing_copying():
    layer = table(sparse=True)
    LOSSES["twice"](layer).backward()
    dense = layer.weight.grad.to_dense().numpy()
    twin = copy.deepcopy(layer)
    twin.weight.grad = copy.deepcopy(layer.weight.grad)
    total = nn.utils.clip_grad_norm_(layer.parameters(), 0.5)
    np.testing.assert_allclose(total.item(), np.linalg.norm(dense), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(layer.weight.grad.to_dense().numpy()), 0.5, rtol=1e-4)
    np.testing.assert_allclose(twin.weight.grad.to_dense().numpy(), dense, rtol=1e-6)
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad._nnz() == 0
    scaler = ingot.amp.GradScaler("cpu", init_scale=4.0)
    optimizer = ingot.optim.SGD(twin.parameters(), lr=0.1)
    optimizer.zero_grad()
    scaler.scale(LOSSES["once"](twin)).backward()
    scaler.unscale_(optimizer)
    np.testing.assert_allclose(twin.weight.grad.to_dense().numpy(), dense_gradient(twin, LOSSES["once"]), rtol=1e-5)


def test_inconsistent_arguments_are_named():
    w = ingot.ones(4, 2, requires_grad=True)
    with pytest.raises(ValueError, match="scale_grad_by_freq"):
        nn.functional.embedding(ingot.tensor([1]), w, scale_grad_by_freq=True, sparse=True)
    with pytest.raises(ValueError, match="max"):
        nn.functional.embedding_bag(ingot.tensor([[1]]), w, mode="max", sparse=True)
    layer = table(sparse=True)
    LOSSES["once"](layer).backward()
    with pytest.raises(RuntimeError, match="weight_decay"):
        ingot.optim.Adagrad(layer.parameters(), weight_decay=0.1).step()


def test_an_index_overwritten_before_backward_is_found():
    layer, at = table(sparse=True), ingot.tensor([1, 2])
    out = layer(at).sum()
    at[0] = 5
    with pytest.raises(ingot.IngotError, match="overwritten"):
        out.backward()
