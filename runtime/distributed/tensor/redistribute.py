"""Redistribution: conversion between layouts of a tensor, by collectives along dims of the mesh.

A mesh dim that must split another tensor dim is first removed together with what is nested inside it. Parts move directly to
another tensor dim if both are innermost there; terms of reductions become parts directly.
"""

from typing import Any

import numpy as np

from ....ir.ops.core.shape import cat
from ...core.device_array import BACKENDS, DeviceArray, ones_on_device_of, zeros_on_device_of
from .placements import REDUCTIONS, Partial, Replicate, Shard
from .sharded_layout import bounds, nesting, part_sizes


def redistributed(local, shape, mesh, source, target) -> Any:
    """Return this process's part of a tensor in the layout `target`; `local` itself if nothing changes."""
    if source == target or mesh.get_coordinate() is None:
        return local
    return _Redistribution(local, shape, mesh, source, target).done()


class _Redistribution:
    """One redistribution: this process's part, and its layout, step by step."""

    def __init__(self, local, shape, mesh, source, target):
        self.local, self.shape, self.mesh = local, shape, mesh
        self.now, self.target = list(source), target
        self.at = mesh.get_coordinate()
        self.orders = nesting(source, mesh.shape)         # by tensor dim: the mesh dims that split it
        self.wanted = nesting(target, mesh.shape)

    def done(self):
        """Run all steps, and return the part."""
        while (step := self._innermost_that_leaves()) is not None:
            self._leave(*step)
        for i, p in enumerate(self.now):
            if isinstance(p, Partial) and p != self.target[i] and not self._can_enter(i):
                self._reduce(i, p)
        for dim, order in self.wanted.items():
            for i in order[len(self.orders.get(dim, [])):]:
                self._enter(i, dim)
        for i, p in enumerate(self.target):
            if isinstance(p, Partial) and self.now[i] != p:
                self._part_into_terms(i, p)
        return self.local

    def _innermost_that_leaves(self):
        """Return (tensor dim, mesh dim) of an innermost split that must go."""
        for dim, order in self.orders.items():
            wanted = self.wanted.get(dim, [])
            common = 0
            while common < min(len(order), len(wanted)) and order[common] == wanted[common]:
                common += 1
            if len(order) > common:
                return dim, order[-1]
        return None

    def _can_enter(self, i) -> bool:
        """Return whether a mesh dim may split its target dim now: all earlier splits are done."""
        p = self.target[i]
        if not isinstance(p, Shard):
            return False
        order, wanted = self.orders.get(p.dim, []), self.wanted[p.dim]
        return order == wanted[:wanted.index(i)]

    def _size_without(self, dim, i) -> int:
        """Return the local size of a dim without the innermost mesh dim's split."""
        size = self.shape[dim]
        for j in self.orders.get(dim, []):
            if j == i:
                break
            first, last = bounds(size, self.mesh.shape[j], self.at[j])
            size = last - first
        return size

    # Steps.

    def _leave(self, dim, i):
        """Make a split dim whole, or split the wanted dim instead."""
        self.orders[dim].pop()
        sizes = part_sizes(self._size_without(dim, i), self.mesh.shape[i])
        if self._can_enter(i):
            to = self.target[i].dim
            self._exchange(i, dim, sizes, to)
            self.orders.setdefault(to, []).append(i)
            self.now[i] = self.target[i]
            return
        shapes = [_resized(self.local.shape, dim, n) for n in sizes]
        here = self.local
        parts = self._collected(i, "all_gather", shapes,
                                lambda channel, outs, note: channel.all_gather(channel.operand(here), note, outs))
        self.local = _joined(parts, dim)
        self.now[i] = Replicate()

    def _exchange(self, i, dim, sizes, to):
        """Exchange parts along one dim for parts along another."""
        cuts = part_sizes(self.local.shape[to], self.mesh.shape[i])
        mine = cuts[self.at[i]]
        shapes = [_resized(_resized(self.local.shape, dim, n), to, mine) for n in sizes]
        here = self.local
        parts = self._collected(i, "all_to_all", shapes, lambda channel, outs, note: channel.all_to_all(
            cut(channel.operand(here), to, cuts), outs, note))
        self.local = _joined(parts, dim)

    def _collected(self, i, what, shapes, move) -> list:
        """Return arrays of these shapes from the processes along a mesh dim, on this one's device, which
        `move(channel, arrays, note)` fills."""
        group, kind = self.mesh.get_group(i), self.local.dtype
        channel = group.channel_of(self.local)
        outs = [channel.empty(shape, kind) for shape in shapes]
        note = f"{what} of a DTensor {list(self.shape)} {kind.name} from {self.now[i]} to {self.target[i]}"
        group.run(lambda: move(channel, outs, note), False, channel)
        return [on_device_of(a, self.local) for a in outs]

    def _enter(self, i, dim):
        """Split a dim; for terms of a reduction return the reduced part."""
        p, parts = self.now[i], self.mesh.shape[i]
        sizes = part_sizes(self.local.shape[dim], parts)
        if isinstance(p, Partial):
            here, how = self.local, REDUCTIONS[p.reduce_op]
            mine = self._combined(i, lambda channel, note: channel.reduce_scatter(
                [in_rows(a) for a in cut(channel.operand(here), dim, sizes)], how, note), "reduce_scatter")
            self.local = on_device_of(mine, self.local)
        else:
            first, last = bounds(self.local.shape[dim], parts, self.at[i])
            self.local = part(self.local, dim, first, last).copy()
        self.now[i] = self.target[i]
        self.orders.setdefault(dim, []).append(i)

    def _reduce(self, i, p):
        """Replace terms by their reduction."""
        here, how = self.local, REDUCTIONS[p.reduce_op]
        total = self._combined(i, lambda channel, note: channel.all_reduce(channel.operand(here), how, note), "all_reduce")
        self.local = on_device_of(total, self.local)
        self.now[i] = Replicate()

    def _combined(self, i, combine, what):
        group, results = self.mesh.get_group(i), []
        note = f"{what} of a DTensor {list(self.shape)} {self.local.dtype.name} {self.now[i]}"
        channel = group.channel_of(self.local)
        group.run(lambda: results.append(combine(channel, note)), False, channel)
        return results[0]

    def _part_into_terms(self, i, p):
        """Replace a value by terms: for sums and products all of it in the first process, else in every one."""
        if p.reduce_op in _NEUTRAL and self.at[i]:
            self.local = _NEUTRAL[p.reduce_op](self.local)
        self.now[i] = p


_NEUTRAL: dict = {"sum": zeros_on_device_of, "product": ones_on_device_of}


def host(a) -> np.ndarray:
    """Return an array in host memory."""
    return a.numpy() if a.__class__ is DeviceArray else a


def on_device_of(a, like):
    """Return an array on the device of another one."""
    if like.__class__ is not DeviceArray or a.__class__ is DeviceArray:
        return a
    return BACKENDS[like.kind].to_device(np.ascontiguousarray(a), like.device)


def part(a, dim, first, last):
    """Return elements along a dim, as a view."""
    return a[(*[slice(None)] * dim, slice(first, last))]


def in_rows(a):
    """Return an array in row-major order."""
    return a.backend.contiguous(a) if a.__class__ is DeviceArray else np.ascontiguousarray(a)


def cut(a, dim, sizes) -> list:
    """Return the parts of an array along a dim, as views."""
    parts, first = [], 0
    for n in sizes:
        parts.append(part(a, dim, first, first + n))
        first += n
    return parts


def _resized(shape, dim, n) -> tuple:
    return (*shape[:dim], n, *shape[dim + 1:])


def _joined(arrays, dim):
    if arrays[0].__class__ is not DeviceArray:
        return np.concatenate(arrays, dim)
    return arrays[0].backend.run(cat, tuple(arrays), {"dim": dim})
