"""Decisions and few numbers, where calls cost more than arithmetic: learning by reward, learning to learn, sampling."""

from ..cases import function_case, indices, randoms
from ..sequences import mlp
from ..training import adam
from .step import Step


def values(lib, states, actions, width):
    """A network of values, and the older one that its targets come from."""
    class Values(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.now, self.older = (mlp(lib, states, width, width, actions) for _ in range(2))
            for p in self.older.parameters():
                p.requires_grad_(False)
    return Values()


def q_learning(plan):
    """Double Q-learning on batches of 64 transitions; the older network follows."""
    batch, width = plan.pick((64, 128), (64, 128), (4, 8))

    def loss_of(lib, network, state, action, reward, later, done):
        with lib.no_grad():
            best = network.now(later).argmax(1, keepdim=True)
            target = reward + 0.99 * (1 - done) * network.older(later).gather(1, best)[:, 0]
            for old, new in zip(network.older.parameters(), network.now.parameters()):
                old.lerp_(new, 0.005)
        value = network.now(state).gather(1, action[:, None])[:, 0]
        return lib.nn.functional.smooth_l1_loss(value, target)

    arrays = [randoms(batch, 8), indices(4, batch), randoms(batch), randoms(batch, 8, seed=1), indices(2, batch).astype("f4")]
    yield Step(f"Q-learning batch {batch}, clipping + Adam", lambda lib: values(lib, 8, 4, width), arrays, loss_of, adam,
               clip=10.0).case(plan)


def actor(lib, states, actions, width):
    """A Gaussian policy and its critic."""
    class Actor(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.value = (mlp(lib, states, width, width, n) for n in (actions, 1))
            self.spread = lib.nn.Parameter(lib.zeros(actions))

        def policy(self, state):
            return lib.distributions.Normal(self.mean(state), self.spread.exp())
    return Actor()


def policy(plan):
    """A step of PPO on batches of 256: clipped ratios, values, entropy."""
    batch, width = plan.pick((256, 64), (256, 64), (4, 8))

    def loss_of(lib, network, state, action, before, gain, returns):
        there = network.policy(state)
        ratio = (there.log_prob(action).sum(1) - before).clamp(-20, 2).exp()
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        won = lib.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        off = lib.nn.functional.mse_loss(network.value(state)[:, 0], returns)
        return -won + 0.5 * off - 0.01 * there.entropy().sum(1).mean()

    arrays = [randoms(batch, 8), randoms(batch, 2), randoms(batch, seed=1), randoms(batch, seed=2), randoms(batch, seed=3)]
    yield Step(f"PPO batch {batch}, clipping + Adam", lambda lib: actor(lib, 8, 2, width), arrays, loss_of, adam,
               clip=0.5).case(plan)


def meta(plan):
    """MAML: a gradient step for each of 4 tasks inside of the loss."""
    tasks, shots, width = plan.pick((4, 10, 40), (4, 10, 40), (2, 3, 4))

    def loss_of(lib, network, x, y, more_x, more_y):
        names, total = [n for n, _ in network.named_parameters()], 0
        params = list(network.parameters())
        for i in range(tasks):
            inner = lib.nn.functional.mse_loss(network(x[i]), y[i])
            moves = lib.autograd.grad(inner, params, create_graph=True)
            stepped = dict(zip(names, [p - 0.01 * m for p, m in zip(params, moves)]))
            found = lib.func.functional_call(network, stepped, (more_x[i],))
            total = total + lib.nn.functional.mse_loss(found, more_y[i])
        return total / tasks

    arrays = [randoms(tasks, shots, 1, seed=s) for s in range(4)]
    yield Step(f"MAML {tasks} tasks, Adam", lambda lib: mlp(lib, 1, width, width, 1), arrays, loss_of, adam).case(plan)


def hamiltonian(plan):
    """10 leapfrog steps of Hamiltonian Monte Carlo over the weights of a logistic regression."""
    rows, width, steps = plan.pick((256, 16, 10), (256, 16, 10), (5, 3, 2))

    def make(lib):
        def energy(w, x, y):
            return lib.nn.functional.binary_cross_entropy_with_logits(x @ w, y, reduction="sum") + 0.5 * w.square().sum()

        def force(w, x, y):
            w = w.detach().requires_grad_()
            return lib.autograd.grad(energy(w, x, y), w)[0]

        def sample(w, p, x, y):
            p = p - 0.005 * force(w, x, y)
            for i in range(steps):
                w = w + 0.01 * p
                p = p - (0.01 if i + 1 < steps else 0.005) * force(w, x, y)
            return w, energy(w, x, y) + 0.5 * p.square().sum()
        return sample

    yield function_case(f"Hamiltonian Monte Carlo, {steps} steps", make,
                        [randoms(width), randoms(width, seed=1), randoms(rows, width), indices(2, rows).astype("f4")], plan,
                        bars={"best": 1.1, "eager": 1.0}, tolerance=1e-3)


WORKLOADS = {"q_learning": q_learning, "policy": policy, "meta": meta, "hamiltonian": hamiltonian}
