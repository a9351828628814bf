"""`ingot.utils.data`: datasets, samplers, and the loader that makes batches of them.

Way in: `DataLoader`. Batches and random numbers are the same for any number of workers.
"""

from ..api.register.register import name_constructors as _name_constructors
from . import collate, dataloader, dataset, sampler
from . import distributed_sampler as distributed
from .collate import default_collate, default_convert
from .dataloader import DataLoader
from .datapipes import IterDataPipe, MapDataPipe, functional_datapipe
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .distributed_sampler import DistributedSampler
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
from .worker_loop import WorkerInfo, get_worker_info

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler",
           "IterDataPipe", "IterableDataset", "MapDataPipe", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset",
           "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "WorkerInfo", "collate", "dataloader",
           "dataset", "default_collate", "default_convert", "distributed", "functional_datapipe", "get_worker_info",
           "random_split", "sampler"]

_name_constructors(globals())
