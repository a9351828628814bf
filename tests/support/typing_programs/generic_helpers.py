"""Helpers with annotations of a user's own: type variables, protocols, callables, unions of layers."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar, assert_type

import ingot
from ingot import Tensor, nn

M = TypeVar("M", bound=nn.Module)
T = TypeVar("T")


def frozen(model: M) -> M:
    for p in model.parameters():
        p.requires_grad = False
    return model.eval()


assert_type(frozen(nn.Linear(1, 2)), nn.Linear)


class Loss(Protocol):
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...


losses: dict[str, Loss] = {"mse": nn.MSELoss(), "l1": nn.functional.l1_loss, "ce": nn.CrossEntropyLoss()}
activations: list[Callable[[Tensor], Tensor]] = [nn.ReLU(), nn.functional.gelu, ingot.tanh, nn.Sequential(nn.Linear(3, 1))]


def mlp(sizes: Sequence[int], activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    layers: list[nn.Module] = []
    for n_in, n_out in zip(sizes, sizes[1:]):
        layers += [nn.Linear(n_in, n_out), activation()]
    return nn.Sequential(*layers[:-1])


def build(norm: Callable[[int], nn.Module] = functools.partial(nn.LayerNorm, eps=1e-6)) -> nn.Module:
    return norm(4)


class Averages(Generic[T]):
    def __init__(self, items: Iterable[T]) -> None:
        self.items = list(items)

    def mean(self, key: Callable[[T], Tensor | float]) -> float:
        return sum(float(key(item)) for item in self.items) / len(self.items)


class Wrapper(nn.Module):
    def __init__(self, inner: nn.Linear | nn.Conv2d) -> None:
        super().__init__()
        self.inner = inner
        self.by_name = {"inner": inner}

    def forward(self, *inputs: Tensor, scale: float | Tensor = 1.0, **options: Any) -> Tensor:
        return self.inner(inputs[0]) * scale


def seeded(seed: int) -> contextlib.AbstractContextManager[None]:
    return ingot.random.fork_rng() if seed else contextlib.nullcontext()


def shapes(values: dict[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {k: tuple(v.shape) for k, v in values.items()}


net = mlp([3, 4, 1])
y: Tensor = Wrapper(nn.Linear(3, 3))(ingot.ones(2, 3), scale=ingot.ones(1))
out = [f(y) for f in activations]
total = losses["mse"](net(y), ingot.zeros(2, 1)) + losses["l1"](y, y)
print(Averages([ingot.ones(2), ingot.zeros(2)]).mean(lambda t: t.sum()), shapes(net.state_dict()), out, total, build())
device: ingot.device = y.device
dtype: ingot.dtype = ingot.float16 if device.type == "cuda" else ingot.float32
options: dict[str, Any] = {"device": device, "dtype": dtype}
print(ingot.zeros(3, **options), device.index, dtype.is_floating_point, dtype.itemsize)
