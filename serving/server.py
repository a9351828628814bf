"""HTTP server of the chat-completions API: connections, paths, and answers."""

import contextlib
import io
import ipaddress
import json
import queue
import secrets
import socket
import socketserver
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote

from ..generation.language_model import LanguageModel
from ..generation.sampling import Sampling
from ..generation.scheduler import Request
from ..ir.errors import ArgumentError, IngotError
from ..ir.version import VERSION
from .answers import Answer, StoppedText, event
from .api_requests import ApiError, completion_request, parse
from .connection import BoundedReader, TooManyBytes, is_gone
from .text_engine import Busy, Engine

_POLL = 0.2         # seconds between looks whether a client is still there
_RENDERERS = 2      # processes that render chat templates at a time; each may take half a GiB
_LINE = 1 << 16     # bytes of the first line of a request
_DRAINED = 1 << 22, 2.0      # bytes and seconds of a refused body that are read, so that the client reads the answer
_REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Limits:
    """Sizes and times that a client may take.

    connections      open at a time; further ones get 503
    waiting          requests that wait for a row; further ones get 503
    header_bytes     of the lines before a body
    body_bytes       of a body
    header_seconds   from the opening of a connection, or the answer before, to the end of the header
    body_seconds     from there to the end of the body
    send_seconds     in which a client must take the next bytes of an answer
    """

    connections: int = 64
    waiting: int = 32
    header_bytes: int = 1 << 14
    body_bytes: int = 1 << 20
    header_seconds: float = 15.0
    body_seconds: float = 30.0
    send_seconds: float = 30.0


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A model at an address, for `with`. Port 0 takes a free one; `server_address` tells it."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, model: LanguageModel, limits: Limits, host: str = "127.0.0.1", port: int = 8080,
                 name: str = "model", sampling: Sampling | None = None):
        if model.tokenizer is None:
            raise ArgumentError("the file has no tokenizer, so it has no texts")
        self.tokenizer = model.tokenizer
        self.model, self.limits, self.host, self.name = model, limits, host, name
        self.sampling = sampling or Sampling()
        self.longest = model.context * max(map(len, model.tokenizer.tokens))      # characters of a prompt
        self.started = int(time.time())
        self.rendering = threading.BoundedSemaphore(_RENDERERS)
        self.engine = Engine(model, limits.waiting)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Handler)

    def __enter__(self):
        try:
            self.engine.start(self.sampling)
        except BaseException:
            self.server_close()
            raise
        return self

    def __exit__(self, *_):
        self.server_close()
        self.engine.stop()
        with self._lock:
            for sock in self._open:
                self.shutdown_request(sock)

    def process_request(self, request, client_address):
        """Start the thread of a connection, or refuse it."""
        with self._lock:
            full = len(self._open) >= self.limits.connections
            if not full:
                self._open.add(request)
        if full:
            request.settimeout(0)
            with contextlib.suppress(OSError):
                request.send(_REFUSAL)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:        # no thread can be started
            self._closed(request)
            self.shutdown_request(request)

    def process_request_thread(self, request, client_address):
        """Serve a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._closed(request)

    def _closed(self, request):
        with self._lock:
            self._open.discard(request)

    def handle_error(self, request, client_address):
        """Report a failure; a client that went away is none."""
        if not isinstance(sys.exc_info()[1], OSError):
            traceback.print_exc()

    def is_known_host(self, header: str | None) -> bool:
        """Return whether a request names this server: an address, localhost, or the host that it was told. Another name may be
        of a web page that had its name lead here."""
        host, _, port = (header or "").rpartition(":")
        host = (host if port.isdigit() else header or "").strip("[]").lower()
        if host in ("localhost", self.host.lower()):
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return True


class Handler(BaseHTTPRequestHandler):
    """One connection, with requests one after the other."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = f"ingot/{VERSION}", ""
    default_request_version = "HTTP/1.0"        # of a request without one: answers have headers
    disable_nagle_algorithm = True

    def setup(self):
        """Read the socket through limits."""
        super().setup()
        self.rfile.close()
        self.reader = BoundedReader(self.connection)
        self.rfile = io.BufferedReader(self.reader)

    def handle_one_request(self):
        """Serve one request; a client that is too slow, or sends too much, loses the connection."""
        limits = self.server.limits
        self.close_connection = True
        self.command, self.requestline, self.request_version = "", "", self.default_request_version
        try:
            self.reader.allow(limits.header_seconds, limits.header_bytes)
            self.raw_requestline = self.rfile.readline(_LINE + 1)
            if self.raw_requestline and self.parse_request():
                self.answer()
        except TooManyBytes:
            self.close_connection = True
            self.fail(ApiError(431, f"a header has up to {limits.header_bytes} bytes"))
            self.drain()
        except TimeoutError:
            self.close_connection = True

    def drain(self):
        """Read what a client goes on to send, within limits: closing a connection with unread bytes may lose the answer."""
        with contextlib.suppress(OSError, TooManyBytes):
            self.connection.shutdown(socket.SHUT_WR)
            most, seconds = _DRAINED
            self.reader.allow(seconds, most)
            while self.rfile.read1():
                pass

    def answer(self):
        """Answer a request whose header is read."""
        try:
            body = self.body()
        except ApiError as e:
            self.close_connection = True
            self.fail(e)
            self.drain()
            return
        try:
            if not self.server.is_known_host(self.headers.get("Host")):
                raise ApiError(403, "the header Host names another server")
            path = self.path.partition("?")[0]
            known = "/v1/models/" if path.startswith("/v1/models/") else path
            if known not in PATHS:
                raise ApiError(404, f"there is no path {path[:80]!a}")
            if self.command not in PATHS[known]:
                self.close_connection = True        # an answer to HEAD has no body that could follow
                raise ApiError(405, f"{known} takes {' and '.join(PATHS[known])}")
            PATHS[known][self.command](self, path, body)
        except ApiError as e:
            self.fail(e)
        except Busy:
            self.fail(ApiError(503, "too many requests wait", code="overloaded"))
        except IngotError as e:
            self.fail(ApiError(400, str(e)))

    def body(self) -> bytes:
        """Return the body of a request, all of it, so that the next request begins where it ends."""
        lengths = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or (self.command == "POST" and not lengths):
            raise ApiError(411, "a body needs the header Content-Length")
        text = lengths[0] if lengths else "0"
        if len(lengths) > 1 or not (text.isascii() and text.isdigit() and len(text) < 16):
            raise ApiError(400, "the header Content-Length is no number")
        size, limits = int(text), self.server.limits
        if size > limits.body_bytes:
            raise ApiError(413, f"a body has up to {limits.body_bytes} bytes, this one {size}")
        self.reader.allow(limits.body_seconds, size)
        body = self.rfile.read(size) if size else b""
        if len(body) < size:
            raise TimeoutError      # the client went away
        return body

    # Answers.

    def fail(self, error: ApiError):
        """Send an error."""
        self.send_json(error.status, error.body(), {"Retry-After": "1"} if error.status == 503 else {})

    def send_error(self, code, message=None, explain=None):
        """Send an error of the parser of headers as all others."""
        self.close_connection = True
        self.fail(ApiError(int(code), message or HTTPStatus(code).phrase))

    def send_json(self, status: int, value: dict, headers: dict | None = None):
        """Send a JSON object."""
        data = json.dumps(value).encode()
        self.begin(status, {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})})
        self.wfile.write(data)

    def begin(self, status: int, headers: dict):
        """Send the header of an answer."""
        self.connection.settimeout(self.server.limits.send_seconds)
        if self.close_connection:
            headers["Connection"] = "close"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format, *args):
        """Say nothing: addresses and paths of clients are their own."""

    # Paths.

    def health(self, path, body):
        """Say that the server runs."""
        self.send_json(200, {"status": "ok"})

    def models(self, path, body):
        """List the model."""
        self.send_json(200, {"object": "list", "data": [self.facts()]})

    def one_model(self, path, body):
        """Describe the model."""
        if unquote(path.removeprefix("/v1/models/")) != self.server.name:
            raise ApiError(404, f"there is no such model: this is {self.server.name!a}", "model", "model_not_found")
        self.send_json(200, self.facts())

    def facts(self) -> dict:
        """Return the facts about the model."""
        return {"id": self.server.name, "object": "model", "created": self.server.started, "owned_by": "ingot"}

    def chat(self, path, body):
        """Go on with a conversation."""
        self.complete(body, is_chat=True)

    def text(self, path, body):
        """Go on with a text."""
        self.complete(body, is_chat=False)

    def complete(self, body: bytes, is_chat: bool):
        """Write a text, and send it whole or as it comes."""
        if self.headers.get_content_type() != "application/json":       # which web pages cannot send elsewhere unasked
            raise ApiError(415, "the header Content-Type must be application/json")
        server = self.server
        request = completion_request(parse(body), is_chat, server.name, server.sampling)
        prompt = self.prompt_tokens(request.prompt, is_chat)
        seed = secrets.randbits(32) if request.seed is None else request.seed
        job = server.engine.submit(Request(prompt, request.sampling, seed, request.max_tokens, server.tokenizer.ends))
        try:
            pieces = self.pieces(job, StoppedText(request.stops))
            answer = Answer(is_chat, server.name, len(prompt))
            if request.stream:
                self.send_stream(pieces, answer, request.includes_usage)
            else:
                written = list(pieces)
                _, ended, count = written[-1]
                self.send_json(200, answer.whole("".join([text for text, _, _ in written]), ended, count))
        finally:
            server.engine.cancel(job)

    def prompt_tokens(self, prompt, is_chat) -> list[int]:
        """Return the tokens of a prompt."""
        model = self.server.model
        texts = [prompt] if type(prompt) is str else [m["content"] for m in prompt] if is_chat else []
        if sum(map(len, texts)) > self.server.longest:      # known before the time that tokens of a long text take
            raise ApiError(400, f"the prompt is too long for the {model.context} tokens that the model takes",
                           "messages" if is_chat else "prompt", "context_length_exceeded")
        if is_chat:
            with self.server.rendering:
                tokens = model.encode(prompt)
        else:
            tokens = model.encode(prompt)
        if not 0 < len(tokens) < model.context:
            raise ApiError(400, f"the prompt has {len(tokens)} tokens, and the model takes 1 to {model.context - 1}",
                           "messages" if is_chat else "prompt", "context_length_exceeded")
        return tokens

    def pieces(self, job, text: StoppedText):
        """Yield pieces of text, with why the text has ended, or None before, and the number of tokens; raise if the client or
        the engine goes away."""
        stream, count = self.server.tokenizer.stream(), 0
        while True:
            try:
                item = job.tokens.get(timeout=_POLL)
            except queue.Empty:
                item = ()
            if item is None:
                raise ApiError(500, "the text could not be written")
            if is_gone(self.connection):
                self.close_connection = True
                raise ConnectionAbortedError
            if not item:
                continue
            token, ended = item
            count += ended != "end"
            piece = text.add("" if ended == "end" else stream.add(token))
            if ended and not text.stopped:
                piece += text.add(stream.finish())
                piece += "" if text.stopped else text.finish()
            ended = "stop" if text.stopped else ended
            if piece or ended:
                yield piece, ended, count
            if ended:
                return

    def send_stream(self, pieces, answer: Answer, includes_usage: bool):
        """Send pieces of text as events, and close the connection behind them."""
        self.close_connection = True
        self.begin(200, {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        first, count = answer.first(), 0
        if first is not None:
            self.wfile.write(event(first))
        try:
            for text, ended, count in pieces:       # noqa: B007  (the last count is sent behind the text)
                self.wfile.write((event(answer.piece(text)) if text else b"") + (event(answer.last(ended)) if ended else b""))
        except ApiError as e:
            self.wfile.write(event(e.body()))
            return
        if includes_usage:
            self.wfile.write(event(answer.counts(count)))
        self.wfile.write(event("[DONE]"))


PATHS = {
    "/health": {"GET": Handler.health},
    "/v1/models": {"GET": Handler.models},
    "/v1/models/": {"GET": Handler.one_model},
    "/v1/chat/completions": {"POST": Handler.chat},
    "/v1/completions": {"POST": Handler.text},
}
