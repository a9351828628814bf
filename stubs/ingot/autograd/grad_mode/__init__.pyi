"""Grad mode: recording for differentiation, on and off per thread."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot import enable_grad as enable_grad
from ingot import inference_mode as inference_mode
from ingot import is_grad_enabled as is_grad_enabled
from ingot import is_inference_mode_enabled as is_inference_mode_enabled
from ingot import no_grad as no_grad
from ingot import set_grad_enabled as set_grad_enabled
from ingot.autograd import is_multithreading_enabled as is_multithreading_enabled
from ingot.autograd import set_multithreading_enabled as set_multithreading_enabled

def around_steps(fn: _t.Any, context: _t.Any) -> _t.Any:
    """Return a generator function that runs each step of `fn` inside of `context()`, but not the caller's code between."""
