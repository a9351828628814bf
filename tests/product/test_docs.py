"""The programs in the documentation run and give the results beside them."""

import re
import textwrap
from pathlib import Path

import pytest

import ingot

ROOT = Path(ingot.__file__).parent
PAGES = ["README.md", "docs/distributed.md", "docs/fx.md", "docs/tracing.md", "docs/quantization.md"]
_BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_SAID = re.compile(r"^(?P<expression>\S.*?)\s+# -> (?P<value>.*)$", re.MULTILINE)


def blocks_of(page) -> list:
    return [textwrap.dedent(source) for _, source in _BLOCK.findall((ROOT / page).read_text())]


def run(source, space):
    """Run a block, and compare the results written beside its expressions."""
    done = 0
    for example in _SAID.finditer(source):
        exec(source[done:example.start()], space)
        assert str(eval(example["expression"], space)) == example["value"], example[0]
        done = example.end()
    exec(source[done:], space)


@pytest.mark.parametrize("page", PAGES)
def test_programs_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks, space = blocks_of(page), {"__name__": "docs"}
    assert len(blocks) >= 3
    ingot.manual_seed(0)
    for source in blocks:
        run(source, space)


def test_printed_results_are_compared():
    with pytest.raises(AssertionError, match="-> 3"):
        run("x = 1\nx + 1    # -> 3\n", {})
