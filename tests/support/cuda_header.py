"""The CUDA driver's own header, which Triton brings along."""

import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest


@cache
def header() -> str:
    """Its text; without it a test is skipped."""
    found = importlib.util.find_spec("triton")
    file = Path(found.submodule_search_locations[0], "backends/nvidia/include/cuda.h") if found else Path()
    if not file.is_file():
        pytest.skip("there is no cuda.h, which comes with Triton")
    return file.read_text()


def number_in_header(name: str) -> int:
    """Return the number of a name of an enumeration."""
    said = re.search(rf"\b{name}(?:\s*=\s*|\s+)(0x[0-9a-fA-F]+|\d+)", header())
    assert said, name
    return int(said.group(1), 0)
