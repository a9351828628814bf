"""`ingot.func`: transforms of functions (`runtime/func`), and modules as functions (`runtime/nn/utils/stateless.py`)."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t

_P = _t.ParamSpec("_P")
_R = _t.TypeVar("_R")
_A = _t.TypeVar("_A")

def debug_unwrap(tensor: _t.Any, *, recurse: _b.bool = True) -> _t.Any:
    """Return the tensor of all samples behind a sample of vmap; other tensors are returned unchanged."""
def functional_call(module: _t.Any, parameter_and_buffer_dicts: _t.Any, args: _t.Any = None,
                    kwargs: _t.Any = None, *, tie_weights: _b.bool = True, strict: _b.bool = False) -> _t.Any:
    """Call the module with other tensors in place of its parameters and buffers."""
def functionalize(func: _t.Any, *, remove: _b.str = 'mutations') -> _t.Any:
    """Return the function: vmap, grad and tracing accept writes in place."""

@_t.overload
def grad(func: _c.Callable[_t.Concatenate[_A, _P], _t.Any], argnums: _t.Literal[0] = 0,
         has_aux: _t.Literal[False] = False) -> _c.Callable[_t.Concatenate[_A, _P], _A]: ...
@_t.overload
def grad(func: _c.Callable[_P, _t.Any], argnums: _b.int | _c.Sequence[_b.int] = 0, has_aux: _b.bool = False) -> _c.Callable[_P, _t.Any]:
    """Return a function that returns the gradient of func, or (gradient, aux) with has_aux."""

@_t.overload
def grad_and_value(func: _c.Callable[_t.Concatenate[_A, _P], _R], argnums: _t.Literal[0] = 0,
                   has_aux: _t.Literal[False] = False) -> _c.Callable[_t.Concatenate[_A, _P], _b.tuple[_A, _R]]: ...
@_t.overload
def grad_and_value(func: _c.Callable[_P, _t.Any], argnums: _b.int | _c.Sequence[_b.int] = 0,
                   has_aux: _b.bool = False) -> _c.Callable[_P, _b.tuple[_t.Any, _t.Any]]:
    """Return a function that returns (gradient, value), or (gradient, (value, aux)) with has_aux."""
def hessian(func: _t.Any, argnums: _t.Any = 0) -> _t.Any:
    """Return a function that returns the second derivatives of func; the outer ones are in forward mode in PyTorch."""
def jacfwd(func: _t.Any, argnums: _t.Any = 0, has_aux: _b.bool = False, *, chunk_size: _t.Any = None,
           randomness: _b.str = 'error') -> _t.Any:
    """Return a function that returns the Jacobian of func, all columns (or chunk_size columns) at once. func runs once, so
    all columns belong to the same random numbers, and `randomness="different"` is refused."""
def jacrev(func: _t.Any, argnums: _t.Any = 0, *, has_aux: _b.bool = False, chunk_size: _t.Any = None) -> _t.Any:
    """Return a function that returns the Jacobian of func, all rows (or chunk_size rows) by one backward."""
def jvp(func: _t.Any, primals: _t.Any, tangents: _t.Any, *, strict: _b.bool = False, has_aux: _b.bool = False) -> _t.Any:
    """Return (func(*primals), directional derivative along tangents), and the auxiliary result with has_aux. With `strict`,
    results that depend on no primal are an error; otherwise their derivative is zero."""
def linearize(func: _t.Any, *primals: _t.Any) -> _b.tuple[_t.Any, ...]:
    """Return (func(*primals), function of tangents), computed once for any number of tangents."""
def replace_all_batch_norm_modules_(root: _t.Any) -> _t.Any:
    """Remove running statistics, which vmap cannot write, from all batch norms of a module; return the module."""
def stack_module_state(models: _t.Any) -> _b.tuple[_t.Any, ...]:
    """Return (parameters, buffers) of models of one class: dicts by name, stacked along a new first dimension. Stacked
    parameters are leaves."""
def vjp(func: _t.Any, *primals: _t.Any, has_aux: _b.bool = False) -> _t.Any:
    """Return (func(*primals), function of cotangents), and the auxiliary result with has_aux."""

def vmap(func: _c.Callable[_P, _R], in_dims: _t.Any = 0, out_dims: _t.Any = 0, randomness: _b.str = "error", *,
         chunk_size: _b.int | None = None) -> _c.Callable[_P, _R]:
    """Return a function that applies func to every sample of a batch at once and joins the results."""
