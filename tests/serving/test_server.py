"""The server as clients meet it: answers, several clients at a time, and clients that are slow, large, broken or gone."""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tiny_language_models as tiny
from ingot import generation
from ingot.__main__ import main
from ingot.generation import Sampling
from ingot.serving import Limits, Server
from ingot.utils import gguf

TEMPLATE = ("{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
            "<|im_start|>{{ m.role }} {{ m.content }}<|im_end|>{% endfor %}<|im_start|>assistant ")
LIMITS = Limits(connections=6, waiting=1, header_bytes=4096, body_bytes=20_000, header_seconds=1.0, body_seconds=0.5,
                send_seconds=2.0)
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    tiny.VARIANTS["long"] = ("llama", {"context": 4096})
    path = tmp_path_factory.mktemp("models") / "m.gguf"
    tiny.write(path, "long", seed=2, **{"tokenizer.chat_template": TEMPLATE})
    del tiny.VARIANTS["long"]
    return path


@pytest.fixture(scope="module")
def server(path):
    with Server(generation.load(path, 4096, rows=2), LIMITS, port=0, name="tiny") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def single(path):
    return generation.load(path)


@pytest.fixture(autouse=True)
def leaves_nothing_behind(server):
    """All rows and connections are free again."""
    yield
    wait_for(lambda: not server.engine._jobs and not server.model.batch.texts and not server._open)


def wait_for(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def ask(server, path, body=None, method=None, headers=None, host=None):
    """Return (status, object) of a request."""
    connection = http.client.HTTPConnection(*server.server_address, timeout=20)
    with contextlib.closing(connection):
        data = body if body is None or type(body) is bytes else json.dumps(body).encode()
        connection.request(method or ("GET" if body is None else "POST"), path, data, JSON if headers is None else headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None


def events(server, path, body):
    """Return the objects of a stream of events."""
    connection = http.client.HTTPConnection(*server.server_address, timeout=20)
    with contextlib.closing(connection):
        connection.request("POST", path, json.dumps(body | {"stream": True}), JSON)
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream")
        *parts, end, after = answer.read().decode().split("\n\n")
        assert (end, after) == ("data: [DONE]", "") and all(p.startswith("data: ") for p in parts)
        return [json.loads(p.removeprefix("data: ")) for p in parts]


def sent(server, data: bytes, pause=0.0, size=1 << 20) -> bytes:
    """Send bytes, some at a time, and return all that comes back."""
    with socket.create_connection(server.server_address, timeout=20) as sock:
        for at in range(0, len(data), size):
            with contextlib.suppress(ConnectionError):
                sock.sendall(data[at:at + size])
            time.sleep(pause)
        out = b""
        with contextlib.suppress(ConnectionError):
            while part := sock.recv(1 << 16):
                out += part
        return out


# Answers.


def test_a_text(server, single):
    body = {"model": "tiny", "prompt": "ab th", "max_tokens": 12, "seed": 5, "temperature": 0.7}
    status, answer = ask(server, "/v1/completions", body)
    assert status == 200 and re.fullmatch("cmpl-[0-9a-f]{24}", answer.pop("id"))
    assert abs(answer.pop("created") - time.time()) < 99
    want = "".join(single.generate("ab th", 12, Sampling(0.7), seed=5))
    assert answer == {"object": "text_completion", "model": "tiny", "usage": {
        "prompt_tokens": 4, "completion_tokens": 12, "total_tokens": 16}, "choices": [
            {"index": 0, "text": want, "logprobs": None, "finish_reason": "length"}]}
    tokens = single.encode("ab th")
    assert ask(server, "/v1/completions", body | {"prompt": [tokens]})[1]["choices"][0]["text"] == want
    parts = events(server, "/v1/completions", body | {"stream_options": {"include_usage": True}})
    assert "".join(p["choices"][0]["text"] for p in parts[:-1]) == want and len({p["id"] for p in parts}) == 1
    assert (parts[-1]["choices"], parts[-1]["usage"]["completion_tokens"]) == ([], 12)


def test_a_chat(server, single):
    pytest.importorskip("jinja2")
    messages = [{"role": "user", "content": "ab"}]
    body = {"messages": messages, "max_completion_tokens": 10, "temperature": 0}
    status, answer = ask(server, "/v1/chat/completions", body)
    want = "".join(single.generate(messages, 10, Sampling(temperature=0)))
    assert (status, answer["object"], answer["choices"]) == (200, "chat.completion", [
        {"index": 0, "message": {"role": "assistant", "content": want, "refusal": None}, "logprobs": None,
         "finish_reason": "length"}])
    parts = events(server, "/v1/chat/completions", body)
    assert {p["object"] for p in parts} == {"chat.completion.chunk"}
    assert parts[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(p["choices"][0]["delta"].get("content", "") for p in parts) == want
    assert [p["choices"][0]["finish_reason"] for p in parts] == [None] * (len(parts) - 1) + ["length"]
    status, answer = ask(server, "/v1/chat/completions", {"messages": [{"role": "system", "content": "a"}]})
    assert status == 400 and "no system role" in answer["error"]["message"]


def test_stops_end_a_text(server, single):
    want = "".join(single.generate("ab", 30, Sampling(temperature=0)))
    stop = want[9:12]
    body = {"prompt": "ab", "max_tokens": 30, "temperature": 0, "stop": ["no such text", stop]}
    choice = ask(server, "/v1/completions", body)[1]["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == (want[:want.find(stop)], "stop")
    parts = events(server, "/v1/completions", body)
    assert "".join(p["choices"][0]["text"] for p in parts) == choice["text"]


def test_models_and_paths(server):
    status, answer = ask(server, "/v1/models")
    assert status == 200 and [m["id"] for m in answer["data"]] == ["tiny"]
    assert ask(server, "/v1/models/tiny")[1] == answer["data"][0]
    assert ask(server, "/health?x=1") == (200, {"status": "ok"})
    for path, method, status in (("/v1/models/other", "GET", 404), ("/v1/models/../../etc/passwd", "GET", 404),
                                 ("/", "GET", 404), ("/v1/completions", "GET", 405), ("/v1/models", "DELETE", 405)):
        found, answer = ask(server, path, method=method)
        assert found == status and set(answer["error"]) == {"message", "type", "param", "code"}


def test_several_clients_at_a_time(server, single):
    """Three requests on two rows: their texts are those alone."""
    bodies = [{"prompt": "ab" * n, "max_tokens": 40, "seed": n, "temperature": n / 2} for n in range(1, 4)]
    answers = [None] * 3

    def client(i):
        answers[i] = ask(server, "/v1/completions", bodies[i])[1]["choices"][0]["text"]

    threads = [threading.Thread(target=client, args=(i,)) for i in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert answers == ["".join(single.generate(b["prompt"], 40, Sampling(b["temperature"]), b["seed"])) for b in bodies]


def test_a_connection_serves_several_requests(server):
    connection = http.client.HTTPConnection(*server.server_address, timeout=20)
    with contextlib.closing(connection):
        for body, status in (({"prompt": "a", "max_tokens": 1}, 200), ({"prompt": "a", "max_tokens": 0}, 400),
                             ({"prompt": "a", "max_tokens": 2}, 200)):
            connection.request("POST", "/v1/completions", json.dumps(body), JSON)
            answer = connection.getresponse()
            assert answer.status == status and json.loads(answer.read())
            sock = connection.sock
        assert sock is not None


# Requests that are refused.


REFUSED = {
    "no object": ({"prompt": 1}, {}, 400), "deep": (b"[" * 19_000, {}, 400), "no JSON": (b"{", {}, 400),
    "NaN": (b'{"prompt": "a", "temperature": NaN}', {}, 400), "no UTF-8": (b'{"prompt": "\xff"}', {}, 400),
    "no token": ({"prompt": [10 ** 9]}, {}, 400), "long": ({"prompt": "ab" * 5000}, {}, 400),
    "a form": (b"prompt=a", {"Content-Type": "text/plain"}, 415), "no type": (b"{}", {"Content-Type": ""}, 415),
    "large": (b"x" * 20_001, {}, 413), "another name": (b"{}", {"Host": "evil.example"}, 403),
    "another name with a port": (b"{}", {"Host": "evil.example:80"}, 403),
}


@pytest.mark.parametrize("body, headers, status", REFUSED.values(), ids=REFUSED)
def test_refused_bodies(body, headers, status, server):
    found, answer = ask(server, "/v1/completions", body, headers=JSON | headers)
    assert found == status and answer["error"]["message"] and "\n" not in answer["error"]["message"]


def test_a_text_that_is_too_long_is_refused_before_it_is_read(server, monkeypatch):
    monkeypatch.setattr(server.model, "encode", None)
    monkeypatch.setattr(server, "longest", 100)
    for path, body in (("/v1/completions", {"prompt": "a" * 101}),
                       ("/v1/chat/completions", {"messages": [{"role": "user", "content": "a" * 51}] * 2})):
        status, answer = ask(server, path, body)
        assert (status, answer["error"]["code"]) == (400, "context_length_exceeded")


HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
RAW = {
    "no length": (HEAD + b"\r\n{}", b"411"), "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"411"),
    "two lengths": (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"400"),
    "a length below 0": (HEAD + b"Content-Length: -2\r\n\r\n{}", b"400"),
    "a length with a sign": (HEAD + b"Content-Length: +2\r\n\r\n{}", b"400"),
    "a length in other digits": (HEAD + "Content-Length: ²\r\n\r\n{}".encode(), b"400"),
    "a huge length": (HEAD + b"Content-Length: " + b"9" * 15 + b"\r\n\r\n{}", b"413"),
    "a length of many digits": (HEAD + b"Content-Length: " + b"9" * 3000 + b"\r\n\r\n{}", b"400"),
    "a long line": (b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\n\r\n", b"431"),
    "large headers": (HEAD + b"X: " + b"a" * 5000 + b"\r\n\r\n", b"431"),
    "many headers": (HEAD + b"".join(b"X%d: a\r\n" % i for i in range(120)) + b"\r\n", b"431"),
    "an endless header": (HEAD + b"X: a\r\n" * 100_000, b"431"),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
    "another version": (b"GET / HTTP/9.9\r\n\r\n", b"505"), "zeros": (b"\0" * 10_000, b"431"),
    "a folded name": (b"GET /v1/models HTTP/1.1\r\nHost : localhost\r\nConnection: close\r\n\r\n", b"403"),
}


@pytest.mark.parametrize("data, status", RAW.values(), ids=RAW)
def test_broken_requests(data, status, server):
    answer = sent(server, data)
    assert answer.split(b" ", 2)[1] == status and b"Traceback" not in answer


@pytest.mark.parametrize("data, seconds", [
    (b"", 1.0), (b"POST /v1/completions HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1.0),
    (HEAD + b"Content-Length: 1000\r\n\r\n{\"prompt\": ", 1.5)], ids=["nothing", "a header", "a body"])
def test_slow_senders_lose_the_connection(data, seconds, server):
    """Bytes that keep coming do not move the deadline."""
    start = time.monotonic()
    with socket.create_connection(server.server_address, timeout=20) as sock, contextlib.suppress(ConnectionError):
        sock.sendall(data)
        while time.monotonic() - start < 10:
            sock.sendall(b"a" if data else b"")
            sock.settimeout(0.05)
            try:
                if not sock.recv(1000):
                    break
            except TimeoutError:
                pass
    assert time.monotonic() - start < seconds + 2


def test_connections_are_bounded(server):
    with contextlib.ExitStack() as stack:
        for _ in range(LIMITS.connections):
            stack.enter_context(socket.create_connection(server.server_address))
        wait_for(lambda: len(server._open) == LIMITS.connections)
        assert sent(server, b"").startswith(b"HTTP/1.1 503 ")
    wait_for(lambda: not server._open)
    assert ask(server, "/health")[0] == 200


@contextlib.contextmanager
def long_text(server, stream=True):
    """Ask for a text that takes long; give the socket, behind the first bytes of a stream."""
    body = json.dumps({"prompt": "a", "max_tokens": 4000, "stream": stream}).encode()
    with socket.create_connection(server.server_address, timeout=20) as sock:
        sock.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        if stream:
            assert b"200 OK" in sock.recv(100)
        yield sock


def test_waiting_requests_are_bounded(server):
    server.model.tokenizer.ends, ends = set(), server.model.tokenizer.ends
    try:
        with long_text(server), long_text(server), long_text(server, stream=False):
            wait_for(lambda: len(server.engine._jobs) == 3)
            status, answer = ask(server, "/v1/completions", {"prompt": "a", "max_tokens": 1})
            assert (status, answer["error"]["code"]) == (503, "overloaded")
    finally:
        server.model.tokenizer.ends = ends


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_frees_its_row(stream, server):
    server.model.tokenizer.ends, ends = set(), server.model.tokenizer.ends
    try:
        with long_text(server, stream):
            wait_for(lambda: server.model.batch.texts)
        wait_for(lambda: not server.engine._jobs, 3)
    finally:
        server.model.tokenizer.ends = ends


def test_a_failure_of_a_step_is_an_error_of_its_clients(server, monkeypatch, capfd):
    with monkeypatch.context() as patch:
        patch.setattr(server.model.batch, "step", lambda: 1 / 0)
        status, answer = ask(server, "/v1/completions", {"prompt": "a", "max_tokens": 3})
        assert (status, answer["error"]["type"]) == (500, "server_error") and "Zero" not in answer["error"]["message"]
    assert "ZeroDivisionError" in capfd.readouterr().err
    assert ask(server, "/v1/completions", {"prompt": "a", "max_tokens": 3})[0] == 200


# The command.


def test_an_interrupt_ends_the_command(path):
    words = [sys.executable, "-m", "ingot", "serve", str(path), "--port", "0", "--rows", "1", "--threads", "1"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2].parent) as process:
        line = process.stderr.readline()
        port = int(re.search(r"http://127.0.0.1:(\d+)/v1, 1 texts at a time", line)[1])
        with long_text(type("Address", (), {"server_address": ("127.0.0.1", port)})):
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
        assert process.stderr.read() == "interrupted\n"


@pytest.mark.parametrize("words, code, message", [
    (["--port", "70000"], 2, "--port takes 0 to 65535"),
    (["--rows", "0"], 1, "1 to 256 rows"),
    (["--waiting", "-1"], 2, "--waiting takes"),
    (["--temperature", "nan"], 1, "temperature is nan"),
    (["--host", "no.such.host.invalid"], 1, ""),
], ids=str)
def test_wrong_words(words, code, message, path, capsys):
    assert main(["serve", str(path), *words]) == code
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1 and message in err


def test_a_model_without_tokenizer_is_refused(tmp_path):
    s = tiny.sizes_of("llama")
    gguf.save(tiny.tensors_of(s), tmp_path / "m.gguf", {k: v for k, v in tiny.metadata_of(s).items() if "tokenizer" not in k})
    assert main(["serve", str(tmp_path / "m.gguf")]) == 1


@pytest.mark.slow
def test_the_client_of_openai(server, single):
    openai = pytest.importorskip("openai")
    host, port = server.server_address
    client = openai.OpenAI(base_url=f"http://{host}:{port}/v1", api_key="none", max_retries=0)
    assert [m.id for m in client.models.list()] == ["tiny"]
    messages = [{"role": "user", "content": "ab"}]
    want = "".join(single.generate(messages, 10, Sampling(temperature=0)))
    chosen = {"model": "tiny", "messages": messages, "max_tokens": 10, "temperature": 0}
    answer = client.chat.completions.create(**chosen)
    assert (answer.choices[0].message.content, answer.usage.completion_tokens) == (want, 10)
    pieces = list(client.chat.completions.create(**chosen, stream=True, stream_options={"include_usage": True}))
    assert "".join(p.choices[0].delta.content or "" for p in pieces if p.choices) == want
    assert pieces[-1].usage.completion_tokens == 10
    assert client.completions.create(model="tiny", prompt="ab", max_tokens=3).choices[0].finish_reason in ("length", "stop")
    with pytest.raises(openai.NotFoundError, match="no model 'gpt-4o'"):
        client.chat.completions.create(model="gpt-4o", messages=messages)
    with pytest.raises(openai.BadRequestError, match="temperature"):
        client.chat.completions.create(model="tiny", messages=messages, temperature=7)
    client.close()
