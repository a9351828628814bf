"""The CPU as a backend: the functions of `HostBackend` (runtime/core/backend.py), found in their rooms when first asked for."""

from ...ir.lazy import lazy

_alloc = lazy(__package__, ".memory.alloc")
_pool = lazy(__package__, ".calls.pool")
_copies = lazy(__package__, ".loops.copies")
_evenly_spaced = lazy(__package__, ".loops.evenly_spaced")
_kernels = lazy(__package__, ".loops.kernels")
_composites = lazy(__package__, ".graph.composites")
_eager = lazy(__package__, ".graph.eager")
_incremental_bind = lazy(__package__, ".graph.incremental_bind")
_inplace = lazy(__package__, ".graph.inplace_kernels")
_machine_passes = lazy(__package__, ".graph.machine_passes")
_program = lazy(__package__, ".graph.program")
_stepwise = lazy(__package__, ".graph.stepwise")
_timed = lazy(__package__, ".graph.timed")

_HOMES = {
    "SMALL_BYTES": _alloc, "empty": _alloc, "get_num_threads": _pool, "set_num_threads": _pool,
    "dense": _copies, "in_rows": _copies, "evenly": _evenly_spaced, "binary": _kernels, "elementwise": _kernels,
    "Whole": _composites, "drawn_by": _composites, "joint_rule": _composites, "rules_of": _composites,
    "kernel_for": _eager, "writer_for": _inplace, "CompiledGraph": _program, "run_timed": _timed,
    "PASSES": _machine_passes, "traced": _program, "sized": _incremental_bind, "Stepwise": _stepwise,
}
hoists_weights = True


def __getattr__(name):
    """Find a function of the backend."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_HOMES[name], name)
