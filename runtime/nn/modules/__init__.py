"""`ingot.nn.modules`: module classes under the paths of scripts and checkpoints, such as `nn.modules.batchnorm.BatchNorm2d`."""

import sys

from ....ir.lazy import lazy
from ..base import argument_tuples, container, lazy_modules, module
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

sync_batch_norm = lazy(__package__, "..parallel.sync_batch_norm")
_FAMILIES = {
    "activation": activation, "adaptive": adaptive, "attention": attention, "batchnorm": norm, "channelshuffle": resample,
    "container": container,
    "conv": conv, "distance": distance, "dropout": dropout, "flatten": linear, "fold": conv, "instancenorm": norm,
    "lazy": lazy_modules, "linear": linear, "loss": loss, "module": module, "normalization": norm, "padding": pad,
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
    """Load SyncBatchNorm, which needs `runtime.distributed`, on first use."""
    if name == "SyncBatchNorm":
        return sync_batch_norm.SyncBatchNorm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


norm.__getattr__ = __getattr__      # for `nn.modules.batchnorm.SyncBatchNorm`
