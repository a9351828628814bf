"""Store of ranks that an engine has connected: rank 0 keeps it, and the engine carries requests and answers.

So it opens no port, needs no secret, and reaches all ranks that the engine reaches.
"""

import itertools
import threading

import numpy as np

from ..engines.engine import Engine
from ..stores.distributed_errors import DistBackendError
from ..stores.socket_messages import packed_fields, unpacked_fields
from ..stores.store import DEFAULT_TIMEOUT, Store, Table
from ..stores.store_service import GRACE, RemoteTable, reply_to

_REQUESTS = (-1, 0)     # channel to rank 0; answers come back on one for each thread that asks
_NOTE = "the store"


class StoreByMessages(Store):
    """Store of a run that an engine has connected."""

    def __init__(self, engine: Engine, timeout=DEFAULT_TIMEOUT):
        super().__init__(timeout)
        if engine.rank:
            self.table = _TableOfRank0(engine)
            return
        self._engine, self.table = engine, Table()
        engine.inbox.serve(_REQUESTS, self._take)

    def _take(self, sender: int, body: np.ndarray):
        """Answer a request in a thread of its own, since it may wait for another one."""
        threading.Thread(target=self._answer, args=(sender, body), name="ingot-store-answer", daemon=True).start()

    def _answer(self, sender: int, body: np.ndarray):
        number, name, *args = unpacked_fields(body)
        reply = reply_to(self.table, name, args)
        self._engine.send([sender], (_REQUESTS[0], int(number)), _NOTE, _memory(reply))


class _TableOfRank0(RemoteTable):
    """Table of the store, used from another rank."""

    def __init__(self, engine: Engine):
        super().__init__("of rank 0")
        self._engine, self._count, self._here = engine, itertools.count(1), threading.local()

    def _exchanged(self, fields: list, patience: float) -> list:
        if not hasattr(self._here, "number"):
            self._here.number = next(self._count)
        inbox, channel = self._engine.inbox, (_REQUESTS[0], self._here.number)
        ticket = inbox.ticket(0, channel)
        try:
            self._engine.send([0], _REQUESTS, _NOTE, _memory([str(self._here.number).encode(), *fields]))
            return unpacked_fields(inbox.receive(0, channel, ticket, patience + GRACE, _NOTE).body)
        except DistBackendError as e:
            raise self.gone(e) from e


def _memory(fields: list) -> np.ndarray:
    return np.frombuffer(b"".join(packed_fields(fields)), np.uint8)
