"""The programs in the documentation run, and give the results, errors, warnings and texts beside them.

Comments of a program say what comes out; `...` stands for anything:

    x + 1                       # -> 3
    f(x)                        # raises TraceError: ... reads a value ...
    f(x)
    # warns TracerWarning: f was ...

Each warning is announced, so ordinary examples give none. "This prints ...:" behind a program is followed by what it prints.
"""

import importlib.util
import re
import textwrap
import warnings
from pathlib import Path

import pytest

import ingot
from ingot.benchmarks import groups

ROOT = Path(ingot.__file__).parent
PAGES = ["README.md", "docs/distributed.md", "docs/fx.md", "docs/tracing.md", "docs/quantization.md",
         "docs/start/ten_minutes.md", "docs/start/first_recompile.md",
         "docs/guides/data_loading.md", "docs/guides/mixed_precision.md", "docs/guides/reproducibility.md",
         "docs/guides/performance.md",
         "docs/from_pytorch/same_and_different.md", "docs/from_pytorch/from_jax.md"]
ELSEWHERE = {"docs/as_torch.md": "tests/product/test_as_torch.py, since it gives every module a second name",
             "docs/index.md": "the README's program, shorter"}
MANUAL = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md") if "generated" not in p.parts)
_PRINTED = r"(?:\nThis prints[^\n]*:\n\n((?:    [^\n]*\n|\n)+))?"
_BLOCK = re.compile(rf"^( *)```python\n(.*?)^\1```\n{_PRINTED}", re.MULTILINE | re.DOTALL)
_SAID = re.compile(r"^(?:(?P<code>[^\s#].*?)\s+)?# (?P<kind>->|raises|warns) (?P<text>.*)$", re.MULTILINE)


def blocks_of(page) -> list:
    """Return (program, what it prints as the page says, or nothing) of each block."""
    return [(textwrap.dedent(source), textwrap.dedent(printed)) for _, source, printed in
            _BLOCK.findall((ROOT / page).read_text())]


def agrees(text, said) -> bool:
    """Return whether a text is what the page says of it, apart from white space."""
    pattern = r".*".join(map(re.escape, " ".join(said.split()).split("...")))
    return re.fullmatch(pattern, " ".join(text.split()), re.DOTALL) is not None


def error_of(code, space) -> str:
    """Return the class and the text of the error that code raises; nothing if it raises none."""
    try:
        exec(code, space)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def run(source, space):
    """Run a block, and compare what comes out with what stands beside its statements."""
    done, announced = 0, []
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for example in _SAID.finditer(source):
            exec(source[done:example.start()], space)
            kind, code, text = example["kind"], example["code"] or "", example["text"]
            if kind == "->":
                assert agrees(str(eval(code, space)), text), example[0]
            elif kind == "raises":
                assert agrees(error := error_of(code, space), text), f"{example[0]}: {error}"
            else:
                exec(code, space)
                announced.append(text)
            done = example.end()
        exec(source[done:], space)
    texts = [f"{w.category.__name__}: {w.message}" for w in given]
    assert len(texts) == len(announced) and all(map(agrees, texts, announced)), f"{texts}, announced: {announced}"


@pytest.mark.parametrize("page", PAGES)
def test_programs_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch, capsys, recordings_cost_time):
    """Recordings cost time as they do for readers: without that, traces record more often and never warn."""
    monkeypatch.chdir(tmp_path)
    blocks, space = blocks_of(page), {"__name__": "docs"}
    assert len(blocks) >= 2
    ingot.manual_seed(0)
    for source, printed in blocks:
        run(source, space)
        shown = capsys.readouterr().out
        assert not printed or agrees(shown, printed), shown


def test_every_page_with_programs_is_tested():
    assert {page for page in ["README.md", *MANUAL] if blocks_of(page)} == {*PAGES, *ELSEWHERE}


@pytest.mark.parametrize("source, told", [
    ("x = 1\nx + 1    # -> 3\n", "-> 3"),
    ("int('a')    # raises ValueError: another text\n", "invalid literal"),
    ("int('1')    # raises ValueError: ...\n", "raises ValueError"),
    ("import warnings\nwarnings.warn('is not announced')\n", "is not announced"),
    ("x = 1    # warns UserWarning: ...\n", "announced: "),
])
def test_what_a_page_says_is_compared(source, told):
    with pytest.raises(AssertionError, match=told):
        run(source, {})


def test_pages_quote_errors_and_prints():
    run("import warnings\nint('a')    # raises ValueError: invalid ... 'a'\nwarnings.warn('many words')\n"
        "# warns UserWarning: many ...\n", {})
    assert blocks_of("docs/fx.md")[0][1].startswith("def forward(self, x):\n")


# Figures and their commands.

FIGURES = ["README.md", "SECURITY.md", "benchmarks/NOTES.md", *MANUAL]
# Times and rates that somebody measured, and ratios of times.
_FIGURE = re.compile(r"\d ?(?:ns|us|µs|ms|GFLOP|TFLOP|GB/s|TB/s)\b|\d of (?:the|its) (?:time|speed)|\b0\.\d\d of\b|"
                     r"\d times (?:as|slower|faster)|(?:half|third|quarter|tenth|fifth|microsecond)s? (?:of the time|a call)|"
                     r"(?:about|takes?|took) \d+ (?:s|MB|minutes)\b")
_COMMAND = re.compile(r"python3? -m (benchmarks[\w.]*)([^`\n#]*)|\bdu -sm|make (?:test|bench|demo)")
_PROGRAM = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_NAMES = re.compile(r"\(((?:`[a-z0-9_]+`(?:, )?)+)\)")


@pytest.mark.parametrize("page", FIGURES)
def test_a_part_with_measured_figures_names_its_command(page):
    parts = re.split(r"^#{1,4} ", (ROOT / page).read_text(), flags=re.MULTILINE)[1:]
    figures = [(part.partition("\n")[0], _FIGURE.search(_PROGRAM.sub("", part)), part) for part in parts]
    assert not [(title, found[0]) for title, found, part in figures if found and not _COMMAND.search(part)]


@pytest.mark.parametrize("page", FIGURES)
def test_commands_of_figures_exist(page):
    """Wheels lack the benchmarks, so no command names them below `ingot`."""
    text = (ROOT / page).read_text()
    assert not re.findall(r"-m ingot\.(?:benchmarks|tests|examples)[\w.]*", text)
    for module, words in _COMMAND.findall(text):
        assert not module or importlib.util.find_spec(f"ingot.{module}"), module
        if module == "benchmarks":
            groups.chosen(re.sub(r"--(?:quick|list|resume)|--\w+ \S+|\[.*?\]", "", words).split())


def test_lessons_name_workloads():
    lessons = (ROOT / "benchmarks/NOTES.md").read_text().partition("## 4.")[2].partition("### Collectives")[0]
    names = [name for found in _NAMES.findall(lessons) for name in re.findall(r"\w+", found)]
    assert len(names) > 20 and groups.chosen(names)
