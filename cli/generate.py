"""`ingot generate model.gguf "prompt"`: text of a language model, as it comes."""

import itertools
import json
import secrets
import sys
import time

from ..ir.lazy import lazy
from ..runtime.cpu.calls import pool
from .console import UsageError, report

generation = lazy(__package__, "..generation")
# option: (field of `Sampling`, type, help)
_SAMPLING = {
    "--temperature": ("temperature", float, "0 takes the most likely token; larger numbers draw more freely"),
    "--top-k": ("top_k", int, "draw from so many of the most likely tokens; 0 from all"),
    "--top-p": ("top_p", float, "draw from the most likely tokens that reach this probability; 1 from all"),
    "--min-p": ("min_p", float, "draw from tokens with this share of the largest probability; 0 from all"),
    "--repetition-penalty": ("repetition_penalty", float, "divide logits of tokens that came before; 1 does nothing"),
    "--frequency-penalty": ("frequency_penalty", float, "lower logits for each time that a token came"),
    "--presence-penalty": ("presence_penalty", float, "lower logits of tokens that came before"),
}


def add_arguments(parser):
    """Add the command's arguments."""
    parser.add_argument("model", help="a GGUF file of a language model")
    parser.add_argument("prompt", help="the text to go on with; - reads it from standard input")
    parser.add_argument("-n", "--max-tokens", type=int, default=256, help="most tokens to write (default: 256)")
    parser.add_argument("--chat", action="store_true", help="the prompt is a message to the model (needs jinja2)")
    parser.add_argument("--system", help="a message before it that says how to answer, with --chat")
    parser.add_argument("--context", type=int, help="most tokens of prompt and text (default: 4096, or the model's)")
    parser.add_argument("--cache", default="f32", help="numbers of the cache: f32, f16, bf16 or q8 (default: f32)")
    parser.add_argument("--threads", type=int, help="threads of kernels (default: as many as the machine lets it use)")
    parser.add_argument("--seed", type=int, help="the same seed gives the same text (default: another one each time)")
    parser.add_argument("--json", action="store_true", help="text, tokens and times as JSON, once it is written")
    add_sampling(parser)


def add_sampling(parser):
    """Add the options of sampling."""
    for option, (_, kind, text) in _SAMPLING.items():
        parser.add_argument(option, type=kind, metavar="N", help=text)


def sampling_of(args):
    """Return the `Sampling` of the options."""
    chosen = {field: getattr(args, field) for field, _, _ in _SAMPLING.values()}
    return generation.Sampling(**{field: value for field, value in chosen.items() if value is not None})


def run(args) -> int:
    """Run the command."""
    if args.max_tokens < 1:
        raise UsageError(f"--max-tokens takes a positive number, got {args.max_tokens}")
    if args.system is not None and not args.chat:
        raise UsageError("--system needs --chat")
    sampling = sampling_of(args)
    if args.threads is not None:
        pool.set_num_threads(args.threads)
    seed = secrets.randbits(32) if args.seed is None else args.seed
    text = sys.stdin.read() if args.prompt == "-" else args.prompt
    start = time.perf_counter()
    model = generation.load(args.model, args.context, cache=args.cache)
    prompt: str | list[dict] = text
    if args.chat:
        prompt = [{"role": "system", "content": args.system}] * (args.system is not None) + [{"role": "user", "content": text}]
    tokens = model.encode(prompt)
    loaded = time.perf_counter()
    written = Writing(model, args.max_tokens, quiet=args.json)
    written.follow(model.tokens(tokens, sampling, seed))
    facts = {"model": args.model, "seed": seed, "prompt_tokens": len(tokens), "load_seconds": loaded - start,
             "first_token_seconds": written.times[0] - loaded, **written.facts()}
    if args.json:
        print(json.dumps(facts, indent=1))
    else:
        report(summary(facts))
    return 0


class Writing:
    """Text that is written as it comes, with the time of each token.

    ended    "end" by the model, "length" by `most` tokens, "context" because it is full
    """

    def __init__(self, model, most: int, quiet: bool):
        if model.tokenizer is None:
            raise UsageError("the file has no tokenizer, so it has no texts")
        self.stream, self.ends = model.tokenizer.stream(), model.tokenizer.ends
        self.most, self.quiet = most, quiet
        self.pieces: list[str] = []
        self.tokens: list[int] = []
        self.times: list[float] = []
        self.ended = "context"

    def follow(self, tokens):
        """Write the text of tokens; an interrupt leaves a whole line behind."""
        try:
            for token in tokens:
                self.times.append(time.perf_counter())
                if token in self.ends:
                    self.ended = "end"
                    break
                self.tokens.append(token)
                self.show(self.stream.add(token))
                if len(self.tokens) == self.most:
                    self.ended = "length"
                    break
            self.show(self.stream.finish())
        finally:
            self.show("\n" * (not self.quiet), kept=False)

    def show(self, text: str, kept: bool = True):
        """Print a piece of text in the encoding of the output."""
        if kept:
            self.pieces.append(text)
        if text and not self.quiet:
            encoding = sys.stdout.encoding or "utf-8"
            print(text.encode(encoding, "replace").decode(encoding), end="", flush=True)

    def facts(self) -> dict:
        """Return the text and its times. The first two tokens, which record and compile the step, are not in the median."""
        steps = [b - a for a, b in itertools.pairwise(self.times[1:])]
        steady = sorted(steps)[len(steps) // 2] if steps else None
        return {"text": "".join(self.pieces), "tokens": len(self.tokens), "ended": self.ended,
                "seconds": self.times[-1] - self.times[0], "median_token_ms": None if steady is None else steady * 1e3,
                "tokens_per_second": None if steady is None else 1 / steady}


def summary(facts: dict) -> str:
    """Return the figures as one line."""
    line = f"{facts['prompt_tokens']} tokens of prompt, first token after {facts['first_token_seconds']:.2f} s"
    if facts["tokens_per_second"] is not None:
        line += (f"; {facts['tokens']} tokens, {facts['median_token_ms']:.1f} ms each (median), "
                 f"{facts['tokens_per_second']:.1f} tokens/s")
    return line + f"; seed {facts['seed']}"
