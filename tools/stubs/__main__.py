"""`python -m ingot.tools.stubs` writes the stubs."""

import argparse
import sys

from . import ROOT, contents, difference, write


def main(argv=None, root=ROOT) -> int:
    """Write or check the stubs; the result is the exit code."""
    parser = argparse.ArgumentParser(prog="python -m ingot.tools.stubs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a stub is not up to date")
    files = contents()
    if not parser.parse_args(argv).check:
        write(root, files)
        return 0
    stale = difference(root, files)
    if stale:
        print(f"not what the code says: {', '.join(stale)}; run `make stubs`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
