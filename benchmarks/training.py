"""Whole training steps: forward, backward, optimizer; traced as one function by ingot."""

from collections.abc import Callable
from dataclasses import dataclass, field

import ingot

from .cases import direct_flops, indices, randoms, training_case
from .sequences import gpt, lstm_lm, mlp, ncf, vae
from .vision import mnist_cnn, resnet18

MEAN_BAR = 1.4
BARS = {"best": 1.1, "eager": 1.0}


def classified(lib, network, *arrays):
    """Cross entropy of logits; the last array has the classes."""
    *given, y = arrays
    return lib.nn.functional.cross_entropy(network(*given), y)


def next_token(lib, network, tokens, targets):
    """Cross entropy at every place of a sequence."""
    logits = network(tokens)
    return lib.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def evidence_bound(lib, network, x, noise):
    """The loss of a variational autoencoder."""
    out, mean, spread = network(x, noise)
    pixels = lib.nn.functional.binary_cross_entropy_with_logits(out, x, reduction="sum")
    return pixels - 0.5 * (1 + spread - mean.square() - spread.exp()).sum()


def clicked(lib, network, users, items, y):
    """Binary cross entropy."""
    return lib.nn.functional.binary_cross_entropy_with_logits(network(users, items), y)


def adam(optim, params):
    """The optimizer of most."""
    return optim.Adam(params, lr=1e-3)


def weights_decayed(optim, params):
    """That of transformers."""
    return optim.AdamW(params, lr=1e-3)


@dataclass
class Task:
    """A network, what fits it, and a batch: the last `targets` arrays go to the loss, the others into the network."""

    name: str
    build: Callable
    arrays: list
    loss_of: Callable = classified
    optimizer: Callable = adam
    clip: float | None = None
    targets: int = 1
    tolerance: float = 1e-3
    bars: dict = field(default_factory=lambda: BARS)
    checks: int = 3

    def fitting(self, lib, around=lambda network: network):
        """A network, perhaps with a wrapper around it, and the step that fits it."""
        network, loss_of, clip = around(self.build(lib)), self.loss_of, self.clip
        optimizer = self.optimizer(lib.optim, network.parameters())

        def step(*inputs):
            optimizer.zero_grad()
            loss = loss_of(lib, network, *inputs)
            loss.backward()
            if clip:
                lib.nn.utils.clip_grad_norm_(network.parameters(), clip)
            optimizer.step()
            return loss.detach()
        return network, step

    def flops(self) -> float:
        """Of linear, convolution and LSTM layers; gradients of data and of weights cost as much as going forward, each."""
        given = self.arrays[:len(self.arrays) - self.targets]
        return 3 * direct_flops(self.build(ingot), [ingot.tensor(a) for a in given])

    def case(self, plan):
        """The case of its steps."""
        return training_case(self.name, self.fitting, self.arrays, plan, flops=self.flops(), tolerance=self.tolerance,
                             bars=self.bars, checks=self.checks)


def mlp_adam(plan):
    """784-512-512-10 on batches of 128."""
    batch, hidden = plan.pick((128, 512), (128, 512), (4, 8))
    return Task(f"MLP batch {batch}, Adam", lambda lib: mlp(lib, 784, hidden, hidden, 10),
                [randoms(batch, 784), indices(10, batch)], bars=BARS | {"best": 1.3})


def mnist_sgd(plan):
    """Two convolutions on batches of 64."""
    batch, width = plan.pick((64, 32), (64, 32), (2, 4))
    return Task(f"MNIST CNN batch {batch}, SGD", lambda lib: mnist_cnn(lib, width),
                [randoms(batch, 1, 28, 28), indices(10, batch)], optimizer=lambda optim, params: optim.SGD(params, lr=0.01),
                bars=BARS | {"best": 1.2})


def resnet_momentum(plan):
    """ResNet-18 in the form for 32x32 images."""
    batch, width = plan.pick((64, 64), (8, 64), (2, 4))
    return Task(f"ResNet-18 32x32 batch {batch}, momentum", lambda lib: resnet18(lib, width=width, classes=10, small=True),
                [randoms(batch, 3, 32, 32), indices(10, batch)], tolerance=5e-3,
                optimizer=lambda optim, params: optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=5e-4))


def sequences(words, batch, length):
    """Tokens, and the tokens that follow them."""
    tokens = indices(words, batch, length + 1)
    return [tokens[:, :-1].copy(), tokens[:, 1:].copy()]


def gpt_adamw(plan):
    """Four layers of width 128 on sequences of 64."""
    batch, length, layers, width, words = plan.pick((32, 64, 4, 128, 512), (16, 64, 4, 128, 512), (2, 6, 1, 16, 20))
    return Task(f"GPT {layers} layers batch {batch}x{length}, AdamW", lambda lib: gpt(lib, words, layers, width, 4, length),
                sequences(words, batch, length), next_token, weights_decayed)


def lstm_sgd(plan):
    """Two layers over sequences of 35 tokens, gradients clipped."""
    batch, length, width, words = plan.pick((20, 35, 256, 10_000), (20, 35, 128, 2000), (2, 3, 4, 11))
    return Task(f"LSTM LM {width} batch {batch}x{length}, clipping + SGD", lambda lib: lstm_lm(lib, words, width),
                sequences(words, batch, length), next_token, lambda optim, params: optim.SGD(params, lr=1.0), clip=0.25)


def vae_adam(plan):
    """784-400-20-400-784 on batches of 128; the noise is given."""
    batch, hidden = plan.pick((128, 400), (128, 400), (4, 8))
    return Task(f"VAE batch {batch}, Adam", lambda lib: vae(lib, hidden=hidden),
                [abs(randoms(batch, 784)).clip(0, 1), randoms(batch, 20)], evidence_bound, targets=0)


def ncf_adam(plan):
    """Recommendation on tables of MovieLens' size."""
    batch, users, items = plan.pick((1024, 6040, 3706), (1024, 6040, 3706), (5, 9, 7))
    return Task(f"NCF batch {batch}, Adam", lambda lib: ncf(lib, users, items),
                [indices(users, batch), indices(items, batch, seed=1), indices(2, batch, seed=2).astype("f4")], clicked)


def workload(task):
    """The workload of a task."""
    def run(plan):
        yield task(plan).case(plan)
    run.__doc__ = task.__doc__
    return run


TASKS = {"mlp": mlp_adam, "mnist": mnist_sgd, "resnet18_32": resnet_momentum, "gpt_training": gpt_adamw,
         "lstm_training": lstm_sgd, "vae": vae_adam, "ncf_training": ncf_adam}
WORKLOADS = {name: workload(task) for name, task in TASKS.items()}
