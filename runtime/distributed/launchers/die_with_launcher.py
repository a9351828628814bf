"""Start of a rank that the kernel of Linux kills when its launcher dies: `die_with_launcher.py PID COMMAND ...`.

A launcher that is killed cannot end its ranks. On other systems they go on then, until they miss the others.
"""

import ctypes
import os
import signal
import sys

_SET_DEATH_SIGNAL = 1


def main(launcher: int, command: list) -> int:
    """Become the command, which dies with the process that has started it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != launcher:        # it has died before
        return 1
    try:
        os.execvp(command[0], command)
    except OSError as e:
        print(f"distributed.run: cannot run {command[0]}: {e.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
