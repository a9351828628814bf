"""Parameters computed from others at every access."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tensor as _Tensor
from ingot.nn import ModuleList as _ModuleList
import contextlib as _contextlib

class ParametrizationList(_ModuleList):
    """The chain of functions of one parametrised tensor, and their original tensors."""
    is_tensor: _b.bool
    ntensors: _b.int
    unsafe: _b.bool
    def __init__(self, modules: _t.Any, original: _t.Any, unsafe: _b.bool = False) -> None: ...
    def forward(self) -> _Tensor:
        """Compute the parametrised value."""
    def right_inverse(self, value: _Tensor | _b.complex) -> None:
        """Set the originals so that the parametrised value becomes `value`."""

class ParametrizedTensor(_b.property):
    """Attribute of a module that its parametrisation computes anew each time. Assigning sets the originals."""

def cached() -> _contextlib._GeneratorContextManager[_t.Any]:
    """Compute each parametrised tensor once inside."""
def is_parametrized(module: _t.Any, tensor_name: _t.Any = None) -> _b.bool:
    """Return whether the module, or one of its tensors, is parametrised."""
def register_parametrization(module: _t.Any, tensor_name: _t.Any, parametrization: _t.Any, *,
                             unsafe: _b.bool = False) -> _t.Any:
    """Compute module.tensor_name by `parametrization` from now on. Repeated calls form a chain. Only the first one uses
    `right_inverse` for the original."""
def remove_parametrizations(module: _t.Any, tensor_name: _t.Any, leave_parametrized: _b.bool = True) -> _t.Any:
    """Make the tensor plain again, with its present value or its original."""
def transfer_parametrizations_and_params(from_module: _t.Any, to_module: _t.Any, tensor_name: _t.Any = None) -> _t.Any:
    """Copy the parametrisations of one module, and their tensors, to another."""
def type_before_parametrizations(module: _t.Any) -> _t.Any:
    """Return the module's class before it was parametrised."""
