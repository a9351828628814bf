"""Ray and Dask start the ranks: the programs of docs/distributed.md, with the losses of one process."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot import distributed as dist

PAGE = Path(ingot.__file__).parent / "docs/distributed.md"


def blocks() -> dict:
    """Return {language: blocks} of the page's section."""
    section = re.search(r"^## Ray and Dask\n(.*?)^## ", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert section is not None
    found: dict = {}
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL):
        found.setdefault(language, []).append(text)
    return found


def losses_of_one_process(shared: str) -> list:
    space: dict = {"__name__": "shared"}
    exec(shared, space)
    before = {name: os.environ.get(name) for name in ("INGOT_ENGINE", "INGOT_RUN_SECRET")}
    try:
        return space["train"](0, 1, space["free_address"]("127.0.0.1"), "alone")
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def test_both_programs_are_on_the_page():
    found = blocks()
    assert len(found["python"]) == 1 and len(found["py"]) == 2 and not dist.is_initialized()
    for text in found["py"]:
        compile(text, str(PAGE), "exec")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("number", "library", "package"), [(0, "ray", "ray"), (1, "distributed", "dask[distributed]")])
def test_their_workers_are_ranks(number, library, package, tmp_path):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed: pip install '{package}'")
    found = blocks()
    path = tmp_path / "program.py"
    path.write_text("\n".join([found["python"][0], found["py"][number]]))
    environment = {k: v for k, v in os.environ.items() if k not in ("INGOT_ENGINE", "INGOT_RUN_SECRET")}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=250, cwd=tmp_path,
                          env={**environment, "INGOT_NUM_THREADS": "1"}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.findall(r"^\[[\d., ]+\]$", done.stdout, re.MULTILINE)
    assert len(said) == 1, done.stdout + done.stderr
    np.testing.assert_allclose([float(word) for word in said[0][1:-1].split(",")], losses_of_one_process(found["python"][0]),
                               rtol=1e-5)
