from ingot import Tensor as _Tensor

_P = _t.ParamSpec("_P")
_R = _t.TypeVar("_R")
_S = _t.TypeVar("_S")
_A = _t.TypeVar("_A", bound=_t.Any)     # (parameters of lambdas are Any by the bound; else pyright makes them object)

class _Transformed(_t.Generic[_P, _R]):
    # No Callable: mypy cannot infer a lambda inside of a nested call if the inner call returns a Callable with a ParamSpec.
    __name__: _b.str
    __wrapped__: _c.Callable[..., _t.Any]
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

_Numbers: _t.TypeAlias = _b.int | _c.Sequence[_b.int]

def vmap(func: _c.Callable[_P, _R], in_dims: _t.Any = 0, out_dims: _t.Any = 0, randomness: _b.str = "error", *,
         chunk_size: _b.int | None = None) -> _Transformed[_P, _R]: ...

@_t.overload
def grad(func: _c.Callable[_t.Concatenate[_A, _P], _t.Any], argnums: _t.Literal[0] = 0,
         has_aux: _t.Literal[False] = False) -> _Transformed[_t.Concatenate[_A, _P], _A]: ...
@_t.overload
def grad(func: _c.Callable[_P, _t.Any], argnums: _Numbers = 0, has_aux: _b.bool = False) -> _Transformed[_P, _t.Any]: ...

@_t.overload
def grad_and_value(func: _c.Callable[_t.Concatenate[_A, _P], _R], argnums: _t.Literal[0] = 0,
                   has_aux: _t.Literal[False] = False) -> _Transformed[_t.Concatenate[_A, _P], _b.tuple[_A, _R]]: ...
@_t.overload
def grad_and_value(func: _c.Callable[_P, _t.Any], argnums: _Numbers = 0,
                   has_aux: _b.bool = False) -> _Transformed[_P, _b.tuple[_t.Any, _t.Any]]: ...

@_t.overload
def jacrev(func: _c.Callable[_t.Concatenate[_A, _P], _Tensor], argnums: _t.Literal[0] = 0, *, has_aux: _t.Literal[False] = False,
           chunk_size: _b.int | None = None) -> _Transformed[_t.Concatenate[_A, _P], _A]: ...
@_t.overload
def jacrev(func: _c.Callable[_P, _t.Any], argnums: _Numbers = 0, *, has_aux: _b.bool = False,
           chunk_size: _b.int | None = None) -> _Transformed[_P, _t.Any]: ...

@_t.overload
def jacfwd(func: _c.Callable[_t.Concatenate[_A, _P], _Tensor], argnums: _t.Literal[0] = 0, has_aux: _t.Literal[False] = False, *,
           chunk_size: _b.int | None = None, randomness: _b.str = "error") -> _Transformed[_t.Concatenate[_A, _P], _A]: ...
@_t.overload
def jacfwd(func: _c.Callable[_P, _t.Any], argnums: _Numbers = 0, has_aux: _b.bool = False, *,
           chunk_size: _b.int | None = None, randomness: _b.str = "error") -> _Transformed[_P, _t.Any]: ...

# Any: of a tensor it is a tensor, of a dictionary a dictionary of dictionaries, and lambdas do not say which.
def hessian(func: _c.Callable[_P, _t.Any], argnums: _Numbers = 0) -> _Transformed[_P, _t.Any]: ...

@_t.overload
def jvp(func: _c.Callable[..., _R], primals: _b.tuple[_t.Any, ...], tangents: _b.tuple[_t.Any, ...], *, strict: _b.bool = False,
        has_aux: _t.Literal[False] = False) -> _b.tuple[_R, _R]: ...
@_t.overload
def jvp(func: _c.Callable[..., _b.tuple[_R, _S]], primals: _b.tuple[_t.Any, ...], tangents: _b.tuple[_t.Any, ...], *,
        strict: _b.bool = False, has_aux: _t.Literal[True]) -> _b.tuple[_R, _R, _S]: ...

@_t.overload
def vjp(func: _c.Callable[..., _R], *primals: _t.Any,
        has_aux: _t.Literal[False] = False) -> _b.tuple[_R, _c.Callable[..., _b.tuple[_t.Any, ...]]]: ...
@_t.overload
def vjp(func: _c.Callable[..., _b.tuple[_R, _S]], *primals: _t.Any,
        has_aux: _t.Literal[True]) -> _b.tuple[_R, _c.Callable[..., _b.tuple[_t.Any, ...]], _S]: ...

def linearize(func: _c.Callable[..., _R], *primals: _t.Any) -> _b.tuple[_R, _c.Callable[..., _R]]: ...

def functional_call(module: _c.Callable[..., _R], parameter_and_buffer_dicts: _t.Any, args: _t.Any = None,
                    kwargs: _b.dict[_b.str, _t.Any] | None = None, *, tie_weights: _b.bool = True,
                    strict: _b.bool = False) -> _R: ...

def stack_module_state(models: _t.Any) -> _b.tuple[_b.dict[_b.str, _Tensor], _b.dict[_b.str, _Tensor]]: ...
