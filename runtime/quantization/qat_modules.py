"""`ingot.ao.nn.qat`: layers that train with rounded weights."""

from typing import Any

from ...ir.errors import ArgumentError, DTypeError
from ..autograd.grad_mode import no_grad
from ..nn import functional as F
from ..nn.base.module import Module
from ..nn.layers import conv as float_conv
from ..nn.layers import embedding as float_sparse
from ..nn.layers import linear as float_linear
from ..nn.utils.parametrize import type_before_parametrizations
from .fused_modules import _FusedModule

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]


class Rounding(Module):
    """Layer with `weight_fake_quant`, made from a float one with a `qconfig`. `_FLOAT_MODULE` is the float class (`of`),
    `_layer` the class of the float layer in it."""

    _FLOAT_MODULE: Any
    _layer: Any
    reads_floats = True         # its input is rounded, too
    weight: Any
    bias: Any

    def __init_subclass__(cls, of=None, **options):
        super().__init_subclass__(**options)
        if of is not None:
            cls._FLOAT_MODULE, cls._layer = of, of._parts[0] if issubclass(of, _FusedModule) else of

    def _round_weights(self, qconfig):
        if not qconfig or qconfig.weight is None:
            raise ArgumentError(f"{type(self).__name__} takes a qconfig that makes fake quantisation of weights; see "
                                f"get_default_qat_qconfig()")
        self.qconfig = qconfig
        fake_quant = qconfig.weight()
        if not isinstance(fake_quant, Module):
            raise ArgumentError(f"{type(self).__name__}: the qconfig's weight makes {fake_quant!r}, which is no module; see "
                                f"get_default_qat_qconfig()")
        self.weight_fake_quant = fake_quant.to(self.weight.device)
        if hasattr(fake_quant, "start_with"):
            fake_quant.start_with(self.weight)

    @classmethod
    def _options(cls, layer) -> dict:
        """Return arguments that make a layer like another one."""
        raise NotImplementedError

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Return the training layer of a float one, with the same parameters."""
        if use_precomputed_fake_quant:
            raise ArgumentError(f"{cls.__name__}.from_float starts with a new fake quantisation of the weights; leave "
                                "use_precomputed_fake_quant out, and set weight_fake_quant of the result")
        if type_before_parametrizations(mod) is not cls._FLOAT_MODULE:
            raise DTypeError(f"{cls.__module__}.{cls.__name__}.from_float takes {cls._FLOAT_MODULE.__name__}, got "
                             f"{type(mod).__name__}")
        qconfig = getattr(mod, "qconfig", None)
        if not qconfig:
            raise ArgumentError(f"{cls.__name__}.from_float takes a module with a qconfig; set module.qconfig")
        layer = mod[0] if isinstance(mod, _FusedModule) else mod
        module = cls(**cls._options(layer), **cls._more_options(mod), qconfig=qconfig)
        module._take(mod, layer)
        return module.train(mod.training)

    @classmethod
    def _more_options(cls, mod) -> dict:
        """Return arguments from the modules after the layer."""
        return {}

    def _take(self, mod, layer):
        self.weight = layer.weight
        if hasattr(layer, "bias"):
            self.bias = layer.bias
        self.weight_fake_quant.to(self.weight.device)

    def folded(self) -> tuple:
        """Return (weight, bias) of evaluation mode, with the weight rounded."""
        with no_grad():
            return self.weight_fake_quant(self.weight).detach(), None if self.bias is None else self.bias.detach()

    def to_float(self):
        """Return the float layer with the trained weights, before rounding."""
        layer = self._float_layer(self.weight, getattr(self, "bias", None))
        if not issubclass(self._FLOAT_MODULE, _FusedModule):
            return layer
        return self._FLOAT_MODULE(layer, *[kind() for kind in self._FLOAT_MODULE._parts[1:]]).train(self.training)

    def _float_layer(self, weight, bias):
        layer = self._layer(**{**self._options(self), **({} if bias is None else {"bias": True})})
        with no_grad():
            for name, value in (("weight", weight), ("bias", bias)):
                if value is not None:
                    setattr(layer, name, type(layer.weight)(value.detach()))
        return layer.train(self.training)


class Linear(Rounding, float_linear.Linear, of=float_linear.Linear):
    """Linear layer y = x @ w.T + bias, where w is the rounded weight."""

    def __init__(self, in_features, out_features, bias=True, qconfig=None, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device, dtype)
        self._round_weights(qconfig)

    @classmethod
    def _options(cls, layer):
        return {"in_features": layer.in_features, "out_features": layer.out_features, "bias": layer.bias is not None}

    def forward(self, input):
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)


class RoundingConv(Rounding):
    """Base of convolutions with rounded weights."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", qconfig=None, device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device,
                         dtype)
        self._round_weights(qconfig)

    @classmethod
    def _options(cls, layer):
        names = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode")
        return {name: getattr(layer, name) for name in names} | {"bias": layer.bias is not None}

    def forward(self, input):
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)


class Conv1d(RoundingConv, float_conv.Conv1d, of=float_conv.Conv1d):
    """Convolution over (N, C, L) with a rounded weight."""


class Conv2d(RoundingConv, float_conv.Conv2d, of=float_conv.Conv2d):
    """Convolution over (N, C, H, W) with a rounded weight."""


class Conv3d(RoundingConv, float_conv.Conv3d, of=float_conv.Conv3d):
    """Convolution over (N, C, D, H, W) with a rounded weight."""


class _Lookup(Rounding):
    """Base of lookups in rounded tables; indices are not rounded."""

    reads_floats = False
    _names: tuple = ()

    def __init__(self, num_embeddings, embedding_dim, *args, qconfig=None, **options):
        super().__init__(num_embeddings, embedding_dim, *args, **options)
        self._round_weights(qconfig)

    @classmethod
    def _options(cls, layer):
        return {name: getattr(layer, name) for name in ("num_embeddings", "embedding_dim", *cls._names)}


class Embedding(_Lookup, float_sparse.Embedding, of=float_sparse.Embedding):
    """Lookup of rows of a rounded table."""

    _names = ("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")

    def forward(self, input):
        return F.embedding(input, self.weight_fake_quant(self.weight), self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)


class EmbeddingBag(_Lookup, float_sparse.EmbeddingBag, of=float_sparse.EmbeddingBag):
    """Sums of rows of a rounded table."""

    _names = ("max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse", "include_last_offset", "padding_idx")

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight_fake_quant(self.weight), offsets, self.max_norm, self.norm_type,
                               self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights, self.include_last_offset,
                               self.padding_idx)
