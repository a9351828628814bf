"""`ingot serve`: a language model behind the chat-completions API, over HTTP.

    with Server(model, Limits(), "127.0.0.1", 8080) as server:
        server.serve_forever()

A thread of the `Server` reads each connection (`connection` limits bytes and time), `api_requests` checks the JSON, and the
one thread of `Engine` (`text_engine`) runs all texts in the rows of the model's batch. `answers` writes what clients expect.
Nothing that comes from the network is code, a path, or a format of a message; sizes are checked before memory is taken.
"""

from .server import Limits, Server

__all__ = ["Limits", "Server"]
