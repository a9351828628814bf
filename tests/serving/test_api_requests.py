"""Bodies of requests: each field has its check, and whatever comes is one error that clients can read."""

import itertools
import json
import random

import pytest

from ingot.generation import Sampling
from ingot.serving.answers import StoppedText
from ingot.serving.api_requests import CHAT_FIELDS, FIELDS, TEXT_FIELDS, ApiError, completion_request, parse

MESSAGES = [{"role": "user", "content": "Hello"}]
BASE = {True: {"messages": MESSAGES}, False: {"prompt": "Hello"}}
WRONG = [True, False, 0, -1, 1, 2.5, 1e300, 10 ** 30, "", "x", "\ud800", [], [1], ["a"], [[]], [[1, "a"]], [None], {}, {"a": 1},
         [{}], [{"role": "user"}], [{"role": 1, "content": "a"}], [{"role": ["user"], "content": "a"}],
         [{"role": "user", "content": 1}], [{"role": "user", "content": [{"type": "text"}]}],
         [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}],
         [{"role": "user", "content": [{"type": "text", "text": ["a"]}]}], [{"role": "user", "content": "a", "x": 1}]]
# Values among WRONG that are right, by field.
RIGHT = {
    "temperature": [0, 1], "top_p": [0, 1], "frequency_penalty": [0, -1, 1], "presence_penalty": [0, -1, 1], "top_k": [0, 1],
    "min_p": [0, 1], "repetition_penalty": [1, 2.5], "model": ["x"], "max_tokens": [1], "max_completion_tokens": [1],
    "seed": [0, -1, 1], "stop": ["x", "\ud800", [], ["a"]], "stream": [True, False], "stream_options": [{}], "n": [1],
    "logit_bias": [{}], "user": ["", "x", "\ud800"], "metadata": WRONG, "store": [False], "messages": [],
    "logprobs": [False], "top_logprobs": [0], "response_format": [], "tools": [[]], "tool_choice": [], "functions": [[]],
    "modalities": [], "parallel_tool_calls": WRONG, "service_tier": WRONG, "prompt": ["", "x", "\ud800", [1], ["a"]],
    "best_of": [1], "echo": [False], "suffix": [""],
}


def is_right(field, value, is_chat):
    if field == "logprobs" and not is_chat:
        return False
    return any(type(value) is type(right) and value == right for right in RIGHT[field])


@pytest.mark.parametrize("is_chat", [True, False], ids=["chat", "text"])
def test_wrong_values_of_every_field(is_chat):
    fields = FIELDS | (CHAT_FIELDS if is_chat else TEXT_FIELDS)
    assert fields.keys() <= RIGHT.keys()
    for field, value in itertools.product(fields, WRONG):
        body = BASE[is_chat] | {field: value}
        try:
            completion_request(json.loads(json.dumps(body)), is_chat, "x", Sampling())
        except ApiError as error:
            assert not is_right(field, value, is_chat), (field, value)
            facts = error.body()["error"]
            assert (error.status, facts["type"]) == (404 if field == "model" and type(value) is str else 400,
                                                     "invalid_request_error")
            assert facts["param"].startswith(field) and len(facts["message"]) < 400 and "\n" not in facts["message"]
        else:
            assert is_right(field, value, is_chat), (field, value)


@pytest.mark.parametrize("field", FIELDS | CHAT_FIELDS | TEXT_FIELDS)
def test_null_is_the_default(field):
    for is_chat in (True, False):
        if field in FIELDS | (CHAT_FIELDS if is_chat else TEXT_FIELDS) and field not in BASE[is_chat]:
            want = completion_request(BASE[is_chat], is_chat, "x", Sampling())
            assert completion_request(BASE[is_chat] | {field: None}, is_chat, "x", Sampling()) == want


@pytest.mark.parametrize("body, message", [
    ({"prompt": "a", "tempurature": 1}, "no field 'tempurature'; did you mean 'temperature'"),
    ({"prompt": "a", "x" * 10 ** 5: 1}, "no field"),
    ({"prompt": "a", "messages": MESSAGES}, "no field 'messages'"),
    ({"max_tokens": 1}, "prompt is missing"),
    ({"prompt": None}, "prompt is missing"),
    ({"prompt": "a", "stream_options": {"include_usage": True}}, "needs stream"),
    ({"prompt": "a", "stream": True, "stream_options": {"include_usage": 1}}, "include_usage is true or false"),
    ({"prompt": "a", "model": "gpt"}, "no model 'gpt': this is 'x'"),
    ({"prompt": "a", "stop": ["a"] * 17}, "up to 16"),
    ({"prompt": "a", "stop": "a" * 1025}, "1 to 1024 characters"),
], ids=range(10))
def test_errors_name_the_field(body, message):
    with pytest.raises(ApiError) as error:
        completion_request(body, False, "x", Sampling())
    assert message in error.value.message and len(error.value.message) < 400


def test_fields_are_read():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    body = {"model": "x", "messages": [{"role": "developer", "content": parts},
                                       {"role": "user", "content": "c", "name": "d"}],
            "temperature": 0.5, "top_p": 0.25, "seed": -3, "stop": "e", "max_tokens": 5, "max_completion_tokens": 6,
            "stream": True, "stream_options": {"include_usage": True}, "top_k": 7, "user": "f"}
    request = completion_request(body, True, "x", Sampling(min_p=0.125))
    assert request.prompt == [{"role": "system", "content": "ab"}, {"role": "user", "content": "c"}]
    assert request.sampling == Sampling(0.5, 7, 0.25, 0.125)
    assert (request.seed, request.stops, request.max_tokens) == (-3, ("e",), 6) and request.stream and request.includes_usage


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"1", b"null", b'"a"', b"\xff{}", b"\xef\xbb\xbf{}", b'{"a": NaN}', b'{"a": -Infinity}', b'{"a": 1e}',
    b"[" * 10 ** 6, b'{"a":' * 10 ** 6, b'{"a": ' + b"9" * 10 ** 5 + b"}", b'{"a": "\x00"}', b"{'a': 1}", b"{}{}",
], ids=range(17))
def test_bodies_that_are_no_object(body):
    with pytest.raises(ApiError) as error:
        parse(body)
    assert error.value.status == 400 and len(error.value.message) < 400


def test_numbers_too_large_for_floats_are_infinite_and_refused():
    with pytest.raises(ApiError, match="temperature is a number from 0 to 2, got inf"):
        completion_request(parse(b'{"prompt": "a", "temperature": 1e999}'), False, "x", Sampling())


@pytest.mark.parametrize("seed", range(20))
def test_text_ends_before_the_first_stop(seed):
    """Random texts in random pieces: what comes out is the text up to the first stop string, and never more than that."""
    rng = random.Random(seed)
    for _ in range(100):
        text = "".join(rng.choices("ab\n", k=rng.randrange(30)))
        stops = ["".join(rng.choices("ab\n", k=rng.randrange(1, 5))) for _ in range(rng.randrange(4))]
        want = min([text[:text.find(s)] for s in stops if s in text], key=len, default=text)
        stopped, out, at = StoppedText(stops), "", 0
        while at < len(text) and not stopped.stopped:
            size = rng.randrange(1, 6)
            out += stopped.add(text[at:at + size])
            at += size
            assert want.startswith(out)
        out += "" if stopped.stopped else stopped.finish()
        assert stopped.stopped == any(s in text for s in stops)
        assert out == want or (stopped.stopped and any(out + s in text for s in stops))
        assert out == want
