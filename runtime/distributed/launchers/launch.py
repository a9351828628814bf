"""`python -m ingot.distributed.launch`: `distributed.run` that also passes `--local-rank` to programs."""

from . import launcher

__all__ = ["main"]


def main(args=None) -> int:
    """Run the command."""
    return launcher.main(args, use_env=False)
