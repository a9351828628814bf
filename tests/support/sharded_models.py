"""A small model for tests of models that are shared out over ranks, and the same trained on one rank."""

import functools
import importlib

import ingot
from ingot import nn, optim
from ingot.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy

FSDP, S = FullyShardedDataParallel, ShardingStrategy
SIZE = 2
F = nn.functional
wrap = importlib.import_module("ingot.distributed.fsdp.wrap")


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.first, self.second = nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.second(F.gelu(self.first(self.norm(x))))


class Net(nn.Module):
    """A shared weight, a block that is used twice, and a layer that is not used."""

    def __init__(self, d=7):
        super().__init__()
        self.table = nn.Embedding(11, d)
        self.blocks = nn.ModuleList([Block(d) for _ in range(2)])
        self.unused = nn.Linear(2, 2)
        self.head = nn.Linear(d, 11, bias=False)
        self.head.weight = self.table.weight
        self.register_buffer("scale", ingot.ones(1))

    def forward(self, t):
        x = self.table(t)
        for block in [*self.blocks, self.blocks[0]]:
            x = block(x)
        return self.head(x * self.scale)


def make_net():
    ingot.manual_seed(0)
    return Net()


def make_sharded(**options):
    options = {"auto_wrap_policy": wrap.ModuleWrapPolicy({Block}), **options}
    return FSDP(make_net(), **options)


def batch(step, rank=None):
    ingot.manual_seed(100 + step)
    t = ingot.randint(0, 11, (8, 5))
    return t if rank is None else t[rank::SIZE]


def loss_of(net, t):
    y = net(t[:, :-1])
    return F.cross_entropy(y.flatten(0, 1).float(), t[:, 1:].flatten().to(y.device))


def make_optimizer(net):
    return optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=0.01)


@functools.cache
def trained_alone(steps=3):
    """{name: value} after steps with the average of what ranks would get for gradients."""
    net = make_net()
    optimizer = make_optimizer(net)
    for step in range(steps):
        found = []
        for rank in range(SIZE):
            net.zero_grad()
            loss_of(net, batch(step, rank)).backward()
            found.append([ingot.zeros_like(p) if p.grad is None else p.grad for p in net.parameters()])
        for p, *grads in zip(net.parameters(), *found):
            p.grad = (grads[0] + grads[1]) / 2
        optimizer.step()
    return {k: v.clone() for k, v in net.state_dict().items()}


def train(net, optimizer, rank, steps=range(3)):
    for step in steps:
        optimizer.zero_grad()
        loss_of(net, batch(step, rank)).backward()
        optimizer.step()


def assert_same(state, want):
    assert list(state) == list(want)
    for name, value in state.items():
        assert ingot.equal(value, want[name]), name
