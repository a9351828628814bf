"""`python -m ingot.distributed.launch`: `distributed.run`, with `--local-rank` among the arguments of programs."""

from . import launcher

__all__ = ["main"]


def main(args=None) -> int:
    """Return the command."""
    return launcher.main(args, use_env=False)
