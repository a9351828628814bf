"""CartPole: a pole stands on a cart that is pushed left or right at every step. Many carts at once, as numpy arrays."""

import numpy as np

GRAVITY, CART, POLE, LENGTH, FORCE, DT = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02    # LENGTH is half the pole's
LIMIT_X, LIMIT_ANGLE, LIMIT_STEPS = 2.4, 12 * np.pi / 180, 500


class CartPole:
    """Physics of A. Barto, R. Sutton and C. Anderson (1983). A cart starts anew where its pole has fallen."""

    def __init__(self, count: int, seed: int = 0):
        self.rng = np.random.default_rng(seed)
        self.state = self._fresh(count)                # x, speed, angle, angular speed of each
        self.age = np.zeros(count, int)

    def _fresh(self, count):
        return self.rng.uniform(-0.05, 0.05, (count, 4))

    def observe(self) -> np.ndarray:
        """Return the observation of each cart."""
        return self.state.astype(np.float32)

    def step(self, right: np.ndarray):
        """Push each cart right or left. Return which episodes ended, and how many steps these lasted."""
        x, v, angle, w = self.state.T
        force = np.where(right, FORCE, -FORCE)
        cos, sin, total = np.cos(angle), np.sin(angle), CART + POLE
        push = (force + POLE * LENGTH * w * w * sin) / total
        spin = (GRAVITY * sin - cos * push) / (LENGTH * (4 / 3 - POLE * cos * cos / total))
        speedup = push - POLE * LENGTH * spin * cos / total
        self.state = np.stack([x + DT * v, v + DT * speedup, angle + DT * w, w + DT * spin], axis=1)
        self.age += 1
        done = (abs(self.state[:, 0]) > LIMIT_X) | (abs(self.state[:, 2]) > LIMIT_ANGLE) | (self.age >= LIMIT_STEPS)
        lasted = self.age[done]
        self.state[done] = self._fresh(int(done.sum()))
        self.age[done] = 0
        return done, lasted
