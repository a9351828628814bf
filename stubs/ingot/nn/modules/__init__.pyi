"""`ingot.nn.modules`: module classes under the paths of scripts and checkpoints, such as
`nn.modules.batchnorm.BatchNorm2d`."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.nn import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from ingot.nn import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from ingot.nn import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from ingot.nn import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from ingot.nn import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from ingot.nn import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from ingot.nn import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from ingot.nn import AlphaDropout as AlphaDropout
from ingot.nn import AvgPool1d as AvgPool1d
from ingot.nn import AvgPool2d as AvgPool2d
from ingot.nn import AvgPool3d as AvgPool3d
from ingot.nn import BCELoss as BCELoss
from ingot.nn import BCEWithLogitsLoss as BCEWithLogitsLoss
from ingot.nn import BatchNorm1d as BatchNorm1d
from ingot.nn import BatchNorm2d as BatchNorm2d
from ingot.nn import BatchNorm3d as BatchNorm3d
from ingot.nn import Bilinear as Bilinear
from ingot.nn import CELU as CELU
from ingot.nn import CTCLoss as CTCLoss
from ingot.nn import ChannelShuffle as ChannelShuffle
from ingot.nn import CircularPad1d as CircularPad1d
from ingot.nn import CircularPad2d as CircularPad2d
from ingot.nn import CircularPad3d as CircularPad3d
from ingot.nn import ConstantPad1d as ConstantPad1d
from ingot.nn import ConstantPad2d as ConstantPad2d
from ingot.nn import ConstantPad3d as ConstantPad3d
from ingot.nn import Conv1d as Conv1d
from ingot.nn import Conv2d as Conv2d
from ingot.nn import Conv3d as Conv3d
from ingot.nn import ConvTranspose1d as ConvTranspose1d
from ingot.nn import ConvTranspose2d as ConvTranspose2d
from ingot.nn import ConvTranspose3d as ConvTranspose3d
from ingot.nn import CosineEmbeddingLoss as CosineEmbeddingLoss
from ingot.nn import CosineSimilarity as CosineSimilarity
from ingot.nn import CrossEntropyLoss as CrossEntropyLoss
from ingot.nn import CrossMapLRN2d as CrossMapLRN2d
from ingot.nn import Dropout as Dropout
from ingot.nn import Dropout1d as Dropout1d
from ingot.nn import Dropout2d as Dropout2d
from ingot.nn import Dropout3d as Dropout3d
from ingot.nn import ELU as ELU
from ingot.nn import Embedding as Embedding
from ingot.nn import EmbeddingBag as EmbeddingBag
from ingot.nn import FeatureAlphaDropout as FeatureAlphaDropout
from ingot.nn import Flatten as Flatten
from ingot.nn import Fold as Fold
from ingot.nn import FractionalMaxPool2d as FractionalMaxPool2d
from ingot.nn import FractionalMaxPool3d as FractionalMaxPool3d
from ingot.nn import GELU as GELU
from ingot.nn import GLU as GLU
from ingot.nn import GRU as GRU
from ingot.nn import GRUCell as GRUCell
from ingot.nn import GaussianNLLLoss as GaussianNLLLoss
from ingot.nn import GroupNorm as GroupNorm
from ingot.nn import Hardshrink as Hardshrink
from ingot.nn import Hardsigmoid as Hardsigmoid
from ingot.nn import Hardswish as Hardswish
from ingot.nn import Hardtanh as Hardtanh
from ingot.nn import HingeEmbeddingLoss as HingeEmbeddingLoss
from ingot.nn import HuberLoss as HuberLoss
from ingot.nn import Identity as Identity
from ingot.nn import InstanceNorm1d as InstanceNorm1d
from ingot.nn import InstanceNorm2d as InstanceNorm2d
from ingot.nn import InstanceNorm3d as InstanceNorm3d
from ingot.nn import KLDivLoss as KLDivLoss
from ingot.nn import L1Loss as L1Loss
from ingot.nn import LPPool1d as LPPool1d
from ingot.nn import LPPool2d as LPPool2d
from ingot.nn import LPPool3d as LPPool3d
from ingot.nn import LSTM as LSTM
from ingot.nn import LSTMCell as LSTMCell
from ingot.nn import LayerNorm as LayerNorm
from ingot.nn import LazyBatchNorm1d as LazyBatchNorm1d
from ingot.nn import LazyBatchNorm2d as LazyBatchNorm2d
from ingot.nn import LazyBatchNorm3d as LazyBatchNorm3d
from ingot.nn import LazyConv1d as LazyConv1d
from ingot.nn import LazyConv2d as LazyConv2d
from ingot.nn import LazyConv3d as LazyConv3d
from ingot.nn import LazyConvTranspose1d as LazyConvTranspose1d
from ingot.nn import LazyConvTranspose2d as LazyConvTranspose2d
from ingot.nn import LazyConvTranspose3d as LazyConvTranspose3d
from ingot.nn import LazyInstanceNorm1d as LazyInstanceNorm1d
from ingot.nn import LazyInstanceNorm2d as LazyInstanceNorm2d
from ingot.nn import LazyInstanceNorm3d as LazyInstanceNorm3d
from ingot.nn import LazyLinear as LazyLinear
from ingot.nn import LeakyReLU as LeakyReLU
from ingot.nn import Linear as Linear
from ingot.nn import Linear as _Linear
from ingot.nn import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from ingot.nn import LocalResponseNorm as LocalResponseNorm
from ingot.nn import LogSigmoid as LogSigmoid
from ingot.nn import LogSoftmax as LogSoftmax
from ingot.nn import MSELoss as MSELoss
from ingot.nn import MarginRankingLoss as MarginRankingLoss
from ingot.nn import MaxPool1d as MaxPool1d
from ingot.nn import MaxPool2d as MaxPool2d
from ingot.nn import MaxPool3d as MaxPool3d
from ingot.nn import MaxUnpool1d as MaxUnpool1d
from ingot.nn import MaxUnpool2d as MaxUnpool2d
from ingot.nn import MaxUnpool3d as MaxUnpool3d
from ingot.nn import Mish as Mish
from ingot.nn import Module as Module
from ingot.nn import Module as _Module
from ingot.nn import ModuleDict as ModuleDict
from ingot.nn import ModuleList as ModuleList
from ingot.nn import MultiLabelMarginLoss as MultiLabelMarginLoss
from ingot.nn import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from ingot.nn import MultiMarginLoss as MultiMarginLoss
from ingot.nn import MultiheadAttention as MultiheadAttention
from ingot.nn import NLLLoss as NLLLoss
from ingot.nn import NLLLoss2d as NLLLoss2d
from ingot.nn import PReLU as PReLU
from ingot.nn import PairwiseDistance as PairwiseDistance
from ingot.nn import ParameterDict as ParameterDict
from ingot.nn import ParameterList as ParameterList
from ingot.nn import PixelShuffle as PixelShuffle
from ingot.nn import PixelUnshuffle as PixelUnshuffle
from ingot.nn import PoissonNLLLoss as PoissonNLLLoss
from ingot.nn import RMSNorm as RMSNorm
from ingot.nn import RNN as RNN
from ingot.nn import RNNBase as RNNBase
from ingot.nn import RNNCell as RNNCell
from ingot.nn import RNNCellBase as RNNCellBase
from ingot.nn import RReLU as RReLU
from ingot.nn import ReLU as ReLU
from ingot.nn import ReLU6 as ReLU6
from ingot.nn import ReflectionPad1d as ReflectionPad1d
from ingot.nn import ReflectionPad2d as ReflectionPad2d
from ingot.nn import ReflectionPad3d as ReflectionPad3d
from ingot.nn import ReplicationPad1d as ReplicationPad1d
from ingot.nn import ReplicationPad2d as ReplicationPad2d
from ingot.nn import ReplicationPad3d as ReplicationPad3d
from ingot.nn import SELU as SELU
from ingot.nn import Sequential as Sequential
from ingot.nn import SiLU as SiLU
from ingot.nn import Sigmoid as Sigmoid
from ingot.nn import SmoothL1Loss as SmoothL1Loss
from ingot.nn import SoftMarginLoss as SoftMarginLoss
from ingot.nn import Softmax as Softmax
from ingot.nn import Softmax2d as Softmax2d
from ingot.nn import Softmin as Softmin
from ingot.nn import Softplus as Softplus
from ingot.nn import Softshrink as Softshrink
from ingot.nn import Softsign as Softsign
from ingot.nn import Tanh as Tanh
from ingot.nn import Tanhshrink as Tanhshrink
from ingot.nn import Threshold as Threshold
from ingot.nn import Transformer as Transformer
from ingot.nn import TransformerDecoder as TransformerDecoder
from ingot.nn import TransformerDecoderLayer as TransformerDecoderLayer
from ingot.nn import TransformerEncoder as TransformerEncoder
from ingot.nn import TransformerEncoderLayer as TransformerEncoderLayer
from ingot.nn import TripletMarginLoss as TripletMarginLoss
from ingot.nn import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from ingot.nn import Unflatten as Unflatten
from ingot.nn import Unfold as Unfold
from ingot.nn import Upsample as Upsample
from ingot.nn import UpsamplingBilinear2d as UpsamplingBilinear2d
from ingot.nn import UpsamplingNearest2d as UpsamplingNearest2d
from ingot.nn import ZeroPad1d as ZeroPad1d
from ingot.nn import ZeroPad2d as ZeroPad2d
from ingot.nn import ZeroPad3d as ZeroPad3d
from ingot.nn.modules import activation as activation
from ingot.nn.modules import adaptive as adaptive
from ingot.nn.modules import attention as attention
from ingot.nn.modules import batchnorm as batchnorm
from ingot.nn.modules import channelshuffle as channelshuffle
from ingot.nn.modules import container as container
from ingot.nn.modules import conv as conv
from ingot.nn.modules import distance as distance
from ingot.nn.modules import dropout as dropout
from ingot.nn.modules import flatten as flatten
from ingot.nn.modules import fold as fold
from ingot.nn.modules import instancenorm as instancenorm
from ingot.nn.modules import lazy as lazy
from ingot.nn.modules import linear as linear
from ingot.nn.modules import loss as loss
from ingot.nn.modules import module as module
from ingot.nn.modules import normalization as normalization
from ingot.nn.modules import padding as padding
from ingot.nn.modules import pixelshuffle as pixelshuffle
from ingot.nn.modules import pooling as pooling
from ingot.nn.modules import rnn as rnn
from ingot.nn.modules import sparse as sparse
from ingot.nn.modules import transformer as transformer
from ingot.nn.modules import upsampling as upsampling
from ingot.nn.modules import utils as utils

class LazyModuleMixin(_Module):
    """Mixin for lazy modules, before the module's own class. Subclasses define initialize_parameters(*args), which sets the
    shapes, and may set `cls_to_become`, the class after the first call."""
    cls_to_become: _b.type[_t.Any] | None
    def __call__(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any: ...
    def has_uninitialized_params(self) -> _b.bool:
        """Return whether a parameter or buffer has no shape yet."""
    def initialize_parameters(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Set shapes from the first input; subclasses define it."""

class NonDynamicallyQuantizableLinear(_Linear):
    """The Linear inside attention, under the name of state dicts."""
