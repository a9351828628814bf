"""QConfig: factories of observers, or fake quantisation, for a module's inputs and weights."""

from collections import namedtuple
from typing import Any

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ...ir.suggestions import unknown_choice
from ..nn.base.module import Module
from ..nn.layers.linear import Identity
from . import fake_quantize as fake
from . import observers
from .observers import default_histogram_observer, default_observer, default_weight_observer

__all__ = ["QConfig", "QConfigAny", "default_activation_only_qconfig", "default_debug_qconfig", "default_dynamic_qat_qconfig",
           "default_dynamic_qconfig", "default_embedding_qat_qconfig", "default_per_channel_qconfig",
           "default_per_channel_symmetric_qnnpack_qat_qconfig", "default_per_channel_symmetric_qnnpack_qconfig",
           "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig", "default_quint8_weight_qconfig",
           "default_reuse_input_qconfig", "default_symmetric_qnnpack_qat_qconfig", "default_symmetric_qnnpack_qconfig",
           "default_weight_only_qconfig",
           "get_default_qat_qconfig", "get_default_qconfig", "per_channel_dynamic_qconfig", "qconfig_equals"]


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """Quantisation of a module: `activation` makes the observer of its inputs, `weight` that of its weight.

    Inputs that are quantised at each call need no observer. Only training observes weights; other weights are int8 with a
    scale for each output.
    """

    __slots__ = ()

    def __new__(cls, activation=None, weight=dt.qint8):
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ArgumentError("QConfig takes what makes observers, not an observer: give its class, or "
                                "MyObserver.with_args(...) for its arguments")
        return super().__new__(cls, activation, weight)


QConfigAny = QConfig | None

default_qconfig = default_per_channel_qconfig = QConfig(default_observer, default_weight_observer)
default_dynamic_qconfig = per_channel_dynamic_qconfig = QConfig()
default_debug_qconfig = QConfig(observers.default_debug_observer, default_weight_observer)

default_qat_qconfig = QConfig(fake.default_fake_quant, fake.default_weight_fake_quant)
default_qat_qconfig_v2 = QConfig(fake.default_fused_act_fake_quant, fake.default_fused_wt_fake_quant)
default_dynamic_qat_qconfig = QConfig(fake.default_dynamic_fake_quant, fake.default_weight_fake_quant)
default_weight_only_qconfig = QConfig(Identity, fake.default_weight_fake_quant)
default_activation_only_qconfig = QConfig(fake.default_fake_quant, Identity)
default_embedding_qat_qconfig = QConfig(observers.NoopObserver.with_args(dtype=dt.float32), fake.default_embedding_fake_quant)

_SIGNED_RANGE = observers.HistogramObserver.with_args(dtype=dt.qint8, eps=2 ** -12)
default_symmetric_qnnpack_qconfig = QConfig(_SIGNED_RANGE, observers.weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    _SIGNED_RANGE, observers.per_channel_weight_observer_range_neg_127_to_127)
default_quint8_weight_qconfig = QConfig(observers.HistogramObserver, observers.MinMaxObserver)
default_reuse_input_qconfig = QConfig(observers.default_reuse_input_observer, observers.NoopObserver)

_SIGNED = fake.FusedMovingAvgObsFakeQuantize.with_args(
    observer=observers.MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=dt.qint8, eps=2 ** -12)
default_symmetric_qnnpack_qat_qconfig = QConfig(_SIGNED, fake.fused_wt_fake_quant_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(_SIGNED, fake.fused_per_channel_wt_fake_quant_range_neg_127_to_127)

_BACKENDS = ("fbgemm", "x86", "qnnpack", "onednn")


def _check(backend, version, versions):
    if backend not in _BACKENDS:
        raise unknown_choice("backend", backend, _BACKENDS)
    if version not in versions:
        raise unknown_choice("version", version, versions)


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """Return ranges of least error, and weights with a scale for each output; the same for every backend."""
    _check(backend, version, (0,))
    return QConfig(default_histogram_observer, default_weight_observer)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """Return settings for training: moving averages of ranges in 8 bits, weights with a scale for each output ("qnnpack":
    one)."""
    _check(backend, version, (None, 0, 1))
    channels = backend != "qnnpack"
    if version == 0:
        return QConfig(fake.default_fake_quant,
                       fake.default_per_channel_weight_fake_quant if channels else fake.default_weight_fake_quant)
    return QConfig(fake.default_fused_act_fake_quant,
                   fake.default_fused_per_channel_wt_fake_quant if channels else fake.default_fused_wt_fake_quant)


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Return whether both make the same observers with the same arguments."""
    return q1 == q2 if q1 is None or q2 is None else all(_unfolded(a) == _unfolded(b) for a, b in zip(q1, q2))


def _unfolded(make):
    """Return the function of a factory, and its arguments."""
    arguments: dict = {}
    while hasattr(make, "p") or hasattr(make, "func"):
        if hasattr(make, "func"):
            arguments, make = {**make.keywords, **arguments}, make.func
        else:
            arguments, make = {**{k: (v,) for k, v in make.callable_args.items()}, **arguments}, make.p
    return make, {k: _unfolded(v) if hasattr(v, "p") else v for k, v in arguments.items()}
