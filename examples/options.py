"""The command line that all examples share."""

import argparse


def options(about: str, argv, epochs: int, quick: int) -> argparse.Namespace:
    """Parses `--epochs N`, `--trace` and `--quick`; `quick` is the number of epochs that `--quick` stands for."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, help=f"rounds over the data (default {epochs}, with --quick {quick})")
    parser.add_argument("--trace", action="store_true", help="put the training step under @jit.trace")
    parser.add_argument("--quick", action="store_true", help="a short run that already learns something")
    args = parser.parse_args(argv)
    if args.epochs is None:
        args.epochs = quick if args.quick else epochs
    if args.epochs < 1:
        parser.error("--epochs must be at least 1")
    return args
