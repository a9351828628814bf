"""Answers of the chat-completions API, whole or as a stream of events, and the text that stop strings leave."""

import json
import secrets
import time
from collections.abc import Iterable

_FINISHED = {"end": "stop", "stop": "stop", "length": "length", "context": "length"}     # by why a text has ended


class StoppedText:
    """Text that ends before the first stop string. The start of one is held back until more text decides."""

    def __init__(self, stops: Iterable[str]):
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def add(self, text: str) -> str:
        """Return the text that no stop string can begin in."""
        self.held += text
        places = [self.held.find(stop) for stop in self.stops]
        first = min((place for place in places if place >= 0), default=-1)
        if first >= 0:
            self.stopped = True
            text, self.held = self.held[:first], ""
            return text
        size = max((_overlap(self.held, stop) for stop in self.stops), default=0)
        cut = len(self.held) - size
        text, self.held = self.held[:cut], self.held[cut:]
        return text

    def finish(self) -> str:
        """Return the text that was held back."""
        text, self.held = self.held, ""
        return text


def _overlap(text, stop) -> int:
    """Return the length of the longest end of a text that begins a stop string."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)


class Answer:
    """The shape of the answers to one request."""

    def __init__(self, is_chat: bool, model: str, prompt_tokens: int):
        self.is_chat, self.prompt_tokens = is_chat, prompt_tokens
        self._name = "chat.completion" if is_chat else "text_completion"
        self._head = {"id": f"{'chatcmpl' if is_chat else 'cmpl'}-{secrets.token_hex(12)}", "created": int(time.time()),
                      "model": model}

    def whole(self, text: str, ended: str, tokens: int) -> dict:
        """Return the answer with the whole text."""
        content = {"message": {"role": "assistant", "content": text, "refusal": None}} if self.is_chat else {"text": text}
        return {**self._head, "object": self._name, "choices": [self._choice(content, ended)], "usage": self.usage(tokens)}

    def first(self) -> dict | None:
        """Return the event before all text: the role, in a chat."""
        return self._event({"role": "assistant", "content": ""}) if self.is_chat else None

    def piece(self, text: str) -> dict:
        """Return the event of some text."""
        return self._event({"content": text} if self.is_chat else text)

    def last(self, ended: str) -> dict:
        """Return the event that says why the text has ended."""
        return self._event({} if self.is_chat else "", ended)

    def counts(self, tokens: int) -> dict:
        """Return the event with the numbers of tokens."""
        return {**self._event(""), "choices": [], "usage": self.usage(tokens)}

    def usage(self, tokens: int) -> dict:
        """Return the numbers of tokens."""
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": tokens, "total_tokens": self.prompt_tokens + tokens}

    def _event(self, content, ended=None):
        name = "chat.completion.chunk" if self.is_chat else self._name
        content = {"delta" if self.is_chat else "text": content}
        return {**self._head, "object": name, "choices": [self._choice(content, ended)]}

    @staticmethod
    def _choice(content, ended):
        return {"index": 0, **content, "logprobs": None, "finish_reason": None if ended is None else _FINISHED[ended]}


def event(value: dict | str) -> bytes:
    """Return a server-sent event."""
    return f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()
