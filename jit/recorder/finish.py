"""The end of a recording: results, updates, gradients and the backward, as a `Recording`."""

from dataclasses import replace

from ...runtime.core.node import Leaf
from ...runtime.core.storage import user_line
from ..errors.errors import TraceError, at
from ..guards.frames import unprofiled
from ..guards.memory_order import overlapping
from .alias_table import share_memory
from .backward import backward_of, is_freed
from .inputs import OUTSIDE, overlap_error
from .outputs import output_of
from .recording import Gradient, Recording, Write
from .tape import shared_memories, tape_of


def finish(recorder, result_tensors) -> Recording:
    """Return the recording of a function that has returned, and untie its tensors."""
    results = [*result_tensors]
    r, before, tape = unprofiled(_effects_of, recorder, results)
    with_history = unprofiled(_with_history, recorder, results, r.outputs)
    if with_history:
        made = {t._node for t, o in zip(results, r.outputs) if o.leaf is not None}
        if len(with_history) > len(before):
            tape = unprofiled(tape_of, recorder, with_history)
        r.backward = replace(backward_of(recorder, with_history, made), tape=tape,
                             memories=unprofiled(shared_memories, recorder, tape, results, r.outputs))
    recorder.random.settle()
    recorder.optimizers.settle()
    unprofiled(recorder.release)
    return r


def _effects_of(recorder, results) -> tuple:
    """Return (the recording without a backward, the results with a history, their tape). Inputs whose history goes on join the
    results."""
    inputs, gradients, swaps = recorder.inputs, recorder.gradients, recorder.swaps
    recorder.reads.check_lent()
    r = Recording(recorder.builder, inputs.sources, recorder.reads.cuts, hosts=recorder.hosts.steps, shared=inputs.shared,
                  scope=recorder.scope, devices=inputs.devices, orders=inputs.orders, kinds=swaps.kinds,
                  joined=recorder.aliases.wholes)
    r.layouts = [(position, query, answer) for (position, query), answer in recorder.layouts.answers.items()]
    r.outputs = [output_of(recorder, t, results) for t in results]        # gradients of leaves join the results meanwhile
    r.rebinds = swaps.outputs(results)
    r.updates = [(cell.source, cell.value) for cell in _written_cells(recorder)]
    r.writes = {cell.source: _write_of(recorder, cell) for cell in _written_cells(recorder)}
    if recorder.differentiates:
        _add_rewritten(recorder, results, r.outputs, r.writes)
    r.shown = recorder.hosts.shown
    written = {position for position, _ in r.updates}
    if overlapping(swaps.roots_before([c for c in inputs.cells if c.source in written]), swaps.roots_before(inputs.cells)):
        raise overlap_error()
    r.clashes = swaps.clashes(r.updates)
    r.cleared = gradients.cleared_positions()
    gradients.guard_hooks()
    for s in [s for s in gradients.leaves.values() if s.position is not None]:
        if s.was_read:
            r.leaves.append((s.position, s.kind))
        if s.was_set or not s.is_as_before():
            r.grads.append((s.position, Gradient.of(recorder, s.gradient, results)))
    r.turns, r.retained = gradients.turns(), sorted(gradients.retained)
    new = {position for position, g in r.grads if g is not None and g.make is None}
    dense = {s.position: s.gradient for s in gradients.leaves.values() if s.position in new}
    before = _with_history(recorder, results, r.outputs)
    tape = tape_of(recorder, before)
    share_memory(recorder, results, r.outputs, dense.values(), [m.cell for m in tape.memories])
    position_of = {id(g): position for position, g in dense.items()}
    r.outputs = [replace(o, gradient_of=position_of.get(id(t))) if o.source is None and not o.requires_grad else o
                 for t, o in zip(results, r.outputs)]
    return r, before, tape


def _with_history(recorder, results, outputs) -> list:
    """Return the results through which a backward after the call may go."""
    return [t for t, o in zip(results, outputs) if o.has_history] if recorder.differentiates else []


def _written_cells(recorder) -> list:
    """Return the cells of inputs that were written in place."""
    return [cell for cell in recorder.inputs.cells if cell.version and recorder.inputs.is_from(cell, *OUTSIDE)
            and (id(cell.root) in recorder.swaps.swapped or cell.root._storage.cell is cell)]


def _write_of(recorder, cell) -> Write:
    storage = cell.root._storage
    is_unchecked = not storage.was_overwritten(cell.began)
    before, rewrites = recorder.inputs.histories.get(cell.source), _has_new_history(recorder, cell)
    has_rule = before is not None and type(before) is not Leaf
    return Write(max(storage.version - cell.began, 1), is_unchecked, has_rule and cell.by_root and not is_unchecked, rewrites,
                 rewrites and before is None)


def _add_rewritten(recorder, results, outputs, writes):
    """Mark the inputs whose history goes on as results, since their gradients go through what the function did."""
    for cell in _written_cells(recorder):
        t = cell.root
        if not writes[cell.source].rewrites:
            continue
        if t._base is not None or is_freed(t._node) or cell.source in recorder.aliases.wholes:
            raise TraceError("this function cannot be traced: it writes in place to a view from outside, whose gradient then "
                             f"goes through what it did{at(user_line())}; return the new value, or write under no_grad()")
        if not any(r is t for r in results):
            outputs.append(output_of(recorder, t, results))
            results.append(t)
        for i in [i for i, r in enumerate(results) if r is t]:
            outputs[i] = replace(outputs[i], rewritten=True)


def _has_new_history(recorder, cell) -> bool:
    """Return whether memory from outside got another history than it came with."""
    node = cell.root._node
    if recorder.inputs.is_from(cell, "grad") or node is recorder.inputs.histories.get(cell.source):
        return False
    return cell.source not in recorder.gradients.changed or not cell.root.is_leaf
