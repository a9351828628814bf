_R = _t.TypeVar("_R")
def checkpoint(function: _c.Callable[..., _R], *args: _t.Any, use_reentrant: _b.bool | None = None, context_fn: _c.Callable[[], _t.Any] = ...,
               determinism_check: _b.str = "default", debug: _b.bool = False, early_stop: _b.bool = True,
               preserve_rng_state: _b.bool = True, **kwargs: _t.Any) -> _R: ...
