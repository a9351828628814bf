"""Distributions: an actor with a categorical policy, a Gaussian, divergences."""

from typing import assert_type

import ingot
import ingot.nn as nn
import ingot.nn.functional as F
from ingot import Tensor, distributions
from ingot.distributions import (
    Bernoulli,
    Categorical,
    Independent,
    MultivariateNormal,
    Normal,
    TransformedDistribution,
    kl_divergence,
)
from ingot.distributions.transforms import AffineTransform, TanhTransform


class Policy(nn.Module):
    def __init__(self, dim: int, actions: int) -> None:
        super().__init__()
        self.affine = nn.Linear(dim, 32)
        self.action_head = nn.Linear(32, actions)
        self.value_head = nn.Linear(32, 1)
        self.saved: list[tuple[Tensor, Tensor]] = []
        self.rewards: list[float] = []

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = F.relu(self.affine(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


policy = Policy(4, 2)


def select(state: list[float]) -> int:
    probs, value = policy(ingot.tensor(state))
    m = Categorical(probs)
    action = m.sample()
    policy.saved.append((m.log_prob(action), value))
    return action.item()


select([0.0, 1.0, 2.0, 3.0])
returns = ingot.tensor([1.0, 0.5])
returns = (returns - returns.mean()) / (returns.std() + 1e-8)
losses = [-log_prob * (r - value.item()) for (log_prob, value), r in zip(policy.saved, returns)]
ingot.stack(losses).sum().backward()
normal = Normal(ingot.zeros(3), 1.0)
assert_type(normal.rsample((5,)), Tensor)
assert_type(normal.log_prob(ingot.zeros(3)), Tensor)
assert_type(normal.mean, Tensor)
assert_type(normal.entropy(), Tensor)
assert_type(normal.batch_shape, ingot.Size)
assert_type(kl_divergence(normal, Normal(0.0, 2.0)), Tensor)
squashed = TransformedDistribution(Independent(normal, 1), [TanhTransform(), AffineTransform(0.0, 2.0)])
action = squashed.rsample(ingot.Size([2]))
both = MultivariateNormal(ingot.zeros(2), covariance_matrix=ingot.eye(2)).sample()
coin = Bernoulli(logits=ingot.zeros(2)).sample()
mixture = distributions.MixtureSameFamily(Categorical(ingot.ones(3)), Normal(ingot.zeros(3), ingot.ones(3)))
print(squashed.log_prob(action).sum(), both, coin, mixture.sample(), distributions.Uniform(0, 1).sample((2, 3)))
