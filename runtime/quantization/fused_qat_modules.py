"""`ingot.ao.nn.intrinsic.qat`: a layer, its batch norm and a ReLU, trained as the one int8 layer they become.

In evaluation mode batch norm is a factor for each channel of the weight. So training also rounds that product, with the
running statistics. Sums are divided by the factor again before the batch norm sees them:

    y = relu(bn(conv(x, rounded(weight * factor)) / factor + bias)),     factor = bn.weight / sqrt(bn.running_var + bn.eps)

Channels whose bn.weight is zero (many networks start so) use 1 for it in the factor, so that the division works.
"""

from typing import Any

from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..nn import functional as F
from ..nn.base import init
from ..nn.base.module import Module
from ..nn.layers import conv as float_conv
from ..nn.layers import linear as float_linear
from ..nn.utils.batch_norm_fusion import fuse_conv_bn_weights, fuse_linear_bn_weights
from . import fused_modules, qat_modules

__all__ = ["ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d",
           "ConvReLU3d", "LinearBn1d", "LinearReLU", "freeze_bn_stats", "update_bn_stats"]


class WithReLU(Module):
    """Layer followed by a ReLU; the layer is the next base class."""

    def forward(self, input):
        return F.relu(super().forward(input))


class LinearReLU(WithReLU, qat_modules.Linear, of=fused_modules.LinearReLU):
    """Linear layer with a rounded weight, and a ReLU."""


class ConvReLU1d(WithReLU, qat_modules.Conv1d, of=fused_modules.ConvReLU1d):
    """Convolution over (N, C, L) with a rounded weight, and a ReLU."""


class ConvReLU2d(WithReLU, qat_modules.Conv2d, of=fused_modules.ConvReLU2d):
    """Convolution over (N, C, H, W) with a rounded weight, and a ReLU."""


class ConvReLU3d(WithReLU, qat_modules.Conv3d, of=fused_modules.ConvReLU3d):
    """Convolution over (N, C, D, H, W) with a rounded weight, and a ReLU."""


# With batch norm.


class _Normed(qat_modules.Rounding):
    """Layer with its batch norm `bn`. `freeze_bn` fixes the running statistics and normalises by them."""

    bn: Any

    def _add_norm(self, channels, eps, momentum, freeze_bn):
        self.bn = self._FLOAT_MODULE._parts[1](channels, eps, momentum)
        init.uniform_(self.bn.weight)
        self.freeze_bn = freeze_bn
        self.bn.train(self.training and not freeze_bn)

    @classmethod
    def _more_options(cls, mod):
        return {"eps": mod[1].eps, "momentum": mod[1].momentum}

    def _take(self, mod, layer):
        super()._take(mod, layer)
        self.bn = mod[1]

    def reset_running_stats(self):
        self.bn.reset_running_stats()

    def update_bn_stats(self):
        """Update the running statistics from now on."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self):
        """Keep the running statistics from now on."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self, mode=True):
        """Switch training mode; a frozen batch norm keeps its mode."""
        super().train(mode)
        if self.freeze_bn:
            self.bn.train(False)
        return self

    def _over(self, v, dim):
        return v.reshape([-1 if d == dim else 1 for d in range(self.weight.ndim)])

    def _factor(self):
        gamma = FUNCTIONS["where"](self.bn.weight == 0, 1.0, self.bn.weight)
        return gamma / (self.bn.running_var + self.bn.eps).sqrt()

    def _scaled(self, factor):
        return self.weight_fake_quant(self.weight * self._over(factor, 0))

    def _shift(self, factor):
        """Return the addend of sums in evaluation mode."""
        mean = self.bn.running_mean if self.bias is None else self.bn.running_mean - self.bias
        return self.bn.bias - mean * factor

    def _sums(self, input, weight, bias=None):
        raise NotImplementedError

    def _normed(self, input):
        factor = self._factor()
        weight = self._scaled(factor)
        if not self.bn.training:
            weight, factor = self._switched_off(weight, factor)
            return self._sums(input, weight, self._shift(factor))
        sums = self._sums(input, weight)
        sums = sums / self._over(factor, 1).to(sums.dtype)
        if self.bias is not None:
            sums = sums + self._over(self.bias, 1).to(sums.dtype)
        return self.bn(sums)

    def _switched_off(self, weight, factor):
        """Return a weight in which channels with factor zero contribute nothing but their shift."""
        there = self.bn.weight != 0
        return weight * self._over(there, 0).to(weight.dtype), factor * there

    def forward(self, input):
        return self._normed(input)

    def folded(self):
        """Return (weight, bias) of the layer with its batch norm folded in, the weight rounded."""
        with no_grad():
            factor = self._factor()
            weight, factor = self._switched_off(self._scaled(factor), factor)
            return weight.detach(), self._shift(factor).detach()

    def to_float(self):
        """Return the float layer with the batch norm folded in, before rounding, followed by a ReLU if there is one."""
        bn = self.bn
        fold = fuse_linear_bn_weights if self._layer is float_linear.Linear else fuse_conv_bn_weights
        layer = self._float_layer(*fold(self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias))
        kind = fused_modules.JOINED.get((self._layer, *self._FLOAT_MODULE._parts[2:]))
        return layer if kind is None else kind(layer, *[part() for part in kind._parts[1:]]).train(self.training)


class LinearBn1d(_Normed, float_linear.Linear, of=fused_modules.LinearBn1d):
    """Linear layer and its batch norm."""

    _options, _sums = qat_modules.Linear._options, staticmethod(F.linear)

    def __init__(self, in_features, out_features, bias=True, eps=1e-05, momentum=0.1, freeze_bn=False, qconfig=None):
        super().__init__(in_features, out_features, bias)
        self._add_norm(out_features, eps, momentum, freeze_bn)
        self._round_weights(qconfig)


class _ConvBn(_Normed):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=None,
                 padding_mode="zeros", eps=1e-05, momentum=0.1, freeze_bn=False, qconfig=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bool(bias), padding_mode)
        self._add_norm(out_channels, eps, momentum, freeze_bn)
        self._round_weights(qconfig)

    _options = qat_modules.RoundingConv._options

    def _sums(self, input, weight, bias=None):
        return self._conv_forward(input, weight, bias)


class ConvBn1d(_ConvBn, float_conv.Conv1d, of=fused_modules.ConvBn1d):
    """Convolution over (N, C, L) and its batch norm."""


class ConvBn2d(_ConvBn, float_conv.Conv2d, of=fused_modules.ConvBn2d):
    """Convolution over (N, C, H, W) and its batch norm."""


class ConvBn3d(_ConvBn, float_conv.Conv3d, of=fused_modules.ConvBn3d):
    """Convolution over (N, C, D, H, W) and its batch norm."""


class ConvBnReLU1d(WithReLU, ConvBn1d, of=fused_modules.ConvBnReLU1d):
    """Convolution over (N, C, L), its batch norm and a ReLU."""


class ConvBnReLU2d(WithReLU, ConvBn2d, of=fused_modules.ConvBnReLU2d):
    """Convolution over (N, C, H, W), its batch norm and a ReLU."""


class ConvBnReLU3d(WithReLU, ConvBn3d, of=fused_modules.ConvBnReLU3d):
    """Convolution over (N, C, D, H, W), its batch norm and a ReLU."""


# For whole models: model.apply(freeze_bn_stats).


def freeze_bn_stats(mod):
    """Make a layer with a batch norm keep its running statistics."""
    if isinstance(mod, _Normed):
        mod.freeze_bn_stats()


def update_bn_stats(mod):
    """Make a layer with a batch norm update its running statistics."""
    if isinstance(mod, _Normed):
        mod.update_bn_stats()
