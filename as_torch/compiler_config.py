"""`torch._dynamo.config` and `torch._inductor.config`: switches of PyTorch's compiler. Any can be set.

`error_on_recompile` works as in PyTorch. Errors at a limit of recompilations are refused, as there is no limit of a number. All
others are ignored: they choose between ways to compile that give the same results.
"""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from ..ir.blocks import block
from ..ir.errors import ArgumentError
from ..jit.errors.recompile_limit import NO_SECOND

accumulated_cache_size_limit = accumulated_recompile_limit = 256
cache_size_limit = recompile_limit = 8
capture_dynamic_output_shape_ops = capture_scalar_outputs = suppress_errors = verbose = False
allow_unspec_int_on_nn_module = compiled_autograd = error_on_recompile = fail_on_recompile_limit_hit = False
fail_on_cache_limit_hit = force_nn_module_property_static_shapes = specialize_float = specialize_int = False
allow_rnn = capture_func_transforms = guard_nn_modules = optimize_ddp = skip_nnmodule_hook_guards = True
assume_static_by_default = automatic_dynamic_shapes = dynamic_shapes = inline_inbuilt_nn_modules = True
force_parameter_static_shapes = enable_trace_contextlib = enable_cpp_guard_manager = True
coordinate_descent_tuning = epilogue_fusion = freezing = fx_graph_cache = max_autotune = False
coordinate_descent_check_all_directions = force_fuse_int_mm_with_mul = max_autotune_gemm = shape_padding = False
conv_1x1_as_mm = debug = use_mixed_mm = force_same_precision = fallback_random = benchmark_kernel = False
compile_threads, log_level, max_autotune_gemm_backends = 1, 30, ""
reorderable_logging_functions: set = set()
cpp, cuda, trace, triton = SimpleNamespace(), SimpleNamespace(), SimpleNamespace(), SimpleNamespace()

__all__ = ["patch"]

_MISSING = object()


class _Switches(ModuleType):
    """This module: assigned switches with an effect have it."""

    def __setattr__(self, name, value):
        if name in ("fail_on_recompile_limit_hit", "fail_on_cache_limit_hit") and value:
            raise ArgumentError(f"config.{name}: recordings are limited by what they cost, not by a number; set "
                                "error_on_recompile, or read stats()['compiles'] of the traced function")
        if name == "error_on_recompile":
            NO_SECOND.set(bool(value))
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Switches


def _place(path: str) -> tuple[Any, str]:
    """Return the owner and the last part of a dotted name."""
    *folders, name = path.split(".")
    return (globals()[folders[0]] if folders else sys.modules[__name__]), name


@block
def patch(changes: dict | str | None = None, value: Any = None, **more: Any):
    """Set switches inside: `patch(name=value)`, `patch({"triton.name": value})` or `patch("name", value)`; also a decorator."""
    given = {changes: value} if isinstance(changes, str) else dict(changes or {})
    places = [_place(path) for path in given | more]
    before = [(owner, name, getattr(owner, name, _MISSING)) for owner, name in places]

    def begin():
        for (owner, name), new in zip(places, (given | more).values()):
            setattr(owner, name, new)

    def put_back():
        for owner, name, old in before:
            if old is not _MISSING:
                setattr(owner, name, old)
            elif hasattr(owner, name):
                delattr(owner, name)

    return begin, put_back
