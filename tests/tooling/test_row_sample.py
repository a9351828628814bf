"""The rows that a run takes of large tables."""

import datetime
import itertools
import os
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

import row_sample
from row_sample import FEW, RUNS, day, last_days, sample, sampled, some
from this_checkout import ROOT

DTYPES, SIZES, MODES = [object() for _ in range(3)], [object() for _ in range(20)], [object() for _ in range(4)]
NAMES = ("dtype",), ("size", "numel"), ("mode",)


def item(number, values, test="test_x", drawn=None):
    """Return a row as pytest collects it, of a test with some of the axes `NAMES`, and perhaps the mark `drawn`."""
    marks = {"parametrize": [SimpleNamespace(args=(",".join(names), ())) for names in NAMES[:len(values)]]}
    params = {name: value for names, value in zip(NAMES, values) for name in names}
    return SimpleNamespace(nodeid=f"tests/x.py::{test}[{number}]", iter_markers=lambda name: iter(marks[name]), stash={},
                           callspec=SimpleNamespace(params=params),
                           get_closest_marker=lambda name: drawn if name == "drawn" else None)


def table(*axes, left_out=0, **options) -> list:
    """Return the product of axes as rows, but for every so many rows."""
    rows = [item(number, values, **options) for number, values in enumerate(itertools.product(*axes))]
    return [row for number, row in enumerate(rows) if not left_out or number % left_out]


ROWS = table(DTYPES, SIZES)
TABLES = {
    "two axes": ROWS, "three axes": table(DTYPES, SIZES, MODES), "not each pair": table(DTYPES, SIZES, MODES, left_out=3),
    "one axis": table(SIZES, drawn=SimpleNamespace(kwargs={})), "few rows": table(DTYPES[:2], SIZES[:5]),
    "long rows": table(DTYPES, SIZES, drawn=SimpleNamespace(kwargs={"runs": 20})),
}


def pairs(rows) -> set:
    """Return the values, and the pairs of values of two axes, that occur in rows."""
    values = [row_sample.axes(row) for row in rows]
    return {tuple([(axis, row[axis]) for axis in at]) for row in values for number in (1, 2)
            for at in itertools.combinations(range(len(row)), number)}


@pytest.mark.parametrize("first", [0, 20 * RUNS, 105_680 * RUNS])
@pytest.mark.parametrize("name", TABLES)
def test_each_pair_of_values_occurs_in_a_round(name, first):
    rows, runs, least = TABLES[name], 20 if name == "long rows" else RUNS, 1 if name in ("long rows", "one axis") else FEW
    days = [sample(rows, seed) for seed in range(first, first + runs)]
    assert pairs(itertools.chain(*days)) == pairs(rows)
    assert days == [sample(rows, seed) for seed in range(first, first + runs)]
    for drawn in days:
        assert least <= len(drawn) == len({row.nodeid for row in drawn})
    counts = Counter(row.nodeid for drawn in days for row in drawn)
    if sum(counts.values()) > least * runs:
        assert set(counts.values()) == {1}, "no row runs twice in a round"
        assert max(map(len, days)) - min(map(len, days)) <= 1, "the days run alike many"


def test_a_round_of_three_axes_is_about_the_product_of_the_two_longest():
    """It is 4 * 20 rows at least, of 240."""
    assert sum(len(sample(TABLES["three axes"], seed)) for seed in range(RUNS)) < 110


def test_a_table_with_few_rows_runs_more_of_them_a_day():
    assert {len(sample(TABLES["few rows"], seed)) for seed in range(RUNS)} == {FEW}


@pytest.mark.parametrize("name", TABLES)
def test_rounds_choose_other_rows(name):
    rows = TABLES[name]
    assert {row.nodeid for seed in range(60 * RUNS) for row in sample(rows, seed)} == {row.nodeid for row in rows}
    assert len({tuple([row.nodeid for row in sample(rows, seed)]) for seed in range(0, 20 * RUNS, RUNS)}) > 10


@pytest.mark.parametrize("count, runs", [(100, RUNS), (23, RUNS), (7, RUNS), (100, 30), (3, RUNS)])
def test_each_row_of_a_list_occurs_in_a_round(count, runs):
    for first in (0, 8 * runs):
        shares = [some(range(count), seed, "list", runs) for seed in range(first, first + runs)]
        assert set(itertools.chain(*shares)) == set(range(count))
        assert all(len(share) - max(1, count // runs) in (0, 1) for share in shares)
    assert some(range(100), 0, "list") != some(range(100), RUNS, "list") != some(range(100), RUNS, "other")


def test_only_tests_with_several_axes_or_a_mark_are_sampled():
    plain = SimpleNamespace(nodeid="tests/x.py::test_z")
    one, marked, few = (table(SIZES, test="test_y"), table(SIZES[:2], test="test_w", drawn=SimpleNamespace(kwargs={})),
                        table(DTYPES, SIZES[:1], test="test_v"))
    assert sampled([*ROWS, *one, plain, *marked, *few]) == [ROWS, marked]


@pytest.mark.parametrize("name", TABLES)
def test_the_last_day_of_a_row_is_the_last_whose_sample_has_it(name):
    rows, seed = TABLES[name], 105_682 * RUNS + 3
    expected = {row.nodeid: other for other in range(seed - row_sample.YEAR + 1, seed) for row in sample(rows, other)}
    assert last_days(rows, seed, [row.nodeid for row in rows]) == expected and len(expected) > 0.9 * len(rows)
    for name in list(expected)[::40]:
        assert last_days(rows, seed, [name]) == {name: expected[name]}


def test_seeds_are_days():
    assert day(datetime.date(2026, 12, 1).toordinal()) == "2026-12-01"
    assert day(3) == "0001-01-03" and day(-3) == "seed -3" and day(10 ** 9) == "seed 1000000000"
    assert day(row_sample.today()) >= "2026-12-01"


def test_rows_run_in_make_test_or_in_make_test_slow(request):
    """`make test` leaves out what the seed did not draw; `make test-slow` runs whole tables."""
    marks_rows = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py")).mark_rows_left_out

    def slow(**options):
        rows, marked = table(DTYPES, SIZES), set()
        for row in rows:
            row.add_marker = lambda mark, row=row: marked.add((row.nodeid, mark.name))
        marks_rows(SimpleNamespace(option=SimpleNamespace(**options)), rows)
        return {name for name, mark in marked if mark == "slow"}

    every = {row.nodeid for row in ROWS}
    assert every - slow(seed=1, whole_tables=False) == {row.nodeid for row in sample(ROWS, 1)}
    assert slow(seed=1, whole_tables=True) == every


TEST = """
import pytest

@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("second", range(5))
def test_x(first, second):
    assert second
"""


@pytest.fixture
def lines_of(tmp_path):
    """Return a function that returns the lines of pytest for a table of 20 rows, of which 4 fail."""
    (tmp_path / "test_table.py").write_text(TEST, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow:\n    drawn:\n", encoding="utf-8")
    folders = [str(ROOT / "tests"), str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")]

    def call(*options) -> list:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", *options, "test_table.py"]
        return subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)}, check=False,
                              stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return call


def test_pytest_says_on_which_day_a_row_was_drawn_last(lines_of):
    """For the rows of a failed run, and with `--last-days` for all."""
    seed = 105_700 * RUNS
    last = {line.partition("  ")[2]: line.partition("  ")[0] for line in lines_of("--seed", str(seed), "--last-days")
            if "  test_table.py::" in line}
    assert len(last) == 20 and set(last.values()) <= {day(seed - back) for back in range(1, RUNS + 1)}
    lines = lines_of("--seed", str(seed), "-m", "not slow")
    failed = [line.split()[1] for line in lines if line.startswith("FAILED")]
    said = [line.removeprefix("drawn last: ") for line in lines if line.startswith("drawn last: ")]
    assert failed and said == [last[name] for name in failed]
