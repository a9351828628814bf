"""Texts that are written at the same time, of different lengths, each in a row of one cache.

A prompt is taken in by parts of up to `PART` tokens, one row at a time. Then each step writes one token of every text that
runs: decoder, cache, choice and the new tokens are one recording, for all lengths and numbers of texts. A row that is free
takes the next text, while others run.

A token depends on its own text alone, bit for bit: products give a row the same bits for any number of rows up to eight, and
attention adds exact zeros for slots that a text does not see. More rows than eight of stored weights are another kernel, which
rounds otherwise.
"""

from ..ir import dtype as dt
from ..jit.tracing.trace import trace
from ..runtime.api.math.elementwise import where
from ..runtime.api.views.ranges import arange
from ..runtime.api.views.tensor_factories import tensor, zeros
from ..runtime.autograd.grad_mode import no_grad
from .decoder import Decoder
from .kv_cache import KeyValueCache
from .sampling import Form, Sampler, Sampling

PART = 512          # tokens of a prompt at once; products of more rows are no faster
_SLOTS = {"slots": {0: "slots"}, "window_slots": {0: "window_slots"}}       # sizes that are symbols from the start


class Text:
    """A text in a row: tokens of the prompt that are not taken in yet, and the number of tokens so far."""

    def __init__(self, prompt: list[int], sampling: Sampling, seed: int):
        self.prompt, self.sampling, self.seed = prompt, sampling, seed
        self.taken_in = 0
        self.length = len(prompt)

    @property
    def runs(self) -> bool:
        """Whether the prompt is taken in, but for its last token, which is the input of the first step."""
        return self.taken_in == len(self.prompt) - 1


class Batch:
    """Rows for texts: `start` one, `read` its prompt part by part, then `step` until it is ended.

    cache    format of keys and values (`kv_cache.FORMATS`)
    texts    {row: text}
    """

    def __init__(self, decoder: Decoder, context: int, rows: int = 1, cache: str = "f32"):
        self.decoder, self.context, self.rows = decoder, context, rows
        self.cache = KeyValueCache(decoder.config, context, rows, cache)
        self.texts: dict[int, Text] = {}
        self._width = context + 1               # the last token of a full text is no input
        self._tokens = zeros(rows, self._width, dtype=dt.int64)
        self._runs = zeros(rows, dtype=dt.int64)
        self._numbers = arange(rows)            # of rows
        self._sampler = Sampler(self._tokens, decoder.config.vocabulary)
        self._steps: dict = {}
        self._take_in = trace(
            lambda tokens, rows, slots, window_slots: decoder.hidden(tokens, self.cache, slots, window_slots, rows),
            dynamic=_SLOTS | {"tokens": {1: "tokens"}}, fullgraph=True)

    def free_row(self) -> int | None:
        """Return the first row without a text. Steps compute the rows up to the last one that is in use."""
        return next((row for row in range(self.rows) if row not in self.texts), None)

    def start(self, row: int, prompt: list[int], sampling: Sampling, seed: int):
        """Begin a text in a row. Its prompt has at least one token, and fewer than the context."""
        self.end(row)
        self.texts[row] = Text(prompt, sampling, seed)
        self._begin_to_run(row)

    def end(self, row: int):
        """Free a row."""
        self.texts.pop(row, None)
        self._runs[row] = 0
        self.cache.length[row] = 0

    def read(self, row: int):
        """Take in one part of the prompt of a text, if there is one left."""
        text = self.texts[row]
        if text.runs:
            return
        size = min(PART, max(self.cache.window, 2))         # longer parts would be recordings of their own
        part = text.prompt[text.taken_in:-1][:size]
        # Two tokens keep one from being a recording of its own. The next token is written over the second.
        padded = part if len(part) > 1 else part * 2
        with no_grad():
            self.cache.length[row] = text.taken_in
            self._take_in(tensor([padded], dtype=dt.int64), tensor([row], dtype=dt.int64), *self.cache.slots(text.taken_in))
        text.taken_in += len(part)
        self.cache.length[row] = text.taken_in
        self._begin_to_run(row)

    def _begin_to_run(self, row):
        """Let steps go on with a text whose prompt is taken in.

        Steps write the next slot, token and counts of rows without such a text as well. Only now does a text need these.
        """
        text = self.texts[row]
        if text.runs:
            self._sampler.start(row, text.sampling, text.seed, text.prompt)
            self._tokens[row, :text.length] = tensor(text.prompt, dtype=dt.int64)
            self._runs[row] = 1

    def step(self) -> dict[int, int]:
        """Return the next token of each text that runs, by row. A text may not be longer than the context."""
        running = {row: text for row, text in self.texts.items() if text.runs}
        if not running:
            return {}
        count = min(max(max(running) + 1, 2), self.rows)        # one row of several would be a recording of its own
        slots = self.cache.slots(max(text.length for text in running.values()))
        with no_grad():
            tokens = self._step_of(running.values())(self._numbers[:count], *slots).tolist()
        for text in running.values():
            text.length += 1
        return {row: tokens[row] for row in running}

    def _step_of(self, texts):
        """Return the traced step for texts: a recorded one with all that they need, or a new one."""
        form = Form.of([text.sampling for text in texts])
        fits = [known for known in self._steps if known >= form]
        if fits:
            return self._steps[min(fits, key=len)]

        def step(rows, slots, window_slots):
            count = rows.shape[0]
            length = self.cache.length[:count].clone()
            known = self._sampler.prepared(rows, length + 1)
            tokens = self._tokens.flatten()[rows * self._width + length]
            logits = self.decoder(tokens[:, None], self.cache, slots, window_slots, rows)[:, 0]
            tokens = self._sampler.choose(logits, form, known)
            # No write by index, whose check would come behind those of the cache.
            self._tokens[:count] = where(arange(self._width) == length[:, None] + 1, tokens[:, None], self._tokens[:count])
            self.cache.length[:count] = length + self._runs[:count]
            return tokens

        several = {"rows": {0: "rows"}} if self.rows > 1 else {}
        self._steps[form] = trace(step, dynamic=_SLOTS | several, fullgraph=True)
        return self._steps[form]

    def stats(self) -> dict:
        """Return the statistics of the traced functions by name."""
        return {"prompt": self._take_in.stats()} | {f"step {sorted(form, key=str)}": step.stats()
                                                    for form, step in self._steps.items()}
