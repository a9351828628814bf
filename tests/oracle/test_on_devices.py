"""Rows on a device: on the mock driver a part of them, on a GPU all (`make test-gpu`)."""

import pytest

import ingot
import mock_cuda
from oracle import tensors
from oracle.test_oracle import GROUPS, check, eager, traced

KINDS = {"function", "layer", "optimizer", "distribution", "divergence"}      # those that make no tensors of their own
QUICK = {"optimizers", "linalg"}        # families of which the mock driver runs one row of each group in `make test`


def runs(row) -> bool:
    """Return whether a row says the same of a device."""
    return row.kind in KINDS and not row.options.get("host")


def on_the_mock_driver() -> list:
    """Return (family, rows): the first row of each group of quick families, and all other rows, which are slow."""
    found = []
    for family, rows in (group.values for group in GROUPS):
        label = f"{family}:{rows[0].name.split('/')[0]}"
        rows = [row for row in rows if runs(row)]
        first = 1 if family in QUICK else 0
        parts = ((rows[:first], label, ()), (rows[first:], f"{label}, rest", pytest.mark.slow))
        found += [pytest.param(family, part, id=name, marks=marks) for part, name, marks in parts if part]
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("wrap", [eager, traced])
@pytest.mark.parametrize("family, rows", on_the_mock_driver())
def test_results_on_the_mock_driver_are_those_of_pytorch_on_a_cpu(family, rows, wrap):
    with mock_cuda.installed(), tensors.on_device("cuda"):
        check(family, rows, wrap)


@pytest.mark.gpu
@pytest.mark.skipif(not ingot.cuda.is_available(), reason=ingot.cuda.why_not_available() or "-")
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrap", [eager, traced])
@pytest.mark.parametrize("family, rows", GROUPS)
def test_results_on_a_gpu_are_those_of_pytorch_on_a_cpu(family, rows, wrap):
    with tensors.on_device("cuda"):
        check(family, [row for row in rows if runs(row)], wrap)
