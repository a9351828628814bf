"""The module classes under the paths that scripts and older checkpoints know, such as `nn.modules.batchnorm.BatchNorm2d`."""

import sys

from .. import (
    activation,
    adaptive,
    attention,
    container,
    conv,
    distance,
    dropout,
    lazy,
    linear,
    loss,
    module,
    norm,
    pad,
    pool,
    resample,
    rnn,
    sparse,
    transformer,
)
from ..module import Module
from . import tuples

_FAMILIES = {
    "activation": activation, "adaptive": adaptive, "attention": attention, "batchnorm": norm, "channelshuffle": resample,
    "container": container,
    "conv": conv, "distance": distance, "dropout": dropout, "flatten": linear, "fold": conv, "instancenorm": norm,
    "lazy": lazy, "linear": linear, "loss": loss, "module": module, "normalization": norm, "padding": pad,
    "pixelshuffle": resample, "pooling": pool, "rnn": rnn, "sparse": sparse, "transformer": transformer,
    "upsampling": resample, "utils": tuples,
}
for _name, _family in _FAMILIES.items():
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _family

_CLASSES = {_c.__name__: _c for _f in _FAMILIES.values() for _c in vars(_f).values()
            if isinstance(_c, type) and issubclass(_c, Module) and not _c.__name__.startswith("_")}
globals().update(_CLASSES)

__all__ = [*_CLASSES, *_FAMILIES]


def __getattr__(name):
    """The batch norm that talks to other processes loads on first use."""
    if name == "SyncBatchNorm":
        return norm.SyncBatchNorm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
