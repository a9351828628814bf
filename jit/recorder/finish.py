"""The end of a recording: results, updates, gradients and the backward, as a `Recording`."""

from dataclasses import replace

from ...runtime.core.node import Leaf, Node, source_of
from ...runtime.core.storage import user_line
from ..errors.errors import TraceError, at
from ..guards.frames import unprofiled
from ..guards.memory_order import overlapping
from .alias_table import Part, share_inputs, share_memory
from .backward import backward_of, is_freed, key_of
from .inputs import OUTSIDE, overlap_error
from .outputs import output_of
from .recording import Gradient, Link, Recording, Write, base_of, kind_of_gradient
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
        if recorder.tracker is not None:
            recorder.tracker.reads.order.begins()
        back = backward_of(recorder, with_history, made)
        r.backward = replace(back, tape=tape,
                             memories=unprofiled(shared_memories, recorder, tape, results, r.outputs, back.nodes))
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
                  joined=recorder.aliases.wholes, bases=recorder.aliases.bases)
    r.layouts = [(position, query, answer) for (position, query), answer in recorder.layouts.answers.items()]
    r.methods = recorder.layouts.methods
    results += [g for g in gradients.left_as_results() if not any(t is g for t in results)]
    r.outputs = [output_of(recorder, t, results) for t in results]        # gradients of leaves join the results meanwhile
    share_inputs(recorder, results, r.outputs)
    r.rebinds = [(position, replace(o, rewritten=_has_new_history(recorder, position, t)))
                 for (position, o), (t, *_) in zip(swaps.outputs(results, r.outputs), swaps.swapped.values())]
    r.updates = [(cell.source, cell.value) for cell in _written_cells(recorder)]
    r.writes = {cell.source: _write_of(recorder, cell) for cell in _written_cells(recorder)}
    if recorder.differentiates:
        r.gained = _add_rewritten(recorder, results, r.outputs)
        _tape_views(recorder, results, r.outputs)
        _check_hooks_of_views(recorder, results, r.outputs)
    r.shown = recorder.hosts.shown
    written = {position for position, _ in r.updates}
    if overlapping(swaps.roots_before([c for c in inputs.cells if c.source in written]), swaps.roots_before(inputs.cells)):
        raise overlap_error()
    r.clashes = swaps.clashes(r.updates)
    r.cleared = gradients.cleared_positions()
    gradients.guard_hooks()
    states = [s for s in gradients.leaves.values() if s.position is not None]
    r.leaves = [(s.position, s.kind) for s in states if s.was_read]
    r.turns, r.retained, r.detached = gradients.turns(), sorted(gradients.retained), gradients.detached_positions()
    changed = [s for s in states if s.is_changed]
    before = _with_history(recorder, results, r.outputs)
    tape = tape_of(recorder, before)
    dense = [s.gradient for s in changed if kind_of_gradient(s.gradient) not in (None, True)]
    share_memory(recorder, results, r.outputs, dense, [m.cell for m in tape.memories])
    r.grads = [(s.position, Gradient.of(recorder, s.gradient, results)) for s in changed]
    return r, before, tape


def _with_history(recorder, results, outputs) -> list:
    """Return the results through which a backward after the call may go."""
    return [t for t, o in zip(results, outputs) if o.has_history] if recorder.differentiates else []


def _written_cells(recorder) -> list:
    """Return the cells of inputs that were written in place."""
    written = [cell for cell in recorder.inputs.cells if cell.version and recorder.inputs.is_from(cell, *OUTSIDE)]
    if not all(id(cell.root) in recorder.swaps.swapped or cell.root._storage.cell is cell for cell in written):
        raise overlap_error()
    return written


def _write_of(recorder, cell) -> Write:
    storage = recorder.swaps.storage_before(cell.root)
    left = [at for *_, at in storage.data_swaps or () if at > cell.began]      # by leaves, as they are in replays
    is_unchecked = not storage.was_overwritten(cell.began)
    (position, root), *_ = recorder.inputs.over(cell)
    before = recorder.inputs.histories.get(position)
    has_rule = before is not None and type(before) is not Leaf
    return Write(max(storage.version - cell.began - len(left), 0), is_unchecked, has_rule and cell.by_root and not is_unchecked,
                 cell.is_checked or _has_new_history(recorder, position, root))


def _add_rewritten(recorder, results, outputs) -> list:
    """Mark the inputs whose history goes on as results, since their gradients go through what the function did; return the
    positions of those that had none before."""
    gained = []
    for position, t, cell in _written_tensors(recorder):
        if not _has_new_history(recorder, position, t) or (base_of(t) is not t and base_of(t) is cell.root):
            continue
        if t._base is not None or is_freed(t._node):
            kind = "view" if t._base is not None else "tensor"
            line = cell.value.node.line if cell.value.node is not None else user_line()
            raise TraceError(f"this function cannot be traced: it writes in place to a {kind} from outside{at(line)}, and "
                             "the gradient of that then goes through what it did; return the new value, or write under "
                             "no_grad()")
        if recorder.inputs.histories.get(position) is None:
            gained.append(position)
        if not any(r is t for r in results):
            if "_traced" not in t.__dict__:         # a base that the function reached through its views alone
                recorder.links.tie_outside(t, Link(recorder, cell, (), cell.value))
            outputs.append(output_of(recorder, t, results))
            results.append(t)
        for i in [i for i, r in enumerate(results) if r is t]:
            outputs[i] = replace(outputs[i], rewritten=True)
    return gained


def _written_tensors(recorder) -> list:
    """Return (position, tensor, its cell) of the inputs that may have got another history: those over memory that was written,
    and those that have other memory by now."""
    inputs, written = recorder.inputs, _written_cells(recorder)
    found = {id(t): (position, t, cell) for cell in written for position, t in [*inputs.over(cell), *inputs.over_part(cell)]}
    found.update([(id(t), (position, t, recorder.link(t).cell)) for t, position, _ in recorder.swaps.swapped.values()])
    return list(found.values())


def _tape_views(recorder, results, outputs):
    """Mark results that are views of an input, where another history than that of such a view leads to the input, or gradients
    of other results must be added to theirs in eager code's order. The first is so behind a write whose history the input has
    lost."""
    is_one_of_many = any(o.has_history for o in outputs)
    rewritten = {o.source for o in outputs if o.rewritten}
    ends = {*map(key_of, recorder.inputs.ends().values())}
    for i, (t, o) in enumerate(zip(results, outputs)):
        is_view = o.source is not None and o.requires_grad and o.chain and o.part is o.itself is o.leaf is None
        if is_view and not o.same and not o.detached and o.source not in rewritten and not is_freed(t._node):
            edge, is_other = t._node, False
            while edge is not None and type(edge) is not Leaf and key_of(edge) not in ends:
                node, _ = source_of(edge)
                is_other = is_other or len(node.edges) > 1 or bool(node.pre_hooks or node.post_hooks)
                edge = node.edges[0]
            if is_one_of_many or is_other or key_of(edge) != key_of(recorder.inputs.histories.get(o.source)):
                outputs[i] = replace(o, taped=True)
    _join_histories(recorder, results, outputs)


def _join_histories(recorder, results, outputs):
    """Let the histories of results that are views of inputs go on from other such results, or from arguments that became views,
    where they do so in eager code: gradients arrive there."""
    link = recorder.link
    found: dict = {key_of(t._node): (t, i, None) for i, (t, o) in enumerate(zip(results, outputs)) if _has_view_history(t, o)}
    found.update([(key_of(t._node), (t, None, position)) for t, _ in recorder.links.live() if t._node is not None
                  for position in (recorder.aliases.joined.get(id(t)),) if position is not None])
    for i, (t, o) in enumerate(zip(results, outputs)):
        if not _has_view_history(t, o):
            continue
        nearest = next((found[key] for key in map(key_of, _edges_below(t)) if key in found), None)
        if nearest is None or link(nearest[0]).cell is not link(t).cell:
            continue
        below, number, position = nearest
        count = len(link(below).chain)
        if link(t).chain[:count] == link(below).chain:
            chain = link(t).chain[count:]
            outputs[i] = (replace(o, part=Part(number, chain, True, requires_grad=True)) if position is None
                          else replace(o, source=position, chain=chain))


def _edges_below(t):
    """Yield the edges behind the view operators of a tensor's history, the nearest first."""
    node, _ = source_of(t._node)
    while isinstance(node, Node) and node.op is not None and node.op.is_view:
        yield node.edges[0]
        node = None if node.edges[0] is None else source_of(node.edges[0])[0]


def _has_view_history(t, o) -> bool:
    """Return whether a replay gives a result the history of a view of an input."""
    return o.source is not None and o.requires_grad and bool(o.chain) and not (o.same or o.taped or o.freed) and (
        o.part is o.itself is o.leaf is None)


def _check_hooks_of_views(recorder, results, outputs):
    """Refuse hooks on views of inputs whose history goes on: replays derive the histories of such views from that."""
    bases = {id(t) for t, o in zip(results, outputs) if o.rewritten}
    returned = {id(t) for t in results}
    for t, link in recorder.links.live():
        base, edge = base_of(t), t._node
        if base is t or id(base) not in bases or not (link.is_outside or id(t) in returned):
            continue
        while edge is not None and type(edge) is not Leaf and key_of(edge) != key_of(base._node):
            node, _ = source_of(edge)
            if node.post_hooks or any(kind != "retain" for kind, _ in (node.pre_hooks or {}).values()):
                line = recorder.gradients.hooked.get(link.is_outside)
                recorder.refuse("it registers a hook on a view of a tensor from outside to which it writes",
                                "register it outside, behind the call, or write to a clone", line)
            edge = node.edges[0]


def _has_new_history(recorder, position, t) -> bool:
    """Return whether an input got another history than it came with, and still has it."""
    if t._node is None or t._node is recorder.inputs.histories.get(position):
        return False
    return position not in recorder.gradients.changed or not t.is_leaf
