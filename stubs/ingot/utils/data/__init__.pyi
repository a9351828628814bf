"""`ingot.utils.data`: datasets, samplers, and the loader that makes batches of them."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Generator as _Generator
from ingot.utils.data import collate as collate
from ingot.utils.data import dataloader as dataloader
from ingot.utils.data import datapipes as datapipes
from ingot.utils.data import dataset as dataset
from ingot.utils.data import distributed as distributed
from ingot.utils.data import sampler as sampler

from ingot import Generator as _Generator, Tensor as _Tensor
_T = _t.TypeVar("_T")
_T_co = _t.TypeVar("_T_co", covariant=True)

class BatchSampler(Sampler[_b.list[_b.int]]):
    """Sampler of lists of `batch_size` indices of another one."""
    batch_size: _t.Any
    drop_last: _t.Any
    sampler: _t.Any
    def __init__(self, sampler: _t.Any, batch_size: _t.Any, drop_last: _t.Any) -> None: ...
    def __len__(self) -> _b.int: ...
    def __iter__(self) -> _c.Iterator[_b.list[_b.int]]: ...

class ChainDataset(IterableDataset[_t.Any]):
    """Iterable datasets joined one after the other."""
    datasets: _t.Any
    def __len__(self) -> _b.int: ...
    def __init__(self, datasets: _c.Iterable[Dataset[_t.Any]]) -> None: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...

class ConcatDataset(Dataset[_T_co]):
    """Datasets joined one after the other."""
    cumulative_sizes: _t.Any
    def __len__(self) -> _b.int: ...
    @_b.staticmethod
    def cumsum(sequence: _t.Any) -> _b.list[_t.Any]:
        """Return the running sum of the lengths."""
    def __getitem__(self, index: _t.Any, /) -> _T_co: ...
    def __init__(self, datasets: _c.Iterable[Dataset[_T_co]]) -> None: ...
    datasets: _b.list[Dataset[_T_co]]

class DataLoader(_t.Generic[_T_co]):
    """Iterable over batches of a dataset."""
    batch_sampler: _t.Any
    collate_fn: _t.Any
    drop_last: _t.Any
    generator: _Generator
    in_order: _b.bool
    num_workers: _b.int
    persistent_workers: _b.bool
    pin_memory: _b.bool
    pin_memory_device: _b.str
    prefetch_factor: _t.Any
    sampler: _t.Any
    timeout: _t.Any
    worker_init_fn: _t.Any
    def __len__(self) -> _b.int: ...
    @_b.property
    def multiprocessing_context(self) -> _t.Any:
        """Context that starts workers, or None for the default one."""
    @multiprocessing_context.setter
    def multiprocessing_context(self, value: _t.Any) -> None: ...
    def __init__(self, dataset: Dataset[_T_co] | _c.Sequence[_T_co], batch_size: _b.int | None = 1, shuffle: _b.bool | None = None,
                 sampler: _c.Iterable[_t.Any] | None = None, batch_sampler: _c.Iterable[_t.Any] | None = None,
                 num_workers: _b.int = 0, collate_fn: _c.Callable[[_b.list[_t.Any]], _t.Any] | None = None,
                 pin_memory: _b.bool = False, drop_last: _b.bool = False, timeout: _b.float = 0,
                 worker_init_fn: _c.Callable[[_b.int], _t.Any] | None = None, multiprocessing_context: _t.Any = None,
                 generator: _Generator | None = None, *, prefetch_factor: _b.int | None = None,
                 persistent_workers: _b.bool = False, pin_memory_device: _b.str = "", in_order: _b.bool = True) -> None: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    batch_size: _b.int | None
    dataset: Dataset[_T_co]

class Dataset(_t.Generic[_T_co]):
    """Base of datasets with samples by index; most also have a length. A sum of two joins them."""
    def __add__(self, other: Dataset[_T]) -> ConcatDataset[_T_co | _T]: ...
    def __getitem__(self, index: _t.Any, /) -> _T_co: ...
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""
    def __len__(self) -> _b.int: ...      # of most: for `len(loader.dataset)`

class DistributedSampler(Sampler):
    """Sampler of every `num_replicas`-th index of one common order, from `rank` on. Call `set_epoch` so that each epoch has
    its own order."""
    dataset: _t.Any
    drop_last: _b.bool
    epoch: _b.int
    num_replicas: _t.Any
    num_samples: _t.Any
    rank: _t.Any
    seed: _t.Any
    shuffle: _b.bool
    total_size: _t.Any
    def __init__(self, dataset: _t.Any, num_replicas: _t.Any = None, rank: _t.Any = None, shuffle: _b.bool = True,
                 seed: _t.Any = 0, drop_last: _b.bool = False) -> None: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    def __len__(self) -> _b.int: ...
    def set_epoch(self, epoch: _b.int) -> None:
        """Set the epoch of the order."""

class IterDataPipe(IterableDataset):
    """Base of chained datasets that yield samples in order."""
    functions: _b.dict[_t.Any, _t.Any]
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    @_b.classmethod
    def register_datapipe_as_function(cls, function_name: _t.Any, cls_to_register: _t.Any,
                                      enable_df_api_tracing: _b.bool = False) -> None:
        """Make a class whose first argument is a dataset one of its methods. `enable_df_api_tracing` is ignored: there are no
        data frames."""
    @_b.classmethod
    def register_function(cls, function_name: _t.Any, function: _t.Any) -> None:
        """Make a function of a dataset one of its methods."""
    def reset(self) -> None:
        """Do nothing; subclasses may restart."""

class IterableDataset(Dataset[_T_co]):
    """Base of datasets that yield samples in order."""
    def __add__(self, other: Dataset[_T]) -> ChainDataset: ...  # type: ignore[override]
    def __iter__(self) -> _c.Iterator[_T_co]: ...

class MapDataPipe(Dataset):
    """Base of chained datasets with samples by index."""
    functions: _b.dict[_t.Any, _t.Any]
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    @_b.classmethod
    def register_datapipe_as_function(cls, function_name: _t.Any, cls_to_register: _t.Any,
                                      enable_df_api_tracing: _b.bool = False) -> None:
        """Make a class whose first argument is a dataset one of its methods. `enable_df_api_tracing` is ignored: there are no
        data frames."""
    @_b.classmethod
    def register_function(cls, function_name: _t.Any, function: _t.Any) -> None:
        """Make a function of a dataset one of its methods."""

class RandomSampler(Sampler[_b.int]):
    """Sampler of all indices in random order, or of `num_samples` drawn with replacement."""
    data_source: _t.Any
    generator: _Generator
    replacement: _b.bool
    def __init__(self, data_source: _t.Any, replacement: _b.bool = False, num_samples: _b.int | None = None,
                 generator: _Generator | None = None) -> None: ...
    def __len__(self) -> _b.int: ...
    @_b.property
    def num_samples(self) -> _b.int:
        """Number of indices of one pass."""
    def __iter__(self) -> _c.Iterator[_b.int]: ...

class Sampler(_t.Generic[_T_co]):
    """Base of samplers: iterables of indices (or lists of indices). `data_source` is ignored: subclasses keep what they
    need."""
    def __init__(self, data_source: _t.Any = None) -> None: ...
    def __iter__(self) -> _c.Iterator[_T_co]: ...

class SequentialSampler(Sampler[_b.int]):
    """Sampler of 0, 1, 2, ..."""
    data_source: _t.Any
    def __init__(self, data_source: _t.Any) -> None: ...
    def __len__(self) -> _b.int: ...
    def __iter__(self) -> _c.Iterator[_b.int]: ...

class StackDataset(Dataset[_t.Any]):
    """Dataset of tuples (dicts for named datasets): sample i has the i-th samples of some datasets."""
    datasets: _t.Any
    def __getitems__(self, indices: _t.Any) -> _b.list[_t.Any]:
        """Return the samples of several indices."""
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None: ...
    def __len__(self) -> _b.int: ...
    def __getitem__(self, index: _t.Any) -> _t.Any: ...

class Subset(Dataset[_T_co]):
    """Samples of a dataset at some indices."""
    def __getitems__(self, indices: _t.Any) -> _t.Any:
        """Return the samples of several indices."""
    def __len__(self) -> _b.int: ...
    def __getitem__(self, index: _t.Any, /) -> _T_co: ...
    def __init__(self, dataset: Dataset[_T_co], indices: _c.Sequence[_b.int]) -> None: ...
    dataset: Dataset[_T_co]
    indices: _c.Sequence[_b.int]

class SubsetRandomSampler(Sampler[_b.int]):
    """Sampler of the given indices in random order."""
    generator: _Generator
    indices: _t.Any
    def __init__(self, indices: _t.Any, generator: _Generator | None = None) -> None: ...
    def __len__(self) -> _b.int: ...
    def __iter__(self) -> _c.Iterator[_b.int]: ...

class TensorDataset(Dataset[_b.tuple[_Tensor, ...]]):
    """Dataset of tuples: sample i has the i-th entries of some tensors."""
    def __len__(self) -> _b.int: ...
    def __getitem__(self, index: _t.Any) -> _b.tuple[_Tensor, ...]: ...
    def __init__(self, *tensors: _Tensor) -> None: ...
    tensors: _b.tuple[_Tensor, ...]

class WeightedRandomSampler(Sampler[_b.int]):
    """Sampler of indices drawn with the given weights."""
    generator: _Generator
    num_samples: _b.int
    replacement: _b.bool
    weights: _t.Any
    def __init__(self, weights: _t.Any, num_samples: _b.int, replacement: _b.bool = True,
                 generator: _Generator | None = None) -> None: ...
    def __len__(self) -> _b.int: ...
    def __iter__(self) -> _c.Iterator[_b.int]: ...

class WorkerInfo:
    """Result of `get_worker_info()`: id of this worker, their number, its seed, and its copy of the dataset."""
    dataset: _b.object
    id: _b.int
    num_workers: _b.int
    seed: _b.int
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, id: _b.int, num_workers: _b.int, seed: _b.int, dataset: _b.object) -> None: ...

def default_collate(batch: _t.Any) -> _t.Any:
    """Return one batch of a list of samples: tensors and arrays are stacked, numbers become a tensor, containers keep their
    form."""
def default_convert(data: _t.Any) -> _t.Any:
    """Convert arrays and NumPy numbers to tensors, also in mappings and sequences; other values stay."""

class functional_datapipe:
    """Class decorator that makes `dataset.name(...)` out of `Class(dataset, ...)`. `enable_df_api_tracing` is ignored:
    there are no data frames."""
    name: _b.str
    def __call__(self, cls: _t.Any) -> _t.Any: ...
    def __init__(self, name: _b.str, enable_df_api_tracing: _b.bool = False) -> None: ...

def get_worker_info() -> WorkerInfo | None:
    """Return facts about the worker that this code runs in; None in the main process."""

def random_split(dataset: Dataset[_T], lengths: _c.Sequence[_b.float], generator: _Generator | None = None) -> _b.list[Subset[_T]]:
    """Return random parts of a dataset without overlap; `lengths` are counts, or fractions that sum to 1."""
