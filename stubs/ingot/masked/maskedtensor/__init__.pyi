"""`ingot.masked`: reductions of the elements that a mask selects, and tensors with a mask."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.masked import MaskedTensor as MaskedTensor
from ingot.masked import amax as amax
from ingot.masked import amin as amin
from ingot.masked import argmax as argmax
from ingot.masked import argmin as argmin
from ingot.masked import as_masked_tensor as as_masked_tensor
from ingot.masked import cumprod as cumprod
from ingot.masked import cumsum as cumsum
from ingot.masked import is_masked_tensor as is_masked_tensor
from ingot.masked import log_softmax as log_softmax
from ingot.masked import logaddexp as logaddexp
from ingot.masked import logsumexp as logsumexp
from ingot.masked import masked_tensor as masked_tensor
from ingot.masked import mean as mean
from ingot.masked import median as median
from ingot.masked import norm as norm
from ingot.masked import normalize as normalize
from ingot.masked import prod as prod
from ingot.masked import softmax as softmax
from ingot.masked import softmin as softmin
from ingot.masked import std as std
from ingot.masked import sum as sum
from ingot.masked import var as var
from ingot.masked.maskedtensor import core as core
from ingot.masked.maskedtensor import creation as creation
from ingot.masked.maskedtensor import reductions as reductions
