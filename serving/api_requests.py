"""Requests of the chat-completions API: JSON in, checked values out.

Each field has a check. A field that is missing or null has its default; one that is unknown, or asks for more than there is,
is an error that names it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from ..generation.sampling import Sampling
from ..jit.errors.parameters import meant

MOST_MESSAGES, MOST_STOPS, LONGEST_STOP = 4096, 16, 1024
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_SHOWN = 80         # characters of a wrong value


class ApiError(Exception):
    """An answer with an error: status of HTTP, message, and the field and code that clients read."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None):
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code

    def body(self) -> dict:
        """Return the answer."""
        name = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": self.message, "type": name, "param": self.param, "code": self.code}}


@dataclass(frozen=True)
class CompletionRequest:
    """A checked request. `prompt` is a text, token numbers, or messages of a chat."""

    prompt: Any
    sampling: Sampling
    seed: int | None
    max_tokens: int | None
    stops: tuple[str, ...]
    stream: bool
    includes_usage: bool


def parse(body: bytes) -> dict:
    """Return the JSON object of a body."""

    def refuse(name):
        raise ValueError(f"{name} is no number of JSON")

    try:
        value = json.loads(body.decode("utf-8"), parse_constant=refuse)
    except RecursionError:
        raise ApiError(400, "the body is nested too deeply") from None
    except ValueError as e:         # of JSON, of UTF-8, and for integers of too many digits
        raise ApiError(400, f"the body is no JSON: {str(e)[:200]}") from None
    if type(value) is not dict:
        raise ApiError(400, f"the body is a JSON object, got {_shown(value)}")
    return value


def completion_request(body: dict, is_chat: bool, model: str, default: Sampling) -> CompletionRequest:
    """Return the request of a body, for a model of this name; raise `ApiError` for one that cannot be served."""
    fields = FIELDS | (CHAT_FIELDS if is_chat else TEXT_FIELDS)
    unknown = next((name for name in body if name not in fields), None)
    if unknown is not None:
        shown = unknown[:_SHOWN]
        raise ApiError(400, f"there is no field {shown!a}{meant(shown, fields)}", shown, "unknown_parameter")
    values = {name: check(name, body[name]) for name, check in fields.items() if body.get(name) is not None}
    if values.get("model", model) != model:
        raise ApiError(404, f"there is no model {_shown(values['model'])}: this is {model!a}", "model", "model_not_found")
    needed = "messages" if is_chat else "prompt"
    if needed not in values:
        raise ApiError(400, f"{needed} is missing", needed, "missing_required_parameter")
    options = values.get("stream_options", {})
    if options and not values.get("stream"):
        raise ApiError(400, "stream_options needs stream", "stream_options")
    chosen = {name: values[name] for name in SAMPLING if name in values}
    return CompletionRequest(values[needed], replace(default, **chosen), values.get("seed"),
                             values.get("max_completion_tokens", values.get("max_tokens")), values.get("stop", ()),
                             values.get("stream", False), options.get("include_usage", False))


def _shown(value) -> str:
    text = ascii(value) if type(value) in (str, int, float, bool, type(None)) else f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _wrong(name, expected, value) -> ApiError:
    return ApiError(400, f"{name} is {expected}, got {_shown(value)}", name, "invalid_value")


def _integer(least: int, most: int) -> Callable:
    def check(name, value):
        if type(value) is not int or not least <= value <= most:
            raise _wrong(name, f"an integer from {least} to {most}", value)
        return value
    return check


def _number(least: float, most: float) -> Callable:
    def check(name, value):
        if type(value) not in (int, float) or not isfinite(value) or not least <= value <= most:
            raise _wrong(name, f"a number from {least:g} to {most:g}", value)
        return float(value)
    return check


def _text(name, value):
    if type(value) is not str:
        raise _wrong(name, "a text", value)
    return value


def _flag(name, value):
    if type(value) is not bool:
        raise _wrong(name, "true or false", value)
    return value


def _only(*allowed) -> Callable:
    """Return the check of a field that asks for what is not served, but for these values."""
    def check(name, value):
        if not any(type(value) is type(one) and value == one for one in allowed):
            raise ApiError(400, f"{name} is not served: give {' or '.join(map(json.dumps, allowed))}, or leave it out", name,
                           "unsupported_parameter")
        return value
    return check


def _ignored(name, value):
    """Accept a field that says nothing about the text."""
    return value


def _stops(name, value):
    stops = [value] if type(value) is str else value
    if type(stops) is not list or len(stops) > MOST_STOPS or not all(type(s) is str and 0 < len(s) <= LONGEST_STOP
                                                                     for s in stops):
        raise _wrong(name, f"a text, or up to {MOST_STOPS} of them, each of 1 to {LONGEST_STOP} characters", value)
    return tuple(stops)


def _stream_options(name, value):
    if type(value) is not dict or not value.keys() <= {"include_usage", "include_obfuscation"}:
        raise _wrong(name, "an object with include_usage", value)
    for key, flag in value.items():
        _flag(f"{name}.{key}", flag)
    return value


def _messages(name, value):
    if type(value) is not list or not 0 < len(value) <= MOST_MESSAGES:
        raise _wrong(name, f"a list of 1 to {MOST_MESSAGES} messages", value)
    return [_message(f"{name}[{i}]", message) for i, message in enumerate(value)]


def _message(name, value):
    if type(value) is not dict or not value.keys() <= {"role", "content", "name", "refusal"}:
        raise _wrong(name, 'an object such as {"role": "user", "content": "Hello"}', value)
    role = value.get("role")
    if type(role) is not str or role not in _ROLES:
        raise _wrong(f"{name}.role", f"one of {', '.join(_ROLES)}", role)
    if value.get("name") is not None:
        _text(f"{name}.name", value["name"])
    return {"role": _ROLES[role], "content": _content(f"{name}.content", value.get("content"))}


def _content(name, value):
    """Return a text; parts of a list are joined."""
    if type(value) is not list:
        return _text(name, value)
    for part in value:
        if type(part) is not dict or part.keys() != {"type", "text"} or part["type"] != "text":
            raise _wrong(name, 'a text, or a list of parts such as {"type": "text", "text": "Hello"}', value)
    return "".join([_text(f"{name}.text", part["text"]) for part in value])


def _prompt(name, value):
    """Return a text, or token numbers."""
    if type(value) is list and len(value) == 1 and type(value[0]) in (str, list):
        value = value[0]
    if type(value) is str or (type(value) is list and value and all(type(t) is int for t in value)):
        return value
    raise _wrong(name, "a text, or a list of token numbers; one for each request", value)


# Fields of `Sampling`. Temperatures and penalties are those of the API, others those that local servers add to it.
SAMPLING = {
    "temperature": _number(0, 2), "top_p": _number(0, 1), "frequency_penalty": _number(-2, 2),
    "presence_penalty": _number(-2, 2), "top_k": _integer(0, 1 << 20), "min_p": _number(0, 1),
    "repetition_penalty": _number(0.01, 100),
}
FIELDS = SAMPLING | {
    "model": _text, "max_tokens": _integer(1, 1 << 31), "seed": _integer(-1 << 63, (1 << 63) - 1), "stop": _stops,
    "stream": _flag, "stream_options": _stream_options, "n": _only(1), "logit_bias": _only({}), "user": _text,
    "metadata": _ignored, "store": _only(False),
}
CHAT_FIELDS = {
    "messages": _messages, "max_completion_tokens": _integer(1, 1 << 31), "logprobs": _only(False), "top_logprobs": _only(0),
    "response_format": _only({"type": "text"}), "tools": _only([]), "tool_choice": _only("none", "auto"),
    "functions": _only([]), "modalities": _only(["text"]), "parallel_tool_calls": _ignored, "service_tier": _ignored,
}
TEXT_FIELDS = {"prompt": _prompt, "best_of": _only(1), "echo": _only(False), "logprobs": _only(), "suffix": _only("")}
