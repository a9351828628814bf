"""A process that runs for long stays as it is: memory, descriptors and threads are flat."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "support" / "programs" / "soak.py"


def is_flat(samples) -> bool:
    """Return whether the last third of samples has no more than the second third: 1 % and 2 MiB of memory are noise."""
    third = len(samples) // 3
    before, after = ([statistics.median(s[i] for s in part) for i in (2, 3, 4)] for part in
                     (samples[third: 2 * third], samples[2 * third:]))
    return after[0] <= 1.01 * before[0] + 2048 and after[1:] <= before[1:]


def test_growth_is_seen():
    flat = [[i, i, 100_000, 7, 1] for i in range(30)]
    assert is_flat(flat)
    for place, much in ((2, 400), (3, 1), (4, 1)):
        assert not is_flat([[*s[:place], s[place] + much * i, *s[place + 1:]] for i, s in enumerate(flat)])


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_long_run_stays_as_it_is(request):
    minutes = request.config.getoption("minutes")
    done = subprocess.run([sys.executable, PROGRAM, str(minutes)], cwd=PROGRAM.parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    print(*samples[::max(1, len(samples) // 10)], sep="\n")
    assert len(samples) >= 12 and is_flat(samples)
