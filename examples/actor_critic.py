"""Actor-critic learns to balance poles on carts (CartPole, in `cartpole.py`).

Shows two traced functions that share a network: one chooses actions at random inside the trace, the other learns from 32
steps of 16 carts. At first a pole falls after about 20 steps; after 150 updates it stands for 150 to 200, and --quick
reaches 80.
"""

import cartpole
import numpy as np
from options import options

import ingot
from ingot import jit, nn, optim
from ingot.nn import functional as F

CARTS, STEPS, DISCOUNT = 16, 32, 0.98


class Policy(nn.Module):
    """Observations to the logits of both actions and the value of the state."""

    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.actor = nn.Linear(width, 2)
        self.critic = nn.Linear(width, 1)

    def forward(self, x):
        h = self.body(x)
        return self.actor(h), self.critic(h).squeeze(-1)


def discounted(done, last_value):
    """The return of every step [STEPS, CARTS], a reward of 1 each, with `last_value` for what comes after."""
    returns, follows = np.empty(done.shape, np.float32), last_value
    for t in range(len(done) - 1, -1, -1):
        follows = returns[t] = 1 + DISCOUNT * follows * ~done[t]
    return returns


def main(argv=None):
    """Trains; returns the loss of every update and the mean length of the first and last 50 episodes."""
    args = options(__doc__, argv, epochs=150, quick=40)
    ingot.manual_seed(1)
    carts = cartpole.CartPole(CARTS, seed=1)
    policy = Policy()
    optimizer = optim.Adam(policy.parameters(), lr=3e-3)

    def act(observation):
        with ingot.no_grad():
            logits, _ = policy(observation)
            return ingot.multinomial(logits.softmax(-1), 1).squeeze(-1)

    def learn(observation, actions, returns):
        optimizer.zero_grad()
        logits, values = policy(observation)
        log_probs = logits.log_softmax(-1)
        chosen = log_probs.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        advantage = returns - values.detach()
        entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
        loss = -(chosen * advantage).mean() + 0.5 * F.smooth_l1_loss(values, returns) - 0.01 * entropy
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        return loss

    if args.trace:
        act, learn = jit.trace(act), jit.trace(learn)
    losses, lasted = [], []
    for epoch in range(args.epochs):
        observation, actions, done = [], [], np.empty((STEPS, CARTS), bool)
        for t in range(STEPS):
            observation.append(ingot.from_numpy(carts.observe()))
            actions.append(act(observation[-1]))
            done[t], ended = carts.step(actions[-1].numpy() == 1)
            lasted += ended.tolist()
        with ingot.no_grad():
            value = policy(ingot.from_numpy(carts.observe()))[1].numpy()
        returns = ingot.from_numpy(discounted(done, value))
        losses.append(learn(ingot.stack(observation), ingot.stack(actions), returns).item())
        if epoch % 10 == 9:
            print(f"update {epoch + 1}: loss {losses[-1]:.3f}, the last 50 poles stood {np.mean(lasted[-50:]):.0f} steps")
    return losses, (float(np.mean(lasted[:50])), float(np.mean(lasted[-50:])))


if __name__ == "__main__":
    main()
