"""Collectives of Python objects: sent as files of `ingot.save`, and read as `ingot.load` reads them, which runs no code.

So plain data, tensors, NumPy's arrays and ingot's own modules arrive. Objects of other classes arrive if every rank allows
their class by `ingot.serialization.add_safe_globals`.
"""

import io

import numpy as np

from ....ir.errors import ArgumentError
from ...serialization.save_load import load, save
from ..engines.engine import others
from ..groups.world import member_of
from ..stores.store import seconds
from .collectives import place_of

__all__ = ["all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
           "send_object_list"]

_TAG = 1 << 40      # object messages have a channel of their own


def _packed(value) -> np.ndarray:
    file = io.BytesIO()
    save(value, file)
    return np.frombuffer(file.getbuffer(), np.uint8)


class _Message(io.BytesIO):
    """An object that arrived, with the name that errors give it."""

    name = "an object from another rank"


def _unpacked(body):
    return load(_Message(body.data))


def _filled(target, values, what):
    if not isinstance(target, list) or len(target) != len(values):
        raise ArgumentError(f"{what} takes a list of {len(values)} entries to fill, got {target!r}")
    target[:] = values


def all_gather_object(object_list, obj, group=None):
    """Fill the list with every rank's object."""
    group = member_of(group, "all_gather_object")
    if group is None:
        return

    def work():
        mine = _packed(obj)
        found = group.channel.swap("all_gather_object", dict.fromkeys(others(group), mine), others(group))
        _filled(object_list, [_unpacked(mine if r == group.rank() else found[r]) for r in range(group.size())],
                "all_gather_object")

    group.run(work, False)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Fill the list on rank `dst` with every rank's object."""
    group = member_of(group, "gather_object")
    if group is None:
        return
    to = place_of(group, dst, group_dst, "gather_object", group.ranks[0])

    def work():
        if group.rank() != to:
            group.channel.swap("gather_object", {to: _packed(obj)}, ())
            return
        found = group.channel.swap("gather_object", {}, others(group))
        _filled(object_gather_list, [obj if r == to else _unpacked(found[r]) for r in range(group.size())], "gather_object")

    group.run(work, False)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Replace the objects in the list on every rank by those of rank `src`. `device` is ignored: objects travel by host
    memory."""
    group = member_of(group, "broadcast_object_list")
    if group is None:
        return
    source = place_of(group, src, group_src, "broadcast_object_list", group.ranks[0])

    def work():
        if group.rank() == source:
            group.channel.swap("broadcast_object_list", dict.fromkeys(others(group), _packed(list(object_list))), ())
        else:
            found = group.channel.swap("broadcast_object_list", {}, (source,))
            _filled(object_list, _unpacked(found[source]), "broadcast_object_list")

    group.run(work, False)


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """Put rank i's object of the list on rank `src` into the first entry of the output list on rank i."""
    group = member_of(group, "scatter_object_list")
    if group is None:
        return
    source = place_of(group, src, group_src, "scatter_object_list", group.ranks[0])
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ArgumentError("scatter_object_list takes a list of one entry or more to receive the object")

    def work():
        if group.rank() != source:
            scatter_object_output_list[0] = _unpacked(group.channel.swap("scatter_object_list", {}, (source,))[source])
            return
        objects = scatter_object_input_list
        if objects is None or len(objects) != group.size():
            raise ArgumentError(f"scatter_object_list takes one object for each of the {group.size()} ranks, got {objects!r}")
        group.channel.swap("scatter_object_list", {r: _packed(objects[r]) for r in others(group)}, ())
        scatter_object_output_list[0] = objects[source]

    group.run(work, False)


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None):
    """Send objects to a rank. `device` is ignored: objects travel by host memory."""
    group = member_of(group, "send_object_list")
    if group is None:
        return
    to = place_of(group, dst, group_dst, "send_object_list")
    group.engine.send([group.ranks[to]], (group.number, _TAG), "objects", _packed(list(object_list)))


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None) -> int:
    """Receive objects from a rank (by default the first that sends); return the sender's rank. `device` is ignored:
    objects travel by host memory."""
    group = member_of(group, "recv_object_list")
    if group is None:
        return -1
    inbox, channel, limit = group.engine.inbox, (group.number, _TAG), seconds(group.timeout)
    if src is None and group_src is None:
        sender, message = inbox.first([group.ranks[r] for r in others(group)], channel, limit, "recv_object_list")
    else:
        sender = group.ranks[place_of(group, src, group_src, "recv_object_list")]
        message = inbox.receive(sender, channel, inbox.ticket(sender, channel), limit, "recv_object_list")
    _filled(object_list, _unpacked(message.body), "recv_object_list")
    return sender
