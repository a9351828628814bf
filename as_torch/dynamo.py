"""`ingot._dynamo`: names of PyTorch's compiler that libraries look at, to ask whether something is compiled, and what it is."""

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..ir.lazy import lazy
from ..jit.tracing.compiler import Compiled as OptimizedModule
from ..jit.tracing.compiler import allow_in_graph, compile, disable, is_compiling, list_backends, reset, set_stance
from ..jit.tracing.trace import Traced
from . import compiler_config as config

exported_program = lazy(__package__, "..jit.exporting.program.exported_program")

__all__ = ["ExplainOutput", "ExportResult", "OptimizedModule", "TransformGetItemToIndex", "allow_in_graph",
           "assume_constant_result", "config", "disable", "disallow_in_graph", "error_on_graph_break", "explain", "export",
           "forbid_in_graph", "graph_break", "is_compile_supported", "is_compiling", "is_dynamo_supported", "list_backends",
           "mark_dynamic", "mark_static", "mark_static_address", "mark_unbacked", "maybe_mark_dynamic", "nonstrict_trace",
           "optimize", "optimize_assert", "patch_dynamo_config", "reset", "set_stance"]

patch_dynamo_config = config.patch


@dataclass
class ExplainOutput:
    """What `explain` found: `graphs` that run without Python between them, as IR, why each was recorded, and `text`, which says
    what runs."""

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
    """What a function, or module, is when it is traced: explain(f)(*args) calls a trace of it twice and gives an
    `ExplainOutput`. There are no breaks for lack of support; a value that Python reads ends a graph."""
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
    """What `export` gives: a module of graphs, and the conditions on named sizes that it holds for."""

    graph_module: Any
    guards: Any


def export(f, *extra_args, aten_graph: bool = False, dynamic_shapes=None, tracing_mode: str = "symbolic",
           same_signature: bool = True, decomposition_table=None, pre_dispatch: bool = False, **extra_kwargs):
    """A function, or module, as a module of graphs: export(f)(*args) gives an `ExportResult`, whose `graph_module` takes what
    the function takes. See `ingot.export.export`, whose rules hold; the options but `dynamic_shapes` change nothing."""
    def inner(*args, **kwargs) -> ExportResult:
        program = exported_program.export(f, args, kwargs, dynamic_shapes=dynamic_shapes)
        return ExportResult(exported_program.unflatten(program), set(program._model.variants[0].conditions))

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def assume_constant_result(fn):
    """The function itself: what it reads is guarded, so its result is constant for as long as it may be."""
    return fn


disallow_in_graph = forbid_in_graph = nonstrict_trace = assume_constant_result


def optimize(backend="inductor", *, nopython=False, disable=False, dynamic=None, **hooks: Any):
    """What makes traced functions and modules, as `compile` does."""
    def make(fn):
        return compile(fn, fullgraph=nopython, dynamic=dynamic, backend=backend, disable=disable)

    return make


def optimize_assert(backend="inductor", **options: Any):
    """What makes traced functions and modules, as `compile` does."""
    return optimize(backend, nopython=True, **options)


def is_dynamo_supported() -> bool:
    """True: `compile` works wherever ingot does."""
    return True


def is_compile_supported(device_type: str) -> bool:
    """Whether `compile` makes something faster on devices of a type: on those that ingot computes on."""
    return device_type in ("cpu", "cuda")


@contextmanager
def error_on_graph_break(error_on_graph_break: bool = True):
    """Nothing: there are no breaks, a recording goes on through whatever Python does."""
    yield


class TransformGetItemToIndex(nullcontext):
    """Nothing: inside of vmap, too, tensors are indexed by tensors as they are."""


def graph_break(msg: str = ""):
    """Nothing: a recording goes on through whatever Python does."""


def mark_dynamic(t, index, **options):
    """Nothing: sizes become symbols when a second one comes."""


def mark_static(t, index=None):
    """Nothing: a size is a number until a second one comes."""


def mark_static_address(t, guard: bool = True):
    """Nothing: what a recording captures keeps its memory, and is guarded."""


maybe_mark_dynamic = mark_unbacked = mark_dynamic
