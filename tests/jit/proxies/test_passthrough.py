"""Arrays over the memory of tensors that a function leaves outside are views of that memory at each call, as in eager code."""

import warnings

import numpy as np
import pytest

import ingot
from ingot import jit

LEFT = {
    "numpy": lambda x: x.numpy(),
    "asarray": np.asarray,
    "__array__": lambda x: x.__array__(),
    "dlpack": np.from_dlpack,
    "a view": lambda x: x.view(-1).detach().numpy(),
    "a transposed one": lambda x: x.t().numpy(),
    "a part": lambda x: x.numpy()[1:],
    "turned": lambda x: x.numpy().T,
    "flat": lambda x: x.numpy().reshape(-1),
    "other bits": lambda x: x.numpy().view(np.int32),
    "with steps": lambda x: np.asarray(x)[None, ::2],
    "spread out": lambda x: np.broadcast_to(x.numpy(), (2, *x.shape)),
    "of a buffer": lambda x: np.frombuffer(x.numpy(), dtype=np.float32),
    "a memoryview": lambda x: memoryview(x.numpy()),
    "a tensor": lambda x: ingot.from_numpy(x.numpy()),
    "in containers": lambda x: {"a": [x.numpy()]},
}


class Holder:
    pass


def memory_of(value):
    while isinstance(value, (dict, list)):
        value = value["a"] if isinstance(value, dict) else value[0]
    return value.numpy() if isinstance(value, ingot.Tensor) else np.asarray(value)


@pytest.mark.parametrize("name", LEFT)
def test_arrays_that_are_left_lie_over_the_memory_of_the_argument(name):
    take, holder = LEFT[name], Holder()

    def fn(x):
        holder.left = take(x)
        return x + 1

    traced = jit.trace(fn)
    with warnings.catch_warnings(action="ignore"):
        for _ in range(4):
            x = ingot.ones(2, 3)
            traced(x)
            assert np.shares_memory(memory_of(holder.left), x.numpy())


def test_an_array_in_two_places_is_one():
    holder = Holder()

    def fn(x):
        holder.a = holder.b = x.numpy()
        return x + 1

    traced = jit.trace(fn)
    with warnings.catch_warnings(action="ignore"):
        for _ in range(4):
            traced(ingot.ones(2, 3))
            assert holder.a is holder.b
