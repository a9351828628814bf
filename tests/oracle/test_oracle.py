"""ingot beside PyTorch's results, which files hold: every row eagerly and traced."""

from collections import defaultdict

import pytest

import ingot
from oracle import comparing, differences, files
from oracle.kinds import KINDS

LARGEST_GROUP = 48                  # rows that one test traces
LARGEST_FOLDER = 12_000_000         # bytes of all files


def groups() -> list:
    """Return (family, group of rows) for each test: rows whose names begin alike."""
    found = []
    for family in files.families():
        named = defaultdict(list)
        for row in files.read(files.FOLDER / f"{family}.xz")[1]:
            named[row.name.split("/")[0]].append(row)
        found += [pytest.param(family, rows, id=f"{family}:{name}") for name, rows in named.items()]
    return found


GROUPS = groups()


def in_parts() -> list:
    """Return the groups, the large ones in parts."""
    found = []
    for family, rows in (group.values for group in GROUPS):
        label = f"{family}:{rows[0].name.split('/')[0]}"
        for start in range(0, len(rows), LARGEST_GROUP):
            found.append(pytest.param(family, rows[start:start + LARGEST_GROUP], id=f"{label} {start}" if start else label))
    return found


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
@pytest.mark.parametrize("family, rows", in_parts())
def test_traced_results_are_those_of_pytorch(family, rows):
    rows = [row for row in rows if not row.options.get("eager")]
    assert rows, "a group needs rows that are traced"
    check(family, rows, traced)


def test_files_are_small():
    assert sum(p.stat().st_size for p in files.FOLDER.glob("*.xz")) < LARGEST_FOLDER
