"""Costs of recordings: the first call of a traced function, which records it, in CPU time, against a call of eager code."""

import statistics
import time

import ingot

from .cases import indices, randoms
from .result import Result
from .sequences import gpt, mlp, transformer_stack
from .training import classified, next_token, weights_decayed

MEAN_BAR = None


def small_function(plan):
    """Three operators on a small tensor."""
    return recorded("three operators", lambda x: (x.exp() * x).sum(1), [ingot.tensor(randoms(3, 4))], plan)


def mlp_step(plan):
    """A training step of 12 linear layers, with AdamW."""
    network = mlp(ingot, *[plan.pick(32, 32, 4)] * 13)
    x, y = ingot.tensor(randoms(8, plan.pick(32, 32, 4))), ingot.tensor(indices(4, 8))
    return recorded("training step of 12 layers", training(network, classified), [x, y], plan)


def encoder(plan):
    """Three layers of the encoder of `nn`."""
    layer = ingot.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    network = ingot.nn.TransformerEncoder(layer, plan.pick(3, 3, 1)).eval()
    return recorded("encoder of 3 layers", lambda x: network(x), [ingot.tensor(randoms(2, 5, 32))], plan)


def module(plan):
    """A module of 24 layers that a user wrote."""
    network = transformer_stack(ingot, plan.pick(24, 24, 2), 32, 4)
    return recorded("24 layers", lambda x: network(x), [ingot.tensor(randoms(2, 8, 32))], plan)


def gpt_step(plan):
    """A training step of a GPT of 12 layers, with AdamW."""
    network = gpt(ingot, 64, plan.pick(12, 12, 1), 32, 4, 16)
    tokens, targets = [ingot.tensor(indices(64, 2, 16, seed=i)) for i in range(2)]
    return recorded("GPT of 12 layers with AdamW", training(network, next_token), [tokens, targets], plan)


def training(network, loss_of):
    """The training step of a network, as a function of tensors."""
    optimizer = weights_decayed(ingot.optim, network.parameters())

    def step(*arrays):
        optimizer.zero_grad()
        loss = loss_of(ingot, network, *arrays)
        loss.backward()
        optimizer.step()
        return loss

    return step


def recorded(name, function, args, plan):
    """Yield the shortest recording and the shortest eager call, after one of each that loads what they need."""
    function(*args)
    ingot.jit.trace(function)(*args)
    count = plan.pick(7, 3, 1)
    eager = [seconds_of(function, args) for _ in range(3 * count)]
    recordings = [seconds_of(ingot.jit.trace(function), args) for _ in range(count)]
    seconds = {"ingot": min(recordings), "ingot eager": min(eager)}
    yield Result(f"recording, {name}", seconds, note=f"{seconds['ingot'] / seconds['ingot eager']:.0f} eager calls, "
                 f"median {1e3 * statistics.median(recordings):.1f} ms")


def seconds_of(function, args) -> float:
    """The CPU time of a call."""
    start = time.process_time()
    function(*args)
    return time.process_time() - start


WORKLOADS = {"small_function": small_function, "mlp_step": mlp_step, "encoder": encoder, "module": module,
             "gpt_step": gpt_step}
