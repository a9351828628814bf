"""Gradient modes as context managers and decorators, with and without parentheses."""

from collections.abc import Iterator
from typing import assert_type

import ingot
import ingot.nn as nn
from ingot import Tensor


@ingot.no_grad()
def predict(x: Tensor, times: int = 2) -> Tensor:
    return x * times


@ingot.no_grad
def bare(x: Tensor) -> Tensor:
    return x * 3


@ingot.inference_mode()
def infer(x: Tensor) -> list[Tensor]:
    return [x]


@ingot.enable_grad()
def learn(x: Tensor) -> Tensor:
    return x * 2


class Net(nn.Module):
    @ingot.no_grad()
    def embed(self, x: Tensor) -> Tensor:
        return x

    @ingot.no_grad()
    def stream(self, x: Tensor) -> Iterator[Tensor]:
        yield x


x = ingot.ones(2, requires_grad=True)
assert_type(predict(x, times=3), Tensor)
assert_type(bare(x), Tensor)
assert_type(infer(x), list[Tensor])
assert_type(learn(x), Tensor)
assert_type(Net().embed(x), Tensor)
for part in Net().stream(x):
    assert_type(part, Tensor)
with ingot.no_grad():
    y = x * 2
with ingot.no_grad() as mode, ingot.enable_grad():
    y = x * 2
with ingot.set_grad_enabled(False), ingot.inference_mode(True):
    y = x * 2
with ingot.autograd.no_grad(), ingot.autograd.grad_mode.enable_grad():
    y = x * 2
ingot.set_grad_enabled(True)
print(ingot.is_grad_enabled(), y, mode)
switch = ingot.no_grad()
with switch:
    pass
