_T = _t.TypeVar("_T")

class Optimizer:
    param_groups: _b.list[_b.dict[_b.str, _t.Any]]
    state: _b.dict[_t.Any, _t.Any]
    defaults: _b.dict[_b.str, _t.Any]
    @_t.overload
    def step(self, closure: None = None) -> None: ...
    @_t.overload
    def step(self, closure: _c.Callable[[], _T]) -> _T: ...
    def state_dict(self) -> _b.dict[_b.str, _t.Any]: ...
    def load_state_dict(self, state_dict: _c.Mapping[_b.str, _t.Any]) -> None: ...

class LBFGS:
    def step(self, closure: _c.Callable[[], _T]) -> _T: ...  # type: ignore[override]
