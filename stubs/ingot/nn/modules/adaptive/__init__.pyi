"""Adaptive softmax over many classes: rare classes are reached through clusters."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
