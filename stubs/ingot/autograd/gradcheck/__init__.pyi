"""Checks of gradients by differences: `gradcheck` for the first derivative, `gradgradcheck` for the second."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.autograd import GradcheckError as GradcheckError
from ingot.autograd import gradcheck as gradcheck
from ingot.autograd import gradgradcheck as gradgradcheck
