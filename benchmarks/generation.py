"""Language models: time of a token and of a prompt, beside llama.cpp where `llama-cpp-python` is installed.

    python -m benchmarks.generation model.gguf --threads 1

Both read the same file and the same token numbers, in turns. With one thread the processor's time is taken, which other
programs on the machine disturb less; with more, the clock's. `bandwidth` is how fast as many threads read memory.
"""

import argparse
import importlib.util
import json
import time

import numpy as np

import ingot
from ingot import generation

TOKENS, PROMPT, TURNS = 150, 512, 3
SUMMED = 1 << 27            # numbers that a sum reads


class Ingot:
    """Greedy tokens of ingot."""

    def __init__(self, path, threads):
        ingot.set_num_threads(threads)
        self.model = generation.load(path, 2048)

    def prompt(self, tokens):
        """Take a prompt in, and make one token."""
        self.text = self.model.tokens(tokens, generation.Sampling(temperature=0))
        next(self.text)

    def token(self):
        """Make one token."""
        next(self.text)


class LlamaCpp:
    """Logits of llama.cpp; the token after each is one and the same."""

    def __init__(self, path, threads):
        from llama_cpp import Llama

        self.model = Llama(str(path), n_ctx=2048, n_threads=threads, n_threads_batch=threads, verbose=False)

    def prompt(self, tokens):
        """Take a prompt in."""
        self.model.reset()
        self.model.eval(tokens)
        self.last = tokens[-1]

    def token(self):
        """Take one token in."""
        self.model.eval([self.last])


def measured(runners: dict, vocabulary: int, clock) -> dict:
    """Return {name: facts}: best and median milliseconds of a token behind 6 ones, and tokens a second of a prompt."""
    rng = np.random.default_rng(0)
    short, long = (rng.integers(vocabulary // 8, vocabulary // 2, n).tolist() for n in (6, PROMPT))
    tokens: dict = {name: [] for name in runners}
    prompts: dict = {name: [] for name in runners}
    for turn in range(TURNS + 1):
        for name, runner in runners.items():
            start = clock()
            runner.prompt(long)
            prompts[name] += [clock() - start] * (turn > 0)         # the first turn records and compiles
            runner.prompt(short)
            for _ in range(TOKENS):
                start = clock()
                runner.token()
                tokens[name] += [clock() - start] * (turn > 0)
    return {name: {"token_ms": min(times) * 1e3, "median_token_ms": float(np.median(times)) * 1e3,
                   "prompt_tokens_per_second": PROMPT / min(prompts[name])} for name, times in tokens.items()}


def bandwidth(clock) -> float:
    """Return the bytes that a sum reads in a second."""
    a, times = ingot.ones(SUMMED), []         # zeros would be one page
    for _ in range(6):
        start = clock()
        a.sum()
        times.append(clock() - start)
    return a.nbytes / min(times)


def main(argv=None) -> int:
    """Measure and print; the result is the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generation", description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--threads", type=int, default=ingot.get_num_threads())
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    runners: dict = {"ingot": Ingot(args.model, args.threads)}
    if importlib.util.find_spec("llama_cpp"):
        runners["llama.cpp"] = LlamaCpp(args.model, args.threads)
    weights = ingot.load(args.model)
    clock = time.process_time if args.threads == 1 else time.perf_counter
    facts = {"bytes": sum(t.nbytes for t in weights.values()), "threads": args.threads, "bandwidth": bandwidth(clock),
             **measured(runners, runners["ingot"].model.decoder.config.vocabulary, clock)}
    if args.json:
        print(json.dumps(facts, indent=1))
        return 0
    least = facts["bytes"] / facts["bandwidth"] * 1e3
    print(f"{facts['bytes'] / 1e6:.0f} MB of weights at {facts['bandwidth'] / 1e9:.1f} GB/s: {least:.1f} ms a token")
    for name in runners:
        f = facts[name]
        print(f"{name:<10} {args.threads} threads: {f['token_ms']:.2f} ms a token (median {f['median_token_ms']:.2f}), "
              f"{f['prompt_tokens_per_second']:.0f} tokens/s of a prompt of {PROMPT}; "
              f"{least / f['token_ms']:.2f} of the bandwidth")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
