"""Reports of a traced function: graphs after each pass, kernels, and what was fused or not, and why."""

import itertools
import math
import re
import sys
from pathlib import Path

from ...ir import config
from ...ir.graph.printer import format_line, format_node
from ...ir.lazy import lazy
from ...passes.schedule.batched_launches import EndStep, ManyStep
from ...passes.schedule.plan_steps import Call, Fused, Product, Run
from .shown import Graphs, Kernel, Kernels, Stages
from .work import work_of

program = lazy(__package__, "...runtime.cpu.graph.program")
prepared_steps = lazy(__package__, "...runtime.cpu.graph.prepared_steps")
compiler = lazy(__package__, "...runtime.cpu.compiler.compile")
conv_algorithm = lazy(__package__, "...runtime.cpu.conv.conv_algorithm")
_dumps = itertools.count()
_REASONS = 8        # that an explanation shows


def jobs_of(entries) -> list:
    """Return all jobs of recorded paths, in order: those of the segments, and of backward where results require grad."""
    found: dict = {}
    for entry in entries:
        stack = [entry.tree.first]
        while stack:
            here = stack.pop()
            if here.work.job.wanted:
                found[here.work.job] = None
            differential = None if here.finish is None else here.finish.differential
            if differential is not None:
                found.update(dict.fromkeys(differential.jobs.made()))
            stack.extend(reversed(here.answers.values()))
    return list(found)


def graphs(jobs) -> Graphs:
    """Return {name of the job: {"recorded" or name of a pass: the graph after it}}. Passes that ran twice have a number."""
    found = Graphs()
    for job in jobs:
        job.compile()
        stages = found[_unique(job.region.name, found)] = Stages()
        for step in job.steps:
            if step.changed:
                stages[_unique(step.name, stages)] = step.graph
    return found


def _unique(name, taken):
    if name not in taken:
        return name
    return next(f"{name}_{n}" for n in itertools.count(2) if f"{name}_{n}" not in taken)


def kernels(jobs) -> Kernels:
    """Return {kernel: (what it computes, its code)}: text of a fused kernel, or the operation of another one; LLVM IR for this
    machine."""
    found = Kernels()
    for job in jobs:
        found.update(kernels_of(job.compile()))
    return found


def kernels_of(compiled) -> dict:
    """Return the kernels of one compiled graph."""
    found: dict = {}
    for step in [s for run in compiled.plan.steps if type(run) is Run for s in run.steps]:
        if type(step) is Fused:
            w, text = work_of(step, True), str(program.kernel_text(step.lowered))
            found[w.name] = Kernel(str(step.lowered.kernel), text, f"{w.ops} over {w.over}")
        else:
            node = format_node(step.node)
            found.update({name: Kernel(node, compiler.text_at(address), node) for name, address in _routines(step)})
    return found


def _routines(step) -> list:
    """Return (name, address) of the native functions that a product or an operator with native code runs, in order."""
    prepared = prepared_steps.prepare(step)
    addresses = () if prepared is None else dict.fromkeys([s.function for s in prepared.call.steps])
    return [(compiler.origin(address)[1], address) for address in addresses]


def _algorithms(value):
    """Yield the names of the algorithms of convolutions in a node's parameters."""
    if isinstance(value, str) and value in conv_algorithm.ALGORITHMS:
        yield value
    elif isinstance(value, (tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _algorithms(part)


# Explaining.


def explain(jobs) -> str:
    """Describe what runs, in order: kernels with what is fused in them, bytes and operations, calls, and fusions that were
    refused."""
    return "\n\n".join([explain_job(job, job.compile()) for job in jobs])


def explain_reasons(misses) -> str:
    """Describe why a function was recorded several times: the latest reasons, in their order."""
    if len(misses) < 2:
        return ""
    shown = misses[-_REASONS:]
    hidden = len(misses) - len(shown)
    before = [f"  ({hidden} more before these: stats()['misses'])"] if hidden else []
    return "\n".join(["recorded for each of these reasons, in this order:", *before, *[f"  {reason}" for reason in shown]])


def explain_eager(counts: dict) -> str:
    """Describe the calls that ran eagerly, by reason."""
    lines = [f"  {_counted(n, 'time')}: {reason}" for reason, n in counts.items()]
    return "\n".join(["calls that ran as they are:", *lines]) if lines else ""


def explain_sizes(families) -> str:
    """Describe the symbolic sizes and numbers, and their conditions with the lines that need them."""
    lines = []
    for family in families:
        for entry in family.entries:
            lines.append(f"symbolic: {entry.symbols.origins_text(family.labels)}; recorded for {entry.symbols.text()}"
                         + ("" if entry.is_checked else ", not compared with other sizes yet"))
            lines += [f"  where {text}" + (f"    # {format_line(line)}" if line else "")
                      for text, line in entry.conditions.items()]
        if family.reason:
            lines.append(f"sizes stay fixed: {family.reason}")
    return "\n".join(lines)


def explain_job(job, compiled) -> str:
    """Describe one job, and what it is compiled to."""
    steps = compiled.plan.steps
    runs = [s for s in steps if type(s) is Run]
    count = sum(len(s.kernels) for s in runs)
    calls = len(steps) - len(runs)
    lines = [f"{job.region.name}: {_counted(len(job.region.nodes), 'recorded operation')}, {_counted(count, 'kernel')} in "
             f"{_counted(len(runs), 'native call')}, {_counted(calls, 'other call')}; {len(compiled.in_place)} of "
             f"{_counted(sum(r.target is not None for r in job.wanted), 'update')} written in place; compiled in "
             f"{1e3 * job.seconds:.0f} ms"]
    for step in steps:
        lines += _run_lines(step) if type(step) is Run else _launch_lines(step)
    return "\n".join(lines)


def _counted(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def _run_lines(run):
    lines = [f"  native call of {_counted(len(run.steps), 'step')}, arena {_bytes(run.arena_bytes)}"]
    return lines + ["  " + line for step in run.steps for line in _work_lines(work_of(step, True))]


def _launch_lines(step):
    """Describe a step, or several in one launch."""
    steps = step.steps if type(step) is ManyStep else (step,)
    if type(steps[0]) is EndStep:
        return [f"  the end of {', '.join([s.lowered.kernel.name for s in steps])}"]
    if type(step) is not ManyStep:
        return _work_lines(work_of(step, False))
    return [f"  one launch for {len(steps)} kernels",
            *["  " + line for each in steps for line in _work_lines(work_of(each, False))]]


def _work_lines(w):
    """Describe a kernel with its operations below it; a product or a call in one line."""
    where = f"    # {w.text}" if w.lines else ""
    if w.kind == "kernel":
        lines = [f"  {w.name} over {w.over}: reads {_bytes(w.read)}, writes {_bytes(w.written)}, {w.flops:.2g} operations",
                 f"    {w.ops}{where}"]
        return lines + [f"    not joined: {why}" for why in w.refused]
    name = w.name if w.kind == "product" else f"{w.kind} {w.name}"
    epilogue = " with " + " ".join([n.op.name for n in w.nodes[1:]]) if len(w.nodes) > 1 else ""
    return [f"  {name}{epilogue} -> {w.over}{_how(w)}{where}", *[f"      no kernel: {why}" for why in w.refused]]


def _how(w) -> str:
    """Return the algorithms and the native functions of a product or an operator that is no kernel of its own."""
    if w.kind == "call":
        return " by its eager kernel"
    if type(w.step) not in (Call, Product):     # for a device
        return ""
    algorithms = ", ".join(dict.fromkeys(_algorithms(w.step.node.params)))
    names = ", ".join([name for name, _ in _routines(w.step)])
    return f" by {algorithms and algorithms + ': '}{names}" if names else ""


def _bytes(n):
    if n < 1024:
        return f"{n} bytes"
    power = min(int(math.log2(n)) // 10, 3)
    return f"{n / 1024 ** power:.3g} {('KiB', 'MiB', 'GiB')[power - 1]}"


# While compiling.


def announce(job, compiled):
    """Print and write what the switches ask for, when a job was compiled."""
    settings = config.current()
    if settings.debug >= 1:
        print(explain_job(job, compiled), file=sys.stderr)
    if settings.debug >= 5 or settings.dump:
        for name, (text, code) in kernels_of(compiled).items():
            if settings.debug >= 5:
                print(text, file=sys.stderr)
            if settings.debug >= 6:
                print(code, file=sys.stderr)
            if settings.dump:
                _write(Path(settings.dump), name, text, code)


def _write(folder, name, text, code):
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"kernel_{next(_dumps):04d}_{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}"
    (folder / f"{stem}.txt").write_text(text + "\n")
    (folder / f"{stem}.ll").write_text(code)
