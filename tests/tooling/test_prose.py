"""The check of prose: refused openings and long sentences are found, code and tables are read as what they are."""

import pytest

from tools.prose import LONGEST, faults_of, faults_of_source

LONG = " ".join(["word"] * (LONGEST + 1))


@pytest.mark.parametrize(("text", "faults"), [
    ("Return the guards of a frame.", []),
    ("What a frame reads, as guards.", ["opening"]),
    ("Whole frames are read.", []),
    ("What is a guard?", []),
    ("A title.\n\nWhere a frame ends, its guards do.", ["opening"]),
    ("- Whose code it is\n- the file", ["opening"]),
    ("# Which file", ["opening"]),
    ("| a | Who reads it |", ["opening"]),
    ("It had better hold.", ["'had better'"]),
    (LONG, [f"{LONGEST + 1} words"]),
    (f"{LONG[:-5]}. Word.", []),
    (f"First.\n{LONG[5:]}", []),
    (f"| {LONG} |", [f"{LONGEST + 1} words"]),
    (f"```\n{LONG}\n```", []),
    (f"    {LONG}", []),
    (f"name    the name\nsize    {LONG[10:]}", []),
    (f"Heading\n\n```python\nWhat = 1\n```\n{LONG}", [f"{LONGEST + 1} words"]),
])
def test_faults_of_a_text(text, faults):
    assert [found.fault for found in faults_of(text)] == faults


def test_docstrings_of_all_kinds_are_read():
    source = '"""What."""\nclass A:\n    """Who."""\n    def f(self):\n        """Whose."""\nasync def g():\n    """Which."""\n'
    assert sorted([found.line for found in faults_of_source(source)]) == [1, 3, 5, 7]


def test_comments_of_their_own_line_are_read():
    source = 'x = 1    # What\n# What it is.\n# of which\n    # Who?\n'
    assert [found.line for found in faults_of_source(source)] == [2]


def test_a_line_number_is_that_of_the_paragraph():
    found, = faults_of("First.\n\nSecond\nline.\n\nWhere third\nline.")
    assert found.line == 6
