"""Numbers that a Function keeps for its backward, which are others by the time of the backward: eager code keeps them."""

import types

import pytest

import ingot
from ingot import jit

SOURCES = {
    "attribute of the same name": "state.k",
    "attribute of another name": "state.other",
    "item": "table['k']",
    "closure": "k",
    "argument": "number",
    "global": "K",
}


def life(source, keep, wrap) -> tuple:
    """Return the gradients of calls of a layer that reverses gradients by a schedule, and the function."""
    program = f"""
def make():
    k = 0.0

    class Reverse(ingot.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            {keep.partition(';')[0]}
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -{keep.partition(';')[2]} * g, None

    def f(x, number):
        return (Reverse.apply(x * w, {source}) * 2).sum()

    def change(value):
        nonlocal k
        k = value
    return f, change
"""
    space = {"ingot": ingot, "types": types, "w": ingot.ones(3).requires_grad_(),
             "state": types.SimpleNamespace(k=0.0, other=0.0), "table": {"k": 0.0}, "K": 0.0}
    exec(compile(program, "program of a user", "exec"), space)
    f, change = space["make"]()
    traced, gradients = wrap(f), []

    def set_all(value):
        change(value)
        space["state"].k = space["state"].other = space["table"]["k"] = space["K"] = value

    for i in range(6):
        set_all(i / 10)
        loss = traced(ingot.ones(3) * (i + 1), i / 10)
        set_all(100.0)
        loss.backward()
        gradients.append(space["w"].grad.tolist())
        space["w"].grad = None
    return gradients, traced


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("keep", ["ctx.k = k;ctx.k", "ctx.held = [k];ctx.held[0]",
                                  "ctx.held = types.SimpleNamespace(k=k);ctx.held.k"], ids=["number", "list", "object"])
def test_gradient_reversal_with_a_schedule(source, keep):
    expected, _ = life(source, keep, lambda f: f)
    gradients, f = life(source, keep, jit.trace)
    assert gradients == expected and f.stats()["compiles"]
