"""`python -m ingot <command>`: doctor, demo."""

import argparse
import sys

from . import demo, doctor


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m ingot", description="Eager tensors and a tracing JIT compiler.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("doctor", help="what this machine offers, and what is missing for what")
    show = commands.add_parser("demo", help="train a small network on handwritten digits and show what ingot does")
    show.add_argument("--out", default="demo_out", help="folder for the pictures (default: demo_out)")
    show.add_argument("--epochs", type=int, default=8, help="passes over the training data (default: 8)")
    return parser


def main(argv=None) -> int:
    """Runs one command; the result is the exit code."""
    args = build_parser().parse_args(argv)
    if args.command == "doctor":
        return doctor.report(doctor.examine())
    return demo.run(args.out, args.epochs)


if __name__ == "__main__":
    sys.exit(main())
