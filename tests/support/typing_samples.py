"""Code as users write it, for mypy: a line that ignores an error must have one, all others must have none."""

from typing import assert_type

import ingot
from ingot import Size, Tensor, autograd, jit, nn, optim

x = ingot.zeros(2, 3, requires_grad=True)
assert_type(x, Tensor)
assert_type(x + 1, Tensor)
assert_type(2.0 ** x, Tensor)
assert_type(x @ x.T, Tensor)
assert_type(x[0, :2], Tensor)
assert_type(x > 0, Tensor)
assert_type(x.shape, Size)
assert_type(x.numel(), int)
assert_type(x.grad, Tensor | None)

# Arguments by both names; methods and functions; in place.
assert_type(x.sum(dim=1, keepdim=True), Tensor)
assert_type(x.sum(axis=1, keepdims=True), Tensor)
assert_type(x.softmax(dim=-1), Tensor)
assert_type(x.softmax(axis=-1), Tensor)
assert_type(ingot.add(x, 1, alpha=2), Tensor)
assert_type(x.add_(1).relu_().clamp_(min=0), Tensor)
assert_type(x.split(1, dim=0), tuple[Tensor, ...])
assert_type(x.sort(dim=1).values, Tensor)
assert_type(ingot.is_tensor(x), bool)
assert_type(ingot.randn(3, dtype=ingot.float64, device=ingot.device("cpu")), Tensor)
x.backward()
for row in x:
    assert_type(row, Tensor)

x.summ()  # type: ignore[attr-defined]
x.add(1, beta=2)  # type: ignore[call-arg]
x.softmax()  # type: ignore[call-overload]
x.relu(1, 2, 3)  # type: ignore[call-arg]
x.ndim = 3  # type: ignore[misc]
ingot.zeross(3)  # type: ignore[attr-defined]
ingot.arange(3, kind=1)  # type: ignore[call-arg]
ingot.stack()  # type: ignore[call-arg]

# Modules.
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
steps = optim.Adam(net.parameters(), lr=1e-3)
with ingot.no_grad():
    net(x)
autograd.grad(net(x).sum(), x)

# Lists of modules are walked, and grow; classes of the top level are those of their modules.
layers = nn.ModuleList([nn.Linear(3, 3)])
layers += [nn.ReLU()]
layers.insert(0, nn.Identity())
for layer in layers:
    x = layer(x)
scaler: ingot.amp.GradScaler = ingot.GradScaler("cpu")
done: ingot.Future = ingot.futures.Future()


@jit.trace
def step(batch: Tensor) -> Tensor:
    """One training step."""
    steps.zero_grad()
    loss = net(batch).square().mean()
    loss.backward()
    steps.step()
    return loss


step(x)
