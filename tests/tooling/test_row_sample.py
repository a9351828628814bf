"""The rows that a run takes of large tables."""

from itertools import product
from types import SimpleNamespace

import pytest

import row_sample
from this_checkout import ROOT

DTYPES, SIZES = [object() for _ in range(3)], [object() for _ in range(40)]


def item(number, dtype, size):
    """Return a row as pytest collects it."""
    marks = [SimpleNamespace(args=("dtype", DTYPES)), SimpleNamespace(args=(("size", "numel"), SIZES))]
    return SimpleNamespace(nodeid=f"tests/x.py::test_x[{number}]", iter_markers=lambda name: iter(marks),
                           callspec=SimpleNamespace(params={"dtype": dtype, "size": size, "numel": size}),
                           get_closest_marker=lambda name: None)


ROWS = [item(number, *pair) for number, pair in enumerate(product(DTYPES, SIZES))]


@pytest.mark.parametrize("seed", range(20))
def test_each_value_of_each_axis_is_in_the_sample(seed):
    rows = row_sample.sample(ROWS, seed)
    assert {row.callspec.params["dtype"] for row in rows} == set(DTYPES)
    assert {row.callspec.params["size"] for row in rows} == set(SIZES)
    assert row_sample.FEW <= len(rows) < len(ROWS) / 2
    assert rows == row_sample.sample(ROWS, seed)


def test_few_rows_are_filled_up():
    few = [row for row in ROWS if row.callspec.params["size"] in SIZES[:5]]
    assert len(row_sample.sample(few, 0)) == row_sample.FEW


def test_each_row_is_drawn_by_some_seed():
    assert {row.nodeid for seed in range(50) for row in row_sample.sample(ROWS, seed)} == {row.nodeid for row in ROWS}


def test_only_tests_with_several_axes_and_many_rows_are_sampled():
    one = [SimpleNamespace(nodeid=f"tests/x.py::test_y[{i}]", iter_markers=lambda name: iter([SimpleNamespace(args=("a", ()))]),
                           callspec=SimpleNamespace(params={"a": object()}), get_closest_marker=lambda name: None)
           for i in range(100)]
    plain = SimpleNamespace(nodeid="tests/x.py::test_z", get_closest_marker=lambda name: None)
    marked = [item(number, *pair) for number, pair in enumerate(product(DTYPES, SIZES))]
    for row in marked:
        row.nodeid, row.get_closest_marker = row.nodeid.replace("test_x", "test_w"), lambda name: SimpleNamespace(args=(3,))
    assert row_sample.products([*ROWS, *one, plain, *marked]) == [ROWS]
    assert row_sample.products(ROWS[:row_sample.FEW]) == []


def test_a_marked_table_runs_as_many_rows_as_its_mark_says():
    rows = [SimpleNamespace(nodeid=f"tests/x.py::test_y[{i}]", callspec=SimpleNamespace(params={"seed": i}),
                            get_closest_marker=lambda name: SimpleNamespace(args=(3,)) if name == "drawn" else None)
            for i in range(20)]
    plain = SimpleNamespace(nodeid="tests/x.py::test_z", get_closest_marker=lambda name: None)
    assert row_sample.tables_to_draw_from([*rows, plain]) == [rows]
    drawn = [[row.nodeid for row in row_sample.marked(rows, seed)] for seed in range(60)]
    assert {len(set(names)) for names in drawn} == {3}
    assert {name for names in drawn for name in names} == {row.nodeid for row in rows}


def test_rows_run_in_make_test_or_in_make_test_slow(request):
    """`make test` leaves out what the seed did not draw; `make test-slow` runs whole tables."""
    marks_rows = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py")).mark_rows_left_out

    def slow(**options):
        rows = [item(number, *pair) for number, pair in enumerate(product(DTYPES, SIZES))]
        marked = set()
        for row in rows:
            row.add_marker = lambda mark, row=row: marked.add((row.nodeid, mark.name))
        marks_rows(SimpleNamespace(option=SimpleNamespace(**options)), rows)
        return {name for name, mark in marked if mark == "slow"}

    every = {row.nodeid for row in ROWS}
    assert every - slow(seed=1, whole_tables=False) == {row.nodeid for row in row_sample.sample(ROWS, 1)}
    assert slow(seed=1, whole_tables=True) == every
