"""Batches from a data loader: a dataset in memory and one that computes its samples, here and in worker processes."""

import statistics
import time

import numpy as np

from .libraries import Library, libraries
from .result import Result

MEAN_BAR = None
_SHAPE = (3, 64, 64)


class Samples:
    """Images with labels, as a dataset's author writes it; `work` sines are computed for each image."""

    def __init__(self, lib, count, work):
        self.lib, self.count, self.work = lib, count, work
        self.image = np.linspace(0, 1, int(np.prod(_SHAPE)), dtype=np.float32).reshape(_SHAPE)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        image = self.image + np.float32(i)
        for _ in range(self.work):
            image = np.sin(image)
        return self.lib.from_numpy(image), i


def seconds_of(loader, batch) -> float:
    """One pass through a loader, per batch; checks that every sample came, in order."""
    start, seen = time.perf_counter(), 0
    for images, labels in loader:
        if tuple(images.shape) != (batch, *_SHAPE) or labels.tolist() != list(range(seen, seen + batch)):
            raise AssertionError(f"a wrong batch at sample {seen}")
        seen += batch
    return (time.perf_counter() - start) / max(1, seen // batch)


def _case(plan, name, work, workers):
    """Passes through the loaders of both libraries in turn; persistent workers are started outside of the clock."""
    batch, count = 32, plan.pick(1024, 512, 64)
    loaders = {}
    for lib in libraries(plan, compiled=False):
        loaders[lib.name] = _loader(lib, count, batch, work, workers)
    times: dict = {label: [] for label in loaders}
    for loader in loaders.values():
        seconds_of(loader, batch)
    for _ in range(plan.rounds):
        for label, loader in loaders.items():
            times[label].append(seconds_of(loader, batch))
    return Result(name, {label: statistics.median(t) for label, t in times.items()}, bars={"best": 1.0},
                  note=f"a batch of {batch} images {_SHAPE}")


def _loader(lib: Library, count, batch, work, workers):
    options = {"persistent_workers": True} if workers else {}
    data = lib.module.utils.data
    return data.DataLoader(Samples(lib.module, count, work), batch_size=batch, num_workers=workers, **options)


def loader_here(plan):
    """Samples collated in the same process."""
    yield _case(plan, "DataLoader, no workers", 0, 0)


def loader_workers(plan):
    """Two worker processes that hand batches over shared memory."""
    yield _case(plan, "DataLoader, 2 workers", 0, 2)
    yield _case(plan, "DataLoader, 2 workers that compute", 10, 2)


WORKLOADS = {"loader_here": loader_here, "loader_workers": loader_workers}
