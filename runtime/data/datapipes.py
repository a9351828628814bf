"""Datasets that chain: `IterDataPipe` and `MapDataPipe`, whose classes can be called as methods of others."""

from typing import Any

from ...ir.errors import ArgumentError
from .dataset import Dataset, IterableDataset, T_co

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]


class _Chained:
    """Base that looks up methods among functions registered for a kind of datasets."""

    functions: dict

    def __getattr__(self, name):
        made = type(self).functions.get(name)
        if made is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return lambda *args, **kwargs: made(self, *args, **kwargs)

    @classmethod
    def register_function(cls, function_name, function):
        """Make a function of a dataset one of its methods."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Make a class whose first argument is a dataset one of its methods. `enable_df_api_tracing` is ignored: there are no
        data frames."""
        if function_name in cls.functions:
            raise ArgumentError(f"datasets of the kind {cls.__name__} have a function {function_name} already")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_Chained, IterableDataset[T_co]):
    """Base of chained datasets that yield samples in order."""

    functions: dict = {}

    def __iter__(self):
        return self

    def reset(self):
        """Do nothing; subclasses may restart."""


class MapDataPipe(_Chained, Dataset[T_co]):
    """Base of chained datasets with samples by index."""

    functions: dict = {}


class functional_datapipe:
    """Class decorator that makes `dataset.name(...)` out of `Class(dataset, ...)`. `enable_df_api_tracing` is ignored: there
    are no data frames."""

    def __init__(self, name: str, enable_df_api_tracing=False):
        self.name = name

    def __call__(self, cls: Any) -> Any:
        for kind in (IterDataPipe, MapDataPipe):
            if issubclass(cls, kind):
                kind.register_datapipe_as_function(self.name, cls)
                return cls
        raise ArgumentError(f"functional_datapipe is for subclasses of IterDataPipe and MapDataPipe, got {cls.__name__}")
