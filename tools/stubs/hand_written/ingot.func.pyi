_P = _t.ParamSpec("_P")
_R = _t.TypeVar("_R")
_A = _t.TypeVar("_A")

def vmap(func: _c.Callable[_P, _R], in_dims: _t.Any = 0, out_dims: _t.Any = 0, randomness: _b.str = "error", *,
         chunk_size: _b.int | None = None) -> _c.Callable[_P, _R]: ...

@_t.overload
def grad(func: _c.Callable[_t.Concatenate[_A, _P], _t.Any], argnums: _t.Literal[0] = 0,
         has_aux: _t.Literal[False] = False) -> _c.Callable[_t.Concatenate[_A, _P], _A]: ...
@_t.overload
def grad(func: _c.Callable[_P, _t.Any], argnums: _b.int | _c.Sequence[_b.int] = 0, has_aux: _b.bool = False) -> _c.Callable[_P, _t.Any]: ...

@_t.overload
def grad_and_value(func: _c.Callable[_t.Concatenate[_A, _P], _R], argnums: _t.Literal[0] = 0,
                   has_aux: _t.Literal[False] = False) -> _c.Callable[_t.Concatenate[_A, _P], _b.tuple[_A, _R]]: ...
@_t.overload
def grad_and_value(func: _c.Callable[_P, _t.Any], argnums: _b.int | _c.Sequence[_b.int] = 0,
                   has_aux: _b.bool = False) -> _c.Callable[_P, _b.tuple[_t.Any, _t.Any]]: ...
