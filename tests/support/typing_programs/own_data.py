"""Datasets, samplers and loaders of a user's items."""

from collections.abc import Iterator
from typing import assert_type

import numpy as np

import ingot
from ingot import Tensor
from ingot.utils import data
from ingot.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset, WeightedRandomSampler, random_split


class Points(Dataset[tuple[Tensor, int]]):
    def __init__(self, count: int) -> None:
        self.points = ingot.randn(count, 2)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.points[index], index % 2


class Plain(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, idx):
        return ingot.zeros(3), np.float32(idx)


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        yield from range(10)


class EveryOther(data.Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(0, 10, 2))

    def __len__(self) -> int:
        return 5


def collate(items: list[tuple[Tensor, int]]) -> dict[str, Tensor]:
    return {"x": ingot.stack([x for x, _ in items]), "y": ingot.tensor([y for _, y in items])}


points = Points(100)
assert_type(points[0], tuple[Tensor, int])
train, test = random_split(points, [80, 20], generator=ingot.Generator().manual_seed(0))
assert_type(train, Subset[tuple[Tensor, int]])
loader = DataLoader(train, batch_size=16, shuffle=True, num_workers=2, pin_memory=False, drop_last=True, collate_fn=collate)
for batch in loader:
    print(batch["x"].shape, len(loader), loader.batch_size)
for x, y in DataLoader(points, sampler=EveryOther()):
    print(x.shape, y.item())
for i, (x, y) in enumerate(DataLoader(Plain(), 4, True)):
    print(i, x.to("cpu"))
for n in DataLoader(Stream(), batch_size=None):
    print(n)
pairs = TensorDataset(ingot.randn(10, 3), ingot.zeros(10))
x, y = pairs[0]
both = data.ConcatDataset([points, Points(3)])
assert_type(both[0], tuple[Tensor, int])
weighted = DataLoader(pairs, sampler=WeightedRandomSampler([0.1] * 10, 5, replacement=True), generator=ingot.Generator())
inputs, targets = next(iter(weighted))
print(len(points), len(both), inputs.shape, targets.mean(), test.indices, loader.dataset)
