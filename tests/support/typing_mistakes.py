"""Programs with a mistake on each line that says so: a type checker must report those lines, and no other."""
# ruff: noqa

from typing import assert_type

import ingot
import ingot.nn as nn
import ingot.nn.functional as F
import ingot.optim as optim
from ingot import Tensor, autograd, func, jit
from ingot.utils.data import DataLoader, Dataset, TensorDataset, random_split

x = ingot.ones(2, 3, requires_grad=True)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())

# Names that do not exist.
x.summ()  # mistake
ingot.zeross(3)  # mistake
F.relo(x)  # mistake
nn.Liner(3, 4)  # mistake
optim.Adamm(net.parameters())  # mistake
jit.tracing_of(x)  # mistake
ingot.linalg.choleski(x)  # mistake
x.max(dim=1).value  # mistake
net.train().paramters  # no mistake that a checker can see: modules have attributes of their own
from ingot.nn import Conv4d  # mistake
import ingot.nn.functionals  # mistake
ingot.float31  # mistake

# Arguments.
x.add(1, beta=2)  # mistake
x.softmax()  # mistake
x.relu(1, 2, 3)  # mistake
x.sum(dim="rows")  # mistake
x.transpose("a", 1)  # mistake
ingot.arange(3, kind=1)  # mistake
ingot.stack()  # mistake
ingot.cat(x, x)  # mistake
ingot.zeros(2, 3, dtype=3.5)  # mistake
ingot.zeros("two")  # mistake
ingot.ones(2, device=1.5)  # mistake
x.reshape("2", 3)  # mistake
F.softmax(x, dim="last")  # mistake
F.cross_entropy(x)  # mistake
F.dropout(x, p="half")  # mistake
F.linear(x, "weight")  # mistake
nn.Linear("3", 4)  # mistake
nn.Linear(3)  # mistake
nn.Linear(3, 4, biased=False)  # mistake
nn.Conv2d(3, 8)  # mistake
nn.Conv2d(3, 8, "three")  # mistake
nn.LSTM(3, 4, layers=2)  # mistake
nn.Sequential(nn.Linear(3, 4), F.relu)  # mistake
nn.CrossEntropyLoss()(x)  # mistake
optim.SGD(net, lr=0.1)  # mistake
optim.Adam(net.parameters(), learning_rate=0.1)  # mistake
optim.Adam(net.parameters(), lr="fast")  # mistake
optim.lr_scheduler.StepLR(net, 3)  # mistake
autograd.grad(x.sum(), 3)  # mistake
ingot.manual_seed("one")  # mistake
DataLoader(3)  # mistake
TensorDataset([1, 2])  # mistake
random_split(x, "half")  # mistake
jit.to_onnx(net)  # mistake
jit.load()  # mistake

# Results.
name: str = x.sum().item()  # mistake
count: int = x.shape  # mistake
flag: bool = x.dim()  # mistake
number: float = x.mean()  # mistake
first: int = x.max(dim=1).indices  # mistake
x.item().upper()  # mistake
x.shape.sum()  # mistake
x.dtype.foo  # mistake
nn.Linear(3, 4)(x).backwards()  # mistake
nn.LSTM(3, 4)(x).shape  # mistake
x.grad.zero_()  # mistake
F.relu(x).shape.append(3)  # mistake
with x:  # mistake
    pass


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x: Tensor, scale: float = 1.0) -> tuple[Tensor, int]:
        h = self.fc(x, x)  # mistake
        h = self.fc(scale)  # mistake
        return h  # mistake


model = Net()
model("x")  # mistake
model(x, 1.0, 2.0)  # mistake
model(x, scales=2.0)  # mistake
model(x).mean()  # mistake
a, b, c = model(x)  # mistake
model.to("cpu").eval().forward()  # mistake


@jit.trace
def step(batch: Tensor, scale: float = 1.0) -> Tensor:
    return batch * scale


step("x")  # mistake
step(x, scale="big")  # mistake
step()  # mistake
step(x).foo()  # mistake
step.statistics()  # mistake
step.explain(3, 4)  # mistake


@jit.trace(dynamics=True)  # mistake
def other(batch: Tensor) -> Tensor:
    return batch


class Agent:
    @jit.trace
    def act(self, state: Tensor) -> Tensor:
        return state


Agent().act()  # mistake
Agent().act(3)  # mistake
assert_type(Agent().act(x), int)  # mistake


@ingot.no_grad()
def predict(x: Tensor) -> Tensor:
    return x


predict(3)  # mistake
ingot.no_grad(3)  # mistake


class Points(Dataset[int]):
    def __getitem__(self, index: int) -> int:
        return index


numbers: Dataset[str] = Points()  # mistake
ingot.distributions.Normal(0.0, 1.0).sample().foo()  # mistake
ingot.distributions.Normal(0.0, 1.0).log_probs(x)  # mistake


def loss_of(w: Tensor, sample: Tensor) -> Tensor:
    return (w * sample).sum()


func.grad(loss_of)("w", x)  # mistake
func.grad(loss_of)(x)  # mistake
func.vmap(func.grad(loss_of))(x, x).foo()  # mistake
func.jacrev(loss_of)(x, x, x)  # mistake
func.jacfwd(loss_of, argnums="w")  # mistake
func.vjp(loss_of, x, x)[0].foo()  # mistake
func.jvp(loss_of, x, x)  # mistake
