"""Admission of callers to a listener: each proves itself in a thread of its own, within one time for the whole proof.

Callers that have not proved themselves are strangers. They are few, from one address and altogether. Beyond that number the one
that has waited longest is shown out, so strangers that say nothing leave room for callers that do.
"""

import contextlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable

from ....ir.locks import new_condition
from . import handshake

_MOST = 256             # strangers at once
_MOST_OF_ONE = 128      # of one address: the ranks of a machine with many cores may come together
_SHORT = 2.0            # seconds in which a caller on a busy machine has proved itself: nobody is shown out before


class Admission:
    """Listener that hands callers which know the secret to `serve(socket, deadline of their proof)`, in threads."""

    def __init__(self, listener: socket.socket, secret: bytes, serve: Callable[[socket.socket, float], None], name: str):
        self.listener, self._secret, self._serve, self._name = listener, secret, serve, name
        self._strangers: dict = {}          # socket: (address, when it came), the oldest first
        self._changed = new_condition()
        threading.Thread(target=self._accept, name=name, daemon=True).start()

    @property
    def count(self) -> int:
        """Number of strangers."""
        return len(self._strangers)

    def _accept(self):
        while True:
            try:
                caller, address = self.listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return          # it was closed
            caller.setblocking(True)
            if caller.family != getattr(socket, "AF_UNIX", None):
                caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._enter(caller, address[0] if isinstance(address, tuple) else "")
            threading.Thread(target=self._admit, args=(caller,), name=f"{self._name}-caller", daemon=True).start()

    def _enter(self, caller, address):
        """Count a stranger, once there is room; show the oldest one out after a short time."""
        with self._changed:
            while (oldest := self._in_the_way(address)) is not None:
                left = self._strangers[oldest][1] + _SHORT - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                del self._strangers[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)           # its thread closes it
            self._strangers[caller] = address, time.monotonic()

    def _in_the_way(self, address):
        """Return the oldest stranger of those that are too many for one more from an address; None if there is room."""
        counts = Counter([where for where, _ in self._strangers.values()])
        if counts[address] < _MOST_OF_ONE:
            if len(self._strangers) < _MOST:
                return None
            address = counts.most_common(1)[0][0]
        return next(s for s, (where, _) in self._strangers.items() if where == address)

    def _admit(self, caller):
        deadline = time.monotonic() + handshake.PATIENCE
        with caller:
            is_known = handshake.admit(caller, self._secret, deadline)
            with self._changed:
                was_waiting = self._strangers.pop(caller, None) is not None
                self._changed.notify_all()
            if is_known and was_waiting:
                self._serve(caller, deadline)

    def close(self):
        """Stop listening."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)        # wakes the thread that waits in accept
        self.listener.close()
