"""Work of compiled steps in numbers: the description that explanations, profiles and pages share."""

import math
from dataclasses import dataclass, field
from typing import Any

from ...ir.draw.tables import COLUMNS, clipped
from ...ir.graph.graph import Value
from ...ir.graph.printer import format_line
from ...ir.opdef.op import operations
from ...ir.source_location import module_of
from ...passes.schedule.batched_launches import EndStep, ManyStep
from ...passes.schedule.device_plan import KernelStep, ProductStep
from ...passes.schedule.plan_steps import Fused, Product, Run


@dataclass(frozen=True, eq=False, repr=False)
class Work:
    """One step of a plan.

    step        Fused, Product or Call, or one for a device (`passes/schedule/device_plan.py`)
    kind        "kernel", "product" (of matrices, with what follows it), "native" (an operator with native code of its own) or
                "call" (one that Python calls)
    name        of the kernel, or of the operator
    nodes       the operations that it does
    over        its iteration space, or the types of its results
    read, written  bytes, each element once
    flops       floating point operations
    refused     joins that were not made, and why
    lines       (file, number) of the user's lines
    modules     the modules that it belongs to
    """

    step: Any
    kind: str
    name: str
    nodes: tuple
    over: str
    read: int
    written: int
    flops: int
    refused: tuple = ()
    lines: tuple = field(init=False)
    modules: tuple = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "lines", tuple(dict.fromkeys([n.line for n in self.nodes if n.line])))
        modules = dict.fromkeys([module_of(n.line) for n in self.nodes])
        object.__setattr__(self, "modules", tuple([m for m in modules if m]))

    def __repr__(self):
        name = f"{self.kind} {self.name}" if self.kind == "kernel" else self.kind
        return f"<{clipped(f'{name}: {self.ops} over {self.over}', COLUMNS - 2)}>"

    @property
    def bytes_moved(self) -> int:
        return self.read + self.written

    @property
    def text(self) -> str:
        """The user's lines, and the modules."""
        inside = f" in {', '.join(self.modules)}" if self.modules else ""
        return ", ".join(map(format_line, self.lines)) + inside

    @property
    def ops(self) -> str:
        return " ".join([n.op.name for n in self.nodes])


def works_of(plan) -> list:
    """Return the work of a plan, in order, without steps that only make views."""
    found = []
    for step in plan.steps:
        if type(step) is Run or type(step) is ManyStep:
            found += [work_of(s, type(step) is Run) for s in step.steps if type(s) is not EndStep]
        elif type(step) is EndStep:
            continue                # (a part of a kernel that is there already)
        elif type(step) is KernelStep or not step.node.op.is_view:
            found.append(work_of(step, False))
    return found


def work_of(step, is_native: bool) -> Work:
    """Return the work of one step."""
    if type(step) in (Fused, KernelStep):
        return _kernel(step)
    return _product(step) if type(step) in (Product, ProductStep) else _alone(step, "native" if is_native else "call")


def _kernel(step):
    group, body = step.group, step.group.body
    read = sum(math.prod([n for n, s in zip(p.shape, p.strides) if s]) * v.dtype.itemsize for v, p in body.loads)
    over = f"[{', '.join(map(str, group.shape))}]" + (f" reducing {group.reduced}" if group.reduced else "")
    return Work(step, "kernel", step.lowered.kernel.name, tuple(group.nodes), over, read, _bytes(body.results),
                step.lowered.flops, tuple(dict.fromkeys(group.refused)))


def _product(step):
    e = step.epilogue
    nodes = e.nodes
    inside = {v for n in nodes for v in n.outputs}
    read = dict.fromkeys([x for n in nodes for x in n.inputs if type(x) is Value and x not in inside])
    flops = sum(operations(n.op, n.inputs, n.outputs, n.params) for n in nodes)
    return Work(step, "product", e.node.op.name, nodes, repr(e.result.aval), _bytes(read), _bytes((e.result, *e.others)), flops)


def _alone(step, kind):
    node = step.node
    read = dict.fromkeys([x for x in node.inputs if type(x) is Value])
    over = ", ".join([repr(v.aval) for v in node.outputs])
    flops = operations(node.op, node.inputs, node.outputs, node.params)
    return Work(step, kind, node.op.name, (node,), over, _bytes(read), _bytes(node.outputs), flops, tuple(step.refused))


def _bytes(values):
    return sum(v.aval.size * v.dtype.itemsize for v in values)
