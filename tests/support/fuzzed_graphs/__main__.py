"""Run mutated graphs, in the folder tests/support: `python -m fuzzed_graphs FIRST LAST [operator ...]`.

An operator may be a pattern such as `fft*`, or a file of ir/ops such as `core.shape` or `nn.*`. Seed S mutates operator S
modulo their number. One line for each fault; counts come last.
"""

import fnmatch
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("INGOT_CACHE_DIR", tempfile.mkdtemp(prefix="ingot-fuzz-cache-"))

from fuzzed_graphs.mutate import NAMES, home
from fuzzed_graphs.run import faults


def matching(patterns) -> list:
    """Return the operators that fit one of the patterns, all for none."""
    found = [n for n in NAMES if not patterns or any(fnmatch.fnmatchcase(x, p) for p in patterns for x in (n, home(n)))]
    if not found:
        raise SystemExit(f"no operator fits {' '.join(patterns)}")
    return found


def main(first, last, *patterns):
    names, counts, by_name = matching(patterns), Counter(), Counter()
    for fault in faults([(seed, names[seed % len(names)]) for seed in range(int(first), int(last))], counts):
        by_name[fault.name] += 1
        print(fault, flush=True)
    print(dict(counts))
    print(f"faults by operator: {dict(by_name.most_common())}")


main(*sys.argv[1:])
