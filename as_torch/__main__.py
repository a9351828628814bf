"""`python -m ingot.as_torch program.py ...`: run an unchanged program for PyTorch."""

import argparse
import os
import runpy
import sys
import traceback
from pathlib import Path

from ..ir.config import current
from ..ir.tracebacks import entries_of, is_user
from . import FOLDER


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m ingot.as_torch", description="Run a program that was written for PyTorch: `import torch` gives ingot.")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("-m", dest="module", metavar="MODULE", help="run a module, as `python -m` does")
    target.add_argument("--path", action="store_true", help="print the folder that does the same from PYTHONPATH")
    target.add_argument("program", nargs="?", help="the file to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    return parser


def main(argv=None) -> int:
    """Run the program in this process, under the name `__main__`."""
    argv = sys.argv[1:] if argv is None else argv
    cut = 2 if argv[:1] == ["-m"] else 1                 # later arguments belong to the program
    args = build_parser().parse_args(argv[:cut])
    if args.path:
        print(FOLDER)
        return 0
    sys.argv[1:] = argv[cut:]
    try:
        if args.module:
            runpy.run_module(args.module, run_name="__main__", alter_sys=True)
        else:
            sys.argv[0] = args.program
            if not sys.flags.safe_path:                      # Python put the working directory there for `-m`
                sys.path[sys.path.index(os.getcwd())] = str(Path(args.program).resolve().parent)
            runpy.run_path(args.program, run_name="__main__")
    except (ImportError, OSError, SyntaxError) as error:
        if any(map(is_user, entries_of(error.__traceback__))) or current().traceback == "full":
            raise
        return report_unread(args.program or args.module, error)
    return 0


def report_unread(program, error) -> int:
    """Print why a program does not start, as Python prints it. Return Python's exit code."""
    if isinstance(error, SyntaxError):
        traceback.print_exception(error.with_traceback(None))
    elif isinstance(error, OSError):
        print(f"{sys.executable}: can't open file {os.path.abspath(program)!r}: [Errno {error.errno}] {error.strerror}",
              file=sys.stderr)
        return 2
    else:
        print(f"{sys.executable}: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
