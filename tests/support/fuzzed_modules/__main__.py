"""Run the modules of some seeds: `python -m fuzzed_modules FIRST LAST [borders]`. Failures are printed reduced; counts come
last."""

import sys
import time
from collections import Counter

from fuzzed_modules import borders, generate
from fuzzed_modules.life import compare
from fuzzed_modules.reduce import reduced
from ingot.jit.errors.recompile_limit import RecompileLimit


def main(first: int, last: int, source):
    RecompileLimit.clock = staticmethod(lambda: 0.0)        # what is recorded does not depend on the time that it takes
    counts: Counter = Counter()
    start = time.monotonic()
    for seed in range(first, last):
        verdict, fn = compare(source(seed))
        counts[verdict.kind] += 1
        counts["calls"] += fn.stats()["calls"]
        counts["recordings"] += fn.stats()["compiles"]
        counts["calls that ran eagerly"] += fn.stats()["unrecorded"]
        if verdict.kind == "refused":
            print(f"seed {seed} is refused: {verdict.text.splitlines()[0]}", flush=True)
        if verdict.kind == "wrong":
            text = reduced(source(seed))
            print(f"#### seed {seed}, call {verdict.call}\n{verdict.text}\n--- reduced: {compare(text)[0].text}\n{text}\n",
                  flush=True)
    print(dict(counts), f"{time.monotonic() - start:.1f} s")


main(*map(int, sys.argv[1:3]), borders.source if "borders" in sys.argv else generate.source)
