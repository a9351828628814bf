"""ingot beside PyTorch's results, which files hold: every row eagerly; traced, a sample, and every row as slow tests."""

from collections import defaultdict

import pytest

import ingot
import row_sample
from oracle import comparing, differences, files
from oracle.kinds import KINDS

TRACED = 28                         # runs in which each row of a family is traced once: all take 25 minutes
PARTS = 16                          # tests that share the rows of a family which a run traces
LARGEST_FOLDER = 12_000_000         # bytes of all files


FAMILIES = {family: files.read(files.FOLDER / f"{family}.xz")[1] for family in files.families()}


def groups() -> list:
    """Return (family, group of rows) for each test: rows whose names begin alike."""
    tests = []
    for family, rows in FAMILIES.items():
        named = defaultdict(list)
        for row in rows:
            named[row.name.split("/")[0]].append(row)
        tests += [pytest.param(family, rows, id=f"{family}:{name}") for name, rows in named.items()]
    return tests


GROUPS = groups()


def eager(body, **_):
    """Run eagerly."""
    return body


def fresh(tensor):
    """Return a copy with memory of its own; a leaf stays a leaf."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def traced(body, state=None, replays=True):
    """Record one call, put the module's state back, and return what the replay gives."""
    function = ingot.jit.trace(body)

    def call(*tensors):
        before = {k: v.clone() for k, v in state.state_dict().items()} if state is not None else {}
        function(*[fresh(t) for t in tensors])
        if before:
            state.load_state_dict(before)
        return function(*tensors)

    return call if replays else function


def traceable(rows) -> list:
    """Return the rows that hold for traces as well."""
    traceable_rows = [row for row in rows if not row.options.get("eager")]
    assert traceable_rows, "a group needs rows that are traced"
    return traceable_rows


def check(family, rows, wrap):
    """Compare the rows of a group; report all that differ."""
    wrong = []
    for row in rows:
        name = f"{family}:{row.name}"
        try:
            found = KINDS[row.kind](ingot, row, wrap)
        except Exception as error:
            if differences.meant(name) is None:
                wrong.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
            continue
        plain = {k: comparing.as_plain(ingot, v) for k, v in found.items()}
        wrong += [f"{name}: {k}: {text}" for k, text in comparing.differences(row, plain, row.results).items()
                  if differences.meant(name, k) is None]
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:30])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family, rows", GROUPS)
def test_eager_results_are_those_of_pytorch(family, rows):
    check(family, rows, eager)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family, part", [(family, part) for family in FAMILIES for part in range(PARTS)])
def test_traced_results_are_those_of_pytorch(family, part, pytestconfig):
    """The seed of the run draws the rows."""
    drawn = row_sample.some(traceable(FAMILIES[family]), pytestconfig.option.seed, family, TRACED)
    check(family, drawn[part::PARTS], traced)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family, rows", GROUPS)
def test_all_traced_results_are_those_of_pytorch(family, rows):
    check(family, traceable(rows), traced)


def test_files_are_small():
    assert sum(p.stat().st_size for p in files.FOLDER.glob("*.xz")) < LARGEST_FOLDER
