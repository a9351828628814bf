"""Arguments of a call as a spec: those that are tensors alone have the spec that each other way gives them."""

import numpy as np
import pytest

import ingot
from ingot.jit.guards.arg_pytree import ContainerTable, flatten, flatten_call


class Tagged(ingot.Tensor):
    """Tensor of a user class."""


T = ingot.ones(2)
CALLS = {
    "no argument": ((), {}),
    "one tensor": ((T,), {}),
    "several": ((T, T + 1, T), {}),
    "a parameter": ((ingot.nn.Parameter(T), T), {}),
    "a user class": ((T.as_subclass(Tagged), T), {}),
    "a number": ((T, 2), {}),
    "a list": (([T, T],), {}),
    "a name": ((T,), {"y": T}),
    "an array": ((T, np.ones(2)), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_quick_way_gives_what_flatten_gives(name):
    args, kwargs = CALLS[name]
    leaves, numbers, table = [], [], ContainerTable()
    spec = flatten((args, kwargs), leaves, numbers, met=table)
    quick_leaves, quick_numbers = [], []
    quick_spec, containers, wholes = flatten_call(args, kwargs, quick_leaves, quick_numbers, None)
    assert (quick_spec, hash(quick_spec), quick_numbers) == (spec, hash(spec), numbers)
    for quick, other in ((quick_leaves, leaves), (containers, table.containers), (wholes, table.wholes)):
        assert len(quick) == len(other)
        assert all(a is b for a, b in zip(quick, other))
