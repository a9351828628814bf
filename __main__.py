"""`ingot <command>`, or `python -m ingot <command>`: models in files, and reports on this machine."""

import argparse
import os
import platform
import re
import sys

from .cli import bench, convert, export, generate, inspect, run, serve
from .cli.console import UsageError
from .ir.errors import IngotError
from .ir.lazy import lazy
from .ir.version import VERSION
from .jit.errors.parameters import meant

demo = lazy(__package__, ".demo")
doctor = lazy(__package__, ".doctor")
_BROKEN_PIPE = 141      # as shells report a command that SIGPIPE ended


def _demo_arguments(parser):
    parser.add_argument("--out", default="demo_out", help="folder for the pictures (default: demo_out)")
    parser.add_argument("--epochs", type=int, default=8, help="passes over the training data (default: 8)")


def _run_demo(args) -> int:
    if args.epochs < 1:
        raise UsageError(f"--epochs takes a positive number, got {args.epochs}")
    return demo.run(args.out, args.epochs)


# name: (line of help, examples, adds the arguments, runs)
COMMANDS = {
    "doctor": ("what this machine offers, and what is missing for what", ("",),
               lambda parser: None, lambda args: doctor.report(doctor.examine())),
    "demo": ("train a small network on handwritten digits and show what ingot does", ("", "--out pictures --epochs 2"),
             _demo_arguments, _run_demo),
    "inspect": ("what is in a model file", ("model.ingot", "model.ingot --graph --kernels --svg model.svg"),
                inspect.add_arguments, inspect.run),
    "run": ("run a model file on arrays in a file", ("model.ingot in.npz -o out.npz",), run.add_arguments, run.run),
    "bench": ("latency and throughput of a model file", ("model.ingot --batch 1,8 --threads 1,2",),
              bench.add_arguments, bench.run),
    "generate": ("text of a language model in a GGUF file", ('model.gguf "The capital of France is"',
                                                             'model.gguf "Why is the sky blue?" --chat --seed 1'),
                 generate.add_arguments, generate.run),
    "serve": ("chat-completions API of a language model, for several clients at a time", ("model.gguf --port 8080 --rows 4",),
              serve.add_arguments, serve.run),
    "export": ("write a model file from code",
               ("package.module:Net --example in.npz -o model.ingot --dynamic x:0=batch",), export.add_arguments, export.run),
    "convert": ("model files and ONNX models into each other, and into C libraries",
                ("model.onnx model.ingot", "model.ingot model.onnx --size batch=8", "model.ingot build/libmodel.so"),
                convert.add_arguments, convert.run),
}


def program_name() -> str:
    """Return the name of this command, as it was called."""
    name = os.path.basename(sys.argv[0])
    return "ingot" if name.split(".")[0] == "ingot" else "python -m ingot"


def build_parser() -> tuple:
    """Return the command line, and that of each command."""
    parser = argparse.ArgumentParser(
        prog=program_name(), description="Eager tensors and a tracing JIT compiler.",
        epilog="Exit codes: 0, 1 for an error, 2 for wrong words on the command line, 130 for an interrupt.")
    parser.add_argument("--version", action="version",
                        version=f"ingot {VERSION}, Python {platform.python_version()} on {platform.machine()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (line, examples, add_arguments, _) in COMMANDS.items():
        shown = "\n".join([f"  {parser.prog} {name} {words}".rstrip() for words in examples])
        command = commands.add_parser(name, help=line, description=f"{line[0].upper()}{line[1:]}.",
                                      epilog=f"examples:\n{shown}", formatter_class=argparse.RawDescriptionHelpFormatter)
        add_arguments(command)
    return parser, commands.choices


def parse(argv) -> argparse.Namespace:
    """Parse a command line; exit with code 2, and with the word that was meant, if it is wrong."""
    parser, commands = build_parser()
    first = next((word for word in argv if not word.startswith("-")), None)
    if first is not None and first not in commands:
        parser.error(f"there is no command {first!r}{meant(first, commands) or ';'} commands are {', '.join(commands)}")
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        command = commands[args.command]
        options = dict.fromkeys(re.findall(r"--[\w-]+", command.format_help()))
        command.error(f"{args.command} does not take {' '.join(unknown)}{meant(unknown[0], options)}")
    return args


def main(argv=None) -> int:
    """Run one command and return the exit code: 0, 1 for failure (one message on standard error), 2 for wrong arguments, 130
    for an interrupt."""
    args = parse(sys.argv[1:] if argv is None else argv)
    try:
        code = COMMANDS[args.command][-1](args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())      # or the interpreter reports it once more
        return _BROKEN_PIPE
    except OSError as e:
        text = f"{e.filename}: {e.strerror}" if e.filename is not None and e.strerror else str(e)
        print(f"error: {text}", file=sys.stderr)
        return 1
    except IngotError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2 if isinstance(e, UsageError) else 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
