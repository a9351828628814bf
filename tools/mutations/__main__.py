"""Commands of the room; `python -m tools.mutations --help` lists them."""

import argparse
import sys
import tempfile
from pathlib import Path

from . import run as runs
from . import sites as all_sites
from .table import is_killed, listing, table
from .tests_that_matter import Map, make_map


def main() -> int:
    """Run a command."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutations", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the tree (the folder at hand)")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ingot-mutations",
                        help="where the map, copies of the tree and results lie (in the user's temporary folder)")
    parser.add_argument("--python", default=sys.executable,
                        help="the interpreter that runs tests; one without torch, as peers do not count")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--count", type=int, default=300, help="mutations to plant besides the known ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=120, help="recorded time of the tests of one mutation at most")
    parser.add_argument("--results", type=Path, help="the file of results (results.jsonl in the folder)")
    parser.add_argument("--areas", nargs="*", help="only mutations of these areas")
    parser.add_argument("--only", nargs="*", help="only mutations with these ids")
    parser.add_argument("--known", action="store_true", help="only the known mutations")
    parser.add_argument("--again", action="store_true", help="run those again that survived before (tests may have come)")
    parser.add_argument("command", choices=("map", "list", "run", "table", "survivors"))
    parser.add_argument("more", nargs=argparse.REMAINDER, help="of map: arguments of pytest, such as files of new tests")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    results = args.results or args.folder / "results.jsonl"
    if args.command == "map":
        make_map(args.root, args.folder, args.python, args.workers, [m for m in args.more if m != "--"])
        return 0
    equivalents = all_sites.equivalents()
    if args.command in ("table", "survivors"):
        rows = list(runs.read(results).values())
        print((table if args.command == "table" else listing)(rows, equivalents))
        return 0
    chosen = all_sites.known(args.root) + ([] if args.known else all_sites.choose(args.root, args.count, args.seed))
    chosen = [s for s in {s.id: s for s in chosen}.values()
              if (not args.areas or s.area in args.areas) and (not args.only or s.id in args.only)]
    if args.command == "list":
        for s in chosen:
            print(f"{s.id}  {s.area}  {s.file}:{s.line} {s.function}  [{s.kind}]\n    - {s.before}\n    + {s.after}")
        return 0
    if args.again:
        runs.forget(results, {id for id, row in runs.read(results).items() if not is_killed(row)} & {s.id for s in chosen})
    settings = runs.Settings(args.root, args.folder, args.python, args.workers, args.seconds)
    runs.run_all(chosen, Map.read(args.folder), settings, results, lambda text: print(text, flush=True))
    rows = [r for r in runs.read(results).values() if r["id"] in {s.id for s in chosen}]
    print(table(rows, equivalents), listing(rows, equivalents), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
