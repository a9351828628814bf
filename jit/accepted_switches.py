"""`ingot._dynamo.config` and `ingot._inductor.config`: switches of PyTorch's compiler, which programs set. Any may be set; none
changes what ingot does."""

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

accumulated_cache_size_limit = 256
cache_size_limit = recompile_limit = 8
capture_dynamic_output_shape_ops = capture_scalar_outputs = suppress_errors = verbose = False
coordinate_descent_tuning = epilogue_fusion = freezing = fx_graph_cache = max_autotune = False
cpp, cuda, trace, triton = SimpleNamespace(), SimpleNamespace(), SimpleNamespace(), SimpleNamespace()

__all__ = ["patch"]

_MISSING = object()


def _place(path: str) -> tuple[Any, str]:
    """The namespace that a dotted name leads to, and the name there."""
    *folders, name = path.split(".")
    return (globals() if not folders else vars(globals()[folders[0]])), name


@contextmanager
def patch(changes: dict | str | None = None, value: Any = None, **more: Any):
    """Sets switches inside: `patch(name=value)`, `patch({"triton.name": value})`, `patch("name", value)`; or a decorator."""
    given = {changes: value} if isinstance(changes, str) else dict(changes or {})
    before = []
    try:
        for path, new in (given | more).items():
            space, name = _place(path)
            before.append((space, name, space.get(name, _MISSING)))
            space[name] = new
        yield
    finally:
        for space, name, old in reversed(before):
            if old is _MISSING:
                del space[name]
            else:
                space[name] = old
