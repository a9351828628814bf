"""Traced functions, methods and modules keep their signatures, and say what they run."""

from typing import Any, assert_type

import ingot
from ingot import Tensor, jit, nn, optim

net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
steps = optim.Adam(net.parameters(), lr=1e-3)


@jit.trace
def step(batch: Tensor, scale: float = 1.0) -> Tensor:
    """One training step."""
    steps.zero_grad()
    loss = net(batch).square().mean() * scale
    loss.backward()
    steps.step()
    return loss


assert_type(step(ingot.ones(2, 3)), Tensor)
assert_type(step(ingot.ones(2, 3), scale=0.5), Tensor)
assert_type(step.stats(), dict[str, Any])
assert_type(step.explain(), str)
for name, graph in step.graphs.items():
    print(name, graph)
print(step.kernels, step.__name__, step.fn(ingot.ones(2, 3)))
step.forget()


@jit.trace(dynamic=True)
def pair(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return a + b, a - b


assert_type(pair(ingot.ones(2), b=ingot.ones(2)), tuple[Tensor, Tensor])
print(pair.stats()["misses"])


@jit.trace(dynamic={"x": {0: "batch"}}, fullgraph=True)
def double(x: Tensor) -> Tensor:
    return x * 2


class Agent:
    def __init__(self) -> None:
        self.weight = ingot.ones(3)

    @jit.trace
    def act(self, state: Tensor, greedy: bool = True) -> Tensor:
        return (state * self.weight).softmax(-1) if greedy else state

    @jit.trace(dynamic=False)
    def value(self, state: Tensor) -> Tensor:
        return state.sum()


agent = Agent()
assert_type(agent.act(ingot.ones(3)), Tensor)
assert_type(agent.act(ingot.ones(3), greedy=False), Tensor)
assert_type(agent.value(ingot.ones(3)), Tensor)
print(Agent.act.stats(), Agent.value.explain())


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


model = jit.trace(Model())
assert_type(model, Model)
assert_type(model(ingot.ones(1, 3)), Tensor)
linear = jit.trace(nn.Linear(3, 2))
assert_type(linear, nn.Linear)
lambdas = jit.trace(lambda x: x + 1)
lambdas(ingot.ones(2))


@ingot.compile
def compiled(x: Tensor) -> Tensor:
    return x.sin() + x.cos()


@ingot.compile(dynamic=True)
def compiled_sizes(x: Tensor, y: Tensor) -> Tensor:
    return x + y


assert_type(compiled(ingot.ones(2)), Tensor)
assert_type(compiled_sizes(ingot.ones(2), ingot.ones(2)), Tensor)
assert_type(ingot.compile(Model())(ingot.ones(1, 3)), Tensor)
scripted = jit.script(Model())
assert_type(scripted, Model)
