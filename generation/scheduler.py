"""Continuous batching: requests wait for a row of a batch, and join and leave while others run."""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from .batch import Batch
from .sampling import Sampling


@dataclass(eq=False)
class Request:
    """A text to write.

    prompt       its tokens
    max_tokens   most tokens to write; None for as many as the context has room for
    ends         tokens that end the text
    count        number of tokens that were written, without one that ends it
    ended        why it was ended: "end" by such a token, "length" by `max_tokens`, "context" because it is full; or None
    """

    prompt: list[int]
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    max_tokens: int | None = None
    ends: Collection[int] = ()
    count: int = 0
    ended: str | None = None


class Scheduler:
    """Requests that wait, and those in rows of a batch. One thread calls it."""

    def __init__(self, batch: Batch):
        self.batch = batch
        self.waiting: deque[Request] = deque()
        self.running: dict[int, Request] = {}

    def add(self, request: Request):
        """Let a request wait for a row."""
        self.waiting.append(request)

    def cancel(self, request: Request):
        """Drop a request; its row is free at once."""
        if request in self.waiting:
            self.waiting.remove(request)
        for row in [row for row, other in self.running.items() if other is request]:
            self._free(row)

    def advance(self) -> list[tuple[Request, int]]:
        """Give free rows to requests, take in one part of a prompt, and write one token of each text. Return these tokens.

        A prompt delays the texts that run by one part between two tokens. A request whose `ended` is set has left its row.
        """
        while self.waiting and (row := self.batch.free_row()) is not None:
            request = self.running[row] = self.waiting.popleft()
            self.batch.start(row, request.prompt, request.sampling, request.seed)
        reading = next((row for row in self.running if not self.batch.texts[row].runs), None)
        if reading is not None:
            self.batch.read(reading)
        written = []
        for row, token in self.batch.step().items():
            request = self.running[row]
            if token in request.ends:
                request.ended = "end"
            else:
                request.count += 1
                full = self.batch.texts[row].length == self.batch.context
                request.ended = "length" if request.count == request.max_tokens else "context" if full else None
            written.append((request, token))
            if request.ended:
                self._free(row)
        return written

    def _free(self, row):
        del self.running[row]
        self.batch.end(row)
