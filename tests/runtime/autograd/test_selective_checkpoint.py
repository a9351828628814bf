"""Selective checkpoints: the plain run's gradients, with exactly the operators of the policy recomputed."""

from functools import partial

import numpy as np
import pytest

import ingot
from ingot import nn, profiler
from ingot.ir.ops.linalg.products import matmul
from ingot.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)


def leaf(*shape, seed=0):
    return ingot.tensor(np.random.default_rng(seed).standard_normal(shape)).requires_grad_()


def block(x, w):
    y = (x @ w).tanh()
    y = nn.functional.dropout(y, 0.5) @ w
    return (y.relu_() * x).sin().max(dim=1)[0] + (x @ w).sum(1)


def attention(x, w):
    q, k, v = (x @ w).reshape(1, 1, 4, 4), x.reshape(1, 1, 4, 4), w.reshape(1, 1, 4, 4)
    return nn.functional.scaled_dot_product_attention(q, k, v).sum(0)


def numbered(context, op, *args, **params):
    """Policy that saves large results."""
    assert isinstance(context, SelectiveCheckpointContext) and not context.is_recompute and args
    return CheckpointPolicy.PREFER_SAVE if getattr(context.op_output, "ndim", 0) > 1 else CheckpointPolicy.MUST_RECOMPUTE


def named(context, op, *args, **params):
    return op.name in ("tanh", "attention")


POLICIES = {"functions": [ingot.matmul, ingot.sin], "names": ["tanh", "uniform"], "records": (matmul,), "mm": [ingot.mm],
            "none": [], "by results": numbered, "by names": named, "always": lambda *a, **k: CheckpointPolicy.MUST_SAVE,
            "never": lambda *a, **k: False, "attention": [nn.functional.scaled_dot_product_attention]}


def ran(prof):
    return {e.key: e.count for e in prof.key_averages()}


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("function", [block, attention])
@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_are_those_of_the_plain_run(policy, function, autocast):
    keeping = POLICIES[policy]
    if policy in ("always", "by results") and function is block:
        keeping = partial(_but, keeping)            # block writes into the result of this product
    elif function is block and policy in ("functions", "records", "mm"):
        keeping = ["tanh", "sin"]
    make = partial(create_selective_checkpoint_contexts, keeping)
    results = []
    for run in (function, partial(checkpoint, function, use_reentrant=False, context_fn=make)):
        x, w = leaf(4, 4), leaf(4, 4, seed=1)
        ingot.manual_seed(3)
        with ingot.autocast("cpu", enabled=autocast):
            out = run(x, w)
            out = run(x, w) + out
        grads = ingot.autograd.grad(out.double().square().sum(), (x, w), retain_graph=True)
        twice = ingot.autograd.grad(out.double().square().sum(), (x, w))
        results.append([t.tolist() for t in (out, *grads, *twice)])
    assert results[0] == results[1]


def _but(policy, context, op, *args, **params):
    return op.name != "matmul" and policy(context, op, *args, **params)


def test_saved_results_are_not_recomputed():
    def function(x):
        return ((x @ x).exp() @ x).sin().sum()

    counts = {}
    for name, policy in (("plain", []), ("products", [ingot.matmul]), ("all", ["matmul", "exp", "sin", "sum"])):
        x = leaf(3, 3)
        out = checkpoint(function, x, use_reentrant=False, context_fn=partial(create_selective_checkpoint_contexts, policy))
        with profiler.profile() as prof:
            out.backward()
        counts[name] = ran(prof)
    of = {name: tuple(found.get(k, 0) for k in ("exp", "sin")) for name, found in counts.items()}
    assert of == {"plain": (1, 1), "products": (1, 1), "all": (0, 0)}
    assert counts["plain"]["matmul"] - counts["products"].get("matmul", 0) == 2


def test_overwritten_saved_results_raise():
    def function(x):
        return (x @ x).relu_().sin()

    for allowed in (False, True):
        x = leaf(3, 3)
        make = partial(create_selective_checkpoint_contexts, [ingot.matmul], allow_cache_entry_mutation=allowed)
        out = checkpoint(function, x, use_reentrant=False, context_fn=make)
        if allowed:
            out.sum().backward()
            want = ingot.autograd.grad(function(x).sum(), x)[0]
            assert x.grad.tolist() == want.tolist()
        else:
            with pytest.raises(RuntimeError, match="matmul that was kept"):
                out.sum().backward()


def test_traces_and_batches_choose_themselves():
    make = partial(create_selective_checkpoint_contexts, [ingot.matmul])

    def loss(x, w):
        return checkpoint(lambda x, w: (x @ w).tanh().sum(), x, w, use_reentrant=False, context_fn=make)

    x, w = leaf(3, 3), leaf(3, 3, seed=1)
    want = ingot.autograd.grad(loss(x, w), (x, w))
    traced = ingot.jit.trace(lambda x, w: ingot.autograd.grad(loss(x, w), (x, w)))
    for _ in range(2):
        assert [t.tolist() for t in traced(x, w)] == [t.tolist() for t in want]
    batched = ingot.func.vmap(ingot.func.grad(loss), in_dims=(0, None))(ingot.stack([x, x]).detach(), w.detach())
    assert batched[1].tolist() == want[0].tolist()
    with profiler.profile() as prof, profiler.record_function("around"):
        ingot.autograd.grad(loss(x, w), (x, w))
    assert ran(prof)["around"] == 1 and ran(prof)["tanh"] == 2


@pytest.mark.parametrize("policy, words", [(["matmull"], "there is matmul"), ([print], "no operator 'print'"), (3, "got int")])
def test_policies_that_are_none_are_refused(policy, words):
    with pytest.raises(ingot.IngotError, match=words):
        create_selective_checkpoint_contexts(policy)


def test_a_gradient_inside_of_the_checkpointed_function():
    def force(x):
        with ingot.enable_grad():
            y = x.detach().requires_grad_()
            return x * ingot.autograd.grad((y @ y).sin().sum(), y)[0]

    make = partial(create_selective_checkpoint_contexts, [ingot.matmul])
    with pytest.raises(ingot.IngotError, match="without context_fn"):
        checkpoint(force, leaf(3, 3), use_reentrant=False, context_fn=make)
