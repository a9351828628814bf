"""The table of a run: for each area how many mutations were planted, killed, survived, and change no behaviour."""

from .run import KILLED, TIMEOUT

HEAD = ("area", "planted", "killed", "survived", "equivalent", "killed of those that change behaviour")


def is_killed(row) -> bool:
    """Decide whether some test failed, or did not end."""
    return row["result"] in (KILLED, TIMEOUT)


def key_of(row) -> tuple:
    """Return what `equivalents.toml` knows a mutation by."""
    return row["file"].rpartition("/")[2], row["function"], row["before"], row["after"]


def survivors(rows, equivalents) -> list:
    """Return the rows of mutations that change behaviour, and that no test noticed."""
    return [r for r in rows if not is_killed(r) and key_of(r) not in equivalents]


def table(rows, equivalents) -> str:
    """Write the table."""
    lines = [HEAD]
    for name in [*dict.fromkeys(sorted(r["area"] for r in rows)), "all"]:
        some = [r for r in rows if name in (r["area"], "all")]
        killed, left = sum(map(is_killed, some)), len(survivors(some, equivalents))
        share = f"{100 * killed / (killed + left):.1f} %" if killed + left else "-"
        lines.append((name, *map(str, (len(some), killed, left, len(some) - killed - left)), share))
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    return "\n".join("  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines)


def listing(rows, equivalents) -> str:
    """Write down the survivors, by area."""
    lines = []
    for r in sorted(survivors(rows, equivalents), key=lambda r: (r["area"], r["file"], r["line"])):
        more = " (time left tests out)" if r["cut"] else ""
        lines.append(f"{r['area']}: {r['file']}:{r['line']} {r['function']}  {r['id']}  {r['result']}{more}\n"
                     f"    - {r['before']}\n    + {r['after']}")
    return "\n".join(lines)
