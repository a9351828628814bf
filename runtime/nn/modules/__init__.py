"""The module classes under the paths that scripts and older checkpoints know, such as `nn.modules.batchnorm.BatchNorm2d`."""

import sys

from ..base import argument_tuples, container, module
from ..base import lazy_modules as lazy
from ..base.module import Module
from ..layers import (
    activation,
    attention,
    conv,
    distance,
    dropout,
    linear,
    loss,
    norm,
    pad,
    pool,
    resample,
    rnn,
    transformer,
)
from ..layers import (
    adaptive_softmax as adaptive,
)
from ..layers import (
    embedding as sparse,
)

_FAMILIES = {
    "activation": activation, "adaptive": adaptive, "attention": attention, "batchnorm": norm, "channelshuffle": resample,
    "container": container,
    "conv": conv, "distance": distance, "dropout": dropout, "flatten": linear, "fold": conv, "instancenorm": norm,
    "lazy": lazy, "linear": linear, "loss": loss, "module": module, "normalization": norm, "padding": pad,
    "pixelshuffle": resample, "pooling": pool, "rnn": rnn, "sparse": sparse, "transformer": transformer,
    "upsampling": resample, "utils": argument_tuples,
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
