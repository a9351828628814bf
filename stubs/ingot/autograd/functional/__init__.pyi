"""Derivatives of functions of tensors: vjp, jvp, jacobian, hessian, and products with the Hessian."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

def hessian(func: _t.Any, inputs: _t.Any, create_graph: _b.bool = False, strict: _b.bool = False,
            vectorize: _b.bool = False, outer_jacobian_strategy: _b.str = 'reverse-mode') -> _t.Any:
    """Return the second derivatives of a function with one number as result: a tuple of tuples for a tuple of inputs."""
def hvp(func: _t.Any, inputs: _t.Any, v: _t.Any = None, create_graph: _b.bool = False, strict: _b.bool = False) -> _t.Any:
    """Return (func(*inputs), the Hessian times v)."""
def jacobian(func: _t.Any, inputs: _t.Any, create_graph: _b.bool = False, strict: _b.bool = False,
             vectorize: _b.bool = False, strategy: _b.str = 'reverse-mode') -> _t.Any:
    """Return the Jacobian of func: for each output and input a tensor of shape output.shape + input.shape. `vectorize` is
    ignored: the rows are always computed together."""
def jvp(func: _t.Any, inputs: _t.Any, v: _t.Any = None, create_graph: _b.bool = False,
        strict: _b.bool = False) -> _b.tuple[_t.Any, ...]:
    """Return (func(*inputs), the Jacobian times v), by two reverse passes."""
def vhp(func: _t.Any, inputs: _t.Any, v: _t.Any = None, create_graph: _b.bool = False, strict: _b.bool = False) -> _t.Any:
    """Return (func(*inputs), v times the Hessian)."""
def vjp(func: _t.Any, inputs: _t.Any, v: _t.Any = None, create_graph: _b.bool = False,
        strict: _b.bool = False) -> _b.tuple[_t.Any, ...]:
    """Return (func(*inputs), v times the Jacobian)."""
