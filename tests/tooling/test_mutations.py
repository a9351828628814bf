"""The tool that plants mutations: its sites, its choice, and what it says of a small project."""

import ast
from dataclasses import replace

import pytest

from ingot.tools.mutations import run, sites, table, tests_that_matter
from ingot.tools.mutations.functions import functions_in
from ingot.tools.mutations.hits import marked
from this_checkout import ROOT

PRODUCT = '''"""A product."""
LIMIT = 1 << 20


def area(w, h, /, *, scale=1):
    """Return an area: 1 + 1."""
    if w < 0 and not h:
        raise ValueError(f"{w + 1}")
    return w * h * scale


def seldom(n):
    return n + 1


class Box:
    def __repr__(self):
        return str(1 + 1)

    def volume(self, w, h):
        each = lambda n: n - 1
        return area(w, h, scale=2) + each(h)
'''
CHECKS = '''from ingot.ir.boxes import Box, area


def test_area():
    assert area(2, 3) == 6 and area(5, 7) == 35


def test_volume():
    assert Box().volume(1, 1) > 0
'''
CONFTEST = '''import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
'''


def sites_of(kind=None):
    made = sites.Defaults()
    made.add(ast.parse(PRODUCT))
    return [s for s in sites.sites_in("ir/boxes.py", PRODUCT, made) if kind in (None, s.kind)]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project, and a folder with the map of its tests."""
    base, alone = tmp_path_factory.mktemp("mutations"), pytest.MonkeyPatch()
    alone.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")     # (they take longer to load than these tests)
    root = base / "ingot"
    for name, text in {"__init__.py": "", "ir/__init__.py": "", "ir/boxes.py": PRODUCT, "test_boxes.py": CHECKS,
                       "conftest.py": CONFTEST}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    assert tests_that_matter.make_map(root, base / "work", workers=1) == 0
    yield root, base / "work"
    alone.undo()


def test_every_site_is_another_valid_program():
    assert len(sites_of()) > 15
    assert all(sites.is_valid(s, PRODUCT) for s in sites_of())


@pytest.mark.parametrize("after", [
    "if w <= 0 and not h:", "if w >= 0 and not h:", "if w < 1 and not h:", "if w < 0 or not h:", "if True and not h:",
    "if w < 0 and True:", "if w < 0 and (h):", "if False:", "if True:", "return w / h * scale", "return n - 1", "return n + 2",
    "def area(w, h, /, *, scale=2):", "return area(h, w, scale=2) + each(h)", "return area(w, h) + each(h)", "return",
    "each = lambda n: n + 1"])
def test_mutations_of_each_kind_are_found(after):
    assert after in {s.after for s in sites_of()}


def test_messages_docstrings_and_limits_are_left_alone():
    assert not {s.before for s in sites_of()} & {
        'raise ValueError(f"{w + 1}")', '"""Return an area: 1 + 1."""', "LIMIT = 1 << 20", "return str(1 + 1)"}


def test_a_keyword_without_a_default_is_not_dropped():
    assert [s.after for s in sites_of("keyword scale dropped")] == ["return area(w, h) + each(h)"]
    nothing_known = sites.sites_in("ir/boxes.py", PRODUCT)
    assert not [s for s in nothing_known if s.kind.startswith("keyword")]


def test_names_do_not_depend_on_other_lines_or_the_folder():
    moved = sites.sites_in("passes/new/boxes.py", '"""Other."""\n\nX = 3.5\n' + PRODUCT.partition("\n")[2])
    ids = {s.id for s in moved}
    assert {s.id for s in sites_of() if not s.kind.startswith("keyword")} <= ids


def test_the_choice_is_the_same_when_another_function_changes(tmp_path):
    place = [sites.Area("all", ("*",))]
    (tmp_path / "ir").mkdir()
    chosen = []
    for text in (PRODUCT, PRODUCT.replace("return n + 1", "n = n\n    return n")):
        (tmp_path / "ir" / "boxes.py").write_text(text, encoding="utf-8")
        chosen.append([s.id for s in sites.choose(tmp_path, 100, places=place) if s.function != "seldom"])
    assert len(chosen[0]) > 3 and chosen[0] == chosen[1]


def test_marked_functions_set_their_bytes_and_keep_their_lines():
    names = [f.name for f in functions_in(ast.parse(PRODUCT))]
    assert names == ["area", "seldom", "Box.__repr__", "Box.volume", "Box.volume.<lambda 1>"]
    space = {"__hits__": bytearray(5)}
    exec(marked(PRODUCT, "boxes.py", 0), space)
    assert space["Box"]().volume(1, 2) == 5 and list(space["__hits__"]) == [1, 0, 0, 1, 1]
    assert space["area"].__code__.co_firstlineno == 5 and space["area"].__doc__ == "Return an area: 1 + 1."


def test_mutations_are_killed_survive_or_are_not_covered(project):
    root, folder = project
    by = {s.after: replace(s, area="boxes") for s in sites_of()}
    chosen = [by["return w / h * scale"], by["each = lambda n: n + 1"], by["return n + 2"]]
    settings = run.Settings(root, folder, workers=1, options=[])
    results = folder / "results.jsonl"
    run.run_all(chosen, tests_that_matter.Map.read(folder), settings, results, report=lambda text: None)
    rows = run.read(results)
    assert [rows[s.id]["result"] for s in chosen] == [run.KILLED, run.SURVIVED, run.UNCOVERED]
    assert rows[chosen[0].id]["by"] == "test_boxes.py::test_area"
    reasons = {chosen[1].key: "no reason"}
    assert [r["id"] for r in table.survivors(rows.values(), reasons)] == [chosen[2].id]
    assert table.table(list(rows.values()), reasons).splitlines()[-1].split() == ["all", "3", "1", "1", "1", "50.0", "%"]
    assert (root / "ir" / "boxes.py").read_text(encoding="utf-8") == PRODUCT


def test_the_known_mutations_are_still_to_be_found():
    for site in sites.known(ROOT):
        assert sites.is_valid(site, (ROOT / site.file).read_text(encoding="utf-8")), site


def test_equivalent_mutations_have_reasons():
    assert all(len(reason.split()) > 3 for reason in sites.equivalents().values())
