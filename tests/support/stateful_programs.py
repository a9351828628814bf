"""Traced functions whose calls change tensors, Python state and random numbers; `state()` is all of that."""

import ingot
from ingot import jit, nn


class Training:
    """A step that writes tensors, Python state and an optimizer, and draws."""

    def __init__(self):
        ingot.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4))
        self.optimizer = ingot.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)
        self.x, self.seen, self.steps, self.log = ingot.randn(4, 8), ingot.zeros(5), 0, []
        self.last = None
        self.step = jit.trace(self._step, fullgraph=True)
        for _ in range(5):
            self()

    def _step(self, x):
        self.optimizer.zero_grad()
        loss = (self.net(x) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        self.log.append(loss.detach())
        self.seen.add_(1.0)
        self.last = loss.detach()
        return self.last

    def __call__(self):
        return self.step(self.x)

    def state(self) -> list:
        parameters = list(self.net.parameters())
        momenta = [self.optimizer.state[p]["momentum_buffer"] for p in parameters]
        tensors = [*parameters, *[p.grad for p in parameters], *momenta, self.seen, self.last, *self.log[-2:]]
        return [*[t if t is None else t.tolist() for t in tensors], *[t._version for t in tensors if t is not None],
                self.steps, len(self.log), ingot.get_rng_state().tolist()]


class Growing:
    """A function that draws a mask, appends to the memory of a tensor, and branches on a value."""

    def __init__(self):
        ingot.manual_seed(1)
        self.cache, self.at, self.seen, self.x = ingot.zeros(64, 4), 0, {}, ingot.randn(4)
        self.step = jit.trace(self._step, fullgraph=True)
        for _ in range(5):
            self()

    def _step(self, x):
        mask = ingot.rand(4) > 0.5
        self.cache[1] = x * mask
        self.cache *= 0.5
        if (x.sum() + self.cache[1].sum() * 0).item() > 100:
            return x
        self.seen["last"], self.seen["mask"] = self.cache[1] * 1.0, mask
        self.at += 1
        return self.cache.sum()

    def __call__(self):
        return self.step(self.x)

    def state(self) -> list:
        tensors = [self.cache, *self.seen.values()]
        return [*[t.tolist() for t in tensors], self.cache._version, self.at, ingot.get_rng_state().tolist()]
