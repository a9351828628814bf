"""DataLoader: batches of a dataset, fetched in this process or in workers."""

import itertools
import multiprocessing
import multiprocessing.context
from types import GenericAlias

from ...ir.doors import with_doors
from ...ir.draw.tables import COLUMNS, clipped, length_of
from ...ir.errors import ArgumentError, DTypeError, IngotError
from ...ir.suggestions import unknown_choice
from ..backends import accelerator
from ..core.random import draw_key
from ..state.messages import warn
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .fetch import FETCHERS, Exhausted
from .pin_memory import pin_memory
from .sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed
from .worker_loop import get_worker_info
from .worker_pool import WorkerIterator

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_NONE = object()


class FixedAttribute(IngotError, ValueError, AttributeError):
    """An attribute of a loader can no longer change."""


class _Endless:
    """Sampler of iterable datasets, which have no indices."""

    def __iter__(self):
        return itertools.repeat(None)


class _DatasetKind:
    """Values of a loader's `_dataset_kind`, under the names that libraries use."""

    Map, Iterable = "map", "iterable"


class DataLoader:
    """Iterable over batches of a dataset.

    With `num_workers` processes fetch ahead, `prefetch_factor` batches each, and pass tensors in shared memory. The order is
    the same for any number of workers. So are the numbers that datasets draw in workers from global random generators
    (ingot's, Python's and NumPy's): ingot's seed determines all three, unless `worker_init_fn` seeds one. Without workers
    datasets draw like any other code. An error in a worker raises here with its traceback.
    `pin_memory_device` is ignored: pinned memory serves every accelerator.

    Parameters
    ----------
    dataset : Dataset, or any sequence or iterable
        The samples.
    batch_size : int or None
        Samples of a batch; None returns single samples.
    shuffle : bool, optional
        Whether each epoch has a new order.
    sampler : iterable of int, optional
        Order of samples, in place of `shuffle`.
    batch_sampler : iterable of lists of int, optional
        Batches of indices, in place of the four arguments about batches.
    num_workers : int
        Number of processes that fetch; 0 fetches in this one.
    collate_fn : callable, optional
        Function that makes a batch of a list of samples; by default `default_collate`.
    pin_memory : bool
        Whether batches lie in page-locked memory, which GPUs copy from without waiting.
    drop_last : bool
        Whether a last, smaller batch is left out.
    timeout : float
        Seconds after which a silent worker is an error; 0 for none.
    worker_init_fn : callable, optional
        Function of a worker's number that it calls first.
    multiprocessing_context : str or context, optional
        How workers are started.
    generator : Generator, optional
        Random numbers of the order and of the workers' seeds.
    prefetch_factor : int, optional
        Batches that each worker fetches ahead; by default 2.
    persistent_workers : bool
        Whether workers stay between epochs.
    pin_memory_device : str
        Changes nothing.
    in_order : bool
        Whether batches come in order, even if a later one is ready first.

    Examples
    --------
    >>> loader = utils.data.DataLoader(list(range(5)), batch_size=2)
    >>> list(loader)
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    __class_getitem__ = classmethod(GenericAlias)       # DataLoader[T] in annotations

    _FIXED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))
    _ready = False
    _IterableDataset_len_called: int | None = None      # last length reported for an iterable dataset

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None,
                 generator=None, *, prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True):
        self.dataset, self.num_workers, self.timeout, self.generator = dataset, num_workers, timeout, generator
        self.worker_init_fn, self.in_order = worker_init_fn, in_order
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.persistent_workers = persistent_workers
        self.multiprocessing_context = multiprocessing_context
        self._check_workers(prefetch_factor)
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        if self._dataset_kind == _DatasetKind.Iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        self._make_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._iterator = None
        self._ready = True

    def __repr__(self):
        samples = f"{type(self.dataset).__name__} of length {length_of(self.dataset)}"
        sampler = type(self.sampler).__name__.lstrip("_")
        return clipped(f"{type(self).__name__}({samples}, batch_size={self.batch_size}, sampler={sampler}, "
                       f"num_workers={self.num_workers})", COLUMNS)

    def _check_workers(self, prefetch_factor):
        if not isinstance(self.num_workers, int) or self.num_workers < 0:
            raise ArgumentError(f"num_workers must be 0 or more, got {self.num_workers!r}")
        if self.timeout < 0:
            raise ArgumentError(f"timeout must be 0 or more seconds, got {self.timeout}")
        if not self.num_workers:
            for name, given in (("prefetch_factor", prefetch_factor), ("persistent_workers", self.persistent_workers)):
                if given:
                    raise ArgumentError(f"{name} needs worker processes; give num_workers > 0")
        elif prefetch_factor is not None and prefetch_factor < 1:
            raise ArgumentError(f"prefetch_factor must be at least 1, got {prefetch_factor}")

    def _make_samplers(self, batch_size, shuffle, sampler, batch_sampler, drop_last):
        if sampler is not None and shuffle:
            raise ArgumentError("sampler is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ArgumentError("batch_sampler is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ArgumentError("batch_size=None disables batches and is mutually exclusive with drop_last")
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = batch_size, drop_last, sampler, batch_sampler

    @property
    def _auto_collation(self) -> bool:
        """Whether samples are joined into batches."""
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        """Sampler of the indices of one fetch."""
        return self.batch_sampler if self._auto_collation else self.sampler

    @property
    def multiprocessing_context(self):
        """Context that starts workers, or None for the default one."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None and not self.num_workers:
            raise ArgumentError("multiprocessing_context needs worker processes; give num_workers > 0")
        if isinstance(context, str):
            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise unknown_choice("multiprocessing_context", context, methods)
            context = multiprocessing.get_context(context)
        elif context is not None and not isinstance(context, multiprocessing.context.BaseContext):
            raise DTypeError(f"multiprocessing_context must be a name or a context, got {context!r}")
        self._context = context

    def __setattr__(self, name, value):
        if self._ready and name in self._FIXED:
            raise FixedAttribute(f"{name} of a DataLoader cannot be set after it was made; make a new one")
        object.__setattr__(self, name, value)

    def __iter__(self):
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None or not self._iterator.workers:
            self._iterator = WorkerIterator(self)
        else:
            self._iterator.begin(self, drawn_seed(self.generator))
        return _MultiProcessingDataLoaderIter(self, self._iterator)

    def _get_iterator(self) -> "_BaseDataLoaderIter":
        """Return the iterator of one pass, with its own workers, if any."""
        return (_MultiProcessingDataLoaderIter if self.num_workers else _SingleProcessDataLoaderIter)(self)

    def __len__(self):
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        n = len(self.dataset)
        if self.batch_size is not None:
            n = n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        self._IterableDataset_len_called = n
        return n

    def __getstate__(self):
        return {**self.__dict__, "_iterator": None}


def _check_iterable(shuffle, sampler, batch_sampler):
    for name, given in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
        if given not in (None, False):
            raise ArgumentError(f"a DataLoader of an IterableDataset takes no {name}, got {given!r}")


class InProcess:
    """Batches fetched in this process, which draw from its global generators like any other code."""

    def __init__(self, loader):
        draw_key(loader.generator)                       # as with workers, so that both shuffle alike
        self.indices = iter(loader._index_sampler)       # iter() once: samplers that are their own iterators restart
        first = next(self.indices, _NONE)                # samplers draw now, as with workers
        self.ahead = [] if first is _NONE else [first]
        new = FETCHERS[loader._dataset_kind]
        self.fetcher = new(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def next(self):
        """Return the next batch; raise StopIteration after the last."""
        index = self.ahead.pop() if self.ahead else next(self.indices)
        batch = self.fetcher.at_once(index)
        if batch is not None:
            return batch
        try:
            return self.fetcher.fetch(index)
        except Exhausted:
            raise StopIteration from None


@with_doors
class _BaseDataLoaderIter:
    """One pass over a loader."""

    def __init__(self, loader, source=None):
        if source is None:
            source = WorkerIterator(loader) if loader.num_workers else InProcess(loader)
        self._source = source
        self._epoch = getattr(source, "epoch", 0)
        self._loader = loader
        self._batch_count = 0
        self._pins = loader.pin_memory and accelerator.is_available()

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def __next__(self):
        if self._epoch != getattr(self._source, "epoch", 0):
            raise StopIteration       # persistent workers run another pass
        batch = self._source.next()
        self._batch_count += 1
        told = self._loader._IterableDataset_len_called
        if told is not None and self._batch_count > told:
            warn(f"this DataLoader has said that its length is {told}, but gave more batches: with workers, an "
                 "IterableDataset must give each worker its own share (see get_worker_info)")
        return pin_memory(batch) if self._pins else batch


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """One pass without workers. Libraries build it from loaders of their own."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """One pass with workers."""

    def _shutdown_workers(self):
        """End the workers; trainers call this."""
        self._source.stop()
