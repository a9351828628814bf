"""Point-to-point messages."""

from concurrent.futures import Future

from ....ir.errors import ArgumentError, IngotError
from ..engines.engine import as_array, flat_bytes, others
from ..groups.process_group import Work
from ..groups.world import member_of
from ..stores.distributed_errors import DistBackendError, DistTimeoutError
from ..stores.store import seconds
from . import collectives
from .collectives import check_tensor, deliver, place_of

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def _note(a) -> str:
    return f"a {a.dtype.name} of shape {list(a.shape)}"


def _done(value) -> Work:
    future: Future = Future()
    future.set_result(value)
    return Work(future)


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor. Later writes to one on the host are not sent; one on a device is written after `wait()` only."""
    group = member_of(group, "isend")
    if group is None:
        return None
    a = check_tensor(tensor, "send")
    to = place_of(group, dst, group_dst, "send")
    _check_tag(tag)
    if to == group.rank():
        raise ArgumentError("send: a rank cannot send to itself")
    channel = group.channel_of(a)
    if channel is not group.channel:
        return group.run(lambda: channel.exchange(f"send of {_note(a)}", [(to, a)], [], (to,)), True, channel)
    group.engine.send([group.ranks[to]], (group.number, tag), _note(a), flat_bytes(channel.operand(a)))
    return _done([tensor])


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to a rank."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def _check_tag(tag):
    if tag < 0:
        raise ArgumentError(f"tags are 0 and above, got {tag}")


class _Receipt(Work):
    """Pending receipt of a tensor."""

    def __init__(self, tensor, group, source, tag):
        self.tensor, self.group, self.other, self.channel = tensor, group, group.ranks[source], (group.number, tag)
        self.ticket = group.engine.inbox.ticket(self.other, self.channel)
        super().__init__(Future())

    def is_completed(self):
        """Return whether the tensor has arrived."""
        return self._future.done() or self.group.engine.inbox.has(self.other, self.channel, self.ticket)

    def wait(self, timeout=None):
        """Return when the tensor is filled."""
        if not self._future.done():
            limit = seconds(self.group.timeout if timeout is None else timeout)
            try:
                note, body = self.group.engine.inbox.receive(self.other, self.channel, self.ticket, limit, "recv")
                fill(self.tensor, note, body, self.other)
                self._future.set_result([self.tensor])
            except DistTimeoutError:
                raise
            except IngotError as e:
                self._future.set_exception(e)
        return super().wait()

    def give_up(self):
        """Leave the message to the next receipt, if it has not been received."""
        if not self._future.done():
            self.group.engine.inbox.give_back(self.other, self.channel, self.ticket)

    def result(self):
        """Return the tensor, in a list."""
        self.wait()
        return [self.tensor]


def fill(tensor, note, body, sender):
    """Write a received message into a tensor of matching dtype and shape."""
    a = tensor._a
    if note.split(" of shape ")[0] != _note(a).split(" of shape ")[0] or body.size != a.nbytes:
        raise DistBackendError(f"recv into {_note(a)}: rank {sender} has sent {note}")
    deliver(tensor, as_array(body, a), "recv")


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """Start to receive a tensor; call wait() on the result before using it."""
    group = member_of(group, "irecv")
    if group is None:
        return None
    a = check_tensor(tensor, "recv")
    _check_tag(tag)
    channel = group.channel_of(a)
    if src is None and group_src is None:
        recv(tensor, None, group, tag)
        return _done([tensor])
    group.engine.check()
    source = place_of(group, src, group_src, "recv")
    if source == group.rank():
        raise ArgumentError("recv: a rank cannot receive from itself")
    if channel is not group.channel:
        return group.run(lambda: _receive(channel, tensor, source), True, channel)
    return _Receipt(tensor, group, source, tag)


def _receive(channel, tensor, source):
    """Receive a tensor on a device."""
    note = f"recv of {_note(tensor._a)}"
    collectives.fill(tensor, lambda out: channel.exchange(note, [], [(source, out)], (source,)), "recv", channel)
    return [tensor]


def recv(tensor, src=None, group=None, tag=0, group_src=None) -> int:
    """Receive a tensor from a rank (by default the first that sends); return the sender's rank."""
    group = member_of(group, "recv")
    if group is None:
        return -1
    if src is not None or group_src is not None:
        work = irecv(tensor, src, group, tag, group_src)
        try:
            work.wait()
        except BaseException:       # a time limit, or an interrupt
            if isinstance(work, _Receipt):
                work.give_up()
            raise
        return group.ranks[place_of(group, src, group_src, "recv")]
    if group.channel_of(check_tensor(tensor, "recv")) is not group.channel:
        raise ArgumentError("recv on a GPU names the rank that sends: NCCL cannot wait for the first of all")
    group.engine.check()
    everybody = [group.ranks[r] for r in others(group)]
    sender, message = group.engine.inbox.first(everybody, (group.number, tag), seconds(group.timeout), "recv")
    fill(tensor, message.note, message.body, sender)
    return sender


class P2POp:
    """Message for batch_isend_irecv: `op` is isend or irecv."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ArgumentError("P2POp takes isend or irecv as its op")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer


def batch_isend_irecv(p2p_op_list) -> list:
    """Start several messages at once; call wait() on each of the results."""
    if not all(isinstance(o, P2POp) for o in p2p_op_list) or not p2p_op_list:
        raise ArgumentError("batch_isend_irecv takes a list of P2POp")
    group = member_of(p2p_op_list[0].group, "batch_isend_irecv")
    if group is None or any(o.group is not p2p_op_list[0].group for o in p2p_op_list):
        return [o.op(o.tensor, o.peer, o.group, o.tag, o.group_peer) for o in p2p_op_list]
    channel = group.channel_of(*[check_tensor(o.tensor, "batch_isend_irecv") for o in p2p_op_list])
    if channel is group.channel:
        return [o.op(o.tensor, o.peer, o.group, o.tag, o.group_peer) for o in p2p_op_list]
    return [group.run(lambda: _exchange(channel, p2p_op_list), True, channel)]


def _exchange(channel, ops):
    """Send and receive several tensors on a device at once."""
    places = [place_of(channel.group, o.peer, o.group_peer, o.op.__name__) for o in ops]
    outs = [(r, o, channel.empty(o.tensor._a.shape, o.tensor._a.dtype)) for r, o in zip(places, ops) if o.op is irecv]
    sends = [(r, o.tensor._a) for r, o in zip(places, ops) if o.op is isend]
    peers = tuple(dict.fromkeys(places))
    channel.exchange(f"{len(ops)} messages", sends, [(r, out) for r, _, out in outs], peers)
    for _, o, out in outs:
        deliver(o.tensor, out, "recv")
    return [o.tensor for o in ops]
