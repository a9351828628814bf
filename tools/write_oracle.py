"""Write PyTorch's results to tests/oracle/expected, or compare the files with what PyTorch gives now.

    python tools/write_oracle.py [FAMILY ...]            write
    python tools/write_oracle.py --check [FAMILY ...]    compare; exit status 1 if a file no longer matches
    python tools/write_oracle.py --page                  write docs/differences.md

Needs the version of torch that `TORCH` names. Each processor rounds in its own way, and some inputs are results of products.
So a comparison has two steps. The rows that this tool draws must be those of the files, floating-point inputs within rounding.
And PyTorch must give the results of the files for the inputs of the files, within the tolerance of a row.
"""

import argparse
import importlib
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from oracle import comparing, differences, families, files  # noqa: E402
from oracle.kinds import KINDS  # noqa: E402
from oracle.kinds.layers import draw_state  # noqa: E402

TORCH = "2.13.0"
VERSION = 1                 # of this tool and the layout of rows
SEED = 20261127


def names() -> list[str]:
    """Return the families, in order."""
    folder = Path(families.__file__).parent
    return sorted(p.stem for p in folder.glob("*.py") if p.stem != "__init__")


def draw(family: str, torch) -> list:
    """Return the rows of a family, without results."""
    rng = np.random.default_rng([SEED, *family.encode()])
    module = importlib.import_module(f"oracle.families.{family}")
    rows: dict = {}
    for row in module.rows(torch, rng):
        assert row.name not in rows, f"two rows are called {row.name}"
        if row.kind == "layer" and "state" not in row.options:
            torch.manual_seed(SEED)
            row.options["state"] = draw_state(row, torch, rng)
        rows[row.name] = row
    return list(rows.values())


def run(family: str, rows, torch) -> list:
    """Return the rows with PyTorch's results."""
    done, failed = [], []
    for row in rows:
        try:
            found = KINDS[row.kind](torch, row, lambda body, **_: body)
        except Exception as error:
            failed.append(f"{family}:{row.name}: {type(error).__name__}: {error}")
            continue
        assert found, f"{row.name} has no result"
        done.append(replace(row, results={k: comparing.as_plain(torch, v) for k, v in found.items()}))
    if failed:
        raise RuntimeError(f"PyTorch fails at {len(failed)} rows:\n" + "\n".join(failed))
    return done


def about(family: str) -> dict:
    """Return what a file says of its making."""
    return {"family": family, "tool": VERSION, "seed": SEED, "torch": TORCH, "device": "cpu"}


def write(chosen, torch, folder: Path):
    """Write the files of the chosen families."""
    for family in chosen:
        rows = run(family, draw(family, torch), torch)
        path = folder / f"{family}.xz"
        files.write(path, about(family), rows)
        print(f"{family}: {len(rows)} rows, {path.stat().st_size / 1e3:.0f} kB")


def check(chosen, torch) -> list[str]:
    """Return how the files differ from what this tool writes."""
    found = []
    for family in chosen:
        told, old = files.read(files.FOLDER / f"{family}.xz")
        new = as_read(family, draw(family, torch))
        print(f"{family}: {len(new)} rows")
        if told != about(family):
            found.append(f"{family}: written by {told}, this is {about(family)}")
        if [r.name for r in old] != [r.name for r in new]:
            found.append(f"{family}: other rows: {sorted({r.name for r in old} ^ {r.name for r in new})[:5]}")
        for a, b in zip(old, new):
            found += [f"{family}:{b.name}: another {field}" for field in files.FIELDS
                      if field != "results" and not same(getattr(a, field), getattr(b, field))]
        for a, b in zip(old, run(family, old, torch)):
            found += [f"{family}:{b.name}: {k} differs: {text}"
                      for k, text in comparing.differences(b, b.results, a.results).items()]
    return found


def as_read(family: str, rows) -> list:
    """Return rows as they are read after they were written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{family}.xz"
        files.write(path, about(family), rows)
        return files.read(path)[1]


def same(a, b) -> bool:
    """Return whether two values of rows are equal, arrays of floating-point numbers within rounding."""
    if isinstance(a, np.ndarray):
        room = max(comparing.ROOM.get(a.dtype.name, 0.0), comparing.ROOM["float32"])
        return isinstance(b, np.ndarray) and not comparing.difference(b, a, room)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or a != a


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", nargs="*", choices=[[], *names()], help="which files (all)")
    parser.add_argument("--page", action="store_true", help="write docs/differences.md alone, without torch")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    chosen = parser.parse_args()
    if chosen.page:
        (ROOT / "docs" / "differences.md").write_text(differences.page())
        return 0
    torch = importlib.import_module("torch")
    if torch.__version__.split("+")[0] != TORCH:
        parser.error(f"torch {TORCH} is needed, this is {torch.__version__}")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if not chosen.check:
        write(chosen.family or names(), torch, files.FOLDER)
        return 0
    found = check(chosen.family or names(), torch)
    print("\n".join(found[:200]) or "the files are what this tool writes")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
