"""Loss modules."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import BCELoss as BCELoss
from ingot.nn import BCEWithLogitsLoss as BCEWithLogitsLoss
from ingot.nn import CTCLoss as CTCLoss
from ingot.nn import CosineEmbeddingLoss as CosineEmbeddingLoss
from ingot.nn import CrossEntropyLoss as CrossEntropyLoss
from ingot.nn import GaussianNLLLoss as GaussianNLLLoss
from ingot.nn import HingeEmbeddingLoss as HingeEmbeddingLoss
from ingot.nn import HuberLoss as HuberLoss
from ingot.nn import KLDivLoss as KLDivLoss
from ingot.nn import L1Loss as L1Loss
from ingot.nn import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from ingot.nn import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from ingot.nn import MSELoss as MSELoss
from ingot.nn import MarginRankingLoss as MarginRankingLoss
from ingot.nn import MultiLabelMarginLoss as MultiLabelMarginLoss
from ingot.nn import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from ingot.nn import MultiMarginLoss as MultiMarginLoss
from ingot.nn import NLLLoss as NLLLoss
from ingot.nn import NLLLoss2d as NLLLoss2d
from ingot.nn import PoissonNLLLoss as PoissonNLLLoss
from ingot.nn import SmoothL1Loss as SmoothL1Loss
from ingot.nn import SoftMarginLoss as SoftMarginLoss
from ingot.nn import TripletMarginLoss as TripletMarginLoss
from ingot.nn import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
