"""The table of operators: each cell comes from the record, from tables of backends, or from a run of its test samples.

CPU, GPU      the kernel of an eager call
gradient      the record has a rule
second        the gradients of the test samples have gradients in turn
vmap          the record has a rule for batches, or the lowering implies one
trace         the samples as graphs of one node, through the passes of traces: one native call, or NumPy between native calls
export        a model file runs either, a C library native calls alone
ONNX          the operator, or each one of its decomposed body, has a writer
dtypes        those in which the tests run the samples
"""

import importlib
import re
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np

import ingot
from ingot.ir import dtype as dt
from ingot.ir.errors import IngotError
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.batch_rules import way_of
from ingot.ir.opdef.op import OPS, Composite, Op
from ingot.jit.onnx.writers import FAMILIES as ONNX_FAMILIES
from ingot.jit.onnx.writers.graph_writer import EMITTERS
from ingot.passes.rewrite import pass_manager
from ingot.passes.simplify.decompose import decompose
from ingot.runtime import cpu
from ingot.runtime.core.tensor import wrap
from ingot.runtime.cpu.graph import eager as cpu_eager
from ingot.runtime.cpu.graph import program as cpu_program
from ingot.runtime.cuda.backend import FAMILIES as CUDA_FAMILIES

from .docstrings import inline
from .reference import title

ROOT = Path(ingot.__file__).parent
COLUMNS = ("operator", "CPU", "GPU", "gradient", "second", "vmap", "trace", "export", "ONNX", "dtypes")
_MOST_SAMPLES = 6       # of one operator, which are compiled or differentiated: all take two minutes
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_INTS = ("uint8", "int8", "int16", "int32", "int64")
_KINDS = {"float": _FLOATS, "int": _INTS, "any": (*_FLOATS, *_INTS, "bool"), "number": (*_FLOATS, *_INTS),
          "integral": (*_INTS, "bool")}
_ORDER = ("bool", *_INTS, *_FLOATS, "complex64", "complex128")
_SHORT = {"bool": "b", **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)}, **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
          "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}


@cache
def samples():
    """Return the table of samples of the tests: a function from the name of an operator to its samples."""
    if str(ROOT / "tests") not in sys.path:
        sys.path.append(str(ROOT / "tests"))
    importlib.import_module("samples.table")
    return importlib.import_module("samples")


def operators() -> list:
    """Return the operators of programs, sorted by name; not those that passes alone create."""
    names = samples().SAMPLES
    return [OPS[name] for name in sorted(names) if ".packed." not in module_of(OPS[name])]


def module_of(op: Op) -> str:
    """Return the module of an operator's shape rule below `ir.ops`."""
    rule = op.infer
    while hasattr(rule, "__wrapped__"):
        rule = rule.__wrapped__
    return f".{rule.__module__.partition('ir.ops.')[2]}."


def on_cpu(op: Op) -> str:
    """Return how an eager call runs on the CPU."""
    return "view" if op.is_view else "NumPy" if cpu_eager.kernel_for(op) is op.ref else "kernel"


@cache
def _on_host() -> frozenset:
    """Return the operators that docs/gpu.md lists as computed on the host; the tests of the GPU check that list."""
    return frozenset(re.findall(r"`(\w+)`", (ROOT / "docs/gpu.md").read_text(encoding="utf-8").split("| family |")[1]))


_LAUNCHED = frozenset(op for family in CUDA_FAMILIES for op in family.OPERATORS)


def on_gpu(op: Op) -> str:
    """Return how an eager call runs on a GPU."""
    if op.is_view:
        return "view"
    if op.name in _on_host():
        return "kernel, host" if op in _LAUNCHED else "host"
    return "kernel"


def in_vmap(op: Op) -> str:
    """Return how vmap runs an operator."""
    if way_of(op) is not None:
        return "batch"
    return "by body" if isinstance(op.lower, Composite) else "by sample"


def _graph(op: Op, sample):
    """Return a graph of one node for the float32 form of a sample."""
    b = Builder(op.name)
    operands = []
    for a in sample.cast(dt.float32):
        operands.append(b.input(f"x{len(b.inputs)}", Aval(a.shape, dt.from_numpy(a.dtype))) if isinstance(a, np.ndarray) else a)
    result = b.call(op, *operands, **sample.params)
    return b.finish(list(result) if isinstance(result, tuple) else [result])


def in_traces(op: Op, rows) -> str:
    """Return how traces run an operator on the samples."""
    answers = set()
    for sample in rows[:_MOST_SAMPLES]:
        try:
            graph = _graph(op, sample)
        except (IngotError, TypeError):
            continue            # no operand that a graph may take, as numbers alone
        steps = cpu_program.traced(pass_manager.run(graph, cpu.backend.PASSES)).steps
        calls_numpy = any(type(s) is cpu_program.CalledNode and not s.node.op.is_view for s in steps)
        answers.add("NumPy" if calls_numpy else "native")
    return ", ".join(sorted(answers, reverse=True))


def in_onnx(op: Op, rows) -> str:
    """Return whether ONNX can say an operator: itself, or its decomposed body."""
    assert ONNX_FAMILIES
    if op in EMITTERS:
        return "yes" if EMITTERS[op].when is None or isinstance(op.lower, Composite) else "some forms"
    for sample in rows if isinstance(op.lower, Composite) else ():
        try:
            graph = decompose(_graph(op, sample), frozenset(EMITTERS))
        except (IngotError, TypeError):
            continue
        return "by body" if all(node.op in EMITTERS for node in graph.nodes) else "no"
    return "no"


def second_derivative(op: Op, rows) -> str:
    """Return whether gradients of the samples have gradients in turn."""
    answers = set()
    for sample in [sample for sample in rows if sample.grad][:_MOST_SAMPLES]:
        answers.add(_second(op, sample))
    answers.discard("")
    return "yes" if "yes" in answers else "zero" if answers else ""


def _second(op, sample) -> str:
    tensors, args = [], []
    for a in sample.args:
        if isinstance(a, np.ndarray):
            a = wrap(a.copy())
            if a.dtype.is_inexact:
                tensors.append(a.requires_grad_())
        args.append(a)
    outs = op(*args, **sample.params)
    outs = [o for o in (outs if isinstance(outs, tuple) else (outs,)) if o.requires_grad and o.dtype.is_inexact]
    losses = [(o.abs() if o.dtype.is_complex else o).square().sum() for o in outs]
    if not losses or not tensors:
        return ""
    grads = ingot.autograd.grad(sum(losses[1:], losses[0]), tensors, create_graph=True, allow_unused=True)
    return "yes" if any(g is not None and g.requires_grad for g in grads) else "zero"


def dtypes_of(rows) -> str:
    """Return the dtypes in which the tests run the samples."""
    names: set = set()
    for sample in rows:
        names |= {*_KINDS.get(sample.dtypes, sample.dtypes if isinstance(sample.dtypes, tuple) else ())}
        names |= {a.dtype.name for a in sample.args if isinstance(a, np.ndarray) and a.dtype.kind == "c"}
    return " ".join(_SHORT.get(n, n) for n in sorted(names, key=lambda n: _ORDER.index(n) if n in _ORDER else -1))


def row(op: Op) -> tuple:
    """Return the cells of an operator, in the order of `COLUMNS`."""
    rows = [s for s in samples().rows(op.name) if all(a.size for a in s.args if isinstance(a, np.ndarray))]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        traced = in_traces(op, rows)
        second = second_derivative(op, rows) if op.differentiable else "none"
        return (op.name, on_cpu(op), on_gpu(op), "yes" if op.differentiable else "none", second, in_vmap(op), traced,
                "file, C" if traced == "native" else "file, some C" if "native" in traced else "file", in_onnx(op, rows),
                dtypes_of(rows))


LEGEND = """
Each cell is computed when the manual is built: from the operator's record, tables of backends, and its samples in the tests.

- CPU: an eager call runs a compiled `kernel`, `NumPy`, or nothing (`view`: the same memory, looked at in another way).
- GPU: `host` means that arguments are copied to the CPU; `kernel, host` that some forms of the operator are.
- second: the second derivative. `zero` means that the gradient does not depend on the operands.
- vmap: `batch` has a rule, `by body` runs the operators of its body, `by sample` runs once for each sample.
- trace: `native` is part of the one call that runs a traced function; `NumPy` runs between native calls.
- export: `file` is a model file of `jit.export`, `C` a C library.
- ONNX: `yes` has a writer, `some forms` has one for some parameters, `by body` is written as other operators.
- dtypes: those in which the tests run the operator, short: `f32` is float32, `i64` int64, `b` bool.
"""


def page() -> str:
    """Return the page with the table."""
    out = [":orphan:", "", title("Coverage of operators")]
    for line in LEGEND.strip().splitlines():
        out.append(f"- {inline(line[2:])}" if line.startswith("- ") else f"{inline(line)}\n" if line else "")
    out += ["", ".. list-table::", "   :header-rows: 1", "   :class: coverage", ""]
    for cells in [COLUMNS, *map(row, operators())]:
        out += [f"   {'*' if i == 0 else ' '} - {inline(cell) or '..'}" for i, cell in enumerate(cells)]
    return "\n".join([*out, ""])
