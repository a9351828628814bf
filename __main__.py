"""`python -m ingot <command>`: models in files, and reports on this machine."""

import argparse
import sys

from .cli import bench, export, inspect, run
from .ir.errors import IngotError
from .ir.lazy import lazy

demo = lazy(__package__, ".demo")
doctor = lazy(__package__, ".doctor")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m ingot", description="Eager tensors and a tracing JIT compiler.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("doctor", help="what this machine offers, and what is missing for what")
    show = commands.add_parser("demo", help="train a small network on handwritten digits and show what ingot does")
    show.add_argument("--out", default="demo_out", help="folder for the pictures (default: demo_out)")
    show.add_argument("--epochs", type=int, default=8, help="passes over the training data (default: 8)")
    inspect.add_arguments(commands.add_parser("inspect", help="what is in a model file"))
    run.add_arguments(commands.add_parser("run", help="run a model file on arrays in a file"))
    bench.add_arguments(commands.add_parser("bench", help="latency and throughput of a model file"))
    export.add_export(commands.add_parser("export", help="write a model file from code"))
    export.add_convert(commands.add_parser("convert", help="ONNX files to model files, model files to C libraries"))
    return parser


COMMANDS = {
    "doctor": lambda args: doctor.report(doctor.examine()),
    "demo": lambda args: demo.run(args.out, args.epochs),
    "inspect": inspect.run,
    "run": run.run,
    "bench": bench.run,
    "export": export.run_export,
    "convert": export.run_convert,
}


def main(argv=None) -> int:
    """Run one command and return the exit code: 0, 1 for failure (one message on standard error), 2 for wrong arguments, 130
    for an interrupt."""
    args = build_parser().parse_args(argv)
    try:
        return COMMANDS[args.command](args)
    except (IngotError, OSError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
