"""`torch._dynamo`: PyTorch's compiler front end, answered by `jit.trace`. `private_names.py` adds functions that do nothing."""

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..ir.lazy import lazy
from ..jit.tracing.compiler import allow_in_graph, compile, disable, is_compiling, list_backends, reset, set_stance
from ..jit.tracing.trace import Traced
from ..jit.tracing.traced_module import TracedModule as OptimizedModule
from . import compiler_config as config

exported_program = lazy(__package__, "..jit.exporting.program.exported_program")

__all__ = ["ExplainOutput", "ExportResult", "OptimizedModule", "TransformGetItemToIndex", "allow_in_graph",
           "assume_constant_result", "config", "disable", "disallow_in_graph", "error_on_graph_break", "explain", "export",
           "forbid_in_graph", "is_compile_supported", "is_compiling", "is_dynamo_supported", "list_backends",
           "nonstrict_trace", "optimize", "optimize_assert", "patch_dynamo_config", "reset", "set_stance"]

patch_dynamo_config = config.patch


@dataclass
class ExplainOutput:
    """The result of `explain`: graphs as IR, the reason of each recording, and `text`, which says what runs."""

    graphs: list
    graph_count: int
    graph_break_count: int
    break_reasons: list
    op_count: int
    ops_per_graph: list
    out_guards: list
    compile_times: str
    text: str

    def __str__(self):
        return (f"Graph Count: {self.graph_count}\nGraph Break Count: {self.graph_break_count}\nOp Count: {self.op_count}\n"
                f"Recorded:\n{chr(10).join([f'  {r}' for r in self.break_reasons])}\n{self.text}")


def explain(f, *extra_args, **extra_kwargs):
    """Explain the trace of a function or module: `explain(f)(*args)` calls it twice and returns an `ExplainOutput`. No
    operation breaks a graph for lack of support; a graph ends where Python reads a value."""
    def inner(*args, **kwargs) -> ExplainOutput:
        traced = Traced(f)
        for _ in range(2):
            traced(*args, **kwargs)
        graphs = [stages["recorded"] for stages in traced.graphs.values()]
        stats, ops = traced.stats(), [[node.op.name for node in graph.nodes] for graph in graphs]
        return ExplainOutput(graphs, len(graphs), max(0, len(graphs) - 1), stats["misses"], sum(map(len, ops)), ops, [],
                             f"{stats['compile_seconds']:.3f} s", traced.explain())

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


class ExportResult(NamedTuple):
    """The result of `export`: a module of graphs, and its conditions on named sizes."""

    graph_module: Any
    guards: Any


def export(f, *extra_args, aten_graph: bool = False, dynamic_shapes=None, tracing_mode: str = "symbolic",
           same_signature: bool = True, decomposition_table=None, pre_dispatch: bool = False, **extra_kwargs):
    """Export a function or module: `export(f)(*args)` returns an `ExportResult` whose `graph_module` has the signature of `f`.
    The rules of `ingot.export.export` hold. Of the options, only `dynamic_shapes` has an effect."""
    def inner(*args, **kwargs) -> ExportResult:
        program = exported_program.export(f, args, kwargs, dynamic_shapes=dynamic_shapes)
        return ExportResult(exported_program.unflatten(program), set(program._model.variants[0].conditions))

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def assume_constant_result(fn):
    """Return the function: its reads are guarded, so its result is constant while they hold."""
    return fn


disallow_in_graph = forbid_in_graph = nonstrict_trace = assume_constant_result


def optimize(backend="inductor", *, nopython=False, disable=False, dynamic=None, **hooks: Any):
    """Return a decorator that compiles functions and modules, as `ingot.compile` does."""
    def make(fn):
        return compile(fn, fullgraph=nopython, dynamic=dynamic, backend=backend, disable=disable)

    return make


def optimize_assert(backend="inductor", **options: Any):
    """Return a decorator that compiles functions and modules, as `ingot.compile` does."""
    return optimize(backend, nopython=True, **options)


def is_dynamo_supported() -> bool:
    """Return True: `compile` works wherever ingot does."""
    return True


def is_compile_supported(device_type: str) -> bool:
    """Return whether ingot compiles code for a kind of device."""
    return device_type in ("cpu", "cuda")


@contextmanager
def error_on_graph_break(error_on_graph_break: bool = True):
    """Do nothing: a recording goes on through whatever Python does."""
    yield


class TransformGetItemToIndex(nullcontext):
    """A context without effect: inside vmap, tensors index tensors as elsewhere."""
