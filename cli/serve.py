"""`ingot serve model.gguf`: a language model behind the chat-completions API."""

import ipaddress
from pathlib import Path

from ..ir.lazy import lazy
from ..runtime.cpu.calls import pool
from .console import UsageError, report
from .generate import add_sampling, sampling_of

generation = lazy(__package__, "..generation")
serving = lazy(__package__, "..serving")
_LARGEST = 65535        # of ports


def add_arguments(parser):
    """Add the command's arguments."""
    parser.add_argument("model", help="a GGUF file of a language model")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine alone)")
    parser.add_argument("--port", type=int, default=8080, help="port to listen on; 0 takes a free one (default: 8080)")
    parser.add_argument("--name", help="name of the model for clients (default: the file's)")
    parser.add_argument("--rows", type=int, default=4, help="texts that are written at a time (default: 4)")
    parser.add_argument("--waiting", type=int, default=32, help="requests that may wait for a row (default: 32)")
    parser.add_argument("--context", type=int, help="most tokens of prompt and text (default: 4096, or the model's)")
    parser.add_argument("--cache", default="f32", help="numbers of the cache: f32, f16, bf16 or q8 (default: f32)")
    parser.add_argument("--threads", type=int, help="threads of kernels (default: as many as the machine lets it use)")
    add_sampling(parser)


def run(args) -> int:
    """Run the command until it is interrupted."""
    if not 0 <= args.port <= _LARGEST:
        raise UsageError(f"--port takes 0 to {_LARGEST}, got {args.port}")
    if args.waiting < 0:
        raise UsageError(f"--waiting takes a number from 0 on, got {args.waiting}")
    if args.threads is not None:
        pool.set_num_threads(args.threads)
    sampling = sampling_of(args)
    model = generation.load(args.model, args.context, args.rows, args.cache)
    name = args.name or Path(args.model).stem
    with serving.Server(model, serving.Limits(waiting=args.waiting), args.host, args.port, name, sampling) as server:
        host, port = server.server_address[:2]
        shown = f"[{host}]" if ":" in host else host
        report(f"{name} at http://{shown}:{port}/v1, {args.rows} texts at a time; Ctrl-C ends it")
        if not _is_loopback(host):
            report("other machines may reach it: it asks for no key")
        server.serve_forever()
    return 0


def _is_loopback(host) -> bool:
    return ipaddress.ip_address(host).is_loopback
