"""The generated pages of the manual: each public name has one page; docstrings cannot break the build."""

import re
import types

import pytest

from ingot.ir.opdef.op import OPS
from ingot.tools import manual
from ingot.tools.manual import coverage, reference
from ingot.tools.manual.docstrings import inline, rendered, sections_of, summary_of
from ingot.tools.manual.public_names import entries, source_of, stub_of, tree


@pytest.fixture(scope="module")
def pages():
    return reference.pages()


def test_every_public_class_and_function_has_one_page(pages):
    names = reference.page_names()
    assert len(set(names.values())) == len(names) > 2000
    for path, module in tree().names.items():
        for name, thing in module.items():
            if isinstance(thing, (type, types.FunctionType)) and (thing.__module__ or "").startswith("ingot") \
                    and not name.startswith("_"):
                assert f"reference/{names[thing]}.rst" in pages, (path, name)


def test_names_of_pages_differ_in_more_than_case(pages):
    assert len({name.lower() for name in pages}) == len(pages)


def test_links_lead_to_pages(pages):
    for name, text in pages.items():
        for target in re.findall(r"<(?:/generated/)([^>`]+)>`|:doc:`/generated/([^`<]+)`", text):
            assert f"{target[0] or target[1]}.rst" in pages, (name, target)


def test_most_names_link_to_their_source():
    without = [entry.full_name for thing, entry in entries().items() if source_of(thing) is None]
    assert len(without) < 0.02 * len(entries()), without


def test_a_page_has_signature_text_source_and_other_names(pages):
    page = pages["reference/ingot.nn.Linear.rst"]
    assert ".. py:class:: ingot.nn.Linear(in_features: int, out_features: int, bias: bool=True" in page
    assert "input: ingot.Tensor" in page and "runtime/nn/layers/linear.py:" in page
    assert "``ingot.nn.modules.linear.Linear``" in page


def test_types_have_full_names_and_no_private_ones():
    init = next(n for n in stub_of("nn").definitions["Linear"][0].body if getattr(n, "name", "") == "__init__")
    text = stub_of("nn").signature(init, True).text
    assert "ingot.device" in text and "_b." not in text and " _" not in text


def test_defaults_are_those_of_the_live_function(pages):
    assert "betas: Any=(0.9, 0.999)" in pages["reference/ingot.optim.AdamW.rst"]


DOC = """Map *x* to `y_` and |z|.

A list:

- one `item`
- two_

name    text of a row
        that goes on
longer_name text
2. not a list: a_b :ref:`c`

    code = [1, 2]

Parameters
----------
x : Tensor, shape (N, *)
    The input.
*args
    More.

Shape
-----
Input: (N, C).

Examples
--------
>>> 1 + 1
2
"""


def test_a_docstring_becomes_text_whatever_it_contains():
    text = rendered(DOC)
    assert "Map \\*x\\* to \\ ``y_``\\  and \\|z\\|." in text and "- two\\_" in text
    assert "- \\ ``name``\\ : text of a row that goes on" in text
    assert ".. code-block:: python\n\n    code = [1, 2]" in text
    assert ".. rubric:: Parameters\n\n\\ ``x``\\  : Tensor, shape (N, \\*)\n    The input." in text
    assert ".. code-block:: pycon\n\n    >>> 1 + 1\n    2" in text
    assert [*sections_of(DOC)] == ["", "Parameters", "Shape", "Examples"]


@pytest.mark.parametrize("line", ["1. one", "a) one", ".. note", ":x: y", "- -", ">>> 1", "===", "(i) x", "* * *"])
def test_a_line_cannot_start_a_construct(line):
    assert inline(line).startswith("\\")


def test_a_summary_is_one_sentence():
    assert summary_of("One `a.b` sentence. Another one.\n\nMore.") == "One `a.b` sentence."
    assert len(summary_of("word " * 100)) <= 200


@pytest.mark.parametrize("name, cells", [
    ("relu", ("relu", "kernel", "kernel", "yes", "yes", "batch", "native", "file, C", "yes", "f16 bf16 f32 f64")),
    ("eig", ("eig", "kernel", "host", "yes", "yes", "batch", "NumPy", "file", "no", "f32 f64")),
    ("permute", ("permute", "view", "view", "yes")),
])
def test_cells_of_an_operator(name, cells):
    assert coverage.row(OPS[name])[:len(cells)] == cells


def test_the_table_has_every_operator_of_programs():
    names = {op.name for op in coverage.operators()}
    assert names <= set(OPS) and len(names) > 300
    left_out = {name for name in OPS if name not in names}
    assert all(".packed." in coverage.module_of(OPS[name]) or name not in coverage.samples().SAMPLES for name in left_out)


def test_other_pages():
    assert "INGOT_JIT" in manual.switches_page() and "rubric:: export" in manual.command_line_page()
    assert ":source:`examples/vae.py:1`" in manual.examples_page() and "options.py" not in manual.examples_page()
    assert all((manual.ROOT / file).exists() and manual.copy_name(file).startswith("generated/") for file in manual.FILES)


def test_pages_of_names_that_are_gone_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(manual, "contents", lambda: {"a.rst": "x", "b/c.rst": "y"})
    (tmp_path / "old.rst").write_text("")
    assert manual.write(tmp_path) == 2
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.rst")) == ["a.rst", "b/c.rst"]
