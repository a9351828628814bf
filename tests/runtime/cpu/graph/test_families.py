"""Each operator of the CPU has one kernel, which its family file lists."""

from pathlib import Path

import ingot
from ingot.ir.lazy import LazyModule
from ingot.ir.opdef.op import OPS
from ingot.runtime.cpu.graph import families

ROOMS = Path(ingot.__file__).parent / "runtime" / "cpu"


def listed():
    """Return the (operator, kernel) pairs of all family files."""
    found = {name: family for name, family in vars(families).items() if type(family) is LazyModule}
    return [pair for family in found.values() for pair in family.OPERATORS.items()]


def test_an_operator_is_listed_once():
    operators = [op for op, _ in listed()]
    assert len(operators) == len(set(operators)) > 140


def test_the_table_of_families_finds_the_kernel_of_each_operator():
    for op, kernel in listed():
        assert families.find(op) is kernel, op.name


def test_an_operator_has_one_eager_kernel_at_most():
    for op, kernel in listed():
        ways = [kernel.eager, kernel.make, kernel.body]
        assert sum(way is not None for way in ways) <= 1, op.name
        assert any(way is not None for way in (*ways, kernel.step, kernel.write)), op.name


def test_names_in_the_table_are_names_of_operators_or_modules():
    home = Path(ingot.__file__).parent / "ir" / "ops"
    for name in families.FAMILIES:
        assert name in OPS or (home / name.replace(".", "/")).with_suffix(".py").exists(), name


def test_no_file_is_for_eager_calls_or_steps_alone():
    assert not [path for path in ROOMS.rglob("*.py") if path.stem.startswith(("eager_", "native_"))]
