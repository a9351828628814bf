"""Small colour pictures of filled shapes, made up on the spot."""

import numpy as np

import ingot

NAMES = ("disc", "square", "triangle", "cross")


def draw(kind: int, size: int, rng) -> np.ndarray:
    """One picture [3, size, size]: a shape of random colour, place and extent on a background of another colour, with noise."""
    y, x = np.mgrid[0:size, 0:size] / size - rng.uniform(0.4, 0.6, 2)[:, None, None]
    r = rng.uniform(0.22, 0.36)
    inside = (x * x + y * y < r * r,
              np.maximum(abs(x), abs(y)) < 0.85 * r,
              (y < 0.8 * r) & (y > 2 * abs(x) - r),
              (np.minimum(abs(x), abs(y)) < r / 3) & (np.maximum(abs(x), abs(y)) < r))[kind]
    back, front = rng.uniform(0, 0.45, 3), rng.uniform(0.55, 1, 3)
    picture = np.where(inside, front[:, None, None], back[:, None, None])
    return picture + rng.normal(0, 0.05, picture.shape)


def make(count: int, size: int, seed: int):
    """(pictures [count, 3, size, size], kinds [count]), the same for the same seed."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, len(NAMES), count)
    pictures = np.stack([draw(kind, size, rng) for kind in kinds]).astype(np.float32)
    return ingot.from_numpy(pictures), ingot.from_numpy(kinds)
