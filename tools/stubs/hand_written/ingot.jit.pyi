import contextlib as _contextlib
from ingot.nn import Module as _Module

_P = _t.ParamSpec("_P")
_Q = _t.ParamSpec("_Q")
_R = _t.TypeVar("_R", covariant=True)
_T = _t.TypeVar("_T")
_Compiled = _t.TypeVar("_Compiled", bound=_c.Callable[..., _t.Any])
_Whole = _t.TypeVar("_Whole", bound=_Module | _b.type[_t.Any])

class _Compiler(_t.Protocol):
    def __call__(self, model: _Compiled, /) -> _Compiled: ...

class _Tracer(_t.Protocol):
    @_t.overload
    def __call__(self, func: _Whole, /) -> _Whole: ...  # type: ignore[overload-overlap]
    @_t.overload
    def __call__(self, func: _c.Callable[_P, _R], /) -> Traced[_P, _R]: ...

class Traced(_t.Generic[_P, _R]):
    def __init__(self, fn: _c.Callable[_P, _R], dynamic: _t.Any = None, fullgraph: _b.bool = False, run: _t.Any = None,
                 refuse: _b.bool = True) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @_t.overload
    def __get__(self, instance: None, owner: _t.Any = None) -> _t.Self: ...
    @_t.overload
    def __get__(self: Traced[_t.Concatenate[_T, _Q], _R], instance: _T, owner: _t.Any = None) -> Traced[_Q, _R]: ...
    fn: _c.Callable[_P, _R]
    __name__: _b.str
    __qualname__: _b.str
    __wrapped__: _c.Callable[_P, _R]
    offers: _b.tuple[_b.str, ...]
    run: _c.Callable[_P, _R]
    def stats(self) -> _b.dict[_b.str, _t.Any]: ...
    def explain(self, profile: _b.bool = False) -> _b.str: ...
    @_b.property
    def graphs(self) -> _b.dict[_b.str, _t.Any]: ...
    @_b.property
    def kernels(self) -> _b.dict[_b.str, _t.Any]: ...
    example_inputs: _t.Any
    def save(self, f: _t.Any, _extra_files: _t.Any = None) -> None: ...

_Dynamic: _t.TypeAlias = _b.bool | _c.Mapping[_t.Any, _t.Any] | None

@_t.overload
def trace(func: _Whole, example_inputs: _t.Any = None,  # type: ignore[overload-overlap]
          optimize: _t.Any = None, check_trace: _b.bool = True,
          check_inputs: _t.Any = None, check_tolerance: _b.float = 1e-5, strict: _b.bool = True, *,
          example_kwarg_inputs: _b.dict[_b.str, _t.Any] | None = None, dynamic: _Dynamic = None,
          fullgraph: _b.bool = False, refuse: _b.bool = True) -> _Whole: ...
@_t.overload
def trace(func: _c.Callable[_P, _R], example_inputs: _t.Any = None, optimize: _t.Any = None, check_trace: _b.bool = True,
          check_inputs: _t.Any = None, check_tolerance: _b.float = 1e-5, strict: _b.bool = True, *,
          example_kwarg_inputs: _b.dict[_b.str, _t.Any] | None = None, dynamic: _Dynamic = None,
          fullgraph: _b.bool = False, refuse: _b.bool = True) -> Traced[_P, _R]: ...
@_t.overload
def trace(func: None = None, *, dynamic: _Dynamic = None, fullgraph: _b.bool = False, refuse: _b.bool = True) -> _Tracer: ...

@_t.overload
def script(obj: _Compiled, optimize: _t.Any = None, _frames_up: _b.int = 0, _rcb: _t.Any = None,
           example_inputs: _t.Any = None) -> _Compiled: ...
@_t.overload
def script(obj: None = None, optimize: _t.Any = None, _frames_up: _b.int = 0, _rcb: _t.Any = None,
           example_inputs: _t.Any = None) -> _Compiler: ...
def ignore(drop: _Compiled, **kwargs: _t.Any) -> _Compiled: ...
def unused(fn: _Compiled) -> _Compiled: ...
def host(fn: _Compiled, *args: _t.Any, **kwargs: _t.Any) -> _Compiled: ...
def profile() -> _contextlib._GeneratorContextManager[Profile]: ...
