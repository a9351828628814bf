"""PTX instructions as functions of the machine and the running lanes: branches, barriers, loads, stores and copies.

Arithmetic is in `operations.py`, warp-wide operations in `warps.py`.
"""

import numpy as np

from . import bulk
from .faults import Fault
from .operations import OPERATIONS, TYPES
from .warps import WARP_OPERATIONS

__all__ = ["END", "compiled"]

END = 1 << 30           # position of threads that have returned


def compiled(entry, i):
    """Return ("plain" | "warp" | "barrier" | "wait" | "branch" | "return", function).

    A "warp" instruction waits for all lanes of its warp. A barrier has, instead of a function, its number and thread count
    (None: all).
    """
    head = i.parts[0]
    if head == "bra":
        target = entry.labels[i.operands[0]]
        return "branch", lambda m: (_guard(m, i), target)
    if head in ("ret", "exit"):
        return "return", lambda m: (_guard(m, i), END)
    if i.name in ("bar.sync", "barrier.sync", "barrier.cta.sync") and all(o.isdigit() for o in i.operands):
        number, *count = map(int, i.operands)
        return "barrier", (number, count[0] if count else None)
    if i.name.startswith("mbarrier.try_wait.parity"):
        return "wait", bulk.wait(i)
    if head == "bar" and i.name != "bar.warp.sync":
        return "plain", _unknown(i)
    if head in ("fence", "membar", "bar") or i.name.startswith(("wgmma.fence", "wgmma.commit", "wgmma.wait", "prefetch")):
        return "plain", lambda m, mask: None
    known = _MOVES.get(head) or WARP_OPERATIONS.get(head)
    known = bulk.MEMORY_OPERATIONS.get("cp.async.bulk" if i.name.startswith("cp.async.bulk") else head) or known
    step = known(entry, i) if known else None
    if step:
        return "warp" if head in WARP_OPERATIONS else "plain", _guarded(i, step)
    try:
        return "plain", _guarded(i, _computed(i))
    except (KeyError, IndexError, StopIteration):
        return "plain", _unknown(i)


def _unknown(i):
    def step(m, mask):
        raise Fault(f"the PTX machine does not know {i.name} {i.operands}")

    return step


def _guard(m, i):
    if not i.guard:
        return np.True_
    p = m.get(i.guard, np.bool_)
    return ~p if i.negated else p


def _guarded(i, step):
    if not i.guard:
        return step

    def run(m, mask):
        p = _guard(m, i)
        p = np.broadcast_to(p if mask is None else p & mask, m.lanes)
        if p.all():
            step(m, None)
        elif p.any():
            step(m, p)

    return run


def _computed(i):
    _, kinds, function = OPERATIONS[i.parts[0]](i)
    target, *operands = i.operands
    assert len(operands) == len(kinds), f"operands of {i.name}: {i.operands}"
    first, _, second = target.partition("|")

    def step(m, mask):
        found = function(*[m.get(o, k) for o, k in zip(operands, kinds)])
        if second:
            found, other = found
            m.put(second, other, mask)
        m.put(first, found, mask)

    return step


def _move(entry, i):
    """mov, also between a register and its parts."""
    target, source = i.operands
    kind = TYPES[i.parts[1]]
    if isinstance(source, tuple):
        part = TYPES[f"b{8 * np.dtype(kind).itemsize // len(source)}"]

        def join(m, mask):
            found = kind(0)
            for k, s in enumerate(source):
                found = found | m.get(s, part).astype(kind) << kind(8 * np.dtype(part).itemsize * k)
            m.put(target, found, mask)

        return join
    if isinstance(target, tuple):
        part = TYPES[f"b{8 * np.dtype(kind).itemsize // len(target)}"]

        def split(m, mask):
            whole = m.get(source, kind)
            for k, t in enumerate(target):
                m.put(t, (whole >> kind(8 * np.dtype(part).itemsize * k)).astype(part), mask)

        return split
    return lambda m, mask: m.put(target, m.get(source, kind), mask)


def _vector(operand):
    return operand if isinstance(operand, tuple) else (operand,)


def _load(entry, i):
    kind, targets, place = TYPES[i.parts[-1]], _vector(i.operands[0]), i.operands[1]
    if i.parts[1] == "param":
        def parameter(m, mask):
            block = np.frombuffer(m.parameters, np.uint8)
            at = np.asarray(m.address(place)).astype(np.int64)[..., None] + np.arange(np.dtype(kind).itemsize)
            m.put(targets[0], np.ascontiguousarray(block[at]).view(kind)[..., 0], mask)

        return parameter
    each = np.dtype(kind).itemsize
    space = i.parts[1].partition("::")[0]

    def step(m, mask):
        lanes = m.active(mask)
        addresses = m.of(m.address(place), lanes)
        memory = m.memory if space == "global" else m.shared
        m.saw(i, addresses, each * len(targets), lanes)
        rows = memory.load(addresses, each * len(targets), m.warp[lanes], m.phase[lanes], i.name, m.local[lanes])
        values = np.ascontiguousarray(rows).view(kind)
        for k, t in enumerate(targets):
            found = np.zeros(m.lanes, kind)
            found[lanes] = values[:, k]
            m.put(t, found, mask)

    return step


def _store(entry, i):
    kind, place, sources = TYPES[i.parts[-1]], i.operands[0], _vector(i.operands[1])
    space = i.parts[1].partition("::")[0]

    def step(m, mask):
        lanes = m.active(mask)
        addresses = m.of(m.address(place), lanes)
        values = np.stack([m.of(m.get(s, kind), lanes) for s in sources], 1)
        memory = m.memory if space == "global" else m.shared
        m.saw(i, addresses, np.dtype(kind).itemsize * len(sources), lanes)
        memory.store(addresses, values.view(np.uint8).reshape(len(lanes), -1), m.warp[lanes], m.phase[lanes], i.name,
                     m.local[lanes])

    return step


_COMBINE = {"max": max, "min": min, "add": lambda a, b: a + b, "exch": lambda a, b: b, "or": lambda a, b: a | b,
            "and": lambda a, b: a & b}


def _atomic(entry, i):
    kind = TYPES[i.parts[-1]]
    combine = next(_COMBINE[p] for p in i.parts if p in _COMBINE)
    target, place, value = i.operands if i.parts[0] == "atom" else ("_", *i.operands)

    def step(m, mask):
        lanes = m.active(mask)
        before = m.memory.update(m.of(m.address(place), lanes), m.of(m.get(value, kind), lanes).copy(), combine, i.name)
        found = np.zeros(m.lanes, kind)
        found[lanes] = before
        m.put(target, found, mask)

    return step


def _copy(entry, i):
    """cp.async: a group arrives when a thread waits for it."""
    if "commit_group" in i.parts:
        def commit(m, mask):
            m.committed.append(m.pending)
            m.pending = []

        return commit
    if "wait_group" in i.parts:
        return lambda m, mask: m.wait(int(i.operands[0]))
    if "wait_all" in i.parts:
        def all_of_them(m, mask):
            m.committed.append(m.pending)
            m.pending = []
            m.wait(0)

        return all_of_them
    if i.parts[1] != "async":
        return _unknown(i)
    target, source, size, *given = i.operands
    size = int(size, 0)

    def step(m, mask):
        lanes = m.active(mask)
        count = m.of(m.get(given[0], np.uint32), lanes) if given else np.full(len(lanes), size, np.uint32)
        if not ((count == 0) | (count == size)).all():
            raise Fault(f"{i.name}: copies of a part")
        rows, some = np.zeros((len(lanes), size), np.uint8), count > 0
        if some.any():
            there = lanes[some]
            m.saw(i, m.of(m.address(source), there), size, there)
            rows[some] = m.memory.load(m.of(m.address(source), there), size, m.warp[there], m.phase[there], i.name)
        addresses = m.of(m.address(target), lanes)
        m.shared.claim(addresses, size, m.warp[lanes], m.phase[lanes], i.name, m.local[lanes])
        m.pending.append((lanes, addresses, rows, i.name))

    return step


def _address_space(entry, i):
    return lambda m, mask: m.put(i.operands[0], m.get(i.operands[1], TYPES[i.parts[-1]]), mask)


_MOVES = {"mov": _move, "ld": _load, "st": _store, "atom": _atomic, "red": _atomic, "cp": _copy, "cvta": _address_space}
