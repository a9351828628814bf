"""Packages that messages name: those of pyproject.toml, and never a package of ingot's name on an index."""

import re
import tomllib
from pathlib import Path

import pytest

import ingot
from ingot.ir import requirements

ROOT = Path(ingot.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_LEFT_OUT = {".venv", "build", ".git", "tests"}
FILES = [p for top in sorted(ROOT.iterdir()) if top.name not in _LEFT_OUT
         for p in (top.rglob("*") if top.is_dir() else [top]) if p.suffix in (".py", ".md") and p.name != "requirements.py"]


def test_pyproject_has_the_same_requirements():
    assert list(requirements.NEEDED) == PROJECT["dependencies"]
    extras = {name: tuple(r.partition(";")[0] for r in packages) for name, packages in PROJECT["optional-dependencies"].items()}
    assert {name: extras[name] for name in requirements.EXTRAS} == requirements.EXTRAS


def test_no_text_installs_ingot_by_its_name():
    hints = {p.name: line for p in FILES for line in p.read_text().splitlines()
             if re.search(r"(?<![\w./-])ingot\[|pip install(?: -\S+| 'ingot'| ingot\b)* ?'?ingot\b", line)}
    assert not hints


def test_messages_take_their_commands_from_the_table():
    """Programs that need what ingot does not (Open MPI for a test, matplotlib) are named by hand, in files of their own."""
    by_hand = {p.name for p in FILES if p.suffix == ".py" and re.search(r"pip install (?!\{|--)", p.read_text())}
    assert by_hand <= {"engine.py"}     # of Open MPI, which no extra has


@pytest.mark.parametrize("package, command", [("triton", 'pip install "triton>=3.6"'), ("torch", "pip install torch")])
def test_install_names_the_package(package, command):
    assert requirements.install(package) == command


def test_install_extra_names_its_packages():
    assert requirements.install_extra("mpi") == 'pip install "mpi4py>=4.1" "mpich>=5"'


def test_the_command_is_an_entry_point():
    assert PROJECT["scripts"] == {"ingot": "ingot.__main__:main"}
