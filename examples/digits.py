"""The handwritten digits in `data/digits.npz` as tensors."""

from pathlib import Path

import numpy as np

import ingot

FILE = Path(__file__).parent / "data" / "digits.npz"
TRAIN = 1500


def load():
    """(images [1500, 1, 8, 8] between 0 and 1, classes) to learn from, and (images [297, 1, 8, 8], classes) to test on."""
    with np.load(FILE, allow_pickle=False) as arrays:
        images = ingot.from_numpy(arrays["images"]).float().unsqueeze(1) / 16
        classes = ingot.from_numpy(arrays["labels"]).long()
    order = ingot.from_numpy(np.random.default_rng(0).permutation(len(images)))
    images, classes = images[order], classes[order]
    return (images[:TRAIN], classes[:TRAIN]), (images[TRAIN:], classes[TRAIN:])


def batches(size: int, *tensors):
    """Goes once through tensors of equal length in random order, `size` rows at a time; a rest is left out."""
    order = ingot.randperm(len(tensors[0]))
    for at in range(0, len(order) - size + 1, size):
        pick = order[at: at + size]
        yield tuple(t[pick] for t in tensors)
