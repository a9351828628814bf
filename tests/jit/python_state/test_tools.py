"""Debuggers, profilers and coverage tools around traced calls: the results are the same, and the tools see the recorded run."""

import os
import pstats
import re
import subprocess
import sys

import pytest

from ingot.jit.guards.frames import ProfilerInC, current_profiler, restore_profiler

PROGRAM = '''
import warnings
import ingot
from ingot import jit, nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.count = nn.Linear(4, 4), 0

    def forward(self, x):
        self.count += 1
        y = self.layer(x)
        if y.sum() > 0:
            return y * 2
        return y * 3


def main():
    warnings.simplefilter("error")
    ingot.manual_seed(0)
    net = Net()
    optimizer = ingot.optim.SGD(net.parameters(), lr=0.1)

    @jit.trace
    def step(x):
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(ingot.rand(3, 4)).item() for _ in range(8)]
    print("losses", losses[-1], net.count, step.stats()["compiles"])


if __name__ == "__main__":
    main()
'''
TOOLS = {       # arguments of Python before the program
    "plain": [], "cProfile": ["-m", "cProfile", "-o", "out"],
    "trace": ["-m", "trace", "--count", "-C", "counts"], "tracemalloc": ["-X", "tracemalloc"],
    "coverage": ["-m", "coverage", "run", "--branch"], "coverage in Python": ["-m", "coverage", "run"],
    "pyinstrument": ["-m", "pyinstrument", "-r", "text", "--show-all", "-i", "0.0005"], "pdb": ["-m", "pdb"]}
TOOLS["line_profiler"] = ["-c", """
import line_profiler, program
profiler = line_profiler.LineProfiler()
profiler.add_function(program.Net.forward)
profiler.runcall(program.main)
(timings,) = profiler.get_stats().timings.values()
print("lines", [line for line, count, _ in timings if count])
"""]
COMMANDS = "b program.py:14\nc\np self.count\nn\nn\ncl 1\nc\nq\n"       # stop in the recorded call, and step


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Function that runs the program under a tool, and returns (what the program printed, all output, the folder)."""
    known: dict = {}

    def run(tool):
        if tool not in known:
            folder = tmp_path_factory.mktemp("tool")
            (folder / "program.py").write_text(PROGRAM)
            environment = {"COVERAGE_CORE": "pytrace"} if tool == "coverage in Python" else {}
            done = subprocess.run([sys.executable, *TOOLS[tool], "program.py"], cwd=folder, capture_output=True, text=True,
                                  input=COMMANDS if tool == "pdb" else "", env={**os.environ, **environment}, check=False)
            assert done.returncode == 0, done.stderr
            known[tool] = re.findall(r"losses .*", done.stdout)[0], done.stdout + done.stderr, folder
        return known[tool]

    return run


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool != "plain"])
def test_a_traced_program_gives_the_same_under_a_tool(tool, outcome):
    if tool.partition(" ")[0] in ("pyinstrument", "coverage", "line_profiler"):
        pytest.importorskip(tool.partition(" ")[0])
    printed, text, folder = outcome(tool)
    assert printed == outcome("plain")[0]
    if tool == "cProfile":
        functions = [name for _, _, name in pstats.Stats(str(folder / "out")).stats]
        assert "forward" in functions and "main" in functions
    elif tool.startswith("coverage"):
        report = subprocess.run([sys.executable, "-m", "coverage", "report", "-m", "--include=program.py"], cwd=folder,
                                capture_output=True, text=True, check=True).stdout
        assert re.search(r"program.py .* (100|9\d)%", report), report
        assert not re.search(r"\b(13|14|15|33|34)\b", report.partition("%")[2]), report     # lines of the traced code
    elif tool == "pyinstrument":
        assert "main" in text
    elif tool == "line_profiler":
        assert "lines [13, 14, 15" in text
    elif tool == "pdb":
        assert "(Pdb) 1\n" in text and "y = self.layer(x)" in text


class _Other:
    """A profiler in Python that is no function."""

    def __init__(self):
        self.seen = 0

    def __call__(self, frame, event, arg):
        self.seen += 1


def test_profilers_of_any_class_are_installed_again():
    profiler = _Other()
    sys.setprofile(profiler)
    try:
        before = current_profiler()
        sys.setprofile(None)
        restore_profiler(before)
        assert type(before) is ProfilerInC and sys.getprofile() is profiler
        seen = profiler.seen
        repr(object())
        assert profiler.seen > seen
    finally:
        sys.setprofile(None)
